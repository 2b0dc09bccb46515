"""Columns at one mean size: found on the documents, kept, and said where it cannot be had."""

from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document

from rag_nodes.compare import Comparison, sizing
from rag_nodes.compare.sizing import FIRST, beginnings
from rag_nodes.errors import CancelledError
from rag_nodes.metadata import PAGE_STARTS
from rag_nodes.models import Models
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.parsers import COMPARED, SpanNodeParser, get_parser
from rag_nodes.pipeline import IngestReport
from rag_nodes.store import Store

RINSED = "The pump of part {n} is rinsed with clean water once a week. "
SECTION = "\n\n## Part {n}\n\n" + RINSED * 6
LONG = "# Manual" + "".join(SECTION.format(n=n) for n in range(40))


def document(text: str = LONG, name: str = "manual.md", **metadata: Any) -> Document:
    return Document(text=text, id_=name, metadata={"file_name": name, **metadata})


def compared(store: Store, models: Models, *names: str, size: int = 120) -> Comparison:
    parsers = {name: get_parser(name) for name in names or COMPARED}
    return Comparison(store=store, models=models, columns=parsers, equal_size=size)


def means(report: IngestReport) -> dict[str, float]:
    return {one.parser: one.mean_tokens for one in report.columns}


def test_columns_of_different_sizes_are_given_one(store: Store, models: Models) -> None:
    own = Comparison(
        store=store, models=models, columns={name: get_parser(name) for name in COMPARED}
    )
    assert max(means(own.ingest_documents([document()])).values()) > 300
    report = compared(store, models).ingest_documents([document()])
    for name, mean in means(report).items():
        assert mean == pytest.approx(120, rel=0.25), name


def test_the_size_is_also_found_for_files_that_have_yet_to_be_read(
    manual: Path, store: Store, models: Models
) -> None:
    manual.write_text(LONG)
    comparison = compared(store, models, "fixed", "token-overlap")
    report = comparison.ingest([manual])
    assert means(report) == pytest.approx({"fixed": 120, "token-overlap": 120}, rel=0.03)
    answered = comparison.ask("How is the pump of part 7 rinsed?")
    assert answered.equal_size == 120
    assert answered.as_dict()["equal_size"] == 120
    assert [one.parser["unit"] for one in answered.columns if one.name == "fixed"] == ["tokens"]


def test_a_column_that_cannot_have_the_size_says_so_and_why(store: Store, models: Models) -> None:
    report = compared(store, models, "fixed", "sentence-window").ingest_documents([document()])
    remarks = {one.parser: one.size_remark for one in report.columns}
    assert remarks["fixed"] == ""
    assert remarks["sentence-window"] == (
        "not 120 tokens on average: it keeps its own size (SentenceNodeParser finds single "
        "sentences, which have no size to change)"
    )


def test_a_document_too_short_for_the_size_is_named_as_such(store: Store, models: Models) -> None:
    report = compared(store, models, "fixed").ingest_documents([document("Rinse it weekly.")])
    (column,) = report.columns
    assert column.size_remark == "not 120 tokens on average: it cannot have that size here"


def test_two_columns_that_differ_only_in_size_stay_two(store: Store, models: Models) -> None:
    parsers = {
        name: get_parser("fixed", chunk_size=size, chunk_overlap=0)
        for name, size in (("small", 400), ("large", 2000))
    }
    comparison = Comparison(store=store, models=models, columns=parsers, equal_size=120)
    first, second = comparison.ingest_documents([document()]).columns
    assert first.mean_tokens == pytest.approx(120, rel=0.03)
    assert comparison.parsers["large"] is parsers["large"]
    assert "the same as small" in second.size_remark


def test_what_is_ingested_later_is_cut_at_the_size_that_was_found(
    store: Store, models: Models
) -> None:
    comparison = compared(store, models, "fixed")
    comparison.ingest_documents([document()])
    sized = comparison.parsers["fixed"]
    comparison.ingest_documents([document("Short words are no long ones. " * 90, "other.md")])
    assert comparison.parsers["fixed"] is sized
    assert comparison.given["fixed"] == get_parser("fixed") != sized
    for one in ("manual.md", "other.md"):
        assert store.stored(comparison.collection("fixed"), one)


def test_only_the_first_documents_are_looked_at_and_the_rest_is_checked(
    store: Store, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizing, "FIRST", len(LONG))
    short = [document("One line each.", f"{n}.md") for n in range(40)]
    (column,) = compared(store, models, "fixed").ingest_documents([document(), *short]).columns
    assert column.size_remark == "not 120 tokens on average: sized on the first documents only"


def test_of_a_long_document_the_beginning_is_looked_at_with_its_pages() -> None:
    long = document("word " * FIRST, **{PAGE_STARTS: [0, 5000, 2 * FIRST]})
    short = document()
    first, seen = beginnings([document("", "blank.md"), short, long, document()])
    assert first is short
    assert len(seen.text) == FIRST
    assert seen.metadata[PAGE_STARTS] == [0, 5000]


def test_sizing_can_be_cancelled(store: Store, models: Models) -> None:
    def cancelled(_parser: SpanNodeParser, _document: Document) -> list[Any]:
        raise CancelledError("the visitor has left")

    with pytest.raises(CancelledError, match="visitor"):
        compared(store, models, "fixed").ingest_documents([document()], parse=cancelled)


def test_a_model_that_compares_sentences_is_asked_for_each_once_however_many_sizes_are_tried(
    store: Store, models: Models
) -> None:
    asked: list[str] = []

    class Counted(LexicalEmbedding):
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            asked.extend(texts)
            return super()._get_text_embeddings(texts)

    model = Counted()
    parser = get_parser("semantic", embed_model=model)
    comparison = Comparison(
        store=store, models=models, columns={"semantic": parser}, equal_size=120
    )
    sizing = comparison.sizing
    assert sizing is not None
    text = " ".join(f"Pump {n} is rinsed in week {n} of the year." for n in range(200))
    (sized,) = sizing.find(comparison.parsers, [document(text)]).values()
    assert sized != parser
    assert asked
    assert len(asked) == len(set(asked))
    assert getattr(sized, "embed_model") is model  # noqa: B009 -- of a subclass
