"""What `quality.py` keeps of its runs: recall of every question, small enough to be in the project.

From these files every table, interval and picture is made again without a run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FOLDER = Path(__file__).parent
PARTS = FOLDER / "parts"
"""Rows of sets of which only a part of the questions was asked."""
_DIGITS = 4


class System(NamedTuple):
    """A splitter or a way of reading, measured on a set.

    Attributes:
        name: in the tables.
        mean: tokens of a chunk on average.
        chunks: how many there are.
        recall: by budget the share of each question's answer that was read.
        note: what has to be said of it; "" for nothing.
    """

    name: str
    mean: float
    chunks: int
    recall: dict[int, list[float]]
    note: str = ""

    @classmethod
    def joined(cls, parts: Sequence[System], places: Sequence[int]) -> System:
        """One system out of what it did on several parts of a set.

        Args:
            parts: of the same name.
            places: for each question of the parts, one after another, its place in the set.
        """
        order = np.argsort(places)
        recall = {
            budget: np.concatenate([part.recall[budget] for part in parts])[order].tolist()
            for budget in parts[0].recall
        }
        chunks = sum(part.chunks for part in parts)
        mean = sum(part.mean * part.chunks for part in parts) / chunks
        return cls(parts[0].name, mean, chunks, recall)


@dataclass
class Kept:
    """One labelled set with all systems that were measured on it.

    Attributes:
        name: of the set.
        questions: their ids.
        documents: the name of the document of each.
        systems: by step and name, as `System` has it.
    """

    name: str
    questions: list[str]
    documents: list[str]
    systems: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    @classmethod
    def load(cls, name: str, folder: Path = FOLDER) -> Kept:
        """What is kept of a set.

        Raises:
            SystemExit: nothing is.
        """
        path = folder / f"{name}.json"
        if not path.exists():
            raise SystemExit(f"{path} is missing: run benchmarks/quality.py with --sets {name}")
        return cls(**json.loads(path.read_text("utf-8")))

    @classmethod
    def load_part(cls, name: str) -> Kept:
        """Return the questions of a set that were asked in part, with all rows; else the set."""
        full = cls.load(name)
        if not (PARTS / f"{name}.json").exists():
            return full
        part = cls.load(name, PARTS)
        places = [full.questions.index(question) for question in part.questions]
        systems = {
            step: {system: _at(places, row) for system, row in rows.items()}
            for step, rows in full.systems.items()
        }
        for step, rows in part.systems.items():
            systems.setdefault(step, {}).update(rows)
        return cls(name, part.questions, part.documents, systems)

    def put(self, step: str, system: System) -> None:
        """Keep a system, in place of what was kept of it before."""
        plain: dict[str, Any] = {"mean": round(system.mean, 1), "chunks": system.chunks}
        if system.note:
            plain["note"] = system.note
        plain["recall"] = {
            str(budget): [_short(value) for value in each] for budget, each in system.recall.items()
        }
        self.systems.setdefault(step, {})[system.name] = plain

    def save(self, folder: Path = FOLDER) -> None:
        """Write it, one line per system."""
        lines = [
            f'  "{step}": {{\n'
            + ",\n".join(
                f"   {json.dumps(name)}: {_line(system)}" for name, system in systems.items()
            )
            + "\n  }"
            for step, systems in self.systems.items()
        ]
        text = (
            f'{{\n "name": {json.dumps(self.name)},\n "questions": {_line(self.questions)},\n'
            f' "documents": {_line(self.documents)},\n "systems": {{\n'
            + ",\n".join(lines)
            + "\n }\n}\n"
        )
        (folder / f"{self.name}.json").write_text(text, "utf-8")


def _at(places: Sequence[int], row: dict[str, Any]) -> dict[str, Any]:
    """Return a kept row of some questions alone."""
    recall = {budget: [values[at] for at in places] for budget, values in row["recall"].items()}
    return {**row, "recall": recall}


def _short(value: float) -> float:
    """A share with few digits, without any where it is whole."""
    rounded = round(value, _DIGITS)
    return int(rounded) if rounded in (0, 1) else rounded


def _line(plain: object) -> str:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
