"""What LLMs write about chunks is paid for once, and outlives stores, moved files and failures."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kept_texts import texts_in
from llama_index.core.schema import TextNode
from openai_server import UNAUTHORIZED, OpenAIServer
from own_models import ParrotLLM
from pydantic import Field

from rag_nodes.errors import ModelConnectionError
from rag_nodes.models import Models, choose_models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, ingest
from rag_nodes.settings import Settings
from rag_nodes.store import Store, open_store
from rag_nodes.transforms import NamedVectors, SectionSummary, TextJournal

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


def asked_of(models: Models) -> int:
    assert isinstance(models.llm, CountingLLM)
    return len(models.llm.asked)


@pytest.mark.parametrize(
    "names", [("ledger.sqlite", "written.sqlite"), ("a.db", "a.written.sqlite")]
)
def test_what_was_written_outlives_a_store_and_stands_beside_its_ledger(
    names: tuple[str, str], paid: Models, tmp_path: Path
) -> None:
    file = tmp_path / "tea.md"
    file.write_text(TEXT)
    place = tmp_path / "ledgers" / names[0]
    for _ in range(2):
        with open_store() as fresh:
            report = ingest(
                [file],
                PARSERS,
                fresh,
                models=paid,
                transformations=[NamedVectors("summary", "context")],
                ledger=place,
            )
            assert len(known_of(fresh, report, "context")) == 3
        assert asked_of(paid) == 6
    assert texts_in(tmp_path / "ledgers" / names[1]) == 6
    assert report.writers == ()


def test_a_file_that_was_moved_or_is_cut_by_another_parser_is_not_written_about_again(
    paid: Models, tmp_path: Path
) -> None:
    file = tmp_path / "tea.md"
    file.write_text(TEXT)
    options: dict[str, Any] = {"models": paid, "transformations": [NamedVectors("context")]}
    with open_store(tmp_path / "store") as store:
        ingest([file], PARSERS, store, **options)
        file = file.rename(tmp_path / "coffee.md")
        moved = ingest([file], PARSERS, store, models=paid, prune=True)
        assert len(known_of(store, moved, "context")) == 3
        smaller = {"heading": get_parser("heading", min_chunk_size=0, chunk_size=400)}
        report = ingest([file], smaller, store, **options)
        assert len(known_of(store, report, "context")) == 3
    assert asked_of(paid) == 3
    assert report.writers == ()


def test_what_reads_the_same_is_written_about_once_however_many_ask_at_a_time(
    paid: Models, tmp_path: Path
) -> None:
    nodes = [TextNode(text="Nine litres.") for _ in range(6)]
    journal = TextJournal(tmp_path / "w.sqlite")
    SectionSummary(llm=paid.llm, journal=journal)(nodes)
    assert {node.metadata["summary"] for node in nodes} == {"About tea."}
    assert asked_of(paid) == 1


def test_chunks_about_which_nothing_was_written_are_named_and_written_about_by_the_next_ingest(
    paid: Models, tmp_path: Path
) -> None:
    file = tmp_path / "tea.md"
    file.write_text(TEXT)
    options: dict[str, Any] = {"transformations": [NamedVectors("summary")]}
    silent = replace(paid, llm=FailingLLM(says="About tea.", fails_at="It is hard"))
    paid = replace(paid, llm=FailingLLM(says="About tea.", fails_at="what nobody wrote"))
    with open_store(tmp_path / "store") as store:
        report = ingest([file], PARSERS, store, models=silent, **options)
        [[column]] = [one.columns.values() for one in report.files]
        assert (report.files[0].status, column.stored, column.chunks) == ("incomplete", 3, 3)
        assert "an LLM wrote nothing about 1 of 3 chunks" in str(column.error)
        assert "the server is away" in str(report.columns[0].error)
        assert str(column.lack).startswith("stored without")
        assert len(known_of(store, report, "summary")) == 2
        assert len(known_of(store, report, "heading")) == 3
        report = ingest([file], PARSERS, store, models=paid, **options)
        assert (report.files[0].status, report.columns[0].written) == ("read", 1)
        assert len(known_of(store, report, "summary")) == 3
        assert asked_of(paid) == 1
        report = ingest([file], PARSERS, store, models=paid, **options)
        assert (report.files[0].status, asked_of(paid)) == ("unchanged", 1)


class FailingLLM(CountingLLM):
    """Fails at a text."""

    fails_at: str

    def complete(self, prompt: str, **options: Any) -> Any:
        if self.fails_at in prompt:
            raise ModelConnectionError("the server is away")
        return super().complete(prompt, **options)


def known_of(store: Store, report: IngestReport, name: str) -> list[str]:
    collection, document = report.columns[0].collection, str(report.files[0].document_id)
    return [
        text
        for text, _ in store.vectors(
            collection, list(store.stored(collection, document)), name
        ).values()
    ]


def test_what_was_written_outlives_an_embedding_that_fails(
    paid: Models, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    file = tmp_path / "tea.md"
    file.write_text(TEXT)
    served = choose_models(
        Settings(
            embedding="openai", api_key="sk-test", api_base=openai_server.base, retry_seconds=0
        )
    )
    models = Models.of(embed_model=served.embedding, llm=paid.llm)
    steps = [NamedVectors("context")]
    openai_server.faults.extend([UNAUTHORIZED] * 3)
    for _ in range(2):
        with open_store() as fresh:
            report = ingest(
                [file],
                PARSERS,
                fresh,
                models=models,
                transformations=steps,
                ledger=tmp_path / "ledger.sqlite",
            )
        openai_server.faults.clear()
        assert asked_of(paid) == 3
    assert report.files[0].status == "read"


def test_a_dry_run_prices_what_would_be_written_and_not_what_was(
    paid: Models, tmp_path: Path
) -> None:
    file = tmp_path / "tea.md"
    file.write_text(TEXT)
    options: dict[str, Any] = {
        "models": paid,
        "transformations": [NamedVectors("summary", "context")],
        "prices": {"parrot": (1.0, 2.0)},
    }
    with open_store(tmp_path / "store") as kept:
        said = ingest([file], PARSERS, kept, dry_run=True, **options)
        assert asked_of(paid) == 0
        assert not (tmp_path / "store" / "written.sqlite").exists()
        done = ingest([file], PARSERS, kept, **options)
        for expected, real in zip(said.writers, done.writers, strict=True):
            assert (expected.step, expected.model) == (real.step, real.model)
            assert (expected.requests, expected.tokens_in) == (3, real.tokens_in)
            assert expected.tokens_out > real.tokens_out
            assert expected.cost == (expected.tokens_in + 2 * expected.tokens_out) / 1e6
        assert said.columns[0].embedding_tokens == 0
        file.write_text(TEXT.replace("hard", "soft"))
        [_, again] = ingest([file], PARSERS, kept, dry_run=True, **options).writers
        assert again.requests == 3  # each reads what stands around it
        [summaries, _] = ingest([file], PARSERS, kept, dry_run=True, **options).writers
        assert summaries.requests == 1
        unpriced = ingest([file], PARSERS, kept, dry_run=True, **{**options, "prices": {}})
        assert [one.cost for one in unpriced.writers] == [None, None]
    assert asked_of(paid) == 6
