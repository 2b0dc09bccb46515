"""Texts in, vectors of a neural model that fastembed runs in this process out; nothing leaves it.

Importing this raises `MissingExtraError` where fastembed or LlamaIndex's integration of it is not
installed, and `ConfigurationError` where it cannot be.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, Self

from pydantic import PrivateAttr

from rag_nodes.core.errors import ConfigurationError, MissingExtraError, ModelConnectionError
from rag_nodes.core.keys import kind_of, without_keys
from rag_nodes.text.tokens import encodable

try:
    import fastembed  # noqa: F401 -- which LlamaIndex imports later
    from llama_index.embeddings.fastembed import FastEmbedEmbedding
except ModuleNotFoundError as error:
    if sys.version_info >= (3, 13):
        raise ConfigurationError(
            "LlamaIndex's integration of fastembed does not support Python 3.13 or later; use an "
            "earlier one, or name another embedding by its import path"
        ) from error
    raise MissingExtraError(error.name or "fastembed", "fastembed") from error


class LocalEmbedding(FastEmbedEmbedding):
    """LlamaIndex's fastembed embedding, whose texts stay in this process.

    The model is downloaded where it is first used, unless it is found in `cache_dir` or given as
    a folder with `specific_model_path`. Copies share the loaded model; a pickle is its options, of
    which it is loaded again.

    Args:
        model_name: one that fastembed knows.
        values: other options of LlamaIndex's class and of fastembed's `TextEmbedding`.

    Raises:
        ConfigurationError: fastembed knows no such model.
        ModelConnectionError: the model could neither be found nor downloaded.
    """

    _given: dict[str, Any] = PrivateAttr()

    def __init__(self, model_name: str = "BAAI/bge-small-en-v1.5", **values: Any) -> None:
        try:
            super().__init__(model_name=model_name, **values)
        except ValueError as error:
            raise ConfigurationError(
                f"fastembed:{model_name} cannot be made: {without_keys(str(error))}"
            ) from error
        except Exception as error:
            raise ModelConnectionError(
                f"fastembed:{model_name} cannot be loaded ({kind_of(error)}); it is downloaded "
                f"on first use: check the network, or name a folder that holds "
                "it with the option specific_model_path"
            ) from error
        self._given = {"model_name": model_name, **values}

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._given), ()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self

    @classmethod
    def class_name(cls) -> str:
        """Name LlamaIndex files this under; its own class is `FastEmbedEmbedding`."""
        return "RagNodesFastEmbedEmbedding"

    @property
    def place(self) -> str:
        """Return where texts are sent, for display."""
        return "offline"

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        # Its tokenizer takes no lone surrogates.
        return super()._get_text_embeddings([encodable(text) for text in texts])

    def _get_query_embedding(self, query: str) -> list[float]:
        return super()._get_query_embedding(encodable(query))
