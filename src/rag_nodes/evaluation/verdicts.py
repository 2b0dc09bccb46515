"""What swaps say of the rows of a report: leads, parts of size, and so what to take.

The cheapest is taken that is as good as the best. Where none is shown to be worse than another,
what stands is kept. All are judged at once, since the best of many is partly the luckiest.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_nodes.evaluation.conclusions import Contrast, ReportDecision, SizeShare
from rag_nodes.evaluation.drafts.probes import CHARACTERS
from rag_nodes.evaluation.leads import DRAWS, Interval, Swaps
from rag_nodes.evaluation.plan import of_probes
from rag_nodes.evaluation.report import Row
from rag_nodes.evaluation.wording import (
    SAME,
    VISIBLE,
    best_of,
    certainty_of,
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

    from rag_nodes.evaluation.conclusions import Grade

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
        at, is_turned = self._place(left, right)
        found = self.questions.intervals[at]
        return turned(found) if is_turned else found

    def error(self, left: str, right: str) -> float:
        """Return the standard error of the difference of two rows."""
        return self.questions.errors[self._place(left, right)[0]]

    def settling(self, left: str, right: str) -> int:
        """Return about how many more questions would settle which of two rows is better.

        They show that one is better, or that both differ by at most `VISIBLE`, in 80 of 100 tries;
        0 if that is known.
        """
        at, _ = self._place(left, right)
        gap = self.questions.intervals[at]
        if gap.shows_a_gap or is_small(gap):
            return 0
        return more_of(self.questions, at, max(abs(gap.mean), VISIBLE - abs(gap.mean))) or 1

    def _place(self, left: str, right: str) -> tuple[int, bool]:
        """Return the number of a pair, and whether it is judged the other way round."""
        if (left, right) in self._pairs:
            return self._pairs.index((left, right)), False
        return self._pairs.index((right, left)), True

    def _like_these(self, at: int) -> Interval | None:
        """A lead in documents like these, shown only where these do; None for nothing to say."""
        if not self.documents.can_show:
            return None
        found = self.documents.intervals[at]
        if self.questions.intervals[at].shows_a_gap:
            return found
        return Interval(found.mean, min(found.low, 0.0), max(found.high, 0.0))


def is_small(gap: Interval | None) -> bool:
    """Return whether a difference is at most `VISIBLE`, whichever row is better."""
    return gap is not None and gap.low >= -VISIBLE and gap.high <= VISIBLE


def more_of(swaps: Swaps, at: int, lead: float = 0.0) -> int:
    """Return about how many more units would show a lead in 80 of 100 tries.

    By default that is the lead there is, or one of three points if it is smaller; 0 if it is shown.
    The number has two significant digits, as single samples scatter.
    """
    found = swaps.intervals[at]
    if found.shows_a_gap:
        return 0
    lead = lead or max(abs(found.mean), VISIBLE)
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
    return ReportDecision(None, None, "alone", words, certainty=certainty_of("alone"))


def likely(
    rows: Sequence[Row], characters: int, passages: int, use: Callable[[str], dict[str, Any]]
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
    return replace(_taking(best, "likely", words, use), certainty=certainty_of("likely"))


def decision_of(
    rows: Sequence[Row],
    contrasts: Sequence[Contrast],
    judge: Judge,
    use: Callable[[str], dict[str, Any]] = lambda _: {},
) -> ReportDecision:
    """Decide what to take of rows, by the contrasts of every two of them.

    The grade is one of the choice: it is sure if one row may be best, or if all that may be differ
    by no more than `VISIBLE`.
    """
    if len(rows) <= 1:
        return alone(rows)
    leader, *others = sorted(rows, key=lambda row: -row.mean)
    usual = get_parser(DEFAULT_PARSER).fingerprint
    standard = next((row.name for row in rows if row.parser.get("fingerprint") == usual), "")
    of = {frozenset((one.left, one.right)): one for one in contrasts}
    leads = {row.name: of[frozenset((leader.name, row.name))] for row in others}
    behind = {one.right for one in contrasts if one.shows_a_gap}
    known = best_of(rows, contrasts)
    grade, certainty, settling = _certainty(rows, contrasts, judge)
    if not behind:
        lead = leads.get(standard) or leads[others[0].name]
        if lead.words != known:
            known = f"{known[:-1]}; {would_show(lead.these.mean, lead.more_questions)}."
        words = f"Keep {standard or 'what you have'}: {known}"
        if not standard:
            words += f" The default preset, {DEFAULT_PARSER}, was not measured here."
        kept = use(standard) if standard else {}
        return ReportDecision(
            None, None, grade, words, more_questions=settling, certainty=certainty, **kept
        )
    good = [leader] + [
        row
        for row in others
        if row.name not in behind
        and row.cost.bytes is not None
        and leader.mean - row.mean
        <= max(TOLERANCE, min(judge.error(leader.name, row.name), VISIBLE))
    ]
    taken = _cheapest(good, standard)
    is_sure = grade != "not shown"
    start = "Take" if is_sure else "Proposed:"
    start += f" {taken.name} ({taken.chunks.mean:,.0f} tokens a chunk on average)"
    if taken is not leader:
        share, gap = round(_ALL * _bytes(taken) / (_bytes(leader) or 1)), leader.mean - taken.mean
        if is_sure:
            start += f", as good as {leader.name}{', which leads' if gap > SAME else ''}"
        else:
            start += f", {100 * gap:.1f} points behind" if gap > SAME else ", level with"
            start += f" {leader.name}"
        start += f", at {share} % of its space" if share < _ALL else ""
    if known.startswith(f"{taken.name} is "):
        known = f"it{known.removeprefix(taken.name)}"
    decision = _taking(taken, grade, f"{start}: {known}", use)
    return replace(decision, more_questions=settling, certainty=certainty)


def _certainty(
    rows: Sequence[Row], contrasts: Sequence[Contrast], judge: Judge
) -> tuple[Grade, str, int]:
    """Return the grade of a choice, the grade in a sentence, and how many questions settle it."""
    behind = {one.right for one in contrasts if one.shows_a_gap}
    ranked = sorted(rows, key=lambda row: -row.mean)
    leader, *others = [row.name for row in ranked if row.name not in behind]
    left = [one for one in contrasts if not behind & {one.left, one.right}]
    grade: Grade = "not shown"
    if all(is_small(one.these) for one in left):
        is_general = all(is_small(one.like_these) for one in left)
        is_general = is_general and holds_of_others(rows, contrasts)
        grade = "documents like these" if is_general else "these documents"
    settling = max((judge.settling(leader, name) for name in others), default=0)
    more = 0 if grade != "not shown" else settling or 1
    return grade, certainty_of(grade, 1 + len(others), len(rows), more), more


def _cheapest(good: Sequence[Row], standard: str) -> Row:
    """The cheapest of rows that are as good as the first; the standard where it is as cheap."""
    # A row whose size is not known is taken only where it leads: nothing is cheaper or dearer.
    if good[0].cost.bytes is None:
        return good[0]
    least = min(map(_bytes, good))
    cheap = [row for row in good if _bytes(row) <= _ALIKE * least]
    return max(cheap, key=lambda row: (row.name == standard, row.mean))


def _taking(
    taken: Row, grade: Grade, words: str, use: Callable[[str], dict[str, Any]]
) -> ReportDecision:
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
        search_ms=cost.search_ms,
        **use(taken.name),
    )


def _bytes(row: Row) -> float:
    return float(row.cost.bytes or 0)
