"""One request, by command line and REST: one document, of which strangers see a part."""

import json
from pathlib import Path
from typing import Any

import pytest
from fixtures_app import offline_settings

from rag_nodes.operations import named
from rag_nodes.operations.places import text_document
from rag_nodes.operations.run import Run
from rag_nodes.parsers import offered
from rag_nodes.readers import document_id
from rag_nodes.server.limits import ServerLimits
from rag_nodes.server.served import ServedOperations, request_of

TEXT = "# Colour\n\nThe machine is red.\n\n# Size\n\nThe machine is two metres high.\n"
OWN = {"seconds", "id", "node_id", "file", "file_name", "title"}
"""What a file has by its path, and times."""


def differing(reply: Any, document: Any, where: str = "") -> list[str]:
    """Where a reply says something else than the document; what that leaves out is null."""
    if isinstance(reply, dict) and document is not None:
        return [
            difference
            for name in reply.keys() - OWN
            for difference in differing(reply[name], document.get(name), f"{where}.{name}")
        ]
    if isinstance(reply, list):
        if len(reply) != len(document):
            return [f"{where}: {len(reply)} and {len(document)}"]
        pairs = zip(reply, document, strict=True)
        return [
            difference for new, old in pairs for difference in differing(new, old, f"{where}[]")
        ]
    return [] if reply == document else [f"{where}: {reply!r} and {document!r}"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("chunk", {"parser": "fixed:chunk_size=40,chunk_overlap=5"}),
        ("compare", {"question": "What colour is it?", "parsers": ["fixed", "heading"]}),
        ("compare", {"question": "How high?", "parsers": ["heading"], "retrieval_only": True}),
        ("compare", {"question": "How high?", "parsers": ["fixed"], "granularity": "sentences"}),
    ],
)
def test_the_same_request_gives_the_same_document(
    no_configuration: Path, name: str, arguments: dict[str, Any]
) -> None:
    path, operation = no_configuration / "text.md", named(name)
    path.write_text(TEXT, "utf-8")
    settings = offline_settings().model_copy(update={"store": ":memory:"})
    served = ServedOperations.of(settings, offered(), ServerLimits())

    where = {"file": path} if name == "chunk" else {"paths": [path]}
    run = Run(settings)
    result = operation.function(operation.request.model_validate(arguments | where), run)
    run.close()
    ids = document_id(path.resolve()), text_document(TEXT).id_
    plain = json.dumps(result.as_dict(), default=str)
    document = json.loads(plain.replace(*ids).replace('"text.md"', '"text"'))
    asked = request_of(operation, {**arguments, "text": TEXT})
    reply = served.perform(operation, asked, lambda _: None)
    assert reply
    assert differing(reply, document) == []
