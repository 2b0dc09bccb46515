"""`Settings.node_parser = …`, the first thing many do with a parser in LlamaIndex."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import Document

from rag_nodes.parsers import PRESETS, get_parser

FIVE_LINES = """
from llama_index.core import Document, MockEmbedding, Settings, VectorStoreIndex
from rag_nodes.parsers import HeadingHierarchyNodeParser
Settings.embed_model = MockEmbedding(embed_dim=4)
Settings.node_parser = HeadingHierarchyNodeParser(min_chunk_size=0)
index = VectorStoreIndex.from_documents([Document(text="# A\\nOne.\\n\\n# B\\nTwo.")])
print(sorted(node.text for node in index.docstore.docs.values()))
"""


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[CallbackManager]:
    manager = CallbackManager([LlamaDebugHandler(print_trace_on_end=False)])
    for name in ("_node_parser", "_transformations"):
        monkeypatch.setattr(Settings, name, None)
    monkeypatch.setattr(Settings, "_embed_model", MockEmbedding(embed_dim=4))
    monkeypatch.setattr(Settings, "_callback_manager", manager)
    return manager


@pytest.mark.parametrize("name", PRESETS)
def test_l1_any_parser_can_be_the_node_parser_of_the_settings(
    name: str, settings: CallbackManager
) -> None:
    parser = get_parser(name)
    fingerprint = parser.fingerprint
    Settings.node_parser = parser
    VectorStoreIndex.from_documents([Document(text="# Tea\n\nIt is hot. It is green.")])
    assert parser.callback_manager is settings
    (debug,) = settings.handlers
    assert isinstance(debug, LlamaDebugHandler)
    assert debug.get_event_pairs(CBEventType.NODE_PARSING)
    assert parser.fingerprint == fingerprint
    assert parser == get_parser(name)


@pytest.mark.parametrize("name", PRESETS)
def test_l1_everything_but_the_callback_manager_stays_frozen(name: str) -> None:
    parser = get_parser(name)
    for field in set(type(parser).model_fields) - {"callback_manager"}:
        with pytest.raises(ValueError, match="frozen"):
            setattr(parser, field, getattr(parser, field))


def test_l1_the_five_lines_run_in_a_fresh_process() -> None:
    run = subprocess.run(
        [sys.executable, "-c", FIVE_LINES], capture_output=True, text=True, check=False
    )
    assert run.stdout == "['# A\\nOne.', '# B\\nTwo.']\n", run.stderr
