"""Names of models in settings, and the options of their classes, some of which are keys."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.import_paths import is_path
from rag_nodes.core.keys import MASK, is_secret
from rag_nodes.core.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

MODEL_OPTIONS = ("embedding_options", "llm_options")
"""Settings that hold the options of a model's class."""
OPTION_TABLES = (*MODEL_OPTIONS, "store_options")
"""All settings that hold options by name."""
FASTEMBED = "fastembed:"
"""Prefix of the names of models that fastembed runs in this process."""
_NAMED = {"embedding": ("auto", "lexical", "openai"), "llm": ("auto", "extractive", "openai")}


def check_choice(value: str, setting: str) -> str:
    """`value`, if it can name a model of a setting, `embedding` or `llm`.

    Raises:
        ValueError: it cannot.
    """
    local = setting == "embedding" and value.startswith(FASTEMBED) and value != FASTEMBED
    if value in _NAMED[setting] or local or (is_path(value) and "(" not in value):
        return value
    names = [*_NAMED[setting], *([f"{FASTEMBED}<model>"] if setting == "embedding" else [])]
    raise ValueError(
        f"'{value}' is neither a model's name nor the import path of a class of LlamaIndex, "
        f"module:Class, whose options stand in {setting}_options; "
        + did_you_mean(value, names, "names are: ")
    )


def typed_option(text: str) -> Any:
    """The value of an option as typed on a command line: a literal of Python, else text.

    >>> from rag_nodes.core.settings.model_options import typed_option
    >>> typed_option("512"), typed_option("nomic-embed-text"), typed_option("'512'")
    (512, 'nomic-embed-text', '512')
    """
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return text


def refuse_secrets(options: Any, where: str, setting: str) -> None:
    """See that no key is among options that others can read.

    Args:
        options: as given; what is no mapping is refused elsewhere.
        where: names the place, for the message.
        setting: one of `OPTION_TABLES`.

    Raises:
        ConfigurationError: one of them may hold a key.
    """
    remedy = (
        "RAG_NODES_STORE_API_KEY"
        if setting not in MODEL_OPTIONS
        else f"the variable that the class reads itself, or RAG_NODES_{setting.upper()} to a JSON "
        "object with it,"
    )
    for name in options if isinstance(options, dict) else ():
        if is_secret(name):
            raise ConfigurationError(
                f"{where}: {name} may be a key, and others can read it there; set {remedy} in the "
                "environment or in .env"
            )


def masked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with keys as `****`, those of tables within tables too."""
    return {
        name: MASK
        if is_secret(name)
        else masked_options(value)
        if isinstance(value, dict)
        else value
        for name, value in options.items()
    }
