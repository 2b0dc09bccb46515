"""Loading that is cancelled: at once, at any stage, with nothing left behind and nothing lost."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from hostile_parsers import HangingNodeParser
from openai_server import Fault, OpenAIServer
from pydantic import SecretStr
from visits import QUESTION, answers, ignore, written

from rag_nodes.apps.header.loading import Follower, LoadingEvents
from rag_nodes.apps.visitors import session as session_module
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.core.errors import CancelledError, ConfigurationError, StoreError
from rag_nodes.core.processes import Interrupt
from rag_nodes.core.settings import Settings
from rag_nodes.embedding import Progress
from rag_nodes.store import Store, open_store

CORPUS = Path(__file__).parents[3] / "examples" / "corpus"
TWO = Choice(("fixed", "heading"))
STAGES = ("read", "parse", "embed", "store")


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch) -> list[Store]:
    """Every store a session has opened."""
    opened: list[Store] = []

    def open_and_note(place: str, *about: Any) -> Store:
        opened.append(open_store(place, *about))
        return opened[-1]

    monkeypatch.setattr("rag_nodes.operations.workspace.session.open_store", open_and_note)
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


def _served(*parsers: str) -> Choice:
    return Choice(parsers, api_key=SecretStr("any"))


@pytest.mark.parametrize("stage", STAGES)
def test_cancelled_at_any_stage_the_document_before_still_answers_and_the_next_one_loads(
    session: PageSession, red: Path, blue: Path, stores: list[Store], stage: str
) -> None:
    session.load([red], TWO, ignore)
    session.ask(QUESTION)
    with pytest.raises(CancelledError, match="upload"):
        session.load([blue], TWO, _cancelling(session, stage))
    _worker_ended()
    assert not session.loading
    assert session.paths == (red,)
    assert len(session.turns) == 1
    assert "red" in answers(session)
    assert [_is_closed(store) for store in stores[1:]] == [True] * (len(stores) - 1)
    session.load([blue], TWO, ignore)
    assert "blue" in answers(session)


@pytest.mark.parametrize("stage", STAGES)
def test_a_first_document_that_is_cancelled_leaves_an_empty_session(
    session: PageSession, red: Path, stores: list[Store], stage: str
) -> None:
    with pytest.raises(CancelledError):
        session.load([red], TWO, _cancelling(session, stage))
    _worker_ended()
    assert not session.ready
    assert session.report is None
    assert all(map(_is_closed, stores))
    with pytest.raises(ConfigurationError, match="upload one first"):
        session.load([], TWO, ignore)


def test_other_options_that_are_cancelled_leave_the_ones_before(
    session: PageSession, red: Path
) -> None:
    session.load([red], TWO, ignore)
    before = session.comparison
    changed = Choice(("fixed",), options={"fixed": {"chunk_size": 500}})
    with pytest.raises(CancelledError):
        session.load([], changed, _cancelling(session, "embed"))
    assert session.comparison is before
    assert "red" in answers(session)
    session.load([], changed, ignore)
    assert session.comparison is not None
    assert session.comparison.index is not None
    assert [one.name for one in session.comparison.index.store.collections()] == [
        session.comparison.statistics["fixed"].collection
    ]


def test_cancelling_waits_for_no_model_and_asks_it_nothing_more(
    session: PageSession, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    sentences = " ".join(f"The machine number {number} is red." for number in range(350))
    document = written(tmp_path / "long.md", sentences)
    choice = _served("semantic")
    session.load([written(tmp_path / "short.md", "The machine is red.")], choice, ignore)
    before = len(openai_server.asked("embeddings"))
    openai_server.fail(Fault(body="slow"))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(session.load, [document], choice, ignore)
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

    session.load([red], TWO, ignore)
    monkeypatch.setattr("rag_nodes.apps.visitors.jobs.Interrupt", Cancelling)
    with pytest.raises(CancelledError):
        session.load([CORPUS / "handbook.pdf"], TWO, ignore)
    _worker_ended()
    assert killed == [True]
    assert "red" in answers(session)


def _events(sessions: PageSessions, choice: Choice, example: Path) -> tuple[LoadingEvents, Any]:
    """Events of a page whose controls are set to a choice, and a visitor's request."""
    controls = SimpleNamespace(choice=lambda _: choice, inputs=[])
    header: Any = SimpleNamespace(controls=controls, status=None, process=None, cancel=None)
    nobody: Any = Follower([], None, tuple, lambda _: ())
    return LoadingEvents(sessions, header, nobody, example), SimpleNamespace(session_hash="a")


def test_loading_goes_on_when_nobody_looks_and_is_looked_at_again(
    settings: Settings, red: Path, openai_server: OpenAIServer
) -> None:
    sessions, choice = PageSessions(settings), _served("fixed")
    events, request = _events(sessions, choice, red)
    openai_server.fail(Fault(body="slow"))
    looking = events.process_example(request)
    next(looking)
    openai_server.wait_for("embeddings")
    looking.close()  # returns while the server holds the request
    assert sessions.of("a").loading
    assert sessions.of("a").working
    looking = events.look(request)
    assert "Processing" in next(looking)[0]
    openai_server.release()
    assert "Ready" in [panel for panel, *_ in looking][-1]
    assert sessions.of("a").ready
    sessions.close()


def test_a_question_sent_while_documents_are_loaded_waits_for_them(
    settings: Settings, red: Path, openai_server: OpenAIServer
) -> None:
    sessions, choice = PageSessions(settings), _served("fixed")
    events, request = _events(sessions, choice, red)
    openai_server.fail(Fault(body="slow"))
    session = sessions.of("a")
    session.start_loading([red], choice)
    openai_server.wait_for("embeddings")
    before_it_is_asked = events.apply(request)
    assert "Processing" in next(before_it_is_asked)[0]
    openai_server.release()
    list(before_it_is_asked)
    assert session.ready
    sessions.close()


@pytest.mark.parametrize("ready", [False, True], ids=["at first", "with changed settings"])
def test_a_question_that_waits_is_asked_of_the_documents_that_took_over(
    settings: Settings, red: Path, blue: Path, openai_server: OpenAIServer, *, ready: bool
) -> None:
    sessions = PageSessions(settings)
    session = sessions.of("a")
    if ready:
        session.load([red], Choice(("fixed",)))
    choice = _served("fixed")
    events, request = _events(sessions, choice, red)
    openai_server.fail(Fault(body="slow"))
    if not ready:
        session.start_loading([red], choice)
    before_it_is_asked = events.apply(request)
    assert "Processing" in next(before_it_is_asked)[0]
    openai_server.wait_for("embeddings")
    session.load([blue], choice)
    panels = [panel for panel, *_ in before_it_is_asked]
    assert any("blue.md" in str(one) for one in panels)
    assert not any("ancelled" in str(one) for one in panels)
    openai_server.release()
    sessions.close()


def test_a_question_is_not_asked_where_what_it_waits_for_is_cancelled_at_that_moment(
    settings: Settings, red: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions, choice = PageSessions(settings), _served("fixed")
    events, request = _events(sessions, choice, red)
    openai_server.fail(Fault(body="slow"))
    session = sessions.of("a")
    session.start_loading([red], choice)
    openai_server.wait_for("embeddings")
    look = LoadingEvents._look

    def cancel_and_look(self: LoadingEvents, session: PageSession, loading: Any) -> Any:
        session.cancel()
        return look(self, session, loading)

    monkeypatch.setattr(LoadingEvents, "_look", cancel_and_look)
    with pytest.raises(gr.Error, match="was not asked: cancelled"):
        list(events.apply(request))
    openai_server.release()
    sessions.close()


def test_a_page_that_looks_before_anything_is_loaded_changes_nothing_when_it_hears_of_that_late(
    settings: Settings, red: Path
) -> None:
    sessions = PageSessions(settings)
    events, request = _events(sessions, Choice(("fixed",)), red)
    looked = list(events.look(request))
    list(events.process_example(request))
    assert looked == [(gr.skip(),) * len(events.outputs)]
    assert "red.md" in str(list(events.look(request))[-1][0])


def test_what_was_changed_meanwhile_is_pointed_out_once_nothing_is_loaded_and_can_be_tried_again(
    settings: Settings, red: Path, openai_server: OpenAIServer
) -> None:
    sessions = PageSessions(settings)
    events, request = _events(sessions, Choice(()), red)  # which cannot be loaded
    session = sessions.of("a")
    session.load([red], Choice(("fixed",)))
    *_, failed = events.process_example(request)
    button, note = events.noted(request)
    assert failed[-2].value == "Try again"
    assert button.constructor_args == {"interactive": True, "variant": "primary"}
    assert "Settings have changed" in note
    openai_server.fail(Fault(body="slow"))
    session.start_loading([red], _served("fixed"))
    assert events.noted(request) == (gr.skip(), gr.skip())
    openai_server.release()
    sessions.close()


def test_a_failed_loading_is_over_and_says_so_to_whoever_looks_later(
    settings: Settings, red: Path
) -> None:
    sessions = PageSessions(settings)
    session = sessions.of("a")
    with pytest.raises(ConfigurationError):
        session.load([red], Choice(("fixed",), options={"fixed": {"chunk_size": 100}}))
    assert not session.working
    events, request = _events(sessions, Choice(()), red)
    ((panel, *_),) = list(events.look(request))
    assert "must be smaller" in panel


def test_a_visitor_who_leaves_ends_what_is_being_loaded(
    settings: Settings, red: Path, stores: list[Store]
) -> None:
    sessions = PageSessions(settings)
    session = sessions.of("a")

    def leave(step: Progress) -> None:
        if step.stage == "parse":
            sessions.end("a")

    with pytest.raises(CancelledError):
        session.load([red], TWO, leave)
    _worker_ended()
    assert not session.ready
    assert all(map(_is_closed, stores))


def test_what_is_loaded_later_takes_over(session: PageSession, red: Path, blue: Path) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def wait(_: Progress) -> None:
        reached.set()
        assert go_on.wait(timeout=60)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(session.load, [red], TWO, wait)
        assert reached.wait(timeout=60)
        session.load([blue], TWO, ignore)
        go_on.set()
        with pytest.raises(CancelledError):
            running.result(timeout=60)
    _worker_ended()
    assert "blue" in answers(session)


def test_cancelling_when_nothing_is_loaded_or_all_is_done_changes_nothing(
    session: PageSession, red: Path
) -> None:
    session.cancel()
    session.load([red], TWO, ignore)
    session.cancel()
    assert "red" in answers(session)


def test_a_failure_of_the_loading_thread_reaches_the_caller(
    session: PageSession, red: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("in another thread")

    monkeypatch.setattr(session_module, "read_documents", fail)
    with pytest.raises(ZeroDivisionError, match="in another thread"):
        session.load([red], TWO, ignore)


def test_cancelling_ends_a_parser_that_works(
    session: PageSession, red: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser = HangingNodeParser()
    monkeypatch.setattr(session_module, "make_parsers", lambda *_: {"fixed": parser})
    with ThreadPoolExecutor(1) as threads:
        loading = threads.submit(session.load, [red], Choice(("fixed",)), ignore)
        parser.wait_until_started()
        session.cancel()
        with pytest.raises(CancelledError):
            loading.result(60)
    parser.wait_until_cancelled()
    _worker_ended()
    assert not session.ready
