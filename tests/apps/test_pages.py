"""The right half: where each parser splits, what was cited, and how a visitor gets there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile_views import PAYLOADS
from visits import Visitor, visiting, write_text

from rag_nodes.core.settings import Settings

FERRY = Path(__file__).parents[2] / "examples" / "corpus" / "ferry.pdf"
QUIET = "When do quiet hours begin?"


@pytest.fixture(scope="module")
def ferry() -> Iterator[Visitor]:
    with visiting(Settings(embedding="lexical", llm="extractive")) as visitor:
        visitor.load(FERRY)
        visitor.ask(QUIET)
        yield visitor


def _page(visitor: Visitor) -> str:
    return f"{visitor.text('pager')} {visitor.session.place.page}"


def test_an_answer_moves_nothing_and_a_citation_opens_its_page_with_the_quote(
    ferry: Visitor,
) -> None:
    ferry.act("page", value="5")
    ferry.ask(QUIET)
    assert ferry.session.place.page == 5
    ferry.act("open", turn="1", column="2", cited="1")
    assert ferry.session.place.gold
    assert 'class="rn-gold-box" d="M' in ferry.regions["sheet"]
    assert "as printed" in ferry.regions["sheet"]


def test_only_the_chosen_quote_of_a_source_is_highlighted(
    settings: Settings, tmp_path: Path
) -> None:
    text = (
        "The machine on the pier is red. Nobody has seen it move since May.\n\n"
        "It rained all day. The machine was painted red in summer.\n"
    )
    with visiting(settings) as visitor:
        visitor.load(write_text(tmp_path / "machine.md", text))
        visitor.ask("What steps, and how is the machine painted red?")
        turn = visitor.regions["turn 1"]
        buttons = re.findall(
            r'data-column="(\d)" data-cited="(\d)" data-start="(\d+)" data-end="(\d+)"', turn
        )
        shown = set()
        for column, cited, start, end in buttons:
            visitor.act("open", turn="1", column=column, cited=cited, start=start, end=end)
            [gold] = visitor.session.place.gold
            shown.add(gold.of(text).strip())
        assert len(shown) == 2
        chips = re.findall(r'data-to="([\w-]+)" data-quote="([1-9])"', turn)
        assert chips
        for anchor, quote in chips:
            hit = turn.partition(f'id="{anchor}"')[2].partition("</li>")[0]
            assert f'<mark data-quote="{quote}">' in hit


def test_a_retrieved_chunk_opens_tinted_in_its_column(ferry: Visitor) -> None:
    ferry.act("open", turn="1", column="3", rank="1")
    assert ferry.session.place.strategy == "heading"
    assert "rn-shown" in ferry.regions["sheet"]
    assert "retrieved as no. 1" in ferry.text("sheet")


def test_the_map_has_a_line_for_each_column_with_what_was_retrieved(ferry: Visitor) -> None:
    assert ferry.regions["map"].count("<svg viewBox") == 4
    assert ferry.regions["map"].count('class="rn-strip-hit" stroke-width') == 4
    assert "retrieved" in ferry.regions["map"]


def test_pages_turn_by_number_by_step_by_place_and_stop_at_the_ends(ferry: Visitor) -> None:
    pages = []
    for action, payload in (
        ("page", {"value": "3"}),
        ("turn", {"step": "1"}),
        ("turn", {"step": "-1"}),
        ("place", {"share": "1000"}),
        ("page", {"value": "999"}),
        ("page", {"value": "1"}),
        ("turn", {"step": "-1"}),
    ):
        ferry.act(action, **payload)
        pages.append(ferry.session.place.page)
    assert pages == [3, 4, 3, 20, 20, 1, 1]


def test_words_are_searched_one_place_after_the_other_and_around_the_end(ferry: Visitor) -> None:
    positions = [ferry.act("search", words="quiet hours")["found"] for _ in range(2)]
    assert [line.split(" of ")[0] for line in positions] == ["1", "2"]
    assert ferry.act("search", words="no such words")["found"] == "not found"


def test_a_chunk_is_chosen_by_its_number(diary: Visitor) -> None:
    diary.act("chunk", value="3")
    assert diary.session.place.chosen == 2
    assert "rn-shown" in diary.regions["sheet"]


def test_chunks_that_were_split_again_since_are_not_shown_in_a_wrong_place(
    diary: Visitor,
) -> None:
    diary.ask("What happened on day 7?")
    diary.act("option", column="retrieval", name="chunk_size", value="60")
    diary.settle()
    position = next(
        number
        for number, column in enumerate(diary.session.turns[-1].columns, 1)
        if column.name == "retrieval"
    )
    reply = diary.act("open", turn="1", column=str(position), rank="1")
    assert "split again" in reply["notice"]


def test_choosing_the_name_of_another_document_shows_it(settings: Settings, tmp_path: Path) -> None:
    paths = [write_text(tmp_path / f"{name}.md", f"The {name} is here.") for name in ("cat", "dog")]
    with visiting(settings) as visitor:
        visitor.load(*paths)
        other = visitor.session.documents[1].id_
        visitor.act("document", value=other)
        assert "The dog is here." in visitor.text("sheet")


def test_hostile_text_is_shown_as_text(settings: Settings, tmp_path: Path) -> None:
    shown = [payload for payload in PAYLOADS if "\x00" not in payload and "\ud800" not in payload]
    with visiting(settings) as visitor:
        visitor.load(write_text(tmp_path / "plain.txt", "\n\n".join(shown)))
        everything = "".join(visitor.regions.values())
    for tag in ("<script", "<iframe", "<img", "onerror=alert(1)>"):
        assert tag not in everything.replace("&lt;", "[")


def test_the_map_of_several_documents_counts_the_chunks_of_the_one_that_is_shown(
    settings: Settings, tmp_path: Path
) -> None:
    paths = [write_text(tmp_path / f"{name}.md", f"# {name}\n\nIt is red.\n") for name in "ab"]
    with visiting(settings) as visitor:
        visitor.load(paths[0])
        assert " here</small>" not in visitor.regions["map"]
        visitor.load(*paths)
        assert " here</small>" in visitor.regions["map"]
