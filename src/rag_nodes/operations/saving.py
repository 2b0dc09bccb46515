"""The files of a report: the page, the JSON, a preset, a script."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rag_nodes.operations.base import OWNER, Flag, Request
from rag_nodes.operations.files import check_writable, write_text

if TYPE_CHECKING:
    from rag_nodes.evaluation.report import EvaluationReport
    from rag_nodes.models import Models
    from rag_nodes.parsers import Preset


class Saved(Request):
    """Files that a report is written to."""

    html: Annotated[Path | None, OWNER, Flag(metavar="FILE")] = None
    """Write a self-contained HTML report."""
    output: Annotated[Path | None, OWNER, Flag(short="-o", metavar="FILE")] = None
    """Write the report as JSON, for --baseline later."""
    save: Annotated[Path | None, OWNER, Flag(metavar="FILE")] = None
    """Write what to take as a preset file (.toml) for --parser and `load_preset`."""
    export: Annotated[Path | None, OWNER, Flag(metavar="FILE")] = None
    """Write a script that ingests and answers with what to take."""


def check_files(request: Saved) -> None:
    """Refuse names before hours are spent on what should be written there."""
    from rag_nodes.parsers.preset_files import name_of_preset

    for path in (request.html, request.output, request.save, request.export):
        if path:
            check_writable(path)
    if request.save:
        name_of_preset(request.save)


def written_files(request: Saved, report: EvaluationReport, models: Models) -> Iterator[str]:
    """Write each file, and say so, or why there is nothing to take."""
    from rag_nodes.evaluation.page import html_of

    if request.html:
        write_text(request.html, html_of(report))
        yield f"Wrote {request.html}"
    if request.output:
        write_text(request.output, report.to_json())
        yield f"Wrote {request.output}"
    preset = _preset_of(report)
    if isinstance(preset, str):
        for path in filter(None, (request.save, request.export)):
            yield f"{path} was not written: {preset}"
        return
    if request.save:
        from rag_nodes.parsers import save_preset
        from rag_nodes.parsers.preset_files import name_of_preset

        name = name_of_preset(request.save)
        save_preset(request.save, replace(preset, name=name, title=name))
        yield f"Wrote {request.save}; use it: rag-nodes ingest DOCUMENTS --parser {request.save}"
    if request.export:
        from rag_nodes.operations.scripts import script_for
        from rag_nodes.query import QueryOptions

        path, options = request.export, QueryOptions(**preset.query)
        write_text(path, script_for(path.stem, preset.make(), models, options, path.name))
        yield f"Wrote {path}; run it: python {path} DOCUMENT --question QUESTION"


def _preset_of(report: EvaluationReport) -> Preset | str:
    """What is to be taken, or stands; or why no file can name it."""
    from rag_nodes.parsers.preset_files import preset_in

    decision = report.decision
    if decision.preset:
        return preset_in(decision.preset)
    if decision.take is None:
        return "no column is shown to be the one to take"
    return (
        f"no preset file may name {decision.take}, a collection or a splitter of another package; "
        "name it by --parser, as here"
    )
