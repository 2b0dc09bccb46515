"""Documents of strangers are cut in a process that can be ended; the nodes are the same."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hostile_parsers import (
    DyingNodeParser,
    FailingNodeParser,
    HangingNodeParser,
    RefusingNodeParser,
    is_running,
    wait_for,
)
from llama_index.core import MockEmbedding
from llama_index.core.schema import BaseNode, Document

from rag_nodes.errors import (
    CancelledError,
    ConfigurationError,
    ParseError,
    ParserCrashedError,
    ParseTimeoutError,
)
from rag_nodes.parsers import (
    PRESETS,
    ForeignNodeParser,
    SemanticNodeParser,
    SpanNodeParser,
    as_parser,
    get_parser,
)
from rag_nodes.parsers import isolation as isolated
from rag_nodes.parsers.isolation import AT_ONCE, IsolatedCutting, cutting
from rag_nodes.processes import BackgroundThread, Child, Interrupt, interruptible

MANUAL = Path(__file__).parents[2] / "examples" / "corpus" / "manual.md"
PATIENCE = 60
DOCUMENT = Document(text="The pump hums. " * 50, id_="a", metadata={"file_name": "pump.md"})


@pytest.fixture
def pool() -> Iterator[IsolatedCutting]:
    made = IsolatedCutting()
    yield made
    made.close()


def test_the_nodes_of_every_preset_are_those_of_the_parser_itself() -> None:
    document = Document(
        text=MANUAL.read_text(encoding="utf-8"),
        id_="manual",
        metadata={"file_name": "manual.md", "title": "A \ud800 manual"},
        excluded_embed_metadata_keys=["file_name"],
    )
    for name in PRESETS:
        parser = get_parser(name)
        here, there = parser([document]), cutting.cut(parser, document, PATIENCE)
        assert [node.to_dict() for node in there] == [node.to_dict() for node in here], name


def test_cutting_that_never_ends_is_ended_with_a_remedy() -> None:
    with pytest.raises(ParseTimeoutError, match=r"pump\.md: .* longer than 0\.1 s; choose"):
        cutting.cut(HangingNodeParser(), DOCUMENT, 0.1)


def test_a_process_that_dies_is_an_error_of_that_document_alone() -> None:
    with pytest.raises(ParserCrashedError, match=r"pump\.md: .*exit code 7"):
        cutting.cut(DyingNodeParser(), DOCUMENT, PATIENCE)
    assert cutting.cut(get_parser("fixed"), DOCUMENT, PATIENCE)


def test_errors_of_parsers_arrive_as_they_were_and_others_typed() -> None:
    with pytest.raises(ConfigurationError, match="750 characters are refused"):
        cutting.cut(RefusingNodeParser(), DOCUMENT, PATIENCE)
    with pytest.raises(ParseError, match=r"^LookupError; choose another parser"):
        cutting.cut(FailingNodeParser(), DOCUMENT, PATIENCE)


def test_whoever_no_longer_waits_ends_the_process_or_leaves_before_it_is_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated, "AT_ONCE", 1)
    pool, note = IsolatedCutting(), tmp_path / "process"
    hanging, leaving = Interrupt(), Interrupt()
    with interruptible(hanging):
        first = pool.within(PATIENCE)  # as the threads of an ingest call it
    with interruptible(leaving):
        second = pool.within(PATIENCE)
    with ThreadPoolExecutor(2) as threads:
        one = threads.submit(first, HangingNodeParser(note=str(note)), DOCUMENT)
        process = wait_for(note)
        two = threads.submit(second, get_parser("fixed"), DOCUMENT)
        leaving.set()
        with pytest.raises(CancelledError):
            two.result(PATIENCE)
        assert is_running(process)
        hanging.set()
        with pytest.raises(CancelledError, match=r"pump\.md"):
            one.result(PATIENCE)
    assert not is_running(process)


def test_parsers_side_by_side_keep_their_processes_for_the_next_document(
    pool: IsolatedCutting, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    start = Child.__init__

    def note(child: Child, module: str) -> None:
        started.append(module)
        start(child, module)

    monkeypatch.setattr(Child, "__init__", note)
    parser = get_parser("fixed")
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for _ in range(3):
            list(threads.map(lambda _: pool.cut(parser, DOCUMENT, PATIENCE), range(2 * AT_ONCE)))
    assert 0 < len(started) <= AT_ONCE


def test_longer_documents_get_more_time() -> None:
    seen: list[float] = []

    class Noted(BackgroundThread):
        def start(self) -> None:
            seen.append(self._delay)
            super().start()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rag_nodes.processes.children.BackgroundThread", Noted)
        cutting.cut(get_parser("fixed"), Document(text="a b " * 750_000), 20)
    assert 40 < seen[1] <= 60, "the first is of its start"


def test_what_was_given_an_object_cuts_in_this_process_and_what_is_named_by_path_in_another(
    pool: IsolatedCutting,
) -> None:
    model = MockEmbedding(embed_dim=4)
    headings = get_parser("heading", long_sections="semantic", sentence_model=model)
    for parser in (SemanticNodeParser(embed_model=model), headings, as_parser(str.splitlines)):
        assert pool.cut(parser, DOCUMENT, PATIENCE)
    assert pool._children._idle == []
    path = "llama_index.core.node_parser:SentenceSplitter(chunk_size=64,chunk_overlap=0)"
    assert len(cutting.cut(ForeignNodeParser(path=path), DOCUMENT, PATIENCE)) > 1
    assert len(cutting._children._idle) == 1


def test_warming_up_cuts_once_and_waits_for_nothing(
    pool: IsolatedCutting, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, go_on = threading.Semaphore(0), threading.Event()

    def slow(parser: SpanNodeParser, *_: Any, **__: Any) -> list[BaseNode]:
        assert parser.is_plain, "so it is cut in another process"
        started.release()
        assert go_on.wait(PATIENCE)
        return []

    monkeypatch.setattr(pool, "cut", slow)
    pool.warm_up()
    pool.warm_up()
    assert started.acquire(timeout=PATIENCE)
    go_on.set()
    for thread in threading.enumerate():
        if thread.name == "warming up":
            thread.join(PATIENCE)
    assert not started.acquire(blocking=False)
