"""What many votes say together: wins, ties and shares, with how far they can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.evaluation import wilson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rag_nodes.workspace.votes import Compared, Vote


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


@dataclass(slots=True)
class ParserVotes:
    """The votes on one parser with one configuration.

    Attributes:
        parser: as it was called last.
        compared: blind comparisons it was in.
        wins: of these, voted the best alone.
        ties: of these, voted as good as the others.
        rated: answers of it somebody found helpful or not.
        helpful: of these, helpful.
    """

    parser: Compared
    compared: int = 0
    wins: int = 0
    ties: int = 0
    rated: int = 0
    helpful: int = 0

    @property
    def win_share(self) -> Share | None:
        """Wins among blind comparisons; ties are none. None without a comparison."""
        return _share(self.wins, self.compared)

    @property
    def helpful_share(self) -> Share | None:
        """Helpful among rated answers; None without a rating."""
        return _share(self.helpful, self.rated)


@dataclass(slots=True)
class Pair:
    """Two parsers in the same blind comparisons.

    Attributes:
        first: one of them.
        second: the other.
        wins: comparisons the first won.
        losses: comparisons the second won.
        ties: comparisons in which all were equally good.
    """

    first: Compared
    second: Compared
    wins: int = 0
    losses: int = 0
    ties: int = 0


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


def sum_votes(votes: Iterable[Vote]) -> Summary:
    """Add up votes; parsers are told apart by their configuration, not by their name.

    A comparison in which all answers were poor counts as one without a winner.
    """
    total, parsers, pairs = 0, dict[str, ParserVotes](), dict[tuple[str, str], Pair]()
    for vote in votes:
        total += 1
        for one in vote.parsers:
            sums = parsers.setdefault(one.fingerprint, ParserVotes(one))
            sums.parser = one
            _count(sums, vote)
        if vote.kind == "best" and vote.blind:
            _count_pairs(pairs, vote)
    ranked = sorted(parsers.values(), key=_rank, reverse=True)
    return Summary(total, tuple(ranked), tuple(pairs.values()))


def _count(sums: ParserVotes, vote: Vote) -> None:
    chosen = sums.parser.name in (vote.winners or ())
    if vote.kind == "helpful":
        sums.rated += 1
        sums.helpful += chosen
    elif vote.blind:
        sums.compared += 1
        sums.wins += chosen and not _is_tie(vote)
        sums.ties += chosen and _is_tie(vote)


def _count_pairs(pairs: dict[tuple[str, str], Pair], vote: Vote) -> None:
    # Columns come in any order; a pair has one.
    ordered = sorted(vote.parsers, key=lambda one: one.fingerprint)
    for first, second in combinations(ordered, 2):
        pair = pairs.setdefault((first.fingerprint, second.fingerprint), Pair(first, second))
        if _is_tie(vote):
            pair.ties += 1
            continue
        pair.wins += first.name in (vote.winners or ())
        pair.losses += second.name in (vote.winners or ())


def _is_tie(vote: Vote) -> bool:
    return len(vote.winners or ()) > 1


def _rank(sums: ParserVotes) -> tuple[float, float]:
    """By what is certain: the lower ends of the intervals."""
    won, helped = sums.win_share, sums.helpful_share
    return won.low if won else 0.0, helped.low if helped else 0.0


def _share(part: int, whole: int) -> Share | None:
    return Share(part, whole, *wilson(part, whole)) if whole else None
