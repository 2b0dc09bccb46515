"""A two-page document in a store, offline models, and an LLM that says what it is told."""

import pytest
from llama_index.core import Document
from plant import offline_models

from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.store import Store

PAGE_ONE = (
    "# Cooling\n\nThe pump moves water through the reactor. "
    "The pump is checked every forty days. Water leaves the reactor at ninety degrees.\n\n"
)
PAGE_TWO = (
    "# Power\n\nThe generator makes two megawatts. "
    "A spare battery starts the generator when the grid is down.\n"
)
TEXT = PAGE_ONE + PAGE_TWO


@pytest.fixture(scope="session")
def offline() -> Models:
    return offline_models()


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
