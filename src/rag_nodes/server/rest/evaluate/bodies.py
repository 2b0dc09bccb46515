"""What is asked of an evaluation: labelled questions, columns, and what is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from rag_nodes.evaluation.drafts import COUNT, QUESTIONS, DraftKind
from rag_nodes.evaluation.importers.formats import read_rows
from rag_nodes.evaluation.plan import BUDGETS, SIZES, TARGET, EvaluationPlan
from rag_nodes.parsers import COMPARED
from rag_nodes.parsers.offer import LEAST_CHUNK
from rag_nodes.query import QueryOptions
from rag_nodes.server.evaluating import Evaluation
from rag_nodes.server.rest.models import Cutoff, ModelChoice, Name, SearchFilter, VectorName
from rag_nodes.server.rest.parser_options import Body, ParserName, ParserOptions
from rag_nodes.workspace import Choice
from rag_nodes.workspace.bounds import (
    LARGEST,
    MOST_NUMBERS,
    MOST_PASSAGES,
    MOST_QUESTIONS,
    MOST_QUOTE,
)
from rag_nodes.workspace.options import MOST_COLUMNS, MOST_QUESTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.evaluation.importers.labels import Labels

_Place = Annotated[int, Field(ge=0, le=2**31)]
_Chunk = Annotated[int, Field(ge=LEAST_CHUNK, le=LARGEST)]
_Budget = Annotated[int, Field(ge=1, le=LARGEST)]
_UNIQUE = {"uniqueItems": True}


class LabelledPassage(Body):
    """Words of a document that answer a question; with offsets as well, a changed text is seen."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"text": "Rinse it weekly."}],
            "anyOf": [{"required": ["text"]}, {"required": ["start", "end"]}],
        }
    )
    text: Annotated[str, Field(max_length=MOST_QUOTE, pattern=r"\S")] | None = Field(
        default=None, description="The words as they stand there; null with offsets alone."
    )
    start: _Place | None = Field(default=None, description="First character.")
    end: _Place | None = Field(default=None, description="Behind the last character.")
    document: Name | None = Field(
        default=None, description="Name or id of its document; null where the words tell it."
    )

    @model_validator(mode="after")
    def _says_where(self) -> LabelledPassage:
        if self.text is None and (self.start is None or self.end is None):
            raise ValueError("give text, or start and end")
        return self


_Answer = Annotated[list[LabelledPassage], Field(min_length=1, max_length=MOST_PASSAGES)]


class LabelledQuestion(Body):
    """A question whose answer is known: our own JSON format, as in files."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"question": "How often is it rinsed?", "gold": [{"text": "weekly"}]}]
        }
    )
    id: Name | None = Field(default=None, description="Null for its number in the list.")
    question: Annotated[str, Field(max_length=MOST_QUESTION, pattern=r"\S")] = Field(
        description="In the words of somebody who has not read the answer."
    )
    document: Name | None = Field(default=None, description="Document of its passages.")
    gold: _Answer = Field(description="The passages that answer it together.")
    alternatives: Annotated[list[_Answer], Field(max_length=MOST_PASSAGES)] = Field(
        default=[], description="Other answers, each of which is enough."
    )
    kind: Annotated[str, Field(max_length=100)] = Field(
        default="", description="What sort of question it is, for the breakdown."
    )
    within: Annotated[list[Name], Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="The documents that are searched; null for all."
    )
    draft: bool = Field(
        default=False, description="Made by a program, accepted by nobody yet: chooses nothing."
    )


_Questions = Annotated[list[LabelledQuestion], Field(min_length=1, max_length=MOST_QUESTIONS)]


class CheckBody(Body):
    """Questions to be looked at before anything is measured with them."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}]})
    questions: _Questions | None = Field(
        default=None, description="Null for those of the file that was sent to /questions."
    )


class DraftBody(Body):
    """How many questions are drafted about the documents of a session, and of which kinds."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"count": 20}]})
    count: Annotated[int, Field(ge=1, le=200)] = Field(
        default=COUNT, description="At most; short documents give fewer."
    )
    kinds: Annotated[list[DraftKind], Field(min_length=1, json_schema_extra=_UNIQUE)] = Field(
        default=list(QUESTIONS), description="Of which places."
    )
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = Field(
        default=0, description="Another number gives other places."
    )


class EvaluateBody(CheckBody):
    """Which parsers are compared, by which questions, and what is measured."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"parsers": ["fixed", "heading"], "sizes": [200], "budgets": [1000]}]
        }
    )
    parsers: Annotated[
        list[ParserName],
        Field(min_length=1, max_length=MOST_COLUMNS, json_schema_extra=_UNIQUE),
    ] = Field(default=list(COMPARED), description="The columns, in this order.")
    options: dict[ParserName, ParserOptions] = Field(
        default_factory=dict, description="By parser; those of the presets where missing."
    )
    budgets: Annotated[list[_Budget], Field(min_length=1, max_length=MOST_NUMBERS)] = Field(
        default=list(BUDGETS),
        description="Tokens of context, filled exactly; misses are explained at the middle one.",
    )
    sizes: Annotated[list[_Chunk], Field(max_length=MOST_NUMBERS)] = Field(
        default=list(SIZES), description="Sizes at which every parser is tried; empty for none."
    )
    equal_size: _Chunk | None = Field(
        default=TARGET,
        description="Mean tokens of a chunk at which parsers are compared; null for no such row.",
    )
    chosen_from: Literal["columns", "sizes"] = Field(
        default="columns",
        description="Decide between the parsers at their own options, or between each parser at "
        "each size, LlamaIndex's splitter as it comes and what is done by default.",
    )
    granularity: Literal["chunks", "sentences", "both"] = Field(
        default="chunks",
        description="Read whole chunks, the sentences of them that answer, or have every column "
        "read in both ways.",
    )
    mode: Literal["hybrid", "dense", "sparse"] = Field(
        default="hybrid", description="Search by meaning and words, by meaning, or by words."
    )
    vectors: Annotated[
        list[VectorName],
        Field(min_length=1, json_schema_extra=_UNIQUE),
    ] = Field(
        default=["heading"],
        description="Compare this embedding of the chunks: with the headings above them, of their "
        "text alone, or behind some of their sentences as a summary. Several have every column "
        "searched by each.",
    )
    filter: SearchFilter | None = Field(default=None, description="Search only these chunks.")
    similarity_cutoff: Cutoff | None = Field(
        default=None, description="Leave out chunks of a lower cosine similarity; null for all."
    )
    own_document: bool = Field(
        default=False, description="Search only the document a question is about."
    )
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = Field(
        default=0, description="Of the draws for the intervals."
    )
    models: ModelChoice | None = Field(
        default=None, description="What embeds; null for the models of the server."
    )

    @model_validator(mode="after")
    def _no_parser_twice(self) -> EvaluateBody:
        if len(set(self.parsers)) < len(self.parsers):
            raise ValueError("a parser is named twice")
        if self.chosen_from == "sizes" and not self.sizes:
            raise ValueError("to choose from sizes, name at least one")
        return self

    def work(self, configured: dict[str, Any]) -> Evaluation:
        """What is to be done, as the library takes it.

        Args:
            configured: what the server's settings say of answering.
        """
        models = self.models or ModelChoice()
        choice = Choice(
            parsers=tuple(self.parsers),
            options={name: given.chosen() for name, given in self.options.items()},
            **{name: getattr(models, name) for name in ModelChoice.model_fields},
        )
        options = QueryOptions(
            **configured
            | {
                "mode": self.mode,
                "vector": self.vectors[0],
                "granularity": "sentences" if self.granularity == "sentences" else "chunks",
                "filter": self.filter.condition() if self.filter else None,
                "similarity_cutoff": self.similarity_cutoff,
            }
        )
        plan = EvaluationPlan(
            budgets=tuple(sorted(set(self.budgets))),
            sizes=tuple(sorted(set(self.sizes))),
            target=self.equal_size,
            options=options,
            seed=self.seed,
            chosen_from=self.chosen_from,
        )
        both = self.granularity == "both"
        vectors = tuple(dict.fromkeys(self.vectors))
        return Evaluation(choice, plan, vectors, self.own_document, in_both_ways=both)


def labels_of(questions: Sequence[LabelledQuestion] | None) -> Labels | None:
    """Questions as a file of ours holds them; None for None."""
    if questions is None:
        return None
    return read_rows([one.model_dump(exclude_none=True) for one in questions])
