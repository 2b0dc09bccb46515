"""The chunks behind one number of the evaluation, each with a way to open it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.apps.tabs.evaluate.measures import MEASURES
from rag_nodes.apps.view.html import Html, join, name_of, tag
from rag_nodes.apps.view.parts import colour_of, count, title_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_nodes.evaluation import Finding
    from rag_nodes.evaluation.tally import Problem

_AROUND = 70
"""Characters shown before and after the place a finding is about."""
_LONGEST = 160
"""Characters of a finding's own text that are shown."""
_MOST = 100
"""Findings listed at once."""
_EXPLAINED: dict[Problem, str] = {
    "oversized": "over the size limit",
    "undersized": "under the least size",
    "open-end": "ends inside a sentence",
    "cut-block": "cuts a table or code block",
    "duplicate": "repeats an earlier chunk",
    "related": "parts two sentences that are alike",
}


def findings(
    measure: str,
    strategy: str,
    found: Sequence[Finding],
    texts: Mapping[str, str],
    names: Mapping[str, str],
) -> Html:
    """The chunks behind a number, each with a button that opens it.

    Args:
        measure: key of `MEASURES`.
        strategy: preset.
        found: the findings.
        texts: document id to text.
        names: document id to file name.
    """
    title = f"{MEASURES[measure].name}, {title_of(strategy)}"
    if not found:
        return tag(
            "section",
            tag("h2", title),
            tag("p", "Nothing to list: every chunk is fine.", cls="rn-quiet"),
            cls="rn-findings",
            role="status",
        )
    items = [
        _finding(strategy, one, texts[one.document], names[one.document]) for one in found[:_MOST]
    ]
    more = len(found) - _MOST
    return tag(
        "section",
        tag("h2", title, " ", tag("span", count(len(found), "place"), cls="rn-count")),
        tag("ol", *items),
        tag("p", f"{more:,} more are not listed.", cls="rn-quiet") if more > 0 else None,
        cls=f"rn-findings {colour_of(strategy)}",
        aria_label=title,
    )


def _finding(strategy: str, finding: Finding, text: str, name: str) -> Html:
    number = finding.chunk + 1
    return tag(
        "li",
        tag(
            "button",
            f"Chunk {number:,}",
            type="button",
            cls="rn-open",
            data_strategy=strategy,
            data_document=finding.document,
            data_chunk=finding.chunk,
            aria_label=f"Open chunk {number:,} in Chunks",
        ),
        tag("span", name_of(name), cls="rn-quiet"),
        tag("span", _why(finding), cls="rn-why"),
        tag("p", _excerpt(finding, text), dir="auto"),
    )


def _why(finding: Finding) -> str:
    why = _EXPLAINED[finding.problem]
    if finding.problem in {"oversized", "undersized"}:
        return f"{why}: {finding.value:,.0f}"
    return f"{why}: {finding.value:.2f}" if finding.problem == "related" else why


def _excerpt(finding: Finding, text: str) -> Html:
    """The place with some text around it; where nothing is quoted, a bar shows the cut."""
    start, end = finding.quote
    before = text[max(0, start - _AROUND) : start]
    quote = text[start : min(end, start + _LONGEST)]
    after = text[end : end + _AROUND] if end - start <= _LONGEST else ""
    cut = tag("mark", "|", cls="rn-cut", title="The chunk ends here")
    return join([before, tag("mark", quote) if quote else cut, after])
