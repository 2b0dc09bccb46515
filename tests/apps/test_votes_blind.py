"""Blind questions: nothing tells the parsers apart before the vote, and only real votes count."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from kept_votes import kept_votes
from openai_server import Fault
from pydantic import SecretStr
from visits import Click, Request, ignore, visiting

from rag_nodes.apps.tabs.compare.events import CompareEvents
from rag_nodes.apps.tabs.compare.history import history
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.session import PageSession, PageSessions
from rag_nodes.apps.visitors.turns import AT_FIRST, MOST_TURNS, Asking, Growing, Turn
from rag_nodes.apps.votes.casting import NOT_KEPT, TOO_MANY
from rag_nodes.apps.votes.store import Votes
from rag_nodes.parsers import PRESETS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kept_votes import KeptVote
    from openai_server import OpenAIServer

    from rag_nodes.compare import Column, ComparisonReport
    from rag_nodes.settings import Settings

QUESTION = "What colour is the machine?"
THREE = Choice(("fixed", "heading", "token-overlap"))
SECRET = "0123456789abcdef" * 2


@pytest.fixture
def sessions(settings: Settings, tmp_path: Path) -> Iterator[PageSessions]:
    with visiting(
        settings, tmp_path / "red.md", "# Colour\n\nThe machine is red.\n", THREE
    ) as opened:
        yield opened


@pytest.fixture
def session(sessions: PageSessions) -> PageSession:
    return sessions.of("visitor")


@pytest.fixture
def events(sessions: PageSessions, settings: Settings) -> CompareEvents:
    return CompareEvents(sessions, Votes(settings.votes))


@pytest.fixture
def kept(settings: Settings) -> Callable[[], list[KeptVote]]:
    """What stands in the file."""
    return lambda: kept_votes(settings.votes)


def _asked(events: CompareEvents, *, blind: bool) -> list[str]:
    """Every picture of the page while a question is answered."""
    return [page for page, _, _ in events.ask(QUESTION, blind, Request())]


def _telling(session: PageSession) -> list[str]:
    """What would give a parser away: names, settings, colours, numbers of chunks."""
    report = session.turns[-1].report
    assert report is not None
    columns = [text for one in report.columns for text in (one.name, str(one.parser["class"]))]
    titles = [one.title for one in PRESETS.values()]
    return [*columns, *titles, "rn-c1", "rn-c2", "rn-c3", "rn-config", "rn-hit", "rn-effort"]


def test_before_the_vote_nothing_in_the_page_tells_the_parsers_apart(
    events: CompareEvents, session: PageSession
) -> None:
    *growing, answered = _asked(events, blind=True)
    for text in _telling(session):
        assert text not in answered
    titles = [one.title for one in PRESETS.values()]
    for page in growing:
        assert not [title for title in titles if title in page]
        assert "rn-neutral" in page
        assert "chunk" not in page
    for letter in "ABC":
        assert f"Answer {letter}" in answered
    assert "The machine is red." in answered


def test_failures_and_stopped_answers_give_no_name_away(
    make_column: Callable[..., Column], make_report: Callable[..., ComparisonReport]
) -> None:
    columns = [make_column(name="fixed", error="token-overlap: no chunk")]
    columns += [make_column(name=name, title=f"{name} title") for name in ("heading", "page")]
    columns += [make_column(name="semantic", error="cancelled")]
    order = ("semantic", "fixed", "page", "heading")
    stopped = {"semantic": "It rai"}
    turn = Turn(1, "Why?", make_report(*columns), None, None, order, stopped)
    html = history([turn], ready=True)
    assert turn.hidden
    assert "It rai" in html
    assert "No answer came" in html
    for text in ("token-overlap", "cancelled", "page title", "Fixed size", "12 chunks", "1,400"):
        assert text not in html


def test_growing_columns_without_names_say_no_number(events: CompareEvents) -> None:
    assert isinstance(events, CompareEvents)
    growing = (Growing("fixed", 7, "It"), Growing("heading", ended=True, stopped=True))
    html = history((), ready=True, asking=Asking(4, "Why?", growing, blind=True))
    assert "7" not in html
    assert 'aria-label="Stop Answer A"' in html
    assert "Stop Answer B" not in html
    assert "stopped" in html


def test_the_order_of_columns_changes_from_question_to_question(session: PageSession) -> None:
    orders = set()
    for _ in range(30):
        list(session.stream(QUESTION, blind=True))
        orders.add(session.turns[-1].order)
    assert {frozenset(order) for order in orders} == {frozenset(THREE.parsers)}
    assert len(orders) > 1


def test_a_blind_vote_shows_names_and_numbers_and_is_kept(
    events: CompareEvents, session: PageSession, kept: Callable[[], list[KeptVote]]
) -> None:
    _asked(events, blind=True)
    order = session.turns[-1].order
    page, panel = events.pick(Request(), Click(act="best", turn=1, verdict=2, voter=SECRET))
    winner = PRESETS[order[1]].title
    assert f"B ({winner}) is best" in page
    assert f"B · {winner}" in page
    assert page.index("A · ") < page.index("B · ") < page.index("C · ")
    assert "context token" in page
    assert "rn-choice" not in page
    assert "1 of 1" in panel
    [vote] = kept()
    assert (vote.kind, vote.blind, vote.winners) == ("best", True, (order[1],))
    assert vote.parsers == order
    assert all(vote.fingerprints)


@pytest.mark.parametrize(
    ("verdict", "said", "winners"), [("tie", "a tie", 3), ("poor", "all answers are poor", 0)]
)
def test_a_tie_and_poor_answers_are_votes_too(
    events: CompareEvents, kept: Callable[[], list[KeptVote]], verdict: str, said: str, winners: int
) -> None:
    _asked(events, blind=True)
    page, _ = events.pick(Request(), Click(act="best", turn=1, verdict=verdict, voter=SECRET))
    assert said in page
    [vote] = kept()
    assert len(vote.winners) == winners


def test_a_second_vote_on_known_names_does_not_count(
    events: CompareEvents, kept: Callable[[], list[KeptVote]]
) -> None:
    _asked(events, blind=True)
    events.pick(Request(), Click(act="best", turn=1, verdict=1, voter=SECRET))
    before = kept()
    _Skipped.assert_of(events.pick(Request(), Click(act="best", turn=1, verdict=2, voter=SECRET)))
    assert kept() == before


def test_an_answer_is_marked_marked_otherwise_and_taken_back(
    events: CompareEvents, kept: Callable[[], list[KeptVote]]
) -> None:
    assert 'aria-pressed="true"' not in _asked(events, blind=False)[-1]
    said = []
    for verdict in ("yes", "no", "no"):
        page, _ = events.pick(
            Request(), Click(act="helpful", turn=1, column=2, verdict=verdict, voter=SECRET)
        )
        said.append((page.count('aria-pressed="true"'), kept()))
    assert [count for count, _ in said] == [1, 1, 0]
    assert [[vote.winners for vote in votes] for _, votes in said] == [[("heading",)], [()], []]


@pytest.mark.parametrize(
    "data",
    [
        {"act": "best", "turn": 1, "verdict": 4},
        {"act": "best", "turn": 1, "verdict": "0"},
        {"act": "best", "turn": 1, "verdict": "-1"},
        {"act": "best", "turn": 1, "verdict": "fixed"},
        {"act": "best", "turn": 9, "verdict": 1},
        {"act": "best", "turn": "1e0", "verdict": 1},
        {"act": "best", "turn": "\u0661", "verdict": 1},
        {"act": "helpful", "turn": 1, "column": 1, "verdict": "yes"},
        {"act": "helpful", "turn": 2, "column": 0, "verdict": "yes"},
        {"act": "helpful", "turn": 2, "column": 4, "verdict": "yes"},
        {"act": "helpful", "turn": 2, "column": 1, "verdict": "true"},
        {"act": "best", "turn": 2, "verdict": 1},
        {"act": "<script>", "turn": 1, "verdict": 1},
        {},
    ],
)
def test_what_the_page_never_offers_is_ignored(
    events: CompareEvents,
    session: PageSession,
    kept: Callable[[], list[KeptVote]],
    data: dict[str, Any],
) -> None:
    _asked(events, blind=True)
    _asked(events, blind=False)
    before = session.turns
    _Skipped.assert_of(events.pick(Request(), Click(**data)))
    assert session.turns == before
    assert kept() == []


@pytest.mark.parametrize("data", [None, [], "best", {"act": ["best"], "turn": {"a": 1}}, 7])
def test_data_of_any_shape_is_ignored(events: CompareEvents, data: Any) -> None:
    event = Click()
    event._data = data
    _asked(events, blind=True)
    _Skipped.assert_of(events.pick(Request(), event))
    assert events.stop_one(Request(), event) is None


def test_a_vote_that_cannot_be_kept_is_said_and_counts_on_the_page(
    events: CompareEvents,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    (tmp_path / "rag_nodes_votes").write_text("in the way")
    assert settings.votes.startswith("./rag_nodes_votes/")
    said: list[str] = []
    monkeypatch.setattr("gradio.Warning", said.append)
    _asked(events, blind=True)
    page, panel = events.pick(Request(), Click(act="best", turn=1, verdict=1, voter=SECRET))
    assert said == [NOT_KEPT]
    assert "Your vote:" in page
    assert "cannot be read" in panel
    assert str(tmp_path) not in panel + page + NOT_KEPT


def test_one_visitor_cannot_fill_the_file(
    events: CompareEvents, kept: Callable[[], list[KeptVote]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_nodes.apps.visitors.turns.MOST_VOTES", 2)
    said: list[str] = []
    monkeypatch.setattr("gradio.Warning", said.append)
    pages = []
    for number in (1, 2, 3):
        _asked(events, blind=True)
        vote = Click(act="best", turn=number, verdict=1, voter=SECRET)
        pages.append(events.pick(Request(), vote)[0])
    assert said == [TOO_MANY]
    assert [page.count("Your vote:") for page in pages] == [1, 2, 3]
    assert len(kept()) == 2
    events.clear(Request())
    _asked(events, blind=True)
    events.pick(Request(), Click(act="best", turn=4, verdict=1, voter=SECRET))
    assert len(kept()) == 2


def test_only_ones_own_votes_are_deleted_and_only_after_asking(
    events: CompareEvents, session: PageSession, kept: Callable[[], list[KeptVote]]
) -> None:
    _asked(events, blind=False)
    for voter in (SECRET, SECRET[::-1]):
        column = 1 if voter == SECRET else 2
        sent = Click(act="helpful", turn=1, column=column, verdict="yes", voter=voter)
        events.pick(Request(), sent)
    _, panel = events.change_votes(Request(), Click(act="delete", voter=SECRET))
    assert 'data-act="deleted"' in panel
    assert len(kept()) == 2
    _, panel = events.change_votes(Request(), Click(act="keep", voter=SECRET))
    assert 'data-act="deleted"' not in panel
    page, _ = events.change_votes(Request(), Click(act="deleted", voter=SECRET))
    assert [one.winners for one in kept()] == [("heading",)]
    assert 'aria-pressed="true"' not in page
    assert session.turns[-1].marks == {}


def test_cleared_questions_take_no_vote(
    events: CompareEvents, kept: Callable[[], list[KeptVote]]
) -> None:
    _asked(events, blind=True)
    events.clear(Request())
    _Skipped.assert_of(events.pick(Request(), Click(act="best", turn=1, verdict=1)))
    assert kept() == []


def test_one_column_alone_is_never_hidden(
    events: CompareEvents, session: PageSession, settings: Settings
) -> None:
    assert settings.votes
    session.load([], Choice(("fixed",)), ignore)
    assert "Fixed size" in _asked(events, blind=True)[-1]


def test_old_questions_come_back_on_demand_and_the_end_is_said(
    events: CompareEvents, session: PageSession
) -> None:
    for number in range(1, MOST_TURNS + 3):
        session.history.add(Turn(number, f"Question {number}.", None, "no", None))
    page, _ = events.pick(Request(), Click(act="earlier"))
    assert page.count("rn-turn") == 2 * AT_FIRST
    assert f"Show earlier ({MOST_TURNS - 2 * AT_FIRST})" in page
    assert f"last {MOST_TURNS} questions" in page
    assert _asked(events, blind=False)[-1].count('class="rn-turn"') == AT_FIRST
    assert session.turns[0].question == "Question 4."


def test_one_answer_is_stopped_and_the_others_are_written_to_their_end(
    settings: Settings, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    session = PageSession(settings, local_models=True)
    (tmp_path / "a.md").write_text("The machine is red.", encoding="utf-8")
    models = {"api_base": openai_server.base, "api_key": SecretStr("any")}
    session.load([tmp_path / "a.md"], replace(THREE, **models), ignore)
    openai_server.faults.append(Fault())  # the question is embedded
    openai_server.fail(Fault(body="slow"), times=3)
    looking = session.stream(QUESTION, blind=True)
    first = next(looking)
    while not all(one.found for one in next(looking)):
        pass
    for turn, column in ((2, 1), (1, 0), (1, 4), (1, 2)):
        session.stop_one(turn, column)
    assert [one.stopped for one in next(looking)] == [False, True, False]
    openai_server.reset()  # lets the others go
    for _ in looking:
        pass
    [turn] = session.turns
    assert turn.stopped == {first[1].name: ""}
    assert [one.answer is not None for one in turn.columns] == [True, False, True]
    assert turn.hidden
    session.close()


class _Skipped:
    """Gradio's way to say that nothing changes."""

    @staticmethod
    def assert_of(values: tuple[Any, ...]) -> None:
        assert all(value == {"__type__": "update"} for value in values)
