"""A parser of the user's own, named by its import path as splitters of other packages are."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from llama_index.core.schema import Document
from stock_callers import text_nodes

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.settings import Settings
from rag_nodes.models import choose_models
from rag_nodes.operations.scripts import script_for
from rag_nodes.parsers import SpanNodeParser, offered
from rag_nodes.parsers.foreign import ForeignNodeParser, parser_at
from rag_nodes.parsers.source import ChunkSpan, SourceText
from rag_nodes.query import QueryOptions

EXAMPLE = Path(__file__).parents[2] / "examples" / "custom_parser"
PATH = "paragraph_parser:ParagraphNodeParser"
TEXT = "# Title\n\nFirst paragraph.\n\n- a list\n- of two"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))


def test_the_example_is_used_as_it_is_with_exact_slices() -> None:
    parser = parser_at(PATH)
    assert type(parser).__name__ == "ParagraphNodeParser"
    nodes = text_nodes(parser([Document(text=TEXT, id_="d")]))
    assert [node.text for node in nodes] == ["# Title", "First paragraph.", "- a list\n- of two"]
    for node in nodes:
        assert TEXT[node.start_char_idx : node.end_char_idx] == node.text
        assert node.metadata["heading_path"] == ["Title"]


def test_the_example_has_at_most_ten_lines() -> None:
    lines = (EXAMPLE / "paragraph_parser.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 10


def test_options_of_the_path_reach_the_parser() -> None:
    assert parser_at(f"{PATH}(language='de')").language == "de"


def test_other_splitters_are_wrapped() -> None:
    parser = parser_at("llama_index.core.node_parser:SentenceSplitter(chunk_size=300)")
    assert isinstance(parser, ForeignNodeParser)


def test_a_path_that_cannot_be_imported_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="cannot be imported"):
        parser_at("no_such_module:Parser")


def test_visitors_can_choose_it_by_its_class_name() -> None:
    assert offered([PATH])["ParagraphNodeParser"].make() == parser_at(PATH)


def test_an_exported_script_imports_the_class() -> None:
    models = choose_models(Settings(embedding="lexical", llm="extractive"))
    parser = parser_at(f"{PATH}(language='de')")
    script = script_for("mine", parser, models, QueryOptions())
    assert "from paragraph_parser import ParagraphNodeParser" in script
    assert "PARSER = ParagraphNodeParser(language='de')" in script
    compile(script, "mine.py", "exec")


class Remote(SpanNodeParser):
    """A parser that needs a key, so none can be made without options."""

    access_key: str
    address: str
    lines: int

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        yield ChunkSpan(0, len(source.text))


def test_an_exported_script_makes_the_class_without_its_secrets() -> None:
    models = choose_models(Settings(embedding="lexical", llm="extractive"))
    parser = Remote(access_key="hush", address="https://anna:hush@example.com", lines=3)
    script = script_for("mine", parser, models, QueryOptions())
    assert "PARSER = Remote(lines=3)" in script
    assert "hush" not in script
