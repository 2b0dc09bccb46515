"""The decision: tested in the background, against the baseline, in the context of answers."""

import re
import runpy
import sys
import threading
import weakref
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document, VectorStoreIndex
from visits import Visitor, visiting, write_text

from rag_nodes.apps.panes.evidence import against, details_html, place_of, table_html
from rag_nodes.apps.visitors import deciding
from rag_nodes.apps.visitors.deciding import column_of
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.core.errors import DatasetError
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.columns import REFERENCE
from rag_nodes.evaluation.drafts.probes import probes
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.page import matrix
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.parsers import get_parser
from rag_nodes.text.spans import Span

ANIMALS = ("heron", "otter", "seal", "badger", "osprey", "lynx")
TEXT = "\n\n".join(
    f"# Day {n}\n\nOn day {n} the {ANIMALS[n % 6]} was seen at the pier. Nobody came to see it. "
    f"The mayor of the island ate {n} cakes, and it rained until the lamp number {n} was lit."
    for n in range(24)
)
_EARLIER = weakref.WeakSet[threading.Thread]()


@pytest.fixture(autouse=True)
def _small_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, in this process, two presets at two sizes, by few passages."""
    _EARLIER.update(threading.enumerate())
    plan_of = deciding._plan_of
    monkeypatch.setattr(deciding, "probes", partial(probes, count=8))
    monkeypatch.setattr(deciding, "QUIET", 0.0)
    monkeypatch.setattr(deciding, "Pool", lambda *_, **__: None)
    monkeypatch.setattr(deciding, "SWEPT", ("recursive", "heading"))
    monkeypatch.setattr(
        deciding, "_plan_of", lambda given: replace(plan_of(given), sizes=(40, 400), draws=200)
    )


@pytest.fixture
def visitor(settings: Settings, tmp_path: Path) -> Iterator[Visitor]:
    with visiting(settings) as opened:
        opened.load(write_text(tmp_path / "days.md", TEXT))
        yield opened


def _arrive(visitor: Visitor) -> PageSession:
    for thread in threading.enumerate():
        if thread.name == "sweep" and thread not in _EARLIER:
            thread.join(100)
    assert not visitor.session.decider.running
    visitor.act("arrive")
    return visitor.session


def _accept(visitor: Visitor, count: int) -> None:
    """Label some questions."""
    [document] = visitor.session.documents
    for number in range(count):
        start = document.text.index(f"On day {number} the")
        end = document.text.index(".", start) + 1
        visitor.session.questions.mark(Passage(document.id_, Span(start, end)))
        visitor.act("label", question=f"Who was seen on day {number}?")


def test_before_anything_is_measured_the_default_stands(settings: Settings) -> None:
    with visiting(settings) as visitor:
        visitor.act("arrive")
        assert "as soon as they are loaded" in visitor.text("decision")


def test_the_settings_are_tested_against_the_baseline_with_won_and_lost_passages(
    visitor: Visitor,
) -> None:
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    assert verdict.measure.startswith("recall@")
    rows = against(verdict, REFERENCE)
    assert rows
    assert REFERENCE not in [row.name for row in rows]
    points = [float(row.points) for row in rows]
    assert points == sorted(points)
    lines = matrix(verdict).lines
    assert all(row.won + row.lost <= len(lines) for row in rows)
    assert all((float(row.points) > 0) <= (row.won > 0) for row in rows)
    assert f"Against {REFERENCE}" in visitor.text("details")
    assert "<svg" in visitor.regions["details"]


def test_a_question_that_a_setting_wins_or_loses_is_listed_with_its_sign(visitor: Visitor) -> None:
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    other = next(row.name for row in matrix(verdict).rows if row.name != REFERENCE)
    rows = [
        replace(row, outcomes=tuple(
            replace(outcome, scores=dict.fromkeys(outcome.scores, share))
            for outcome, share in zip(row.outcomes, shares, strict=False)
        ))
        for name, shares in ((REFERENCE, (0.116, 0.999, 0.5)), (other, (0.269, 0.9, 0.5)))
        for row in [verdict.row(name)]
    ]  # fmt: skip
    few = replace(verdict, rows=tuple(rows), questions=verdict.questions[:3])
    few = replace(few, decision=replace(few.decision, take=other))
    [row] = against(few, REFERENCE)
    assert (row.won, row.lost) == (1, 1)
    table = table_html(visitor.session, few)
    assert "Passages that differ: 2 of 3" in table
    assert re.search(r'<b class="rn-plus">\+</b> [^<]*27 %</td><td>[^<]*12 %', table)
    assert re.search(r'<b class="rn-minus">.</b> [^<]*90 %</td><td>[^<]*100 %', table)


def test_a_difference_of_nothing_has_no_sign(visitor: Visitor) -> None:
    visitor.act("context", value="budget:4000")
    visitor.settle()
    _arrive(visitor)
    table = visitor.regions["details"].partition("rn-against")[2].partition("</table>")[0]
    assert {*re.findall(r"<td[^>]*>([^<]*)", table)} == {"0.0", "0"}


def test_the_fewest_points_come_first_however_many_passages_are_won(visitor: Visitor) -> None:
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    best = against(verdict, REFERENCE)[-1]
    rows = [
        replace(row, interval=replace(row.interval, mean=0.0))
        if row.interval and column_of(row) == best.column
        else row
        for row in verdict.rows
    ]
    first = against(replace(verdict, rows=tuple(rows)), REFERENCE)[0]
    assert first.column == best.column
    assert float(first.points) < 0 <= first.won - first.lost


def test_a_column_has_one_colour_and_one_name_in_bar_plot_and_tables(visitor: Visitor) -> None:
    for name, is_ticked in (("semantic", False), ("web", True), ("heading", False)):
        visitor.act("tick", name=name, checked=is_ticked)
    visitor.act("baseline", value="web")  # by default in the colour of LlamaIndex's splitter
    visitor.settle()
    _arrive(visitor)
    bar, details = visitor.regions["columns"], visitor.regions["details"]
    swatch = r'rn-swatch (rn-c\d)"[^<]*></span><bdi>([^<]+)'
    colours = {name: colour for colour, name in re.findall(swatch, bar)}
    assert colours["web"] != colours[REFERENCE]
    cells = re.findall(f'scope="row"><span class="{swatch}', details)
    curves = re.findall(r'<g class="(rn-c\d)" data-column="([^"]+)', details)
    named = re.findall(r'class="name (rn-c\d)"[^>]*>. ([^<]+)', details)
    legend = re.findall(r'<span class="(rn-c\d)">. <bdi>([^<]+)', details)
    for drawn in (cells, curves, named, legend):
        names = [re.sub(r" at \d+$| \+ .*| \(yours\)$", "", name) for _, name in drawn]
        assert [colours[name] for name in names] == [colour for colour, _ in drawn]
        assert {"web", "heading", "recursive", "retrieval", REFERENCE} <= {*names}
    marked = re.findall(r'class="name (rn-c\d)"[^>]*>(.) ', details)
    assert len(marked) == len({*marked}), "no two of a colour and mark"
    assert len(named) == len(legend) == len({name for _, name in named})


def test_accepted_questions_decide_with_intervals_and_the_baseline_may_be_any_column(
    visitor: Visitor,
) -> None:
    _arrive(visitor)
    _accept(visitor, 3)
    assert "Decide by my 3 questions" in visitor.text("decision")
    visitor.act("by_questions")
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    assert not verdict.dataset.probed
    assert " to " in against(verdict, REFERENCE)[0].points
    visitor.act("baseline", value="heading")
    visitor.settle()
    visitor.act("by_questions")
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    assert visitor.session.decider.baseline == "heading (yours)"
    assert against(verdict, "heading (yours)")


@pytest.mark.parametrize("tokens", [500, 1500])
def test_passages_and_questions_are_measured_in_the_context_of_the_answers(
    visitor: Visitor, tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor.act("context", value=f"budget:{tokens}")
    visitor.settle()
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    assert verdict.measure == f"recall@{tokens}"
    strip = visitor.text("decision")
    assert re.search(rf"points of recall@{tokens}, \d+ passages? won, \d+ lost", strip)
    same = (
        f"Measured with a context of {tokens:,} tokens, read as whole chunks, the same as for your"
    )
    assert same in strip
    assert "recommend decides at 1,000 tokens of whole chunks, and evaluate at 1,000" in strip
    assert "with the 95 % interval" not in visitor.text("details"), "passages have none"
    _accept(visitor, 3)
    visitor.act("by_questions")
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    other = replace(verdict.decision, take=against(verdict, REFERENCE)[0].name)
    monkeypatch.setattr(deciding.Decider, "verdict", replace(verdict, decision=other))
    visitor.act("stop_test")
    strip = visitor.text("decision")
    assert re.search(rf"points of recall@{tokens}, \d+ questions? won, \d+ lost", strip)
    assert same in strip
    assert "with the 95 % interval" in visitor.text("details")


def test_documents_too_short_to_compare_settings_by_say_so_and_questions_decide(
    settings: Settings, tmp_path: Path
) -> None:
    with visiting(settings) as visitor:
        visitor.load(write_text(tmp_path / "rules.md", "Quiet hours begin at ten."))
        _arrive(visitor)
        strip = visitor.text("decision")
        assert "too little text to compare settings: add more, or label" in strip
        assert "Try again" not in strip
        [document] = visitor.session.documents
        visitor.session.questions.mark(Passage(document.id_, Span(0, 25)))
        visitor.act("label", question="When do quiet hours begin?")
        visitor.act("by_questions")
        verdict = _arrive(visitor).decider.verdict
        assert verdict is not None
        assert not visitor.session.decider.error


def test_the_baseline_is_kept_if_no_question_of_yours_tells_it_from_the_proposal(
    visitor: Visitor,
) -> None:
    visitor.act("context", value="budget:4000")
    visitor.settle()
    _accept(visitor, 3)
    visitor.act("by_questions")
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    assert all(row.mean == 1 for row in verdict.rows)
    assert verdict.decision.take == REFERENCE
    assert f"eep {REFERENCE} (" in visitor.text("decision")
    visitor.act("baseline", value="heading")
    visitor.settle()
    visitor.act("by_questions")
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    assert verdict.decision.take == "heading (yours)"


def test_without_questions_the_splitter_that_the_page_begins_with_is_not_yours(
    visitor: Visitor,
) -> None:
    visitor.act("context", value="budget:4000")
    visitor.settle()
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    assert "because it is the default" in verdict.decision.words
    visitor.act("baseline", value="heading")
    visitor.settle()
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    assert "keep heading (yours), because you have it now" in verdict.decision.words


def test_a_line_of_the_table_opens_its_passage(visitor: Visitor) -> None:
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    number = matrix(verdict).lines[0].number
    visitor.act("line", number=str(number))
    place = place_of(verdict, number)
    assert place is not None
    assert visitor.session.place.gold == place.gold
    assert place_of(verdict, 999) is None


def test_another_length_of_answers_decides_again(visitor: Visitor) -> None:
    first = _arrive(visitor).decider.verdict
    visitor.act("length", length="page")
    second = _arrive(visitor).decider.verdict
    assert second is not first
    visitor.act("length", length="sentence")
    assert visitor.session.decider.verdict is first


def test_another_context_decides_again(visitor: Visitor) -> None:
    _arrive(visitor)
    visitor.act("context", value="chunks:5")
    visitor.settle()
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    assert verdict.measure == "recall@k5"
    assert "recall@k5" in visitor.text("details")


def test_the_decision_is_used_by_its_spec_and_a_script(visitor: Visitor) -> None:
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    assert verdict.decision.preset in visitor.text("use")
    script = visitor.act("script")["file"]
    assert script["name"] == "chosen.py"
    compile(script["text"], "chosen.py", "exec")


def test_the_decision_and_its_script_read_as_the_columns_do(
    visitor: Visitor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _arrive(visitor)
    visitor.act("tick", name="retrieval", checked=True)
    for reading, shown in (("chunks", "whole chunks"), ("sentences", "selected sentences")):
        visitor.act("reading", value=reading)
        visitor.settle()
        verdict = _arrive(visitor).decider.verdict
        assert verdict is not None
        assert {row.granularity for row in verdict.rows} == {reading}
        assert f"read as {shown}, the same as for your" in visitor.text("decision")
        assert f'value="{reading}" selected' in visitor.regions["reading"]
        row = verdict.row("retrieval")
        use = {"preset": "retrieval", "parser": get_parser("retrieval").to_dict()}
        decision = replace(verdict.decision, take=row.name, **use)
        with monkeypatch.context() as patch:
            patch.setattr(deciding.Decider, "verdict", replace(verdict, decision=decision))
            scripts = [visitor.act("script")["file"]["text"]]
        visitor.act("use", value="retrieval")
        scripts.append(visitor.act("script")["file"]["text"])
        visitor.act("use", value="")
        visitor.ask("Who was seen on day 7?")
        report = visitor.session.turns[-1].report
        assert report is not None
        [answer] = [column.answer for column in report.columns if column.name == "retrieval"]
        assert answer is not None
        monkeypatch.chdir(tmp_path)
        arguments = [str(tmp_path / "days.md"), "--question", "Who was seen on day 7?"]
        for number, script in enumerate(scripts):
            path = write_text(tmp_path / f"{reading}{number}.py", script)
            monkeypatch.setattr(sys, "argv", [str(path), *arguments])
            runpy.run_path(str(path), run_name="__main__")
            assert capsys.readouterr().out.startswith(answer.text)


@pytest.mark.parametrize("reading", ["sentences", "chunks"])
def test_the_curve_the_table_and_the_strip_are_of_the_reading_that_was_chosen(
    visitor: Visitor, reading: str
) -> None:
    visitor.act("reading", value=reading)
    visitor.act("context", value="budget:500")
    visitor.settle()
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    details = visitor.regions["details"]
    points = dict(re.findall(r"<title>([^<:]+): (\S+) \(", details))
    assert points == {row.name: f"{100 * row.mean:.1f}" for row in verdict.rows}
    base = verdict.row(REFERENCE)
    assert reading == "chunks" or base.whole
    assert base.whole is None or abs(base.whole.mean - base.mean) > 0.01
    line = re.search(r'class="base" x1="\S+" y1="(\S+)"', details)
    assert line
    assert f'cy="{line[1]}" r="4"><title>{REFERENCE}: {100 * base.mean:.1f} (' in details
    words = {"sentences": "selected sentences", "chunks": "whole chunks"}[reading]
    assert f"Recall by chunk size (recall@500, {words})" in visitor.text("details")
    assert "need no chunk size" not in details


def test_a_number_of_chunks_is_read_whole(visitor: Visitor) -> None:
    visitor.act("reading", value="sentences")
    visitor.act("context", value="chunks:5")
    visitor.settle()
    assert visitor.session.comparison is not None
    assert visitor.session.comparison.options.granularity == "chunks"
    assert "selected sentences" not in visitor.regions["reading"]
    assert "context in tokens first" in visitor.act("reading", value="sentences")["notice"]


def test_a_stopped_test_and_a_fault_say_so(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    _arrive(visitor)

    def fail(*_: Any, **__: Any) -> None:
        raise DatasetError("nothing to ask")

    monkeypatch.setattr(deciding, "recommend", fail)
    visitor.act("length", length="page")
    _arrive(visitor)
    assert "nothing to ask" in visitor.text("decision")
    monkeypatch.setattr(deciding, "QUIET", 3600.0)
    visitor.act("test")
    visitor.act("stop_test")
    assert "The test was stopped." in visitor.text("decision")


def test_a_verdict_stays_until_the_new_one_and_if_there_is_none(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = _arrive(visitor).decider.verdict
    assert verdict is not None
    headline = verdict.decision.headline[0]
    _accept(visitor, 1)
    monkeypatch.setattr(deciding, "QUIET", 3600.0)
    visitor.act("by_questions")
    assert visitor.session.decider.running
    strip = visitor.text("decision")
    assert headline in strip
    assert "The previous decision stays until the new one is made." in strip
    visitor.act("stop_test")
    strip = visitor.text("decision")
    assert headline in strip
    assert "The test was stopped." in strip
    assert "The previous decision stays. " in strip
    assert "Try again" in strip
    visitor.act("context", value="budget:500")
    visitor.settle()
    assert visitor.session.decider.verdict is None, "of another context"


def test_a_test_that_waits_for_that_of_another_visitor_says_so(visitor: Visitor) -> None:
    _arrive(visitor)
    with deciding._AT_ONCE.take("the test of another visitor"):
        visitor.act("length", length="page")
        for _ in range(3):
            if "Waiting for tests of other visitors" not in visitor.text("decision"):
                visitor.act("look")
        assert "Waiting for tests of other visitors" in visitor.text("decision")
    assert _arrive(visitor).decider.verdict is not None


def test_the_details_of_another_comparison_are_drawn_again(
    visitor: Visitor, tmp_path: Path
) -> None:
    _arrive(visitor)
    visitor.load(write_text(tmp_path / "other.md", "The other document is short."))
    assert "Nothing has been measured yet" in str(details_html(visitor.session))


@pytest.fixture
def owner(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Visitor]:
    """A visitor of an app that has two engines over the one document it was built with."""
    path, days = Path("<given 1>/days.md"), Document(text=TEXT, metadata={"file_name": "days.md"})
    original = PageSession.__init__

    def with_document(session: PageSession, *args: Any, **options: Any) -> None:
        original(session, *args, **{**options, "documents": {path: days}})

    monkeypatch.setattr(PageSession, "__init__", with_document)
    index = VectorStoreIndex.from_documents([days], embed_model=LexicalEmbedding())
    engines = {name: index.as_retriever(similarity_top_k=k) for name, k in (("a", 1), ("b", 2))}
    with visiting(settings, columns=engines, documents=(path,)) as opened:
        opened.act("arrive")
        opened.settle()
        yield opened


def test_a_removed_document_that_own_engines_still_search_is_named(
    owner: Visitor, tmp_path: Path
) -> None:
    owner.session.start_loading([write_text(tmp_path / "fair.md", TEXT.replace("pier", "fair"))])
    owner.settle()
    assert (
        "days.md was removed here: a and b still search it, and nothing of it can be shown."
        in owner.text("documents")
    )
    owner.session.start_loading([*owner.session.paths, *owner.session._given_documents])
    owner.settle()
    assert "was removed here" not in owner.text("documents")


def test_settings_are_not_tested_on_documents_that_an_engine_does_not_search(
    owner: Visitor, tmp_path: Path
) -> None:
    words = "was added here"
    assert words not in owner.text("documents")
    owner.session.start_loading(
        [*owner.session.paths, write_text(tmp_path / "fair.md", TEXT.replace("pier", "fair"))]
    )
    owner.settle()
    assert (
        "fair.md was added here: a and b do not search it, so no setting is tested on it."
        in owner.text("documents")
    )
    owner.act("test")
    verdict = _arrive(owner).decider.verdict
    assert verdict is not None
    assert [document.name for document in verdict.documents] == ["days.md"]
    added = next(each for each in owner.session.documents if "fair" in each.text)
    days = next(each for each in owner.session.documents if "pier" in each.text)
    for document in (added, days):
        owner.session.questions.mark(Passage(document.id_, Span(10, 40)))
        owner.act("label", question=f"Who was at {document.id_}?")
    owner.act("by_questions")
    verdict = _arrive(owner).decider.verdict
    assert verdict is not None
    assert [question.document for question in verdict.questions] == [days.id_]
    assert not owner.session.decider.has_new_questions


def test_an_engine_is_compared_with_an_interval_and_one_without_numbers_is_named(
    owner: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner.act("test")
    verdict = _arrive(owner).decider.verdict
    assert verdict is not None
    other = replace(verdict.decision, take=next(row.name for row in against(verdict, "a")))
    with monkeypatch.context() as patch:
        patch.setattr(deciding.Decider, "verdict", replace(verdict, decision=other))
        owner.act("stop_test")
        assert "lost. Only accepted questions give an interval." in owner.text("decision")
    _accept(owner, 10)
    owner.act("by_questions")
    verdict = _arrive(owner).decider.verdict
    assert verdict is not None
    assert all(" to " in row.points for row in against(verdict, "a"))
    assert {"b", REFERENCE} <= {row.name for row in against(verdict, "a")}
    rows = tuple(replace(row, error="not measurable (3 of 4 chunks)") if row.name == "a" else row
                 for row in verdict.rows)  # fmt: skip
    monkeypatch.setattr(deciding.Decider, "verdict", replace(verdict, rows=rows))
    owner.act("stop_test")
    assert "Nothing is compared with a : not measurable (3 of 4 chunks)." in owner.text("decision")


def test_an_engine_that_is_to_be_kept_needs_no_script(
    owner: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "The decision" not in owner.regions["use"], "nothing was tested"
    assert "asks a and b about 180 questions" in owner.text("decision")
    owner.act("test")
    verdict = _arrive(owner).decider.verdict
    assert verdict is not None
    assert "The decision" in owner.regions["use"]
    kept = replace(verdict.decision, take="a", parser={}, preset="")
    monkeypatch.setattr(deciding.Decider, "verdict", replace(verdict, decision=kept))
    words = "Keep a: it is your own, so you have its code already."
    assert words in owner.act("script")["notice"]
    owner.act("use", value="a")
    assert "a: it is your own, so you have its code already." in owner.text("use")


def test_another_baseline_keeps_a_verdict_that_measured_it(owner: Visitor) -> None:
    owner.act("baseline", value="heading")
    owner.settle()
    owner.act("test")
    verdict = _arrive(owner).decider.verdict
    assert verdict is not None
    for baseline in ("b", REFERENCE, "a", "heading"):
        owner.act("baseline", value=baseline)
        owner.settle()
        assert owner.session.decider.verdict is verdict
        assert f"Against {baseline}" in owner.text("details")
    owner.act("tick", name=REFERENCE, checked=False)
    owner.settle()
    owner.act("baseline", value="fixed")
    owner.settle()
    assert owner.session.decider.verdict is None, "its row was not measured"
