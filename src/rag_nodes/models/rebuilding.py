"""An embedding model as plain data, of which another process makes an equal one."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import SecretStr

from rag_nodes.errors import ConfigurationError
from rag_nodes.import_paths import load
from rag_nodes.models.faults import safe_line
from rag_nodes.models.names import embedding_name, written_as
from rag_nodes.settings import is_secret, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from llama_index.core.base.embeddings.base import BaseEmbedding


class WrittenModel(NamedTuple):
    """An embedding model, written down.

    Attributes:
        path: `module:Class`.
        options: what the class is given; plain data without a key.
        keys: options that nobody is to see, each as JSON.
    """

    path: str
    options: dict[str, Any]
    keys: dict[str, SecretStr]


def written_down(model: BaseEmbedding) -> WrittenModel:
    """The model as plain data.

    Raises:
        ConfigurationError: another process could not make it of that: its class cannot be
            imported, or it holds what is no plain data.
    """
    path, options = written_as(model)
    options = {**options, **getattr(model, "given_options", {})}
    fields = {name: getattr(model, name) for name in type(model).model_fields}
    secrets = {name: value for name, value in fields.items() if is_secret(name)}
    keys = {
        name: SecretStr(json.dumps(_revealed(value)))
        for name, value in {**secrets, **getattr(model, "given_keys", {})}.items()
        if value and isinstance(value, str | SecretStr | dict)
    }
    written = WrittenModel(path, options, keys)
    if getattr(model, "place", None) is None:
        _check_equal(model, written)
    return written


def read_back(written: WrittenModel) -> BaseEmbedding:
    """The model that `written_down` wrote.

    Raises:
        ConfigurationError: it cannot be made here.
        MissingPackageError: a package for it is not installed.
    """
    from llama_index.core.base.embeddings.base import BaseEmbedding

    keys = {name: json.loads(key.get_secret_value()) for name, key in written.keys.items()}
    try:
        made: BaseEmbedding = load(written.path, BaseEmbedding, **written.options, **keys)
    except ConfigurationError as error:
        # The message may quote the options.
        raise ConfigurationError(without_secrets(str(error), keys)) from None
    return made


def without_keys(text: str, keys: Mapping[str, SecretStr]) -> str:
    """What a process says, on one line and shortened, without anything that nobody is to see.

    Args:
        text: of a library, a document, or whoever.
        keys: that the process was given, as in `WrittenModel`; those of the environment are left
            out, too, and whatever looks like a key.
    """
    words = [word for key in keys.values() for word in _words(key.get_secret_value())]
    given = {f"key {number}": word for number, word in enumerate(words)}
    return safe_line(without_secrets(without_secrets(text, given), os.environ))


def _words(key: str) -> Iterator[str]:
    """What of a key may stand in a message: headers are a mapping, of `Bearer` and the key."""
    try:
        held = json.loads(key)
    except ValueError:  # that of a store is no JSON
        held = key
    for value in held.values() if isinstance(held, dict) else (held,):
        yield from str(value).split()


def _revealed(value: Any) -> Any:
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def _check_equal(model: BaseEmbedding, written: WrittenModel) -> None:
    remedy = (
        "so other processes cannot make it: name it by an import path whose options are plain "
        "values, or go without workers"
    )
    kind = type(model).__name__
    if "<locals>" in type(model).__qualname__ or type(model).__module__ == "__main__":
        raise ConfigurationError(f"{kind} is no class of a module that can be imported, {remedy}")
    try:
        name = embedding_name(read_back(written))
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}, {remedy}") from None
    if name != embedding_name(model):
        raise ConfigurationError(f"{kind} holds what is no plain data, {remedy}")
