"""Files and documents into a store by every parser; what fails stops nothing else."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from folder_ingests import contents
from llama_index.core import Document

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.embedding import Progress
from rag_nodes.models import Models
from rag_nodes.parsers import FixedSizeNodeParser, SpanNodeParser, get_parser
from rag_nodes.pipeline import ingest, ingest_documents
from rag_nodes.pipeline.run import MOST_FILES
from rag_nodes.store import Store, open_store

Parsers = dict[str, SpanNodeParser]


CHANGED = (
    "# Part 0\n\nPart 0 of the machine is made of steel.\n\n# Colour\n\nThe machine is green.\n"
)


def test_every_parser_gets_its_own_collection(
    manual: Path, parsers: Parsers, store: Store, models: Models
) -> None:
    report = ingest([manual], parsers, store, models=models)
    assert [column.parser for column in report.columns] == ["fixed", "heading"]
    assert len({column.collection for column in report.columns}) == 2
    text = manual.read_text()
    for column in report.columns:
        assert column.error is None
        assert column.chunks == column.written == store.count(column.collection) > 1
        assert column.max_tokens >= column.mean_tokens > 0
        assert column.tokens == pytest.approx(column.mean_tokens * column.chunks)
        assert all(column.seconds[stage] > 0 for stage in ("parse", "embed", "store"))
        for chunk in contents(store, report)[column.parser].values():
            assert chunk in text
    [file] = report.files
    assert (file.path, file.status, file.error) == (str(manual), "read", None)
    assert file.characters == len(text)
    assert report.models == models.describe()


def test_parsers_are_given_by_name_and_presets_by_theirs(
    manual: Path, store: Store, models: Models
) -> None:
    named = ingest([manual], {"mine": "fixed"}, store, models=models)
    preset_report = ingest([manual], {"mine": get_parser("fixed")}, store, models=models)
    assert named.columns[0].collection == preset_report.columns[0].collection
    with pytest.raises(ConfigurationError, match=r"by name: \{'retrieval'"):
        ingest([manual], get_parser("fixed"), store, models=models)  # type: ignore[arg-type]


def test_a_changed_file_ends_as_if_it_had_been_ingested_afresh(
    manual: Path, parsers: Parsers, store: Store, models: Models
) -> None:
    ingest([manual], parsers, store, models=models)
    manual.write_text(CHANGED)
    report = ingest([manual], parsers, store, models=models)
    with open_store(":memory:") as fresh:
        expected = contents(fresh, ingest([manual], parsers, fresh, models=models))
    assert contents(store, report) == expected
    again = ingest([manual], parsers, store, models=models)
    assert [file.status for file in again.files] == ["unchanged"]


def test_small_documents_share_a_batch(store: Store, models: Models, embedding: Any) -> None:
    requests = []
    embedding.fail(requests.append)
    documents = [Document(text=f"Document number {n}.", id_=f"d{n}") for n in range(30)]
    ingest_documents(documents, {"fixed": get_parser("fixed")}, store, models=models)
    assert [len(texts) for texts in requests] == [30]


def test_documents_are_taken_a_few_at_a_time(store: Store, models: Models) -> None:
    stored = []

    def documents() -> Any:
        for n in range(100):
            assert n - len(stored) <= MOST_FILES, "no more than those of a unit are held"
            yield Document(text=f"Document number {n}.", id_=f"d{n}")

    def progress(step: Progress) -> None:
        if step.stage == "store":
            stored[:] = range(step.done)

    parsers = {"fixed": get_parser("fixed")}
    ingest_documents(documents(), parsers, store, models=models, progress=progress)
    assert len(stored) == 100


def test_documents_without_metadata_are_recognised_by_their_text(
    store: Store, models: Models, embedding: Any
) -> None:
    parsers = {"fixed": get_parser("fixed", include_metadata=False)}
    document = Document(text="A text from somewhere.", id_="one")
    ingest_documents([document], parsers, store, models=models)
    embedded = list(embedding.texts)
    again = ingest_documents([document], parsers, store, models=models)
    assert embedding.texts == embedded == ["A text from somewhere."]
    assert again.columns[0].unchanged == 1
    assert document.metadata == {}, "the caller's document is not touched"


def test_every_stage_reports_progress_up_to_its_end(
    manual: Path, parsers: Parsers, store: Store, models: Models
) -> None:
    steps: list[Progress] = []
    report = ingest([manual], parsers, store, models=models, progress=steps.append)
    assert steps[0] == Progress("read", "manual.md", 1, 1)
    for column in report.columns:
        own = {step.stage: step for step in steps if step.name == column.parser}
        assert own["parse"].done == column.chunks
        assert own["embed"].done == own["embed"].total == column.written
        assert own["store"].done == own["store"].total == column.written


def test_equal_parsers_under_two_names_are_refused(
    manual: Path, store: Store, models: Models
) -> None:
    twins = {"one": get_parser("fixed"), "two": get_parser("fixed")}
    with pytest.raises(ConfigurationError, match="'one' and 'two' have the same configuration"):
        ingest([manual], twins, store, models=models)
    with pytest.raises(ConfigurationError, match="at least one parser"):
        ingest([manual], {}, store, models=models)


def test_parsers_wait_for_a_server_side_by_side(
    manual: Path, parsers: Parsers, store: Store, models: Models, embedding: Any
) -> None:
    together = threading.Barrier(len(parsers), timeout=60)
    embedding.fail(lambda _texts: together.wait())
    served = replace(models, offline=False)
    report = ingest([manual], parsers, store, models=served)
    assert [column.error for column in report.columns] == [None, None]


def test_one_failing_parser_never_stops_the_others(
    manual: Path,
    tmp_path: Path,
    parsers: Parsers,
    store: Store,
    models: Models,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spans = FixedSizeNodeParser.spans

    def fail_once(self: FixedSizeNodeParser, source: Any) -> Any:
        if "machine" in source.text:
            raise ZeroDivisionError("a bug in a parser")
        return spans(self, source)

    monkeypatch.setattr(FixedSizeNodeParser, "spans", fail_once)
    other = tmp_path / "other.txt"
    other.write_text("Something else entirely.")
    report = ingest([manual, other], parsers, store, models=models)
    fixed, heading = report.columns
    assert fixed.error == "manual.md: ZeroDivisionError"
    assert fixed.chunks == 1, "the other document went through"
    assert heading.error is None
    assert [file.status for file in report.files] == ["incomplete", "read"]
    assert report.files[0].columns["fixed"].lack == "nothing stored"
