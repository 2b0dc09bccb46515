"""What LlamaIndex's own classes have by name, under that name."""

import asyncio
from pathlib import Path

import pytest
from llama_index.core import SimpleDirectoryReader
from plant import MANUAL, QUESTION, offline_models

from rag_nodes import (
    Comparison,
    RagNodesQueryEngine,
    RagNodesReader,
    RagNodesRetriever,
    aingest,
    aingest_documents,
    get_parser,
    ingest_documents,
    read,
)
from rag_nodes.core.errors import ConfigurationError, EmptyFileError
from rag_nodes.store import Store

ROOT = Path(__file__).parents[2]
HANDBOOK = ROOT / "examples" / "corpus" / "handbook.pdf"


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    path = tmp_path / "manual.md"
    path.write_text(MANUAL)
    return path


def test_a_directory_reader_takes_our_reader_for_any_suffix(tmp_path: Path, manual: Path) -> None:
    (tmp_path / "handbook.pdf").write_bytes(HANDBOOK.read_bytes())
    reader = RagNodesReader()
    folder = SimpleDirectoryReader(tmp_path, file_extractor={".pdf": reader, ".md": reader})
    pdf, markdown = sorted(folder.load_data(), key=lambda node: node.metadata["file_name"])
    own = read(tmp_path / "handbook.pdf")
    assert (pdf.id_, pdf.text) == (own.id_, own.text)
    assert pdf.metadata.items() >= own.metadata.items()
    assert pdf.metadata["file_size"] == HANDBOOK.stat().st_size
    assert set(own.excluded_llm_metadata_keys) <= set(pdf.excluded_llm_metadata_keys)
    assert markdown.text == MANUAL
    assert markdown.metadata["source"] == str(manual)


async def test_our_reader_reads_lazily_and_async_and_names_what_it_cannot(tmp_path: Path) -> None:
    [document] = await RagNodesReader().aload_data(HANDBOOK, extra_info={"shelf": 3})
    assert document.metadata["shelf"] == 3
    (tmp_path / "empty.md").touch()
    with pytest.raises(EmptyFileError, match=r"empty\.md"):
        RagNodesReader().load_data(tmp_path / "empty.md")
    with pytest.raises(ConfigurationError, match="leave fs out"):
        RagNodesReader().load_data(HANDBOOK, fs=object())


def test_a_parser_names_its_collection_for_retriever_and_engine(manual: Path, store: Store) -> None:
    models = offline_models()
    ingest_documents([read(manual)], {"h": get_parser("heading")}, store, corpus="plant")
    named = {"store": store, "corpus": "plant", "models": models}
    for parser in ("heading", get_parser("heading")):
        retriever = RagNodesRetriever(parser=parser, **named)
        assert "battery" in retriever.retrieve(QUESTION)[0].text
        engine = RagNodesQueryEngine(parser=parser, **named)
        assert "battery" in engine.answer(QUESTION).text
    for wrong in ({}, {"parser": "heading", "collection": "c"}):
        with pytest.raises(ConfigurationError, match="name either the collection, or the parser"):
            RagNodesRetriever(store=store, models=models, **wrong)


async def test_everything_that_ingests_has_an_async_twin_that_leaves_the_loop_free(
    manual: Path, store: Store
) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    parsers = {"heading": get_parser("heading")}
    first = await aingest([manual], parsers, store)
    again = await aingest_documents([read(manual)], parsers, store)
    with Comparison(parsers, documents=read(manual)) as comparison:
        report = await comparison.aask(QUESTION)
    counting.cancel()
    assert turns > 1
    assert first.columns[0].written > 0
    assert [report.columns[0].written for report in (again,)] == [0]
    assert report.columns[0].error is None
