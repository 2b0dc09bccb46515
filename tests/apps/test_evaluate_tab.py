"""The evaluation: its table and bars, the chunks behind a number, and the way to them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hostile_views import PAYLOADS, inert, shown
from visits import DIARY, Request, visiting

from rag_nodes.apps.tabs.chunks.events import OUTPUTS, ChunksEvents
from rag_nodes.apps.tabs.evaluate.events import EMPTY, EvaluateEvents
from rag_nodes.apps.tabs.evaluate.findings import findings
from rag_nodes.apps.tabs.evaluate.measures import MEASURES, Judged, evaluation, measuring
from rag_nodes.apps.view.html import escape
from rag_nodes.errors import StoreError
from rag_nodes.evaluation import Finding, Tally
from rag_nodes.text.spans import Span
from rag_nodes.workspace import Choice, Sessions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rag_nodes.settings import Settings

TWO = Choice(("fixed", "heading"), options={"fixed": {"chunk_size": 200, "chunk_overlap": 40}})
TALLY = Tally(chunks=4, tokens=40, embedded=50, limited=4, fitting=3, closed=4, characters=100)


class _Event:
    """What Gradio makes of a click."""

    def __init__(self, data: Any) -> None:
        self._data = data


@pytest.fixture
def sessions(settings: Settings, tmp_path: Path) -> Iterator[Sessions]:
    with visiting(settings, tmp_path / "diary.md", DIARY, TWO) as opened:
        yield opened


@pytest.fixture
def events(sessions: Sessions) -> EvaluateEvents:
    return EvaluateEvents(sessions, ChunksEvents(sessions))


def _last(events: EvaluateEvents, shown_key: str = "") -> tuple[Any, ...]:
    return list(events.refresh(shown_key, Request()))[-1]


def _buttons(html: str, cls: str) -> list[dict[str, str]]:
    """What the page sends for each button of a class."""
    tags = re.findall(rf'<button type="button" class="{cls}"([^>]*)>', html)
    return [dict(re.findall(r'data-(\w+)="([^"]*)"', found)) for found in tags]


def test_before_a_document_is_loaded_the_tab_says_what_will_be_there(settings: Settings) -> None:
    sessions = Sessions(settings)
    assert _last(EvaluateEvents(sessions, ChunksEvents(sessions)), "old")[1] == EMPTY
    sessions.close()


def test_it_says_that_it_measures_before_the_numbers_come(events: EvaluateEvents) -> None:
    first, second = events.refresh("", Request())
    assert 'aria-busy="true"' in first[1]
    assert "Fixed size" in first[1]
    assert "rn-measures" in second[1]
    assert first[0] == second[0]


def test_what_is_on_the_page_already_is_not_measured_again(events: EvaluateEvents) -> None:
    key = _last(events)[0]
    assert len(list(events.refresh(key, Request()))) == 1
    assert all("__type__" in value for value in _last(events, key))


def test_every_measure_is_a_row_with_its_definition_and_a_value_per_parser(
    events: EvaluateEvents,
) -> None:
    table = _last(events)[1]
    for measure in MEASURES.values():
        assert f">{measure.name}<small>" in table
        assert f"{escape(measure.meaning)}</small>" in table
    assert len(re.findall("<td[ >]", table)) == 2 * len(MEASURES)


def test_windows_cut_sentences_and_sections_do_not(events: EvaluateEvents) -> None:
    table = _last(events)[1]
    row = re.search(r">Clean ends<.*?</tr>", table)
    assert row
    fixed, heading = re.findall(r"<td[^>]*>(.*?)</td>", row[0])
    assert "rn-drill" in fixed
    assert heading == "100 %"


def test_the_better_way_and_the_best_of_a_measure_are_marked_in_words_too() -> None:
    some, all_ = Tally(chunks=4, limited=4, fitting=3), Tally(chunks=4, limited=4, fitting=4)
    table = evaluation([Judged("fixed", some, 0.0), Judged("heading", all_, 0.0)])
    row = table[table.index(">Size compliance<") :].split("</tr>")[0]
    assert 'aria-label="more is better"' in row
    assert re.findall(r'<td( class="rn-best" title="the best")?>', row) == [
        "",
        ' class="rn-best" title="the best"',
    ]
    alike = evaluation([Judged("fixed", some, 0.0), Judged("heading", some, 0.0)])
    assert "rn-best" not in alike


def test_a_number_lists_its_chunks_and_each_of_them_opens_in_the_chunk_view(
    events: EvaluateEvents,
) -> None:
    asked = next(
        one for one in _buttons(_last(events)[1], "rn-drill") if one["measure"] == "boundaries"
    )
    listed = events.drill(Request(), _Event(asked))
    assert "ends inside a sentence" in listed
    place = _buttons(listed, "rn-open")[-1]
    tabs, *drawn = events.open(Request(), _Event(place))
    assert tabs.selected == "chunks"
    assert len(drawn) == OUTPUTS
    assert f'id="rn-piece-{place["chunk"]}"' in drawn[-1]
    assert "rn-chosen" in drawn[-1]


@pytest.mark.parametrize(
    "sent",
    [
        None,
        "text",
        {},
        {"measure": "boundaries", "strategy": "nobody"},
        {"measure": "__class__", "strategy": "fixed"},
    ],
)
def test_a_click_that_names_nothing_known_is_answered_in_words(
    events: EvaluateEvents, sent: Any
) -> None:
    assert "gone" in events.drill(Request(), _Event(sent))


@pytest.mark.parametrize("sent", [None, {}, {"strategy": "fixed"}])
def test_a_click_that_names_no_chunk_opens_nothing(events: EvaluateEvents, sent: Any) -> None:
    values = events.open(Request(), _Event(sent))
    assert len(values) == OUTPUTS + 1
    assert all("__type__" in value for value in values)


@pytest.mark.parametrize("chunk", ["-1", "x", "99999999", "1e9"])
def test_a_chunk_that_does_not_exist_opens_the_document_without_it(
    events: EvaluateEvents, chunk: str
) -> None:
    sent = {"strategy": "fixed", "document": "nothing", "chunk": chunk}
    drawn = events.open(Request(), _Event(sent))[-1]
    assert "rn-drawing" in drawn
    assert "rn-chosen" not in drawn


def test_a_parser_whose_chunks_cannot_be_read_says_so_and_the_others_are_measured(
    events: EvaluateEvents, sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    cuts = sessions.of("visitor").cuts
    assert cuts is not None
    measured = cuts.measured

    def failing(strategy: str) -> Tally:
        if strategy == "heading":
            raise StoreError("the store is closed; load the document again")
        return measured(strategy)

    monkeypatch.setattr(cuts, "measured", failing)
    table = _last(events)[1]
    assert "load the document again" in table
    assert "rn-drill" in table


def test_bars_begin_at_zero_and_their_value_stands_beside_them() -> None:
    html = evaluation([Judged("fixed", TALLY, 0.0), Judged("heading", Tally(chunks=1), 0.0)])
    figure = re.search(r"<strong>Size compliance</strong>.*?</figure>", html)
    assert figure
    assert re.findall(r"width:([\d.]+)%", figure[0]) == ["75.0", "0.0"]
    assert "75 %" in figure[0]


def test_small_differences_of_cohesion_do_not_look_large_and_its_weakness_is_said() -> None:
    judged = [
        Judged(name, replace(TALLY, inside=10, inside_similarity=alike), 0.0)
        for name, alike in (("fixed", 0.5), ("heading", 0.6))
    ]
    html = evaluation(judged)
    plot = html[html.index("<strong>Cohesion inside</strong>") :].split("</figure>")[0]
    assert re.findall(r"width:([0-9.]+)%", plot) == ["25.0", "30.0"]
    assert "weak evidence" in html


def test_what_no_parser_has_a_value_for_is_not_drawn() -> None:
    html = evaluation([Judged("fixed", TALLY, 0.0)])
    assert "<strong>Tables and code whole</strong>" not in html
    assert "<strong>Overlap</strong>" in html


@pytest.mark.parametrize(
    ("price", "text"), [(0.0, "$0"), (None, "\N{EN DASH}"), (0.02, "$0.00100"), (40, "$2.00")]
)
def test_the_price_of_embedding_is_told_or_left_open(price: float | None, text: str) -> None:
    tally = Tally(chunks=1, embedded=50_000)
    assert MEASURES["cost"].value(tally, Judged("fixed", tally, price)) == text


def test_a_long_list_says_how_many_places_it_leaves_out() -> None:
    found = [Finding("open-end", "d", n, Span(3, 3)) for n in range(130)]
    html = findings("boundaries", "fixed", found, {"d": "Some text."}, {"d": "a.md"})
    assert html.count("<li>") == 100
    assert "30 more are not listed" in html
    assert "Nothing to list" in findings("boundaries", "fixed", [], {}, {})


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_text_in_an_evaluation_is_shown_and_nothing_of_it_becomes_an_element(
    payload: str,
) -> None:
    text = f"{payload} It rained. {payload}"
    found = [
        Finding("cut-block", payload, 0, Span(0, len(payload))),
        Finding("open-end", payload, 1, Span(len(payload), len(payload))),
    ]
    listed = findings("blocks", payload, found, {payload: text}, {payload: payload})
    tally = Tally(chunks=2, blocks=1, findings=tuple(found))
    table = evaluation([Judged(payload, tally, 0.0), Judged(payload, None, None, payload)])
    for html in (listed, table, measuring([payload])):
        assert shown(payload) in inert(html)
