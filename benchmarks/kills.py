"""Is anything lost or doubled when an ingest is killed, again and again, and then run to its end?

    python benchmarks/kills.py [FOLDER…] [--kills 100] [--seed 1] [--parsers heading parent-child]
        [--workers 2] [--keep WHERE]

Documents are copies of those in the folders, which is `examples/corpus` by default. `rag-nodes
ingest` takes them into a folder; at a random moment it is killed (SIGKILL), and started again,
until it comes to its end. Then all text files are changed, and the same is done to the ingest that
takes the changes. After each end every point is compared with those of a run that nobody disturbed:
ids, payloads and vectors. Then it starts from nothing again, until there were enough kills.

Each run is a fork of this process, which has imported everything and done nothing: so the moments
are moments of an ingest and not of starting Python. Needs `fork`, so no Windows.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a thread would not survive the fork

EXAMPLES = Path(__file__).parent.parent / "examples" / "corpus"
CHANGED = (".csv", ".html", ".md", ".txt")
"""Files of these kinds get another line."""
SHARE = 0.7
"""Kills come within this share of the time that the undisturbed run takes."""

Points = dict[tuple[str, str], str]
"""By collection and id, payload and vectors as JSON."""


class Difference(NamedTuple):
    """What a store has otherwise than it should."""

    lost: int
    extra: int
    changed: int

    @classmethod
    def of(cls, found: Points, wanted: Points) -> Difference:
        """Between two stores."""
        both = found.keys() & wanted.keys()
        return cls(
            lost=len(wanted.keys() - found.keys()),
            extra=len(found.keys() - wanted.keys()),
            changed=sum(found[key] != wanted[key] for key in both),
        )


class Trial:
    """One set of documents, ingested and killed.

    Args:
        folder: everything is kept there.
        sources: files and folders to copy.
        options: of `rag-nodes ingest`.
        rng: chooses the moments.
        say: takes a line now and then.
    """

    def __init__(
        self,
        folder: Path,
        sources: Sequence[Path],
        options: Sequence[str],
        rng: random.Random,
        say: Callable[[str], None] = print,
    ) -> None:
        self._folder, self._rng, self._say = folder, rng, say
        self._options = list(options)
        self._documents = folder / "documents"
        self._log = folder / "log.txt"
        for source in sources:
            shutil.copytree(source, self._documents / source.name)
        _import_all()

    def run(self, kills: int) -> list[tuple[str, int, Difference]]:
        """Until there were so many kills: what each undisturbed end left, and after how many."""
        clean, seconds = self._undisturbed()
        found: list[tuple[str, int, Difference]] = []
        left = kills
        while left > 0:
            shutil.rmtree(self._folder / "store", ignore_errors=True)
            for version in ("first", "changed"):
                self._write(version)
                suffered = self._killed(left, seconds[version])
                left -= suffered
                difference = Difference.of(self._points("store"), clean[version])
                found.append((version, suffered, difference))
                self._say(f"{kills - left} kills, {version}: {difference}")
        return found

    def _undisturbed(self) -> tuple[dict[str, Points], dict[str, float]]:
        """The points of every version, and how long it takes."""
        clean: dict[str, Points] = {}
        seconds: dict[str, float] = {}
        for version in ("first", "changed"):
            self._write(version)
            started = time.monotonic()
            self._ingest("clean")
            seconds[version] = time.monotonic() - started
            clean[version] = self._points("clean")
        shutil.rmtree(self._folder / "clean")
        self._ingest("clean")
        fresh = Difference.of(self._points("clean"), clean["changed"])
        self._say(
            f"undisturbed: {len(clean['first'])} points in {seconds['first']:.1f} s, then "
            f"{len(clean['changed'])} in {seconds['changed']:.1f} s; from nothing: {fresh}"
        )
        if any(fresh):
            raise SystemExit("an undisturbed run over changed files is not like one from nothing")
        return clean, seconds

    def _killed(self, most: int, seconds: float) -> int:
        """Ingest to the end; after how many kills."""
        for suffered in range(most):
            latest = SHARE * seconds * (1 + suffered / 10)  # or a busy machine would never end
            if not self._ingest("store", self._rng.uniform(0, latest)):
                return suffered
        self._ingest("store")
        return most

    def _ingest(self, store: str, after: float | None = None) -> bool:
        """Run `rag-nodes ingest`; whether it was killed after so many seconds."""
        place = str(self._folder / store)
        child = os.fork()
        if not child:
            _become(["ingest", str(self._documents), "--store", place, *self._options], self._log)
        status = _ended_within(child, after)
        if status is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return True
        if (code := os.waitstatus_to_exitcode(status)) not in (0, 3):  # some files may be bad
            raise SystemExit(f"ended with {code}:\n{self._log.read_text()[-2000:]}")
        return False

    def _points(self, store: str) -> Points:
        """Everything that is stored; read by a process of its own, which starts threads."""
        target = self._folder / "points.json"
        child = os.fork()
        if not child:
            code = 1
            try:
                found = [[*key, value] for key, value in points_of(self._folder / store)]
                target.write_text(json.dumps(found))
                code = 0
            finally:
                os._exit(code)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise SystemExit(f"{store} cannot be read")
        return {(one, two): value for one, two, value in json.loads(target.read_text())}

    def _write(self, version: str) -> None:
        """Change all text files, or back."""
        line = "\nThe word zymurgy was added.\n"
        for file in sorted(self._documents.rglob("*")):
            if file.suffix in CHANGED:
                text = file.read_bytes().removesuffix(line.encode())
                file.write_bytes(text + line.encode() if version == "changed" else text)


def points_of(folder: Path) -> Iterator[tuple[tuple[str, str], str]]:
    """Collection and id of every point of a store, and the rest of it as JSON."""
    from rag_nodes.store import open_store

    with open_store(str(folder)) as store:
        engine = store.engine
        for name in engine.names():
            with engine.step(name):
                layout, start = engine.layout(name), None
                while layout is not None:
                    page, start = engine.page(name, layout, start, 256)
                    for point in page:
                        vector = None if point.vector is None else list(map(float, point.vector))
                        rest = [dict(point.payload), vector, sorted(zip(*point.words, strict=True))]
                        yield (name, point.node_id), json.dumps(rest, sort_keys=True, default=float)
                    if start is None:
                        break


def _import_all() -> None:
    """What an ingest imports, and nothing that starts a thread."""
    for name in (
        "llama_index.core.ingestion",
        "qdrant_edge",
        "rag_nodes.cli.commands.ingest",
        "rag_nodes.pipeline",
        "rag_nodes.query",
        "rag_nodes.readers",
        "rag_nodes.store.edge",
        "rag_nodes.workspace",
    ):
        import_module(name)
    tasks = Path("/proc/self/task")
    if tasks.is_dir() and (count := len(list(tasks.iterdir()))) > 1:
        print(f"{count} threads are running, which a fork does not have", file=sys.stderr)


def _become(arguments: list[str], log: Path) -> None:
    """Be `rag-nodes` with these arguments, to the end."""
    code = 1
    try:
        with log.open("w") as opened:
            os.dup2(opened.fileno(), 1)
            os.dup2(opened.fileno(), 2)
        from rag_nodes.cli.program import run

        code = run(arguments)
        sys.stdout.flush()
    finally:
        os._exit(code)


def _ended_within(child: int, seconds: float | None) -> int | None:
    """Wait so long for a child, None for as long as it takes: how it ended, None if it did not."""
    end = time.monotonic() + (math.inf if seconds is None else seconds)
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        if time.monotonic() >= end:
            return None
        time.sleep(0.002)


def main() -> None:
    """Run the trial that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, default=[EXAMPLES])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parsers", nargs="+", default=["heading", "parent-child"])
    parser.add_argument("--workers", type=int, help="worker processes of each ingest")
    parser.add_argument("--keep", type=Path, help="an empty folder for all that is made")
    asked = parser.parse_args()
    options = [word for name in asked.parsers for word in ("--parser", name)]
    if asked.workers:
        options += ["--workers", str(asked.workers)]
    with tempfile.TemporaryDirectory() as temporary:
        sources = [folder.resolve() for folder in asked.folders]
        place = asked.keep or Path(temporary)
        rng = random.Random(asked.seed)  # noqa: S311 - moments are no secret
        found = Trial(place, sources, options, rng).run(asked.kills)
    ends, suffered = len(found), sum(count for _, count, _ in found)
    total = Difference(*map(sum, zip(*(one for _, _, one in found), strict=True)))
    print(f"{suffered} kills, {ends} ends: {total}")
    raise SystemExit(any(total))


if __name__ == "__main__":
    main()
