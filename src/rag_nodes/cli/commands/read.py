"""`rag-nodes read`: what was understood of files before anything is cut."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_nodes.cli.failures import ExitCode
from rag_nodes.cli.files import check_there
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.views.read import DocumentPart, PageRange, read_data, read_view, shown_text
from rag_nodes.cli.views.text import one_line
from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from rag_nodes.readers import ReadResult


@takes()
def read(
    cli: Invocation,
    files: Annotated[list[Path], typer.Argument(help="Files and folders.")],
    *,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the text, as the parsers get it.")
    ] = False,
    pages: Annotated[
        str, typer.Option(metavar="N[-M]", help="Show these pages only, as 3 or 3-5.")
    ] = "",
    layout: Annotated[
        str,
        typer.Option(help='"onnx": PyMuPDF\'s layout model for short PDFs; slow.'),
    ] = "",
) -> None:
    """Show what was understood of documents: pages, headings, tables, links, warnings."""
    if markdown and cli.as_json:
        raise ConfigurationError("--json and --markdown exclude each other; leave one out")
    if layout not in {"", "onnx"}:
        raise ConfigurationError(f'--layout knows "onnx" only, not "{layout}"')
    check_there(files)
    wanted = PageRange.parse(pages) if pages else None
    rows: list[dict[str, Any]] = []
    failures = 0
    for result in _results(cli, files, layout):
        shown = _shown(result, wanted)
        if isinstance(shown, str):
            failures += 1
            cli.complain(one_line(shown))
            rows.append({"file": str(result.path), "error": shown})
        elif cli.as_json:
            rows.append(read_data(shown))
        else:
            rows.append({})
            _show(cli, shown, markdown=markdown)
    if cli.as_json:
        cli.emit({"documents": rows})
    if failures:
        raise typer.Exit(ExitCode.FAILURE if failures == len(rows) else ExitCode.PARTIAL)


def _results(cli: Invocation, files: list[Path], layout: str) -> "Iterator[ReadResult]":
    with cli.activity("Loading the readers"):
        from rag_nodes.readers import Limits, read_all
    limits = Limits(**cli.settings().reading())
    return read_all(files, limits=limits, layout="onnx" if layout else None)


def _shown(result: "ReadResult", wanted: PageRange | None) -> DocumentPart | str:
    """What is to be shown of a document, or why there is nothing."""
    if result.document is None:
        return str(result.error)
    shown = DocumentPart.of(result.path, result.document, wanted, result.seconds)
    return shown or f"{result.path}: it has no such page; leave --pages out to see all of it"


def _show(cli: Invocation, shown: DocumentPart, *, markdown: bool) -> None:
    if markdown:
        text = shown_text(shown, terminal=cli.output.is_terminal)
        cli.output.file.write(text)
    else:
        cli.show(*read_view(shown))
