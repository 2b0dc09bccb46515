"""One visitor's work: loading, asking, starting over, and leaving nothing behind."""

import threading
from pathlib import Path

import pytest
from counting_models import CountingEmbedding
from openai_server import UNAUTHORIZED, Fault, OpenAIServer
from pydantic import SecretStr
from visits import QUESTION, answers, ignore, written

from rag_nodes.apps.tabs.compare.events import history
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.apps.visitors.turns import MOST_TURNS
from rag_nodes.core.errors import (
    ConfigurationError,
    CredentialsError,
    SessionEndedError,
    StoreError,
)
from rag_nodes.core.settings import Settings
from rag_nodes.embedding import Progress
from rag_nodes.store import Store, open_store

TWO = Choice(("fixed", "heading"))


def test_a_loaded_document_is_answered_from_by_every_parser(
    session: PageSession, red: Path
) -> None:
    steps: list[Progress] = []
    report = session.load([red], TWO, steps.append)
    turn = session.ask(QUESTION)
    assert [column.parser for column in report.columns] == ["fixed", "heading"]
    assert {step.stage for step in steps} == {"read", "parse", "embed", "store"}
    assert turn.report is not None
    assert [column.name for column in turn.report.columns] == ["fixed", "heading"]
    assert "red" in answers(session)


def test_another_document_starts_over(session: PageSession, red: Path, blue: Path) -> None:
    session.load([red], TWO, ignore)
    session.ask(QUESTION)
    session.load([blue], TWO, ignore)
    assert session.turns == []
    said = answers(session)
    assert "blue" in said
    assert "red" not in said


def test_other_options_keep_the_history_and_drop_the_chunks_left_behind(
    session: PageSession, red: Path
) -> None:
    session.load([red], TWO, ignore)
    session.ask(QUESTION)
    red.unlink()  # an upload may be gone by then: the text is kept
    changed = Choice(("fixed", "heading"), options={"fixed": {"chunk_size": 500}})
    report = session.load([], changed, ignore)
    assert len(session.turns) == 1
    assert [column.written for column in report.columns] == [1, 0]
    assert session._index is not None
    assert len(session._index.store.collections()) == 2


def test_a_paid_model_is_asked_for_no_text_of_a_session_twice(
    settings: Settings, red: Path, blue: Path
) -> None:
    model = CountingEmbedding()
    with PageSession(settings, embed_model=model) as session:
        for paths, parsers in (
            ([red], TWO.parsers[:1]),
            ([], TWO.parsers),
            ([red, blue], TWO.parsers),
        ):
            session.load(paths, Choice(parsers), ignore)
        assert "blue" in answers(session)
    assert len(model.texts) == len(set(model.texts))


def test_a_bad_file_is_a_row_with_its_reason_and_without_its_folder(
    session: PageSession, red: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "broken.pdf"
    bad.write_bytes(b"%PDF-1.7 nothing")
    report = session.load([bad, red], TWO, ignore)
    assert [outcome.status for outcome in report.files] == ["failed", "read"]
    assert report.files[0].error
    assert str(tmp_path) not in report.files[0].error
    assert session.ready


def test_with_nothing_readable_there_is_nothing_to_ask(
    session: PageSession, tmp_path: Path
) -> None:
    report = session.load([written(tmp_path / "empty.txt", " ")], TWO, ignore)
    assert len(report.failed) == 1
    assert not session.ready
    assert "upload" in (session.ask(QUESTION).error or "")


@pytest.mark.parametrize(
    ("choice", "remedy"),
    [
        (Choice(()), "tick at least one"),
        (Choice(("fixed",), options={"fixed": {"chunk_size": 100}}), "must be smaller"),
    ],
)
def test_a_refused_choice_leaves_the_loaded_document_as_it_was(
    session: PageSession, red: Path, blue: Path, choice: Choice, remedy: str
) -> None:
    session.load([red], TWO, ignore)
    with pytest.raises(ConfigurationError, match=remedy):
        session.load([blue], choice, ignore)
    assert "red" in answers(session)


def test_a_typed_key_and_models_answer_with_the_server_that_the_operator_set(
    session: PageSession, red: Path
) -> None:
    choice = Choice(
        ("fixed", "semantic"),
        api_key=SecretStr("any"),
        embedding_model="house-embedding",
        llm_model="house-chat",
    )
    report = session.load([red], choice, ignore)
    turn = session.ask(QUESTION)
    assert "house-chat" in report.models
    assert turn.report is not None
    assert turn.scale is not None
    assert turn.scale.relative
    for column in turn.report.columns:
        assert column.answer is not None
        assert column.answer.kind == "generated"
        assert column.answer.citations


def test_a_refused_key_is_said_before_anything_is_read(
    session: PageSession, red: Path, openai_server: OpenAIServer
) -> None:
    openai_server.fail(UNAUTHORIZED, times=5)
    choice = Choice(("fixed",), api_key=SecretStr("canary-71"))
    steps: list[Progress] = []
    with pytest.raises(CredentialsError) as caught:
        session.load([red], choice, steps.append)
    assert steps == []
    assert "canary" not in str(caught.value)


def test_a_model_that_fails_while_answering_is_a_turn_with_its_reason(
    session: PageSession, red: Path, openai_server: OpenAIServer
) -> None:
    choice = Choice(("fixed",), api_key=SecretStr("any"))
    session.load([red], choice, ignore)
    openai_server.fail(UNAUTHORIZED, times=5)
    turn = session.ask(QUESTION)
    assert turn.report is not None
    assert ["key was refused" in (column.error or "") for column in turn.report.columns] == [True]


def test_answers_grow_column_by_column_and_end_as_a_turn(session: PageSession, red: Path) -> None:
    session.load([red], Choice(("fixed", "heading")), ignore)
    looks = list(session.stream(QUESTION))
    assert [one.name for one in looks[0]] == ["fixed", "heading"]
    assert all(one.ended and one.found and "red" in one.text for one in looks[-1])
    assert [turn.question for turn in session.turns] == [QUESTION]


def test_answers_go_on_when_nobody_reads_and_are_read_again(
    session: PageSession, red: Path, openai_server: OpenAIServer
) -> None:
    session.load([red], _served(), ignore)
    openai_server.fail(Fault(body="slow"))
    looking = session.stream(QUESTION)
    next(looking)
    looking.close()
    openai_server.wait_for("chat/completions")
    assert session.working
    with pytest.raises(ConfigurationError, match="stop them"):  # nor does a second one wait
        next(session.stream("And the other one?", follow_up=True))
    again = session.looks()
    next(again)
    openai_server.release()
    assert all(one.ended for one in list(again)[-1])
    assert [turn.question for turn in session.turns] == [QUESTION]
    assert session.ask(QUESTION).report is not None


def test_chunks_only_are_shown_without_an_answer(session: PageSession, red: Path) -> None:
    session.load([red], Choice(("fixed",), retrieval_only=True), ignore)
    report = session.ask(QUESTION).report
    assert report is not None
    assert [(one.answer.kind, bool(one.answer.hits)) for one in report.columns if one.answer] == [
        ("retrieval", True)
    ]


def test_only_the_latest_turns_stay_and_their_numbers_are_never_used_again(
    session: PageSession,
) -> None:
    for _ in range(MOST_TURNS + 3):
        session.ask(QUESTION)
    assert [session.turns[0].number, session.turns[-1].number] == [4, MOST_TURNS + 3]


def test_a_visitor_who_leaves_is_forgotten(settings: Settings, red: Path) -> None:
    sessions = PageSessions(settings)
    first = sessions.of("a")
    first.load([red], TWO, ignore)
    sessions.end("a")
    assert len(sessions) == 0
    assert first._store is None
    assert not sessions.of("a").ready


def test_beyond_the_most_the_one_idle_longest_goes(settings: Settings) -> None:
    sessions = PageSessions(settings, most=2)
    first, second = sessions.of("a"), sessions.of("b")
    assert sessions.of("a") is first
    sessions.of("c")
    assert sessions.of("a") is first
    assert sessions.of("b") is not second


def test_a_visitor_is_forgotten_even_when_nobody_else_comes(settings: Settings) -> None:
    now, ended = [0.0], threading.Event()
    sessions = PageSessions(settings, idle_seconds=0.01, clock=lambda: now[0])
    visitor = sessions.of("a")
    visitor.close = ended.set  # type: ignore[method-assign]
    now[0] = 1.0
    assert ended.wait(30)
    assert len(sessions) == 0


def test_what_is_loaded_for_a_session_that_has_ended_is_not_held(
    session: PageSession, red: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Store] = []
    monkeypatch.setattr(
        "rag_nodes.query.documents.open_store", lambda: opened.append(open_store()) or opened[-1]
    )
    session.close()
    with pytest.raises(SessionEndedError, match="bring your documents again"):
        session.start_loading([red], TWO).result()
    assert (session.documents, session.comparison, session.paths) == ((), None, ())
    (store,) = opened
    with pytest.raises(StoreError):
        store.collections()


def test_nothing_waits_for_visitors_who_have_left(settings: Settings) -> None:
    sessions = PageSessions(settings)
    sessions.of("a")
    sessions.of("b")
    sessions.end("a")
    assert sessions._timer is not None
    timer = sessions._timer
    sessions.end("b")
    timer.join(timeout=30)
    assert not timer.is_alive()


def test_whoever_only_asks_for_sessions_costs_nobody_their_documents(
    settings: Settings, red: Path
) -> None:
    sessions = PageSessions(settings, most=3)
    first = sessions.of("a")
    first.load([red], TWO, ignore)
    for number in range(10):
        sessions.of(f"empty {number}")
    assert len(sessions) == 3
    assert sessions.of("a") is first
    assert first.ready


def test_clearing_waits_for_no_answer(
    session: PageSession, red: Path, openai_server: OpenAIServer
) -> None:
    session.load([red], _served(), ignore)
    session.ask(QUESTION)
    openai_server.fail(Fault(body="slow"))
    answering = session.stream(QUESTION)
    next(answering)
    session.clear()
    assert session.turns == []
    openai_server.release()
    for _ in answering:
        pass
    assert [turn.number for turn in session.turns] == [2]


def test_a_session_ends_while_a_model_condenses_a_follow_up(
    session: PageSession, red: Path, openai_server: OpenAIServer
) -> None:
    session.load([red], _served(), ignore)
    session.ask(QUESTION)
    asked = len(openai_server.asked("chat/completions"))
    openai_server.fail(Fault(body="slow"))
    answering = session.stream("And the other one?", follow_up=True)
    next(answering)
    openai_server.wait_for("chat/completions", asked + 1)
    session.close()  # while the server holds the request
    with pytest.raises(SessionEndedError, match="bring your documents"):
        list(answering)


def test_a_request_without_a_session_is_refused(settings: Settings) -> None:
    with pytest.raises(ConfigurationError, match="reload"):
        PageSessions(settings).of(None)


def test_chunks_that_were_cut_inside_a_word_say_so_and_whole_sentences_do_not(
    session: PageSession, tmp_path: Path
) -> None:
    red = written(tmp_path / "long.md", "The machine is red and needs oil on any day. " * 100)
    session.load([red], Choice(("fixed", "sentence")), ignore)
    turn = session.turns[-1] if session.ask(QUESTION) else None
    assert turn
    torn = {
        column.name: [side for hit in column.answer.hits for side in turn.edges[hit.node.node_id]]
        for column in (turn.report.columns if turn.report else ())
        if column.answer
    }
    assert "word" in torn["fixed"]
    assert set(torn["sentence"]) == {None}
    html = history([turn], ready=True)
    fixed, sentence = html.split("<article")[1:]
    assert "inside a word</span>" in fixed
    assert 'class="rn-tear"' in fixed
    assert "inside a" not in sentence


def _served() -> Choice:
    return Choice(("fixed",), api_key=SecretStr("any"))
