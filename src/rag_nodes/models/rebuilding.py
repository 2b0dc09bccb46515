"""Models, parsers and transformations for another process: a pickle that holds all, keys included.

Nobody but that process is to see it.
"""

from __future__ import annotations

import io
import json
import os
import pickle
from types import FunctionType
from typing import TYPE_CHECKING, Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms import LLM
from llama_index.core.schema import BaseComponent
from pydantic import BaseModel, SecretStr
from tiktoken import Encoding

from rag_nodes.errors import ConfigurationError, RagNodesError
from rag_nodes.models.faults import LONGEST_DETAIL, safe_line
from rag_nodes.models.pacing import RequestWindow
from rag_nodes.settings import is_secret, without_secrets
from rag_nodes.text.tokens.encodings import load_encoding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_TOKENS = "tokens_per_minute"


def pickled(
    thing: object, *, workers: int = 1, again: bool = False, known: Sequence[object] = ()
) -> bytes:
    """A pickle of models, parsers and transformations, or of what holds them, for a worker.

    Nothing is lost on the way, keys included, so it may go through the pipe of a worker and
    nowhere else: not into a file, a log or the environment. What is of this package keeps its
    options and keys in a plain `pickle.dumps`, too. LlamaIndex's own components and the user's do
    not: theirs leaves out every field that cannot be pickled, such as a `rate_limiter`, and private
    state, such as `self._words`, is that of a new object. Here the one is refused and the other
    goes along. Clients that were opened, and callbacks, stay here.

    Args:
        thing: whatever can be pickled otherwise.
        workers: how many get it: what an account may ask in a minute is divided among them.
        again: it is for the successor of one that died, which may have asked all of its minute.
        known: objects that are there already, and given to `unpickled`.

    Raises:
        ConfigurationError: something in it cannot be pickled, or is of the user's script, which
            another process does not import; says what.
    """
    return _dumped(thing, workers, again, known)[0]


def keys_in(thing: object) -> dict[str, SecretStr]:
    """The keys of all models in what can be pickled: what `without_keys` is to leave out.

    Raises:
        ConfigurationError: as `pickled`.
    """
    models = _dumped(thing, 1, False, ())[1]  # noqa: FBT003 -- our own
    found = [keys_of(one) for one in models]
    return {
        f"{number} {name}": key for number, one in enumerate(found) for name, key in one.items()
    }


def _dumped(
    thing: object,
    workers: int,
    again: bool,  # noqa: FBT001 -- our own
    known: Sequence[object],
) -> tuple[bytes, list[Any]]:
    """A pickle, and the models in it."""
    written = io.BytesIO()
    pickler = _Pickler(written, workers, again=again, known=known)
    try:
        pickler.dump(thing)
    except ConfigurationError:
        raise
    except Exception as error:
        # Objects of others may raise anything.
        why = safe_line(f"{type(error).__name__}: {error}")
        raise ConfigurationError(
            f"{type(thing).__name__} cannot be pickled ({why}), {_REMEDY}"
        ) from error
    return written.getvalue(), pickler.models


def unpickled(data: bytes, known: Sequence[object] = ()) -> Any:
    """What `pickled` was given, in a process that was started by the one that wrote it.

    Args:
        data: the pickle.
        known: what stands for the objects that `pickled` was told of, in their order.

    Raises:
        ConfigurationError: a class of it cannot be imported here, or refuses its options.
    """
    try:
        return _Unpickler(io.BytesIO(data), known).load()
    except RagNodesError:
        raise
    except Exception as error:
        # Objects of others may raise anything, and quote what they were given.
        raise ConfigurationError(
            f"a worker cannot make what it was given ({type(error).__name__}); install the "
            "packages of this process where workers run, or go without workers"
        ) from error


class _Pickler(pickle.Pickler):
    """Leaves nothing out of LlamaIndex's components, and divides what may be asked in a minute."""

    def __init__(
        self, file: io.BytesIO, workers: int, *, again: bool, known: Sequence[object]
    ) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._workers, self._again = workers, again
        self._known = {id(one): number for number, one in enumerate(known)}
        self.models: list[Any] = []

    def persistent_id(self, thing: object) -> int | None:
        return self._known.get(id(thing))

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, type | FunctionType):
            _check_importable(thing)
        if isinstance(thing, Encoding):
            return load_encoding, (thing.name,)  # its own pickle downloads the vocabulary
        if isinstance(thing, RequestWindow):
            return thing.shared_by(self._workers).__reduce__()
        return self._component(thing) if isinstance(thing, BaseComponent) else NotImplemented

    def _component(self, given: BaseComponent) -> Any:
        if isinstance(given, BaseEmbedding | LLM):
            self.models.append(given)
        thing = _with_share(given, self._workers)
        kind = type(thing)
        if _pickles_itself(kind):
            reduced = thing.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
            spends = self._again and hasattr(thing, "begin_spent")
            return (_made_spent, reduced) if spends else reduced
        state = BaseModel.__getstate__(thing)
        fields = state["__dict__"] = dict(state["__dict__"])
        for name, value in fields.items():
            if isinstance(value, CallbackManager):
                fields[name] = CallbackManager()
            elif not (value is None or isinstance(value, str | int | float)):
                _check_picklable(kind, name, value)
        own = state["__pydantic_private__"] or {}
        state["__pydantic_private__"] = {k: v for k, v in own.items() if _is_picklable(v)}
        return _remade, (kind, state)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, known: Sequence[object]) -> None:
        super().__init__(file)
        self._known = known

    def persistent_load(self, number: Any) -> object:
        return self._known[number]


def _with_share(thing: BaseComponent, workers: int) -> BaseComponent:
    """The component, or a copy that may ask a share of what it may ask in a minute."""
    limits = {name: getattr(thing, name, None) for name in ("requests_per_minute", _TOKENS)}
    shares = {
        name: max(1, limit // workers) if name == _TOKENS else limit / workers
        for name, limit in limits.items()
        if isinstance(limit, int | float)
    }
    return thing.model_copy(update=shares) if shares and workers > 1 else thing


def _made_spent(make: Callable[..., Any], options: tuple[Any, ...]) -> Any:
    made = make(*options)
    made.begin_spent()
    return made


def _pickles_itself(kind: type[BaseComponent]) -> bool:
    own = kind.__mro__[: kind.__mro__.index(BaseComponent)]
    return any({"__reduce__", "__reduce_ex__", "__getstate__"} & vars(one).keys() for one in own)


def _remade(kind: type[BaseComponent], state: dict[str, Any]) -> BaseComponent:
    """Made anew, for clients and locks, and then as it was."""
    made = kind.__new__(kind)
    made.__setstate__(state)
    made.__dict__.update(state["__dict__"])
    if own := state["__pydantic_private__"]:
        made.__pydantic_private__ = {**(made.__pydantic_private__ or {}), **own}
    return made


def _check_picklable(kind: type, name: str, value: object) -> None:
    try:
        pickled(value)
    except ConfigurationError as error:
        if isinstance(value, BaseComponent):
            raise
        raise ConfigurationError(f"{kind.__name__}, its {name}: {error}") from error


def _is_picklable(value: object) -> bool:
    try:
        pickled(value)
    except ConfigurationError:
        return False
    return True


def keys_of(model: BaseEmbedding | LLM) -> dict[str, SecretStr]:
    """The keys that a model holds, by option; of what is no plain data, nothing is known."""
    fields = {name: getattr(model, name) for name in type(model).model_fields}
    secrets = {name: value for name, value in fields.items() if is_secret(name)}
    held = {**secrets, **getattr(model, "given_keys", {})}
    return {name: key for name, value in held.items() if value and (key := _as_key(value))}


def without_keys(text: str, keys: Mapping[str, SecretStr], *, most: int = LONGEST_DETAIL) -> str:
    """What a process says, on one line and shortened, without anything that nobody is to see.

    Args:
        text: of a library, a document, or whoever.
        keys: that the process was given, see `keys_in`; those of the environment are left
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


def _as_key(value: Any) -> SecretStr | None:
    """An option as JSON; None for an object, such as a function that gives tokens."""
    plain = value.get_secret_value() if isinstance(value, SecretStr) else value
    try:
        return SecretStr(json.dumps(plain))
    except TypeError:
        return None


_REMEDY = (
    "so other processes cannot make it: name it by an import path whose options are plain values, "
    "or go without workers"
)


def _check_importable(thing: type | FunctionType) -> None:
    if "<" in thing.__qualname__ or thing.__module__ == "__main__":
        what = "class" if isinstance(thing, type) else "function"
        raise ConfigurationError(
            f"{thing.__name__} is no {what} of a module that can be imported, {_REMEDY}"
        )
