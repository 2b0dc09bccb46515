"""One request, by command line, REST and MCP: one document, of which strangers see a part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fixtures_app import offline_settings

from rag_nodes.operations import named
from rag_nodes.operations.run import Run
from rag_nodes.parsers import offered
from rag_nodes.server.limits import ServerLimits
from rag_nodes.server.served import ServedOperations, request_of

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "# Colour\n\nThe machine is red.\n\n# Size\n\nThe machine is two metres high.\n"
OWN = {"seconds", "id", "node_id", "file", "file_name", "title"}
"""What a file has by its path, and times."""


def differing(reply: Any, document: Any, where: str = "") -> list[str]:
    """Where a reply says something else than the document; what that leaves out is null."""
    if isinstance(reply, dict):
        return [
            one
            for name in reply.keys() - OWN
            for one in differing(reply[name], document.get(name), f"{where}.{name}")
        ]
    if isinstance(reply, list):
        if len(reply) != len(document):
            return [f"{where}: {len(reply)} and {len(document)}"]
        pairs = zip(reply, document, strict=True)
        return [one for new, old in pairs for one in differing(new, old, f"{where}[]")]
    return [] if reply == document else [f"{where}: {reply!r} and {document!r}"]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("chunk", {"parser": "fixed:chunk_size=40,chunk_overlap=5"}),
        ("compare", {"question": "What colour is it?", "parsers": ["fixed", "heading"]}),
        ("compare", {"question": "How high?", "parsers": ["heading"], "retrieval_only": True}),
    ],
)
def test_the_same_request_gives_the_same_document(
    no_configuration: Path, name: str, told: dict[str, Any]
) -> None:
    path, operation = no_configuration / "text.md", named(name)
    path.write_text(TEXT, "utf-8")
    settings = offline_settings().model_copy(update={"store": ":memory:"})
    where = {"file": path} if "file" in operation.request.model_fields else {"paths": [path]}
    run = Run(settings)
    document = operation.function(operation.request.model_validate(told | where), run).as_dict()
    run.close()
    served = ServedOperations.of(settings, offered(), ServerLimits())
    for surface in ("rest", "mcp"):
        asked = request_of(operation, surface, told | {"text": TEXT})
        reply = served.perform(operation, surface, asked, lambda _: None)
        assert reply
        assert differing(reply, document) == []
