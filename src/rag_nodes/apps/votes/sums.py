"""What many votes say together: wins, ties and shares, with how far they can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import Field

if TYPE_CHECKING:
    from sqlite3 import Connection

_PER_PARSER = """
SELECT name, fingerprint, settings,
    sum(kind = 'best' AND blind),
    sum(kind = 'best' AND blind AND won AND winners = 1),
    sum(kind = 'best' AND blind AND won AND winners > 1),
    sum(kind = 'helpful'),
    sum(kind = 'helpful' AND won),
    max(contenders.rowid)
FROM votes JOIN contenders ON vote = id
GROUP BY fingerprint ORDER BY min(contenders.rowid)
"""
"""With `max`, SQLite takes the columns outside of sums from the row that has it: the latest."""
_PER_PAIR = """
SELECT one.name, one.fingerprint, one.settings, two.name, two.fingerprint, two.settings,
    sum(winners = 1 AND one.won),
    sum(winners = 1 AND two.won),
    sum(winners > 1),
    max(one.rowid)
FROM votes JOIN contenders AS one ON one.vote = id JOIN contenders AS two ON two.vote = id
WHERE kind = 'best' AND blind
    AND (one.fingerprint, one.rowid) < (two.fingerprint, two.rowid)
GROUP BY one.fingerprint, two.fingerprint ORDER BY min(one.rowid)
"""
"""Columns come in any order; a pair has one."""
_Z = 1.959963984540054
"""Standard deviations on both sides of a normal distribution's mean that hold 95 % of it."""

Name = Annotated[str, Field(max_length=200)]


@dataclass(frozen=True, slots=True)
class Contender:
    """A parser that took part.

    Attributes:
        name: what the comparison called it.
        fingerprint: of its configuration; the same settings have the same one.
        settings: the configuration in a few words, for people.
    """

    name: Name
    fingerprint: Name
    settings: Name = ""


class Share(NamedTuple):
    """A part of a whole and its 95 % interval.

    Attributes:
        part: how many.
        whole: of how many, at least one.
        low: lower end of the interval, 0 to 1.
        high: upper end.
    """

    part: int
    whole: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share itself."""
        return self.part / self.whole


class ParserVotes(NamedTuple):
    """The votes on one parser with one configuration.

    Attributes:
        parser: as it was called last.
        compared: blind comparisons it was in.
        wins: of these, voted the best alone.
        ties: of these, voted as good as the others.
        rated: answers of it somebody found helpful or not.
        helpful: of these, helpful.
    """

    parser: Contender
    compared: int
    wins: int
    ties: int
    rated: int
    helpful: int

    @property
    def win_share(self) -> Share | None:
        """Wins among blind comparisons; ties are none. None without a comparison."""
        return _share(self.wins, self.compared)

    @property
    def helpful_share(self) -> Share | None:
        """Helpful among rated answers; None without a rating."""
        return _share(self.helpful, self.rated)


class Pair(NamedTuple):
    """Two parsers in the same blind comparisons.

    Attributes:
        first: one of them.
        second: the other.
        wins: comparisons the first won.
        losses: comparisons the second won.
        ties: comparisons in which all were equally good.
    """

    first: Contender
    second: Contender
    wins: int
    losses: int
    ties: int


class Summary(NamedTuple):
    """All votes together.

    Attributes:
        votes: how many there are.
        parsers: the one with the largest share of wins first.
        pairs: that were compared at all.
    """

    votes: int
    parsers: tuple[ParserVotes, ...]
    pairs: tuple[Pair, ...]


def sum_votes(database: Connection) -> Summary:
    """Add up votes; parsers are told apart by their configuration, not by their name.

    A comparison in which all answers were poor counts as one without a winner.

    Args:
        database: see `store`.
    """
    [total] = database.execute("SELECT count(*) FROM votes").fetchone()
    parsers = [
        ParserVotes(Contender(*row[:3]), *row[3:-1]) for row in database.execute(_PER_PARSER)
    ]
    pairs = [
        Pair(Contender(*row[:3]), Contender(*row[3:6]), *row[6:-1])
        for row in database.execute(_PER_PAIR)
    ]
    return Summary(total, tuple(sorted(parsers, key=_rank, reverse=True)), tuple(pairs))


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % confidence interval of a share after Wilson, which holds for few trials too.

    Args:
        successes: trials that went well, at most `trials`.
        trials: how many there were.

    Returns:
        Lower and upper end between 0 and 1; (0, 1) without trials, which say nothing.
    """
    if trials == 0:
        return 0.0, 1.0
    share, square = successes / trials, _Z**2
    centre = share + square / (2 * trials)
    reach = _Z * sqrt(share * (1 - share) / trials + square / (4 * trials**2))
    scale = 1 + square / trials
    # What rounding leaves beyond the ends is cut off.
    return max(0.0, (centre - reach) / scale), min(1.0, (centre + reach) / scale)


def _rank(sums: ParserVotes) -> tuple[float, float]:
    """By what is certain: the lower ends of the intervals."""
    won, helped = sums.win_share, sums.helpful_share
    return won.low if won else 0.0, helped.low if helped else 0.0


def _share(part: int, whole: int) -> Share | None:
    return Share(part, whole, *wilson(part, whole)) if whole else None
