"""What another process is given by `rag_nodes.models.pickling`, made there.

Nothing of LlamaIndex is loaded here: a process loads what its own work needs.
"""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any, ClassVar

from rag_nodes.errors import ConfigurationError, RagNodesError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import BaseComponent


class Sharing:
    """What a process has to know of others that work beside it.

    Attributes:
        processes: how many share what an account may ask, this one among them.
    """

    processes: ClassVar[int] = 1


def unpickled(data: bytes, known: Sequence[object] = ()) -> Any:
    """What `pickling.pickled` was given, in a process that was started by the one that wrote it.

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


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, known: Sequence[object]) -> None:
        super().__init__(file)
        self._known = known

    def persistent_load(self, number: Any) -> object:
        return self._known[number]


def remade(kind: type[BaseComponent], state: dict[str, Any]) -> BaseComponent:
    """Made anew, for clients and locks, and then as it was."""
    made = kind.__new__(kind)
    made.__setstate__(state)
    made.__dict__.update(state["__dict__"])
    if own := state["__pydantic_private__"]:
        made.__pydantic_private__ = {**(made.__pydantic_private__ or {}), **own}
    return made
