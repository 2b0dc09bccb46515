"""Is anything lost or doubled when an ingest is killed, again and again, and then run to its end?

    python benchmarks/kills.py [FOLDER…] [--kills 100] [--seed 1] [--parsers heading parent-child]
        [--engine single|workers] [--workers 2] [--part 10000 [--seals]] [--keep WHERE]

Documents are copies of those in the folders, which is `examples/corpus` by default, and two crawls
that have a page in common. `rag-nodes ingest --prune` takes them into a folder; at random moments
one of its processes is killed (SIGKILL): with
`single` the only one, else by chance a worker or the process that was started. A run whose worker
died goes on. One that was killed, or that had to give up a file by which two workers had died, is
started again, until one comes to its end with every file. Then all text files are changed, and
then the first folder is renamed, and the
same is done to each ingest that takes the changes, and to an `ingest --from-store` with another
model at the end. Between a kill and the next run there may be an
accident, see `ACCIDENTS`. After each end every point is compared with those of a run that nobody
disturbed: ids, payloads and vectors. Then it starts from nothing again, until there were enough
kills. After each kill of the process that was started, all that it had started must end.

With few points of a `--part` the store seals many, and some runs are killed while it does; with
`--seals` all that have got so far.

Each run is a fork of this process (`forks.py`). Needs Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import forks
import relatives
from forks import Difference, Points, ends_within

EXAMPLES = Path(__file__).parent.parent / "examples" / "corpus"
CHANGED = (".csv", ".html", ".md", ".txt")
"""Files of these kinds get another line."""
VERSIONS = ("first", "changed", "renamed", "other model")
"""States of the files, in their order; with the last one, what is stored is embedded again."""
OTHER_MODEL = ("--embedding", "llama_index.core:MockEmbedding", "--embedding-option", "embed_dim=8")
SHARE = 0.7
"""Kills come within this share of the time that the undisturbed run takes."""
WORKERS = {"single": None, "workers": "rag_nodes.models.executors.pool"}
"""By engine, what the command line of a worker has in it."""

GIVEN_UP = "workers end before they start"
"""What a run says that ends since too many of its workers were killed while they started."""
SEALING = 0.3
"""Seconds within which a run is killed that seals."""

ACCIDENTS = ("none", "none", "put back", "other writer", "lost ledger", "older copy")
"""Between a kill and the next run: the files get their content of before for a run that may be
killed as well; a run with a ledger of its own writes; the ledger is lost; or the store is replaced
by its copy of when a version was complete. A file that is gone is known to the ledger alone, so
from when a folder is renamed neither is the ledger lost nor does another one write."""
SHARED = "https://zymurgy.example/shared"
"""A page of both crawls."""

Suffered = Counter[str]
"""How many "drivers" were killed, which is what was started as `rag-nodes`, and how many "workers";
and how often a run was "incomplete", as it gave up a file by which two workers had died."""


class Clean(NamedTuple):
    """What a run that nobody disturbed gave.

    Attributes:
        points: of the store.
        missing: files of which not all is stored, as they cannot be read.
        seconds: that it took, from when there were workers.
    """

    points: Points
    missing: frozenset[str]
    seconds: float


class Trial:
    """One set of documents, ingested and killed.

    Args:
        folder: everything is kept there.
        sources: files and folders to copy.
        options: of `rag-nodes ingest`.
        rng: chooses the moments.
        engine: what does the ingest, one of `WORKERS`.
        part: points after which a folder seals them; None for as many as ever.
        seals: kill while it does.
        say: takes a line now and then.
    """

    def __init__(
        self,
        folder: Path,
        sources: Sequence[Path],
        options: Sequence[str],
        rng: random.Random,
        engine: str = "single",
        *,
        part: int | None = None,
        seals: bool = False,
        say: Callable[[str], None] = print,
    ) -> None:
        self._folder, self._rng, self._engine, self._say = folder, rng, engine, say
        self._part, self._seals = part, seals
        self._options = list(options)
        self._documents, self._crawls = folder / "documents", folder / "crawls"
        self._log, self._report = folder / "log.txt", folder / "report.json"
        self._is_stored = False
        for source in sources:
            shutil.copytree(source, self._documents / source.name)
        self._first = self._documents / sources[0].name
        self._crawls.mkdir()
        forks.import_all()

    def run(self, kills: int) -> tuple[Suffered, list[Difference]]:
        """Until there were so many kills: how many of what, and what each end left."""
        clean = self._undisturbed()
        differences: list[Difference] = []
        all_suffered: Suffered = Counter()
        while (left := kills - _kills(all_suffered)) > 0:
            for place in ("store", "copy"):
                shutil.rmtree(self._folder / place, ignore_errors=True)
            for version in VERSIONS:
                self._write(version)
                suffered = self._killed(version, left, clean[version])
                all_suffered += suffered
                left -= _kills(suffered)
                differences.append(Difference.between(self._points("store"), clean[version].points))
                self._say(f"{version}: {dict(suffered)}, {differences[-1]}, {left} kills left")
                shutil.rmtree(self._folder / "copy", ignore_errors=True)
                shutil.copytree(self._folder / "store", self._folder / "copy")
        return all_suffered, differences

    def _undisturbed(self) -> dict[str, Clean]:
        """What comes of every version."""
        clean = {version: self._clean(version) for version in VERSIONS[:3]}
        shutil.rmtree(self._folder / "clean")
        again = self._clean("renamed")
        seconds = min(clean["first"].seconds, again.seconds)  # another's disk was cold
        clean["first"] = clean["first"]._replace(seconds=seconds)
        fresh = Difference.between(again.points, clean["renamed"].points)
        first, *_, changed = clean.values()
        clean["other model"] = self._clean("other model")
        self._say(
            f"undisturbed: {len(first.points)} points in {first.seconds:.1f} s, then "
            f"{len(changed.points)} in {changed.seconds:.1f} s; from nothing: {fresh}"
        )
        if any(fresh):
            raise SystemExit("an undisturbed run over changed files is not like one from nothing")
        return clean

    def _clean(self, version: str) -> Clean:
        """What comes of a version in the store that nobody disturbs."""
        self._write(version)
        run = self._start("clean")
        started = time.monotonic()
        missing = self._end(run)
        return Clean(self._points("clean"), missing, time.monotonic() - started)

    def _killed(self, version: str, most: int, clean: Clean) -> Suffered:
        """Ingest a version to the end; after which kills."""
        suffered: Suffered = Counter()
        while True:
            # Ever later, or a busy machine would never end.
            latest = SHARE * clean.seconds * (1 + _kills(suffered) / 10)
            missing = self._disturbed(most, latest, suffered)
            if missing == clean.missing:
                return suffered
            suffered["incomplete"] += missing is not None
            if missing is None:
                self._suffer_accident(version, most, latest, suffered)

    def _suffer_accident(self, version: str, most: int, latest: float, suffered: Suffered) -> None:
        """Have something happen between two runs."""
        place, accident = self._folder / "store", self._rng.choice(ACCIDENTS)
        is_renamed = version in VERSIONS[2:]
        if accident == "put back" and version != VERSIONS[0]:
            self._write(VERSIONS[VERSIONS.index(version) - 1])
            self._disturbed(most, latest, suffered)
            self._write(version)
        elif accident == "other writer" and not is_renamed:
            self._disturbed(most, latest, suffered, ledger=self._folder / "other.sqlite")
        elif accident == "lost ledger" and not is_renamed:
            for file in place.glob("ledger.sqlite*"):
                file.unlink()
        elif accident == "older copy" and (copy := self._folder / "copy").exists():
            shutil.rmtree(place)
            shutil.copytree(copy, place)
        else:
            return
        suffered[accident] += 1

    def _disturbed(
        self, most: int, latest: float, suffered: Suffered, ledger: Path | None = None
    ) -> frozenset[str] | None:
        """Run `rag-nodes ingest` and kill; of which files not all is stored, None if it died."""
        run = self._start("store", ledger)
        while _kills(suffered) < most and not self._ends_first(run, latest):
            workers = self._workers_of(run)
            victim = self._rng.choice([run, *workers])
            if victim != run:
                relatives.kill(victim)
                suffered["workers"] += 1
                continue
            # Of Ray two agents, which hold nothing of ours, live on for a minute.
            family = [
                process
                for process in relatives.descendants(run.pid)
                if "agent" not in process.command.lower()
            ]
            relatives.kill(run)
            os.waitpid(run.pid, 0)
            relatives.await_end(family)
            suffered["drivers"] += 1
            return None
        return self._end(run)

    def _ends_first(self, run: relatives.Process, latest: float) -> bool:
        """Wait for the next moment to kill; whether the run ends before it."""
        moment = self._rng.uniform(0, latest)
        if not self._seals:
            return ends_within(run, moment)
        return (
            ends_within(run, moment / 2)
            or forks.ends_before_seal(run, self._folder / "store")
            or ends_within(run, self._rng.uniform(0, SEALING))
        )

    def _start(self, store: str, ledger: Path | None = None) -> relatives.Process:
        """Start `rag-nodes ingest`."""
        place = str(self._folder / store)
        paths = [str(self._documents), *map(str, sorted(self._crawls.iterdir()))]
        arguments = ["ingest", "--store", place, "--json", *self._options]
        arguments += ["--from-store", *OTHER_MODEL] if self._is_stored else [*paths, "--prune"]
        if ledger:
            arguments += ["--ledger", str(ledger)]
        return forks.started(arguments, self._report, self._log, part=self._part)

    def _workers_of(self, run: relatives.Process) -> list[relatives.Process]:
        mark = WORKERS[self._engine]
        return [
            process
            for process in relatives.descendants(run.pid)
            if mark and mark in process.command
        ]

    def _end(self, run: relatives.Process) -> frozenset[str]:
        """Wait for the end; of which files not all is stored."""
        code = forks.exit_code(run)
        if code and GIVEN_UP in self._log.read_text():
            return frozenset({GIVEN_UP})  # of no file more is known; another run is started
        if code not in (0, 3):  # some files may be bad
            raise SystemExit(f"ended with {code}:\n{self._log.read_text()[-2000:]}")
        report = self._report.read_text()
        if not report:
            raise SystemExit(f"ended with {code} and no report:\n{self._log.read_text()[-2000:]}")
        files = json.loads(report)["files"]
        return frozenset(
            file["path"] for file in files if file["status"] in ("failed", "incomplete")
        )

    def _points(self, store: str) -> Points:
        """Everything that is stored."""
        return forks.points_of(self._folder / store, self._folder / "points.json")

    def _write(self, version: str) -> None:
        """Change all text files, or back, and the name of the first folder."""
        self._is_stored = version == "other model"
        line = "" if version == VERSIONS[0] else "\nThe word zymurgy was added.\n"
        former = self._first.with_name(f"{self._first.name}-renamed")
        new = self._first
        if version in VERSIONS[2:]:
            former, new = new, former
        if former.exists():
            former.rename(new)
        for file in sorted(self._documents.rglob("*")):
            if file.suffix in CHANGED:
                text = file.read_bytes().removesuffix(b"\nThe word zymurgy was added.\n")
                file.write_bytes(text + line.encode())
        for name in ("one", "two"):
            texts = {SHARED: f"A page as crawl {name} has it. {line}", f"{SHARED}/{name}": "Alone."}
            pages = [
                {"markdown": f"# {name}\n\n{text}", "metadata": {"sourceURL": url}}
                for url, text in texts.items()
            ]
            crawl, content = self._crawls / f"{name}.json", json.dumps({"data": pages})
            if not crawl.exists() or crawl.read_text() != content:
                crawl.write_text(content)
                os.utime(crawl, (1.7e9, 1.7e9))  # a change of a moment ago would be read again


def _kills(suffered: Suffered) -> int:
    return suffered["workers"] + suffered["drivers"]


def main() -> None:
    """Run the trial that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, default=[EXAMPLES])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parsers", nargs="+", default=["heading", "parent-child"])
    parser.add_argument("--engine", choices=WORKERS, default="single")
    parser.add_argument("--workers", type=int, default=2, help="of each ingest but a single one")
    parser.add_argument("--part", type=int, help="points after which a folder seals them")
    parser.add_argument("--seals", action="store_true", help="kill when a part is being sealed")
    parser.add_argument("--keep", type=Path, help="an empty folder for all that is made")
    asked = parser.parse_args()
    options = [word for name in asked.parsers for word in ("--parser", name)]
    if asked.engine != "single":
        options += ["--workers", str(asked.workers)]
    with tempfile.TemporaryDirectory() as temporary:
        sources = [folder.resolve() for folder in asked.folders]
        place = (asked.keep or Path(temporary)).resolve()
        rng = random.Random(asked.seed)  # noqa: S311 - moments are no secret
        trial = Trial(
            place, sources, options, rng, asked.engine, part=asked.part, seals=asked.seals
        )
        suffered, differences = trial.run(asked.kills)
    total = Difference(*map(sum, zip(*differences, strict=True)))
    print(f"{_kills(suffered)} kills, {len(differences)} ends: {total}; {dict(suffered)}")
    raise SystemExit(any(total))


if __name__ == "__main__":
    main()
