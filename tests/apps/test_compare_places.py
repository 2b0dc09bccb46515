"""From a chunk below an answer into its document: the right chunk, or a reason why not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from visits import DIARY, Click, Request, ignore, visiting

from rag_nodes.apps.tabs.chunks.events import OUTPUTS, ChunksEvents
from rag_nodes.apps.tabs.compare.places import GONE, PlaceEvents
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.session import PageSessions
from rag_nodes.apps.visitors.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.settings import Settings

SMALL = Choice(("fixed", "heading"), options={"fixed": {"chunk_size": 200, "chunk_overlap": 40}})
SKIPPED = {"__type__": "update"}


@pytest.fixture
def sessions(settings: Settings, tmp_path: Path) -> Iterator[PageSessions]:
    with visiting(settings, tmp_path / "diary.md", DIARY, SMALL) as opened:
        yield opened


@pytest.fixture
def session(sessions: PageSessions) -> PageSession:
    return sessions.of("visitor")


@pytest.fixture
def events(sessions: PageSessions) -> PlaceEvents:
    return PlaceEvents(sessions, ChunksEvents(sessions))


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr("gradio.Warning", said.append)
    return said


def _chosen(drawing: str) -> str:
    """What the view says about the chunk that is pointed out."""
    return drawing.split("rn-chosen", 1)[1].split("</button>", 1)[0]


def test_a_chunk_opens_at_its_number_in_the_drawing_of_its_parser(
    events: PlaceEvents, session: PageSession
) -> None:
    turn = session.ask("Did it rain on day 23?")
    one = turn.columns[0]
    assert one.answer is not None
    hit = one.answer.hits[0]
    tabs, *view = events.open(Request(), Click(act="open", turn=1, column=1, rank=hit.rank))
    assert tabs.selected == "chunks"
    number = int(_chosen(view[-1]).rsplit(">", 1)[1])
    stored = session.cuts
    assert stored is not None
    [document] = stored.documents
    assert stored.nodes("fixed", document)[number - 1].node_id == hit.node.node_id


def test_what_was_joined_for_the_answer_opens_where_it_begins(
    events: PlaceEvents, session: PageSession
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
    _, *joined = events.open(Request(), Click(turn=2, column=1, rank=hit.rank))
    first = int(_chosen(joined[-1]).rsplit(">", 1)[1])
    _, *exact = events.open(Request(), Click(turn=1, column=1, rank=hit.rank))
    assert int(_chosen(exact[-1]).rsplit(">", 1)[1]) - first in {0, 1}  # neighbours overlap


@pytest.mark.parametrize(
    "data",
    [
        {"turn": 1, "column": 3, "rank": 1},
        {"turn": 1, "column": 1, "rank": 999},
        {"turn": 7, "column": 1, "rank": 1},
        {},
    ],
)
def test_a_place_the_page_never_offered_is_ignored(
    events: PlaceEvents, session: PageSession, warnings: list[str], data: dict[str, int]
) -> None:
    session.ask("Did it rain?")
    assert events.open(Request(), Click(**data)) == (SKIPPED,) * (OUTPUTS + 1)
    assert warnings == []


def test_chunks_that_were_cut_anew_are_said_to_be_gone(
    events: PlaceEvents, session: PageSession, warnings: list[str]
) -> None:
    session.ask("Did it rain?")
    session.load([], Choice(("fixed",)), ignore)
    for column in (1, 2):
        values = events.open(Request(), Click(turn=1, column=column, rank=1))
        assert values == (SKIPPED,) * (OUTPUTS + 1)
    assert warnings == [GONE, GONE]
