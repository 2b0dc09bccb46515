"""Chunks embedded in further ways: what that costs, and what is never paid again."""

from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.llms import MockLLM

from rag_nodes.errors import ConfigurationError, VectorMissingError
from rag_nodes.metadata import NAMED_VECTORS
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, ingest, ingest_documents
from rag_nodes.store import Query, Store, open_store
from rag_nodes.transforms import NamedVectors, vector_steps

PARSERS = {"heading": get_parser("heading", min_chunk_size=0)}


TEXT = "# Tea\n\nIntroduction.\n\n## Water\n\nNine litres.\n\n## Steel\n\nIt is hard.\n"


PLAIN = ["# Tea\n\nIntroduction.", "## Water\n\nNine litres.", "## Steel\n\nIt is hard."]


def taken(store: Store, models: Models, text: str = TEXT, *names: str) -> IngestReport:
    made = [Document(text=text, id_="tea.md")]
    return ingest_documents(
        made, PARSERS, store, models=models, transformations=vector_steps(names)
    )


def known(store: Store, report: IngestReport, name: str) -> list[str]:
    """What the chunks of the document are embedded as under a name."""
    collection = report.columns[0].collection
    ids = list(store.stored(collection, "tea.md"))
    return sorted(text for text, _ in store.vectors(collection, ids, name).values())


def test_both_texts_are_embedded_and_no_vector_is_kept_as_metadata(
    store: Store, models: Models, embedding: Any
) -> None:
    report = taken(store, models, TEXT, "plain")
    assert len(embedding.texts) == 6
    assert known(store, report, "plain") == sorted(PLAIN)
    assert "Heading: Tea > Water\n\n## Water\n\nNine litres." in known(store, report, "heading")
    collection = report.columns[0].collection
    for node in store.fetch(collection, list(store.stored(collection, "tea.md"))).values():
        assert node.metadata[NAMED_VECTORS] == ["plain"]
    assert taken(store, models, TEXT, "plain").files[0].status == "unchanged"
    assert len(embedding.texts) == 6


def test_what_is_embedded_already_is_kept_when_a_further_way_is_asked_for(
    store: Store, models: Models, embedding: Any
) -> None:
    taken(store, models)
    before = len(embedding.texts)
    taken(store, models, TEXT, "plain")
    assert embedding.texts[before:] == PLAIN
    before = len(embedding.texts)
    report = taken(store, models, TEXT.replace("hard", "soft"), "plain")
    assert [text for text in embedding.texts[before:] if "soft" not in text] == []
    assert len(embedding.texts) == before + 2
    assert sum("soft" in text for text in known(store, report, "plain")) == 1


def test_a_text_that_is_the_same_in_both_ways_is_embedded_once(
    store: Store, models: Models, embedding: Any
) -> None:
    parsers = {"fixed": get_parser("fixed")}
    made = [Document(text="Nothing stands above this.", id_="tea.md")]
    steps = vector_steps(["plain"])
    report = ingest_documents(made, parsers, store, models=models, transformations=steps)
    assert len(embedding.texts) == 1
    assert known(store, report, "plain") == known(store, report, "heading")


def test_summaries_stand_in_front_and_no_model_is_needed_for_them(
    store: Store, models: Models
) -> None:
    report = taken(store, models, TEXT, "summary", "plain")
    assert len(known(store, report, "summary")) == 3
    for summary, usual in zip(
        known(store, report, "summary"), known(store, report, "heading"), strict=True
    ):
        assert summary != usual
    assert all("Heading: " in text for text in known(store, report, "summary"))


def test_a_chunk_about_which_a_model_says_nothing_has_no_such_vector(
    store: Store, models: Models
) -> None:
    class Silent(MockLLM):
        def _refuse(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("no")

        complete = acomplete = chat = achat = _refuse

    made = [Document(text=TEXT, id_="tea.md")]
    steps = vector_steps(["context"], Silent())
    report = ingest_documents(made, PARSERS, store, models=models, transformations=steps)
    assert known(store, report, "context") == []
    assert len(known(store, report, "heading")) == 3


def test_unknown_ways_and_a_context_without_a_model_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="unknown vector 'title'; choose heading, plain"):
        NamedVectors("title")
    with pytest.raises(ConfigurationError, match="what an LLM writes, and there is none"):
        vector_steps(["context"])
    assert vector_steps(["heading"]) == []


def test_a_file_that_did_not_change_is_due_for_a_further_way(
    models: Models, embedding: Any, tmp_path: Path
) -> None:
    file = tmp_path / "tea.md"
    file.write_text(TEXT)
    with open_store(tmp_path / "store") as store:
        for names, texts in ((), 3), (("plain",), 6), (("plain",), 6):
            steps = vector_steps(names)
            report = ingest([file], PARSERS, store, models=models, transformations=steps)
            assert len(embedding.texts) == texts
        assert report.files[0].status == "unchanged"


def test_vectors_that_are_there_are_kept_up_to_date_by_an_ingest_that_names_none(
    store: Store, models: Models
) -> None:
    taken(store, models, TEXT, "plain")
    report = taken(store, models, TEXT.replace("hard", "soft"))
    assert report.kept_vectors == ("plain",)
    assert sorted([*PLAIN[:2], "## Steel\n\nIt is soft."]) == known(store, report, "plain")
    assert store.vector_names(report.columns[0].collection) == ("heading", "plain")
    assert taken(store, models, TEXT.replace("hard", "soft")).files[0].status == "unchanged"
    assert taken(store, models, TEXT, "summary").kept_vectors == ("plain",)
    assert len(known(store, report, "summary")) == len(known(store, report, "plain")) == 3


def test_vectors_that_are_not_to_be_kept_are_gone_and_stay_away(
    store: Store, models: Models, embedding: Any
) -> None:
    taken(store, models, TEXT, "plain", "summary")
    question = embedding.get_query_embedding("tea")
    before = len(embedding.texts)
    made = [Document(text=TEXT, id_="tea.md")]
    steps = [NamedVectors("summary", keep=False)]
    report = ingest_documents(made, PARSERS, store, models=models, transformations=steps)
    collection = report.columns[0].collection
    assert (report.kept_vectors, known(store, report, "plain")) == ((), [])
    with pytest.raises(VectorMissingError, match="'plain'; it has: heading, summary"):
        store.search(collection, Query(vector=question, text="", limit=1, using="plain"))
    assert store.vector_names(collection) == ("heading", "summary")
    steps = [NamedVectors(keep=False)]
    ingest_documents(made, PARSERS, store, models=models, transformations=steps)
    assert store.vector_names(collection) == ("heading",)
    assert taken(store, models).files[0].status == "unchanged"
    assert len(embedding.texts) == before


def test_all_parsers_of_an_ingest_are_given_what_one_of_them_has(
    store: Store, models: Models
) -> None:
    taken(store, models, TEXT, "plain")
    parsers = {**PARSERS, "fixed": get_parser("fixed")}
    made = [Document(text=TEXT, id_="tea.md")]
    report = ingest_documents(made, parsers, store, models=models)
    for column in report.columns:
        assert store.vector_names(column.collection) == ("heading", "plain")
