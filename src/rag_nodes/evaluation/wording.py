"""Differences in sentences; nothing is called better that could be chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.core.spelling import counted
from rag_nodes.evaluation.checks import ACCEPT, DRAFTED
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

    from rag_nodes.evaluation.report import Contrast, Row
    from rag_nodes.evaluation.sign_flips import Interval
    from rag_nodes.evaluation.tables import Grade

VISIBLE = 0.03
"""Smallest difference worth showing: three percentage points, as a share."""
LEGEND = (
    "The intervals of differences hold jointly with 95 % confidence. Do not compare the intervals "
    "of two rows by eye: each covers its own row only, in these documents"
)
"""Explanation of the intervals, printed once in a report."""
BY_DRAFTS = (
    f"{DRAFTED.capitalize()}: nobody has accepted any of these questions, so the preset "
    f"{DEFAULT_PARSER} (recursive, 200 tokens) stands. {ACCEPT.capitalize()}."
)
"""Verdict if nobody has accepted a question."""
TOO_FEW = "too few to say"
"""Words for an interval of so few questions or documents that it leaves everything open."""
SELECTING = " + sentence selection"
"""End of the name of a row that selects sentences beside rows that read whole chunks."""
SAME = 1e-9
"""Largest difference, as a share, that counts as none."""
_TIED = 0.005
"""Smallest lead, as a share, that is shown in whole percentage points."""
_SHOWN_AS_NOTHING = 0.0005
"""Lead, as a share, below which it is shown as 0.0 points."""
_MIN_DIFFERING = 6
"""Fewest questions on which two rows must differ for a significant difference."""
_MAX_LISTED = 3
"""Largest number of names that a sentence lists."""
_MAX_LABELLED = 10_000
"""Number of questions beyond which nobody labels more."""


def of_difference(
    left: str,
    right: str,
    documents: Counter[str],
    differing: int,
    these: Interval,
    like_these: Interval | None,
    more: int,
) -> str:
    """Describe the difference between two columns.

    `documents` says how many questions were asked about each, `differing` how many both do not
    answer alike; `these` and `like_these` are the difference in these documents and in documents
    like these, and `more` questions would show it.
    """
    asked = documents.total()
    if asked < _MIN_DIFFERING:
        verb = "is" if asked == 1 else "are"
        return f"{counted(asked, 'question')} {verb} too few to compare {left} and {right}."
    if these.is_significant:
        start = f"{left} is better than {right} by {points(these)} in these documents"
        return f"{start}{_of_others(like_these, documents)}."
    if not differing:
        return (
            f"{left} and {right} answer every question alike; up to {100 * these.high:.1f} "
            f"points either way are left open by {asked} questions."
        )
    few = ""
    if differing < _MIN_DIFFERING:
        few = f"; only {counted(differing, 'question')} differ{'s' if differing == 1 else ''}"
    between = f"({ends(these)}{few})"
    if these.mean < SAME:
        return f"{left} and {right} are tied, 0.0 {between}; {settled_by(more)}."
    size = f"{100 * these.mean:.1f} points"
    return (
        f"{left} is {size} ahead of {right} {between}, which could be chance; {settled_by(more)}."
    )


def _of_others(like_these: Interval | None, documents: Counter[str]) -> str:
    """Describe what the difference says about other documents, as the end of a sentence."""
    count = len(documents)
    if like_these is None and count < _MIN_DIFFERING:
        documents_are = "documents are" if count > 1 else "document is"
        return f"; {count} {documents_are} too few to generalise to others"
    if like_these is None:
        return (
            f"; {max(documents.values()):,} of the {documents.total():,} questions are about one "
            "document, which is too few to generalise to others"
        )
    if like_these.is_significant:
        return f", and in documents like these ({ends(like_these)})"
    return f"; {count} documents are too few to generalise to others ({ends(like_these)})"


def best_of(rows: Sequence[Row], contrasts: Sequence[Contrast]) -> str:
    """Describe which row is best, which rows may be best, or that no difference is significant.

    Args:
        rows: at least two.
        contrasts: of every two of them.
    """
    if len(contrasts) == 1:
        return contrasts[0].words
    ranked = sorted(rows, key=lambda row: -row.mean)
    behind = {contrast.right for contrast in contrasts if contrast.these.is_significant}
    if ranked[0].mean < SAME:
        return f"None of the {len(rows)} strategies finds any of the answers."
    if not behind:
        level = [row.called for row in ranked if ranked[0].mean - row.mean < SAME]
        are = "is" if len(level) == 1 else "are"
        return (
            f"No significant difference between {len(rows)} strategies; "
            f"{some_of(level)} {are} ahead with {100 * ranked[0].mean:.1f}."
        )
    where = "in these documents"
    where += ", and in documents like these" if holds_of_others(contrasts) else ""
    may_be = [row.called for row in ranked if row.name not in behind]
    if len(may_be) > 1:
        are = "is" if len(behind) == 1 else "are"
        others = some_of([row.called for row in ranked if row.name in behind])
        first = ranked[0].name
        gaps = [
            contrast.of(first)
            for contrast in contrasts
            if first in (contrast.left, contrast.right) and not contrast.these.is_significant
        ]
        told_apart = 100 * max(gap.mean - gap.low for gap in gaps)
        return (
            f"{some_of(may_be)} are too close to call; {others} {are} clearly worse {where}. These "
            f"questions tell {ranked[0].called} from a setting that is at least {told_apart:.1f} "
            "points behind."
        )
    best, called = ranked[0], {row.name: row.called for row in rows}
    won = [contrast for contrast in contrasts if contrast.left == best.name]
    following = min(won, key=lambda contrast: contrast.these.mean)
    following_row = f"next is {called[following.right]}, by {points(following.these)}"
    return f"{best.called} is the best {where}; {following_row}."


def certainty_of(grade: Grade, may_be: int = 1, settings: int = 1) -> str:
    """Say how sure a choice is.

    Args:
        grade: of the decision.
        may_be: number of settings that may be best.
        settings: number of settings that were compared.
    """
    match grade:
        case "likely":
            return "Likely: settings were ranked by keywords of passages, not by questions."
        case "drafts":
            return "Not decided: nobody has accepted a question yet."
        case "alone":
            return "Not decided: there is nothing to choose from."
        case "not shown":
            return f"Not decided yet: {may_be:,} of {settings:,} settings may be best."
    if may_be == 1:
        return f"Sure, for {grade}: only 1 of {settings:,} settings may be best."
    limit = f"{100 * VISIBLE:.0f} points"
    return (
        f"Sure, for {grade}: the {may_be:,} of {settings:,} settings that may be best differ by "
        f"at most {limit}."
    )


def holds_of_others(contrasts: Sequence[Contrast]) -> bool:
    """Return whether all rows that are behind another are so in documents like these, too."""
    shown = [contrast for contrast in contrasts if contrast.these.is_significant]
    others = {
        contrast.right
        for contrast in shown
        if contrast.like_these and contrast.like_these.is_significant
    }
    return others == {contrast.right for contrast in shown}


def beside(
    own: Sequence[Row], equal: Sequence[Row], contrasts: Sequence[Contrast]
) -> Iterator[str]:
    """Yield what is known beside the decision: rows that are behind, and rows at equal size."""
    among = [contrast for contrast in contrasts if contrast.role == "own"]
    may_be = len(own) - len({contrast.right for contrast in among if contrast.these.is_significant})
    if 1 < may_be < len(own):
        yield best_of(own, among)
    among = [contrast for contrast in contrasts if contrast.role == "matched"]
    if among:
        yield f"At equal chunk size: {best_of(equal, among)}"
    left_out = [row.column for row in own if row.column not in {row.column for row in equal}]
    if equal and left_out:
        yield f"Not compared at equal chunk size, which these cannot have: {all_of(left_out)}."
    if len(own) == 1:
        yield f"{own[0].name} finds {points(own[0].interval)} % of the answers."


def at_sizes(rows: Sequence[Row]) -> Iterator[str]:
    """Name the row that finds the most in whole chunks, if nothing was chosen from it."""
    compared = [row for row in rows if row.role != "reference"]
    best = max(compared, key=lambda row: (row.in_chunks, row.role == "own"))
    if best.role != "own":
        yield (
            f"Of all sizes, {best.name} finds the most in whole chunks, "
            f"{100 * best.in_chunks:.1f} %. It is no candidate here: rag-nodes recommend compares "
            "sizes."
        )


def of_share(left: str, right: str, own: Interval, size: Interval) -> str:
    """Describe how much of a difference comes from chunk size."""
    low, high = map(_bounded, (size.low, size.high))
    between = TOO_FEW if is_open(size) else f"{low} to {high} points"
    part = f"{100 * size.mean:.0f} ({low} to {high})"
    if own.mean < _SHOWN_AS_NOTHING and not size.is_significant:
        return (
            f"{left} and {right} are tied; there are too few questions to separate the effect of "
            f"chunk size ({between})."
        )
    if own.mean < _SHOWN_AS_NOTHING:
        return f"{left} and {right} are tied, although chunk size gains {left} {part} points."
    lead = f"{left}'s {100 * own.mean:.{int(own.mean < _TIED)}f}-point lead over {right}"
    if not size.is_significant:
        return f"We cannot tell how much of {lead} comes from chunk size ({between})."
    if size.mean < 0:
        return (
            f"Chunk size works against {lead}, by {part} points: at equal size {left} is farther "
            "ahead."
        )
    if size.mean > own.mean:
        return (
            f"Chunk size explains all of {lead} and more, {part}: at equal size {left} is not "
            "ahead."
        )
    return f"{part} points of {lead} come from chunk size."


def _bounded(end: float) -> str:
    """Return an end of an interval in points, of which nobody has more than 100 to lose."""
    if abs(end) > 1:
        return "over 100" if end > 0 else "under -100"
    return f"{100 * end:.0f}"


def settled_by(more: int) -> str:
    """Say how many more questions would settle a difference; 0 if it is settled to be small."""
    small = f"they differ by at most {100 * VISIBLE:.0f} points"
    return f"{about(more)} would settle it" if more else small


def about(more: int) -> str:
    """Describe how many more questions are needed."""
    if more > _MAX_LABELLED:
        return "more questions than anyone labels"
    return f"about {counted(more, 'more question')}"


def all_of(names: Sequence[str]) -> str:
    """List names in a sentence."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def some_of(names: Sequence[str]) -> str:
    """List names as `all_of` does, or the first of many."""
    if len(names) <= _MAX_LISTED:
        return all_of(names)
    first = names[: _MAX_LISTED - 1]
    return f"{', '.join(first)} and {len(names) - len(first)} others"


def rounded(number: int) -> int:
    """Round to two significant digits: nobody counts the words of a passage.

    Examples:
        >>> from rag_nodes.evaluation.wording import rounded
        >>> [rounded(number) for number in (0, 7, 131, 1_450)]
        [0, 7, 130, 1400]
    """
    return round(number, 2 - len(str(number)))


def found_alike(shared: int, missed: int) -> str:
    """Say how many answers all settings find, and how many none finds whole."""
    parts = []
    if shared:
        parts.append(f"all settings find {counted(shared, 'answer')}")
    if missed:
        parts.append(f"none finds {counted(missed, 'answer')} whole")
    words = " and ".join(parts)
    return f"{words[0].upper()}{words[1:]}." if words else ""


def points(interval: Interval | None) -> str:
    """Return an interval in percentage points."""
    return f"{100 * interval.mean:.1f} ({ends(interval)})" if interval else "nothing"


def is_open(interval: Interval) -> bool:
    """Return whether an interval leaves everything open: one end is at 100 points or beyond.

    An interval that excludes 0 says something and is never open.
    """
    return not interval.is_significant and (interval.low <= -1 or interval.high >= 1)


def ends(interval: Interval) -> str:
    """Return the ends of an interval in points; one that excludes 0 is not rounded to 0.

    Examples:
        >>> from rag_nodes.evaluation.sign_flips import Interval
        >>> from rag_nodes.evaluation.wording import ends
        >>> ends(Interval(0.11, 0.0001, 0.23))
        'over 0 to 23.0'
    """
    if is_open(interval):
        return TOO_FEW
    low, high = f"{100 * interval.low:.1f}", f"{100 * interval.high:.1f}"
    if interval.low > 0 and low == "0.0":
        low = "over 0"
    if interval.high < 0 and high == "-0.0":
        high = "under 0"
    return f"{low} to {high}"
