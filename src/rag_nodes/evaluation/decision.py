"""What to take: the sentence that a report starts with, and what that costs.

Of the columns at their own options the cheapest is taken that is as good as the best. Where none is
shown to be worse than another, what stands is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.evaluation.choice import Standing, decide
from rag_nodes.evaluation.leads import Interval
from rag_nodes.evaluation.report import ReportDecision
from rag_nodes.evaluation.wording import SAME, STANDING, all_of, by_drafts, turned, would_show
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rag_nodes.evaluation.report import Contrast, Row

_MEGABYTE = 1_000_000
_ALL = 100
"""Per cent that save nothing."""


def undecided(*, by_draft: bool) -> ReportDecision:
    """What is said where no column is compared with another.

    Args:
        by_draft: all questions are drafts; else nothing could be measured.
    """
    if by_draft:
        return ReportDecision(None, None, "drafts", by_drafts(STANDING))
    return ReportDecision(None, None, "alone", "Nothing could be measured.")


def decision_of(
    own: Sequence[Row],
    contrasts: Sequence[Contrast],
    errors: Mapping[Contrast, float],
) -> ReportDecision:
    """What to take of some columns.

    Args:
        own: their rows at their own options.
        contrasts: of every two of these.
        errors: standard error of each contrast.
    """
    if not own:
        return ReportDecision(None, None, "alone", "No column could be measured as it is.")
    if len(own) == 1:
        words = f"Nothing to choose from: {own[0].column} was measured alone."
        return ReportDecision(None, None, "alone", words)
    rows = {row.name: row for row in own}
    usual = get_parser(DEFAULT_PARSER).fingerprint
    standard = next((row.name for row in own if row.parser.get("fingerprint") == usual), None)
    means = {row.name: row.interval.mean if row.interval else 0.0 for row in own}
    stands = _standing(means, contrasts, errors)
    costs = {row.name: float(row.cost["bytes"] or 0) for row in own}
    chosen = decide(stands, means, costs, standard=standard or "", stopped=())
    if not chosen.told:
        words = " ".join(_kept(rows, standard, chosen.lead, chosen.more_questions))
        return ReportDecision(None, None, "not shown", words, more_questions=chosen.more_questions)
    taken = rows[chosen.chosen]
    others_too = all(_in_others(name, stands.leader, contrasts) for name in stands.behind)
    where = "in these documents" + (", and in documents like these" if others_too else "")
    return ReportDecision(
        taken.column,
        round(taken.chunks["mean"]),
        "documents like these" if others_too else "these documents",
        _taken(taken, rows, stands, where),
        _cost(taken),
    )


def _in_others(name: str, leader: str, contrasts: Sequence[Contrast]) -> bool:
    """Whether a column that is behind is so in documents like these, too.

    Behind the leader; or behind another, where the leader is not shown to be better.
    """
    beaten = [one for one in contrasts if one.right == name and one.shows_a_gap]
    by_leader = [one for one in beaten if one.left == leader]
    return any(one.like_these and one.like_these.shows_a_gap for one in by_leader or beaten)


def _standing(
    means: Mapping[str, float], contrasts: Sequence[Contrast], errors: Mapping[Contrast, float]
) -> Standing:
    leader, *others = sorted(means, key=lambda name: -means[name])
    of = {frozenset((one.left, one.right)): one for one in contrasts}
    leads = {name: of[frozenset((leader, name))] for name in others}
    gaps = {n: one.these if one.left == leader else turned(one.these) for n, one in leads.items()}
    worse = {one.right for one in contrasts if one.shows_a_gap}
    return Standing(
        leader,
        {leader: Interval(0.0, 0.0, 0.0), **gaps},
        {leader: 0.0, **{name: errors[one] for name, one in leads.items()}},
        {leader: 0, **{name: one.more_questions for name, one in leads.items()}},
        [name for name in others if name in worse],
    )


def _taken(taken: Row, rows: Mapping[str, Row], stands: Standing, where: str) -> str:
    """To take a column, and why."""
    start = f"Take {taken.column} ({taken.chunks['mean']:,.0f} tokens a chunk on average)"
    behind = [rows[name].column for name in stands.behind]
    beats_all = all(stands.gaps[name].low > 0 for name in rows if name != stands.leader)
    if taken.name == stands.leader and beats_all:
        return f"{start}: it is better than every other column {where}."
    are = "is" if len(behind) == 1 else "are"
    rest = f"{all_of(behind)} {are} behind {where}"
    if taken.name == stands.leader:
        return f"{start}: it leads, and {rest}."
    leader = rows[stands.leader]
    share = round(100 * (taken.cost["bytes"] or 0) / (leader.cost["bytes"] or 1))
    leads = ", which leads" if stands.gaps[taken.name].mean > SAME else ""
    why = f"as good as {leader.column}{leads}"
    why += f", at {share} % of its space" if share < _ALL else ""
    return f"{start}: it is {why}; {rest}."


def _kept(rows: Mapping[str, Row], standard: str | None, lead: float, more: int) -> Iterator[str]:
    """To keep what stands, and what would change that."""
    kept = rows[standard].column if standard else "what you have"
    missing = would_show(lead, more)
    yield f"Keep {kept}: no column is shown to be better than another; {missing}."
    if not standard:
        yield f"If you have nothing yet, take the preset {DEFAULT_PARSER}."


def _cost(taken: Row) -> str:
    cost = taken.cost
    size = (cost["bytes"] or 0) / _MEGABYTE
    said = f"It takes {cost['chunks']:,} chunks, {cost['tokens']:,} tokens, {size:,.1f} MB"
    priced = f" and ${cost['price']:.4f} to embed" if cost["price"] else ""
    return f"{said} of vectors and texts{priced}."
