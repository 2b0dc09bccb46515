"""Citations and hits know where the pages of their PDFs print them."""

from pathlib import Path

import pytest

from rag_nodes import Comparison, read
from rag_nodes.query import Answer

HANDBOOK = Path(__file__).parents[2] / "examples" / "corpus" / "handbook.pdf"


@pytest.fixture(scope="module")
def answer() -> Answer:
    with Comparison({"fixed": "fixed"}, documents=[read(HANDBOOK)]) as comparison:
        [column] = comparison.ask("When must the sand filter be rinsed backwards?").columns
    assert column.answer is not None
    return column.answer


def test_a_citation_has_a_box_for_each_line_of_its_quote_on_its_page(answer: Answer) -> None:
    citation = answer.citations[0]
    boxes = citation.boxes()
    assert {box.page for box in boxes} == {citation.page}
    assert len(boxes) == 2
    assert boxes[0].bottom < boxes[1].bottom


def test_a_hit_has_boxes_for_all_of_the_chunk_that_was_found(answer: Answer) -> None:
    hit = answer.hit_of(answer.citations[0])
    assert hit is not None
    boxes = hit.boxes()
    assert len(boxes) > 10
    for line in answer.citations[0].boxes():
        assert any(box.top == line.top and line.right <= box.right for box in boxes)


def test_plain_data_of_a_citation_have_neither_its_node_nor_its_boxes(answer: Answer) -> None:
    assert not {"node", "boxes"} & set(answer.citations[0].as_dict())
