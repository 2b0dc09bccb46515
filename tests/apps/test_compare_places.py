"""From a chunk below an answer into its document: the right chunk, or a reason why not."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from visits import DIARY, Click, Request, ignore, visiting

from rag_nodes.apps.tabs.compare.events import GONE, NOT_HERE, CompareEvents
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.apps.visitors.turns import Turn
from rag_nodes.core.settings import Settings

SMALL = Choice(("fixed", "heading"), options={"fixed": {"chunk_size": 200, "chunk_overlap": 40}})


@pytest.fixture
def sessions(settings: Settings, tmp_path: Path) -> Iterator[PageSessions]:
    with visiting(settings, tmp_path / "diary.md", DIARY, SMALL) as opened:
        yield opened


@pytest.fixture
def session(sessions: PageSessions) -> PageSession:
    return sessions.of("visitor")


@pytest.fixture
def events(sessions: PageSessions) -> CompareEvents:
    return CompareEvents(sessions)


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr("gradio.Warning", said.append)
    return said


def test_a_chunk_opens_at_its_number_in_the_drawing_of_its_parser(
    events: CompareEvents, session: PageSession
) -> None:
    turn = session.ask("Did it rain on day 23?")
    one = turn.columns[0]
    assert one.answer is not None
    hit = one.answer.hits[0]
    place = events.location(Request(), Click(act="open", turn=1, column=1, rank=hit.rank))
    assert place is not None
    assert place.strategy == "fixed"
    nodes = session.cuts.nodes("fixed", place.document)
    assert nodes[place.chosen].node_id == hit.node.node_id


def test_a_cited_place_opens_at_its_chunk_with_the_cited_characters_pointed_out(
    events: CompareEvents, session: PageSession
) -> None:
    turn = session.ask("Did it rain on day 23?")
    answer = turn.columns[1].answer
    assert answer is not None
    place = events.location(Request(), Click(act="open", turn=1, column=2, cited=1))
    assert place is not None
    assert place.strategy == "heading"
    [document] = session.documents
    assert [span.of(document.text) for span in place.gold] == [answer.citations[0].quote]


def test_what_was_joined_for_the_answer_opens_where_it_begins(
    events: CompareEvents, session: PageSession
) -> None:
    turn = session.ask("Did it rain on day 23?")
    assert turn.report is not None
    one = turn.report.columns[0]
    assert one.answer is not None
    hit = one.answer.hits[0]
    node = hit.node.model_copy(update={"id_": "joined"})
    answer = replace(one.answer, hits=(replace(hit, node=node),))
    report = replace(turn.report, columns=(replace(one, answer=answer),))
    session.history.add(Turn(2, "Why?", report, None, None))
    joined, exact = (
        events.location(Request(), Click(turn=number, column=1, rank=hit.rank)) for number in (2, 1)
    )
    assert exact.chosen - joined.chosen in {0, 1}  # neighbours overlap


@pytest.mark.parametrize(
    "data",
    [
        {"turn": 1, "column": 3, "rank": 1},
        {"turn": 7, "column": 1, "rank": 1},
        {},
    ],
)
def test_a_place_the_page_never_offered_is_ignored(
    events: CompareEvents, session: PageSession, warnings: list[str], data: dict[str, int]
) -> None:
    session.ask("Did it rain?")
    assert events.location(Request(), Click(**data)) is None
    assert warnings == []


def test_chunks_that_were_cut_anew_are_said_to_be_gone(
    events: CompareEvents, session: PageSession, warnings: list[str]
) -> None:
    session.ask("Did it rain?")
    session.load([], Choice(("fixed",)), ignore)
    for column in (1, 2):
        assert events.location(Request(), Click(turn=1, column=column, rank=1)) is None
    assert warnings == [GONE, GONE]


@pytest.mark.parametrize(("cut_from", "opens"), [(0, True), (1, False)])
def test_what_another_index_found_opens_where_its_text_stands_and_is_never_said_to_be_cut_anew(
    events: CompareEvents, session: PageSession, warnings: list[str], cut_from: int, *, opens: bool
) -> None:
    turn = session.ask("Did it rain on day 23?")
    assert turn.report is not None
    one = turn.report.columns[0]
    assert one.answer is not None
    hit = one.answer.hits[0]
    node = hit.node.model_copy(update={"id_": "theirs", "text": hit.node.text[cut_from:]})
    answer = replace(one.answer, hits=(replace(hit, node=node),))
    found = replace(one, name="theirs", parser={"found_by": "BM25Retriever"}, answer=answer)
    session.history.add(Turn(2, "Why?", replace(turn.report, columns=(found,)), None, None))
    place = events.location(Request(), Click(turn=2, column=1, rank=hit.rank))
    assert warnings == ([] if opens else [NOT_HERE])
    [document] = session.documents
    assert [span.of(document.text) for span in place.gold] == [node.text] if place else not opens
