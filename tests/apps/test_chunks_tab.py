"""The chunk view: what is drawn for chunks whose places are known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hostile_views import PAYLOADS, inert, shown
from llama_index.core.schema import TextNode

from rag_nodes.apps.tabs.chunks.document import (
    PAGE_LENGTH,
    Drawing,
    document_page,
    page_at,
    page_starts,
)
from rag_nodes.apps.tabs.chunks.events import EMPTY, ChunkLocation, ChunksEvents
from rag_nodes.apps.tabs.chunks.statistics import percentile, statistics
from rag_nodes.apps.view.parts import percent
from rag_nodes.apps.view.plots import histogram
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.cuts import Cuts
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.evaluation.chunk_facts import (
    ChunkFacts,
    SizedChunk,
    SizeLimits,
    chunk_facts,
    whole_blocks,
)
from rag_nodes.metadata import HEADING_PATH, OVERSIZED, PAGE_END, PAGE_START, TOKEN_COUNT
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rag_nodes.pipeline import Progress
    from rag_nodes.settings import Settings

TEXT = "It rained all day. Nobody came. The roof held."
TWO = Choice(("fixed", "heading"), options={"fixed": {"chunk_size": 200, "chunk_overlap": 40}})
LONG = "\n\n".join(f"Line {n} says that the water is {n} degrees warm." for n in range(500))


class _Request:
    """All that an event asks of Gradio's request."""

    def __init__(self, session: str | None = "visitor") -> None:
        self.session_hash = session


def _node(start: int, end: int, text: str = TEXT, **metadata: Any) -> TextNode:
    return TextNode(
        text=text[start:end],
        start_char_idx=start,
        end_char_idx=end,
        metadata={TOKEN_COUNT: 4, PAGE_START: 1, PAGE_END: 2, HEADING_PATH: ["May"], **metadata},
    )


def _drawn(*nodes: TextNode, text: str = TEXT, page: int = 1, chosen: int | None = None) -> str:
    starts = page_starts(text)
    return document_page(Drawing("fixed", text, nodes, starts, page, chosen))


def _ignore(_: Progress) -> None:
    """Progress nobody looks at."""


@pytest.fixture
def sessions(settings: Settings, tmp_path: Path) -> Iterator[PageSessions]:
    opened = PageSessions(settings)
    path = tmp_path / "water.md"
    path.write_text(LONG, encoding="utf-8")
    opened.of("visitor").load([path], TWO, _ignore)
    yield opened
    opened.close()


@pytest.fixture
def cuts(sessions: PageSessions) -> Cuts:
    found = sessions.of("visitor").cuts
    assert found is not None
    return found


@pytest.fixture
def events(sessions: PageSessions) -> ChunksEvents:
    return ChunksEvents(sessions)


def test_every_character_of_the_page_is_shown_once_and_in_order() -> None:
    html = _drawn(_node(0, 18), _node(10, 31), _node(32, 46))
    drawn = re.search(r'class="rn-doc".*?</div>', html, re.DOTALL)
    assert drawn
    without_marks = re.sub(r"<(button|small).*?</\1>", "", drawn[0])
    assert re.sub(r"<[^>]*>", "", without_marks).partition(">")[2] == TEXT


def test_overlap_is_hatched_and_says_in_words_which_chunks_share_it() -> None:
    html = _drawn(_node(0, 18), _node(10, 31))
    shared = re.search(r'<span data-k="0 1" class="rn-k2" title="([^"]*)">([^<]*)', html)
    assert shared
    assert shared[1] == "Shared by chunks 1 and 2: 8 characters"
    assert shared[2] == TEXT[10:18]
    assert ">in 1 and 2</small>" in html


def test_neighbouring_chunks_have_different_tints_and_each_start_has_its_number() -> None:
    html = _drawn(_node(0, 18), _node(19, 31), _node(32, 46))
    assert re.findall(r'data-k="(\d)" class="(rn-k\d)"', html) == [
        ("0", "rn-k0"),
        ("1", "rn-k1"),
        ("2", "rn-k0"),
    ]
    assert re.findall(r'class="rn-start"[^>]*>([^<]*)<', html) == ["1", "2", "3"]


def test_a_mark_tells_what_is_known_of_its_chunk() -> None:
    html = _drawn(_node(0, 18, **{OVERSIZED: True, "part": 2, "parts": 3}))
    title = re.search(r'class="rn-start" title="([^"]*)"', html)
    assert title
    for fact in ("4 tokens", "pp. 1", "part 2 of 3", "over the size limit", "May"):
        assert fact in title[1]


def test_a_chosen_chunk_is_marked_and_its_facts_are_open() -> None:
    html = _drawn(_node(0, 18), _node(19, 31), chosen=1)
    assert html.count("<details open>") == 1
    assert 'class="rn-start rn-chosen"' in html
    assert 'id="rn-piece-1" class="rn-piece rn-k1 rn-shown"' in html


def test_only_the_page_that_is_asked_for_is_drawn() -> None:
    nodes = [_node(at, at + 100, LONG) for at in range(0, len(LONG) - 100, 100)]
    html = _drawn(*nodes, text=LONG, page=2)
    assert "Line 0 says" not in html
    assert html.count('<li id="rn-piece-') < 90
    assert "continued" in html


def test_pages_are_whole_lines_of_about_the_same_length() -> None:
    starts = page_starts(LONG)
    assert starts[0] == 0
    assert len(starts) == 1 + len(LONG) // PAGE_LENGTH
    assert all(LONG[start - 1] == "\n" for start in starts[1:])
    assert page_starts("") == [0]
    assert page_starts("x" * 20_000) == [0, 8000, 16_000]


@pytest.mark.parametrize(("offset", "page"), [(0, 1), (7999, 1), (8000, 2), (19_999, 3)])
def test_an_offset_is_on_the_page_that_holds_it(offset: int, page: int) -> None:
    assert page_at(page_starts("x" * 20_000), offset) == page


def test_text_in_no_chunk_is_shown_without_a_tint() -> None:
    assert '<span class="rn-gap" title="In no chunk">' in _drawn(_node(19, 31))
    assert "No chunk on this page" in _drawn()


def test_warnings_name_the_chunks_they_are_about() -> None:
    text = "Start.\n\n```\na = 1\nb = 2\n```\n\nEnd."
    cut = text.index("b = 2")
    chunks = [SizedChunk(Span(0, cut), 9), SizedChunk(Span(cut, len(text)), 5)]
    facts = chunk_facts(chunks, whole_blocks(text), SizeLimits(0, 6, "tokens"))
    html = statistics("fixed", {"class": "Other"}, [9, 5], facts)
    assert "1 chunk is over the size limit: chunk 1." in html
    assert "1 of 1 table or code block cut through: chunk 1." in html


@pytest.mark.parametrize(
    ("share", "text"),
    [(None, "\N{EN DASH}"), (0.0, "0 %"), (0.004, "0.40 %"), (0.998, "99.80 %"), (1.0, "100 %")],
)
def test_a_share_is_never_rounded_to_none_or_all(share: float | None, text: str) -> None:
    assert percent(share) == text


def test_a_percentile_is_one_of_the_sizes() -> None:
    assert percentile(range(1, 101), 0.95) == 95
    assert percentile([7], 0.95) == 7
    assert percentile([], 0.5) == 0


def test_bars_of_a_histogram_add_up_to_all_chunks() -> None:
    html = histogram([0, 1, 49, 50, 51, 1000], "tokens", "rn-c1")
    assert sum(int(n) for n in re.findall(r'title="(\d+) chunk', html)) == 6
    assert "3 chunks of 0 to 49 tokens" in html
    assert histogram([], "tokens", "rn-c1")


def test_before_a_document_is_loaded_the_view_says_what_will_be_there(settings: Settings) -> None:
    sessions = PageSessions(settings)
    events = ChunksEvents(sessions)
    assert events.choose("", "", _Request())[-1] == EMPTY
    sessions.close()


def test_what_is_on_the_page_already_is_not_drawn_again(events: ChunksEvents) -> None:
    first = events.refresh("", "", "", _Request())
    assert "rn-drawing" in first[-1]
    again = events.refresh(first[0], "fixed", "", _Request())
    assert all("__type__" in value for value in again)


def test_other_options_are_drawn_anew(sessions: PageSessions, events: ChunksEvents) -> None:
    first = events.refresh("", "", "", _Request())
    sessions.of("visitor").load([], Choice(("fixed",)), _ignore)
    again = events.refresh(first[0], "fixed", "", _Request())
    assert again[0] != first[0]
    assert first[-1] != again[-1]


def test_pages_turn_and_stop_at_both_ends(events: ChunksEvents) -> None:
    request = _Request()
    assert "Line 0 says" in events.turn(-1)("fixed", "", 1, request)[-1]
    second = events.turn(1)("fixed", "", 1, request)
    assert "Line 0 says" not in second[-1]
    assert "Line 499 says" in events.jump("fixed", "", 99, request)[-1]
    assert "Line 0 says" in events.jump("fixed", "", None, request)[-1]


def test_a_chunk_opened_from_elsewhere_is_on_the_page_that_is_drawn(
    events: ChunksEvents, cuts: Cuts
) -> None:
    [document] = cuts.documents
    last = len(cuts.nodes("fixed", document)) - 1
    html = events.open(ChunkLocation("fixed", document, chosen=last), _Request())[-1]
    assert f'id="rn-piece-{last}" class="rn-piece rn-k{last % 2} rn-shown"' in html
    assert "Line 499 says" in html


@pytest.mark.parametrize(
    "place", [ChunkLocation("nobody", "nothing"), ChunkLocation(None, None, 7, 10**9)]
)
def test_a_place_that_does_not_exist_shows_one_that_does(
    events: ChunksEvents, place: ChunkLocation
) -> None:
    assert "rn-drawing" in events.open(place, _Request())[-1]


def test_chunks_are_those_in_the_store_in_order(cuts: Cuts) -> None:
    [document] = cuts.documents
    nodes = cuts.nodes("fixed", document)
    assert len(nodes) == cuts.comparison.store.count(cuts.comparison.collection("fixed"))
    assert [node.start_char_idx for node in nodes] == sorted(n.start_char_idx or 0 for n in nodes)
    assert all(LONG[n.start_char_idx : n.end_char_idx] == n.text for n in nodes)


def test_a_visitor_who_left_leaves_no_chunks_behind(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(LONG, encoding="utf-8")
    sessions = PageSessions(settings)
    left = sessions.of("a")
    left.load([path], TWO, _ignore)
    assert left.cuts is not None
    sessions.end("a")
    assert (left.cuts, left._cuts) == (None, None)


def test_two_visitors_see_their_own_document_only(
    sessions: PageSessions, events: ChunksEvents, tmp_path: Path
) -> None:
    other = tmp_path / "fire.md"
    other.write_text("Fire is hot.", encoding="utf-8")
    sessions.of("second").load([other], TWO, _ignore)
    assert "Fire" in events.refresh("", "", "", _Request("second"))[-1]
    assert "Fire" not in events.refresh("", "", "", _Request())[-1]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_text_in_a_document_is_drawn_and_nothing_of_it_becomes_an_element(
    payload: str,
) -> None:
    text = f"{payload} It rained. {payload}"
    cut = len(payload) + 4
    hostile = {HEADING_PATH: [payload], "part": payload, "parts": payload, "blocks": [payload]}
    nodes = (_node(0, cut + 3, text, **hostile), _node(cut, len(text), text, **hostile))
    html = _drawn(*nodes, text=text, chosen=1)
    drawn = inert(re.sub(r"<button.*?</button>|<small.*?</small>", "", html, flags=re.DOTALL))
    inert(html)
    assert shown(payload) in drawn


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_options_in_the_statistics_become_no_element(payload: str) -> None:
    configuration = {
        "class": "FixedSizeNodeParser", "chunk_size": payload, "unit": payload, "chunk_overlap": 1
    }  # fmt: skip
    assert shown(payload) in inert(statistics("fixed", configuration, [3], ChunkFacts()))
    inert(statistics(payload, configuration, [3], ChunkFacts()))


def test_p8_what_the_automatic_parser_chose_is_shown_and_its_text_is_only_text() -> None:
    said = [("Chosen", "heading: <b>3 headings</b>.")]
    html = str(statistics("auto", {"class": "Auto"}, [9], ChunkFacts(), said))
    assert "Chosen: heading: &lt;b&gt;3 headings&lt;/b&gt;." in html
    assert "Chosen" not in str(statistics("auto", {"class": "Auto"}, [9], ChunkFacts()))
