"""A visitor of the app without a browser: a session in use, and actions as the page sends them."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from rag_nodes.apps.desk import Desk
from rag_nodes.apps.panes import changed
from rag_nodes.apps.visitors.columns import offer_of
from rag_nodes.apps.visitors.session import PageSession, key_of, sessions_of
from rag_nodes.core.settings import Settings
from rag_nodes.embedding import Progress

TOKEN = "5" * 48
"""Token of the browser tab that acts here."""
DIARY = "\n\n".join(f"# Day {n}\n\nIt rained on day {n}. Nobody came to see it." for n in range(40))
"""A document of forty short sections."""
QUESTION = "What colour is the machine?"
_TAG = re.compile(r"<style.*?</style>|<[^>]*>", re.DOTALL)


def ignore(_: Progress) -> None:
    """Progress nobody looks at."""


def write_text(path: Path, text: str) -> Path:
    """A file with that text."""
    path.write_text(text, encoding="utf-8")
    return path


def choose(
    session: PageSession,
    *parsers: str,
    options: Mapping[str, Mapping[str, float]] | None = None,
    key: str | None = None,
    baseline: str = "",
    **context: Any,
) -> None:
    """Have these columns compared by a session, in this context, and no others."""
    session.columns.ticked = parsers
    session.columns.baseline = baseline
    session.columns.chosen = parsers[0] if parsers else ""
    session.columns.options = {name: dict(option) for name, option in (options or {}).items()}
    if key is not None:
        context["api_key"] = SecretStr(key)
    session.context = session.context.model_copy(update=context)


def answers(session: PageSession) -> str:
    """What all parsers answer to the question of the colour, in one text."""
    report = session.talk.ask(QUESTION).report
    assert report is not None
    return " ".join(column.answer.text for column in report.columns if column.answer)


class Visitor:
    """A browser tab that sends actions and keeps the regions that come back.

    Args:
        settings: of the server.
        columns: of the operator.
        token: of the tab.
        example: path of the example document.
        documents: loaded at once.
        **options: of the sessions.
    """

    def __init__(
        self,
        settings: Settings,
        columns: Mapping[str, Any] | None = None,
        *,
        token: str = TOKEN,
        example: Path | None = None,
        documents: tuple[Path, ...] = (),
        **options: Any,
    ) -> None:
        own = columns or {}
        offer = offer_of(own)
        options = {"offer": offer, "own": list(offer)[: len(own)], **options}
        self.sessions = sessions_of(settings, changed, **options)
        self.desk = Desk(self.sessions, example, documents)
        self.token, self.epoch, self.since = token, "", 0
        self.regions: dict[str, str] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = ThreadPoolExecutor(1)

    @property
    def session(self) -> PageSession:
        """The session of the tab."""
        return self.sessions.of(key_of(self.token, ""))

    def act(self, action: str, **payload: Any) -> dict[str, Any]:
        """Send an action, and keep what changed."""
        sent = {"token": self.token, "epoch": self.epoch, "since": str(self.since),
                "action": action, "payload": payload}  # fmt: skip
        reply = self.run(sent)
        if "epoch" in reply and reply["epoch"] != self.epoch:
            self.epoch, self.since, self.regions = reply["epoch"], 0, {}
        for patch in reply.get("patches", ()):
            self.regions.pop(patch["name"], None)
            if patch["html"] is not None:
                self.regions[patch["name"]] = patch["html"]
        self.since = reply.get("at", self.since)
        return reply

    def run(self, sent: object, user: str = "") -> dict[str, Any]:
        """Send anything, and give the reply."""
        # In a thread of its own: browser tests leave a loop running in this one.
        done = self._thread.submit(self._loop.run_until_complete, self.desk.act(sent, user))
        return done.result()

    def settle(self) -> None:
        """Look, as the page does, until nothing is loaded or answered any more."""
        while self.session.working:
            self.act("look")
        self.act("arrive")

    def load(self, *paths: Path) -> None:
        """Load documents that need no upload, and wait for them."""
        self.act("arrive")
        self.session.start_loading(paths)
        self.settle()

    def ask(self, question: str, **payload: Any) -> str:
        """Ask, wait for the answers, and give the text of the newest turn."""
        self.act("ask", question=question, **payload)
        self.settle()
        turns = [name for name in self.regions if name.startswith("turn ")]
        return self.text(max(turns, key=lambda name: int(name.split()[1])))

    def text(self, region: str) -> str:
        """The words of a region."""
        return " ".join(_TAG.sub(" ", self.regions.get(region, "")).split())

    def close(self) -> None:
        """Leave."""
        self.sessions.close()
        self._thread.shutdown()
        self._loop.close()


@contextmanager
def visiting(settings: Settings, **options: Any) -> Iterator[Visitor]:
    """A visitor who leaves at the end."""
    visitor = Visitor(settings, **options)
    try:
        yield visitor
    finally:
        visitor.close()
