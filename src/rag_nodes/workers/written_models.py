"""Models of a recipe: written down each once, their keys beside them, and made again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM

from rag_nodes.models import Models
from rag_nodes.models.rebuilding import WrittenModel, read_back, written_down

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import SecretStr

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


def names_of(models: Models) -> dict[str, Any]:
    """What collections and reports call the embedding model, and whether all models are offline."""
    return {"embedding": models.embedding_name, "offline": models.offline}


def made_models(
    written: Sequence[Mapping[str, Any]],
    keys: Mapping[str, SecretStr],
    *,
    is_successor: bool = False,
) -> list[BaseEmbedding]:
    """The embedding models of a shelf, made again.

    Args:
        written: as of `Shelf.plain`.
        keys: as of `Shelf.keys`, and others.
        is_successor: what an account may ask in a minute, one that died may have asked.

    Raises:
        ConfigurationError: one cannot be made here.
        MissingPackageError: a package for one is missing here.
    """
    kind: Any = BaseEmbedding  # which is abstract
    return _made(kind, "model", written, keys, is_successor=is_successor)


def made_llms(
    written: Sequence[Mapping[str, Any]],
    keys: Mapping[str, SecretStr],
    *,
    is_successor: bool = False,
) -> list[LLM]:
    """The LLMs of a shelf, made again; for the rest see `made_models`."""
    kind: Any = LLM  # which is abstract
    return _made(kind, "llm", written, keys, is_successor=is_successor)


def _made(
    kind: type[ModelT],
    name: str,
    written: Sequence[Mapping[str, Any]],
    keys: Mapping[str, SecretStr],
    *,
    is_successor: bool,
) -> list[ModelT]:
    made = []
    for number, one in enumerate(written):
        start = f"{name} {number} "
        own = {name[len(start) :]: key for name, key in keys.items() if name.startswith(start)}
        model = read_back(WrittenModel(one["path"], dict(one["options"]), own), kind)
        if is_successor and (begin_spent := getattr(model, "begin_spent", None)):
            begin_spent()
        made.append(model)
    return made


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
