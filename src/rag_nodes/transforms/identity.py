"""What a component of LlamaIndex is made of, as a digest that changes with what it gives."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llama_index.core.base.embeddings.base import BaseEmbedding

from rag_nodes.code_identity import code_of
from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers.foreign.configuration import class_path, private_state

if TYPE_CHECKING:
    from llama_index.core.schema import TransformComponent

_SECRET = re.compile(
    r"((api|access|auth|private)_?)key$|^key$|secret|password|credential|header|(^|_)token$",
    re.IGNORECASE,
)
_VOLATILE = frozenset(
    {
        *("cache_folder", "callback_manager", "embed_batch_size", "in_place", "max_retries"),
        *("num_workers", "raise_on_error", "rate_limiter", "request_timeout", "retry_backoff"),
        *("requests_per_minute", "reuse_client", "show_progress", "timeout", "tokens_per_minute"),
    }
)
"""Options of LlamaIndex's extractors and models that change how a result is got, and not it."""


def identity_of(component: TransformComponent) -> str:
    """16 hex digits of a component's code and options: another result needs another identity.

    Options are those of `to_dict()` without keys and passwords, and without those of speed and
    patience; objects among them count by their class. So do private attributes, `self._words` for
    example, but those of embedding models and of this package, which say all in `to_dict()`. Code
    is that of the class and of functions among the options, see `rag_nodes.code_identity`.

    Raises:
        ConfigurationError: it cannot say what it is made of.
    """
    # Else clients, and what was asked and paid so far: another one after each use.
    says_all = isinstance(component, BaseEmbedding) or type(component).__module__.startswith(
        "rag_nodes."
    )
    try:
        described = [class_path(component), _plain(component.to_dict()), code_of(component).digest]
        private = {} if says_all else private_state(component)
    except Exception as error:
        raise ConfigurationError(
            f"{type(component).__name__}: to_dict() failed ({type(error).__name__}), so nobody can "
            "tell whether it changed; leave the field out of it, with Field(exclude=True)"
        ) from error
    if told := {key: one for key, one in private.items() if key.lstrip("_") not in _VOLATILE}:
        described.append(told)
    written = json.dumps(described, sort_keys=True).encode()
    return hashlib.sha256(written).hexdigest()[:16]


def _plain(value: object) -> Any:
    """Plain data about anything, the same in every process."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {
            str(name): _plain(one)
            for name, one in value.items()
            if str(name) not in _VOLATILE and not _SECRET.search(str(name))
        }
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(_plain(one), sort_keys=True) for one in value)
    shown = repr(value)
    return class_path(value) if callable(value) or " at 0x" in shown else shown
