"""The decision without questions: the setting that finds most passages by their keywords."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rag_nodes.evaluation.decision import alone, cautioned, default_of, proposed, taking
from rag_nodes.evaluation.drafts.probes import CHARACTERS
from rag_nodes.evaluation.plan import EvaluationPlan, of_probes
from rag_nodes.evaluation.wording import SAME, certainty_of, some_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from rag_nodes.evaluation.report import Row
    from rag_nodes.evaluation.tables import Grade, ReportDecision

_SATURATED = 0.9
"""Share of passages that every setting finds if the context is too large to compare them."""
_SMALL_BUDGET = 500
"""Tokens of context that usually tell settings apart."""


def likely(
    rows: Sequence[Row],
    characters: int,
    passages: int,
    use: Callable[[str], dict[str, Any]],
    in_use: Collection[str] = (),
    measure: str = "",
) -> ReportDecision:
    """Return the decision without questions: the best by keywords of passages.

    Of settings that find as much within one passage, the first that the user has now is kept; else
    `proposed` chooses of those that find the most.

    Args:
        rows: what is chosen from.
        characters: of a passage.
        passages: number of passages.
        use: as for `decision_of`.
        in_use: as for `decision_of`.
        measure: the main measure; "" for recall in the context in which such choices were checked.
    """
    if len(rows) <= 1:
        return alone(rows)
    most = max(row.mean for row in rows)
    tied = [row for row in rows if most - row.mean < SAME]
    close = [row for row in rows if (most - row.mean) * passages < 1 + SAME]
    kept = next((row for name in in_use for row in close if row.name == name), None)
    best = kept or proposed(tied, {row.name: 0.0 for row in tied}, default_of(tied))
    named = [f"a {name}" for name, size in CHARACTERS.items() if size == characters]
    length = f"For answers of {named[0] if named else f'{characters:,} characters'}"
    if len(close) > 1:
        within = "" if len(close) == len(tied) else ", within 1 passage"
        names = some_of([row.name for row in sorted(close, key=lambda row: row is not best)])
        take = "keep" if kept else "take"
        words = (
            f"{length}, {len(close)} settings find as much{within}: {names}; "
            f"{take} {best.name}, because {_reason_of_tie(best, tied, is_kept=kept is not None)}."
        )
    else:
        others = [probe for size in CHARACTERS.values() if (probe := of_probes(size)) in best.means]
        firsts = [max(rows, key=lambda row: row.means[other]) for other in others]
        is_same = bool(firsts) and all(first is best for first in firsts)
        same = ", the same for short and long answers" if is_same else ""
        words = f"{length}, {best.name} looks best{same}."
    words += _remedy(rows, close, measure)
    checked = f"recall@{EvaluationPlan().probed_at(characters)}"
    elsewhere = "" if measure in ("", checked) else ", with a context of a different size,"
    read = " in whole chunks" if best.granularity == "chunks" else ""
    words += (
        f" Tested{read} by keywords of {passages} passages of that length, not by questions. On "
        f"seven labelled collections{elsewhere} such a choice was 5 points behind the best setting "
        "on average, and 12 at worst; a choice by 20 labelled questions was 3 points behind."
    )
    grade: Grade = "likely" if len(close) == 1 else "not shown"
    certainty = cautioned(certainty_of(grade, len(close), len(rows)), rows)
    return taking(best, grade, words, use, certainty=certainty)


def _reason_of_tie(best: Row, tied: Sequence[Row], *, is_kept: bool) -> str:
    """Say why a row is proposed of several that find as much."""
    if is_kept:
        return "you have it now"
    if len(tied) == 1:
        return "it finds the most"
    return "it is the default" if best.name == default_of(tied) else "it needs the least storage"


def _remedy(rows: Sequence[Row], close: Sequence[Row], measure: str) -> str:
    """Say what would tell settings apart; "" if the best is ahead and others find much less."""
    means = [row.mean for row in rows]
    if (len(close) > 1 and max(means) > 1 - SAME) or min(means) > _SATURATED:
        of_tokens = re.fullmatch(r"recall@(\d+)", measure)
        budget = int(of_tokens[1]) if of_tokens else 0
        smaller = f"{min(_SMALL_BUDGET, budget // 2)} tokens" if budget > 1 else "a smaller context"
        return f" This context is too large to tell settings apart: try {smaller}."
    if len(close) > 1:
        return " These passages do not tell them apart: add questions of your own."
    return ""
