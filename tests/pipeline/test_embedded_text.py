"""What of a chunk is embedded, and that summaries are paid for once, whatever fails."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kept_texts import texts_in
from llama_index.core import Document
from openai_server import UNAUTHORIZED, OpenAIServer
from own_models import ParrotLLM
from pydantic import Field

from rag_nodes.core.errors import ConfigurationError, ModelConnectionError
from rag_nodes.core.settings import Settings
from rag_nodes.embedding import SectionSummary, build_pipeline
from rag_nodes.models import Models, choose_models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, ingest, ingest_documents
from rag_nodes.store import Store, open_store

PARSERS = {"heading": get_parser("heading", min_chunk_size=0)}


TEXT = "# Tea\n\nIntroduction.\n\n## Water\n\nNine litres.\n\n## Steel\n\nIt is hard.\n"


class CountingLLM(ParrotLLM):
    """Counts what it was asked."""

    asked: list[str] = Field(default_factory=list)

    def complete(self, prompt: str, **options: Any) -> Any:
        self.asked.append(prompt)
        return super().complete(prompt, **options)


@pytest.fixture
def paid() -> Models:
    """Models of which the one that writes counts, and the other runs offline."""
    return Models.of(embed_model="lexical", llm=CountingLLM(says="About tea."))


@pytest.fixture
def tea(tmp_path: Path) -> Path:
    file = tmp_path / "tea.md"
    file.write_text(TEXT)
    return file


def embedded_in(store: Store, report: IngestReport) -> list[str]:
    """What the chunks of the first document were embedded as."""
    collection, document = report.columns[0].collection, str(report.files[0].document_id)
    vectors = store.vectors(collection, list(store.stored(collection, document)))
    return sorted(text for text, _ in vectors.values())


def summarised_in(store: Store, report: IngestReport) -> int:
    return sum("summary: " in text for text in embedded_in(store, report))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("plain", "## Steel\n\nIt is hard."),
        ("heading", "Heading: Tea > Steel\n\n## Steel\n\nIt is hard."),
        ("summary", "Heading: Tea > Steel\nsummary: It is hard.\n\n## Steel\n\nIt is hard."),
    ],
)
def test_a_chunk_is_embedded_with_what_was_asked_for(
    text: Any, first: str, store: Store, models: Models, embedding: Any
) -> None:
    documents = [Document(text=TEXT, id_="tea.md")]
    report = ingest_documents(documents, PARSERS, store, models=models, text=text)
    assert first in embedding.texts
    assert len(embedding.texts) == 3
    assert first in embedded_in(store, report)
    nodes = build_pipeline(PARSERS["heading"], embed_model=embedding, text=text).run(
        documents=documents
    )
    assert first in embedding.texts[3:]
    assert len(nodes) == 3


def test_a_long_chunk_is_embedded_as_pieces_of_its_text_alone(
    store: Store, models: Models, embedding: Any
) -> None:
    long = "# Tea\n\n" + "\n\n".join(f"## Part {n}\n\n{'word ' * 4000}" for n in range(3))
    documents = [Document(text=long, id_="tea.md")]
    parsers = {"fixed": get_parser("fixed", chunk_size=60_000, chunk_overlap=0)}
    ingest_documents(documents, parsers, store, models=models, text="plain")
    assert len(embedding.texts) > 1
    assert not any("Heading" in text for text in embedding.texts)


def test_another_text_makes_a_file_due_and_the_same_leaves_it(
    models: Models, embedding: Any, tea: Path, tmp_path: Path
) -> None:
    asked: list[tuple[Any, int]] = [("heading", 3), ("plain", 6), ("plain", 6), ("heading", 9)]
    with open_store(tmp_path / "store") as store:
        for text, texts in asked:
            report = ingest([tea], PARSERS, store, models=models, text=text)
            assert len(embedding.texts) == texts
            assert store.count(report.columns[0].collection) == 3
        report = ingest([tea], PARSERS, store, models=models)
        assert report.files[0].status == "unchanged"


def test_a_text_that_is_none_is_refused(store: Store, models: Models) -> None:
    with pytest.raises(ConfigurationError, match="unknown text 'title'; choose plain, heading"):
        ingest_documents([Document(text=TEXT)], PARSERS, store, models=models, text="title")  # type: ignore[arg-type] # what is refused


def test_summaries_of_a_transformation_are_embedded_and_no_other_is_written(
    store: Store, paid: Models
) -> None:
    own = SectionSummary(max_tokens=40)
    documents = [Document(text=TEXT, id_="tea.md")]
    report = ingest_documents(
        documents, PARSERS, store, models=paid, transformations=[own], text="summary"
    )
    assert summarised_in(store, report) == 3
    assert count_requests(paid) == 0


def test_a_dry_run_counts_extracts_and_asks_no_llm(
    models: Models, paid: Models, tea: Path, tmp_path: Path
) -> None:
    with open_store(tmp_path / "store") as store:
        planned = ingest([tea], PARSERS, store, models=models, text="summary", dry_run=True)
        assert planned.due == {"heading": 1}
        ingest([tea], PARSERS, store, models=paid, text="summary", dry_run=True)
        assert count_requests(paid) == 0
        assert not (tmp_path / "store" / "written.sqlite").exists()


def count_requests(models: Models) -> int:
    assert isinstance(models.llm, CountingLLM)
    return len(models.llm.asked)


@pytest.mark.parametrize(
    "names", [("ledger.sqlite", "written.sqlite"), ("a.db", "a.written.sqlite")]
)
def test_a_summary_outlives_a_store_and_stands_beside_its_ledger(
    names: tuple[str, str], paid: Models, tea: Path, tmp_path: Path
) -> None:
    place = tmp_path / "ledgers" / names[0]
    for _ in range(2):
        with open_store() as fresh:
            report = ingest(
                [tea],
                PARSERS,
                fresh,
                models=paid,
                text="summary",
                ledger=place,
            )
            assert summarised_in(fresh, report) == 3
        assert count_requests(paid) == 3
    assert texts_in(tmp_path / "ledgers" / names[1]) == 3


def test_a_file_that_was_moved_or_is_split_by_another_parser_is_not_summarised_again(
    paid: Models, tea: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"models": paid, "text": "summary"}
    with open_store(tmp_path / "store") as store:
        ingest([tea], PARSERS, store, **options)
        tea = tea.rename(tmp_path / "coffee.md")
        moved = ingest([tea], PARSERS, store, **options, prune=True)
        assert summarised_in(store, moved) == 3
        smaller = {"heading": get_parser("heading", min_chunk_size=0, chunk_size=400)}
        report = ingest([tea], smaller, store, **options)
        assert summarised_in(store, report) == 3
    assert count_requests(paid) == 3


def test_chunks_without_a_summary_are_named_and_summarised_by_the_next_ingest(
    paid: Models, tea: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"text": "summary"}
    silent = replace(paid, llm=FailingLLM(says="About tea.", fails_at="It is hard"))
    paid = replace(paid, llm=FailingLLM(says="About tea.", fails_at="what nobody wrote"))
    with open_store(tmp_path / "store") as store:
        report = ingest([tea], PARSERS, store, models=silent, **options)
        [[column]] = [file.columns.values() for file in report.files]
        assert (report.files[0].status, column.stored, column.chunks) == ("incomplete", 3, 3)
        assert "an LLM summarised 2 of 3 chunks" in str(column.error)
        assert "the server is away" in str(report.columns[0].error)
        assert str(column.lack).startswith("stored without")
        assert summarised_in(store, report) == 2
        assert len(embedded_in(store, report)) == 3
        report = ingest([tea], PARSERS, store, models=paid, **options)
        assert (report.files[0].status, report.columns[0].written) == ("read", 3)
        assert summarised_in(store, report) == 3
        assert count_requests(paid) == 1
        report = ingest([tea], PARSERS, store, models=paid, **options)
        assert (report.files[0].status, count_requests(paid)) == ("unchanged", 1)


class FailingLLM(CountingLLM):
    """Fails at a text."""

    fails_at: str

    def complete(self, prompt: str, **options: Any) -> Any:
        if self.fails_at in prompt:
            raise ModelConnectionError("the server is away")
        return super().complete(prompt, **options)


def test_summaries_outlive_an_embedding_that_fails(
    paid: Models, openai_server: OpenAIServer, tea: Path, tmp_path: Path
) -> None:
    served = choose_models(
        Settings(
            embedding="openai", api_key="sk-test", api_base=openai_server.base, retry_seconds=0
        )
    )
    models = Models.of(embed_model=served.embedding, llm=paid.llm)
    openai_server.faults.extend([UNAUTHORIZED] * 3)
    for _ in range(2):
        with open_store() as fresh:
            report = ingest(
                [tea],
                PARSERS,
                fresh,
                models=models,
                text="summary",
                ledger=tmp_path / "ledger.sqlite",
            )
        openai_server.faults.clear()
        assert count_requests(paid) == 3
    assert report.files[0].status == "read"
