"""What was understood of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.cli.views.text import clean, counted, facts, one_line, plain, seconds
from rag_nodes.metadata import READ_WARNINGS, TITLE, TOTAL_PAGES, display_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations.reading import DocumentPart, ReadRequest, Understood

MOST_HEADINGS = 200
"""Headings on a screen; all of them are in `--json`."""


def understood_view(
    found: Understood, request: ReadRequest, cli: Invocation
) -> Iterator[RenderableType]:
    """One document after the other; or their texts as they are."""
    for one in found.documents:
        if isinstance(one, tuple):
            continue  # which is said on stderr
        if request.markdown:
            # On a terminal without what that would act on.
            text = clean(one.text) if cli.output.is_terminal else one.text
            cli.output.file.write(text if text.endswith("\n") else text + "\n")
        else:
            yield from _document(one)


def _document(shown: DocumentPart) -> Iterator[RenderableType]:
    metadata = shown.document.metadata
    headings, tables = shown.structure()
    targets = len({target for _, target in shown.links})
    yield facts(
        [
            ("File", one_line(display_name(metadata) or shown.path.name)),
            ("Kind", shown.kind),
            ("Title", one_line(metadata.get(TITLE) or "-")),
            ("Pages", f"{metadata[TOTAL_PAGES]:,}" if TOTAL_PAGES in metadata else "none"),
            ("Text", f"{counted(len(shown.text), 'character')}, read in {seconds(shown.seconds)}"),
            ("Headings", f"{len(headings):,}"),
            ("Tables", f"{tables:,}"),
            (
                "Links",
                f"{len(shown.links):,}, to {targets:,} address{'' if targets == 1 else 'es'}",
            ),
        ]
    )
    for warning in metadata.get(READ_WARNINGS) or ():
        yield plain(f"warning: {one_line(warning)}", "yellow")
    for heading in headings[:MOST_HEADINGS]:
        page = shown.page_of(heading.block.start)
        place = f"  p. {page}" if page else ""
        yield plain("  " * len(heading.path) + one_line(heading.path[-1]) + place)
    if len(headings) > MOST_HEADINGS:
        yield plain(f"{len(headings) - MOST_HEADINGS:,} more headings with --json", "dim")
    yield plain("")
