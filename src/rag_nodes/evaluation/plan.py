"""Plan and progress of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.evaluation.sign_flips import DRAWS
from rag_nodes.query import QueryOptions

BUDGETS = (500, 1000, 2000)
"""Tokens of context at which columns are compared."""
SIZES = (100, 200, 400, 800)
"""Sizes of the curve, in tokens."""
TARGET = 200
"""Mean size of the comparison at equal size, in tokens."""
KS = (1, 3, 5, 10)
"""Numbers of chunks at which columns are compared as well."""


class Step(NamedTuple):
    """Progress of a run.

    A row of this `name` is indexed or asked, or a judge judges. Of `total` questions of all rows so
    many were asked, or answers judged; `seconds_left` is an estimate, None while there is none.
    """

    stage: Literal["index", "ask", "judge"]
    name: str
    done: int
    total: int | None
    seconds_left: float | None


@checks_keywords
@dataclass(frozen=True, slots=True)
class EvaluationPlan:
    """Plan of an evaluation; every field has a default.

    Attributes:
        budgets: tokens of context; the last passage that is read is truncated to one.
        ks: numbers of chunks.
        sizes: at which each column is tried as well, in tokens; () for none.
        target: mean size of the comparison at equal size, in tokens; None for none.
        options: how is searched; budget and number of chunks are set here.
        searches: ways to search, by name, in place of one: each parser and collection is measured
            in all of them, such as `{"sparse": QueryOptions(mode="sparse"), "hybrid":
            QueryOptions(mode="hybrid")}`, or with `rerank`. Other sizes are searched the first way.
        measure: the main measure; "" for recall at the middle budget.
        draws: random sign flips that intervals come from.
        seed: random seed of the sign flips.
        chosen_from: what a decision is made between: the "columns" at their own options, or each
            column at each of the "sizes".
    """

    budgets: tuple[int, ...] = BUDGETS
    ks: tuple[int, ...] = KS
    sizes: tuple[int, ...] = SIZES
    target: int | None = TARGET
    options: QueryOptions = field(default_factory=QueryOptions)
    searches: Mapping[str, QueryOptions] = field(default_factory=dict)
    measure: str = ""
    draws: int = DRAWS
    seed: int = 0
    chosen_from: Literal["columns", "sizes"] = "columns"

    def __post_init__(self) -> None:
        """Refuse what would only fail when everything was measured.

        Raises:
            ConfigurationError: no budget, a number that is not above 0, or an unknown measure.
        """
        numbers = (*self.budgets, *self.ks, *self.sizes)
        if not self.budgets:
            raise ConfigurationError("no budget: name at least one number of tokens, such as 1000")
        if min(numbers) < 1:
            raise ConfigurationError("budgets, ks and sizes are out of range: they must be above 0")
        if self.main not in self.shares:
            raise ConfigurationError(
                f"'{self.main}' is not measured; choose one of {', '.join(self.shares)}"
            )

    @property
    def budget(self) -> int:
        """The main budget, for which misses are explained."""
        ordered = sorted(self.budgets)
        return ordered[len(ordered) // 2]

    @property
    def main(self) -> str:
        """The main measure."""
        return self.measure or f"recall@{self.budget}"

    def probed_at(self, characters: int) -> int:
        """Tokens at which probes of passages of a length choose: no more than it has characters.

        That is about four passages. What reads much more finds all of them, whichever way it splits
        the text, and nothing can be compared. A plan with a single budget keeps that budget.
        """
        return self.budget if len(self.budgets) == 1 else min(self.budget, characters)

    def by_probes(self, characters: int) -> EvaluationPlan:
        """The plan by which probes choose, see `probed_at`; the same where it names a measure."""
        if self.measure:
            return self
        budget = self.probed_at(characters)
        budgets = tuple(dict.fromkeys((budget, *self.budgets)))
        return replace(self, budgets=budgets, measure=f"recall@{budget}")

    @property
    def shares(self) -> list[str]:
        """Measures from 0 to 1 that every question has."""
        return shares(self.budgets, self.ks)


def shares(budgets: Sequence[int], ks: Sequence[int]) -> list[str]:
    """Measures from 0 to 1 that every question has."""
    at = [*map(str, budgets), *(f"k{k}" for k in ks)]
    read = [f"{name}@{budget}" for budget in at for name in ("recall", "precision", "iou")]
    ranks = [f"{name}@k{k}" for k in ks for name in ("hit", "ndcg")]
    return [*read, *ranks, "mrr", "omega"]


def of_probes(characters: int) -> str:
    """Name of the mean recall by probes of passages of another length than that of the report."""
    return f"probes of {characters} characters"
