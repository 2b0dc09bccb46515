"""Actions without a browser: what a page sends, what it gets, and what is refused."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from openai_server import UNAUTHORIZED, Fault, OpenAIServer
from visits import DIARY, QUESTION, TOKEN, Visitor, choose, visiting, write_text

from rag_nodes.apps import desk as desk_module
from rag_nodes.apps.actions import ACTIONS
from rag_nodes.apps.visitors.screen import Screen
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.core.settings import Settings


@pytest.fixture
def red(tmp_path: Path) -> Path:
    return write_text(
        tmp_path / "red.md", "# Colour\n\nThe machine is red.\n\n# Oil\n\nIt needs oil."
    )


@pytest.fixture
def visitor(settings: Settings, red: Path) -> Iterator[Visitor]:
    with visiting(settings, example=red) as opened:
        yield opened


def test_a_new_page_gets_every_part_and_a_settled_one_gets_nothing(visitor: Visitor) -> None:
    visitor.act("arrive")
    assert {"documents", "columns", "decision", "sheet", "review", "use"} <= {*visitor.regions}
    assert visitor.act("look")["patches"] == []


def test_the_example_is_loaded_asked_and_the_answers_are_appended_newest_last(
    visitor: Visitor,
) -> None:
    visitor.act("arrive")
    visitor.act("example")
    visitor.settle()
    assert "red.md" in visitor.text("documents")
    first = visitor.ask(QUESTION)
    assert "The machine is red." in first
    seen = visitor.regions["turn 1"]
    visitor.ask("What does it need?")
    assert visitor.regions["turn 1"] == seen
    assert "It needs oil." in visitor.text("turn 2")


def test_a_turn_is_not_drawn_again_by_later_ones(visitor: Visitor, red: Path) -> None:
    visitor.load(red)
    visitor.ask(QUESTION)
    since = visitor.since
    visitor.ask("What does it need?")
    later = visitor.session.screen.patches(since)
    assert [entry["name"] for entry in later if entry["name"].startswith("turn")] == ["turn 2"]


def test_removing_a_document_asks_first_and_says_what_is_lost(
    diary: Visitor, tmp_path: Path
) -> None:
    other = write_text(tmp_path / "other.md", "Nobody came on Sunday.")
    diary.load(*diary.session.paths, other)
    assert (
        'data-confirm="Remove other.md? All answers are cleared, and questions labelled in it are '
        'lost."' in diary.regions["documents"]
    )


def test_clearing_removes_the_turns_and_other_documents_do(
    visitor: Visitor, red: Path, tmp_path: Path
) -> None:
    visitor.load(red)
    visitor.ask(QUESTION)
    visitor.act("clear")
    assert "turn 1" not in visitor.regions
    visitor.ask(QUESTION)
    visitor.load(write_text(tmp_path / "blue.md", "The machine is blue."))
    assert not [name for name in visitor.regions if name.startswith("turn")]


def test_after_a_restart_the_page_is_drawn_again_and_says_what_was_lost(
    visitor: Visitor, settings: Settings, red: Path
) -> None:
    visitor.load(red)
    with visiting(settings) as restarted:
        restarted.epoch, restarted.since = visitor.epoch, visitor.since
        restarted.act("look")
        assert "was restarted" in restarted.text("documents")
        assert restarted.act("ask", question=QUESTION)["notice"].startswith("No document yet")


def test_another_tab_sees_nothing_of_the_first(visitor: Visitor, red: Path) -> None:
    visitor.load(red)
    first, visitor.token, visitor.epoch, visitor.since = visitor.session, "6" * 48, "", 0
    visitor.act("arrive")
    assert visitor.session is not first
    assert "red.md" not in visitor.text("documents")


def test_a_token_of_another_user_leads_elsewhere(visitor: Visitor, red: Path) -> None:
    visitor.load(red)
    sent = {"token": TOKEN, "action": "arrive", "payload": {}}
    reply = visitor.run(sent, "bob")
    assert "red.md" not in str(reply)


@pytest.mark.parametrize("sent", [None, 7, [], {}, {"token": "x"}, {"token": [TOKEN]}])
def test_malformed_actions_are_refused(visitor: Visitor, sent: Any) -> None:
    reply = visitor.run(sent)
    assert "reload the page" in reply["notice"]


def test_an_unknown_action_changes_nothing_and_says_so(visitor: Visitor) -> None:
    assert "Reload it" in visitor.act("drop table")["notice"]


HOSTILE: tuple[Any, ...] = (
    None,
    "",
    "-1",
    "9" * 400,
    1e308,
    float("nan"),
    True,
    [],
    ["x"],
    {},
    "\0",
)


def test_no_payload_breaks_an_action(visitor: Visitor, red: Path) -> None:
    visitor.load(red)
    visitor.ask(QUESTION)
    names = ("name", "value", "number", "column", "turn", "cited", "rank", "share", "words", "step",
             "question", "id", "document", "start", "end", "text", "paths", "checked", "length",
             "api_key", "embedding_model", "verdict", "answer", "passage")  # fmt: skip
    for action, value in product(ACTIONS, HOSTILE):
        reply = visitor.act(action, **dict.fromkeys(names, value))
        assert "fault" not in reply.get("notice", ""), (action, value, reply["notice"])


def test_a_path_that_was_not_uploaded_is_never_read(visitor: Visitor, red: Path) -> None:
    for path in (str(red), "/etc/passwd", "../../etc/passwd"):
        assert "Upload the file again" in visitor.act("documents", paths=[path])["notice"]
        assert "Upload the file again" in visitor.act("questions", paths=[path])["notice"]
    assert not visitor.session.paths


def test_one_visitor_cannot_fill_the_server(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_module, "MAX_WAITING", 0)
    assert "Too many requests" in visitor.act("arrive")["notice"]


def test_answers_grow_and_one_of_them_is_stopped(
    settings: Settings, red: Path, openai_server: OpenAIServer
) -> None:
    models = settings.model_copy(update={"api_base": openai_server.base})
    with visiting(models) as visitor:
        visitor.act("arrive")
        visitor.act("models", api_key="sk-any")
        visitor.act("baseline", value="")
        visitor.load(red)
        openai_server.fail(Fault(body="slow"), times=4)
        visitor.act("ask", question=QUESTION)
        openai_server.wait_for("chat/completions", 1)
        assert visitor.act("look")["busy"]
        assert 'aria-busy="true"' in visitor.regions["turn 1"]
        visitor.act("stop")
        openai_server.release()
        visitor.settle()
        assert "stopped" in visitor.text("turn 1").lower()


def test_a_key_is_in_nothing_that_the_page_gets(
    settings: Settings, red: Path, openai_server: OpenAIServer
) -> None:
    models = settings.model_copy(update={"api_base": openai_server.base})
    with visiting(models) as visitor:
        visitor.act("arrive")
        visitor.act("models", api_key="sk-canary-0123")
        visitor.load(red)
        visitor.act("use", value="retrieval")
        visitor.ask(QUESTION)
        script = visitor.act("script")["file"]["text"]
        assert openai_server.asked("chat/completions")
        assert "canary" not in f"{visitor.regions}{script}"


def test_a_helpful_answer_is_marked_counted_and_taken_back(visitor: Visitor, red: Path) -> None:
    visitor.load(red)
    visitor.ask(QUESTION)
    visitor.act("helpful", turn="1", column="2", verdict="yes")
    assert "retrieval 1 of 1" in visitor.text("tally")
    assert 'aria-pressed="true"' in visitor.regions["turn 1"]
    visitor.act("helpful", turn="1", column="2", verdict="yes")
    assert visitor.text("tally") == ""


def test_a_fault_that_all_columns_share_is_said_once(
    settings: Settings, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    served = settings.model_copy(update={"api_base": openai_server.base})
    with visiting(served) as visitor:
        choose(visitor.session, "fixed", "heading", "retrieval", key="sk-any")
        visitor.load(write_text(tmp_path / "diary.md", DIARY))
        openai_server.fail(UNAUTHORIZED, times=20)
        turn = visitor.ask("What was the weather like?")
        assert turn.count("key was refused") == 1
        assert "fixed, heading, retrieval: " in turn
        assert "check the API key under Models" in turn
        openai_server.reset()
        openai_server.fail(UNAUTHORIZED, times=20)
        visitor.load(write_text(tmp_path / "other.md", f"# Other\n\n{DIARY}"))
        documents = visitor.text("documents")
        assert documents.count("key was refused") == 1
        assert documents.count("nothing stored") == 1


def test_a_page_asks_again_for_what_ended_while_its_reply_was_drawn(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor.act("arrive")
    drawn, loading = Screen.patches, ["red.md"]

    def ending(screen: Screen, since: int) -> list[dict[str, Any]]:
        patches = drawn(screen, since)
        loading.clear()
        return patches

    monkeypatch.setattr(PageSession, "working", property(lambda _: bool(loading)))
    monkeypatch.setattr(Screen, "patches", ending)
    assert visitor.act("arrive")["busy"]
    assert not visitor.act("look")["busy"]
