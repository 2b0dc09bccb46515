"""An embedding model or LLM as plain data, of which another process makes an equal one."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import SecretStr

from rag_nodes.errors import ConfigurationError
from rag_nodes.import_paths import load
from rag_nodes.models.faults import LONGEST_DETAIL, safe_line
from rag_nodes.models.names import embedding_name, written_as
from rag_nodes.settings import is_secret, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

ModelT = TypeVar("ModelT")


class WrittenModel(NamedTuple):
    """An embedding model or LLM, written down.

    Attributes:
        path: `module:Class`.
        options: what the class is given; plain data without a key.
        keys: options that nobody is to see, each as JSON.
    """

    path: str
    options: dict[str, Any]
    keys: dict[str, SecretStr]


def written_down(model: BaseEmbedding | LLM) -> WrittenModel:
    """The model as plain data.

    Raises:
        ConfigurationError: another process could not make it of that: its class cannot be
            imported, or it holds what is no plain data.
    """
    path, options = written_as(model)
    options = {**options, **getattr(model, "given_options", {})}
    fields = {name: getattr(model, name) for name in type(model).model_fields}
    secrets = {name: value for name, value in fields.items() if is_secret(name)}
    held = {**secrets, **getattr(model, "given_keys", {})}
    keys = {name: _as_key(model, name, value) for name, value in held.items() if value}
    written = WrittenModel(path, options, keys)
    _check_importable(type(model))
    if getattr(model, "place", None) is None:  # ours are, and may take long to make
        _check_equal(model, written)
    return written


def read_back(written: WrittenModel, kind: type[ModelT]) -> ModelT:
    """The model that `written_down` wrote.

    Args:
        written: class, options and keys.
        kind: what it has to be, `BaseEmbedding` or `LLM`.

    Raises:
        ConfigurationError: it cannot be made here.
        MissingPackageError: a package for it is not installed.
    """
    keys = {name: json.loads(key.get_secret_value()) for name, key in written.keys.items()}
    try:
        made: ModelT = load(written.path, kind, **written.options, **keys)
    except ConfigurationError as error:
        # The message may quote the options.
        raise ConfigurationError(without_secrets(str(error), keys)) from None
    return made


def without_keys(text: str, keys: Mapping[str, SecretStr], *, most: int = LONGEST_DETAIL) -> str:
    """What a process says, on one line and shortened, without anything that nobody is to see.

    Args:
        text: of a library, a document, or whoever.
        keys: that the process was given, as in `WrittenModel`; those of the environment are left
            out, too, and whatever looks like a key.
        most: characters that are kept.
    """
    words = [word for key in keys.values() for word in _words(key.get_secret_value())]
    given = {f"key {number}": word for number, word in enumerate(words)}
    return safe_line(without_secrets(without_secrets(text, given), os.environ), most)


def _words(key: str) -> Iterator[str]:
    """What of a key may stand in a message: headers are a mapping, of `Bearer` and the key."""
    try:
        held = json.loads(key)
    except ValueError:  # that of a store is no JSON
        held = key
    for value in held.values() if isinstance(held, dict) else (held,):
        yield from str(value).split()


def _as_key(model: BaseEmbedding | LLM, name: str, value: Any) -> SecretStr:
    """An option as a key.

    Raises:
        ConfigurationError: it is an object, such as a function that gives tokens.
    """
    plain = value.get_secret_value() if isinstance(value, SecretStr) else value
    try:
        return SecretStr(json.dumps(plain))
    except TypeError:
        raise ConfigurationError(
            f"{type(model).__name__} holds what is no plain data as {name}, {_REMEDY}"
        ) from None


_REMEDY = (
    "so other processes cannot make it: name it by an import path whose options are plain values, "
    "or go without workers"
)


def _check_importable(kind: type) -> None:
    if "<locals>" in kind.__qualname__ or kind.__module__ == "__main__":
        raise ConfigurationError(
            f"{kind.__name__} is no class of a module that can be imported, {_REMEDY}"
        )


def _check_equal(model: BaseEmbedding | LLM, written: WrittenModel) -> None:
    try:
        made = read_back(written, type(model))
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}, {_REMEDY}") from None
    if _identity(made) != _identity(model):
        raise ConfigurationError(f"{type(model).__name__} holds what is no plain data, {_REMEDY}")


def _identity(model: BaseEmbedding | LLM) -> object:
    """What two models have in common that do the same."""
    from llama_index.core.base.embeddings.base import BaseEmbedding

    if isinstance(model, BaseEmbedding):
        return embedding_name(model)
    ignored = {"callback_manager", *filter(is_secret, type(model).model_fields)}
    return {name: getattr(model, name) for name in type(model).model_fields if name not in ignored}
