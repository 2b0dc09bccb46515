"""Loading: of added documents alone, and cancelled at any stage with nothing lost."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hostile_parsers import HangingNodeParser
from openai_server import Fault, OpenAIServer
from visits import QUESTION, answers, choose, write_text

from rag_nodes.apps.panes.top import documents_html
from rag_nodes.apps.visitors import loading as loading_module
from rag_nodes.apps.visitors.questions import labelled
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.core.errors import CancelledError, ConfigurationError, StoreError
from rag_nodes.core.metadata import TOKEN_COUNT
from rag_nodes.core.processes import Interrupt
from rag_nodes.core.settings import Settings
from rag_nodes.embedding import Progress
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.readers import ReadResult, read_all
from rag_nodes.store import Store, open_store
from rag_nodes.text.spans import Span

CORPUS = Path(__file__).parents[3] / "examples" / "corpus"
TWO = ("fixed", "heading")
KEY = "sk-any"
STAGES = ("read", "parse", "embed", "store")


@pytest.fixture(autouse=True)
def _two(session: PageSession) -> None:
    choose(session, *TWO)


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> list[Store]:
    """Every store a session has opened."""
    opened: list[Store] = []

    def open_and_note(place: str, *about: Any) -> Store:
        opened.append(open_store(place, *about))
        return opened[-1]

    monkeypatch.setattr("rag_nodes.operations.workspace.opening.open_store", open_and_note)
    return opened


def _cancelling(session: PageSession, stage: str) -> Callable[[Progress], None]:
    """Progress that cancels as soon as a stage is reached."""
    return lambda step: session.cancel() if step.stage == stage else None


def _worker_ended() -> None:
    """Wait until what nobody waits for has come to its end."""
    for thread in threading.enumerate():
        if thread.name == "job":
            thread.join(timeout=60)
            assert not thread.is_alive()


def _is_closed(store: Store) -> bool:
    try:
        store.collections()
    except (StoreError, RuntimeError):
        return True
    return False


def test_an_added_document_alone_is_read_split_and_embedded(
    session: PageSession, red: Path, blue: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def count_and_read(paths: list[Path], **options: Any) -> Iterator[ReadResult]:
        read.extend(paths)
        return read_all(paths, **options)

    monkeypatch.setattr("rag_nodes.readers.read_all", count_and_read)
    session.load([red])
    assert read == [red]
    steps: list[Progress] = []
    report = session.load([red, blue], steps.append)
    assert read == [red, blue]
    for column in report.columns:
        assert (column.written, column.unchanged, column.chunks) == (1, 1, 2)
        assert column.tokens == sum(
            int(node.metadata[TOKEN_COUNT])
            for document in session.documents
            for node in session.cuts.nodes(column.parser, document.id_)  # type: ignore[union-attr]
        )
    text = answers(session)
    assert "red" in text
    assert "blue" in text
    red.unlink()  # an upload may be gone by then: the text is kept
    assert "red" not in {row.name for row in session.load([blue]).files}
    assert "red" not in answers(session)
    assert read == [red, blue]


def test_added_documents_leave_the_conversation_and_removed_ones_take_their_questions_along(
    session: PageSession, red: Path, blue: Path
) -> None:
    session.load([red])
    session.talk.ask(QUESTION)
    session.load([red, blue])
    assert len(session.turns) == 1
    for number, document in enumerate(session.documents):
        passage = Passage(document.id_, Span(10, 20))
        session.questions.mark(passage)
        asked = labelled(f"question {number}", ((passage,),))
        session.questions.add([asked], session.documents)
    session.load([blue])
    dataset = session.questions.dataset
    assert dataset is not None
    assert [question.text for question in dataset.questions] == ["question 1"]
    assert dataset.documents == session.documents
    assert session.questions.marked == ()
    assert session.turns == ()


@pytest.mark.parametrize("stage", STAGES)
def test_cancelled_at_any_stage_the_document_before_still_answers_and_the_next_one_loads(
    session: PageSession, red: Path, blue: Path, stores: list[Store], stage: str
) -> None:
    session.load([red])
    session.talk.ask(QUESTION)
    with pytest.raises(CancelledError, match="add the documents again"):
        session.load([blue], _cancelling(session, stage))
    _worker_ended()
    assert not session.loading
    assert session.paths == (red,)
    assert len(session.turns) == 1
    assert "red" in answers(session)
    assert [_is_closed(store) for store in stores[1:]] == [True] * (len(stores) - 1)
    session.load([blue])
    assert "blue" in answers(session)


@pytest.mark.parametrize("stage", STAGES)
def test_a_first_document_that_is_cancelled_leaves_an_empty_session(
    session: PageSession, red: Path, stores: list[Store], stage: str
) -> None:
    with pytest.raises(CancelledError):
        session.load([red], _cancelling(session, stage))
    _worker_ended()
    assert not session.ready
    assert session.report is None
    assert all(map(_is_closed, stores))
    with pytest.raises(ConfigurationError, match="add one first"):
        session.load([])


def test_other_options_that_are_cancelled_leave_the_ones_before(
    session: PageSession, red: Path
) -> None:
    session.load([red])
    before = session.comparison
    choose(session, "fixed", options={"fixed": {"chunk_size": 500}})
    with pytest.raises(CancelledError):
        session.load([], _cancelling(session, "embed"))
    assert session.comparison is before
    assert "red" in answers(session)
    session.load([])
    assert session.comparison is not None
    assert session.comparison.index is not None
    assert [collection.name for collection in session.comparison.index.store.collections()] == [
        session.comparison.statistics["fixed"].collection
    ]


def test_cancelling_waits_for_no_model_and_asks_it_nothing_more(
    session: PageSession, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    sentences = " ".join(f"The machine number {number} is red." for number in range(350))
    document = write_text(tmp_path / "long.md", sentences)
    choose(session, "semantic", key=KEY)
    session.load([write_text(tmp_path / "short.md", "The machine is red.")])
    before = len(openai_server.asked("embeddings"))
    openai_server.fail(Fault(body="slow"))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(session.load, [document])
        openai_server.wait_for("embeddings", before + 1)
        session.cancel()
        with pytest.raises(CancelledError):  # while the server still holds the request
            running.result(timeout=60)
    assert session.ready
    openai_server.release()
    _worker_ended()
    assert len(openai_server.asked("embeddings")) == before + 1


def test_cancelling_kills_the_process_that_reads(
    session: PageSession, red: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[bool] = []

    class Cancelling(Interrupt):
        """Cancels as soon as a process has begun to read."""

        @contextmanager
        def killing(self, kill: Callable[[], None]) -> Iterator[None]:
            def kill_and_note() -> None:
                kill()
                killed.append(True)

            with super().killing(kill_and_note):
                session.cancel()
                yield

    session.load([red])
    monkeypatch.setattr("rag_nodes.apps.visitors.jobs.Interrupt", Cancelling)
    with pytest.raises(CancelledError):
        session.load([CORPUS / "handbook.pdf"])
    _worker_ended()
    assert killed == [True]
    assert "red" in answers(session)


def ask_while_loading(session: PageSession, path: Path, server: OpenAIServer) -> Any:
    """Return the job of a question that waits for a document whose embedding is slow."""
    choose(session, "fixed", key=KEY)
    server.fail(Fault(body="slow"))
    session.start_loading([path])
    server.wait_for("embeddings")
    return session.talk.start(QUESTION)


def test_a_question_sent_while_documents_are_loaded_waits_for_them(
    session: PageSession, red: Path, openai_server: OpenAIServer
) -> None:
    job = ask_while_loading(session, red, openai_server)
    assert session.turns == ()
    openai_server.release()
    job.result()
    assert [turn.error for turn in session.turns] == [None]


def test_a_question_that_waits_is_asked_of_the_documents_that_took_over(
    session: PageSession, red: Path, blue: Path, openai_server: OpenAIServer
) -> None:
    job = ask_while_loading(session, red, openai_server)
    session.load([blue])
    job.result()
    openai_server.release()
    [turn] = session.turns
    assert "blue" in str(turn.columns[0].answer)


def test_a_question_is_not_answered_if_what_it_waits_for_is_cancelled(
    session: PageSession, red: Path, openai_server: OpenAIServer
) -> None:
    job = ask_while_loading(session, red, openai_server)
    session.cancel()
    openai_server.release()
    with suppress(CancelledError):
        job.result()
    assert [bool(turn.error) for turn in session.turns] == [True]


def test_a_failed_loading_is_over_and_says_so_to_whoever_looks_later(
    session: PageSession, red: Path
) -> None:
    choose(session, "fixed", options={"fixed": {"chunk_size": 100}})
    with pytest.raises(ConfigurationError):
        session.load([red])
    assert not session.loading
    assert "must be smaller" in documents_html(session)


def test_a_visitor_who_leaves_ends_what_is_being_loaded(
    settings: Settings, red: Path, stores: list[Store]
) -> None:
    session = PageSession(settings)
    choose(session, *TWO)

    def leave(step: Progress) -> None:
        if step.stage == "parse":
            session.close()

    with pytest.raises(CancelledError):
        session.load([red], leave)
    _worker_ended()
    assert not session.ready
    assert all(map(_is_closed, stores))


def test_a_later_load_cancels_the_one_before(session: PageSession, red: Path, blue: Path) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def wait(_: Progress) -> None:
        reached.set()
        assert go_on.wait(timeout=60)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(session.load, [red], wait)
        assert reached.wait(timeout=60)
        session.load([blue])
        go_on.set()
        with pytest.raises(CancelledError):
            running.result(timeout=60)
    _worker_ended()
    assert "blue" in answers(session)


def test_cancelling_when_nothing_is_loaded_or_all_is_done_changes_nothing(
    session: PageSession, red: Path
) -> None:
    session.cancel()
    session.load([red])
    session.cancel()
    assert "red" in answers(session)


def test_a_failure_of_the_loading_thread_reaches_the_caller(
    session: PageSession, red: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("in another thread")

    monkeypatch.setattr(loading_module, "read_documents", fail)
    with pytest.raises(ZeroDivisionError, match="in another thread"):
        session.load([red])


def test_cancelling_ends_a_parser_that_works(
    session: PageSession, red: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = HangingNodeParser()
    monkeypatch.setattr("rag_nodes.operations.run.make_offered", lambda *_: {"fixed": parser})
    choose(session, "fixed")
    with ThreadPoolExecutor(1) as threads:
        loading = threads.submit(session.load, [red])
        parser.wait_until_started()
        session.cancel()
        with pytest.raises(CancelledError):
            loading.result(60)
    parser.wait_until_cancelled()
    _worker_ended()
    assert not session.ready
