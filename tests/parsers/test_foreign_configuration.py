"""Splitters of other packages: fingerprints, import paths, and refusals that say what to give."""

import re
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
from rag_nodes.parsers import ForeignNodeParser, as_parser, get_parser


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
        (None, "give it as splitter="),
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

    with pytest.raises(ParseError, match=f"splitters:Given failed: {type(error).__name__}") as told:
        cut(Given(fail), "Tea.")
    assert "canary" not in str(told.value)


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


def test_a_name_that_reaches_the_list_of_parsers_imports_nothing() -> None:
    """Names of browsers and REST end there."""
    for name in ("splitters:WindowSplitter()", "splitters:WindowSplitter"):
        with pytest.raises(ConfigurationError, match="unknown parser"):
            get_parser(name)
        with pytest.raises(ConfigurationError, match="unknown parser"):
            get_parser("parent-child", child=name, child_options={})
