"""What holds for every operation that strangers may ask for, whatever it does."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from fixtures_app import offline_settings
from mcp.types import Tool
from syrupy.assertion import SnapshotAssertion

from rag_nodes.core.errors import (
    CollectionMissingError,
    ConfigurationError,
    DatasetTooLargeError,
)
from rag_nodes.core.settings import Settings
from rag_nodes.core.settings.answers import ANSWER_PRESETS
from rag_nodes.embedding import Progress
from rag_nodes.models import choose_models
from rag_nodes.operations import OPERATIONS, Operation, named
from rag_nodes.operations.base import OWNER, Surface, model_for
from rag_nodes.operations.run import Said
from rag_nodes.operations.workspace import limits
from rag_nodes.parsers import get_parser, offered
from rag_nodes.pipeline import ingest
from rag_nodes.server.events import described
from rag_nodes.server.failures import public
from rag_nodes.server.limits import ServerLimits
from rag_nodes.server.mcp import make_mcp
from rag_nodes.server.served import Milestones, ServedOperations, clean, request_of
from rag_nodes.store import open_store

TEXT = "# Colour\n\nThe machine is red.\n\n# Size\n\nThe machine is two metres high.\n"
SENT: dict[str, Any] = {
    "text": TEXT,
    "question": "What colour is the machine?",
}
"""What a stranger sends, of which each operation takes what it has a field for."""
SERVED = [(one, "rest") for one in OPERATIONS if "rest" in one.surfaces]
every_served = pytest.mark.parametrize(
    ("operation", "surface"), SERVED, ids=lambda one: getattr(one, "name", one)
)


@pytest.fixture
def served(tmp_path: Path, no_configuration: Path) -> ServedOperations:
    del no_configuration
    settings = offline_settings().model_copy(update={"store": str(tmp_path / "of the operator")})
    return ServedOperations.of(settings, offered(), ServerLimits())


def _done(
    served: ServedOperations, operation: Operation, surface: Surface, **changed: Any
) -> tuple[dict[str, Any], list[Any]]:
    """The reply, and the events on the way."""
    fields = operation.request.model_fields
    given = {name: one for name, one in SENT.items() if name in fields} | changed
    events: list[Any] = []
    asked = request_of(operation, surface, given)
    return served.perform(operation, surface, asked, events.append), events


@every_served
def test_the_text_of_a_stranger_is_written_nowhere_and_no_reply_holds_a_path(
    operation: Operation, surface: Surface, served: ServedOperations, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    reply, _ = _done(served, operation, surface)
    assert reply
    said = json.dumps(reply)
    assert not Path(served.settings.store).exists()
    assert sorted(tmp_path.rglob("*")) == before
    assert str(tmp_path) not in said
    assert str(Path.home()) not in said
    assert re.findall(r'"(?:/|[A-Z]:\\\\)[^"]*"', said) == []


@every_served
def test_what_the_owner_alone_may_name_is_refused_by_name(
    operation: Operation, surface: Surface
) -> None:
    owners = {
        name
        for one in OPERATIONS
        for name, field in one.request.model_fields.items()
        if OWNER in field.metadata or "Path" in str(field.annotation)
    }
    owners |= Settings.model_fields.keys() - set(operation.request.configures)
    assert "text" not in operation.request.configures
    owners.remove("text")  # in a request it is that of a document, and sets nothing
    assert {"file", "paths", "output", "column", "store", "api_base"} <= owners
    for name in sorted(owners):
        with pytest.raises(ConfigurationError, match=f"{name}: Extra inputs are not permitted"):
            request_of(operation, surface, {name: "/etc/passwd"})


def test_messages_lose_their_paths_and_texts_of_documents_keep_them() -> None:
    reply = {"error": "/srv/a/b.pdf: torn", "text": "see /etc/passwd", "rows": [{"reason": "/x/y"}]}
    assert clean(reply) == {
        "error": "b.pdf: torn",
        "text": "see /etc/passwd",
        "rows": [{"reason": "y"}],
    }


def _tools(served: ServedOperations) -> list[Tool]:
    handlers = make_mcp(served).manager.app.request_handlers
    (listed,) = [one for kind, one in handlers.items() if kind.__name__ == "ListToolsRequest"]
    tools: list[Tool] = asyncio.run(listed(None)).root.tools  # type: ignore[arg-type]
    return tools


def test_what_agents_pay_for_each_tool_stays_small(served: ServedOperations) -> None:
    tools = _tools(served)
    sizes = {tool.name: len(json.dumps(tool.inputSchema)) for tool in tools}
    assert max(sizes.values()) < 4_700, sizes
    assert sum(sizes.values()) < 11_000, sizes
    for tool in tools:
        assert tool.title
        assert tool.description
        assert not re.search(r"\n|--", tool.description), "of agents, not of a terminal"
        for name, schema in tool.inputSchema["properties"].items():
            assert schema.get("description"), name
            assert "title" not in schema


def _asked(served: ServedOperations, surface: Surface, **more: Any) -> tuple[Any, list[Any]]:
    """The reply to a question without a text, and the events on the way."""
    asked = request_of(named("ask"), surface, {"question": SENT["question"], **more})
    events: list[Any] = []
    return served.perform(named("ask"), surface, asked, events.append), events


@pytest.fixture
def stored(served: ServedOperations, tmp_path: Path) -> ServedOperations:
    """A server whose operator has stored documents."""
    (tmp_path / "note.md").write_text(TEXT, "utf-8")
    settings = served.settings
    with open_store(settings.store) as store:
        parsers = {"auto": get_parser("auto")}
        ingest([tmp_path / "note.md"], parsers, store, models=choose_models(settings))
    return served


def test_the_store_of_the_operator_answers_agents_and_no_visitor_of_rest(
    stored: ServedOperations,
) -> None:
    reply, _ = _asked(stored, "mcp")
    assert "red" in reply["text"]
    with pytest.raises(ConfigurationError, match="no document yet; upload one first"):
        _asked(stored, "rest")


def test_nobody_finds_out_which_files_the_server_has(
    stored: ServedOperations, tmp_path: Path
) -> None:
    for name in (str(tmp_path / "note.md"), "file:///etc/passwd", "note.md"):
        with pytest.raises(ConfigurationError, match="choose files by file_name"):
            _asked(stored, "mcp", filter={"source": name})


def test_who_asks_a_parser_that_is_not_stored_hears_of_no_other_corpus(
    stored: ServedOperations,
) -> None:
    events: list[Any] = []
    asked = request_of(named("ask"), "mcp", {"question": "Who?", "parser": "page"})
    with pytest.raises(CollectionMissingError) as caught:
        stored.perform(named("ask"), "mcp", asked, events.append)
    assert [one for one in events if isinstance(one, Said)] == []
    assert public(caught.value)[0] == 404


@pytest.mark.parametrize("content", [None, "a.txt"])
def test_a_question_leaves_a_folder_that_is_no_store_as_it_is(
    content: str | None, served: ServedOperations
) -> None:
    folder = Path(served.settings.store)
    folder.mkdir()
    if content:
        (folder / content).touch()
    with pytest.raises(CollectionMissingError, match="no documents are stored on this server"):
        _asked(served, "mcp")
    assert [one.name for one in folder.iterdir()] == ([content] if content else [])


def test_of_many_steps_only_every_hundredth_of_the_way_is_told() -> None:
    heard: list[Any] = []
    tell = Milestones(heard.append)
    for done in range(1001):
        tell(Progress("embed", "fixed", done, 1000))
    tell(Said("ready"))
    assert [one.done for one in heard[:-1]] == [*range(0, 1001, 10)]
    assert heard[-1] == Said("ready")


def test_words_on_the_way_lose_their_paths() -> None:
    said = described(Said("/home/op/My Docs/x.db: locked", "warning"))
    assert said == ("warning", {"words": "x.db: locked"})


@every_served
def test_a_text_without_any_word_is_refused(operation: Operation, surface: Surface) -> None:
    for text in ("", " \n"):
        with pytest.raises(ConfigurationError, match=r"^text: ") as caught:
            request_of(operation, surface, {"text": text})
        assert public(caught.value)[0] == 422


@pytest.mark.parametrize("name", ["ask", "compare"])
def test_an_answer_preset_that_is_asked_for_holds_for_the_model_too(
    name: str, served: ServedOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: list[Any] = []

    def choose(settings: Any) -> Any:
        chosen.append(settings)
        return choose_models(settings)

    monkeypatch.setattr("rag_nodes.operations.workspace.session.choose_models", choose)
    _done(served, named(name), "rest", answer_preset="pdf-qa")
    wanted = ANSWER_PRESETS["pdf-qa"]
    for field in ("temperature", "max_output_tokens"):
        assert {getattr(one, field) for one in chosen} == {wanted[field]}


@pytest.mark.parametrize("name", ["ask", "compare"])
def test_more_text_than_one_visitor_may_have_worked_on_is_refused(
    name: str, served: ServedOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_CHARACTERS", len(TEXT) - 1)
    with pytest.raises(DatasetTooLargeError, match="of one visitor"):
        _done(served, named(name), "rest")


def test_a_number_of_thousands_of_digits_is_refused_in_own_words() -> None:
    with pytest.raises(ConfigurationError, match="budget: ") as caught:
        request_of(named("ask"), "rest", {"text": TEXT, "question": "Who?", "budget": "9" * 5000})
    assert len(str(caught.value)) < 400


def test_an_integer_may_be_written_as_json_writes_one() -> None:
    asked = request_of(named("ask"), "rest", {"text": TEXT, "question": "Who?", "budget": 500.0})
    assert asked.model_dump()["budget"] == 500
    with pytest.raises(ConfigurationError, match="budget: "):
        request_of(named("ask"), "rest", {"text": TEXT, "question": "Who?", "budget": 500.5})


@every_served
def test_nothing_is_described_that_only_a_terminal_takes(
    operation: Operation, surface: Surface
) -> None:
    for model in (operation.request, operation.reply):
        said = json.dumps(model_for(model, surface).model_json_schema())
        assert re.findall(r".{40}(?:--[a-z]|epeatable|rag-nodes |=[a-z]+\.pdf).{40}", said) == []


def test_the_tools_are_described_as_they_were(
    served: ServedOperations, snapshot: SnapshotAssertion
) -> None:
    assert [
        f"{tool.name} {name}: {json.dumps(schema, sort_keys=True)}"
        for tool in _tools(served)
        for name, schema in tool.inputSchema["properties"].items()
    ] == snapshot
