"""Parsers, transformations and models written down, to be made anywhere: classes, plain options.

Never pickled: a pickle of them has a key in it, or lacks one that the worker then takes from
wherever it is.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM
from llama_index.core.schema import TransformComponent

from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers import SpanNodeParser
from rag_nodes.pipeline.written_models import ModelRow
from rag_nodes.transforms import ChunkWriter, SummaryJournal, identity_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import ExitStack

    from pydantic import SecretStr

    from rag_nodes.transforms import WrittenTexts

_NOT_OPTIONS = ("callback_manager", "id_func")
"""Fields of a parser that decide nothing of what it gives."""
REMEDY = "other processes cannot make it; {}or go without workers"


class Shelf:
    """The models of a recipe, each once, and what is made with them: parsers, transformations.

    Args:
        first: embeds the chunks.

    Raises:
        ConfigurationError: it cannot be made in another process.
    """

    def __init__(self, first: BaseEmbedding) -> None:
        self._embeddings, self._llms = ModelRow[BaseEmbedding](), ModelRow[LLM]()
        self._embeddings.number_of(first)

    def __len__(self) -> int:
        """How many embedding models there are."""
        return len(self._embeddings.written)

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
            "models": {name: self._embeddings.number_of(one) for name, one in models.items()},
        }

    def transformation(self, step: TransformComponent) -> dict[str, Any]:
        """Class, options, which of them are LLMs, and the file in which is kept what they write.

        Raises:
            ConfigurationError: it cannot be made of these in another process.
        """
        kind = type(step)
        path = importable(kind)
        values = {name: getattr(step, name) for name in kind.model_fields}
        llms = {name: one for name, one in values.items() if isinstance(one, LLM)}
        numbers = {name: self._llms.number_of(one) for name, one in llms.items()}
        options = {
            name: one
            for name, one in values.items()
            if not kind.model_fields[name].exclude and name not in {"callback_manager", *llms}
        }
        journal = None
        if isinstance(step, ChunkWriter):
            options |= {name: values[name] for name in ("concurrency", "requests_per_minute")}
            journal = _path_of(step)
        refused = (
            f"{kind.__name__} holds what is no plain data, such as a model, so {REMEDY.format('')}"
        )
        if not _is_plain(options):
            raise ConfigurationError(refused)
        try:
            same = identity_of(kind(**options, **llms)) == identity_of(step)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(refused) from error
        if not same:
            raise ConfigurationError(refused)
        return {"class": path, "options": options, "llms": numbers, "journal": journal}

    def llm(self, llm: LLM) -> int:
        """The number of an LLM.

        Raises:
            ConfigurationError: it cannot be made in another process.
        """
        return self._llms.number_of(llm)

    def plain(self) -> list[dict[str, Any]]:
        """Class and options of each embedding model, without keys."""
        return self._embeddings.plain()

    def plain_llms(self) -> list[dict[str, Any]]:
        """Class and options of each LLM, without keys."""
        return self._llms.plain()

    def keys(self) -> dict[str, SecretStr]:
        """The keys of all models, by what they are for."""
        return {**self._embeddings.keys("model"), **self._llms.keys("llm")}


def opened_journals(
    paths: Sequence[str], given: Mapping[str, WrittenTexts], stack: ExitStack
) -> dict[str, WrittenTexts]:
    """Journals by their paths.

    Args:
        paths: of all.
        given: what stands in for some; the others are files of this machine.
        stack: closes those.

    Raises:
        ConfigurationError: a file cannot be written.
    """
    return {
        path: given.get(path) or stack.enter_context(SummaryJournal(Path(path))) for path in paths
    }


def made_transformation(
    written: Mapping[str, Any],
    llms: Sequence[LLM],
    journals: Mapping[str, WrittenTexts],
    *,
    is_successor: bool = False,
) -> TransformComponent:
    """The transformation that `Shelf.transformation` wrote down.

    Args:
        written: as it was.
        llms: of that shelf.
        journals: in which is kept what they write, by their paths.
        is_successor: what it may ask in a minute, one that died may have asked.

    Raises:
        ConfigurationError: it cannot be made here.
    """
    given: dict[str, Any] = {field: llms[number] for field, number in written["llms"].items()}
    if written["journal"]:
        given["journal"] = journals[written["journal"]]
    made: TransformComponent = class_at(written["class"], TransformComponent)(
        **written["options"], **given
    )
    if is_successor and isinstance(made, ChunkWriter):
        made.begin_spent()
    return made


def made_parser(written: Mapping[str, Any], models: Sequence[BaseEmbedding]) -> SpanNodeParser:
    """The parser that `Shelf.parser` wrote down, with the models of that shelf.

    Raises:
        ConfigurationError: it cannot be made here.
    """
    given = {field: models[number] for field, number in written["models"].items()}
    kind = class_at(written["class"], SpanNodeParser)
    made: SpanNodeParser = kind.from_dict(dict(written["options"]), **given)
    return made


def _path_of(step: ChunkWriter) -> str | None:
    """The file in which is kept what an LLM writes for a step; None where it is not kept.

    Raises:
        ConfigurationError: it is kept elsewhere, or the step tells somebody of this process.
    """
    kept = step.journal
    if kept is None and step.on_done is None:
        return None
    if step.on_done is None and isinstance(kept, SummaryJournal) and not kept.frozen:
        return str(kept.path.absolute())
    raise ConfigurationError(
        f"{type(step).__name__} was given on_done, or a journal that is no file to write, so "
        + REMEDY.format("leave it out, ")
    )


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


def _is_plain(value: object) -> bool:
    """Whether JSON gives it back as it is."""
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_plain(one) for name, one in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | int | float)
