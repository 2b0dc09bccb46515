"""A two-page document in a store, offline models, and an LLM that says what it is told."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from plant import offline_models
from pydantic import PrivateAttr

from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.store import Store, open_store

PAGE_ONE = (
    "# Cooling\n\nThe pump moves water through the reactor. "
    "The pump is checked every forty days. Water leaves the reactor at ninety degrees.\n\n"
)
PAGE_TWO = (
    "# Power\n\nThe generator makes two megawatts. "
    "A spare battery starts the generator when the grid is down.\n"
)
TEXT = PAGE_ONE + PAGE_TWO


class TellingLLM(CustomLLM):
    """Answers with a fixed text, or raises; keeps the prompts it was given."""

    _answer: str | Exception = PrivateAttr()
    _prompts: list[str] = PrivateAttr(default_factory=list)

    def __init__(self, answer: str | Exception) -> None:
        super().__init__()
        self._answer = answer

    @property
    def prompts(self) -> list[str]:
        return self._prompts

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="telling")

    def complete(self, prompt: str, **_: Any) -> CompletionResponse:
        self._prompts.append(prompt)
        if isinstance(self._answer, Exception):
            raise self._answer
        return CompletionResponse(text=self._answer)

    def stream_complete(self, prompt: str, **_: Any) -> Any:
        raise NotImplementedError(prompt)


@pytest.fixture(scope="session")
def offline() -> Models:
    return offline_models()


@pytest.fixture(scope="session")
def with_llm(offline: Models) -> Callable[[str | Exception], Models]:
    """Models whose LLM answers with the given text."""

    def make(answer: str | Exception) -> Models:
        return Models(
            embedding=offline.embedding,
            llm=TellingLLM(answer),
            embedding_name=offline.embedding_name,
            answer_name="telling",
            offline=False,
        )

    return make


@pytest.fixture
def store() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        yield opened


@pytest.fixture
def document() -> Document:
    keys = ["file_name", "source", "page_starts", "total_pages"]
    return Document(
        text=TEXT,
        id_="plant",
        metadata={
            "file_name": "plant.pdf",
            "source": "/manuals/plant.pdf",
            "page_starts": [0, len(PAGE_ONE)],
            "total_pages": 2,
        },
        excluded_embed_metadata_keys=keys,
        excluded_llm_metadata_keys=keys,
    )


@pytest.fixture
def collection(store: Store, offline: Models, document: Document) -> str:
    """The document in chunks of about a sentence or two."""
    parser = get_parser("fixed", chunk_size=90, chunk_overlap=0)
    report = ingest_documents([document], {"fixed": parser}, store, models=offline)
    return report.columns[0].collection
