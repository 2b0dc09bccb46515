"""Slices of stored documents, put together from chunks that leave white space out."""

import pytest
from llama_index.core.schema import Document, NodeRelationship, RelatedNodeInfo, TextNode

from rag_nodes.core.errors import ConfigurationError, DocumentMissingError
from rag_nodes.core.metadata import PAGE_START, PAGE_STARTS
from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.query.quotes import quote
from rag_nodes.store import Store
from rag_nodes.text.spans import Span
from rag_nodes.text.words import is_inside_word

TEXT = (
    "# Pump\n\nThe pump lifts water. It stands in the cellar.\nNobody hears it there.\n\n"
    "## Filter\n\nRinse the filter on Mondays. Sand clogs it.\n\n\n" * 12
).rstrip()
COLLECTION = "c"


def add(store: Store, *nodes: TextNode) -> None:
    for node in nodes:
        node.embedding = [1.0, 0.0]
    store.add(COLLECTION, list(nodes))


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "page"])
def test_any_slice_of_a_document_is_put_together_from_its_chunks(preset: str, store: Store) -> None:
    document = Document(text=TEXT, id_="d", metadata={"file_name": "pump.md"})
    add(store, *get_parser(preset)([document]))  # type: ignore[arg-type]
    for start in range(0, len(TEXT) - 120, 37):
        span = Span(start, start + 111)
        quotation = quote(store, COLLECTION, "d", span)
        assert quotation.node.text == span.of(TEXT)
        ends_in_word = any(is_inside_word(TEXT, at) for at in span)
        assert quotation.is_exactly(span.of(TEXT)) != ends_in_word
        assert not quotation.is_exactly(span.of(TEXT).replace("e", "3", 1))


def test_a_slice_that_begins_inside_a_number_does_not_approve_the_rest_of_it(store: Store) -> None:
    text = "It rises 21 metres per second. It takes 2.5 minutes."
    add(store, *get_parser("fixed")([Document(text=text, id_="d")]))  # type: ignore[arg-type]
    for sent in ("1 metres per second.", "21 metres per second. It takes 2", "m"):
        span = Span(text.index(sent), text.index(sent) + len(sent))
        quotation = quote(store, COLLECTION, "d", span)
        assert quotation.node.text == sent
        assert (quotation.is_exactly(sent), quotation.find(sent)) == (False, None)
    quotation = quote(store, COLLECTION, "d", Span(text.index("1 metres"), len(text)))
    assert quotation.find("metres PER second") == Span(2, 19)
    assert quotation.find("1 metres") is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("It rises 21 000 metres.", "000 metres"),
        ("It rises 21\u202f000 metres.", "000 metres"),
        ("It rises 1 210 000 metres.", "210 000 metres"),
        ("It rises 1 234 567 metres.", "567 metres"),
        ("It rises 1 234 567 metres.", "It rises 1"),
        ("It rises 21\u00a0500 metres.", "500 metres"),
        ("It rises 21\n000 metres.", "000 metres"),
        ("It rises 21 000 metres.", "It rises 21"),
        ("It rises 21'000 metres.", "000 metres"),
        ("It rises -1 metres.", "1 metres"),
        ("It rises (−1 metres).", "1 metres"),  # noqa: RUF001 - a minus sign
    ],
)
def test_a_part_of_a_number_with_groups_or_a_sign_is_not_approved(
    text: str, part: str, store: Store
) -> None:
    add(store, *get_parser("fixed")([Document(text=text, id_="d")]))  # type: ignore[arg-type]
    span = Span(text.index(part), text.index(part) + len(part))
    checked = quote(store, COLLECTION, "d", span)
    assert (checked.is_exactly(part), checked.find(part)) == (False, None)
    everything = quote(store, COLLECTION, "d", Span(0, len(text)))
    assert everything.find(part) is None
    assert everything.find(part.upper()) is None
    assert everything.is_exactly(text)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("In 2024 100 pumps ran.", "100 pumps"),
        ("It has 21 0000 parts.", "0000 parts"),
        ("Read pages 3-5 of it.", "5 of it"),
        ("It has COVID-19 masks.", "19 masks"),
        ("It is 3.5 200 times.", "200 times"),
        ("- 5 pumps", "5 pumps"),
        ("# Chapter 2\n\n500 metres below it is dark.", "500 metres below"),
        ("Take 2 500 mg tablets per day.", "500 mg tablets per day."),
        ("Take 2 500 mg tablets per day.", "Take 2"),
        ("See page 3\n120 chairs are there.", "120 chairs are there."),
        ("See page 3\n120 000 chairs are there.", "120 000 chairs are there."),
        ("We have:\n  -10 boxes\n", "10 boxes"),
    ],
)
def test_numbers_side_by_side_are_whole_words(text: str, part: str, store: Store) -> None:
    add(store, *get_parser("fixed")([Document(text=text, id_="d")]))  # type: ignore[arg-type]
    span = Span(text.index(part), text.index(part) + len(part))
    assert quote(store, COLLECTION, "d", span).is_exactly(part)
    everything = quote(store, COLLECTION, "d", Span(0, len(text.rstrip())))
    assert everything.find(part) == everything.find(part.upper()) == span


def test_a_slice_has_the_pages_and_headings_of_its_own_characters(store: Store) -> None:
    text = "# One\n\nFirst page.\n\n# Two\n\nSecond page."
    metadata = {PAGE_STARTS: [0, text.index("# Two")], "file_name": "a.pdf"}
    document = Document(text=text, id_="d", metadata=metadata)
    add(store, *get_parser("heading")([document]))  # type: ignore[arg-type]
    start = text.index("Second")
    node = quote(store, COLLECTION, "d", Span(start, len(text))).node
    assert (node.text, node.metadata[PAGE_START]) == ("Second page.", 2)
    assert node.metadata["heading_path"] == ["Two"]


def chunk(node_id: str, text: str, start: int, follows: str = "", **metadata: object) -> TextNode:
    node = TextNode(
        id_=node_id,
        text=text,
        start_char_idx=start,
        end_char_idx=start + len(text),
        metadata=metadata,
    )
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="d")
    if follows:
        node.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=follows)
    return node


ONE, TWO = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"


def test_white_space_of_which_only_the_length_is_stored_may_differ(store: Store) -> None:
    add(store, chunk(ONE, "One.", 0, TWO, start_char=0), chunk(TWO, "Two.", 7, start_char=7))
    quotation = quote(store, COLLECTION, "d", Span(0, 11))
    assert quotation.is_exactly("One.\n \nTwo.")
    assert not quotation.is_exactly("One.\nx\nTwo.")
    assert not quotation.is_exactly("One.\n\nTwo.")


def test_text_between_chunks_of_another_splitter_is_never_made_up(store: Store) -> None:
    add(store, chunk(ONE, "One.", 0, TWO), chunk(TWO, "Two.", 7))
    assert quote(store, COLLECTION, "d", Span(8, 11)).node.text == "wo."
    with pytest.raises(ConfigurationError, match="inside 0 to 4, 7 to 11"):
        quote(store, COLLECTION, "d", Span(2, 9))


def test_chunks_without_offsets_cannot_be_quoted(store: Store) -> None:
    node = chunk(ONE, "One.", 0)
    node.start_char_idx = node.end_char_idx = None
    add(store, node)
    with pytest.raises(ConfigurationError, match="have no offsets"):
        quote(store, COLLECTION, "d", Span(0, 2))


def test_offsets_behind_the_end_are_refused_with_those_there_are(store: Store) -> None:
    add(store, *get_parser("fixed")([Document(text="Tea is hot.", id_="d")]))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=r"characters 0 to 12 .*inside 0 to 11"):
        quote(store, COLLECTION, "d", Span(0, 12))


def test_an_unknown_document_is_an_error_that_says_where_ids_are(store: Store) -> None:
    add(store, chunk(ONE, "One.", 0))
    with pytest.raises(DocumentMissingError, match="list the documents"):
        quote(store, COLLECTION, "other", Span(0, 2))
