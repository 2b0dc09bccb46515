"""How tasks get to workers and what they say of them back, wherever the workers are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

from pydantic import TypeAdapter, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from pydantic import SecretStr

    from rag_nodes.errors import RagNodesError


@dataclass(frozen=True, slots=True)
class Died:
    """A worker is gone, and nothing more will come of it.

    Attributes:
        reason: how it ended, for people, such as "SIGKILL" or "exit code 1".
    """

    reason: str


@dataclass(frozen=True, slots=True)
class CannotWork:
    """The worker cannot work, whatever the task: its configuration is wrong, or a bug of ours."""

    error: RagNodesError


class Task(Protocol):
    """What a worker does at a time: plain data."""

    @property
    def number(self) -> int:
        """No two of a run have the same."""


TaskT = TypeVar("TaskT", bound=Task)
SaidT = TypeVar("SaidT")


class Arrived(NamedTuple, Generic[SaidT]):
    """What came of one worker.

    Attributes:
        worker: its number.
        task: number of the task it is about; that of the one it had in hand, where it died.
        event: what it said, or that it died.
    """

    worker: int
    task: int
    event: SaidT | CannotWork | Died


class Worker(Protocol):
    """Does one task after another, in a process of its own."""

    def work(self, task: Any) -> Generator[Any]:
        """Do a task, and say what happens, the last message last."""

    def close(self) -> None:
        """Let go of what is open."""


class WorkerRecipe(Protocol):
    """What workers are made of: plain data, and keys apart from it.

    Attributes:
        trade: `module:NAME` of the `Trade` of such workers.
    """

    trade: ClassVar[str]

    @property
    def keys(self) -> Mapping[str, SecretStr]:
        """What nobody is to see, by what it is for."""

    def plain(self) -> dict[str, Any]:
        """All but the keys, as what JSON can hold."""

    @property
    def folder(self) -> str:
        """In which relative paths begin; "" for wherever the worker is."""

    @property
    def journals(self) -> Sequence[str]:
        """Files in which is kept what LLMs write, where these are not for workers to open."""

    def shared_by(self, workers: int, *, embedding: int | None = None) -> Self:
        """The recipe of each of so many: what an account may ask in a minute is divided.

        Args:
            workers: how many there are.
            embedding: how many embed, where others do that for them; None for all workers.
        """

    def successor(self) -> Self:
        """The recipe of a worker in the place of one that died."""

    def make_models(self) -> list[BaseEmbedding]:
        """The embedding models, made again."""


@dataclass(frozen=True, slots=True)
class Trade:
    """What workers of a kind do, and how they and their driver put it into bytes.

    Attributes:
        recipe: makes their recipe of its `plain` and `keys`.
        worker: makes a worker of a recipe, and where others do that for it, of what stands in for
            its embedding models and, by their paths, its journals; may raise a `RagNodesError`.
        pack_task: makes bytes of a task.
        unpack_task: undoes it.
        pack: makes bytes of what a worker says, `CannotWork` included.
        unpack: undoes it; raises a `ValueError` where it is nothing that a worker says.
        last: with what a task is over.
    """

    recipe: Callable[..., Any]
    worker: Callable[..., Worker]
    pack_task: Callable[[Any], bytes]
    unpack_task: Callable[[bytes], Any]
    pack: Callable[[Any], bytes]
    unpack: Callable[[bytes], Any]
    last: tuple[type, ...]


def trade_at(path: str) -> Trade:
    """The trade that a recipe names."""
    module, _, name = path.partition(":")
    found: Trade = getattr(import_module(module), name)
    return found


def checked(kind: type, content: Any) -> Any:
    """What plain data makes of a kind, if it has its types.

    Raises:
        ValueError: it has others; none of what it holds is in the words.
    """
    try:
        return _adapter(kind).validate_python(content)
    except ValidationError as error:
        raise ValueError(
            f"not a message: {kind.__name__} with {error.error_count()} fields of other types"
        ) from None


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


class Transport(ABC, Generic[TaskT, SaidT]):
    """Workers, numbered from 0, each doing one task after another; used by one thread.

    Every worker is made of a `WorkerRecipe`, and what its `work` says of a task comes back in
    order. A task is over with one of `Trade.last`, or with `Died`. A worker that died says nothing
    more until it was replaced, and the tasks that waited for it are gone: it never saw them.

    Attributes:
        workers: how many there are.
    """

    workers: int

    @abstractmethod
    def submit(self, worker: int, task: TaskT) -> None:
        """Give a worker a task, to begin when those before are over; returns at once."""

    @abstractmethod
    def wait(self, seconds: float) -> Arrived[SaidT] | None:
        """What comes next of any worker; None where nothing came in time.

        What is not taken is held back where it is made: workers wait, and memory stays bounded.
        """

    @abstractmethod
    def replace(self, worker: int) -> None:
        """Start a new worker in the place of one that died."""

    @abstractmethod
    def close(self) -> None:
        """End all workers at once, whatever they do; twice is fine."""
