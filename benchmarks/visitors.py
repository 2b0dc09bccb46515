"""Does a server that many people use give each their own answers, and its memory back?

    python benchmarks/visitors.py [--visitors 20] [--minutes 1]

`rag-nodes app` runs as a process of its own on the loopback. Each visitor sends a document of their
own over REST, asks about it, compares, splits, and leaves; then comes again with another. Half of
them leave without a word. An answer that does not hold the visitor's own word, or holds another's,
is wrong. Printed are requests, wrong answers, refusals, and the server's anonymous memory: when the
first visitors have been there, three times later on, and when everybody has been made to leave. The
exit code is 1 where an answer was wrong. Needs Linux.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx
from measuring import memory as memory_of

WORDS = [f"colour{number:03}" for number in range(1000)]
QUESTION = "Which colour has the machine?"
TEXT = "# Machine\n\nThe machine is painted {word}. Keep it dry.\n\n# Care\n\nOil it in spring.\n"
_ADDRESS = re.compile(r"rag_nodes is at (http://\S+/)")


@dataclass
class Count:
    """What came of all requests.

    Attributes:
        outcomes: how often each status came, and how many answers were wrong.
        wrong: the first few of these.
        stayed: sessions of those who left without a word.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    stayed: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, outcome: str, wrong: str = "") -> None:
        """Note one request."""
        with self._lock:
            self.outcomes[outcome] += 1
            if wrong:
                self.outcomes["wrong"] += 1
                self.wrong = [*self.wrong, wrong][:5]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--visitors", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=1.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "rag_nodes.cli", "app", "--port", "0"]
        server = subprocess.Popen(  # noqa: S603
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            count, memory = _visited(server, options.visitors, options.minutes * 60)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
    print(f"{options.visitors} visitors, {options.minutes:g} minutes: {dict(count.outcomes)}")
    print("MB of anonymous memory: " + ", ".join(f"{name} {mb}" for name, mb in memory.items()))
    for wrong_reply in count.wrong:
        print(f"wrong: {wrong_reply}")
    sys.exit(1 if count.outcomes["wrong"] else 0)


def _visited(
    server: subprocess.Popen[str], visitors: int, seconds: float
) -> tuple[Count, dict[str, int]]:
    """Let everybody come until the time is over."""
    address = _address(server)
    count = Count()
    memory = {"at first": round(memory_of(server.pid, "RssAnon"))}
    with ThreadPoolExecutor(visitors) as pool:
        list(pool.map(lambda visitor: _visit(address, visitor, 0, count), range(visitors)))
        memory["after one visit each"] = round(memory_of(server.pid, "RssAnon"))
        visit = [1] * visitors
        for third in ("one third", "two thirds", "all"):
            end = time.monotonic() + seconds / 3
            turns = [
                pool.submit(_come_again, address, visitor, end, visit, count)
                for visitor in range(visitors)
            ]
            for turn in turns:
                turn.result()
            memory[f"after {third}"] = round(memory_of(server.pid, "RssAnon"))
    with httpx.Client(base_url=address, timeout=120) as client:
        for session in count.stayed:
            client.post("/api/clear", headers={"X-Session": session})
    memory["when all have left"] = round(memory_of(server.pid, "RssAnon"))
    return count, memory


def _address(server: subprocess.Popen[str]) -> str:
    for line in server.stdout or ():
        if match := _ADDRESS.search(line):
            # What is written later has to go somewhere.
            threading.Thread(target=lambda: list(server.stdout or ()), daemon=True).start()
            return match[1]
    raise SystemExit("the server did not start")


def _come_again(address: str, visitor: int, end: float, visit: list[int], count: Count) -> None:
    while time.monotonic() < end:
        try:
            _visit(address, visitor, visit[visitor], count)
        except httpx.TransportError as error:  # counted, as it ends this visit and no other
            count.add(type(error).__name__)
        visit[visitor] += 1


def _visit(address: str, visitor: int, visit: int, count: Count) -> None:
    word = WORDS[(visitor * 37 + visit) % len(WORDS)]
    with httpx.Client(base_url=address, timeout=120) as client:
        files = {"files": ("machine.md", TEXT.format(word=word).encode())}
        reply = client.post("/api/upload", files=files)
        count.add(str(reply.status_code))
        if not reply.is_success:
            return
        client.headers["X-Session"] = reply.json()["session"]
        for route, body in (
            ("ask", {"question": QUESTION, "parser": "heading"}),
            ("compare", {"question": QUESTION, "parsers": ["fixed", "heading"]}),
            ("ask", {"question": QUESTION, "parser": "sentence"}),
        ):
            _ask(client, route, body, word, count)
        if visitor % 2:
            client.post("/api/clear")
        else:
            count.stayed.append(client.headers["X-Session"])


def _ask(client: httpx.Client, route: str, body: dict[str, Any], word: str, count: Count) -> None:
    reply = client.post(f"/api/{route}", json=body)
    colours = set(re.findall(r"colour\d{3}", reply.text))
    right = colours == {word} or not reply.is_success
    count.add(str(reply.status_code), "" if right else f"{route}: {sorted(colours)} for {word}")


if __name__ == "__main__":
    main()
