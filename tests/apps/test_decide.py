"""What to take: said at once, found out in the background, shown with what it rests on."""

import json
import threading
import weakref
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from hostile_views import Seen
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from openai_server import OpenAIServer
from splitters import WindowSplitter
from visits import QUESTION, VISITOR, Click, Request, ignore, visiting, written

from rag_nodes.apps.tabs import decide
from rag_nodes.apps.tabs.decide import DecideEvents
from rag_nodes.apps.tabs.document import DocumentEvents
from rag_nodes.apps.visitors import deciding
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.apps.visitors.turns import Asking
from rag_nodes.core.errors import DatasetError
from rag_nodes.core.processes import Leases
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation import recommend
from rag_nodes.evaluation.drafts.probes import probes
from rag_nodes.evaluation.engines import offered_columns
from rag_nodes.evaluation.page import matrix
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.run import standing
from rag_nodes.models import get_embedding
from rag_nodes.operations.workspace.limits import MOST_CHARACTERS

ONE = Choice(("fixed",))
ANIMALS = ("heron", "otter", "seal", "badger", "osprey", "lynx")
TEXT = "\n\n".join(
    f"# Day {n}\n\nOn day {n} the {ANIMALS[n % 6]} was seen at the pier. Nobody came to see it. "
    f"The mayor of the island ate {n} cakes, and it rained until the lamp number {n} was lit."
    for n in range(24)
)
SMALL = EvaluationPlan(budgets=(60,), sizes=(40, 400), target=None, draws=200)
OUTPUTS = (
    "key", "lengths", "said", "start", "asked", "stop", "timer", "use", "own", "setting", "code",
    "script", "plot", "heading", "table", "why", "downloads",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _small_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, in this process, two presets at two sizes, by few passages."""
    monkeypatch.setattr(deciding, "probes", partial(probes, count=8))
    monkeypatch.setattr(deciding, "QUIET", 0.0)
    monkeypatch.setattr(deciding, "Pool", lambda *_, **__: None)
    monkeypatch.setattr(deciding, "SWEPT", ("recursive", "heading"))
    monkeypatch.setattr(deciding, "EvaluationPlan", lambda **_: SMALL)


@pytest.fixture
def sessions(settings: Settings, tmp_path: Path) -> Iterator[PageSessions]:
    with visiting(settings, tmp_path / "days.md", TEXT, ONE) as opened:
        yield opened


@pytest.fixture
def session(sessions: PageSessions) -> PageSession:
    return sessions.of(VISITOR)


@pytest.fixture
def events(sessions: PageSessions) -> DecideEvents:
    return _events(sessions)


def _events(sessions: PageSessions) -> DecideEvents:
    tab = SimpleNamespace(events=DocumentEvents(sessions))
    return DecideEvents(sessions, tab)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _earlier() -> None:
    """Sweeps of sessions that other tests left wait for their time, and not for ours."""
    _EARLIER.update(threading.enumerate())


_EARLIER = weakref.WeakSet[threading.Thread]()


def _ended(session: PageSession) -> None:
    for thread in threading.enumerate():
        if thread.name == "sweep" and thread not in _EARLIER:
            thread.join(60)
    assert not session.decider.running


def _text(html: str) -> str:
    return Seen(html).text


def _page(events: DecideEvents) -> dict[str, Any]:
    return dict(zip(OUTPUTS, events.refresh("", Request()), strict=True))


def _asked(tmp_path: Path, count: int, *, draft: bool = False) -> Path:
    lines = [line for line in TEXT.splitlines() if line.startswith("On day")][:count]
    rows = [
        {"id": f"q{n}", "question": f"Who was seen on day {n}?", "draft": draft,
         "gold": [{"text": line.partition(".")[0]}]}
        for n, line in enumerate(lines)
    ]  # fmt: skip
    return written(tmp_path / "asked.json", json.dumps(rows))


def _take(session: PageSession, path: Path) -> None:
    from rag_nodes.apps.visitors.questions import read_questions

    session.questions.take(read_questions(path, session.documents))


def test_an_upload_is_told_what_stands_at_once_and_what_was_found_by_itself(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()

    def later(*given: Any, **more: Any) -> EvaluationReport:
        assert go.wait(60)
        return recommend(*given, **more)

    monkeypatch.setattr(deciding, "recommend", later)
    with visiting(settings, tmp_path / "days.md", TEXT, ONE) as opened:
        session = opened.of(VISITOR)
        events = DecideEvents(opened, SimpleNamespace(events=DocumentEvents(opened)))  # type: ignore[arg-type]
        first = _page(events)
        assert standing().words in " ".join(_text(first["said"]).split())
        assert "Not tried yet" in first["said"]
        assert "<h2>Nothing was measured on these documents yet.</h2>" in first["said"]
        assert first["timer"].active
        assert "PARSER = get_parser(" in first["code"]
        go.set()
        _ended(session)
        found = session.decider.verdict
        assert found is not None
        then = _page(events)
    assert found.decision.words.partition(". ")[0] in _text(then["said"])
    assert found.decision.certainty in _text(then["said"])
    assert found.decision.certainty.startswith("Likely: ")
    assert not then["timer"].active
    assert str(then["plot"]).count("<svg") == 2
    assert "recursive at 400" in then["why"]


def test_the_lengths_of_answers_are_shown_by_the_document_and_decide_anew(
    events: DecideEvents, session: PageSession
) -> None:
    _ended(session)
    lengths = _page(events)["lengths"]
    assert str(lengths).count('aria-pressed="true"') == 1
    assert str(lengths).count("<q ") == 3
    assert "#" not in str(lengths).replace("&#", "")
    first = session.decider.verdict
    drawn = dict(zip(OUTPUTS, events.choose(Request(), Click(length="page")), strict=True))
    assert "Not tried yet" in drawn["said"]
    _ended(session)
    second = session.decider.verdict
    assert second is not None
    assert "For answers of a page" in second.decision.words
    events.choose(Request(), Click(length="sentence"))
    assert not session.decider.running
    assert session.decider.verdict is first


def test_a_click_that_names_no_length_changes_none(
    events: DecideEvents, session: PageSession
) -> None:
    events.choose(Request(), Click(length="<b>"))
    assert session.decider.length == "sentence"


def test_a_sweep_rests_while_a_question_is_answered_and_goes_on_after_it(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "_RESTING", 0.01)
    rested, rest = threading.Event(), deciding.Decider._rest

    def resting(decider: deciding.Decider) -> None:
        rested.set()
        rest(decider)

    monkeypatch.setattr(deciding.Decider, "_rest", resting)
    with closing(PageSessions(settings)) as opened:
        session = opened.of(VISITOR)
        session.asking = Asking(1, QUESTION, (), quoted=True)
        session.load([written(tmp_path / "days.md", TEXT)], ONE, ignore)
        assert rested.wait(60)
        assert session.decider.resting
        assert (session.decider.step, session.decider.verdict) == (None, None)
        session.asking = None
        _ended(session)
        assert session.decider.verdict is not None


def test_a_page_says_that_settings_are_tried_for_others_first_and_looks_less_often(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, turn = threading.Event(), Leases(1)

    def take(what: str) -> Any:
        asked.set()
        return turn.take(what)

    monkeypatch.setattr(deciding, "_AT_ONCE", SimpleNamespace(take=take))
    with closing(PageSessions(settings)) as opened:
        session = opened.of(VISITOR)
        with turn.take("the sweep of another visitor"):
            session.load([written(tmp_path / "days.md", TEXT)], ONE, ignore)
            assert asked.wait(60)
            page = _page(_events(opened))
        _ended(session)
        assert session.decider.verdict is not None
    assert "Waits while settings are tried on other documents" in _text(page["said"])
    assert page["timer"].active
    assert page["timer"].value > decide._TICK


def test_a_sweep_goes_on_with_the_search_it_began_with_when_other_settings_are_applied(
    events: DecideEvents, session: PageSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    _ended(session)
    made, cutoffs = deciding.probes, []

    def later(*given: Any) -> Any:
        session.load([], replace(ONE, similarity_cutoff=0.9), ignore)
        return made(*given)

    def noted(*given: Any, **more: Any) -> EvaluationReport:
        cutoffs.append(more["plan"].options.similarity_cutoff)
        return recommend(*given, **more)

    monkeypatch.setattr(deciding, "probes", later)
    monkeypatch.setattr(deciding, "recommend", noted)
    events.choose(Request(), Click(length="page"))
    _ended(session)
    assert cutoffs == [None]


def test_drafts_decide_nothing_and_accepted_questions_do_once_there_are_ten(
    events: DecideEvents, session: PageSession, tmp_path: Path
) -> None:
    _ended(session)
    _take(session, _asked(tmp_path, 12, draft=True))
    session.decider.start()
    assert not session.decider.running
    assert session.decider.verdict.dataset.probed  # type: ignore[union-attr]
    assert not _page(events)["asked"].visible
    for n in range(3):
        session.questions.change(f"q{n}", lambda one: replace(one, draft=False))
    session.decider.start()
    assert not session.decider.running
    assert _page(events)["asked"].value == "Decide by my 3 questions"
    events.by_questions(Request())
    _ended(session)
    report = session.decider.verdict
    assert (report.dataset.questions, report.dataset.unaccepted) == (3, 9)
    for n in range(10):
        session.questions.change(f"q{n}", lambda one: replace(one, draft=False))
    session.decider.start()
    _ended(session)
    report = session.decider.verdict
    assert report.dataset.questions == 10
    page = _page(events)
    assert page["lengths"] == ""
    assert report.decision.words.partition(". ")[0] in _text(page["said"])


def test_a_line_of_the_table_leads_to_the_passage_in_its_document(
    events: DecideEvents, session: PageSession
) -> None:
    _ended(session)
    page = _page(events)
    report = session.decider.verdict
    values, names = page["table"].value["data"], page["table"].headers
    assert names[3:] == [row.name for row in matrix(report).rows]
    assert {cell[0] for line in values for cell in line[3:]} <= set("✓◐✂✗")
    assert not any(question.text in str(values) for question in report.questions)
    click = SimpleNamespace(_data={"row_value": [str(one) for one in values[0]]})
    tabs, *_, drawn = events.open(Request(), click)  # type: ignore[arg-type]
    assert tabs.selected == "document"
    assert "rn-gold" in str(drawn)
    for wrong in (None, [], ["x"], ["99999"], "1"):
        nothing = events.open(Request(), SimpleNamespace(_data={"row_value": wrong}))  # type: ignore[arg-type]
        assert all("__type__" in one for one in nothing)


def test_report_and_script_are_files(events: DecideEvents, session: PageSession) -> None:
    _ended(session)
    page = Path(events.save(Request())).read_text("utf-8")
    assert f"<h1>{session.decider.verdict.decision.headline[0]}</h1>" in page  # type: ignore[union-attr]
    code, script = events.use("fixed", Request())
    assert "get_parser('fixed'" in code
    assert Path(script).read_text("utf-8") == code
    code, script = events.use("", Request())
    compile(code, "script", "exec")
    assert Path(script).read_text("utf-8") == code


def test_of_a_length_that_the_documents_do_not_reach_it_is_said_that_there_is_no_example(
    settings: Settings, tmp_path: Path
) -> None:
    text = "# Rain\n\nIt rained all day, and the pump in the cellar ran the whole night."
    with visiting(settings, tmp_path / "short.md", text, ONE) as opened:
        tab = SimpleNamespace(events=DocumentEvents(opened))
        drawn = _text(_page(DecideEvents(opened, tab))["lengths"])  # type: ignore[arg-type]
        lengths = " ".join(drawn.split())
        assert lengths.count("no passage as long in these documents") == 3 - lengths.count(
            "such as"
        )
        assert "a page no passage as long" in lengths


def test_nothing_is_said_or_saved_before_a_document_is_there(settings: Settings) -> None:
    with closing(PageSessions(settings)) as opened:
        events = DecideEvents(opened, SimpleNamespace(events=None))  # type: ignore[arg-type]
        page = _page(events)
        assert "Load a document" in page["lengths"]
        assert page["said"] == ""
        with pytest.raises(gr.Error, match="Nothing was tried yet"):
            events.save(Request())


def test_other_documents_end_a_sweep_and_take_what_was_found_along(
    session: PageSession, tmp_path: Path
) -> None:
    _ended(session)
    before = session.decider.verdict
    session.load([], Choice(("heading",)), ignore)
    assert session.decider.verdict is before
    session.load([written(tmp_path / "other.md", TEXT * 2)], ONE, ignore)
    assert session.decider.verdict is None
    session.decider.stop()
    _ended(session)
    assert session.decider.error == deciding.STOPPED


def test_what_costs_money_is_tried_only_when_that_was_agreed_to(
    openai_server: OpenAIServer, settings: Settings, tmp_path: Path
) -> None:
    from pydantic import SecretStr

    paid = settings.model_copy(
        update={"embedding": "openai", "api_base": openai_server.base, "api_key": SecretStr("any")}
    )
    with visiting(paid, tmp_path / "days.md", TEXT, ONE) as opened:
        session = opened.of(VISITOR)
        events = DecideEvents(opened, SimpleNamespace(events=None))  # type: ignore[arg-type]
        assert not session.decider.running
        page = _page(events)
        assert "embeds about" in _text(page["said"])
        assert page["start"].visible
        asked = len(openai_server.requests)
        events.start(Request())
        _ended(session)
        assert len(openai_server.requests) > asked
        assert session.decider.verdict is not None


def test_columns_of_ones_own_are_tried_as_they_are_beside_the_presets(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer = offered_columns({"mine": WindowSplitter()})
    yours: list[str] = []

    def noted(*given: Any, in_use: list[str], **more: Any) -> EvaluationReport:
        yours.extend(in_use)
        return recommend(*given, in_use=in_use, **more)

    monkeypatch.setattr(deciding, "recommend", noted)
    with closing(PageSessions(settings, offer=offer)) as opened:
        session = opened.of(VISITOR)
        session.load([written(tmp_path / "days.md", TEXT)], Choice(("mine",)), ignore)
        _ended(session)
        names = {row.name for row in session.decider.verdict.rows}  # type: ignore[union-attr]
    assert yours == ["mine"]
    assert "mine" in names
    assert {"recursive at 40", "heading at 400", "retrieval"} <= names
    assert not any(name.startswith("mine at") for name in names)


def test_a_session_of_engines_alone_has_its_verdict_by_questions(
    settings: Settings, tmp_path: Path
) -> None:
    splitter = SentenceSplitter(chunk_size=60, chunk_overlap=0)
    index = VectorStoreIndex.from_documents(
        [Document(text=TEXT)], embed_model=get_embedding("lexical"), transformations=[splitter]
    )
    engine = index.as_query_engine(llm=MockLLM(), similarity_top_k=3)
    offer = offered_columns({"mine": engine})
    with closing(PageSessions(settings, offer=offer)) as opened:
        session = opened.of(VISITOR)
        session.load([written(tmp_path / "days.md", TEXT)], Choice(("mine",)), ignore)
        assert session.cuts is not None
        assert session.cuts.strategies == ()
        assert not session.decider.running
        page = _page(DecideEvents(opened, SimpleNamespace(events=None)))  # type: ignore[arg-type]
        assert "asks mine some 180 questions" in _text(page["said"])
        _take(session, _asked(tmp_path, 3))
        session.decider.start(told=True, by_questions=True)
        _ended(session)
        rows = session.decider.verdict.rows  # type: ignore[union-attr]
    assert [row.error for row in rows if row.column == "mine"] == [None]
    assert "retrieval" in {row.name for row in rows}


def test_large_documents_are_tried_with_fewer_presets_and_too_large_ones_not_at_all(
    session: PageSession,
) -> None:
    _ended(session)
    found = session.decider.verdict
    assert found is not None
    asked = probes(session.documents, 200)
    [document] = session.documents
    for share, count in ((8, 2), (4, 1)):
        document.set_content("x" * (MOST_CHARACTERS // share))
        assert len(deciding._swept(replace(asked), 0, SMALL)) == count
    document.set_content("x" * MOST_CHARACTERS)
    with pytest.raises(DatasetError, match="take fewer sizes"):
        deciding._swept(asked, 0, SMALL)


def test_a_fault_of_ours_is_said_and_can_be_tried_again(
    events: DecideEvents, session: PageSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    _ended(session)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(deciding, "recommend", broken)
        events.choose(Request(), Click(length="page"))
        _ended(session)
    assert "a fault of the app (ZeroDivisionError)" in _page(events)["said"]
    assert _page(events)["start"].value == "Try again"
    events.start(Request())
    _ended(session)
    assert session.decider.verdict is not None


def test_a_sweep_is_about_the_documents_it_began_with(
    session: PageSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def take(documents: Any, _: int) -> Any:
        asked.append(documents)
        raise DatasetError("enough")

    session.decider.forget()
    before = session.documents
    monkeypatch.setattr(deciding, "probes", take)
    monkeypatch.setattr(deciding, "pause", lambda _: session._documents.clear())
    session.decider.start()
    _ended(session)
    assert asked == [before]
