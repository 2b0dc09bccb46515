"""What `evaluate` and `recommend` share: files of a report, what is printed, and how a run ends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from rag_nodes.cli.failures import ExitCode
from rag_nodes.cli.files import check_writable, write_text
from rag_nodes.cli.views.evaluation import evaluation_view
from rag_nodes.cli.views.text import one_line
from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.evaluation.gates import GateResult
    from rag_nodes.evaluation.report import EvaluationReport
    from rag_nodes.models import Models
    from rag_nodes.parsers import Preset

AnswersOption = Annotated[
    Literal["sentence", "paragraph", "page"] | None,
    typer.Option(
        "--answers",
        help="Without --questions: how long what people look for mostly is. Parsers are ranked by "
        "keywords of passages of that length, which is likely and no more.",
        show_default=False,
    ),
]

SaveOption = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="FILE.toml|FILE.json",
        help="Write what is to be taken as a preset file, which --parser of every command, `app` "
        "and `load_preset` in Python read.",
    ),
]
ExportOption = Annotated[
    Path | None,
    typer.Option(
        "--export",
        metavar="FILE.py",
        help="Write a script that ingests and answers with what is to be taken.",
    ),
]
CacheOption = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        help="Folder that keeps what a paid model made: a run that was ended pays for none of it "
        "again.",
    ),
]


class ReportFiles(NamedTuple):
    """What is to be written of a report, where anything is.

    Attributes:
        html: the report as one page.
        output: the report as JSON.
        save: what is to be taken as a preset file.
        export: what is to be taken as a script.
    """

    html: Path | None
    output: Path | None
    save: Path | None
    export: Path | None

    def check(self) -> None:
        """Refuse names before hours are spent on what should be written there.

        Raises:
            ConfigurationError: one cannot be written, or names no preset file.
        """
        from rag_nodes.parsers.preset_files import name_of_preset

        for path in self:
            if path:
                check_writable(path)
        if self.save:
            name_of_preset(self.save)

    def write(self, report: EvaluationReport, models: Models) -> Iterator[str]:
        """Write each, and say so, or why there is nothing to take."""
        from rag_nodes.evaluation.page import html_of

        if self.html:
            write_text(self.html, html_of(report))
            yield f"Wrote {self.html}"
        if self.output:
            write_text(self.output, report.to_json())
            yield f"Wrote {self.output}"
        preset = _preset_of(report)
        for path in filter(None, (self.save, self.export)):
            if isinstance(preset, str):
                yield f"{path} was not written: {preset}"
        if isinstance(preset, str):
            return
        if self.save:
            yield _saved(self.save, preset)
        if self.export:
            yield _exported(self.export, preset, models)


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


def _saved(path: Path, preset: Preset) -> str:
    from dataclasses import replace

    from rag_nodes.parsers import save_preset
    from rag_nodes.parsers.preset_files import name_of_preset

    name = name_of_preset(path)
    save_preset(path, replace(preset, name=name, title=name))
    return f"Wrote {path}; use it: rag-nodes ingest DOCUMENTS --parser {path}"


def _exported(path: Path, preset: Preset, models: Models) -> str:
    from rag_nodes.query import QueryOptions
    from rag_nodes.workspace.script import script_for

    options = QueryOptions(**preset.query)
    write_text(path, script_for(path.stem, preset.make(), models, options, path.name))
    return f"Wrote {path}; run it: python {path} DOCUMENT --question QUESTION"


def show_report(
    cli: Invocation,
    report: EvaluationReport,
    files: ReportFiles,
    models: Models,
    gates: Sequence[GateResult] = (),
) -> ExitCode:
    """Write and print a report.

    Args:
        cli: prints.
        report: what was found.
        files: what is written of it.
        models: what embeds and answers in a script.
        gates: what came of them.

    Returns:
        How the command is to end.
    """
    notes = [*files.write(report, models)]
    if cli.as_json:
        cli.emit({**report.as_dict(), "gates": [one.as_dict() for one in gates]})
    else:
        cli.show(*evaluation_view(report, gates))
        if report.decision.preset and not (files.save or files.export):
            notes.append("To use it: --save FILE.toml writes a preset, --export FILE.py a script.")
    for said in notes:
        cli.note(said)
    return _code(cli, report, gates)


def _code(cli: Invocation, report: EvaluationReport, gates: Sequence[GateResult]) -> ExitCode:
    failed = [row for row in report.rows if row.error]
    for error, name in {row.error: row.name for row in reversed(failed)}.items():
        cli.complain(f"{name}: {one_line(error or '')}")
    not_judged = report.judgement.error if report.judgement else None
    if not_judged:
        cli.complain(one_line(not_judged))
    outcomes = {one.outcome for one in gates}
    if "fell" in outcomes:
        return ExitCode.GATE
    if "cannot tell" in outcomes:
        return ExitCode.UNTOLD
    if failed:
        return ExitCode.FAILURE if len(failed) == len(report.rows) else ExitCode.PARTIAL
    partial = report.dataset["unplaced"] or not_judged or cli.unread
    return ExitCode.PARTIAL if partial else ExitCode.DONE


def budgets_of(text: str) -> tuple[int, ...]:
    """Budgets as they are typed.

    Raises:
        ConfigurationError: none of at least 1 token.
    """
    from rag_nodes.cli.selection import numbers

    found = numbers("--budget", text)
    if not found:
        raise ConfigurationError("--budget must be at least 1 token")
    return found
