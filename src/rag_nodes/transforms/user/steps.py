"""The user's own transformations behind a parser; what the parser promised still holds after them.

LlamaIndex's extractors add metadata and nothing else. Anything may stand in their place, though: a
transformation that rewrites texts, drops chunks or makes new ones. What it gave back is compared
with what it was given, so that no chunk claims a place in its document that it does not have.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import threading
from collections.abc import Coroutine, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import BaseNode, TextNode, TransformComponent
from pydantic import Field

from rag_nodes.code_identity import code_of
from rag_nodes.errors import ConfigurationError, RagNodesError, TransformationError
from rag_nodes.models import failure_of
from rag_nodes.models.faults import server_words
from rag_nodes.parsers.foreign.configuration import class_path, private_state
from rag_nodes.text.tokens.encodings import DEFAULT_ENCODING
from rag_nodes.transforms.user.laws import settled, snapshot

_T = TypeVar("_T")

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
_LOOP = "rag-nodes-transformations"
"""Name of the thread in which transformations are awaited."""
_CLIENTS = frozenset({"openai", "httpx", "httpcore"})
"""Packages whose exceptions say what is wrong with a model's server."""


_STARTING = threading.Lock()


@cache
def _loop_of(process: int) -> asyncio.AbstractEventLoop:
    """The event loop of a process for everything that is awaited here, in a thread of its own.

    One for all runs: clients of model servers keep their connections with the loop in which these
    were opened, and an extractor that had another for every document would lose them with each. A
    process that was forked has a copy of the loop and not of its thread, and starts its own.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name=f"{_LOOP}-{process}", daemon=True).start()
    return loop


def wait_for(work: Coroutine[Any, Any, _T]) -> _T:
    """What a coroutine gives, or raises, when it runs on the loop of this process."""
    with _STARTING:
        loop = _loop_of(os.getpid())
    return asyncio.run_coroutine_threadsafe(work, loop).result()


class UserTransformations(TransformComponent):
    """The user's transformations in order, and the laws of the nodes kept behind them.

    A chunk whose text was changed, and a new one that is no slice of its document, loses its
    offsets, as `ForeignNodeParser` leaves them out: it is found, read and cited by page and
    heading, never by a wrong place. New chunks get ids that are the same in every run, and where
    chunks were added, dropped or moved, all are numbered and linked anew. Metadata that the laws
    rest on are put back.

    Transformations that bring an `acall` of their own, as all extractors of LlamaIndex do, are
    awaited, on one event loop for all of them; all others, and parsers, are called.

    Args:
        steps: components of LlamaIndex, but no embedding model.
        tokenizer: encoding that counts the tokens of texts that were changed.

    Raises:
        ConfigurationError: a step is no transformation of LlamaIndex, or an embedding model.
    """

    steps: list[TransformComponent] = Field(exclude=True, repr=False)
    tokenizer: str = DEFAULT_ENCODING

    def __init__(self, steps: Sequence[object], **options: Any) -> None:
        super().__init__(**{**options, "steps": _checked(steps)})

    @classmethod
    def class_name(cls) -> str:
        """Name of the class: part of LlamaIndex's cache key."""
        return "UserTransformations"

    def __reduce__(self) -> tuple[Any, ...]:
        """Made anew of its steps: without this LlamaIndex leaves out those it cannot pickle."""
        return _made, (self.steps, self.tokenizer)

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Plain data that changes with every step; never holds a key."""
        return {**super().to_dict(**kwargs), "steps": [identity_of(step) for step in self.steps]}

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """The nodes as the last step gives them, with everything in its right place.

        Raises:
            TransformationError: a step failed, or gave back what cannot be stored.
            RagNodesError: as a step raised it, and where its model's server refused it.
        """
        given = snapshot(nodes)
        for step in self.steps:
            try:
                awaited = _is_awaited(step) and not _on_loop()
                nodes = wait_for(step.acall(nodes, **kwargs)) if awaited else step(nodes, **kwargs)
            except (Exception, SystemExit) as error:
                raise _failure(step, error) from error
            _check_nodes(step, nodes)
        return settled(given, nodes, self.tokenizer)

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Like a call, from a running event loop."""
        given = snapshot(nodes)
        for step in self.steps:
            try:
                awaited = _is_awaited(step)
                nodes = await step.acall(nodes, **kwargs) if awaited else step(nodes, **kwargs)
            except (Exception, SystemExit) as error:
                raise _failure(step, error) from error
            _check_nodes(step, nodes)
        return settled(given, nodes, self.tokenizer)


def _made(steps: list[TransformComponent], tokenizer: str) -> UserTransformations:
    return UserTransformations(steps, tokenizer=tokenizer)


def identity_of(component: TransformComponent) -> str:
    """16 hex digits of a component's code and options: another result needs another identity.

    Options are those of `to_dict()` without keys and passwords, and without those of speed and
    patience; objects among them count by their class. So do private attributes, `self._words` for
    example, but those of embedding models and of this package, which say all in `to_dict()`. Code
    is that of the class and of functions among the options, see `rag_nodes.code_identity`.

    Raises:
        ConfigurationError: it cannot say what it is made of.
    """
    try:
        described = [class_path(component), _plain(component.to_dict()), code_of(component).digest]
        if private := _private(component):
            described.append(private)
    except Exception as error:
        raise ConfigurationError(
            f"{_name(component)}: to_dict() failed ({type(error).__name__}), so nobody can tell "
            "whether it changed; leave the field out of it, with Field(exclude=True)"
        ) from error
    written = json.dumps(described, sort_keys=True).encode()
    return hashlib.sha256(written).hexdigest()[:16]


def _private(component: TransformComponent) -> dict[str, str]:
    """What a component was told and keeps to itself, as digests by name."""
    if isinstance(component, BaseEmbedding) or type(component).__module__.startswith("rag_nodes."):
        # Clients, and what was asked and paid so far: another one after each use.
        return {}
    state = private_state(component)
    return {name: one for name, one in state.items() if name.lstrip("_") not in _VOLATILE}


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


def _checked(steps: object) -> list[TransformComponent]:
    found = list(steps) if isinstance(steps, Sequence) and not isinstance(steps, str) else None
    if found is None:
        raise ConfigurationError(
            f"transformations is a {type(steps).__name__}: give a list, also of one"
        )
    for step in found:
        if isinstance(step, BaseEmbedding):
            raise ConfigurationError(
                f"transformations: {_name(step)} is an embedding model; give it as embed_model"
            )
        if not isinstance(step, TransformComponent):
            raise ConfigurationError(
                f"transformations: {_name(step)} is no TransformComponent of LlamaIndex; make a "
                "subclass whose __call__ takes nodes and returns nodes"
            )
    return found


def _on_loop() -> bool:
    """Whether this is called from the loop itself, which must not wait for itself."""
    return threading.current_thread().name.startswith(_LOOP)


def _is_awaited(step: TransformComponent) -> bool:
    # Of parsers, HierarchicalNodeParser cuts nothing when it is awaited, and none waits.
    return type(step).acall is not TransformComponent.acall and not isinstance(step, NodeParser)


def _name(step: object) -> str:
    return type(step).__name__


def _failure(step: TransformComponent, error: Exception | SystemExit) -> RagNodesError:
    """What to raise instead: whose fault it was, without anything that looks like a key."""
    if isinstance(error, RagNodesError):
        return error
    if isinstance(error, Exception) and type(error).__module__.partition(".")[0] in _CLIENTS:
        llm = getattr(step, "llm", None)
        model = getattr(getattr(llm, "metadata", None), "model_name", None) or _name(step)
        return failure_of(error, llm or step, name=model)
    return TransformationError(
        f"{_name(step)} failed: {type(error).__name__}: {server_words(error)}; what was stored of "
        "the document is kept; mend the transformation, or leave it out, and ingest again"
    )


def _check_nodes(step: TransformComponent, nodes: object) -> None:
    """Refuse what no store could take, and say which step made it."""
    if not isinstance(nodes, Sequence):
        raise TransformationError(f"{_name(step)} returned {type(nodes).__name__}, not nodes")
    for node in nodes:
        if not isinstance(node, TextNode):
            raise TransformationError(
                f"{_name(step)} returned a {type(node).__name__} among the nodes; give TextNodes"
            )
        try:
            json.dumps(node.metadata)
        except (TypeError, ValueError) as error:
            raise TransformationError(
                f"{_name(step)} left metadata that cannot be stored ({error}); give text, numbers, "
                "lists and dictionaries"
            ) from error
