"""Edits of a splitter, a transformation or a model of the user make documents due."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document

from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, ingest, ingest_documents
from rag_nodes.pipeline.ledger import Ledger
from rag_nodes.pipeline.upkeep import Inventory
from rag_nodes.store import open_store

OURS = {"heading": get_parser("heading")}
WORDS = " ".join(f"word{number}" for number in range(200)) + "\n"
SPLITTER = """
class Mine:
    def split_text(self, text):
        return [text[at : at + 300] for at in range(0, len(text), 300)]
"""
STEP = """
from llama_index.core.schema import TransformComponent
class Step(TransformComponent):
    def __call__(self, nodes, **_):
        for node in nodes:
            node.metadata["mood"] = "calm"
        return nodes
"""
MODEL = """
from llama_index.core import MockEmbedding
class Model(MockEmbedding):
    asked: int = 0
    def _get_text_embedding(self, text):
        object.__setattr__(self, "asked", self.asked + 1)
        return [1.0, 2.0]
    def _get_query_embedding(self, text):
        return [1.0, 2.0]
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a module and imports it, as the next process would."""
    folder = tmp_path / "code"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in ("own_split", "own_step", "own_model"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def write_module(name: str, text: str) -> Any:
        (folder / f"{name}.py").write_text(text)
        sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return write_module


@pytest.fixture
def corpus(tmp_path: Path) -> Any:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.md").write_text(f"# Part {number}\n\n{WORDS}")
    with open_store(tmp_path / "store") as store:
        yield folder, store


def run(corpus: Any, parsers: dict[str, Any], **options: Any) -> IngestReport:
    folder, store = corpus
    return ingest([folder], parsers, store, **{"embed_model": "lexical", **options})


def statuses(report: IngestReport) -> set[str]:
    return {file.status for file in report.files}


def test_a_changed_splitter_replaces_its_chunks_in_the_same_collection_and_nobody_elses(
    corpus: Any, write: Any
) -> None:
    edited = SPLITTER.replace("300", "200")

    def ingest_text(text: str) -> IngestReport:
        """As a dry run says it."""
        parsers = {**OURS, "mine": write("own_split", text).Mine()}
        planned, report = run(corpus, parsers, dry_run=True), run(corpus, parsers)
        assert planned.due["mine"] == (0 if statuses(report) == {"unchanged"} else 3)
        assert corpus[1].count(report.columns[1].collection) == report.columns[1].chunks
        return report

    first, again, report = ingest_text(SPLITTER), ingest_text(SPLITTER), ingest_text(edited)
    assert list(map(statuses, (first, again, report))) == [{"read"}, {"unchanged"}, {"read"}]
    former, (heading, mine) = first.columns[1], report.columns
    assert mine.collection == former.collection
    assert mine.written == mine.chunks > former.chunks
    assert (heading.written, heading.unchanged) == (0, heading.chunks)
    assert statuses(ingest_text(edited)) == statuses(run(corpus, OURS)) == {"unchanged"}
    with Ledger.of(corpus[1].location) as ledger:
        inventory = Inventory(corpus[1], ledger)
        listed = inventory.documents("default", inventory.collections("default"))
    assert {file.state for file in listed} == {"stored"}


def test_a_closure_that_was_given_something_else_replaces_its_chunks() -> None:
    def closure_of(size: int) -> Any:
        def cut(text: str) -> list[str]:
            return [text[at : at + size] for at in range(0, len(text), size)]

        return cut

    documents = [Document(text=WORDS, id_="a")]
    with open_store() as store:
        chunks = []
        for size in (500, 100, 100):
            report = ingest_documents(
                documents, {"mine": closure_of(size)}, store, embed_model="lexical"
            )
            chunks.append((report.columns[0].chunks, report.columns[0].written))
            assert store.count(report.columns[0].collection) == report.columns[0].chunks
    [(large, _), (small, written), (_, none)] = chunks
    assert small > large
    assert (written > 0, none) == (True, 0)


def test_a_changed_transformation_makes_every_document_due(corpus: Any, write: Any) -> None:
    for text, expected in (
        (STEP, "read"),
        (STEP, "unchanged"),
        (STEP.replace("calm", "x"), "read"),
    ):
        steps = [write("own_step", text).Step()]
        assert statuses(run(corpus, OURS, transformations=steps)) == {expected}


def test_a_changed_model_embeds_everything_again_in_the_same_collection(
    corpus: Any, write: Any
) -> None:
    asked, collections = [], set()
    for text in (MODEL, MODEL, MODEL.replace("2.0]", "3.0]")):
        model = write("own_model", text).Model(embed_dim=2)
        report = run(corpus, OURS, embed_model=model)
        collections.add(report.columns[0].collection)
        asked.append(report.columns[0].written)
        assert model.asked == report.columns[0].written
    assert asked == [asked[0], 0, asked[0]]
    assert len(collections) == 1


def test_state_of_a_module_that_changes_at_run_time_makes_nothing_due(
    corpus: Any, write: Any
) -> None:
    counting = "CALLS = 0\nCLIENT = None\nKNOWN = {}\n" + MODEL.replace(
        "        object.__setattr__", "        global CALLS, CLIENT\n        CALLS += 1\n"
        "        CLIENT = CLIENT or open(__file__)\n        KNOWN[text] = CALLS\n"
        "        object.__setattr__",
    )  # fmt: skip
    module = write("own_model", counting)
    written = [
        run(corpus, OURS, embed_model=module.Model(embed_dim=2)).columns[0].written
        for _ in range(3)
    ]
    module.CLIENT.close()
    assert written == [module.CALLS, 0, 0]


@pytest.mark.parametrize("kind", ["splitter", "step"])
def test_code_without_a_source_file_is_processed_in_every_run_and_named(
    corpus: Any, kind: str
) -> None:
    typed: dict[str, Any] = {"__name__": "__typed__"}
    exec(SPLITTER + STEP, typed)  # noqa: S102 -- as in a cell of a notebook
    parsers = {"mine": typed["Mine"]()} if kind == "splitter" else OURS
    steps = [typed["Step"]()] if kind == "step" else []
    for _ in range(2):
        report = run(corpus, parsers, transformations=steps)
        [reason] = report.unhashable
        assert reason.startswith("Changes of __typed__:")
        assert "has no source file" in reason
        assert statuses(report) == {"read"}
        assert corpus[1].count(report.columns[0].collection) == report.columns[0].chunks


def test_another_release_makes_documents_due(corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run(corpus, OURS)
    monkeypatch.setattr("rag_nodes.pipeline.recipe.version", lambda _: "999")
    report = run(corpus, OURS)
    assert statuses(report) == {"read"}
    assert report.columns[0].written == report.columns[0].chunks
