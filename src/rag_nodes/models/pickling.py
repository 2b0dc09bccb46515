"""Models, parsers and transformations for another process: a pickle that holds all, keys included.

Nobody but that process is to see it. Importing this loads nothing of LlamaIndex: a process that is
given something loads what its own work needs.
"""

from __future__ import annotations

import io
import pickle
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

from rag_nodes.core.errors import ConfigurationError, RagNodesError
from rag_nodes.core.keys import keys_of, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseComponent

_REMEDY = (
    "so other processes cannot make it: name it by an import path whose options are plain values, "
    "or run without workers"
)
_IMPORTABLE = (
    "so other processes cannot import it: define it with a name in a module, or run without workers"
)


class Sharing:
    """Facts that a worker process needs about the workers beside it.

    Attributes:
        processes: how many share what an account may ask, this one among them.
    """

    processes: ClassVar[int] = 1


def pickled(thing: object, objects: Sequence[object] = ()) -> bytes:
    """A pickle of models, parsers and transformations, or of what holds them, for a worker.

    Nothing is lost on the way, keys included, so it may go through the pipe of a worker and
    nowhere else: not into a file, a log or the environment. The pickles of LlamaIndex's components
    leave out every field that cannot be pickled, such as a `rate_limiter`, and make private state,
    such as `self._words`, again. Here the one is refused and the other goes along. Clients that
    were opened, and callbacks, stay here.

    Args:
        thing: whatever can be pickled otherwise.
        objects: those that are there already, and given to `unpickled`.

    Raises:
        ConfigurationError: something in it cannot be pickled, or is of the user's script, which
            another process does not import; says what.
    """
    return _dumped(thing, objects)[0]


def keys_in(thing: object) -> tuple[str, ...]:
    """The keys of all models in what can be pickled: what `without_keys` is to leave out.

    Raises:
        ConfigurationError: as `pickled`.
    """
    models = _dumped(thing, ())[1]
    return tuple(dict.fromkeys(key for model in models for key in keys_of(model)))


def unpickled(data: bytes, objects: Sequence[object] = ()) -> Any:
    """Return the object that `pickled` was given, in a process started by the one that wrote it.

    Args:
        data: the pickle.
        objects: substitutes of the objects that `pickled` was given, in their order.

    Raises:
        ConfigurationError: a class of it cannot be imported here, or refuses its options.
    """
    try:
        return _Unpickler(data, objects).load()
    except RagNodesError:
        raise
    except Exception as error:
        # Objects of others may raise anything, and quote what they were given.
        raise ConfigurationError(
            f"a worker cannot load its task ({type(error).__name__}); install the packages of "
            f"this process where workers run, or run without workers"
        ) from error


class _Unpickler(pickle.Unpickler):
    """Python 3.13.0 lets no other than a class say what stands for an object."""

    def __init__(self, data: bytes, objects: Sequence[object]) -> None:
        super().__init__(io.BytesIO(data))
        self._known = objects

    def persistent_load(self, pid: Any) -> object:
        return self._known[pid]


class _Pickler(pickle.Pickler):
    """Leaves nothing out of LlamaIndex's components, and remembers models that it met."""

    def __init__(self, file: io.BytesIO, objects: Sequence[object]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._known = {id(shared): number for number, shared in enumerate(objects)}
        self.models: list[object] = []

    def persistent_id(self, thing: object) -> int | None:
        return self._known.get(id(thing))

    def reducer_override(self, thing: Any) -> Any:
        from llama_index.core.base.embeddings.base import BaseEmbedding
        from llama_index.core.callbacks import CallbackManager
        from llama_index.core.llms import LLM
        from llama_index.core.schema import BaseComponent
        from pydantic import BaseModel
        from tiktoken import Encoding

        from rag_nodes.text.tokens.encodings import load_encoding

        if isinstance(thing, type | FunctionType):
            _check_importable(thing)
        if isinstance(thing, Encoding):
            return load_encoding, (thing.name,)  # its own pickle downloads the vocabulary
        if isinstance(thing, CallbackManager):
            return CallbackManager, ()
        if isinstance(thing, BaseEmbedding | LLM):
            self.models.append(thing)
        kind = type(thing)
        if not isinstance(thing, BaseComponent) or any(
            {"__reduce__", "__reduce_ex__", "__getstate__"} & vars(base).keys()
            for base in kind.__mro__[: kind.__mro__.index(BaseComponent)]
        ):
            return NotImplemented
        state = BaseModel.__getstate__(thing)
        private = state["__pydantic_private__"] or {}
        kept = {name: value for name, value in private.items() if _is_picklable(value)}
        return _remade, (kind, {**state, "__pydantic_private__": kept})


def _dumped(thing: object, objects: Sequence[object]) -> tuple[bytes, list[object]]:
    """The pickle, and the models in it."""
    written = io.BytesIO()
    pickler = _Pickler(written, objects)
    try:
        pickler.dump(thing)
    except ConfigurationError:
        raise
    except Exception as error:
        # Objects of others may raise anything.
        why = kind_of(error)
        raise ConfigurationError(
            f"{type(thing).__name__} cannot be pickled ({why}), {_REMEDY}"
        ) from error
    return written.getvalue(), pickler.models


def _remade(kind: type[BaseComponent], state: dict[str, Any]) -> BaseComponent:
    """Made again, for clients and locks, and then as it was."""
    component = kind.__new__(kind)
    component.__setstate__(state)
    component.__dict__.update(state["__dict__"])
    if own := state["__pydantic_private__"]:
        component.__pydantic_private__ = {**(component.__pydantic_private__ or {}), **own}
    return component


def _check_importable(thing: type | FunctionType) -> None:
    if "<" in thing.__qualname__ or thing.__module__ == "__main__":
        what = "class" if isinstance(thing, type) else "function"
        raise ConfigurationError(
            f"{thing.__name__} is not a {what} of a module that can be imported, {_IMPORTABLE}"
        )


def _is_picklable(value: object) -> bool:
    try:
        pickled(value)
    except ConfigurationError:
        return False
    return True
