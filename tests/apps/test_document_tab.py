"""The Document tab without a browser: its pages, what is marked on them, and how to get there."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from visits import DIARY, VISITOR, Click, Request, ignore, visiting

from rag_nodes.apps.tabs.document import OUTPUTS, ChunkLocation, DocumentEvents
from rag_nodes.apps.tabs.drawing import LISTED
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.cuts import pages_of
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.core.errors import CorruptFileError
from rag_nodes.core.settings import Settings
from rag_nodes.readers.isolation import pool
from rag_nodes.text.spans import Span

pymupdf = pytest.importorskip("pymupdf")

REQUEST: Any = Request()
SMALL = Choice(("fixed", "heading"), options={"fixed": {"chunk_size": 60, "chunk_overlap": 0}})
LINES = ("Test the horn before each trip.", "Lower the ramp when moored.", "Rinse the tank weekly.")


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three pages, a sentence on each, one of them several times."""
    path = tmp_path_factory.mktemp("pdf") / "handbook.pdf"
    document = pymupdf.open()
    for number, line in enumerate(LINES):
        page = document.new_page(width=420, height=300)
        for row in range(4):
            page.insert_text((60, 60 + 20 * row), f"{line} Row {number}{row}.")
    document.save(path)
    return path


@pytest.fixture
def sessions(settings: Settings, handbook: Path) -> Iterator[PageSessions]:
    opened = PageSessions(settings)
    opened.of(VISITOR).load([handbook], SMALL, ignore)
    yield opened
    opened.close()


@pytest.fixture
def session(sessions: PageSessions) -> PageSession:
    return sessions.of(VISITOR)


@pytest.fixture
def events(sessions: PageSessions) -> DocumentEvents:
    return DocumentEvents(sessions)


def named(values: Sequence[Any]) -> dict[str, Any]:
    """What an event returned, by name."""
    names = ("key", "controls", "document", "strategy", "page", "chunk", "map", "where", "summary",
             "drawing")  # fmt: skip
    return dict(zip(names, values[-OUTPUTS:], strict=True))


def shown_page(values: Sequence[Any]) -> int:
    return int(named(values)["page"].value)


def document_of(session: PageSession) -> str:
    return session.documents[0].id_


def test_the_page_is_shown_as_printed_with_rails_of_all_and_chunks_of_one(
    events: DocumentEvents, session: PageSession
) -> None:
    shown = named(events.refresh("", "heading", "", 1, REQUEST))
    assert shown["drawing"].count("<image ") == 1
    assert set(re.findall(r"rn-rail (rn-c\d)", shown["drawing"])) == {"rn-c1", "rn-c2"}
    assert shown["drawing"].count('class="rn-piece') == shown["drawing"].count('<path class="rn-k')
    assert "Test the horn before each trip. Row 00." in shown["drawing"]
    assert shown["page"].label == "Page of 3"
    assert shown["map"].count('class="rn-strip ') == 2
    skipped = events.refresh(shown["key"], "heading", document_of(session), 1, REQUEST)
    assert not any(isinstance(one, str) for one in skipped)


def test_turning_a_page_does_not_send_the_map_again(
    events: DocumentEvents, session: PageSession
) -> None:
    first = named(events.jump("fixed", document_of(session), 1, REQUEST))
    second = named(events.turn(1)("fixed", document_of(session), 1, REQUEST))
    assert not isinstance(second["map"], str)
    assert first["where"] != second["where"]
    assert "Lower the ramp" in second["drawing"]


def test_it_opens_on_the_page_of_the_best_chunk_and_a_later_question_leads_to_another(
    events: DocumentEvents, session: PageSession, handbook: Path
) -> None:
    session.load([handbook], replace(SMALL, budget=None, top_k=1), ignore)
    session.ask("Rinse the tank weekly. Row 21. Row 22?")
    first = events.refresh("", "fixed", "", 1, REQUEST)
    assert shown_page(first) == 3
    session.ask("Lower the ramp when moored. Row 11. Row 12?")
    document = document_of(session)
    assert shown_page(events.refresh(named(first)["key"], "fixed", document, 3, REQUEST)) == 2
    session.clear()
    assert shown_page(events.refresh("1 2", "fixed", document, 2, REQUEST)) == 2


@pytest.mark.parametrize(
    ("sent", "page"),
    [
        ({"share": "0"}, 1),
        ({"share": "500"}, 2),
        ({"share": "1000"}, 3),
        ({"share": "999999999"}, 3),
        ({"act": "turn", "forth": "1"}, 3),
        ({"act": "turn", "forth": "0"}, 1),
        ({"act": "chunk", "chunk": "0"}, 1),
        ({"act": "chunk", "chunk": "99999"}, 3),
        ({"share": "x", "chunk": []}, 2),
        ({}, 2),
    ],
)
def test_a_click_goes_to_its_place_and_nonsense_stays(
    events: DocumentEvents, session: PageSession, sent: dict[str, Any], page: int
) -> None:
    click: Any = Click(**sent)
    assert shown_page(events.to_place("fixed", document_of(session), 2, REQUEST, click)) == page


@pytest.mark.parametrize(("page", "shown"), [(None, 1), (0, 1), (-5, 1), (2, 2), (99, 3)])
def test_a_page_that_is_not_there_is_the_nearest(
    events: DocumentEvents, session: PageSession, page: float | None, shown: int
) -> None:
    values = events.jump("fixed", document_of(session), page, REQUEST)
    assert shown_page(values) == shown
    assert named(values)["page"].preprocess(page) == page, "the box takes it, too"


@pytest.mark.parametrize("number", [-3, 9_999])
def test_a_chunk_that_is_not_there_is_the_nearest(
    events: DocumentEvents, session: PageSession, number: int
) -> None:
    values = named(events.to_chunk("fixed", document_of(session), number, REQUEST))
    assert session.cuts is not None
    last = len(session.cuts.nodes("fixed", document_of(session)))
    assert values["chunk"].value == (1 if number < 0 else last)
    assert values["chunk"].preprocess(number) == number


def test_a_search_goes_from_place_to_place_and_begins_again(
    events: DocumentEvents, session: PageSession
) -> None:
    found, seen = -1, []
    for _ in range(5):
        found, box, *values = events.search("LOWER the ramp", found, "fixed", document_of(session),
                                            REQUEST)  # fmt: skip
        seen.append(box.info)
        assert shown_page(values) == 2
        assert re.search(r'rn-gold-box" d="M', named(values)["drawing"])
    assert seen == ["1 of 4", "2 of 4", "3 of 4", "4 of 4", "1 of 4"]
    _, box, *values = events.search("no such words", 0, "fixed", document_of(session), REQUEST)
    assert box.info == "not found"
    assert not any(isinstance(one, str) for one in values)


def test_a_chunk_is_reached_by_its_number_and_says_what_is_embedded(
    events: DocumentEvents, session: PageSession
) -> None:
    shown = named(events.to_chunk("fixed", document_of(session), 3, REQUEST))
    opened = shown["drawing"].split('id="rn-piece-2"', 1)[1]
    card = opened.split("</li>", 1)[0]
    assert "<details open>" in card
    assert session.cuts is not None
    node = session.cuts.nodes("fixed", document_of(session))[2]
    assert " ".join(node.text.split())[:30] in " ".join(card.split())
    assert 'data-chunk="1"' in card
    assert 'data-chunk="3"' in card


def test_what_was_retrieved_for_the_last_question_is_marked(
    events: DocumentEvents, session: PageSession
) -> None:
    session.ask("Lower the ramp when moored. Row 11. Row 12?")
    shown = named(events.jump("heading", document_of(session), 2, REQUEST))
    assert "retrieved as no. " in shown["drawing"]
    assert "Retrieved for: <bdi>Lower the ramp when moored" in shown["drawing"]
    assert re.search(r'class="rn-rail rn-c2 rn-(?:odd|even) rn-hit"', shown["drawing"])
    drawn = named(events.refresh("", "heading", document_of(session), 2, REQUEST))
    assert re.search(r'rn-strip-hit" stroke-width="\d+" d="M', drawn["map"])


def test_a_place_of_another_tab_opens_on_its_page_with_its_answer_marked(
    events: DocumentEvents, session: PageSession
) -> None:
    at = session.documents[0].text.index("Rinse the tank")
    place = ChunkLocation("heading", document_of(session), gold=(Span(at, at + 14),))
    tabs, *values = events.open(place, REQUEST)
    assert tabs.selected == "document"
    assert shown_page(values) == 3
    assert events.open(None, REQUEST) == ({"__type__": "update"},) * (OUTPUTS + 1)


def test_where_the_page_cannot_be_drawn_its_text_is_shown_and_why(
    events: DocumentEvents, session: PageSession, monkeypatch: pytest.MonkeyPatch, handbook: Path
) -> None:
    def refused(*_: Any) -> None:
        raise CorruptFileError(handbook, "it is <b>torn</b>")

    monkeypatch.setattr(pool, "draw", refused)
    drawing = named(
        DocumentEvents(events._sessions).jump("fixed", document_of(session), 2, REQUEST)
    )
    assert "cannot be drawn (it is &lt;b&gt;torn&lt;/b&gt;)" in drawing["drawing"]
    assert "Lower the ramp" in drawing["drawing"]
    assert "<image " not in drawing["drawing"]


def test_only_files_of_the_session_are_drawn(session: PageSession, tmp_path: Path) -> None:
    cuts, document = session.cuts, document_of(session)
    assert cuts is not None
    assert pages_of(cuts, document, session.paths).path == session.paths[0]
    assert pages_of(cuts, document, [tmp_path / "other.pdf"]).path is None
    gone = session.paths[0].with_name("gone.pdf")
    cuts.documents[document].metadata["source"] = str(gone)
    assert "no longer here" in str(pages_of(cuts, document, [gone]).why)


def test_a_text_is_rendered_with_rails_beside_its_blocks(
    settings: Settings, tmp_path: Path
) -> None:
    with visiting(settings, tmp_path / "diary.md", DIARY, SMALL) as opened:
        shown = named(DocumentEvents(opened).refresh("", "fixed", "", 1, REQUEST))
        assert shown["drawing"].count('class="rn-block"') > 3
        assert "rn-rail rn-c1" in shown["drawing"]
        assert 'data-at="' in shown["drawing"]
        assert shown["drawing"].count('class="rn-piece') <= LISTED


def test_a_page_that_is_loaded_again_shows_the_place_before(
    events: DocumentEvents, session: PageSession
) -> None:
    document = document_of(session)
    events.jump("heading", document, 3, REQUEST)
    again = events.refresh("", None, None, 1, REQUEST)
    assert (named(again)["strategy"].value, shown_page(again)) == ("heading", 3)
