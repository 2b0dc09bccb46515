"""The decision of a report: the setting with the largest shrunken estimate.

The joint test of all differences decides only the words: which difference is significant, whether
the choice is sure, and what it may cost.
"""

from __future__ import annotations

import re
from math import ceil, inf
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_nodes.core.spelling import counted
from rag_nodes.evaluation.effects import caution_of
from rag_nodes.evaluation.tables import ReportDecision
from rag_nodes.evaluation.verdicts import is_small
from rag_nodes.evaluation.wording import (
    SAME,
    SELECTING,
    best_of,
    certainty_of,
    holds_of_others,
    settled_by,
    some_of,
)
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from rag_nodes.evaluation.report import Contrast, Row
    from rag_nodes.evaluation.tables import Grade

    Floats = NDArray[np.float64]

PRIOR, SPREAD = -0.03, 0.06
"""Expected difference of another setting from the default, and its standard deviation: on labelled
collections other settings are 3 points behind on average, give or take 6."""
_LIKELY = 0.01
"""Estimated lead from which a setting is likely the better choice; below, it is a toss-up."""
_SELECTED = "you read selected sentences, as rag-nodes does by default"
_MEGABYTE_BYTES = 1_000_000


def estimates(values: Mapping[str, Floats], default: str = "") -> dict[str, float]:
    """Return the shrunken estimate of each setting: by how much it is better than the default.

    The posterior mean of a normal prior. A difference that varies much between questions counts
    less, and two pseudo-observations keep few questions from looking certain. Without the default,
    settings are compared with their mean, and the prior is 0.

    Args:
        values: of the main measure, one array over the questions per setting.
        default: name of the default setting; "" if it was not measured.
    """
    table = np.array([*values.values()])
    prior, count = (PRIOR if default else 0.0), table.shape[1]
    gaps = table - (values[default] if default else table.mean(0))
    means, differing = gaps.mean(1, keepdims=True), gaps[np.abs(gaps) > SAME]
    pseudo = float(np.mean(differing**2)) if differing.size else 1.0
    variances = ((gaps - means) ** 2).sum(1) / count**2 + 2 * pseudo / (count + 2) ** 2
    shrunken = prior + SPREAD**2 / (SPREAD**2 + variances) * (means[:, 0] - prior)
    return dict(zip(values, shrunken.tolist(), strict=True)) | ({default: 0.0} if default else {})


def proposed(rows: Sequence[Row], estimated: Mapping[str, float], default: str = "") -> Row:
    """Return the row with the largest estimate; of equal ones the default, then the cheapest.

    Of the searches of a column it is the first.
    """
    largest = max(estimated[row.name] for row in rows)
    tied = [row for row in rows if largest - estimated[row.name] < SAME]
    return min(tied, key=lambda row: (row.name != default, _bytes(row), row.column))


def default_of(rows: Sequence[Row], mode: str = "") -> str:
    """Return the name of the row of the default preset; "" if it was not measured.

    Of several searches it is the first in the default mode, or else the first.
    """
    fingerprint = get_parser(DEFAULT_PARSER).fingerprint
    own = [row for row in rows if row.parser.get("fingerprint") == fingerprint]
    return min(own, key=lambda row: row.mode != mode).name if own else ""


def alone(rows: Sequence[Row] = ()) -> ReportDecision:
    """Return the decision over one row, or over none if no column could be measured."""
    words = "No column could be measured as it is."
    if rows:
        words = f"{rows[0].name} was measured alone."
    return ReportDecision(None, None, "alone", words, certainty=certainty_of("alone"))


def decision_of(
    rows: Sequence[Row],
    contrasts: Sequence[Contrast],
    values: Mapping[str, Floats],
    use: Callable[[str], dict[str, Any]] = lambda _: {},
    in_use: Collection[str] = (),
    mode: str = "",
    whole: Mapping[str, Floats] | None = None,
) -> ReportDecision:
    """Propose a row, and say how sure that is, what it may cost, and what would settle it.

    Args:
        rows: what is chosen from.
        contrasts: differences of every two of them.
        values: of the main measure, by row.
        use: gives, for the name of a row, how a decision names its parser and its search.
        in_use: names of the rows that the user has now; only they are kept. The first that has the
            same results as what would be proposed is proposed instead.
        mode: of the search that the models have by default.
        whole: the recall of whole chunks, by row that is read by sentences; None for no such row.
    """
    if len(rows) <= 1:
        return alone(rows)
    default = default_of(rows, mode)
    estimated = estimates({row.name: values[row.name] for row in rows}, default)
    best = proposed(rows, estimated, default)
    yours = [row for name in in_use for row in rows if row.name == name]
    # Nobody gains by a change to a setting that has the same result on every question.
    alike = (row for row in yours if np.allclose(values[row.name], values[best.name], 0, SAME))
    chosen = next(alike, best)
    behind = {contrast.right for contrast in contrasts if contrast.these.is_significant}
    behind.discard(chosen.name)
    against = {
        contrast.right if contrast.left == chosen.name else contrast.left: contrast
        for contrast in contrasts
        if chosen.name in (contrast.left, contrast.right)
    }
    rivals = [name for name in against if name not in behind]
    grade = _grade(contrasts, behind)
    is_sure = grade != "not shown"
    more = 0 if is_sure else max(1, *(against[name].more_questions for name in rivals))
    losses = [(-against[name].of(chosen.name).low, name) for name in rivals]
    loss, gainer = max(losses, default=(0.0, ""))
    asked = counted(len(values[chosen.name]), "question")
    keep = "keep " if chosen.name in in_use else ""
    start = (keep or "take ").capitalize() if is_sure else f"Proposed: {keep}"
    size = f"{chosen.chunks.mean:,.0f} tokens a chunk on average"
    reading, others, other = _readings(chosen, rows, values, whole or {}, default)
    words = [f"{start}{chosen.name} ({size}){reading}.", *others]
    it = chosen.name if len(words) > 1 else "It"
    if (not rivals and len(against) > 1) or max(row.mean for row in rows) < SAME:
        words.append(best_of(rows, contrasts).replace(f"{chosen.name} is ", f"{it} is ", 1))
    else:
        ranked = sorted(against, key=lambda name: (-values[name].mean(), name))
        rival = next(name for name in (*in_use, default, *ranked) if name in against)
        ahead = estimated[chosen.name] - estimated[rival]
        because = _because(chosen, default, ahead, is_kept=bool(keep))
        is_likely = ahead >= _LIKELY - SAME
        reason = _reason(chosen.name, rival, against[rival], asked, because, is_likely=is_likely)
        words.append(re.sub("^It ", lambda _: f"{it} ", reason))
        level = [name for name in ranked if abs(against[name].these.mean) < SAME and name != rival]
        if level:
            are = "is" if len(level) == 1 else "are"
            words.append(f"{some_of(level)} {are} tied with {chosen.name}.")
    words.append(_price(loss, gainer, asked, is_only=len(rivals) == 1))
    if not is_sure:
        words.append(f"{settled_by(more).capitalize()}.")
    if not is_sure and not default:
        words.append(f"The default preset, {DEFAULT_PARSER}, was not measured here.")
    certainty = cautioned(certainty_of(grade, 1 + len(rivals), len(rows)), rows)
    figures = {"certainty": certainty, "more_questions": more, "may_cost": max(0.0, loss)}
    return taking(chosen, grade, " ".join(words), use, other=other, **figures)


def _readings(
    chosen: Row,
    rows: Sequence[Row],
    values: Mapping[str, Floats],
    whole: Mapping[str, Floats],
    default: str,
) -> tuple[str, list[str], str]:
    """Return the reading the chosen row is proposed for, what holds for the other, and its row."""
    if chosen.name in whole:
        recalls = {row.name: whole.get(row.name, values[row.name]) for row in rows}
        row = proposed(rows, estimates(recalls, default), default)
        if row is chosen:
            return f", whether {_SELECTED}, or whole chunks", [], ""
        of_both = [f"{100 * recalls[name].mean():.1f} %" for name in (row.name, chosen.name)]
        name, other = (each.name.removesuffix(SELECTING) for each in (row, chosen))
        words = (
            f"If you read whole chunks, of these {len(rows)} settings: {name}, which finds "
            f"{of_both[0]} ({other}: {of_both[1]})."
        )
        return f", if {_SELECTED}", [words], row.name
    if chosen.granularity != "chunks" or chosen.mode == "own":
        return "", [], ""
    others, name = [], ""
    if read := [row for row in rows if row.name in whole]:
        best = max(read, key=lambda row: values[row.name].mean())
        share = f"{best.name.removesuffix(SELECTING)}, which finds {100 * best.mean:.1f} %"
        only = "; no other setting was measured in this way" if len(read) == 1 else ""
        others, name = [f"If {_SELECTED}: {share}{only}."], best.name
    return ", if you read whole chunks", others, name


def cautioned(certainty: str, rows: Sequence[Row]) -> str:
    """Add to a grade that rows differ in more than chunking: no surface may show it without."""
    return " ".join(filter(None, (certainty, caution_of(rows))))


def _grade(contrasts: Sequence[Contrast], behind: Collection[str]) -> Grade:
    """Return "not shown" unless the rows that may be best differ by at most three points."""
    left = [
        contrast
        for contrast in contrasts
        if contrast.left not in behind and contrast.right not in behind
    ]
    if not all(is_small(contrast.these) for contrast in left):
        return "not shown"
    is_general = holds_of_others(contrasts) and all(
        is_small(contrast.like_these) for contrast in left
    )
    return "documents like these" if is_general else "these documents"


def _reason(
    chosen: str, rival: str, contrast: Contrast, asked: str, because: str, *, is_likely: bool
) -> str:
    """Compare the chosen row with what it would replace, or with the best other one."""
    gap = contrast.of(chosen)
    where = "in this question" if asked == "1 question" else f"in these {asked}"
    if gap.is_significant:
        return contrast.words.replace(f"{chosen} is ", "It is ", 1)
    if abs(gap.mean) < SAME:
        return f"It is tied with {rival} {where}; {because}."
    size = f"{100 * abs(gap.mean):.1f} points ahead of"
    choice = "is likely the better choice all the same" if is_likely else "is a toss-up"
    if gap.mean > 0:
        it = "it" if is_likely else "the choice"
        return f"It is {size} {rival} {where}, which could be chance; {it} {choice}."
    so = f"so {chosen}" if is_likely else f"so {chosen} is proposed, but the choice"
    return f"{rival} is {size} it {where}, which could be chance; {because}, {so} {choice}."


def _because(chosen: Row, default: str, ahead: float, *, is_kept: bool) -> str:
    """Say why a row is chosen although another is as good in these questions, or better."""
    if chosen.name == default:
        behind = f"{-100 * PRIOR:.0f} points behind {default} on average"
        return f"in other document collections other settings are {behind}"
    if ahead >= SAME:
        return f"the results of {chosen.name} vary less from question to question"
    if is_kept:
        return "you have it now"
    return "of equal settings the one that needs the least storage is proposed"


def _price(loss: float, gainer: str, asked: str, *, is_only: bool) -> str:
    """Say how many points a choice may cost, and which row would gain them."""
    if not gainer:
        return "You lose nothing by it in these documents."
    if loss >= 1:
        return f"{asked.capitalize()} cannot tell what it may cost."
    bound = f"you would lose at most {ceil(1000 * loss) / 10:.1f} points"
    return (
        f"If {gainer} were better, {bound}."
        if is_only
        else (f"If another setting were better, {bound} ({gainer}).")
    )


def taking(
    taken: Row, grade: Grade, words: str, use: Callable[[str], dict[str, Any]], **figures: Any
) -> ReportDecision:
    """Return the decision for a row, with what it takes and how it is used."""
    cost, sentence = taken.cost, ""
    if cost.bytes is not None:
        size = _bytes(taken) / _MEGABYTE_BYTES
        sentence = f"It takes {cost.chunks:,} chunks, {cost.tokens:,} tokens, {size:,.1f} MB"
        priced = f" and ${cost.price:.4f} to embed" if cost.price else ""
        sentence += f" of vectors and texts{priced}."
    figures |= {"search_ms": cost.search_ms, **use(taken.name)}
    return ReportDecision(taken.name, round(taken.chunks.mean), grade, words, sentence, **figures)


def _bytes(row: Row) -> float:
    """Return the size of a row in a store; one that is not known is the largest."""
    return inf if row.cost.bytes is None else float(row.cost.bytes)
