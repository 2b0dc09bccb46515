"""Splitters of other packages: fingerprints, import paths, and refusals that say what to give."""

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    SentenceSplitter,
    TokenTextSplitter,
)
from llama_index.core.schema import Document, TextNode, TransformComponent
from splitters import Given, Headed

from rag_nodes.core.errors import ConfigurationError, ParseError
from rag_nodes.parsers import ForeignNodeParser, as_parser, get_parser, load_parser


class Nothing(TransformComponent):
    def __call__(self, nodes: Sequence[Any], **_: Any) -> Sequence[Any]:
        return nodes


def cut(splitter: object, text: str, **metadata: object) -> list[TextNode]:
    document = Document(text=text, id_="doc", metadata=metadata)
    return as_parser(splitter)([document])  # type: ignore[return-value]


def test_the_fingerprint_follows_the_configuration() -> None:
    parsers = [
        as_parser(SentenceSplitter(chunk_size=99, chunk_overlap=0)),
        as_parser(SentenceSplitter(chunk_size=98, chunk_overlap=0)),
        as_parser(SentenceSplitter(chunk_size=99, chunk_overlap=0, tokenizer=str.split)),
        as_parser(TokenTextSplitter(chunk_size=99, chunk_overlap=0)),
        as_parser(HierarchicalNodeParser.from_defaults(chunk_sizes=[64, 32])),
        as_parser(HierarchicalNodeParser.from_defaults(chunk_sizes=[64, 32], chunk_overlap=3)),
    ]
    assert len({parser.fingerprint for parser in parsers}) == 6


def test_an_import_path_and_the_object_it_stands_for_are_the_same_parser() -> None:
    path = "llama_index.core.node_parser:SentenceSplitter(chunk_size=64, chunk_overlap=8)"
    named = ForeignNodeParser(path=path)
    given_one = as_parser(SentenceSplitter(chunk_size=64, chunk_overlap=8))
    assert named.fingerprint == given_one.fingerprint
    assert ForeignNodeParser.from_dict(named.to_dict()) == named
    with pytest.raises(ConfigurationError, match="give it as splitter="):
        ForeignNodeParser.from_dict(given_one.to_dict())


def test_no_key_of_a_splitter_is_written_down() -> None:
    parser = as_parser(Headed())
    assert "canary" not in repr(parser) + str(parser.to_dict())


@pytest.mark.parametrize(
    ("splitter", "message"),
    [
        (SentenceSplitter, "is a class: give an object of it"),
        (Nothing(), "is not a splitter"),
        (object(), "is not a splitter"),
        (None, "give the name of a preset"),
    ],
)
def test_an_object_that_cannot_split_is_refused_with_a_remedy(
    splitter: object, message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        as_parser(splitter)


@pytest.mark.parametrize("answer", [[1, 2], None, [b"bytes"]])
def test_an_answer_without_texts_is_an_error_that_names_the_splitter(answer: Any) -> None:
    with pytest.raises(ParseError, match="splitters:Given returned"):
        cut(Given(lambda _: answer), "Tea.")


@pytest.mark.parametrize("error", [ValueError("no memory, sk-canary"), SystemExit(0)])
def test_a_splitter_that_fails_or_ends_the_program_is_an_error_that_names_it(
    error: BaseException,
) -> None:
    def fail(_: str) -> list[object]:
        raise error

    with pytest.raises(
        ParseError, match=f"splitters:Given failed: {type(error).__name__}"
    ) as raised:
        cut(Given(fail), "Tea.")
    assert "canary" not in str(raised.value)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_module:Splitter()", "cannot be imported"),
        ("llama_index.core.node_parser:NoSplitter()", "has no 'NoSplitter'"),
        ("llama_index.core.node_parser:SentenceSplitter(chunk_size=0)", "check its options, or"),
        (
            "llama_index.core.node_parser:SentenceSplitter(chunk_size=50)",
            r"Got a larger chunk overlap \(200\) than chunk size \(50\), should be smaller; check",
        ),
        ("splitters:NeedsPackage()", "NeedsPackage cannot be made .* install what it needs, or"),
        ("splitters:WindowSplitter(40)", "every option has a name"),
        ("splitters:WindowSplitter(chunk_size=print(1))", "plain values"),
        ("splitters:WindowSplitter(chunk_size=", "is not an import path"),
        ("splitters:WindowSplitter(**{'chunk_size': 4})", "every option has a name"),
        ("splitters:WindowSplitter()(chunk_size=4)", "every option has a name"),
    ],
)
def test_a_path_is_read_and_never_evaluated(path: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ForeignNodeParser(path=path)


def test_the_name_of_a_splitter_of_llama_index_is_answered_with_its_path() -> None:
    path = "llama_index.core.node_parser:SentenceSplitter(chunk_size=512)"
    with pytest.raises(ConfigurationError, match=re.escape(f'-p "{path}"')):
        get_parser("SentenceSplitter")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("splitters:WindowSplitter()", 'ForeignNodeParser(path="splitters:WindowSplitter()")'),
        ("fixed:chunk_size=500", "get_parser('fixed', option=value)"),
    ],
)
def test_what_is_typed_on_the_command_line_is_answered_with_what_python_takes(
    name: str, remedy: str
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(remedy)):
        get_parser(name)


def test_get_parser_takes_parsers_and_splitters_as_they_are() -> None:
    splitter = SentenceSplitter(chunk_size=64, chunk_overlap=0)
    assert get_parser(splitter) == as_parser(splitter)
    fixed = get_parser("fixed")
    assert get_parser(fixed) is fixed
    assert get_parser(fixed, chunk_size=500).chunk_size == 500
    assert get_parser(splitter, language="de").language == "de"


@pytest.mark.parametrize("given", [None, 3, ["fixed"]])
def test_what_splits_nothing_is_refused_with_what_does(given: object) -> None:
    name = "None" if given is None else type(given).__name__
    with pytest.raises(ConfigurationError, match=f"{name} is not a splitter: give the name of a"):
        get_parser(given)


def test_a_package_that_a_splitter_of_llama_index_lacks_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_language_pack", None)
    with pytest.raises(ConfigurationError, match=r"install tree_sitter_language_pack .*; install"):
        ForeignNodeParser(path="llama_index.core.node_parser:CodeSplitter(language='python')")


def test_a_foreign_parser_is_loaded_from_its_data() -> None:
    parser = ForeignNodeParser(path="splitters:WindowSplitter(chunk_size=40)")
    assert load_parser(json.loads(json.dumps(parser.to_dict()))) == parser
    splitter = SentenceSplitter(chunk_size=64, chunk_overlap=0)
    data = as_parser(splitter).to_dict()
    assert load_parser(data, splitter=splitter) == as_parser(splitter)
    with pytest.raises(ConfigurationError, match=r"do not hold the splitter .*SentenceSplitter"):
        load_parser(data)


def test_a_name_that_reaches_the_list_of_parsers_imports_nothing() -> None:
    """Names of browsers and REST end there."""
    for name in ("splitters:WindowSplitter()", "splitters:WindowSplitter"):
        with pytest.raises(ConfigurationError, match="unknown parser"):
            get_parser(name)
        with pytest.raises(ConfigurationError, match="unknown parser"):
            get_parser("parent-child", child=name, child_options={})
