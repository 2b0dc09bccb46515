"""How batches get to workers and messages back, wherever the workers are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rag_nodes.workers.messages import Batch, Message


@dataclass(frozen=True, slots=True)
class Died:
    """A worker is gone, and nothing more will come of it.

    Attributes:
        reason: how it ended, for people, such as "SIGKILL" or "exit code 1".
    """

    reason: str


class Arrived(NamedTuple):
    """What came of one worker.

    Attributes:
        worker: its number.
        batch: number of the batch it is about; that of the last one submitted, where it died.
        event: what it said, or that it died.
    """

    worker: int
    batch: int
    event: Message | Died


class Transport(ABC):
    """Workers, numbered from 0, each with one batch at a time; used by one thread.

    Every worker is made of a `Recipe`, as a `BatchWorker`, and what the `work` of that says of a
    batch comes back in order. A worker that died says nothing more until it was replaced. A batch
    is over with `BatchFinished`, `BatchFailed` or `Died`.

    Attributes:
        workers: how many there are.
    """

    workers: int

    @abstractmethod
    def submit(self, worker: int, batch: Batch) -> None:
        """Give an idle worker a batch; returns at once."""

    @abstractmethod
    def wait(self, seconds: float) -> Arrived | None:
        """What comes next of any worker; None where nothing came in time.

        What is not taken is held back where it is made: workers wait, and memory stays bounded.
        """

    @abstractmethod
    def replace(self, worker: int) -> None:
        """Start a new worker in the place of one that died."""

    @abstractmethod
    def close(self) -> None:
        """End all workers at once, whatever they do; twice is fine."""
