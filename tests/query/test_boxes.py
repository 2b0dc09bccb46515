"""Citations and hits know where the pages of their PDFs print them."""

from pathlib import Path

import pymupdf
import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.schema import TextNode

from rag_nodes import (
    Comparison,
    Filter,
    QueryOptions,
    RagNodesQueryEngine,
    get_embedding,
    get_parser,
    ingest_documents,
    open_store,
    read,
)
from rag_nodes.core.errors import FileMissingError, PageMissingError
from rag_nodes.query import Answer
from rag_nodes.readers import node_boxes

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


LINES = ["Rinse the red filter weekly.", "Contents", "Rinse the filter. It is blue."]


@pytest.fixture
def printed(tmp_path: Path) -> Path:
    with pymupdf.open() as pdf:
        for line in LINES:
            pdf.new_page().insert_text((72, 72), line)
        pdf.save(tmp_path / "printed.pdf")
    return tmp_path / "printed.pdf"


def page_document(path: Path, line: int, label: str) -> Document:
    return Document(text=LINES[line], metadata={"file_path": str(path), "page_label": label})


@pytest.mark.parametrize("label", ["2", "iv", "1034"])
def test_the_page_of_a_printed_label_is_found_by_the_text(printed: Path, label: str) -> None:
    about = {"file_path": str(printed), "page_label": label}
    [box] = node_boxes(TextNode(text=LINES[2], metadata=about), 0, 17)
    assert box.page == 3
    with pytest.raises(PageMissingError, match=f"labelled '{label}'.*join_pages"):
        node_boxes(TextNode(text="Something else altogether.", metadata=about), 0, 14)


def test_page_documents_are_filtered_by_their_labels(printed: Path) -> None:
    documents = [page_document(printed, 0, "iv"), page_document(printed, 2, "32")]
    model = get_embedding("lexical")
    options = QueryOptions(filter=Filter(pages=(32, 32)))
    index = VectorStoreIndex.from_documents(documents, embed_model=model)
    with open_store() as store:
        ingest_documents(documents, {"page": get_parser("page")}, store, embed_model=model)
        engines = [
            RagNodesQueryEngine.from_index(index, options=options),
            RagNodesQueryEngine(store=store, parser="page", embed_model=model, options=options),
        ]
        for engine in engines:
            [citation] = engine.answer("Which filter is to rinse?").citations
            assert (citation.page, [box.page for box in citation.boxes()]) == (32, [3])


def test_a_document_that_names_no_file_asks_for_its_path(printed: Path) -> None:
    node = TextNode(text=LINES[2], metadata={"file_name": "printed.pdf", "page_start": 3})
    with pytest.raises(FileMissingError, match=r"printed.pdf: .*pass the path of its PDF"):
        node_boxes(node, 0, 17)
    assert [box.page for box in node_boxes(node, 0, 17, printed)] == [3]
