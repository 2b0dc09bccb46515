"""The verdict: questions in, a run that can be stopped, and why an answer was missed."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr
import pytest
from hostile_views import PAYLOADS, inert, shown
from pydantic import SecretStr
from visits import VISITOR, Click, Request, visiting, written

from rag_nodes.apps.tabs.chunks.events import OUTPUTS, ChunksEvents
from rag_nodes.apps.tabs.evaluate.asked import asked
from rag_nodes.apps.tabs.evaluate.matrix import MOST, explained, matrix
from rag_nodes.apps.tabs.evaluate.running import VerdictEvents
from rag_nodes.apps.tabs.evaluate.tab import _html, _json
from rag_nodes.apps.tabs.evaluate.verdict import verdict, working
from rag_nodes.apps.view.html import Html
from rag_nodes.apps.visitors import evaluating as evaluating_module
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.session import PageSessions
from rag_nodes.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.dataset import Dataset, Unplaced
from rag_nodes.evaluation.plan import EvaluationPlan, Step
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.settings import Settings
from rag_nodes.workspace.limits import (
    MOST_ANSWERS,
    MOST_BYTES,
    MOST_YAML,
    check_amount,
    check_plan,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openai_server import OpenAIServer

    from rag_nodes.apps.visitors.session import PageSession

TWO = Choice(("fixed", "heading"), options={"fixed": {"chunk_size": 300, "chunk_overlap": 40}})
TEXT = "\n\n".join(
    f"# Day {n}\n\nOn day {n} the {what} was seen at the pier. Nobody came to see it. It rained."
    for n, what in enumerate(("heron", "otter", "seal", "badger", "osprey", "lynx") * 4)
)
SHEET = (
    "question,quote\n"
    "Where was the heron on day 0?,On day 0 the heron was seen at the pier.\n"
    "Where was the otter on day 7?,On day 7 the otter was seen at the pier.\n"
    "Who ate the cake?,The cake was eaten by the mayor of the island.\n"
)
SMALL = ("60, 120", "40", 40.0)


@pytest.fixture
def sessions(settings: Settings, tmp_path: Path) -> Iterator[PageSessions]:
    with visiting(settings, tmp_path / "days.md", TEXT, TWO) as opened:
        yield opened


@pytest.fixture
def session(sessions: PageSessions) -> PageSession:
    return sessions.of(VISITOR)


@pytest.fixture
def events(sessions: PageSessions) -> VerdictEvents:
    return VerdictEvents(sessions, ChunksEvents(sessions), None)


@pytest.fixture
def sheet(tmp_path: Path) -> str:
    return str(written(tmp_path / "asked.csv", SHEET))


def _run(events: VerdictEvents, *plan: Any) -> list[tuple[Any, ...]]:
    return list(events.run(*(plan or SMALL), Request()))


def _cells(html: str) -> list[dict[str, str]]:
    tags = re.findall(r'<button type="button" class="rn-cell[^"]*"([^>]*)>', html)
    return [dict(re.findall(r'data-(\w+)="([^"]*)"', one)) for one in tags]


def test_questions_are_taken_and_those_without_a_place_are_listed_with_the_reason(
    events: VerdictEvents, session: PageSession, sheet: str
) -> None:
    told, run = events.upload(sheet, Request())
    assert "2 questions about 1 document" in told
    assert "1 question left out" in told
    assert "Who ate the cake?" in told
    assert "mayor" in told
    assert run["interactive"] if isinstance(run, dict) else run.interactive
    assert len(session.questions) == 2


def test_a_run_says_how_far_it_is_and_then_the_verdict_with_every_question_in_every_column(
    events: VerdictEvents, session: PageSession, sheet: str
) -> None:
    events.upload(sheet, Request())
    first, *_, last = _run(events)
    assert 'aria-busy="true"' in first[0]
    html = last[0]
    assert "rn-verdict-first" in html
    assert "All numbers" in html
    assert "Fixed size at 40" in html
    assert html.count("<svg") == 2
    assert len(_cells(html)) == 2 * 4
    assert not session.evaluator.running


def test_drafts_put_no_parser_first_on_the_page_until_some_are_accepted(
    events: VerdictEvents, session: PageSession, tmp_path: Path
) -> None:
    lines = [line for line in TEXT.splitlines() if line.startswith("On day")][:8]
    drafts = [
        {"id": f"d{n}", "question": f"What of day {n}?", "draft": True, "gold": [{"text": line}]}
        for n, line in enumerate(lines)
    ]
    told, _ = events.upload(str(written(tmp_path / "drafts.json", json.dumps(drafts))), Request())
    assert "all of them drafts, which cannot choose" in told
    html = _run(events)[-1][0]
    assert "Drafts cannot choose: nobody has accepted any of these questions" in html
    assert "All numbers" in html
    assert "<svg" not in html
    assert len(_cells(html)) == 8 * 4
    for name in ("d1", "d5", "d6"):
        session.questions.change(name, lambda one: replace(one, draft=False))
    html = _run(events)[-1][0]
    assert "5 drafts that nobody has accepted were left out." in html
    assert html.count("<svg") == 2
    assert len(_cells(html)) == 3 * 4


def test_another_embedding_is_measured_without_an_llm(
    openai_server: OpenAIServer, tmp_path: Path, sheet: str
) -> None:
    settings = Settings(
        embedding="lexical", llm="openai", api_base=openai_server.base, api_key=SecretStr("any")
    )
    choice = replace(TWO, vector="summary")
    with visiting(settings, tmp_path / "days.md", TEXT, choice) as sessions:
        events = VerdictEvents(sessions, ChunksEvents(sessions), None)
        events.upload(sheet, Request())
        asked_before = len(openai_server.requests)
        _run(events, "60", "", 0)
        found = sessions.of(VISITOR).evaluator.verdict
    assert found is not None
    assert found.report.settings["vector"] == "summary"
    assert [row.error for row in found.report.rows] == [None] * 2
    assert len(openai_server.requests) == asked_before


def test_a_cell_says_why_and_leads_to_the_chunk_with_the_answer(
    events: VerdictEvents, sheet: str
) -> None:
    events.upload(sheet, Request())
    cells = _cells(_run(events, "3", "", 0)[-1][0])
    told = events.explain(Request(), Click(**cells[0]))
    assert "% of the answer was read within 3 tokens" in told
    assert "too long" in told
    assert "raise the budget" in told
    assert "rn-begins" in told
    assert re.search(r"<mark>On day \d the \w+ was seen at the pier.</mark>", told)
    found = re.search(r'class="rn-open"([^>]*)>', told)
    assert found
    place = dict(re.findall(r'data-(\w+)="([^"]*)"', found[1]))
    tabs, *drawn = events.open(Request(), Click(**place))
    assert tabs.selected == "chunks"
    chosen = re.search(r'class="[^"]*rn-chosen[^"]*"', drawn[-1])
    assert chosen


def test_kinds_of_questions_have_their_own_numbers(
    events: VerdictEvents, session: PageSession, sheet: str
) -> None:
    events.upload(sheet, Request())
    assert "By kind of question" not in _run(events, "60", "", 0)[-1][0]
    dataset = session.questions.dataset
    assert dataset is not None
    session.questions.change(dataset.questions[0].id, lambda one: replace(one, kind="<b>fact"))
    html = _run(events, "60", "", 0)[-1][0]
    _, kinds = html.split("By kind of question: recall@60 of 2 kinds")
    assert kinds.partition("</details>")[0].count("<td>1</td>") == 2
    assert "&lt;b&gt;fact" in kinds
    assert "By document" not in html


def test_a_place_that_is_drawn_in_chunks_of_another_size_says_so(
    events: VerdictEvents, session: PageSession, sheet: str
) -> None:
    events.upload(sheet, Request())
    cells = _cells(_run(events, "3", "", 0)[-1][0])
    assert "chunks of another size" not in events.explain(Request(), Click(**cells[0]))
    found = session.evaluator.verdict
    assert found is not None
    rows = tuple(
        replace(row, parser={**row.parser, "fingerprint": "0"}) for row in found.report.rows
    )
    session.evaluator._verdict = replace(found, report=replace(found.report, rows=rows))
    assert "chunks of another size" in events.explain(Request(), Click(**cells[0]))


@pytest.mark.parametrize(
    "sent", [{}, {"question": "99", "row": "0"}, {"question": "0", "row": "99"}, {"row": "x"}]
)
def test_a_click_on_no_cell_is_answered_in_words(
    events: VerdictEvents, sheet: str, sent: dict[str, str]
) -> None:
    assert "gone" in events.explain(Request(), Click(**sent))
    events.upload(sheet, Request())
    _run(events, "60", "", 0)
    assert "gone" in events.explain(Request(), Click(**sent))


@pytest.mark.parametrize(
    "sent",
    [{}, {"strategy": "fixed", "document": "none", "start": "1"}, {"strategy": "x", "start": "-1"}],
)
def test_a_click_that_names_no_place_opens_nothing(
    events: VerdictEvents, sent: dict[str, str]
) -> None:
    values = events.open(Request(), Click(**sent))
    assert len(values) == OUTPUTS + 1
    assert all("__type__" in value for value in values)


def test_the_saved_run_is_read_again_and_the_saved_page_begins_with_the_decision(
    events: VerdictEvents, sheet: str
) -> None:
    events.upload(sheet, Request())
    with pytest.raises(gr.Error, match="start the evaluation again"):
        events.save("json", _json)(Request())
    _run(events)
    saved = Path(events.save("json", _json)(Request()))
    report = EvaluationReport.load(saved)
    assert saved.name == "evaluation-asked.json"
    assert all(len(row.outcomes) == 2 for row in report.rows)
    page = Path(events.save("html", _html)(Request())).read_text("utf-8")
    assert f"<h1>{report.decision.words}</h1>" in page
    assert "<script" not in page


def test_a_run_that_is_stopped_leaves_the_verdict_before_it(
    events: VerdictEvents, session: PageSession, sheet: str
) -> None:
    events.upload(sheet, Request())
    _run(events, "60", "", 0)
    before = session.evaluator.verdict
    running = events.run(*SMALL, Request())
    next(running)
    next(running)
    assert session.working
    events.stop(Request())
    last = list(running)[-1]
    assert "Stopped" in last[0]
    assert "rn-verdict-first" in last[0]
    assert session.evaluator.verdict is before
    assert not session.working


def test_whoever_leaves_ends_the_run(
    events: VerdictEvents, session: PageSession, sheet: str
) -> None:
    events.upload(sheet, Request())
    running = events.run(*SMALL, Request())
    next(running)
    next(running)
    running.close()
    assert not session.evaluator.running
    assert session.evaluator.verdict is None


def test_a_second_run_of_one_visitor_is_refused_while_the_first_goes_on(
    events: VerdictEvents, sheet: str
) -> None:
    events.upload(sheet, Request())
    running = events.run(*SMALL, Request())
    next(running)
    next(running)
    assert "runs already" in _run(events)[-1][0]
    assert "rn-verdict-first" in list(running)[-1][0]


def test_other_documents_end_the_run_and_take_questions_and_verdict_along(
    events: VerdictEvents, session: PageSession, sheet: str, tmp_path: Path
) -> None:
    events.upload(sheet, Request())
    _run(events, "60", "", 0)
    session.load([written(tmp_path / "other.md", "# Other\n\nText.")], TWO, lambda _: None)
    assert session.evaluator.verdict is None
    told, *_, downloads = events.refresh(Request())
    assert "None yet" in told
    assert not downloads.visible
    assert "no questions yet" in _run(events)[-1][0]


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (("many", "", 0), "Budgets must be numbers"),
        (("", "", 0), "no budget"),
        (("60", "1", 0), "size 1 is out of range"),
        (("60", "", 5), "equal size 5 is out of range"),
        (("999999", "", 0), "out of range"),
        ((",".join(map(str, range(50, 60))), "", 0), "at most 8"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_with_what_can(
    events: VerdictEvents, sheet: str, plan: tuple[Any, ...], said: str
) -> None:
    events.upload(sheet, Request())
    assert said in _run(events, *plan)[-1][0]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "x,y\n1,2\n", "no known format"),
        ("a.json", "{", "not valid JSON"),
        ("a.txt", "hello", "is of no kind that has questions"),
        ("a.json", '{"tests": 1}', "no known format"),
    ],
)
def test_a_file_that_is_no_set_of_questions_is_refused_without_the_path_of_the_server(
    events: VerdictEvents, session: PageSession, tmp_path: Path, name: str, content: str, said: str
) -> None:
    told, _ = events.upload(str(written(tmp_path / name, content)), Request())
    assert said in told
    assert str(tmp_path) not in told
    assert session.questions.dataset is None


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"question": "Who?", "gold": "It rained."}] * 1001, "1,001 questions, over the 1,000"),
        ([{"question": "Who?", "gold": ["It rained."] * 5001}], "5,001 quotes, over the 5,000"),
        ([{"question": "Who?", "gold": "x" * 5001}], "5,001 characters in one quote"),
    ],
)
def test_too_much_to_look_up_is_refused_before_it_is_looked_up(
    events: VerdictEvents, tmp_path: Path, rows: list[dict[str, Any]], said: str
) -> None:
    path = written(tmp_path / "many.json", json.dumps(rows))
    assert said in events.upload(str(path), Request())[0]


@pytest.mark.parametrize(("name", "size"), [("a.json", MOST_BYTES), ("a.yaml", MOST_YAML)])
def test_a_file_that_is_too_large_is_not_read(
    events: VerdictEvents, tmp_path: Path, name: str, size: int
) -> None:
    told, _ = events.upload(str(written(tmp_path / name, " " * (size + 1))), Request())
    assert f"over {size / 1_000_000:g} MB" in told


def test_more_than_one_visitor_may_have_measured_is_refused_with_what_to_do(
    events: VerdictEvents, session: PageSession, sheet: str
) -> None:
    events.upload(sheet, Request())
    dataset = session.questions.dataset
    assert dataset is not None
    one = dataset.questions[0]
    many = tuple(replace(one, id=str(n)) for n in range(MOST_ANSWERS // 13 + 1))
    with pytest.raises(DatasetError, match="take fewer sizes"):
        check_amount(replace(dataset, questions=many), 2, EvaluationPlan())
    long = [document.model_copy() for document in dataset.documents]
    long[0].set_content("x" * 8_000_000)
    with pytest.raises(DatasetError, match="characters in 13 rows"):
        check_amount(Dataset("long", tuple(long), (one,)), 2, EvaluationPlan())
    with pytest.raises(ConfigurationError, match="20 to 100,000 tokens"):
        check_plan(EvaluationPlan(sizes=(3,)))


def test_a_fault_of_ours_is_said_and_the_next_run_goes_on(
    events: VerdictEvents, sheet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    events.upload(sheet, Request())
    with monkeypatch.context() as patch:
        patch.setattr(evaluating_module, "evaluate", broken)
        assert "a fault of the app (ZeroDivisionError)" in _run(events)[-1][0]
    assert "rn-verdict-first" in _run(events, "60", "", 0)[-1][0]


def test_a_run_asks_nothing_of_the_thread_that_answers(
    events: VerdictEvents, session: PageSession, sheet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def noting(*_: object, **__: object) -> None:
        threads.append(threading.current_thread())
        raise DatasetError("enough")

    events.upload(sheet, Request())
    monkeypatch.setattr(evaluating_module, "evaluate", noting)
    assert "enough" in _run(events)[-1][0]
    assert threads != [threading.current_thread()]
    assert session.ask("Where was the heron?").report is not None


def test_progress_names_the_row_and_the_time_left() -> None:
    html = working(Step("ask", "Fixed size at 40", 30, 120, 75.2))
    assert "Asking Fixed size at 40" in html
    assert "30 of 120 questions, about 1 min 16 s left" in html
    assert "Waiting for its turn" in working(None)


def test_many_questions_are_the_hardest_on_the_page(
    events: VerdictEvents, session: PageSession, sheet: str
) -> None:
    events.upload(sheet, Request())
    _run(events, "60", "", 0)
    found = session.evaluator.verdict
    assert found is not None
    report = found.report
    many = MOST + 20
    rows = tuple(replace(row, outcomes=row.outcomes[:1] * many) for row in report.rows)
    report = replace(report, rows=rows, questions=(report.questions[0],) * many)
    html = matrix(report, {})
    assert html.count("<tr>") == MOST + 1
    assert "20 easier questions can be found in the report" in html


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_text_in_a_verdict_is_shown_and_nothing_of_it_becomes_an_element(
    payload: str, hostile: EvaluationReport
) -> None:
    question = {**hostile.questions[0], "text": payload, "kind": payload[:40]}
    gold = [[{**one, "text": payload} for one in answer] for answer in question["gold"]]
    question |= {"gold": gold, "around": {**question["around"], "text": payload * 3}}
    names = tuple({**one, "name": payload} for one in hostile.documents)
    rows = tuple(replace(row, note=payload) for row in hostile.rows)
    report = replace(
        hostile,
        questions=(question, *hostile.questions[1:]),
        documents=names,
        rows=rows,
        verdict=(payload, payload),
        dataset={**hostile.dataset, "name": payload},
    )
    left_out = asked(Dataset(payload, (), (), (Unplaced("a", payload, payload, payload),)))
    told = explained(report, question, report.rows[0], Html(""))
    for html in (_without_pictures(verdict(report, {})), told, left_out):
        assert shown(payload) in inert(html)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> EvaluationReport:
    """The report of a small run."""
    from rag_nodes.settings import Settings

    folder = tmp_path_factory.mktemp("hostile")
    settings = Settings(embedding="lexical", llm="extractive")
    with visiting(settings, folder / "days.md", TEXT, TWO) as opened:
        events = VerdictEvents(opened, ChunksEvents(opened), None)
        events.upload(str(written(folder / "asked.csv", SHEET)), Request())
        list(events.run("3", "", 0, Request()))
        found = opened.of(VISITOR).evaluator.verdict
    assert found is not None
    return found.report


def _without_pictures(html: str) -> Html:
    """Pictures hold names of columns alone; their own test is that of the page."""
    return Html(re.sub(r"<svg.*?</svg>", "", html, flags=re.DOTALL))
