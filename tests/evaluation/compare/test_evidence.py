"""Which retrieved text several parsers found."""

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

from rag_nodes.evaluation.compare.evidence import found_also_by
from rag_nodes.query import Hit


def hit(rank: int, start: int | None, end: int | None, document: str = "doc") -> Hit:
    text = "x" * ((end or 1) - (start or 0))
    node = TextNode(text=text, start_char_idx=start, end_char_idx=end)
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
    return Hit(node, rank, 1.0, 0.5, 1.0)


def test_text_that_another_parser_mostly_found_too_is_shared() -> None:
    finders = found_also_by({"a": [hit(1, 0, 100)], "b": [hit(2, 40, 60), hit(3, 60, 100)]})
    assert finders == {("a", 1): ("b",), ("b", 2): ("a",), ("b", 3): ("a",)}


def test_overlapping_hits_of_one_parser_count_their_text_once() -> None:
    finders = found_also_by({"a": [hit(1, 0, 100)], "b": [hit(2, 0, 30), hit(3, 0, 40)]})
    assert finders["a", 1] == ()


def test_the_same_place_in_another_document_is_other_text() -> None:
    finders = found_also_by({"a": [hit(1, 0, 9)], "b": [hit(2, 0, 9, document="other")]})
    assert finders == {("a", 1): (), ("b", 2): ()}


def test_a_hit_without_a_place_is_left_out() -> None:
    assert found_also_by({"a": [hit(1, None, None)], "b": [hit(2, 0, 9)]}) == {("b", 2): ()}
