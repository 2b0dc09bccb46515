"""Where what anybody found stands in the documents."""

from pathlib import Path

import pytest
from llama_index.core import Document
from llama_index.core.node_parser import SentenceWindowNodeParser
from llama_index.core.schema import (
    BaseNode,
    ImageNode,
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from plant import MANUAL

from rag_nodes.core import metadata as keys
from rag_nodes.evaluation.engines import Placing, is_placed
from rag_nodes.parsers import get_parser

BATTERY = "A spare battery starts the generator when the grid is down."
AT = MANUAL.index(BATTERY)


def manual(**metadata: object) -> Document:
    return Document(text=MANUAL, id_="manual", metadata=metadata)


def cut(text: str, *, source: str = "", start: int | None = None, **metadata: object) -> TextNode:
    relationships = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=source)} if source else {}
    end = None if start is None else start + len(text)
    return TextNode(
        text=text,
        start_char_idx=start,
        end_char_idx=end,
        metadata=metadata,
        relationships=relationships,  # type: ignore[arg-type]
    )


def slice_of(node: BaseNode) -> tuple[int | None, int | None]:
    placed = Placing([manual(), Document(text="Lions eat no grass at all.", id_="lions")]).placed(
        node
    )
    assert placed.node_id == node.node_id
    return placed.start_char_idx, placed.end_char_idx


@pytest.mark.parametrize(
    "node",
    [
        cut(BATTERY, source="manual", start=AT),
        cut(BATTERY, source="manual", start=3),
        cut(BATTERY, source="manual"),
        cut(BATTERY, source="an id of theirs", start=0),
        cut(BATTERY.replace(" ", "\n"), source="manual"),
        cut(f"Source 3:\n{BATTERY}\n"),
    ],
    ids=["right offsets", "wrong offsets", "none", "other id", "other blanks", "numbered"],
)
def test_a_node_has_the_place_at_which_its_text_stands_once(node: TextNode) -> None:
    assert slice_of(node) == (AT, AT + len(BATTERY))


@pytest.mark.parametrize(
    "node",
    [
        cut("The pump", source="manual"),
        cut("the grid"),
        cut("A spare battery starts the engine.", source="manual", start=AT),
        cut("", source="manual"),
        cut("A battery that nobody wrote of, in no document of these."),
    ],
    ids=["stands twice", "short, of nowhere", "not in it", "empty", "elsewhere"],
)
def test_a_node_without_a_certain_place_has_none_and_keeps_its_text(node: TextNode) -> None:
    assert slice_of(node) == (None, None)
    placed = Placing([manual()]).placed(node)
    assert not is_placed(placed)
    assert placed.text == node.text


def test_offsets_decide_between_two_places_of_a_text_where_they_are_right() -> None:
    second = MANUAL.rindex("The pump")
    assert slice_of(cut("The pump", source="manual", start=second)) == (second, second + 8)


def test_equal_text_at_equal_offsets_of_two_documents_has_no_certain_place() -> None:
    pages = [
        Document(text=f"{BATTERY} {page}", id_=page, metadata={"file_path": "plant.pdf"})
        for page in ("first page", "second page")
    ]
    copied, alone = cut(BATTERY, start=0, file_path="plant.pdf"), cut(BATTERY, source="second page")
    assert Placing(pages).place(copied) is None
    place = Placing(pages).place(alone)
    assert place is not None
    assert place.document == "second page", "the node names its document"


def test_a_text_of_nowhere_that_another_document_has_twice_has_no_certain_place() -> None:
    once = Document(text=BATTERY, id_="once")
    twice = Document(text=f"{BATTERY} {BATTERY}", id_="twice")
    assert Placing([once]).place(cut(BATTERY)) is not None
    assert Placing([once, twice]).place(cut(BATTERY)) is None


def test_a_file_is_known_by_its_path_in_any_spelling(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    here = manual(source=str(tmp_path / "plant.md"))
    twin = Document(text=MANUAL, id_="twin", metadata={"source": str(tmp_path / "twin.md")})
    node = cut(BATTERY, file_path=str(tmp_path / "a" / ".." / "plant.md"))
    placed = Placing([here, twin]).placed(node)
    assert (placed.ref_doc_id, placed.start_char_idx) == ("manual", AT)
    assert placed.metadata["source"] == here.metadata["source"]
    nowhere = Placing([here, twin]).placed(cut(BATTERY))
    assert not is_placed(nowhere)


def test_a_page_of_a_crawl_is_known_by_any_of_its_addresses() -> None:
    page = manual(source="https://a.example/plant", also_at=["https://a.example/plant/"])
    placed = Placing([page]).placed(cut("Cooling", url="https://a.example/plant/#cooling"))
    assert (placed.start_char_idx, placed.end_char_idx) == (2, 9)


def test_a_located_node_is_the_documents_own_text_with_its_pages() -> None:
    page_two = MANUAL.index("# Power")
    document = manual(source="/m.pdf", file_name="m.pdf", page_starts=[0, page_two], total_pages=2)
    node = cut(BATTERY.replace(" ", "  "), source="manual", page_label="7", file_name="tmp1.pdf")
    placed = Placing([document]).placed(node)
    assert placed.text == BATTERY == MANUAL[placed.start_char_idx : placed.end_char_idx]
    assert placed.metadata["page_start"] == placed.metadata["page_end"] == 2
    assert placed.metadata["file_name"] == "m.pdf"
    assert node.metadata["file_name"] == "tmp1.pdf"
    assert node.start_char_idx is None


def test_what_a_document_adds_to_a_node_is_no_part_of_what_was_embedded() -> None:
    node = cut(BATTERY, topic="power")
    placed = Placing([manual(page_starts=[0, AT], file_name="manual.pdf")]).placed(node)
    assert {"page_start", "file_name", "topic"} <= placed.metadata.keys()
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        assert placed.get_content(mode) == node.get_content(mode)


def test_without_documents_a_node_is_as_its_finder_says() -> None:
    node = cut(BATTERY, source="theirs", start=5)
    placed = Placing().placed(node)
    assert (placed.start_char_idx, placed.ref_doc_id, placed.text) == (5, "theirs", BATTERY)


def test_our_own_nodes_keep_what_they_know() -> None:
    document = manual(source="/m.md")
    for node in get_parser("heading")([document]):
        placed = Placing([document]).placed(node)
        assert (placed.start_char_idx, placed.end_char_idx) == (
            node.start_char_idx,  # type: ignore[attr-defined]
            node.end_char_idx,  # type: ignore[attr-defined]
        )
        assert placed.metadata[keys.HEADING_PATH] == node.metadata[keys.HEADING_PATH]


def test_the_window_of_a_stock_parser_becomes_a_slice_too() -> None:
    stock = SentenceWindowNodeParser.from_defaults(window_size=1)
    placing = Placing([manual()])
    for node in stock([manual()]):
        place = placing.placed(node).metadata[keys.WINDOW_PLACE]
        window = placing.placed(node).metadata[keys.WINDOW]
        assert MANUAL[place["start_char"] : place["end_char"]] == window
        assert "".join(window.split()) == "".join(node.metadata["window"].split())


def test_nodes_of_other_kinds_are_shown_without_a_place() -> None:
    placed = Placing([manual()]).placed(ImageNode(image_path="pump.png"))
    assert not is_placed(placed)


BELL = "The bell of the church rings at noon."
TOWN = (
    f"First paragraph of the town.\n\n{BELL}\n\nMiddle paragraph of it.\n\n{BELL}\n\nLast one here."
)


def pieces_of(text: str, **metadata: object) -> list[TextNode]:
    """Split a text at its blank lines, as a parser of other documents might have."""
    pieces = text.split("\n\n")
    starts = [text.index(piece) for piece in pieces]
    starts[3] = text.rindex(BELL)
    return [
        cut(piece, source="theirs", start=start, **metadata)
        for piece, start in zip(pieces, starts, strict=True)
    ]


def test_repeated_text_is_located_by_its_neighbours() -> None:
    changed = f"A preface of later days.\n\n{TOWN}"
    document = Document(text=changed, id_="town")
    nodes = pieces_of(TOWN)
    assert Placing([document]).place(nodes[1]) is None
    placing = Placing([document])
    placing.learn(reversed(nodes))
    first, second = (placing.place(nodes[number]) for number in (1, 3))
    assert first is not None
    assert second is not None
    assert (first.span.start, second.span.start) == (changed.index(BELL), changed.rindex(BELL))
    assert {first.span.of(changed), second.span.of(changed)} == {BELL}


def test_pages_of_one_file_are_neighbours() -> None:
    document = Document(text=TOWN, id_="town", metadata={"source": "/town.pdf"})
    pages = [
        cut(
            piece.text,
            source=f"page {number}",
            start=0,
            page_label=str(number),
            file_path="/town.pdf",
        )
        for number, piece in enumerate(pieces_of(TOWN), start=9)
    ]
    placing = Placing([document])
    placing.learn(pages)
    places = [placing.place(page) for page in pages]
    assert [place and place.span.start for place in places] == [
        TOWN.index(page.text) if page is not pages[3] else TOWN.rindex(BELL) for page in pages
    ]


def test_neighbours_of_another_order_locate_nothing() -> None:
    document = Document(text=TOWN, id_="town")
    nodes = pieces_of(TOWN)
    nodes[1].start_char_idx, nodes[1].end_char_idx = 900, 900 + len(BELL)
    placing = Placing([document])
    placing.learn(nodes)
    assert placing.place(nodes[1]) is None


def test_parents_and_children_with_offsets_in_their_parents_keep_their_own_places() -> None:
    document = Document(text=f"A preface.\n\n{TOWN}", id_="town")
    first, last = TOWN[:60], TOWN[60:]
    nodes = [
        cut(first, source="theirs", start=0),
        cut(last, source="theirs", start=60),
        cut("Middle paragraph of it.", source="theirs", start=last.index("Middle")),
    ]
    twice = cut(BELL, source="theirs", start=0)
    placing = Placing([document])
    placing.learn([*nodes, twice])
    assert placing.place(twice) is None
    places = [placing.place(node) for node in nodes]
    assert [place and place.span.of(document.text).strip() for place in places] == [
        node.text.strip() for node in nodes
    ]


def test_a_page_label_of_any_length_is_no_error() -> None:
    node = cut(BATTERY, source="theirs", start=0, page_label="9" * 5_000, file_path="/manual.md")
    placing = Placing([manual()])
    placing.learn([node])
    place = placing.place(node)
    assert place
    assert place.span == (AT, AT + len(BATTERY))
