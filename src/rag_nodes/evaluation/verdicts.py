"""What swaps say of the rows of a report: leads, parts of size, and so what to take.

The cheapest is taken that is as good as the best. Where none is shown to be worse than another,
what stands is kept. All are judged at once, since the best of many is partly the luckiest.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import floor, log10
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.evaluation.drafts.probes import CHARACTERS
from rag_nodes.evaluation.leads import DRAWS, Interval, Swaps
from rag_nodes.evaluation.plan import of_probes
from rag_nodes.evaluation.report import Contrast, ReportDecision, Row, SizeShare
from rag_nodes.evaluation.wording import (
    SAME,
    VISIBLE,
    best_of,
    holds_of_others,
    of_lead,
    of_share,
    turned,
    would_show,
)
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rag_nodes.evaluation.report import Grade

    Floats = NDArray[np.float64]

TOLERANCE = 0.01
"""By how much the mean of a cheaper row may be below that of the leader: one point, or one standard
error of their difference (Breiman et al., "Classification and Regression Trees", 1984, section
3.4.3), but no more than `VISIBLE`."""
_ALIKE = 1.05
"""Costs within a twentieth are the same."""
_MEGABYTE = 1_000_000
_ALL = 100
"""Per cent that save nothing."""


class Judge:
    """Leads between the rows of one measure, all judged at once.

    Args:
        values: of the measure: one array over the questions per row.
        pairs: names of the two rows of each lead.
        documents: of each question, the document it is about.
        draws: how often signs are swapped.
        seed: of the swaps.
    """

    def __init__(
        self,
        values: Mapping[str, Floats],
        pairs: Sequence[tuple[str, str]],
        documents: Sequence[str],
        *,
        draws: int = DRAWS,
        seed: int = 0,
    ) -> None:
        self._values, self._documents = values, Counter(documents)
        mean = {name: each.mean() for name, each in values.items()}
        self._pairs = [(a, b) if mean[a] >= mean[b] else (b, a) for a, b in pairs]
        places = {name: at for at, name in enumerate(values)}
        table = np.array([*values.values()]).reshape(len(values), len(documents)).T
        led = [(places[left], places[right]) for left, right in self._pairs]
        self.questions = Swaps(table, led, draws=draws, seed=seed)
        self.documents = Swaps(table, led, documents, draws=draws, seed=seed)

    def contrasts(self, rows: Mapping[str, Row]) -> list[Contrast]:
        """Every lead between rows, by name, with what it says; in the order of the pairs."""
        found = []
        for at, (left, right) in enumerate(self._pairs):
            these, like_these = self.questions.intervals[at], self._like_these(at)
            more = more_of(self.questions, at)
            further = more_of(self.documents, at) if like_these else None
            words = self._words(at, rows[left].called, rows[right].called)
            found.append(
                Contrast(left, right, rows[left].role, these, like_these, more, further, words)
            )
        return found

    def words(self) -> list[str]:
        """What every lead says, by the names of the pairs."""
        return [self._words(at, *pair) for at, pair in enumerate(self._pairs)]

    def _words(self, at: int, left: str, right: str) -> str:
        one, other = (self._values[name] for name in self._pairs[at])
        differing = int((np.abs(one - other) > SAME).sum())
        these, like_these = self.questions.intervals[at], self._like_these(at)
        more = more_of(self.questions, at)
        return of_lead(left, right, self._documents, differing, these, like_these, more)

    def lead(self, left: str, right: str) -> Interval:
        """One of the leads, left minus right, in these documents."""
        if (left, right) in self._pairs:
            return self.questions.intervals[self._pairs.index((left, right))]
        return turned(self.questions.intervals[self._pairs.index((right, left))])

    def _like_these(self, at: int) -> Interval | None:
        """A lead in documents like these, shown only where these do; None for nothing to say."""
        if not self.documents.can_show:
            return None
        found = self.documents.intervals[at]
        if self.questions.intervals[at].shows_a_gap:
            return found
        return Interval(found.mean, min(found.low, 0.0), max(found.high, 0.0))


def more_of(swaps: Swaps, at: int) -> int:
    """About how many units beyond those there are would show a lead in 80 of 100 tries.

    Or one of three points, where it is smaller; 0 where it is shown. It has two significant digits,
    as single samples scatter.
    """
    found = swaps.intervals[at]
    if found.shows_a_gap:
        return 0
    lead = max(abs(found.mean), VISIBLE)
    more = max(0.0, swaps.needed(swaps.errors[at], lead) - swaps.effective)
    return round(more) if more < 1 else int(round(more, 1 - floor(log10(more))))


def pairs_of(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """The names of every two rows."""
    return [(one.name, other.name) for one, other in combinations(rows, 2)]


def shares_of(
    values: Mapping[str, Floats],
    judge: Judge,
    own: Sequence[Row],
    matched: Mapping[str, str],
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[SizeShare]:
    """How much of the gap of each two of the own rows is size: a family of leads of its own.

    `values` are of the main measure by row, `matched` are the rows at equal size by column.
    """
    rows = sorted((row for row in own if row.column in matched), key=lambda row: -row.mean)
    pairs = [*combinations(range(len(rows)), 2)]
    if not pairs:
        return []
    parts = [values[row.name] - values[matched[row.column]] for row in rows]
    swaps = Swaps(np.stack(parts, axis=1), pairs, draws=draws, seed=seed, widest=2.0)
    found = []
    for (one, other), size in zip(pairs, swaps.intervals, strict=True):
        left, right = rows[one], rows[other]
        gap = judge.lead(left.name, right.name)
        equal = judge.lead(matched[left.column], matched[right.column])
        words = of_share(left.column, right.column, gap, size)
        found.append(SizeShare(left.column, right.column, gap, equal, size, words))
    return found


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
        "passages of that length, not by questions. On seven labelled collections a choice made "
        "like this was 5 points behind the best on average, 12 at worst; by twenty labelled "
        "questions it was 3."
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
    """The cheapest of rows that are as good as the first; the standard where it is as cheap."""
    # A row whose size is not known is taken only where it leads: nothing is cheaper or dearer.
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
