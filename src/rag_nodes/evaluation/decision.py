"""What to take: the sentence that a report starts with, and what that costs.

The cheapest is taken that is as good as the best. Where none is shown to be worse than another,
what stands is kept. All are judged at once, since the best of many is partly the luckiest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_nodes.evaluation.drafts.probes import CHARACTERS
from rag_nodes.evaluation.leads import Interval
from rag_nodes.evaluation.report import ReportDecision
from rag_nodes.evaluation.wording import (
    SAME,
    STANDING,
    VISIBLE,
    by_drafts,
    some_of,
    turned,
    would_show,
)
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rag_nodes.evaluation.report import Contrast, Grade, Row

TOLERANCE = 0.01
"""By how much the mean of a cheaper row may be below that of the leader: one point, or one standard
error of their difference (Breiman et al., "Classification and Regression Trees", 1984, section
3.4.3), but no more than `VISIBLE`."""
_ALIKE = 1.05
"""Costs within a twentieth are the same."""
_MEGABYTE = 1_000_000
_ALL = 100
"""Per cent that save nothing."""


def undecided(*, by_draft: bool) -> ReportDecision:
    """What is said where no row is compared with another.

    Args:
        by_draft: all questions are drafts; else nothing could be measured.
    """
    if by_draft:
        return ReportDecision(None, None, "drafts", by_drafts(STANDING))
    return ReportDecision(None, None, "alone", "Nothing could be measured.")


def likely(
    rows: Sequence[Row], characters: int, passages: int, preset: Callable[[str], str]
) -> ReportDecision:
    """What to take where there is no question: the best by keywords of passages.

    Args:
        rows: that are compared.
        characters: of a passage.
        passages: how many there are.
        preset: of the name of a row.
    """
    if len(rows) <= 1:
        return _alone(rows)
    best = max(rows, key=_mean)
    named = [f"a {name}" for name, size in CHARACTERS.items() if size == characters]
    length = named[0] if named else f"{characters:,} characters"
    words = (
        f"For answers of {length}, {best.name} looks best. Tested by keywords of {passages} "
        "passages of that length, not by questions: on seven labelled collections such a choice "
        "was 6 points behind the best on average, 22 at worst; twenty questions of your own, 3."
    )
    return _taking(best, "likely", words, preset)


def decision_of(
    rows: Sequence[Row],
    contrasts: Sequence[Contrast],
    errors: Mapping[Contrast, float],
    preset: Callable[[str], str] = lambda _: "",
) -> ReportDecision:
    """What to take.

    Args:
        rows: that are compared.
        contrasts: of every two of these.
        errors: standard error of each contrast.
        preset: of the name of a row.
    """
    if len(rows) <= 1:
        return _alone(rows)
    of = {row.name: row for row in rows}
    usual = get_parser(DEFAULT_PARSER).fingerprint
    standard = next((row.name for row in rows if row.parser.get("fingerprint") == usual), "")
    stands = _standing(rows, contrasts, errors)
    if not stands.behind:
        rival = standard if standard in stands.others else stands.others[0]
        more = stands.more[rival]
        words = " ".join(_kept(standard, stands.gaps[rival].mean, more))
        kept = preset(standard) if standard else ""
        return ReportDecision(None, None, "not shown", words, more_questions=more, preset=kept)
    taken = of[_cheapest(of, stands, standard)]
    others_too = all(_in_others(name, stands.leader, contrasts) for name in stands.behind)
    where = "in these documents" + (", and in documents like these" if others_too else "")
    grade: Grade = "documents like these" if others_too else "these documents"
    return _taking(taken, grade, _why(taken, of, stands, where), preset)


@dataclass(frozen=True, slots=True)
class _Standing:
    """Where rows stand against the best of them.

    `leader` has the highest mean, `others` follow it, best first; `gaps` are leader minus each,
    with intervals that hold for all at once, `errors` their standard errors, `more` about how many
    more questions would show each; `behind` are shown to be worse than another.
    """

    leader: str
    others: list[str]
    gaps: dict[str, Interval]
    errors: dict[str, float]
    more: dict[str, int]
    behind: list[str]


def _standing(
    rows: Sequence[Row], contrasts: Sequence[Contrast], errors: Mapping[Contrast, float]
) -> _Standing:
    leader, *others = (row.name for row in sorted(rows, key=lambda row: -_mean(row)))
    of = {frozenset((one.left, one.right)): one for one in contrasts}
    leads = {name: of[frozenset((leader, name))] for name in others}
    gaps = {n: one.these if one.left == leader else turned(one.these) for n, one in leads.items()}
    worse = {one.right for one in contrasts if one.shows_a_gap}
    return _Standing(
        leader,
        others,
        {leader: Interval(0.0, 0.0, 0.0), **gaps},
        {leader: 0.0, **{name: errors[one] for name, one in leads.items()}},
        {name: one.more_questions for name, one in leads.items()},
        [name for name in others if name in worse],
    )


def _cheapest(rows: Mapping[str, Row], stands: _Standing, standard: str) -> str:
    """The name of the cheapest that is as good as the best; the standard where it is as cheap.

    A row whose size is not known is taken only where it leads, as nothing is cheaper or dearer.
    """
    if rows[stands.leader].cost["bytes"] is None:
        return stands.leader
    good = [
        name
        for name in (stands.leader, *stands.others)
        if name not in stands.behind
        and rows[name].cost["bytes"] is not None
        and _mean(rows[stands.leader]) - _mean(rows[name])
        <= max(TOLERANCE, min(stands.errors[name], VISIBLE))
    ]
    least = min(_bytes(rows[name]) for name in good)
    cheap = [name for name in good if _bytes(rows[name]) <= _ALIKE * least]
    return standard if standard in cheap else max(cheap, key=lambda name: _mean(rows[name]))


def _in_others(name: str, leader: str, contrasts: Sequence[Contrast]) -> bool:
    """Whether a row that is behind is so in documents like these, too.

    Behind the leader; or behind another, where the leader is not shown to be better.
    """
    beaten = [one for one in contrasts if one.right == name and one.shows_a_gap]
    by_leader = [one for one in beaten if one.left == leader]
    return any(one.like_these and one.like_these.shows_a_gap for one in by_leader or beaten)


def _alone(rows: Sequence[Row]) -> ReportDecision:
    if not rows:
        return ReportDecision(None, None, "alone", "No column could be measured as it is.")
    words = f"Nothing to choose from: {rows[0].name} was measured alone."
    return ReportDecision(None, None, "alone", words)


def _taking(taken: Row, grade: Grade, words: str, preset: Callable[[str], str]) -> ReportDecision:
    return ReportDecision(
        taken.name,
        round(taken.chunks["mean"]),
        grade,
        words,
        _cost(taken),
        preset=preset(taken.name),
        search_ms=taken.cost.get("search_ms"),
    )


def _why(taken: Row, rows: Mapping[str, Row], stands: _Standing, where: str) -> str:
    """To take a row, and why."""
    start = f"Take {taken.name} ({taken.chunks['mean']:,.0f} tokens a chunk on average)"
    are = "is" if len(stands.behind) == 1 else "are"
    rest = f"{some_of(stands.behind)} {are} behind {where}"
    if taken.name != stands.leader:
        share = round(100 * _bytes(taken) / (_bytes(rows[stands.leader]) or 1))
        leads = ", which leads" if stands.gaps[taken.name].mean > SAME else ""
        why = f"as good as {stands.leader}{leads}"
        why += f", at {share} % of its space" if share < _ALL else ""
        return f"{start}: it is {why}; {rest}."
    if all(stands.gaps[name].low > 0 for name in stands.others):
        return f"{start}: it is better than every other column {where}."
    return f"{start}: it leads, and {rest}."


def _kept(standard: str, lead: float, more: int) -> Iterator[str]:
    """To keep what stands, and what would change that."""
    missing = would_show(lead, more)
    kept = standard or "what you have"
    yield f"Keep {kept}: no column is shown to be better than another; {missing}."
    if not standard:
        yield f"If you have nothing yet, take the preset {DEFAULT_PARSER}."


def _cost(taken: Row) -> str:
    cost = taken.cost
    if cost["bytes"] is None:
        return ""
    size = _bytes(taken) / _MEGABYTE
    said = f"It takes {cost['chunks']:,} chunks, {cost['tokens']:,} tokens, {size:,.1f} MB"
    priced = f" and ${cost['price']:.4f} to embed" if cost["price"] else ""
    return f"{said} of vectors and texts{priced}."


def _mean(row: Row) -> float:
    return row.interval.mean if row.interval else 0.0


def _bytes(row: Row) -> float:
    return float(row.cost["bytes"] or 0)
