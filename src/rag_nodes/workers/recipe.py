"""What a worker is made of: plain data, so that it can be made anywhere.

Never pickled parsers, models or settings: a pickle of them has a key in it, or lacks one that the
worker then takes from wherever it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TransformComponent
from pydantic import SecretStr

from rag_nodes.errors import ConfigurationError
from rag_nodes.models import Models
from rag_nodes.models.rebuilding import WrittenModel, read_back, written_down
from rag_nodes.parsers import SpanNodeParser, as_parser
from rag_nodes.readers import Limits
from rag_nodes.store import ServerOptions, open_store
from rag_nodes.transforms import identity_of

if TYPE_CHECKING:
    from rag_nodes.models.prices import Prices
    from rag_nodes.store import Store
    from rag_nodes.store.options import ServerAddress

_NOT_OPTIONS = ("callback_manager", "id_func")
"""Fields of a parser that decide nothing of what it gives."""
_REMEDY = "other processes cannot make it; {}or ingest without workers"


class MadeParts(NamedTuple):
    """What a recipe gives; as for `rag_nodes.pipeline.ingest`."""

    parsers: Mapping[str, SpanNodeParser]
    models: Models
    transformations: Sequence[TransformComponent]
    limits: Limits
    prices: Prices


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to make a worker.

    Attributes:
        parsers: by name: class, options, and which of them are models, by field.
        models: class and options of each embedding model; the first one is that of the chunks.
        names: what collections and reports call that one, and whether all models are offline.
        transformations: class and options of each.
        corpus: name of the document set.
        limits: what one file may cost.
        prices: of embedding models.
        folder: in which relative paths begin; "" for wherever the worker is.
        store: location of a store in which workers write themselves; None where they send.
        store_options: of that server, see `rag_nodes.store.ServerOptions`.
        is_successor: it is of a worker in the place of one that died.
        keys: what nobody is to see, by what it is for. In no `repr`, and not in `plain`.
    """

    parsers: Mapping[str, Mapping[str, Any]]
    models: Sequence[Mapping[str, Any]]
    names: Mapping[str, Any]
    transformations: Sequence[Mapping[str, Any]]
    corpus: str
    limits: Mapping[str, Any]
    prices: Mapping[str, Sequence[float]]
    folder: str = ""
    store: str | None = None
    store_options: Mapping[str, Any] = field(default_factory=dict)
    is_successor: bool = False
    keys: Mapping[str, SecretStr] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        parsers: Mapping[str, object],
        models: Models,
        *,
        transformations: Sequence[TransformComponent] = (),
        corpus: str = "default",
        limits: Limits | None = None,
        prices: Prices | None = None,
        address: ServerAddress | None = None,
    ) -> Self:
        """Parsers, models and the rest, written down; for arguments see `Recipe` and `ingest`.

        Raises:
            ConfigurationError: a parser, model or transformation cannot be made of plain data, or
                not elsewhere; says what to do instead.
        """
        shelf = _Shelf(models.embedding)
        keys = {"store": address.key} if address and address.key else {}
        return cls(
            parsers={name: _parser(as_parser(one), shelf) for name, one in parsers.items()},
            models=[{"path": one.path, "options": one.options} for one in shelf.written],
            names={"embedding": models.embedding_name, "offline": models.offline},
            transformations=[_transformation(one) for one in transformations],
            corpus=corpus,
            limits=asdict(limits or Limits()),
            prices={name: list(price) for name, price in (prices or {}).items()},
            folder=str(Path.cwd()),
            store=address.url if address else None,
            store_options=address.options.model_dump() if address else {},
            keys={**keys, **shelf.keys()},
        )

    def shared_by(self, workers: int) -> Self:
        """The recipe of each of so many: what an account may ask in a minute is divided."""
        models = [{**one, "options": _shared(one["options"], workers)} for one in self.models]
        return replace(self, models=models)

    def successor(self) -> Self:
        """The recipe of a worker in the place of one that died.

        What an account may ask in a minute that one may have asked.
        """
        return replace(self, is_successor=True)

    def plain(self) -> dict[str, Any]:
        """All but the keys, as what JSON can hold."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in fields.items() if name != "keys"}

    def make_models(self) -> list[BaseEmbedding]:
        """The embedding models, equal to those that were written down; raises as `make`."""
        return [self._model(number) for number in range(len(self.models))]

    def make(self, made: Sequence[BaseEmbedding] = ()) -> MadeParts:
        """Parsers, models and the rest, equal to those that were written down.

        Args:
            made: what stands in for the models, which then are not made.

        Raises:
            ConfigurationError: they cannot be made here.
            MissingPackageError: a package is missing here.
        """
        made = made or self.make_models()
        models = Models(
            embedding=made[0],
            llm=None,
            embedding_name=self.names["embedding"],
            answer_name="extractive",
            offline=self.names["offline"],
        )
        parsers = {}
        for name, one in self.parsers.items():
            given = {field: made[number] for field, number in one["models"].items()}
            kind = _class_at(one["class"], SpanNodeParser)
            parsers[name] = kind.from_dict(dict(one["options"]), **given)
        steps = [
            _class_at(one["class"], TransformComponent)(**one["options"])
            for one in self.transformations
        ]
        prices = {name: (price[0], price[1]) for name, price in self.prices.items()}
        return MadeParts(parsers, models, steps, Limits(**self.limits), prices)

    def open_store(self) -> Store | None:
        """The store to write in; None where the driver writes."""
        if self.store is None:
            return None
        key = self.keys.get("store")
        options = ServerOptions.of(self.store_options)
        return open_store(self.store, key.get_secret_value() if key else None, options)

    def _model(self, number: int) -> BaseEmbedding:
        start = f"model {number} "
        keys = {
            name[len(start) :]: key for name, key in self.keys.items() if name.startswith(start)
        }
        one = self.models[number]
        made = read_back(WrittenModel(one["path"], dict(one["options"]), keys))
        if self.is_successor and (begin_spent := getattr(made, "begin_spent", None)):
            begin_spent()
        return made


def _shared(options: Mapping[str, Any], workers: int) -> dict[str, Any]:
    found = dict(options)
    if requests := found.get("requests_per_minute"):
        found["requests_per_minute"] = requests / workers
    if tokens := found.get("tokens_per_minute"):
        found["tokens_per_minute"] = max(1, tokens // workers)
    return found


class _Shelf:
    """The embedding models of a recipe, each once."""

    def __init__(self, first: BaseEmbedding) -> None:
        self._models = [first]
        self.written: list[WrittenModel] = [written_down(first)]

    def number_of(self, model: BaseEmbedding) -> int:
        for number, known in enumerate(self._models):
            if known is model:
                return number
        self._models.append(model)
        self.written.append(written_down(model))
        return len(self._models) - 1

    def keys(self) -> dict[str, SecretStr]:
        return {
            f"model {number} {name}": key
            for number, one in enumerate(self.written)
            for name, key in one.keys.items()
        }


def _parser(parser: SpanNodeParser, shelf: _Shelf) -> dict[str, Any]:
    """Class, options, and which of them are models."""
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
            + _REMEDY.format("name the splitter by its import path, module:Class(option=value), ")
        )
    return {
        "class": _importable(kind),
        "options": parser.to_dict(),
        "models": {name: shelf.number_of(one) for name, one in models.items()},
    }


def _transformation(step: TransformComponent) -> dict[str, Any]:
    """Class and options.

    Raises:
        ConfigurationError: it cannot be made of them.
    """
    kind = type(step)
    path = _importable(kind)
    options = {
        name: getattr(step, name)
        for name, one in kind.model_fields.items()
        if not one.exclude and name != "callback_manager"
    }
    refused = (
        f"{kind.__name__} holds what is no plain data, such as a model, so {_REMEDY.format('')}"
    )
    if not _is_plain(options):
        raise ConfigurationError(refused)
    try:
        same = identity_of(kind(**options)) == identity_of(step)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(refused) from error
    if not same:
        raise ConfigurationError(refused)
    return {"class": path, "options": options}


def _is_plain(value: object) -> bool:
    """Whether JSON gives it back as it is."""
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_plain(one) for name, one in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | int | float)


def _importable(kind: type) -> str:
    """Where a class is.

    Raises:
        ConfigurationError: no other process finds it there.
    """
    if kind.__module__ != "__main__" and "<locals>" not in kind.__qualname__:
        return f"{kind.__module__}:{kind.__qualname__}"
    raise ConfigurationError(
        f"{kind.__name__} is no class of a module that can be imported, so "
        + _REMEDY.format("move it into a file of its own, ")
    )


def _class_at(path: str, kind: type) -> Any:
    """The class that `_importable` named.

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
