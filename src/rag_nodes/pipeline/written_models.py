"""Models of a recipe: written down each once, their keys beside them, and made again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, Self, TypeVar

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM
from pydantic import SecretStr

from rag_nodes.models import Models
from rag_nodes.models.rebuilding import WrittenModel, read_back, written_down

ModelT = TypeVar("ModelT", BaseEmbedding, LLM)


class ModelRow(Generic[ModelT]):
    """Models of a kind, each once, by their numbers."""

    def __init__(self) -> None:
        self._models: list[ModelT] = []
        self.written: list[WrittenModel] = []

    def number_of(self, model: ModelT) -> int:
        """The number of a model, which it is given where it has none.

        Raises:
            ConfigurationError: it cannot be made in another process.
        """
        for number, known in enumerate(self._models):
            if known is model:
                return number
        self.written.append(written_down(model))
        self._models.append(model)
        return len(self._models) - 1

    def plain(self) -> list[dict[str, Any]]:
        """Class and options of each, without keys."""
        return [{"path": one.path, "options": one.options} for one in self.written]

    def keys(self, kind: str) -> dict[str, SecretStr]:
        """Their keys, by what they are for."""
        return {
            f"{kind} {number} {name}": key
            for number, one in enumerate(self.written)
            for name, key in one.keys.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRecipe:
    """What every recipe of a worker says: of which models it is made, and where it works.

    Attributes:
        models: class and options of each embedding model; the first one is that of the chunks.
        names: what collections and reports call that one, and whether all models are offline.
        llms: class and options of each LLM that writes about chunks.
        folder: in which relative paths begin; "" for wherever the worker is.
        is_successor: it is of a worker in the place of one that died.
        keys: what nobody is to see, by what it is for. In no `repr`, and not in `plain`.
    """

    models: Sequence[Mapping[str, Any]]
    names: Mapping[str, Any]
    llms: Sequence[Mapping[str, Any]] = ()
    folder: str = ""
    is_successor: bool = False
    keys: Mapping[str, SecretStr] = field(default_factory=dict, repr=False)

    def plain(self) -> dict[str, Any]:
        """All but the keys, as what JSON can hold."""
        names = [one.name for one in fields(self) if one.name != "keys"]
        return {name: getattr(self, name) for name in names}

    def successor(self) -> Self:
        """The recipe of a worker in the place of one that died.

        What an account may ask in a minute that one may have asked.
        """
        return replace(self, is_successor=True)

    def shared_by(self, workers: int, *, embedding: int | None = None) -> Self:
        """The recipe of each of so many: what an account may ask in a minute is divided.

        Args:
            workers: how many there are.
            embedding: how many embed, where others do that for them; None for all workers.
        """
        return replace(
            self,
            models=shared_by(self.models, embedding or workers),
            llms=shared_by(self.llms, workers),
        )

    def make_models(self) -> list[BaseEmbedding]:
        """The embedding models, equal to those that were written down.

        Raises:
            ConfigurationError: one cannot be made here.
            MissingPackageError: a package for one is missing here.
        """
        kind: Any = BaseEmbedding  # which is abstract
        return self._made(kind, "model", self.models)

    def make_llms(self) -> list[LLM]:
        """The LLMs, equal to those that were written down; raises as `make_models`."""
        kind: Any = LLM  # which is abstract
        return self._made(kind, "llm", self.llms)

    def _made(
        self, kind: type[ModelT], name: str, written: Sequence[Mapping[str, Any]]
    ) -> list[ModelT]:
        made = []
        for number, one in enumerate(written):
            start = f"{name} {number} "
            own = {of[len(start) :]: key for of, key in self.keys.items() if of.startswith(start)}
            model = read_back(WrittenModel(one["path"], dict(one["options"]), own), kind)
            if self.is_successor and (begin_spent := getattr(model, "begin_spent", None)):
                begin_spent()
            made.append(model)
        return made


def names_of(models: Models) -> dict[str, Any]:
    """What collections and reports call the embedding model, and whether all models are offline."""
    return {"embedding": models.embedding_name, "offline": models.offline}


def models_of(made: Sequence[BaseEmbedding], names: Mapping[str, Any]) -> Models:
    """The models that `names_of` named; the first one embeds the chunks."""
    return Models(
        embedding=made[0],
        llm=None,
        embedding_name=names["embedding"],
        answer_name="extractive",
        offline=names["offline"],
    )


def shared_by(models: Sequence[Mapping[str, Any]], workers: int) -> list[dict[str, Any]]:
    """Models, or transformations, of each of so many: what an account may ask is divided."""
    return [{**one, "options": _shared(one["options"], workers)} for one in models]


def _shared(options: Mapping[str, Any], workers: int) -> dict[str, Any]:
    found = dict(options)
    if requests := found.get("requests_per_minute"):
        found["requests_per_minute"] = requests / workers
    if tokens := found.get("tokens_per_minute"):
        found["tokens_per_minute"] = max(1, tokens // workers)
    return found
