"""The ends of a chunk's neighbours in its embedding text."""

import pytest
from llama_index.core import Document
from llama_index.core.schema import MetadataMode
from stored_nodes import embedded, passages

from rag_nodes import NeighbourText, get_parser
from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.text.tokens import count_tokens


def test_a_chunk_is_embedded_between_the_ends_of_its_neighbours() -> None:
    first, middle, last = NeighbourText(tokens=3)(
        passages("The red tank.", "It holds nine litres of water.", "Never use sand in it.")
    )
    assert embedded(middle).startswith(
        "Heading: Manual > Tank\nbefore: red tank.\nafter: Never use"
    )
    assert embedded(middle).endswith("\n\nIt holds nine litres of water.")
    assert "before:" not in embedded(first)
    assert "after:" not in embedded(last)


def test_what_stands_around_a_chunk_is_for_the_embedding_alone() -> None:
    _, node = NeighbourText()(passages("The red tank.", "It holds nine litres."))
    assert node.get_content(MetadataMode.LLM) == ("Heading: Manual > Tank\n\nIt holds nine litres.")
    assert node.get_content(MetadataMode.NONE) == "It holds nine litres."


@pytest.mark.parametrize("tokens", [4, 11, 40])
def test_neighbours_are_cut_to_so_many_tokens_between_words(tokens: int) -> None:
    words = "The quick brown fox jumps over lazy dogs that never were there at all."
    _, node, _ = NeighbourText(tokens=tokens)(passages(words, "Middle.", words))
    for key in ("before", "after"):
        text = node.metadata.get(key, "")
        assert count_tokens(text) <= tokens
        assert set(text.split()) <= set(words.split())


def test_a_neighbour_without_blanks_is_cut_anywhere() -> None:
    _, node, _ = NeighbourText(tokens=6)(
        passages("泵在夜间运行。" * 20, "水箱。", "土壤干燥时。" * 20)
    )
    assert 1 < len(node.metadata["before"]) < 20
    assert 1 < len(node.metadata["after"]) < 20


def test_documents_are_no_neighbours_of_each_other() -> None:
    nodes = NeighbourText()([*passages("Tea.", document="tea"), *passages("Oil.", document="oil")])
    assert [embedded(node) for node in nodes] == [
        "Heading: Manual > Tank\n\nTea.",
        "Heading: Manual > Tank\n\nOil.",
    ]


def test_neighbours_put_in_twice_stand_there_once() -> None:
    once = [embedded(node) for node in NeighbourText()(passages("One.", "Two."))]
    twice = NeighbourText()(NeighbourText()(passages("One.", "Two.")))
    assert [embedded(node) for node in twice] == once


def test_parents_are_left_as_they_are() -> None:
    text = "# Tank\n\n" + "It holds nine litres. " * 400
    nodes = get_parser("parent-child")([Document(text=text, id_="d")])
    for node in NeighbourText()(nodes):
        if not is_leaf(node):
            assert "before" not in node.metadata
            assert "after" not in node.metadata
