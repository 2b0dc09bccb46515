"""What is wrong with labelled questions, for people."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rag_nodes.cli.views.text import counted, facts, one_line, plain, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations.labelled import (
        Checked,
        CheckRequest,
        ConvertRequest,
        DraftRequest,
        WrittenDrafts,
    )

_MOST = 60
"""Rows on a screen; all of them are in the JSON."""
_EXAMPLES = 12
_BEGINNING = 90
"""Characters of an answer that is shown to recognise it."""


def check_view(found: Checked, _: CheckRequest, __: Invocation) -> Iterator[RenderableType]:
    """The parts of the view, top to bottom."""
    check = found.check
    drafts = f", {check.drafts} of them drafts" if check.drafts else ""
    yield facts(
        [
            ("Questions", f"{check.questions:,}{drafts}"),
            ("Documents", f"{check.documents:,}"),
            (
                "Leakage",
                f"{check.leakage:.0%} of their content words are in the answers, on average",
            ),
        ]
    )
    if not check.concerns:
        yield plain("Nothing to look at.", "green")
        return
    rows = table("Question", "What", "Detail")
    for one in check.concerns[:_MOST]:
        rows.add_row(one_line(one.question), one.problem, one_line(one.detail))
    yield rows
    if len(check.concerns) > _MOST:
        yield plain(
            f"and {counted(len(check.concerns) - _MOST, 'more concern')}: see --json", "dim"
        )


def drafts_view(found: Checked, _: DraftRequest, __: Invocation) -> Iterator[RenderableType]:
    """Some of the drafts with the beginnings of their answers, and what is to be known of all."""
    from rag_nodes.evaluation.checks import ACCEPT, DRAFTED

    dataset, check = found.dataset, found.check
    rows = table("Kind", "Draft", "Answer")
    for one in dataset.questions[:_EXAMPLES]:
        answer = one_line(dataset.quote(one.gold[0][0]))
        rows.add_row(one.kind, one_line(one.text), textwrap.shorten(answer, _BEGINNING))
    yield rows
    if len(dataset.questions) > _EXAMPLES:
        yield plain(f"and {counted(len(dataset.questions) - _EXAMPLES, 'more draft')}", "dim")
    yield plain(
        f"{check.leakage:.0%} of their words are in their answers. {DRAFTED.capitalize()} a parser "
        f"or a size: {ACCEPT}."
    )


def written_view(
    found: WrittenDrafts, _: ConvertRequest, cli: Invocation
) -> Iterator[RenderableType]:
    """That there is a file now."""
    cli.note(f"Wrote {counted(found.questions, 'question')} to {found.output}")
    yield from ()


def nothing_more(*_: object) -> Iterator[RenderableType]:
    """Nothing: all was seen while it was done."""
    yield from ()
