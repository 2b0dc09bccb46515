"""A dry run says what an ingest would do and cost; no model is asked, and nothing changes."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from counting_models import Prices
from llama_index.core.node_parser import SemanticSplitterNodeParser
from llama_index.core.schema import TransformComponent
from openai_server import OpenAIServer

from rag_nodes.core.settings import Settings
from rag_nodes.models import Models, choose_models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, ingest, tally
from rag_nodes.store import Store, open_store

pytestmark = pytest.mark.usefixtures("no_configuration")


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store") as store:
        yield store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    for n in range(5):
        sections = [f"## Part {k}\n\nPart {k} of machine {n} is made of steel." for k in range(6)]
        (docs / f"{n}.md").write_text(f"# Machine {n}\n\n" + "\n\n".join(sections))
    return docs


def facts(report: IngestReport) -> list[tuple[Any, ...]]:
    """What a dry run has to foretell."""
    return [
        (
            *(column.parser, column.chunks, column.parents, column.tokens, column.written),
            *(column.unchanged, column.embedding_tokens, column.embedding_cost),
        )
        for column in report.columns
    ]


def test_the_ingest_does_what_the_dry_run_said_at_the_price_it_said(
    folder: Path,
    kept: Store,
    served: Models,
    openai_server: OpenAIServer,
    prices: Prices,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsers = {
        "heading": get_parser("heading", chunk_size=30, min_chunk_size=5),
        "family": get_parser("parent-child"),
    }

    def run(**options: Any) -> IngestReport:
        return ingest([folder], parsers, kept, models=served, prices=prices, **options)

    for change in range(3):
        if change == 1:
            (folder / "1.md").write_text("# Machine\n\nAnother one.")
        if change == 2:
            for n in (0, 2):
                (folder / f"{n}.md").write_text((folder / f"{n}.md").read_text() + " New.")
        openai_server.requests.clear()
        planned = run(dry_run=True)
        assert not openai_server.requests
        assert planned.dry_run
        assert dict(planned.due) == dict.fromkeys(parsers, (5, 1, 2)[change])
        done = run()
        assert not done.dry_run
        assert facts(planned) == facts(done)
        assert done.embedding_tokens > 0
        assert [file.status for file in planned.files] == [file.status for file in done.files]
        monkeypatch.setattr(tally, "MOST_ROWS", 1)
        few = run(dry_run=True)
        monkeypatch.undo()
        assert (len(few.files), few.documents) == (1, planned.documents)
        assert dict(few.due) == dict.fromkeys(parsers, 0)
    openai_server.requests.clear()
    assert run(dry_run=True).embedding_cost == 0.0


def test_nothing_is_stored_and_nothing_written_down(
    folder: Path, kept: Store, served: Models, tmp_path: Path
) -> None:
    parsers = {"fixed": get_parser("fixed")}
    for _ in range(2):
        report = ingest([folder], parsers, kept, models=served, dry_run=True)
        assert report.columns[0].written == 5
    assert not kept.collections()
    assert not (tmp_path / "store" / "ledger.sqlite").exists()
    ingest([folder], parsers, kept, models=served)
    ledger = (tmp_path / "store" / "ledger.sqlite").read_bytes()
    (folder / "0.md").write_text("Something else.")
    report = ingest([folder], parsers, kept, models=served, dry_run=True)
    assert report.columns[0].written == 1
    assert (tmp_path / "store" / "ledger.sqlite").read_bytes() == ledger
    assert kept.count(kept.collections()[0].name) == 5


def test_a_parser_that_compares_sentences_is_estimated_and_its_sentences_are_priced(
    folder: Path, kept: Store, served: Models, openai_server: OpenAIServer, prices: Prices
) -> None:
    parsers = {
        "heading": get_parser("heading"),
        "semantic": get_parser("semantic", embed_model=served.embedding),
        "words": get_parser("semantic"),
    }
    report = ingest([folder], parsers, kept, models=served, prices=prices, dry_run=True)
    assert not openai_server.requests
    assert report.estimated == ("semantic",)
    assert report.as_dict()["estimated"] == ["semantic"]
    _, semantic, words = report.columns
    assert semantic.embedding_tokens > words.embedding_tokens > 0
    done = ingest([folder], parsers, kept, models=served, prices=prices)
    assert done.columns[1].embedding_tokens == pytest.approx(semantic.embedding_tokens, rel=0.1)


def test_neither_transformations_nor_splitters_with_a_model_of_their_own_are_run(
    folder: Path, kept: Store, served: Models, openai_server: OpenAIServer
) -> None:
    class Paid(TransformComponent):
        def __call__(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("this would have cost something")

    splitter = SemanticSplitterNodeParser.from_defaults(embed_model=served.embedding)
    parsers = {"theirs": splitter, "fixed": get_parser("fixed")}
    report = ingest([folder], parsers, kept, models=served, transformations=[Paid()], dry_run=True)
    theirs, fixed = report.columns
    assert "splits with a model of its own" in (theirs.error or "")
    assert (fixed.error, fixed.written) == (None, 5)
    assert not openai_server.requests


def test_an_offline_embedding_costs_nothing_and_a_local_one_is_not_asked(
    folder: Path, kept: Store, models: Models, embedding: Any
) -> None:
    offline = choose_models(Settings(embedding="lexical", llm="extractive"))
    free = ingest([folder], {"fixed": get_parser("fixed")}, kept, models=offline, dry_run=True)
    assert (free.embedding_tokens, free.embedding_cost) == (0, 0.0)
    unknown = replace(models, offline=False)
    report = ingest([folder], {"fixed": get_parser("fixed")}, kept, models=unknown, dry_run=True)
    assert not embedding.texts
    assert report.embedding_tokens > 0
    assert report.embedding_cost is None
