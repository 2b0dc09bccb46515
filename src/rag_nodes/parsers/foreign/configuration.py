"""Configuration of a component of another package, the same in every process."""

from __future__ import annotations

import hashlib
import json
import re
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks import CallbackManager
from pydantic import BaseModel

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keys import has_user_info
from rag_nodes.models.names import embedding_name

_SECRET = re.compile(
    r"(^|_|api|access|auth|private)keys?$|secret|password|credential|header|(^|_)token$",
    re.IGNORECASE,
)
"""Names of attributes that may hold what must not be written down."""
_KEY = re.compile(r"(^|_)(api_?key|secret|password|credentials?|token)$", re.IGNORECASE)
"""Names of options that hold a key."""
_COSMETIC = frozenset(
    {
        *("cache_folder", "callback_manager", "embed_batch_size", "id_func", "in_place"),
        *("include_metadata", "include_prev_next_rel", "max_retries", "num_workers"),
        *("raise_on_error", "rate_limiter", "request_timeout", "requests_per_minute"),
        *("retry_backoff", "reuse_client", "show_progress", "timeout", "tokens_per_minute"),
    }
)
"""Options of LlamaIndex's components that change how a result is got and not it, or that we see to
ourselves."""
_DEEPEST = 5
"""Objects within objects that are looked at; below, the class must do."""
_LONGEST = 120
"""Characters of a value that is shown."""


def class_path(thing: Any) -> str:
    """Return the import path of a splitter's class, or of a function: `module:name`."""
    named = thing if isinstance(thing, type | FunctionType | BuiltinFunctionType) else type(thing)
    return f"{named.__module__}:{named.__qualname__}"


def shown_options(thing: Any) -> dict[str, str | int | float | bool]:
    """The options of a splitter that are plain values and no secrets, for people."""
    plain = {
        name.lstrip("_"): value
        for name, value in _attributes(thing).items()
        if isinstance(value, str | int | float)
        and 0 < len(str(value).strip()) <= _LONGEST
        and not has_user_info(value)
    }
    return dict(sorted(plain.items()))


def check_no_key(path: str) -> None:
    """Refuse a key in an import path, which is shown as a name and written into configurations."""
    named = [name for name in re.findall(r"(\w+)\s*=", path) if _KEY.search(name)]
    if named:
        raise ConfigurationError(
            f"{', '.join(named)} must not stand in an import path, which is shown and stored: set "
            "the environment variable the package reads, or give the splitter as an object"
        )


def digest_of(thing: Any) -> str:
    """12 hex digits of all that could be found out about the configuration of a splitter or step.

    Functions count by name, embedding models by class and name; keys do not count.
    """
    return _hashed(_described(thing, 0))


def _described(thing: Any, depth: int) -> Any:
    """Plain data about anything; never an address in memory, which differs between processes."""
    if thing is None or isinstance(thing, str | int | float | bool):
        return thing
    if isinstance(thing, bytes | re.Pattern):
        return repr(thing)
    if isinstance(thing, BaseEmbedding):
        return embedding_name(thing)
    inside = _inside(thing, depth)
    if inside is None or depth > _DEEPEST:
        return class_path(thing)
    return [
        class_path(thing),
        sorted((name, _hashed(_described(value, depth + 1))) for name, value in inside),
    ]


def _inside(thing: Any, depth: int) -> list[tuple[str, Any]] | None:
    """Return the parts of an object, by name; None if its name identifies it."""
    if isinstance(thing, type | FunctionType | BuiltinFunctionType):
        return None
    if isinstance(thing, MethodType):
        thing = (thing.__self__, thing.__name__)
    if isinstance(thing, partial):
        thing = (thing.func, thing.args, thing.keywords)
    if isinstance(thing, list | tuple):
        return [(f"{number:09}", item) for number, item in enumerate(thing)]
    if isinstance(thing, set | frozenset):
        return [(str(item), None) for item in thing]
    named = thing if isinstance(thing, dict) else _attributes(thing)
    if depth and not isinstance(thing, dict | BaseModel):
        # What helps a splitter, a tokenizer say, fills caches of its own while it works.
        named = {
            name: value for name, value in named.items() if isinstance(value, str | int | float)
        }
    return [(str(name), value) for name, value in named.items() if _counts(str(name))]


def _attributes(thing: Any) -> dict[str, Any]:
    """Return the attributes of an object, by name, without possible secrets."""
    attributes = dict(getattr(thing, "__dict__", None) or {})
    if isinstance(thing, BaseModel):
        attributes |= thing.__pydantic_private__ or {}
    return {
        name: value
        for name, value in attributes.items()
        if _counts(name) and not isinstance(value, CallbackManager)
    }


def _counts(name: str) -> bool:
    return name.lstrip("_") not in _COSMETIC and not _SECRET.search(name)


def _hashed(described: Any) -> str:
    written = json.dumps(described, sort_keys=True, default=str)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:12]
