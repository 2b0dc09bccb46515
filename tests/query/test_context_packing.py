from __future__ import annotations

import pytest
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

from rag_nodes.query.packing import merge, pack
from rag_nodes.query.types import Hit
from rag_nodes.text.tokens import count_tokens

TEXT = " ".join(f"word{n}" for n in range(2000))


def hit(rank: int, start: int, end: int, *, document: str = "doc", **metadata: object) -> Hit:
    node = TextNode(
        text=TEXT[start:end], start_char_idx=start, end_char_idx=end, metadata=dict(metadata)
    )
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
    return Hit(node=node, rank=rank, score=1.0 / rank)


def tokens(*hits: Hit) -> int:
    return sum(count_tokens(one.node.text) for one in hits)


def test_whole_chunks_go_in_by_rank_until_the_budget_is_full() -> None:
    hits = [hit(n + 1, n * 300, n * 300 + 200, page_start=n + 1) for n in range(9)]
    budget = tokens(*hits[:3])
    packed = pack(hits, budget)
    assert [source.hits[0].rank for source in packed.sources] == [1, 2, 3]
    assert packed.hits == tuple(hits[:3])
    assert packed.left_out == 0
    assert packed.tokens <= budget


def test_a_chunk_that_does_not_fit_makes_room_for_smaller_ones() -> None:
    hits = [
        hit(1, 0, 300, page_start=1),
        hit(2, 400, 4000, page_start=2),
        hit(3, 5000, 5100, page_start=3),
    ]
    packed = pack(hits, tokens(hits[0], hits[2]) + 20)
    assert [source.hits[0].rank for source in packed.sources] == [1, 3]
    assert packed.left_out == 1
    assert len(packed.hits) == 3


def test_the_search_for_small_chunks_ends_after_a_few() -> None:
    large = [hit(n, n * 1000, n * 1000 + 900, page_start=n) for n in range(1, 10)]
    packed = pack([*large, hit(10, 0, 50, page_start=99)], tokens(large[0]) + 100)
    assert [source.hits[0].rank for source in packed.sources] == [1]
    assert len(packed.hits) == 1


def test_a_first_chunk_larger_than_the_budget_is_cut_at_the_budget() -> None:
    whole = hit(1, 100, 9000, page_start=1)
    packed = pack([whole, hit(2, 0, 50, page_start=1)], 100)
    [source] = packed.sources
    cut = source.hits[0].node
    assert 90 <= packed.tokens <= 100
    assert TEXT[cut.start_char_idx : cut.end_char_idx] == cut.text == source.text
    assert whole.node.text == TEXT[100:9000], "the hit itself stays as retrieved"


@pytest.mark.parametrize("budget", [50, 200, 500, 1500])
@pytest.mark.parametrize("size", [100, 700, 3000])
def test_no_budget_is_ever_exceeded_by_the_chunks(budget: int, size: int) -> None:
    hits = [hit(n + 1, n * size, (n + 1) * size, page_start=n + 1) for n in range(4)]
    assert pack(hits, budget).tokens <= budget


def test_without_a_budget_everything_goes_in() -> None:
    hits = [hit(n + 1, n * 300, n * 300 + 200, page_start=n) for n in range(1, 6)]
    assert len(pack(hits, None).sources) == 5
    assert pack([], None).sources == pack([], 100).sources == ()


def test_chunks_of_one_page_become_one_source_in_document_order() -> None:
    sources = merge(
        [
            hit(1, 500, 600, page_start=3),
            hit(2, 50, 100, page_start=1),
            hit(3, 300, 400, page_start=3),
        ]
    )
    assert [source.label for source in sources] == ["Source 1 - Page 3", "Source 2 - Page 1"]
    assert [one.rank for one in sources[0].hits] == [3, 1]
    assert sources[0].text == f"{TEXT[300:400]}\n[...]\n{TEXT[500:600]}"
    assert sources[0].tokens == count_tokens(sources[0].text)


def test_text_that_chunks_share_is_there_once() -> None:
    [source] = merge(
        [
            hit(1, 300, 500, page_start=3),
            hit(2, 400, 600, page_start=3),
            hit(3, 350, 450, page_start=3),
            hit(4, 600, 650, page_start=3),
        ]
    )
    assert source.text == TEXT[300:650]


def test_the_same_page_of_two_files_stays_apart() -> None:
    sources = merge([hit(1, 0, 50, page_start=1), hit(2, 0, 50, page_start=1, document="other")])
    assert len(sources) == 2


def test_without_pages_sources_are_sections_or_files() -> None:
    sources = merge(
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


def test_gaps_between_chunks_of_one_page_count_towards_the_budget() -> None:
    scattered = [hit(n + 1, n * 300, n * 300 + 100, page_start=1) for n in range(9)]
    budget = tokens(*scattered)
    packed = pack(scattered, budget)
    assert len(packed.sources) == 1
    assert packed.tokens == count_tokens(packed.sources[0].text) <= budget
