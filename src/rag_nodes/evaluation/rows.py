"""Rows of a report, out of what was found of a variant."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_nodes.evaluation.columns import configuration_of
from rag_nodes.evaluation.report import Outcome, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.evaluation.columns import Variant
    from rag_nodes.evaluation.examining import Examined


def with_outcomes(row: Row, outcomes: tuple[Outcome, ...]) -> Row:
    """The row with some of its outcomes alone."""
    if len(outcomes) == len(row.outcomes):
        return row
    return replace(row, outcomes=outcomes, means=means_of(outcomes), reasons=reasons_of(outcomes))


def reasons_of(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """How many questions were missed, by reason."""
    return dict(Counter(one.reason for one in outcomes if one.reason))


def means_of(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The mean of every score over the questions that have it."""
    values: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        for name, value in outcome.scores.items():
            values[name].append(value)
    return {name: float(np.mean(each)) for name, each in values.items()}


def row_of_examined(variant: Variant, found: Examined) -> Row:
    """The row of a variant that was examined."""
    return Row(
        **_named(variant),
        chunks=found.chunks,
        cost=found.cost,
        means=means_of(found.outcomes),
        interval=None,
        reasons=reasons_of(found.outcomes),
        outcomes=found.outcomes,
    )


def failed_row(variant: Variant, error: Exception) -> Row:
    """The row of a variant that could not be examined."""
    return Row(
        **_named(variant),
        chunks={},
        cost={},
        means={},
        interval=None,
        reasons={},
        outcomes=(),
        error=str(error) or type(error).__name__,
    )


def _named(variant: Variant) -> dict[str, Any]:
    """What a row says of its variant."""
    return {
        "name": variant.name,
        "column": variant.column,
        "role": variant.role,
        "parser": configuration_of(variant),
        "nominal": variant.nominal,
        "note": variant.note,
    }
