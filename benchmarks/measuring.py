"""How all benchmarks measure: CPU time, the best of interleaved runs, children with a deadline."""

from __future__ import annotations

import gc
import json
import multiprocessing
import platform
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, Self

MEGABYTE = 1_000_000
ARTEFACTS = Path(__file__).parents[1] / "artefacts"
PATIENCE = 2.0
"""CPU seconds over which one run is enough: noise is small beside them."""
_WHOLE = 10
"""Ratios from here on need no digits behind the point."""
_PACKAGES = (
    "tiktoken",
    "gigatoken",
    "llama-index-core",
    "langchain-text-splitters",
    "chonkie",
    "semchunk",
    "semantic-text-splitter",
)

Work = Callable[[], object]


class _Aside:
    """CPU time that does not count, such as that of a model."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        started = time.process_time()
        yield
        self.seconds += time.process_time() - started


aside = _Aside()


def measured(work: Work) -> float:
    """CPU seconds of one run, without a garbage collection that earlier runs made due."""
    gc.collect()
    started, before = time.process_time(), aside.seconds
    work()
    return time.process_time() - started - (aside.seconds - before)


def interleaved(works: Mapping[str, Work], runs: int) -> dict[str, float]:
    """CPU seconds of each work's best run.

    All run once, then all run again: a slow minute of the machine hits every one of them.

    Args:
        works: what to measure, by name.
        runs: rounds; what took longer than `PATIENCE` is not run again.
    """
    best: dict[str, float] = {}
    for _ in range(runs):
        for name, work in works.items():
            if best.get(name, 0.0) <= PATIENCE:
                best[name] = min(best.get(name, float("inf")), measured(work))
    return best


class Outcome(NamedTuple):
    """What a child process came to.

    Attributes:
        value: what the work returned; None where it did not finish.
        problem: why it did not, "" where it did.
    """

    value: Any
    problem: str


def in_child(work: Work, deadline: float) -> Outcome:
    """Run something in a forked process: it starts with everything loaded and can be stopped.

    Args:
        work: returns anything that can be pickled.
        deadline: seconds by the clock after which the process is killed.
    """
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=_answer, args=(work, sender), daemon=True)
    child.start()
    sender.close()
    try:
        if not receiver.poll(deadline):
            return Outcome(None, f"over {deadline:.0f} s")
        return Outcome(*receiver.recv())
    except EOFError:
        return Outcome(None, "died")
    finally:
        child.kill()
        child.join()


def _answer(work: Work, sender: Any) -> None:
    try:
        sender.send((work(), ""))
    except Exception as error:  # noqa: BLE001 -- one failure must not end the table
        sender.send((None, f"{type(error).__name__}: {error}"))


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that can be pasted into a document; all columns but the first are numbers."""
    lines = [list(header), ["---", *["---:"] * (len(header) - 1)], *map(list, rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def ratio(value: float | None) -> str:
    """A ratio for a table: two digits that matter, a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= _WHOLE else f"{value:.2f}"


def save(name: str, data: object) -> Path:
    """Write raw numbers where `report.py` finds them, with what they were measured on."""
    path = ARTEFACTS / f"benchmark-{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"environment": environment(), "results": data}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def environment() -> dict[str, str]:
    """Versions that decide the numbers."""
    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


class Watch:
    """The most memory of a process and of what it started, at any time while it is open.

    It looks from outside: inside, it would see nothing while an engine works that lets no other
    thread run. Memory counts without what is mapped from files, which the system takes back when
    it needs it.

    Attributes:
        own: megabytes of the process.
        child: megabytes of the largest process that it started; 0 without any.
        most: megabytes of all of them together.
        seen: ids of the processes that it started.
    """

    def __init__(self, process: int, pause: float) -> None:
        self.own = self.child = self.most = 0.0
        self.seen: set[int] = set()
        self._process, self._pause = process, pause
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        """Start, and look again after each pause, in seconds."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(self._pause):
            own = memory(self._process, "RssAnon")
            children = {child: memory(child, "RssAnon") for child in descendants(self._process)}
            self.seen |= children.keys()
            self.own = max(self.own, own)
            self.child = max(self.child, *children.values(), 0.0)
            self.most = max(self.most, own + sum(children.values()))


def memory(process: int | str, name: str) -> float:
    """Megabytes of a process by one of the names of Linux; 0 where it is gone, or elsewhere."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
        return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1]) / 1000
    return 0.0


def descendants(process: int) -> Iterator[int]:
    """All that a process started, and what these did."""
    for file in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, file.read_text(encoding="ascii").split()):
                yield child
                yield from descendants(child)
