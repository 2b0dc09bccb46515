"""What a sweep found, as plain data: every candidate, the one to take, and why."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from rag_nodes.parsers import preset_for
from rag_nodes.parsers.preset_files import QUERY_KEYS
from rag_nodes.query import QueryOptions

if TYPE_CHECKING:
    from rag_nodes.evaluation.leads import Interval
    from rag_nodes.evaluation.recommendation.candidates import Candidate
    from rag_nodes.parsers import Preset, SpanNodeParser

SCHEMA = 2
"""Version of the recommendation as JSON; raised when a field changes its meaning or goes."""
State = Literal["level", "behind", "stopped", "failed"]
"""Not shown to be worse than the leader; shown to be; asked no more since it was far behind; it
could not be measured."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate and what came of it.

    Attributes:
        name: unique in a sweep, such as "recursive 200/30".
        preset: the parser, without its size.
        size: tokens of a chunk at most; None where it cannot be changed.
        overlap: tokens that neighbours share; None where the parser has none.
        mode: how was searched.
        granularity: what was read, "sentences" or "chunks".
        parser: class and options.
        state: how it compares with the leader.
        asked: questions it was asked.
        means: of every score over these questions.
        interval: of the main measure; None where it failed.
        gap: leader minus candidate, with an interval that holds for all candidates at once; of a
            stopped one over the questions it was asked, with the wide interval that stopped it.
        chunks: statistics of the chunks' sizes.
        cost: what it takes to have it in a store, see `rag_nodes.evaluation.indexing.Cost`.
        words: what has to be said of it: why it was stopped, or failed; "" for nothing.
    """

    name: str
    preset: str
    size: int | None
    overlap: int | None
    mode: str
    granularity: str
    parser: dict[str, Any]
    state: State
    asked: int
    means: dict[str, float]
    interval: Interval | None
    gap: Interval | None
    chunks: dict[str, Any]
    cost: dict[str, Any]
    words: str = ""

    @property
    def bytes(self) -> int:
        """Vectors and texts in the store; 0 where it failed."""
        return int(self.cost.get("bytes", 0))


@dataclass(frozen=True)
class Recommendation:
    """What to take, and what that rests on.

    Attributes:
        dataset: name, fingerprint, numbers of documents, questions, drafts and unaccepted (drafts
            that were left out), and the overlap (mean share of the questions' content words in
            their answers).
        settings: everything that has to be equal to get the same numbers.
        trials: every candidate, in the order they were tried; by drafts the standard alone.
        leader: name of the one that found most.
        chosen: name of the one to take.
        told: the data say so; False where they cannot tell and the standard stands.
        more_questions: about how many more would show the lead of the leader over the standard, or
            one of three points where it is smaller; 0 where it is shown.
        verdict: what to take and why, in sentences, the most important first.
        otherwise: what would have to be true to take another.
        candidate: the one to take, ready to be used.
    """

    dataset: dict[str, Any]
    settings: dict[str, Any]
    trials: tuple[Trial, ...]
    leader: str
    chosen: str
    told: bool
    more_questions: int
    verdict: tuple[str, ...]
    otherwise: tuple[str, ...]
    candidate: Candidate = field(repr=False)

    @property
    def measure(self) -> str:
        """The main measure, such as "recall@1000"."""
        return str(self.settings["measure"])

    @property
    def parser(self) -> SpanNodeParser:
        """The parser to take."""
        return self.candidate.parser

    @property
    def options(self) -> QueryOptions:
        """How to search it, and what to read."""
        return self.candidate.options

    def preset(self, name: str) -> Preset:
        """The one to take as a preset, which `rag_nodes.parsers.save_preset` writes to a file.

        Args:
            name: of the preset.

        Raises:
            ConfigurationError: it is a splitter of another package, which no file may name.
        """
        query = {key: getattr(self.options, key) for key in QUERY_KEYS}
        usual = QueryOptions()
        changed = {key: value for key, value in query.items() if value != getattr(usual, key)}
        return preset_for(
            self.parser,
            name,
            summary=self.verdict[0] if self.told else f"{self.chosen}: the data could not tell",
            query={**changed, "budget": self.settings["budget"]},
        )

    def trial(self, name: str) -> Trial:
        """The candidate with a name.

        Raises:
            StopIteration: there is none.
        """
        return next(one for one in self.trials if one.name == name)

    @property
    def front(self) -> list[Trial]:
        """Candidates of which none is both cheaper to index and better, cheapest first."""
        return pareto(self.trials, self.measure)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, the same for the same run: measured seconds are left out."""
        trials = [asdict(one) for one in self.trials]
        for one in trials:
            one["cost"].pop("seconds", None)
        return {
            "schema_version": SCHEMA,
            "dataset": self.dataset,
            "settings": self.settings,
            "trials": trials,
            "leader": self.leader,
            "chosen": self.chosen,
            "told": self.told,
            "more_questions": self.more_questions,
            "verdict": list(self.verdict),
            "otherwise": list(self.otherwise),
            "front": [one.name for one in self.front],
        }

    def to_json(self) -> str:
        """The recommendation as text; equal runs give equal texts."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=1, sort_keys=True)


def pareto(trials: tuple[Trial, ...], measure: str) -> list[Trial]:
    """Of those that were asked everything the ones that none beats in cost and measure both.

    Args:
        trials: of a sweep.
        measure: the more, the better.
    """
    asked = [one for one in trials if one.state in ("level", "behind")]
    asked.sort(key=lambda one: (one.bytes, -one.means[measure]))
    front: list[Trial] = []
    for one in asked:
        if not front or one.means[measure] > front[-1].means[measure]:
            front.append(one)
    return front
