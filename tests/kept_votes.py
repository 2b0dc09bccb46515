"""What stands in a database of votes, read without the code that keeps them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import compress
from pathlib import Path
from typing import NamedTuple


class KeptVote(NamedTuple):
    """One vote with the names of its parsers, their fingerprints, and the winners among them."""

    kind: str
    ballot: str
    voter: str
    question: str
    blind: bool
    time: str
    parsers: tuple[str, ...]
    fingerprints: tuple[str, ...]
    winners: tuple[str, ...]


def kept_votes(path: str | Path) -> list[KeptVote]:
    """All votes in the order they came; none where there is no file."""
    if not Path(path).exists():
        return []
    with closing(sqlite3.connect(f"file:{path}?mode=rw", uri=True)) as database:
        votes = database.execute("SELECT id, kind, ballot, voter, question, blind, time FROM votes")
        return [KeptVote(*row, *_contenders(database, number)) for number, *row in votes.fetchall()]


def _contenders(database: sqlite3.Connection, vote: int) -> tuple[tuple[str, ...], ...]:
    rows = database.execute("SELECT name, fingerprint, won FROM contenders WHERE vote = ?", [vote])
    names, fingerprints, won = zip(*rows, strict=True)
    return names, fingerprints, tuple(compress(names, won))
