"""Embedding models that workers hold in tests: one says where it is loaded, one never waits."""

from __future__ import annotations

import logging
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from own_models import LettersEmbedding

from rag_nodes import ingest
from rag_nodes.errors import ModelRequestError
from rag_nodes.models import Models
from rag_nodes.models.openai import OpenAIServerEmbedding
from rag_nodes.models.pacing import RequestWindow
from rag_nodes.parsers import get_parser
from rag_nodes.store import open_store

if TYPE_CHECKING:
    from openai_server import OpenAIServer

    from rag_nodes.executors import Executor
    from rag_nodes.pipeline import IngestReport


class HeavyEmbedding(LettersEmbedding):
    """Leaves in the folder `said` who loads it, and the graphics cards Ray gives that process.

    "END THE MODEL" ends the process once.
    """

    said: str = ""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        cards = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        Path(self.said, f"{os.getpid()}-loaded").write_text(cards, encoding="utf-8")

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        logging.getLogger("heavy").warning("it is heavy")
        if any("END THE MODEL" in text for text in texts):
            note = Path(self.said, "ended")
            if not note.exists():
                note.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return super()._get_text_embeddings(texts)


class _Impatient(RequestWindow):
    """Refuses a text that would have to wait, which costs no other text."""

    def acquire(self, num_tokens: int = 0) -> None:
        if wait := self.take(num_tokens):
            raise ModelRequestError(f"to be asked again in {wait:.0f} seconds")


class ImpatientEmbedding(OpenAIServerEmbedding):
    """Refuses what would have to wait until it may be asked: what is asked is that of a minute."""

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._window = _Impatient(self.requests_per_minute)


def ingest_many(
    folder: Path,
    model: ImpatientEmbedding,
    executor: Executor,
) -> IngestReport:
    """Ingest more files than a batch has, a text each, asking for each by itself."""
    for number in range(40):
        (folder / f"{number:02}.md").write_text(f"# A\n\nTea {number}.", "utf-8")
    parsers = {"x": get_parser("fixed")}
    with open_store() as store:
        return ingest(
            [folder], parsers, store, models=Models.of(embed_model=model), executor=executor
        )


def impatient(server: OpenAIServer, requests_per_minute: float) -> ImpatientEmbedding:
    """A model of a loopback server."""
    return ImpatientEmbedding(
        api_base=server.base,
        api_key="sk-loopback",
        requests_per_minute=requests_per_minute,
        embed_batch_size=1,
    )
