"""Two files may have the same document, each in its own version: the one read last is stored."""

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from counting_models import CountingEmbedding
from folder_ingests import FolderIngests, states
from llama_index.core.schema import Document

from rag_nodes.core.errors import ModelRequestError
from rag_nodes.embedding import Progress
from rag_nodes.models import Models
from rag_nodes.parsers import SpanNodeParser
from rag_nodes.pipeline import ingest, ingest_documents
from rag_nodes.store import Store, open_store

RED, BLUE = "The machine is red. " * 30, "The machine is blue indeed. " * 25
Texts = dict[str, set[str]]
Parsers = dict[str, SpanNodeParser]


def texts(store: Store) -> Texts:
    """Of all that is stored, by collection."""
    return {
        collection.name: {
            node.text
            for nodes in store.documents(collection.name).values()
            for node in store.fetch(collection.name, list(nodes)).values()
        }
        for collection in store.collections()
    }


class Elsewhere:
    """An executor that does units as another process would: by pickles."""

    workers = 1
    is_remote = False

    def run(self, work: Any, recipe: Any, units: Iterable[Any]) -> Iterator[Any]:
        recipe.prepare()
        for unit in units:
            sent = pickle.loads(pickle.dumps(unit))
            yield unit, pickle.loads(pickle.dumps(work(recipe, sent)))

    def close(self) -> None:
        """There is nothing to end."""


@pytest.fixture
def blue(corpus: FolderIngests) -> Texts:
    """What is stored of one crawl alone."""
    with open_store(":memory:") as store:
        ingest([corpus.crawl("b.json", x=BLUE)], corpus.parsers, store, models=corpus.models)
        return texts(store)


def test_the_page_of_the_later_crawl_is_stored_once(
    corpus: FolderIngests, blue: Texts, embedding: CountingEmbedding
) -> None:
    both = corpus.crawl("a.json", x=RED), corpus.crawl("b.json", x=BLUE)
    corpus.ingest(*both)
    assert texts(corpus.store) == blue
    embedding.texts.clear()

    assert states(corpus.ingest(*both)) == ["unchanged", "unchanged"]
    assert (corpus.opened, embedding.texts) == ([], [])
    assert texts(corpus.store) == blue


def test_a_crawl_that_is_new_replaces_what_an_older_one_stored(
    corpus: FolderIngests, blue: Texts
) -> None:
    red, later = corpus.crawl("a.json", x=RED), corpus.crawl("b.json", x=BLUE)
    corpus.ingest(red)
    corpus.ingest(later, red)
    assert texts(corpus.store) == blue


@pytest.mark.parametrize("other", [None, "y"])
def test_a_page_missing_in_the_later_crawl_comes_from_the_earlier(
    corpus: FolderIngests, other: str | None
) -> None:
    red, later = corpus.crawl("a.json", x=RED), corpus.crawl("b.json", x=BLUE)
    corpus.ingest(red)
    [expected] = texts(corpus.store).values()
    corpus.ingest(red, later)
    later.unlink()
    paths = [red, corpus.crawl("b.json", **{other: "Another page."})] if other else [red]

    corpus.ingest(*paths, prune=True)

    [version] = texts(corpus.store).values()
    assert version - {"Another page."} == expected


@pytest.mark.parametrize("versions", [[BLUE, RED, BLUE], [RED, BLUE, RED, BLUE]])
def test_the_last_document_of_an_id_is_stored(
    models: Models, parsers: Parsers, versions: list[str]
) -> None:
    with open_store(":memory:") as store, open_store(":memory:") as alone:
        ingest_documents([Document(text=BLUE, id_="x")], parsers, alone, models=models)
        documents = [Document(text=version, id_="x") for version in versions]
        for _ in range(2):
            report = ingest_documents(documents, parsers, store, models=models)
            assert not any(column.error for column in report.columns)
            assert texts(store) == texts(alone)


def test_a_version_that_is_not_the_last_of_its_run_is_neither_embedded_nor_counted(
    models: Models, parsers: Parsers, embedding: CountingEmbedding
) -> None:
    steps: list[Progress] = []
    with open_store(":memory:") as store:
        versions = [Document(text=colour, id_="x") for colour in (RED, BLUE, RED, BLUE)]
        report = ingest_documents(versions, parsers, store, models=models, progress=steps.append)
    assert not any("red" in text for text in embedding.texts)
    assert [step.done for step in steps if step.stage == "read"] == [1, 2, 3, 4]
    for column in report.columns:
        counts = [
            step.done for step in steps if (step.stage, step.name) == ("embed", column.parser)
        ]
        assert max(counts) == column.chunks == column.written


def test_versions_of_which_neither_is_stored_whole_end_the_run_all_the_same(
    models: Models, parsers: Parsers, embedding: CountingEmbedding
) -> None:
    def refuse(texts: list[str]) -> None:
        if any("secret" in text for text in texts):
            raise ModelRequestError("too secret")

    embedding.fail(refuse)
    versions = [
        Document(text=f"{colour}This is secret. {colour}", id_="x") for colour in (RED, BLUE)
    ]
    with open_store(":memory:") as store:
        for _ in range(2):
            report = ingest_documents(versions, parsers, store, models=models)
            assert [file.status for file in report.files] == ["incomplete", "incomplete"]


def test_a_page_that_another_file_has_stored_is_not_embedded_again_by_workers(
    corpus: FolderIngests, embedding: CountingEmbedding
) -> None:
    corpus.ingest(corpus.crawl("a.json", x=RED))
    embedding.texts.clear()
    later = corpus.crawl("b.json", x=RED, y=BLUE)
    corpus.ingest(later, executor=Elsewhere())
    assert embedding.texts
    assert not any("red" in text for text in embedding.texts)


def test_two_crawls_with_the_same_page_end_alike_where_workers_read_them(
    corpus: FolderIngests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_nodes.pipeline.run.MOST_FILES", 1)
    both = corpus.crawl("a.json", x=RED), corpus.crawl("b.json", x=BLUE)
    steps: list[Progress] = []
    for expected in ("read", "unchanged"):
        report = corpus.ingest(*both, executor=Elsewhere(), progress=steps.append)
        assert states(report) == [expected] * 2
    assert [step.done for step in steps if step.stage == "read"] == [1, 2, 1, 2]
    [version] = texts(corpus.store).values()
    assert all("blue" in text for text in version)
