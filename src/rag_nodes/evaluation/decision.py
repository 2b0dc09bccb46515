"""What to take: the sentence that a report starts with, and what that costs.

The cheapest is taken that is as good as the best. Where none is shown to be worse than another,
what stands is kept. All are judged at once, since the best of many is partly the luckiest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.evaluation.drafts.probes import CHARACTERS
from rag_nodes.evaluation.plan import of_probes
from rag_nodes.evaluation.report import ReportDecision
from rag_nodes.evaluation.wording import (
    SAME,
    VISIBLE,
    best_of,
    holds_of_others,
    would_show,
)
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


def alone(rows: Sequence[Row] = ()) -> ReportDecision:
    """What is said of one row, or of none that could be measured."""
    words = "No column could be measured as it is."
    if rows:
        words = f"Nothing to choose from: {rows[0].name} was measured alone."
    return ReportDecision(None, None, "alone", words)


def likely(
    rows: Sequence[Row], characters: int, passages: int, preset: Callable[[str], str]
) -> ReportDecision:
    """What to take where there is no question: the best by keywords of passages."""
    if len(rows) <= 1:
        return alone(rows)
    best = max(rows, key=lambda row: row.mean)
    named = [f"a {name}" for name, size in CHARACTERS.items() if size == characters]
    length = named[0] if named else f"{characters:,} characters"
    others = [one for size in CHARACTERS.values() if (one := of_probes(size)) in best.means]
    firsts = [max(rows, key=lambda row: row.means[other]) for other in others]
    is_same = bool(firsts) and all(one is best for one in firsts)
    same = ", the same for short and long answers" if is_same else ""
    words = (
        f"For answers of {length}, {best.name} looks best{same}. Tested by keywords of {passages} "
        "passages of that length, not by questions: on the seven labelled collections it was made "
        "with such a choice was 5 points behind the best on average, 12 at worst; twenty questions "
        "of your own, 3."
    )
    return _taking(best, "likely", words, preset)


def decision_of(
    rows: Sequence[Row],
    contrasts: Sequence[Contrast],
    errors: Mapping[Contrast, float],
    preset: Callable[[str], str] = lambda _: "",
) -> ReportDecision:
    """What to take of rows, by the contrasts of every two of them and their standard errors."""
    if len(rows) <= 1:
        return alone(rows)
    leader, *others = sorted(rows, key=lambda row: -row.mean)
    usual = get_parser(DEFAULT_PARSER).fingerprint
    standard = next((row.name for row in rows if row.parser.get("fingerprint") == usual), "")
    of = {frozenset((one.left, one.right)): one for one in contrasts}
    leads = {row.name: of[frozenset((leader.name, row.name))] for row in others}
    behind = {one.right for one in contrasts if one.shows_a_gap}
    known = best_of(rows, contrasts)
    if not behind:
        lead = leads.get(standard) or leads[others[0].name]
        if lead.words != known:
            known = f"{known[:-1]}; {would_show(lead.these.mean, lead.more_questions)}."
        words = f"Keep {standard or 'what you have'}: {known}"
        if not standard:
            words += f" The default preset, {DEFAULT_PARSER}, was not measured here."
        more, kept = lead.more_questions, preset(standard) if standard else ""
        return ReportDecision(None, None, "not shown", words, more_questions=more, preset=kept)
    good = [leader] + [
        row
        for row in others
        if row.name not in behind
        and row.cost.bytes is not None
        and leader.mean - row.mean <= max(TOLERANCE, min(errors[leads[row.name]], VISIBLE))
    ]
    taken = _cheapest(good, standard)
    start = f"Take {taken.name} ({taken.chunks.mean:,.0f} tokens a chunk on average)"
    if taken is not leader:
        share = round(_ALL * _bytes(taken) / (_bytes(leader) or 1))
        leads_it = ", which leads" if leader.mean - taken.mean > SAME else ""
        start += f", as good as {leader.name}{leads_it}"
        start += f", at {share} % of its space" if share < _ALL else ""
    grade: Grade = "documents like these" if holds_of_others(rows, contrasts) else "these documents"
    if known.startswith(f"{taken.name} is "):
        known = f"it{known.removeprefix(taken.name)}"
    return _taking(taken, grade, f"{start}: {known}", preset)


def _cheapest(good: Sequence[Row], standard: str) -> Row:
    """The cheapest of rows that are as good as the first; the standard where it is as cheap.

    A row whose size is not known is taken only where it leads, as nothing is cheaper or dearer.
    """
    if good[0].cost.bytes is None:
        return good[0]
    least = min(map(_bytes, good))
    cheap = [row for row in good if _bytes(row) <= _ALIKE * least]
    return max(cheap, key=lambda row: (row.name == standard, row.mean))


def _taking(taken: Row, grade: Grade, words: str, preset: Callable[[str], str]) -> ReportDecision:
    cost, said = taken.cost, ""
    if cost.bytes is not None:
        size = _bytes(taken) / _MEGABYTE
        said = f"It takes {cost.chunks:,} chunks, {cost.tokens:,} tokens, {size:,.1f} MB"
        priced = f" and ${cost.price:.4f} to embed" if cost.price else ""
        said += f" of vectors and texts{priced}."
    return ReportDecision(
        taken.name,
        round(taken.chunks.mean),
        grade,
        words,
        said,
        preset=preset(taken.name),
        search_ms=cost.search_ms,
    )


def _bytes(row: Row) -> float:
    return float(row.cost.bytes or 0)
