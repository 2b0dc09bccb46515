"""One visitor's work: loading, asking, starting over, and leaving nothing behind."""

import threading
from pathlib import Path

import pytest
from counting_models import CountingEmbedding
from openai_server import UNAUTHORIZED, Fault, OpenAIServer
from visits import QUESTION, answers, choose, write_text

from rag_nodes.apps.panes.answers import turn_view
from rag_nodes.apps.visitors.session import PageSession, key_of, sessions_of
from rag_nodes.apps.visitors.turns import MOST_TURNS
from rag_nodes.core.errors import (
    ConfigurationError,
    CredentialsError,
    SessionEndedError,
    StoreError,
)
from rag_nodes.core.settings import Settings
from rag_nodes.embedding import Progress
from rag_nodes.operations.workspace.sessions import Sessions
from rag_nodes.store import Store, open_store

TWO = ("fixed", "heading")
KEY = "sk-any"


def sessions(settings: Settings) -> Sessions[PageSession]:
    return sessions_of(settings, lambda *_: None)


@pytest.fixture
def loaded(session: PageSession, red: Path) -> PageSession:
    choose(session, *TWO)
    session.load([red])
    return session


@pytest.fixture
def served(session: PageSession, red: Path) -> PageSession:
    """A session whose answers a model server writes."""
    choose(session, "fixed", key=KEY)
    session.load([red])
    return session


def test_a_loaded_document_is_answered_from_by_every_parser(
    session: PageSession, red: Path
) -> None:
    steps: list[Progress] = []
    choose(session, *TWO)
    report = session.load([red], steps.append)
    turn = session.talk.ask(QUESTION)
    assert [column.parser for column in report.columns] == ["fixed", "heading"]
    assert {step.stage for step in steps} == {"read", "parse", "embed", "store"}
    assert [column.name for column in turn.columns] == ["fixed", "heading"]
    assert "red" in answers(session)


def test_another_document_starts_over(loaded: PageSession, blue: Path) -> None:
    loaded.talk.ask(QUESTION)
    loaded.load([blue])
    assert loaded.turns == ()
    text = answers(loaded)
    assert "blue" in text
    assert "red" not in text


def test_other_options_keep_the_turns_and_drop_the_chunks_left_behind(
    loaded: PageSession, red: Path
) -> None:
    loaded.talk.ask(QUESTION)
    red.unlink()  # an upload may be gone by then: the text is kept
    choose(loaded, *TWO, options={"fixed": {"chunk_size": 500}})
    report = loaded.load()
    assert len(loaded.turns) == 1
    assert [column.written for column in report.columns] == [1, 0]
    assert loaded._index is not None
    assert len(loaded._index.store.collections()) == 2


def test_a_paid_model_is_asked_for_no_text_of_a_session_twice(
    settings: Settings, red: Path, blue: Path
) -> None:
    model = CountingEmbedding()
    with PageSession(settings, embed_model=model) as session:
        for paths, parsers in (([red], TWO[:1]), ([], TWO), ([red, blue], TWO)):
            choose(session, *parsers)
            session.load(paths)
        assert "blue" in answers(session)
    assert len(model.texts) == len(set(model.texts))


def test_a_bad_file_is_a_row_with_its_reason_and_without_its_folder(
    session: PageSession, red: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "broken.pdf"
    bad.write_bytes(b"%PDF-1.7 nothing")
    report = session.load([bad, red])
    assert [outcome.status for outcome in report.files] == ["failed", "read"]
    assert report.files[0].error
    assert str(tmp_path) not in report.files[0].error
    assert session.ready


def test_with_nothing_readable_there_is_nothing_to_ask(
    session: PageSession, tmp_path: Path
) -> None:
    report = session.load([write_text(tmp_path / "empty.txt", " ")])
    assert len(report.failed) == 1
    assert not session.ready
    with pytest.raises(ConfigurationError, match="add one first"):
        session.talk.ask(QUESTION)


@pytest.mark.parametrize(
    ("parsers", "options", "remedy"),
    [((), {}, "tick at least one"), (("fixed",), {"fixed": {"chunk_size": 100}}, "smaller")],
)
def test_a_refused_choice_leaves_the_loaded_document_as_it_was(
    loaded: PageSession,
    blue: Path,
    parsers: tuple[str, ...],
    options: dict[str, dict[str, float]],
    remedy: str,
) -> None:
    choose(loaded, *parsers, options=options)
    with pytest.raises(ConfigurationError, match=remedy):
        loaded.load([blue])
    assert "red" in answers(loaded)


def test_a_typed_key_and_models_answer_with_the_server_that_the_operator_set(
    session: PageSession, red: Path
) -> None:
    models = {"embedding_model": "house-embedding", "llm_model": "house-chat"}
    choose(session, "fixed", "semantic", key=KEY, **models)
    report = session.load([red])
    turn = session.talk.ask(QUESTION)
    assert "house-chat" in report.models
    assert turn.scale is not None
    assert turn.scale.relative
    for column in turn.columns:
        assert column.answer is not None
        assert column.answer.kind == "generated"
        assert column.answer.citations


def test_a_typed_key_is_for_the_address_that_the_operator_set(
    session: PageSession, red: Path, openai_server: OpenAIServer
) -> None:
    choose(session, "fixed", key="sk-of-a-visitor")
    session.load([red])
    assert {request.authorization for request in openai_server.requests} == {
        "Bearer sk-of-a-visitor"
    }


def test_a_refused_key_is_reported_before_anything_is_read(
    session: PageSession, red: Path, openai_server: OpenAIServer
) -> None:
    openai_server.fail(UNAUTHORIZED, times=5)
    choose(session, "fixed", key="canary-71")
    steps: list[Progress] = []
    with pytest.raises(CredentialsError) as caught:
        session.load([red], steps.append)
    assert steps == []
    assert "canary" not in str(caught.value)
    assert "canary" not in repr(session.context)


def test_a_model_that_fails_while_answering_is_a_turn_with_its_reason(
    served: PageSession, openai_server: OpenAIServer
) -> None:
    openai_server.fail(UNAUTHORIZED, times=5)
    turn = served.talk.ask(QUESTION)
    assert ["key was refused" in (column.error or "") for column in turn.columns] == [True]


def test_answers_go_on_when_nobody_looks_and_a_second_question_is_refused(
    served: PageSession, openai_server: OpenAIServer
) -> None:
    openai_server.fail(Fault(body="slow"))
    job = served.talk.start(QUESTION)
    openai_server.wait_for("chat/completions")
    assert served.working
    with pytest.raises(ConfigurationError, match="stop them"):
        served.talk.start("And the other one?")
    openai_server.release()
    job.result()
    assert [turn.question for turn in served.turns] == [QUESTION]
    assert served.talk.ask(QUESTION).report is not None


def test_a_follow_up_is_searched_for_together_with_the_question_before(
    loaded: PageSession,
) -> None:
    with pytest.raises(ConfigurationError, match="no earlier question"):
        loaded.talk.start("And why?", follow_up=True)
    loaded.talk.ask(QUESTION)
    alone, followed = (loaded.talk.ask("And why?", follow_up=value) for value in (False, True))
    assert alone.searched == ""
    assert "And why?" in followed.searched
    assert f"Searched for: {followed.searched}" in turn_view(followed)


def test_chunks_only_are_shown_without_an_answer(session: PageSession, red: Path) -> None:
    choose(session, "fixed", retrieval_only=True)
    session.load([red])
    [column] = session.talk.ask(QUESTION).columns
    assert column.answer
    assert (column.answer.kind, bool(column.answer.hits)) == ("retrieval", True)


def test_only_the_latest_turns_stay_and_their_numbers_are_never_used_again(
    loaded: PageSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_nodes.apps.visitors.turns.MOST_TURNS", 3)
    assert MOST_TURNS == 200
    for _ in range(5):
        loaded.talk.ask(QUESTION)
    assert [turn.number for turn in loaded.turns] == [3, 4, 5]


def test_a_visitor_is_forgotten_even_when_nobody_else_comes(settings: Settings) -> None:
    now, ended = [0.0], threading.Event()
    opened = Sessions(lambda: PageSession(settings), idle_seconds=0.01, clock=lambda: now[0])
    opened.of("a").close = ended.set  # type: ignore[method-assign]
    now[0] = 1.0
    assert ended.wait(30)
    assert len(opened) == 0


def test_documents_loaded_for_an_ended_session_are_released(
    session: PageSession, red: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Store] = []
    monkeypatch.setattr(
        "rag_nodes.query.documents.open_store", lambda: opened.append(open_store()) or opened[-1]
    )
    session.close()
    with pytest.raises(SessionEndedError, match="bring your documents again"):
        session.load([red])
    assert (session.documents, session.comparison, session.paths) == ((), None, ())
    (store,) = opened
    with pytest.raises(StoreError):
        store.collections()


def test_clearing_waits_for_no_answer(served: PageSession, openai_server: OpenAIServer) -> None:
    served.talk.ask(QUESTION)
    openai_server.fail(Fault(body="slow"))
    job = served.talk.start(QUESTION)
    openai_server.wait_for("chat/completions", 2)
    served.talk.clear()
    assert served.turns == ()
    openai_server.release()
    job.result()
    assert [turn.number for turn in served.turns] == [2]


def test_a_session_ends_while_a_model_condenses_a_follow_up(
    served: PageSession, openai_server: OpenAIServer
) -> None:
    served.talk.ask(QUESTION)
    asked = len(openai_server.asked("chat/completions"))
    openai_server.fail(Fault(body="slow"))
    job = served.talk.start("And the other one?", follow_up=True)
    openai_server.wait_for("chat/completions", asked + 1)
    served.close()  # while the server holds the request
    job.result()
    openai_server.release()


@pytest.mark.parametrize("token", ["", "a" * 47, "G" * 48, None, 7])
def test_a_request_without_the_token_of_a_page_is_refused(token: object) -> None:
    with pytest.raises(ConfigurationError, match="reload"):
        key_of(token, "")


def test_a_token_is_worth_nothing_to_another_user() -> None:
    token = "a" * 48
    assert key_of(token, "ann") == key_of(token, "ann") != key_of(token, "bob")
    assert token not in key_of(token, "ann")


def test_chunks_that_were_split_inside_a_word_say_so_and_whole_sentences_do_not(
    session: PageSession, tmp_path: Path
) -> None:
    red = write_text(tmp_path / "long.md", "The machine is red and needs oil on any day. " * 100)
    choose(session, "fixed", "sentence")
    session.load([red])
    turn = session.talk.ask(QUESTION)
    torn = {
        column.name: [side for hit in column.answer.hits for side in turn.edges[hit.node.node_id]]
        for column in turn.columns
        if column.answer
    }
    assert "word" in torn["fixed"]
    assert set(torn["sentence"]) == {None}
    _, fixed, sentence = str(turn_view(turn)).split('<details class="rn-column')
    assert "inside a word</span>" in fixed
    assert 'class="rn-tear"' in fixed
    assert "inside a" not in sentence
