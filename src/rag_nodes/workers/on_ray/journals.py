"""What LLMs write, kept by one process beside the driver: workers may be on other machines.

A file that several machines append to is no journal, and that of a driver is on its own disk.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import EngineError
from rag_nodes.transforms import SummaryJournal, WrittenTexts
from rag_nodes.transforms.summaries import SummaryKey

if TYPE_CHECKING:
    from collections.abc import Sequence

RETRIES = 3
"""Times that the process may be started anew; what was kept by then is on the disk."""


class JournalActor:
    """What a process of Ray runs that keeps for workers what they paid for.

    Args:
        paths: of the journals.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        opened = ExitStack()  # until the process ends
        self._journals = {one: opened.enter_context(SummaryJournal(Path(one))) for one in paths}

    def get(self, path: str, model: str, prompt: str) -> str | None:
        """As of the journal."""
        return self._journals[path].get(SummaryKey(model, prompt))

    def add(self, path: str, model: str, prompt: str, text: str) -> None:
        """As of the journal."""
        self._journals[path].add(SummaryKey(model, prompt), text)


class ActorJournal(WrittenTexts):
    """A journal that an actor keeps, as a worker sees it.

    Args:
        actor: of `JournalActor`.
        path: of the journal.
    """

    def __init__(self, actor: Any, path: str) -> None:
        self._actor, self._path = actor, path

    def get(self, key: SummaryKey) -> str | None:
        """The text of that key; None where it was never written."""
        found: str | None = self._said(self._actor.get.remote(self._path, *key))
        return found

    def add(self, key: SummaryKey, summary: str) -> None:
        """Have a text written; it has reached the disk when this returns."""
        self._said(self._actor.add.remote(self._path, *key, summary))

    def _said(self, reference: Any) -> Any:
        import ray

        try:
            return ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayError as error:
            raise EngineError(
                f"the process that keeps what LLMs write is gone ({type(error).__name__}); what it "
                "kept is on the disk: ingest again"
            ) from error
