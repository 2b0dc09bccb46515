"""Is anything lost when a command that changes a store is killed, and then given again?

    python benchmarks/commands_killed.py STORE [--kills 20] [--seed 1] [--seals] [--part 10000]
        -- COMMAND…

The command, such as `remove a.pdf`, `clear --yes`, `ingest docs --prune` or `store push {}`,
works on copies of the folder STORE; `{}` is a folder beside each copy. It is
killed (SIGKILL) at random moments until it comes to its end, in the last copies at the first of
them; then all points, the documents that `list` shows and the findings of `doctor` are compared
with those of a copy in which nobody disturbed it. Needs
Linux.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import forks
import relatives
from forks import Difference, Points, ends_within

CHANGING = {"stored_at", "failed_at", "path", "where", "what"}
"""What `list` and `doctor` say otherwise of every copy."""


class End(NamedTuple):
    """What is there after a command has come to its end.

    Attributes:
        points: of the copy and of the folder beside it.
        outputs: of `list` and `doctor`.
    """

    points: Points
    outputs: list[Any]


class Trial:
    """One command, given to copies of a store.

    Args:
        folder: everything is kept there.
        store: to copy.
        command: without `rag-nodes` and `--store`.
        part: points after which a folder seals them.
    """

    def __init__(self, folder: Path, store: Path, command: list[str], part: int | None) -> None:
        self._folder, self._store, self._command, self._part = folder, store, command, part
        self._copy, self._beside = folder / "copy", folder / "beside"
        self._output, self._errors = folder / "output.txt", folder / "errors.txt"
        forks.import_all()

    def undisturbed(self) -> tuple[End, float]:
        """What is to come of it, and in how many seconds."""
        self._copied()
        run, began = self._started(self._command), time.monotonic()
        self._finished(run)
        return self._end(), time.monotonic() - began

    def killed(self, rng: random.Random, latest: float, most: int, *, seals: bool) -> int:
        """Kill it to its end, or so often; how often it was."""
        self._copied()
        for kills in range(most):
            run = self._started(self._command)
            ended = ends_within(run, rng.uniform(0, latest))
            if seals and not ended:
                ended = forks.ends_before_seal(run, self._copy)
                ended = ended or ends_within(run, rng.uniform(0, latest / 10))
            if ended:
                self._finished(run)
                return kills
            relatives.kill(run)
            forks.exit_code(run)
        self._finished(self._started(self._command))
        return most

    def compared(self, wanted: End) -> tuple[Difference, bool]:
        """How the copy differs from what it should be, and whether `list` and `doctor` agree."""
        end = self._end()
        return Difference.between(end.points, wanted.points), end.outputs == wanted.outputs

    def _copied(self) -> None:
        for place in (self._copy, self._beside):
            shutil.rmtree(place, ignore_errors=True)
        sparse = ["cp", "-a", "--sparse=always", str(self._store), str(self._copy)]
        subprocess.run(sparse, check=True)  # noqa: S603 - a copy of files

    def _started(self, command: list[str]) -> relatives.Process:
        words = [word.replace("{}", str(self._beside)) for word in command]
        arguments = [*words, "--store", str(self._copy)]
        return forks.started(arguments, self._output, self._errors, part=self._part)

    def _finished(self, run: relatives.Process) -> None:
        code = forks.exit_code(run)
        # A document that the run before removed is none any more, and a bad file stays one.
        if code not in (0, 3) and "has no such document" not in self._errors.read_text():
            raise SystemExit(f"ended with {code}:\n{self._errors.read_text()[-2000:]}")

    def _end(self) -> End:
        points: Points = {}
        for place in (self._copy, self._beside):
            if place.is_dir():
                points_of_place = forks.points_of(place, self._folder / "points.json")
                points |= {
                    (f"{place.name}/{name}", node_id): rest
                    for (name, node_id), rest in points_of_place.items()
                }
        return End(points, [self._told("list"), self._told("doctor")])

    def _told(self, command: str) -> Any:
        forks.exit_code(self._started([command, "--json"]))
        return _without(json.loads(self._output.read_text()))


def _without(output: Any) -> Any:
    """What is the same of two stores that hold the same."""
    if isinstance(output, dict):
        return {key: _without(value) for key, value in output.items() if key not in CHANGING}
    return list(map(_without, output)) if isinstance(output, list) else output


def main() -> None:
    """Run the trial that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", type=int, help="points after which a folder seals them")
    parser.add_argument("--seals", action="store_true", help="kill when a part is being sealed")
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    rng = random.Random(asked.seed)  # noqa: S311 - moments are no secret
    total, ends = Counter[str](), 0
    with tempfile.TemporaryDirectory() as temporary:
        trial = Trial(Path(temporary), asked.store.resolve(), asked.command, asked.part)
        wanted, seconds = trial.undisturbed()
        print(f"undisturbed: {len(wanted.points)} points in {seconds:.2f} s")
        while total["kills"] < asked.kills:
            left = asked.kills - total["kills"]
            total["kills"] += trial.killed(rng, seconds, left, seals=asked.seals)
            difference, is_told = trial.compared(wanted)
            total.update(difference._asdict())
            total["told otherwise"] += not is_told
            ends += 1
    print(f"{' '.join(asked.command)}: {ends} ends, {dict(total)}")
    raise SystemExit(any(value for key, value in total.items() if key != "kills"))


if __name__ == "__main__":
    main()
