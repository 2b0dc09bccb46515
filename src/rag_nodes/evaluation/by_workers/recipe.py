"""What workers that measure are made of: documents, questions and models as plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import Document

from rag_nodes.errors import ConfigurationError
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.query import QueryOptions
from rag_nodes.store import Filter
from rag_nodes.text.spans import Span
from rag_nodes.workers.shelf import REMEDY, Shelf
from rag_nodes.workers.written_models import ModelRecipe, models_of, names_of

if TYPE_CHECKING:
    from rag_nodes.models import Models


class MadeAgain(NamedTuple):
    """What a recipe gives.

    Attributes:
        dataset: documents and questions.
        plan: what is measured.
        models: embeds texts and questions, and writes about chunks.
        embeddings: all models there are; parsers name them by their numbers.
    """

    dataset: Dataset
    plan: EvaluationPlan
    models: Models
    embeddings: Sequence[BaseEmbedding]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRecipe(ModelRecipe):
    """How to make a worker that measures; for models and keys see `ModelRecipe`.

    Attributes:
        dataset: documents and questions.
        plan: what is measured.
        cache: folder with vectors that were paid for; None where there is none.
        journal: file in which is kept what an LLM writes; None where there is none.
    """

    trade: ClassVar[str] = "rag_nodes.evaluation.by_workers.work:MEASURING"

    dataset: Mapping[str, Any]
    plan: Mapping[str, Any]
    cache: str | None = None
    journal: str | None = None

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        plan: EvaluationPlan,
        models: Models,
        shelf: Shelf,
        *,
        cache: Path | None = None,
        journal: Path | None = None,
    ) -> Self:
        """All of it written down.

        An LLM that cannot be made in another process is left out: what it writes about stays here.

        Args:
            dataset: documents and questions, in the order they are asked.
            plan: what is measured.
            models: of the run.
            shelf: with the embedding models of `models` and of the parsers.
            cache: folder with vectors that were paid for, which workers may reach.
            journal: in which is kept what an LLM writes about chunks; None where none is to.

        Raises:
            ConfigurationError: a document or an option cannot be made in another process.
        """
        if journal and models.llm:
            with suppress(ConfigurationError):
                shelf.llm(models.llm)
        return cls(
            models=shelf.plain(),
            names=names_of(models),
            dataset=_written_dataset(dataset),
            plan={**_fields(plan), "options": written_options(plan.options)},
            cache=str(cache.absolute()) if cache else None,
            llms=shelf.plain_llms(),
            journal=str(journal.absolute()) if journal else None,
            folder=str(Path.cwd()),
            keys=shelf.keys(),
        )

    @property
    def journals(self) -> tuple[str, ...]:
        """The file in which is kept what an LLM writes, where one does."""
        return (self.journal,) if self.journal and self.llms else ()

    def make(self, made: Sequence[BaseEmbedding] = ()) -> MadeAgain:
        """Data, plan and models, equal to those that were written down.

        Args:
            made: what stands in for the models, which then are not made.

        Raises:
            ConfigurationError: they cannot be made here.
            MissingPackageError: a package is missing here.
        """
        # Of a stand-in nobody sees that its model only counts words, by which others are read.
        counts_words = self.models[0]["path"].endswith(":LexicalEmbedding")
        embeddings = made if made and not counts_words else self.make_models()
        plan = {**self.plan, "options": made_options(self.plan["options"])}
        for name in ("budgets", "ks", "sizes"):
            plan[name] = tuple(plan[name])
        llms = self.make_llms()
        return MadeAgain(
            _made_dataset(self.dataset),
            EvaluationPlan(**plan),
            replace(models_of(embeddings, self.names), llm=llms[0] if llms else None),
            embeddings,
        )


def written_options(options: QueryOptions) -> dict[str, Any]:
    """How is searched, as plain data.

    Raises:
        ConfigurationError: it is searched with a reranker, which is an object.
    """
    if options.rerank is not None:
        raise ConfigurationError(f"the reranker is an object, so {REMEDY.format('')}")
    chosen = _fields(options)
    return {**chosen, "filter": asdict(options.filter) if options.filter else None}


def made_options(plain: Mapping[str, Any]) -> QueryOptions:
    """The options that `written_options` wrote."""
    given = {**plain, "step_words": tuple(plain["step_words"])}
    given["prices"] = {name: (price[0], price[1]) for name, price in plain["prices"].items()}
    if chosen := plain["filter"]:
        pages, path = chosen["pages"], tuple(chosen["heading_path"])
        given["filter"] = Filter(
            **{**chosen, "pages": tuple(pages) if pages else None, "heading_path": path}
        )
    return QueryOptions(**given)


def _written_dataset(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "documents": [_written_document(one) for one in dataset.documents],
        "questions": [_fields(one) for one in dataset.questions],
    }


def _made_dataset(plain: Mapping[str, Any]) -> Dataset:
    documents = tuple(Document.from_dict(one) for one in plain["documents"])
    return Dataset(plain["name"], documents, tuple(map(_question, plain["questions"])))


def _written_document(document: Document) -> dict[str, Any]:
    """A document as plain data.

    Raises:
        ConfigurationError: JSON does not give it back as it is.
    """
    plain = document.to_dict()
    try:
        same = json.loads(json.dumps(plain)) == plain and type(document) is Document
    except (TypeError, ValueError):
        same = False
    if not same:
        raise ConfigurationError(
            f"the document {document.id_!r} holds what is no plain data, such as an object in its "
            f"metadata, so {REMEDY.format('')}"
        )
    return plain


def _question(plain: Mapping[str, Any]) -> Question:
    gold = tuple(
        tuple(Passage(document, Span(*span)) for document, span in answer)
        for answer in plain["gold"]
    )
    within = None if plain["within"] is None else tuple(plain["within"])
    return Question(**{**plain, "gold": gold, "within": within})


def _fields(one: Any) -> dict[str, Any]:
    """The fields of a dataclass, as they are."""
    return {each.name: getattr(one, each.name) for each in fields(one)}
