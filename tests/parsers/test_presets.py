"""Presets, and what every parser's configuration promises (L10)."""

import re
from typing import Any

import pytest
from llama_index.core.schema import Document
from parser_laws import SMALL

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.text.tokens import count_tokens

EVERY = pytest.mark.parametrize("name", PRESETS)
TEXT = "\n\n".join(
    f"## Part {n}\n\nSomething is said here about number {n}. And more." for n in range(40)
)


# The comments are the one place that names the requirement each preset comes from. Those without
# options of their own here: parent-child S2-23, auto S3-25 and S3-26; page and
# retrieval come from none.
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fixed", {"chunk_size": 1000, "chunk_overlap": 200, "unit": "characters"}),  # S0-18, S3-03
        ("heading", {"chunk_size": 1000, "min_chunk_size": 100}),  # S1-20, S1-43, S1-44
        (
            "token-overlap",  # S2-01, S2-02, S2-06, S2-12, S2-14
            {"chunk_size": 750, "chunk_overlap": 100, "whole_document_below": 500},
        ),
        ("semantic", {"breakpoint_percentile": 75.0}),  # S0-20, S0-23, S0-26
        (
            "recursive",  # S0-19
            {
                "separators": ("\n\n", "\n", ". ", " ", ""),
                "chunk_size": 1000,
                "chunk_overlap": 200,
                "unit": "characters",
            },
        ),
        (
            "web",  # S3-06, S3-07, S3-08
            {
                "chunk_size": 4000,
                "chunk_overlap": 200,
                "min_chunk_size": 500,
                "split_only_if_over": 4000,
            },
        ),
        ("sentence", {"chunk_size": 10, "chunk_overlap": 2, "unit": "sentences"}),  # S3-04
        ("retrieval", {"chunk_size": 200, "chunk_overlap": 0, "unit": "tokens"}),
        ("pdf-qa", {"chunk_size": 500, "chunk_overlap": 0, "unit": "characters"}),  # S4-08
        ("sentence-window", {"chunk_size": 1, "window": 3}),  # S2-24
    ],
)
def test_presets_hold_the_values_of_the_source_documents_and_of_our_measurements(
    name: str, expected: dict[str, object]
) -> None:
    data = get_parser(name).to_dict()
    assert {key: data[key] for key in expected} == expected


PAGE = f"""\
{"The tank holds nine litres of water. " * 40}

## Install [#](#install)

{"Put the pump below the tank. " * 40}

### Valves

{"Close the valve in winter. " * 40}
"""


@EVERY
def test_every_preset_keeps_the_title_the_headings_and_the_links_of_a_page(name: str) -> None:
    metadata = {
        keys.SOURCE: "https://a.test/pump",
        keys.TITLE: "Pump",
        keys.TEXT_FORMAT: "markdown",
    }
    nodes = get_parser(name)([Document(text=PAGE, id_="d", metadata=metadata)])
    paths_kept = {tuple(node.metadata[keys.HEADING_PATH]) for node in nodes}
    paths_kept |= {
        tuple(path) for node in nodes for _, path in node.metadata.get("headings_inside", ())
    }
    assert paths_kept == {("Pump",), ("Pump", "Install"), ("Pump", "Install", "Valves")}
    if name == "parent-child":
        return  # a child knows the links of its parent, not of the sections inside that
    for node in nodes:
        section = "#install" if node.metadata[keys.HEADING] == "Install" else ""
        assert node.metadata.get(keys.LINK, "").removeprefix("https://a.test/pump") == section


def test_an_unknown_preset_names_the_known_ones() -> None:
    with pytest.raises(
        ConfigurationError, match="fixed, heading, token-overlap, web, semantic, recursive"
    ):
        get_parser("nope")


def test_data_of_a_version_that_split_differently_is_refused() -> None:
    data = {**get_parser("fixed").to_dict(), "output_version": 99}
    with pytest.raises(ConfigurationError, match="ingest again"):
        type(get_parser("fixed")).from_dict(data)


@pytest.mark.parametrize("tokenizer", ["chars", "estimate", "o200k_base"])
@pytest.mark.parametrize("name", ["fixed", "heading", "token-overlap", "semantic", "auto"])
def test_every_tokenizer_by_name_splits_exact_slices_within_its_own_size(
    name: str, tokenizer: str
) -> None:
    options = {"unit": "tokens", "chunk_overlap": 10} if name == "fixed" else {}
    if name == "token-overlap":
        options = {"chunk_overlap": 10}
    parser = get_parser(name, tokenizer=tokenizer, chunk_size=200, **options)
    nodes = parser([Document(text=TEXT, id_="d")])
    assert len(nodes) > 1
    for node in nodes:
        assert TEXT[node.start_char_idx : node.end_char_idx] == node.text
        assert node.metadata["token_count"] == count_tokens(node.text, tokenizer) <= 200
        assert node.metadata.get("token_count_estimated", False) is (tokenizer == "estimate")


def test_a_changed_copy_is_checked_and_has_ids_of_its_own() -> None:
    parser = get_parser("fixed")
    assert parser.model_copy(update={"chunk_size": 500}).fingerprint != parser.fingerprint
    with pytest.raises(ConfigurationError, match="must be smaller"):
        parser.model_copy(update={"chunk_size": 100})


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("semantic", {"buffer_size": 10**30}, "buffer_size"),
        ("semantic", {"chunk_size": 10**30}, "chunk_size must be at most 1000000000"),
        ("semantic", {"embed_model": {}}, "embed_model: .*instance of BaseEmbedding"),
        ("heading", {"sentence_model": {}}, "sentence_model: .*instance of BaseEmbedding"),
        ("fixed", {"chunk_size": 0}, "chunk_size: must be at least 1"),
        ("fixed", {"chunk_overlap": 1000}, r"^chunk_overlap \(1000\) must be smaller than"),
        ("fixed", {"tokenizer": "none"}, "tokenizer: unknown tokenizer 'none'"),
        ("fixed", {"chunk_sise": 9}, r"unknown option 'chunk_sise'; did you mean chunk_size\?"),
    ],
    ids=str,
)
def test_p12_a_wrong_option_is_a_value_error_that_says_which_wherever_it_is_given(
    name: str, options: dict[str, object], says: str
) -> None:
    parser = type(get_parser(name))
    given = {**PRESETS[name].options, **options}
    for make in (
        lambda: parser(**given),
        lambda: parser.from_dict(given),
        lambda: get_parser(name).model_copy(update=options),
    ):
        with pytest.raises(ValueError, match=says) as caught:
            make()
        assert type(caught.value) is ConfigurationError


def test_p12_nodes_share_no_metadata_that_could_be_changed_through_one_of_them() -> None:
    facts = {"tags": ["a"], "by": {"name": ["x"]}}
    document = Document(text="One here. " * 400, metadata=facts)
    first, second, *_ = get_parser("fixed")([document])
    first.metadata["tags"].append("b")
    first.metadata["by"]["name"].append("y")
    assert second.metadata["tags"] == document.metadata["tags"] == ["a"]
    assert second.metadata["by"] == document.metadata["by"] == {"name": ["x"]}


INDENTED = (
    "- Outer item one is here.\n"
    "    - Inner item two is here now.\n"
    "    - Inner item three is here too.\n"
    "        - Deep item four is here as well.\n"
) * 4 + "\nText.\n\n    def first(one):\n        return one\n"


UNINDENTED = {"fixed", "recursive", "retrieval", "parent-child"}
"""Presets that fill a size with what fits: blanks before a line stay out where they do not."""


@pytest.mark.parametrize("text", [INDENTED, "    x = 1\n    y = 2\n\nText."])
@pytest.mark.parametrize("name", sorted(set(PRESETS) - UNINDENTED))
def test_p12_the_first_line_of_a_node_keeps_its_indentation(name: str, text: str) -> None:
    options = {} if name in {"sentence", "sentence-window"} else SMALL[name]
    document = Document(text=text, metadata={keys.TEXT_FORMAT: "markdown"})
    for node in get_parser(name, **options)([document]):
        start = node.start_char_idx  # type: ignore[attr-defined]
        line = text.rfind("\n", 0, start) + 1
        assert line == start or text[line:start].strip()


@pytest.mark.parametrize("name", ["fixed", "recursive"])
def test_p12_so_does_the_first_line_of_a_document_split_by_characters(name: str) -> None:
    assert get_parser(name).split_text("\n    x = 1\n    y = 2") == ["    x = 1\n    y = 2"]


def test_p12_recursive_pieces_keep_their_indentation_where_there_is_room() -> None:
    parser = get_parser("recursive", chunk_size=26, chunk_overlap=0)
    assert parser.split_text("if x:\n    one = 1\n    two = 2\n    three = 3") == [
        "if x:\n    one = 1",
        "    two = 2\n    three = 3",
    ]


@pytest.mark.parametrize(
    ("name", "options", "hint"),
    [
        ("headng", {}, "unknown parser 'headng'; did you mean heading?"),
        ("x", {}, "unknown parser 'x'; choose one of: fixed, heading"),
        ("SentenceSplitter", {}, "get_parser(SentenceSplitter(chunk_size=512)), or on the command"),
        ("MarkdownNodeParser", {}, "get_parser(MarkdownNodeParser(...)), or on the command line"),
        ("sentence-window", {"window_size": 3}, "'window_size'; use window instead"),
        ("fixed", {"window_size": 3}, "'window_size'; FixedSizeNodeParser takes: "),
        (
            "semantic",
            {"breakpoint_percentile_threshold": 95},
            "use breakpoint_percentile instead",
        ),
        ("parent-child", {"chunk_sizes": [9, 3]}, "use parent_options and child_options instead"),
    ],
)
def test_a_name_of_another_library_and_a_misspelt_name_are_refused_with_ours(
    name: str, options: dict[str, Any], hint: str
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(hint)):
        get_parser(name, **options)
