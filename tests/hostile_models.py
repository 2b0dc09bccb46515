"""An embedding model that workers hold in tests, and that never waits."""

from pathlib import Path
from typing import Any

from openai_server import OpenAIServer

from rag_nodes import ingest
from rag_nodes.errors import ModelRequestError
from rag_nodes.executors import Executor
from rag_nodes.models import Models
from rag_nodes.models.openai import OpenAIServerEmbedding
from rag_nodes.models.pacing import RequestWindow
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport
from rag_nodes.store import open_store


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
