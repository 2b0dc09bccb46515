"""Parsers and models written down, so that they can be made anywhere: classes and plain options.

Never pickled: a pickle of them has a key in it, or lacks one that the worker then takes from
wherever it is.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

from llama_index.core.base.embeddings.base import BaseEmbedding

from rag_nodes.errors import ConfigurationError
from rag_nodes.models import Models
from rag_nodes.models.rebuilding import WrittenModel, read_back, written_down
from rag_nodes.parsers import SpanNodeParser

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import SecretStr

_NOT_OPTIONS = ("callback_manager", "id_func")
"""Fields of a parser that decide nothing of what it gives."""
REMEDY = "other processes cannot make it; {}or go without workers"


class Shelf:
    """The embedding models of a recipe, each once, and the parsers that are made with them.

    Args:
        first: embeds the chunks.

    Raises:
        ConfigurationError: it cannot be made in another process.
    """

    def __init__(self, first: BaseEmbedding) -> None:
        self._models = [first]
        self._written = [written_down(first)]

    def __len__(self) -> int:
        """How many models there are."""
        return len(self._models)

    def parser(self, parser: SpanNodeParser) -> dict[str, Any]:
        """Class, options, and which of them are models: their numbers.

        Raises:
            ConfigurationError: it cannot be made of these in another process.
        """
        kind = type(parser)
        values = {name: getattr(parser, name) for name in kind.model_fields}
        models = {name: one for name, one in values.items() if isinstance(one, BaseEmbedding)}
        objects = [
            one
            for name, one in values.items()
            if kind.model_fields[name].exclude and name not in {*_NOT_OPTIONS, *models}
        ]
        if any(one is not None for one in objects) and not parser.is_plain:
            raise ConfigurationError(
                f"{kind.__name__} was given an object, so "
                + REMEDY.format(
                    "name the splitter by its import path, module:Class(option=value), "
                )
            )
        options = parser.to_dict()
        try:
            json.dumps(options)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(
                f"{kind.__name__} holds what is no plain data ({error}), so {REMEDY.format('')}"
            ) from error
        return {
            "class": importable(kind),
            "options": options,
            "models": {name: self._number_of(one) for name, one in models.items()},
        }

    def plain(self) -> list[dict[str, Any]]:
        """Class and options of each model, without keys."""
        return [{"path": one.path, "options": one.options} for one in self._written]

    def keys(self) -> dict[str, SecretStr]:
        """The keys of the models, by what they are for."""
        return {
            f"model {number} {name}": key
            for number, one in enumerate(self._written)
            for name, key in one.keys.items()
        }

    def _number_of(self, model: BaseEmbedding) -> int:
        for number, known in enumerate(self._models):
            if known is model:
                return number
        self._written.append(written_down(model))
        self._models.append(model)
        return len(self._models) - 1


def names_of(models: Models) -> dict[str, Any]:
    """What collections and reports call the embedding model, and whether all models are offline."""
    return {"embedding": models.embedding_name, "offline": models.offline}


def made_models(
    written: Sequence[Mapping[str, Any]],
    keys: Mapping[str, SecretStr],
    *,
    is_successor: bool = False,
) -> list[BaseEmbedding]:
    """The models of a shelf, made again.

    Args:
        written: as of `Shelf.plain`.
        keys: as of `Shelf.keys`, and others.
        is_successor: what an account may ask in a minute, one that died may have asked.

    Raises:
        ConfigurationError: one cannot be made here.
        MissingPackageError: a package for one is missing here.
    """
    made = []
    for number, one in enumerate(written):
        start = f"model {number} "
        own = {name[len(start) :]: key for name, key in keys.items() if name.startswith(start)}
        model = read_back(WrittenModel(one["path"], dict(one["options"]), own))
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


def made_parser(written: Mapping[str, Any], models: Sequence[BaseEmbedding]) -> SpanNodeParser:
    """The parser that `Shelf.parser` wrote down, with the models of that shelf.

    Raises:
        ConfigurationError: it cannot be made here.
    """
    given = {field: models[number] for field, number in written["models"].items()}
    kind = class_at(written["class"], SpanNodeParser)
    made: SpanNodeParser = kind.from_dict(dict(written["options"]), **given)
    return made


def shared_by(models: Sequence[Mapping[str, Any]], workers: int) -> list[dict[str, Any]]:
    """The models of each of so many: what an account may ask in a minute is divided."""
    return [{**one, "options": _shared(one["options"], workers)} for one in models]


def _shared(options: Mapping[str, Any], workers: int) -> dict[str, Any]:
    found = dict(options)
    if requests := found.get("requests_per_minute"):
        found["requests_per_minute"] = requests / workers
    if tokens := found.get("tokens_per_minute"):
        found["tokens_per_minute"] = max(1, tokens // workers)
    return found


def importable(kind: type) -> str:
    """Where a class is.

    Raises:
        ConfigurationError: no other process finds it there.
    """
    if kind.__module__ != "__main__" and "<locals>" not in kind.__qualname__:
        return f"{kind.__module__}:{kind.__qualname__}"
    raise ConfigurationError(
        f"{kind.__name__} is no class of a module that can be imported, so "
        + REMEDY.format("move it into a file of its own, ")
    )


def class_at(path: str, kind: type) -> Any:
    """The class that `importable` named.

    Raises:
        ConfigurationError: it is not there, or none of that kind.
    """
    module, _, name = path.partition(":")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"a worker cannot import {path} ({error}); install the package where workers run"
        ) from error
    if not (isinstance(found, type) and issubclass(found, kind)):
        raise ConfigurationError(f"{path} is no {kind.__name__}")
    return found
