import pytest
from llama_index.core.schema import Document, TextNode

from rag_nodes.core.metadata import PAGE_STARTS
from rag_nodes.parsers import get_parser
from rag_nodes.query.citations import cite_passage, cited_numbers, marks_of
from rag_nodes.store import Hit


@pytest.mark.parametrize(
    ("answer", "cited", "unknown"),
    [
        ("It works [Source 1].", (1,), ()),
        ("It works [Source 1 - Page 5].", (1,), ()),
        ("It works [source 2 \u2013 page 3].", (2,), ()),
        ("It works [Sources 1, 2].", (1, 2), ()),
        ("It works [Sources 1-3].", (1, 2, 3), ()),
        ("It works [Source 1, Source 2 and Source 3].", (1, 2, 3), ()),
        ("It works [Source 1; 2].", (1, 2), ()),
        ("It works [Source 1, p. 3].", (1,), ()),
        ("It works [Source 1 (page 2)].", (1,), ()),
        ("It works [Source 2 - 3 ways to fail, 1 to win].", (2,), ()),
        ("It works [Source #2].", (2,), ()),
        ("It works [1]. It fails [2, 3].", (1, 2, 3), ()),
        ("It works [1][3].", (1, 3), ()),
        ("Es geht。[1]", (1,), ()),
        ("First [Source 3], then [Source 1], again [Source 3].", (3, 1), ()),
        ("Made up [Source 9].", (), (9,)),
        ("Made up [8] and true [Source 1].", (1,), (8,)),
        ("Nothing here.", (), ()),
        ("In [2019] the value row[1] was [n/a], see [1](http://example.org).", (), ()),
        ("[Sources] and [Source] and [] and [Resource 1]", (), ()),
        ("The source 1 says so.", (), ()),
        ("[Sources 3-1]", (3,), ()),
        ("[Source 99999999999999999999]", (), ()),
    ],
)
def test_source_numbers_are_found_however_the_model_writes_them(
    answer: str, cited: tuple[int, ...], unknown: tuple[int, ...]
) -> None:
    assert cited_numbers(marks_of(answer), [1, 2, 3]) == (cited, unknown)


def test_brackets_without_end_are_read_in_linear_time() -> None:
    assert marks_of("[Source " * 50_000 + "[" * 50_000 + "`" * 50_000) == ()


def test_a_passage_is_cited_with_its_own_page_and_characters() -> None:
    node = TextNode(
        text="aaaa bbbb cccc",
        start_char_idx=100,
        end_char_idx=114,
        metadata={
            "page_start": 4,
            "page_end": 7,
            "page_breaks": [105, 110, 110],
            "file_name": "f.pdf",
            "source": "/f.pdf",
            "heading_path": ["A", "B"],
        },
    )
    hit = Hit(node=node, rank=1, score=1.0)

    def pages(start: int, end: int) -> tuple[int | None, int | None]:
        citation = cite_passage(1, hit, start, end)
        assert node.text[start:end] == citation.quote
        assert (citation.start, citation.end) == (100 + start, 100 + end)
        return citation.page, citation.page_end

    assert pages(0, 4) == (4, 4)
    assert pages(5, 9) == (5, 5)
    assert pages(10, 14) == (7, 7)
    assert pages(0, 14) == (4, 7)
    citation = cite_passage(2, hit, 0, 4)
    assert (citation.number, citation.file_name, citation.heading_path) == (2, "f.pdf", ("A", "B"))


def test_a_passage_without_pages_or_offsets_claims_none() -> None:
    citation = cite_passage(1, Hit(node=TextNode(text="abc"), rank=1, score=1.0), 0, 2)
    assert (citation.page, citation.page_end, citation.start, citation.end) == (None,) * 4
    assert citation.quote == "ab"


def test_a_citation_names_the_heading_and_page_of_its_passage_not_of_the_chunk() -> None:
    text = "# A\n\nFirst part of it.\n\n## B\n\nSecond part of it."
    document = Document(text=text, metadata={PAGE_STARTS: [0, text.index("## B")]})
    (node,) = get_parser("token-overlap")([document])
    start = node.text.index("Second")
    citation = cite_passage(1, Hit(node=node, rank=1, score=1.0), start, len(node.text))
    assert citation.heading_path == ("A", "B")
    assert citation.page == 2
    assert cite_passage(1, Hit(node=node, rank=1, score=1.0), 0, 5).heading_path == ("A",)
