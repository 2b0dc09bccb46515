"""What holds for every operation that strangers may ask for, whatever it does."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fixtures_app import offline_settings

from rag_nodes.core.errors import ConfigurationError, DatasetTooLargeError
from rag_nodes.core.settings import Settings
from rag_nodes.core.settings.answers import ANSWER_PRESETS
from rag_nodes.embedding import Progress
from rag_nodes.models import choose_models
from rag_nodes.operations import OPERATIONS, Operation, named
from rag_nodes.operations.base import OWNER, model_for
from rag_nodes.operations.run import Said
from rag_nodes.operations.workspace import limits
from rag_nodes.parsers import offered
from rag_nodes.server.events import described
from rag_nodes.server.limits import ServerLimits
from rag_nodes.server.messages import public
from rag_nodes.server.served import Milestones, ServedOperations, clean, request_of

TEXT = "# Colour\n\nThe machine is red.\n\n# Size\n\nThe machine is two metres high.\n"
SENT: dict[str, Any] = {
    "text": TEXT,
    "question": "What colour is the machine?",
}
"""What a stranger sends, of which each operation takes what it has a field for."""
SERVED = [operation for operation in OPERATIONS if "rest" in operation.surfaces]
every_served = pytest.mark.parametrize("operation", SERVED, ids=lambda collection: collection.name)


@pytest.fixture
def served(tmp_path: Path, no_configuration: Path) -> ServedOperations:
    del no_configuration
    settings = offline_settings().model_copy(update={"store": str(tmp_path / "of the operator")})
    return ServedOperations.of(settings, offered(), ServerLimits())


def _perform(
    served: ServedOperations, operation: Operation, **changed: Any
) -> tuple[dict[str, Any], list[Any]]:
    """The reply, and the events on the way."""
    fields = operation.request.model_fields
    given = {name: event for name, event in SENT.items() if name in fields} | changed
    events: list[Any] = []
    asked = request_of(operation, given)
    return served.perform(operation, asked, events.append), events


@every_served
def test_the_text_of_a_stranger_is_written_nowhere_and_no_reply_holds_a_path(
    operation: Operation, served: ServedOperations, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    reply, _ = _perform(served, operation)
    assert reply
    replied = json.dumps(reply)
    assert not Path(served.settings.store).exists()
    assert sorted(tmp_path.rglob("*")) == before
    assert str(tmp_path) not in replied
    assert str(Path.home()) not in replied
    assert re.findall(r'"(?:/|[A-Z]:\\\\)[^"]*"', replied) == []


@every_served
def test_fields_of_the_owner_are_refused_by_name(operation: Operation) -> None:
    owners = {
        name
        for operation in OPERATIONS
        for name, field in operation.request.model_fields.items()
        if OWNER in field.metadata or "Path" in str(field.annotation)
    }
    owners |= Settings.model_fields.keys() - set(operation.request.configures)
    assert "text" not in operation.request.configures
    owners.remove("text")  # in a request it is that of a document, and sets nothing
    assert {"file", "paths", "output", "column", "store", "api_base"} <= owners
    for name in sorted(owners):
        with pytest.raises(ConfigurationError, match=f"{name}: there is no such field"):
            request_of(operation, {name: "/etc/passwd"})


def test_messages_lose_their_paths_and_texts_of_documents_keep_them() -> None:
    reply = {"error": "/srv/a/b.pdf: torn", "text": "see /etc/passwd", "rows": [{"reason": "/x/y"}]}
    assert clean(reply) == {
        "error": "b.pdf: torn",
        "text": "see /etc/passwd",
        "rows": [{"reason": "y"}],
    }


def test_many_steps_are_reported_once_per_percent() -> None:
    heard: list[Any] = []
    tell = Milestones(heard.append)
    for done in range(1001):
        tell(Progress("embed", "fixed", done, 1000))
    tell(Said("ready"))
    assert [event.done for event in heard[:-1]] == [*range(0, 1001, 10)]
    assert heard[-1] == Said("ready")


def test_words_on_the_way_lose_their_paths() -> None:
    description = described(Said("/home/op/My Docs/x.db: locked", "warning"))
    assert description == ("warning", {"words": "x.db: locked"})


@every_served
def test_a_text_without_any_word_is_refused(operation: Operation) -> None:
    for text in ("", " \n"):
        with pytest.raises(ConfigurationError, match=r"^text: ") as caught:
            request_of(operation, {"text": text})
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
    _perform(served, named(name), answer_preset="pdf-qa")
    wanted = ANSWER_PRESETS["pdf-qa"]
    for field in ("temperature", "max_output_tokens"):
        assert {getattr(event, field) for event in chosen} == {wanted[field]}


@pytest.mark.parametrize("name", ["ask", "compare"])
def test_more_text_than_one_visitor_may_have_worked_on_is_refused(
    name: str, served: ServedOperations, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_CHARACTERS", len(TEXT) - 1)
    with pytest.raises(DatasetTooLargeError, match="of one visitor"):
        _perform(served, named(name))


def test_a_number_of_thousands_of_digits_is_refused_in_own_words() -> None:
    with pytest.raises(ConfigurationError, match="budget: ") as caught:
        request_of(named("ask"), {"text": TEXT, "question": "Who?", "budget": "9" * 5000})
    assert len(str(caught.value)) < 400


def test_an_integer_may_be_written_as_json_writes_one() -> None:
    asked = request_of(named("ask"), {"text": TEXT, "question": "Who?", "budget": 500.0})
    assert asked.model_dump()["budget"] == 500
    with pytest.raises(ConfigurationError, match="budget: "):
        request_of(named("ask"), {"text": TEXT, "question": "Who?", "budget": 500.5})


@every_served
def test_nothing_is_described_that_only_a_terminal_takes(operation: Operation) -> None:
    for model in (operation.request, operation.reply):
        schema = json.dumps(model_for(model).model_json_schema())
        assert re.findall(r".{40}(?:--[a-z]|epeatable|rag-nodes |=[a-z]+\.pdf).{40}", schema) == []
