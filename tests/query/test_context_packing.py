from itertools import chain

from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

from rag_nodes.query.reading import pack
from rag_nodes.query.types import Source
from rag_nodes.store import Hit
from rag_nodes.text.filling import Ranked, fill
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import count_tokens

TEXT = " ".join(f"word{n}" for n in range(2000))


def sources_of(hits: list[Hit]) -> tuple[Source, ...]:
    return pack(hits, None).sources


def hit(rank: int, start: int, end: int, *, document: str = "doc", **metadata: object) -> Hit:
    node = TextNode(
        text=TEXT[start:end], start_char_idx=start, end_char_idx=end, metadata=dict(metadata)
    )
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
    return Hit(node=node, rank=rank, score=1.0 / rank)


def tokens(*hits: Hit) -> int:
    return sum(count_tokens(item.node.text) for item in hits)


def test_chunks_are_read_by_rank_and_the_last_one_fills_the_budget() -> None:
    hits = [hit(n + 1, n * 300, n * 300 + 200, page_start=n + 1) for n in range(9)]
    packed = pack(hits, tokens(*hits[:3]) + 30)
    assert [source.hits[0].rank for source in packed.sources] == [1, 2, 3, 4]
    assert packed.hits == tuple(hits[:4])
    assert packed.left_out == 0
    assert packed.truncated is hits[3]
    assert packed.tokens == tokens(*hits[:3]) + 30
    assert hits[3].node.text.startswith(packed.sources[3].text)


def test_a_chunk_that_does_not_fit_is_truncated_and_nothing_behind_it_is_read() -> None:
    hits = [
        hit(1, 0, 300, page_start=1),
        hit(2, 400, 4000, page_start=2),
        hit(3, 5000, 5100, page_start=3),
    ]
    packed = pack(hits, 300)
    assert [source.hits[0].rank for source in packed.sources] == [1, 2]
    assert 294 <= packed.tokens <= 300
    assert pack(hits, 300, all_wanted=True).left_out == 1


def test_a_first_chunk_larger_than_the_budget_is_truncated() -> None:
    whole = hit(1, 100, 9000, page_start=1)
    packed = pack([whole, hit(2, 0, 50, page_start=1)], 100)
    [source] = packed.sources
    [excerpt] = source.excerpts
    assert 98 <= packed.tokens <= 100
    assert excerpt.span is not None
    assert excerpt.span.of(TEXT) == excerpt.text == source.text
    assert whole.node.text == TEXT[100:9000], "the hit itself stays as retrieved"


@given(
    places=st.lists(st.tuples(st.integers(0, 14_000), st.integers(1, 3000)), min_size=1),
    budget=st.integers(1, 2000),
)
def test_every_budget_is_filled_and_none_is_exceeded_and_every_excerpt_slices_its_document(
    places: list[tuple[int, int]], budget: int
) -> None:
    hits = [
        hit(rank, start, min(len(TEXT), start + size), page_start=start // 900 + 1)
        for rank, (start, size) in enumerate(places, start=1)
    ]
    packed, everything = pack(hits, budget), pack(hits, None)
    excerpts = [excerpt for source in packed.sources for excerpt in source.excerpts]
    assert all(excerpt.span and excerpt.span.of(TEXT) == excerpt.text for excerpt in excerpts)
    assert packed.tokens == sum(count_tokens(excerpt.text) for excerpt in excerpts) <= budget
    assert packed.tokens == sum(source.tokens for source in packed.sources)
    assert packed.tokens >= min(0.98 * budget - 1, everything.tokens)


def test_answers_and_measures_read_the_same_and_state_the_same_tokens() -> None:
    hits = [hit(n + 1, n * 250, n * 250 + 400, page_start=1) for n in range(9)]
    packed = pack(hits, 500)
    spans = [Span(n * 250, n * 250 + 400) for n in range(9)]
    measured = fill([Ranked("doc", span, span.of(TEXT)) for span in spans], 500)
    [source] = packed.sources
    assert [excerpt.span for excerpt in source.excerpts] == [*chain(*measured.parts)]
    assert packed.tokens == measured.tokens


def test_without_a_budget_everything_goes_in() -> None:
    hits = [hit(n + 1, n * 300, n * 300 + 200, page_start=n) for n in range(1, 6)]
    assert len(pack(hits, None).sources) == 5
    assert pack([], None).sources == pack([], 100).sources == ()


def test_chunks_of_one_page_become_one_source_in_document_order() -> None:
    sources = sources_of(
        [
            hit(1, 500, 600, page_start=3),
            hit(2, 50, 100, page_start=1),
            hit(3, 300, 400, page_start=3),
        ]
    )
    assert [source.label for source in sources] == ["Source 1 - Page 3", "Source 2 - Page 1"]
    assert [item.rank for item in sources[0].hits] == [3, 1]
    assert sources[0].text == f"{TEXT[300:400]}\n[...]\n{TEXT[500:600]}"
    assert sources[0].tokens == count_tokens(TEXT[300:400]) + count_tokens(TEXT[500:600])


def test_text_that_chunks_share_is_there_once() -> None:
    [source] = sources_of(
        [
            hit(1, 300, 500, page_start=3),
            hit(2, 400, 600, page_start=3),
            hit(3, 350, 450, page_start=3),
            hit(4, 600, 650, page_start=3),
        ]
    )
    assert source.text == TEXT[300:650]


def test_the_same_page_of_two_files_stays_apart() -> None:
    sources = sources_of(
        [hit(1, 0, 50, page_start=1), hit(2, 0, 50, page_start=1, document="other")]
    )
    assert len(sources) == 2


def test_without_pages_sources_are_sections_or_files() -> None:
    sources = sources_of(
        [
            hit(1, 0, 50, Heading="Setup > [beta]\nnotes"),
            hit(2, 50, 99, Heading="Setup > [beta]\nnotes"),
            hit(3, 100, 150, document="notes", file_name="notes.txt"),
        ]
    )
    assert [source.label for source in sources] == [
        "Source 1 - Setup > (beta) notes",
        "Source 2 - notes.txt",
    ]


def test_marks_of_gaps_are_no_text_of_the_document_and_are_not_paid_for() -> None:
    scattered = [hit(n + 1, n * 300, n * 300 + 100, page_start=1) for n in range(9)]
    packed = pack(scattered, 2000)
    assert packed.tokens == tokens(*scattered) == packed.sources[0].tokens
    assert packed.sources[0].text.count("[...]") == 8


def test_between_neighbours_no_text_is_missing_and_no_gap_is_marked() -> None:
    first, second = hit(1, 0, 50, page_start=1), hit(2, 51, 99, page_start=1)
    info = RelatedNodeInfo(node_id=second.node.node_id)
    first.node.relationships[NodeRelationship.NEXT] = info
    [source] = sources_of([first, second])
    assert source.text == f"{TEXT[:50]}\n{TEXT[51:99]}"


def test_text_that_chunks_of_two_pages_share_is_read_once() -> None:
    sources = sources_of([hit(1, 0, 300, page_start=1), hit(2, 200, 500, page_start=2)])
    assert [source.text for source in sources] == [TEXT[:300], TEXT[300:500]]


def test_a_chunk_whose_text_was_read_already_belongs_to_the_source_that_holds_it() -> None:
    [source] = sources_of([hit(1, 0, 300, page_start=1), hit(2, 100, 200, page_start=1)])
    assert [item.rank for item in source.hits] == [1, 2]
    assert len(source.excerpts) == 1
