"""What holds for every operation that strangers may ask for, whatever it does."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fixtures_app import offline_settings

from rag_nodes.errors import ConfigurationError, RagNodesError
from rag_nodes.operations import OPERATIONS, Operation
from rag_nodes.parsers import offered
from rag_nodes.processes import Interrupt, interruptible
from rag_nodes.server.limits import ServerLimits
from rag_nodes.server.mcp import make_mcp
from rag_nodes.server.served import ServedOperations, clean, request_of

if TYPE_CHECKING:
    from rag_nodes.operations.base import Surface

TEXT = "# Colour\n\nThe machine is red.\n\n# Size\n\nThe machine is two metres high.\n"
SENT: dict[str, Any] = {
    "text": TEXT,
    "question": "What colour is the machine?",
    "questions": [
        {"question": "How is it painted?", "gold": [{"text": "The machine is red."}]},
        {"question": "How tall is it?", "gold": [{"text": "two metres high"}]},
    ],
}
"""What a stranger sends, of which each operation takes what it has a field for."""
SERVED = [(one, surface) for one in OPERATIONS for surface in one.surfaces if surface != "cli"]
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
def test_the_text_of_a_stranger_is_written_nowhere(
    operation: Operation, surface: Surface, served: ServedOperations, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    reply, _ = _done(served, operation, surface)
    assert reply
    assert not Path(served.settings.store).exists()
    assert sorted(tmp_path.rglob("*")) == before


@every_served
def test_no_reply_holds_a_path_of_the_server(
    operation: Operation, surface: Surface, served: ServedOperations, tmp_path: Path
) -> None:
    reply, _ = _done(served, operation, surface)
    said = json.dumps(reply)
    assert str(tmp_path) not in said
    assert str(Path.home()) not in said
    assert re.findall(r'"(?:/|[A-Z]:\\\\)[^"]*"', said) == []


@every_served
def test_a_path_in_a_request_is_refused_by_name(operation: Operation, surface: Surface) -> None:
    for name in ("file", "paths", "store", "output"):
        with pytest.raises(ConfigurationError, match=f"{name}: Extra inputs are not permitted"):
            request_of(operation, surface, {name: "/etc/passwd"})


@every_served
def test_whoever_has_left_gets_nothing_done(
    operation: Operation, surface: Surface, served: ServedOperations
) -> None:
    interrupt, ended = Interrupt(), threading.Event()
    interrupt.set()

    def work() -> None:
        with interruptible(interrupt), pytest.raises(RagNodesError, match="cancel"):
            _done(served, operation, surface)
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert ended.is_set()


def test_messages_lose_their_paths_and_texts_of_documents_keep_them() -> None:
    reply = {"error": "/srv/a/b.pdf: torn", "text": "see /etc/passwd", "rows": [{"reason": "/x/y"}]}
    assert clean(reply) == {
        "error": "b.pdf: torn",
        "text": "see /etc/passwd",
        "rows": [{"reason": "y"}],
    }


def test_what_agents_pay_for_each_tool_stays_small(served: ServedOperations) -> None:
    handlers = make_mcp(served).manager.app.request_handlers
    (listed,) = [one for kind, one in handlers.items() if kind.__name__ == "ListToolsRequest"]
    tools = asyncio.run(listed(None)).root.tools  # type: ignore[arg-type]
    sizes = {tool.name: len(json.dumps(tool.inputSchema)) for tool in tools}
    assert max(sizes.values()) < 7_500, sizes
    assert sum(sizes.values()) < 29_000, sizes
    for tool in tools:
        assert tool.title
        assert tool.description
        assert not re.search(r"\n|--", tool.description), "of agents, not of a terminal"
        for name, schema in tool.inputSchema["properties"].items():
            assert schema.get("description"), name
            assert "title" not in schema
