"""`always_at`: boundaries that no chunk of the recursive parser crosses."""

from time import process_time

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import Document
from parser_laws import (
    assert_clusters_are_whole,
    assert_neighbours_share,
    assert_slices_in_order_that_cover,
    parse,
)
from strategies import TEXTS

from rag_nodes.core.errors import ConfigurationError, ParseError
from rag_nodes.operations.fields import parser_spec
from rag_nodes.parsers import boundaries, get_parser
from rag_nodes.parsers.recursive import RecursiveNodeParser

LOG = "Preface.\n*** 9 May\nFirst entry.\n\n  *** 10 May\nSecond entry.\nMore."


def split(text: str, pattern: str, size: int = 100, overlap: int = 0) -> list[str]:
    parser = RecursiveNodeParser(chunk_size=size, chunk_overlap=overlap, always_at=pattern)
    return parser.split_text(text)


def test_a_match_begins_a_chunk_and_the_text_before_it_ends_one() -> None:
    assert split(LOG, r"^ *\*\*\*") == [
        "Preface.",
        "*** 9 May\nFirst entry.",
        "  *** 10 May\nSecond entry.\nMore.",
    ]
    assert split(LOG, r"\*\*\*", overlap=20)[1:] == [
        "*** 9 May\nFirst entry.",
        "*** 10 May\nSecond entry.\nMore.",
    ]


def test_a_lookbehind_puts_the_match_at_the_end_of_the_chunk_before() -> None:
    assert split("a;b;\nc", "(?<=;)") == ["a;", "b;", "c"]


def test_text_between_boundaries_is_split_to_the_size_with_overlap_among_its_own() -> None:
    chunks = split("aa bb cc dd\n# ee ff gg", "^#", 8, 5)
    assert chunks == ["aa bb cc", "bb cc dd", "# ee ff", "ee ff gg"]


def test_a_match_inside_a_cluster_counts_from_the_start_of_the_cluster() -> None:
    assert split("ab\u0301c", "\u0301") == ["a", "b\u0301c"]
    assert split("a\r\n--\r\nb", r"\n--") == ["a", "--\r\nb"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "pattern", [r"^\*\*\*$", r"^\*{3}\n", r"(?<=\n)\*\*\*(?=\n)", r"^.{3}$\n(?=S)", r"^\*+\s*?$"]
)
def test_lines_end_alike_for_a_pattern(pattern: str, end: str) -> None:
    parts = ["First\npart\n", "***\nSecond\n", "***\nS"]
    text = "".join(parts).replace("\n", end)
    assert split(text, pattern) == [part.replace("\n", end).strip() for part in parts]
    assert split(text, r"\r\n\*") == [text] if end != "\r\n" else len(split(text, r"\r\n\*")) == 3


@pytest.mark.parametrize("preset", ["recursive", "retrieval"])
def test_presets_take_the_pattern_as_it_is_typed_behind_a_parser(preset: str) -> None:
    spec = parser_spec(rf"{preset}:always_at=^ *\*\*\*")
    assert isinstance(spec, dict)
    nodes = get_parser(preset, **spec["options"])([Document(text=LOG, id_="d")])
    assert [node.get_content()[:6].strip() for node in nodes] == ["Prefac", "*** 9", "***"]


@given(
    text=TEXTS,
    pattern=st.sampled_from(
        ["e", r"\s", "^", "$", r"\b\w", "\u0301", r"(?<=\.)", "🇩", r"\r?\n", "x*"]
    ),
    size=st.integers(1, 40),
    data=st.data(),
)
def test_no_chunk_crosses_a_match_and_all_other_laws_hold(
    text: str, pattern: str, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    parser = RecursiveNodeParser(chunk_size=size, chunk_overlap=overlap, always_at=pattern)
    nodes = parse(parser, text)
    assert_slices_in_order_that_cover(text, nodes)
    assert_clusters_are_whole(text, nodes, len, size)
    assert_neighbours_share(text, nodes, len, overlap)
    clusters = [match.start() for match in regex.finditer(r"\X", text)]
    starts = {node.start_char_idx for node in nodes}
    for match in regex.finditer(pattern, text, regex.MULTILINE):
        at = max((start for start in clusters if start <= match.start()), default=0)
        at = len(text) if match.start() == len(text) else at
        assert not any(node.start_char_idx < at < node.end_char_idx for node in nodes)
        rest = text[at:]
        first = at + len(rest) - len(rest.lstrip())
        assert first == len(text) or any(at <= start <= first for start in starts)
    assert all(len(node.text) <= size for node in nodes)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", r"always_at: not a regular expression: missing \)"),
        ("", "always_at: .*at least 1 character"),
        ("a" * 2000, "always_at: .*at most 1000 characters"),
        ("((a{1000}){1000}){1000}", "repeats its parts too often; use smaller counts"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        RecursiveNodeParser(always_at=pattern)


def test_a_pattern_that_backtracks_without_end_is_a_typed_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(boundaries, "SEARCH_SECONDS", 0.05)
    with pytest.raises(ParseError, match=r"takes more than 0.0506 s; simplify the pattern"):
        split("a" * 60 + "b", "(a|aa)+$")


def test_cpu_time_between_two_boundaries_is_none_of_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(boundaries, "SEARCH_SECONDS", 0.05)
    offsets = []
    for offset in boundaries.boundaries("a", "ab" * 20):
        offsets.append(offset)
        until = process_time() + 0.005
        while process_time() < until:
            pass
    assert offsets == list(range(0, 40, 2))
