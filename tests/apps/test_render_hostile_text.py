"""Whatever a document, file name, question or answer holds, the page shows it and runs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hostile_views import PAYLOADS, Seen

from rag_nodes.apps.header import status
from rag_nodes.apps.tabs.compare.events import history
from rag_nodes.apps.visitors.turns import Asking, Growing, Turn, scale_for
from rag_nodes.pipeline import FileOutcome, IngestReport, ParserOutcome, Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_nodes.compare import Column, ComparisonReport
    from rag_nodes.settings import Settings

OURS = {
    "a", "article", "aside", "bdi", "button", "code", "details", "div", "em", "h2", "h3", "header",
    "li", "mark", "ol", "p", "pre", "progress", "section", "small", "span", "strong", "summary",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {
    "aria-busy", "aria-hidden", "aria-label", "aria-pressed", "class", "data-act",
    "data-column", "data-fold", "data-number", "data-rank", "data-to", "data-turn",
    "data-verdict", "dir", "href", "id", "max", "open", "rel", "role", "scope", "tabindex",
    "target", "title", "type", "value",
}  # fmt: skip


def _inert(html: str) -> str:
    """The text a browser shows, after making sure that nothing but our own elements is there."""
    seen = Seen(html)
    assert seen.tags <= OURS
    assert {name for name, _ in seen.attributes} <= ATTRIBUTES
    assert {value.split(":")[0] for name, value in seen.attributes if name == "href" and value} <= {
        "https"
    }
    assert seen.other == []
    assert "${" not in html
    assert "{{" not in html
    html.encode()  # Gradio sends it as JSON in UTF-8
    return seen.text


def _shown(payload: str) -> str:
    for unprintable in ("\x00", "\ud800"):
        payload = payload.replace(unprintable, "\ufffd")
    return payload


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_reply_shows_hostile_text_and_nothing_of_it_becomes_an_element(
    payload: str,
    settings: Settings,
    make_column: Callable[..., Column],
    make_report: Callable[..., ComparisonReport],
) -> None:
    columns = (
        make_column(chunk=f"{payload} It rained. {payload}"),
        make_column(file_name=payload, headings=(payload, payload), title=payload, name=payload),
        make_column(
            text=f"It rained: {payload} [Source 1]", kind="generated", answer_model=payload
        ),
        make_column(error=payload),
        make_column(warning=payload),
    )
    report = make_report(*columns, question=payload, models=payload)
    turns = [
        Turn(1, payload, report, None, scale_for(payload, settings)),
        Turn(2, payload, None, payload, None),
        Turn(5, payload, report, None, None, stopped={"fixed": payload}, marks={payload: True}),
    ]
    asking = Asking(6, payload, (Growing(payload, 2, payload),))
    text = _inert(history(turns, ready=True, asking=asking))
    assert _shown(payload) in text


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_status_shows_hostile_text_and_nothing_of_it_becomes_an_element(payload: str) -> None:
    files = (
        FileOutcome(f"/srv/{payload}", "failed", None, 0, payload, 0.1),
        FileOutcome(payload, "partial", 3, 100, payload, 0.1),
    )
    columns = (ParserOutcome(payload, payload, chunks=3, error=payload),)
    report = IngestReport(files, columns, 1.0, payload)
    step = Progress("read", payload, 0, 1)
    for html in (
        status.done(report),
        status.failed(payload, report),
        status.working({"": step, payload: Progress("embed", payload, 1, 3)}, [payload]),
    ):
        assert _shown(payload) in _inert(html)
