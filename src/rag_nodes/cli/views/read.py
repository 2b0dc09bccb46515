"""What was understood of documents, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.cli.views.text import clean, counted, facts, one_line, plain, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations.reading import Readings, ReadRequest, Understood

MOST_HEADINGS = 200
"""Headings on a screen; all of them are in `--json`."""


def readings_view(found: Readings, _: ReadRequest, cli: Invocation) -> Iterator[RenderableType]:
    """A block for each document, or its text alone; why others could not be read is said."""
    for one in found.documents:
        if one.text is not None:
            # Not by rich, which would break the lines of the text.
            text = clean(one.text) if cli.output.is_terminal else one.text
            cli.output.file.write(text if text.endswith("\n") else f"{text}\n")
        elif one.error is None:
            yield from _outline(one)


def _outline(one: Understood) -> Iterator[RenderableType]:
    targets = counted(len({link.target for link in one.links}), "address")
    yield facts(
        [
            ("File", one_line(one.name)),
            ("Kind", one.kind),
            ("Title", one_line(one.title or "-")),
            ("Pages", "none" if one.pages is None else f"{one.pages:,}"),
            ("Text", f"{counted(one.characters, 'character')}, read in {seconds(one.seconds)}"),
            ("Headings", f"{len(one.headings):,}"),
            ("Tables", f"{one.tables:,}"),
            ("Links", f"{len(one.links):,}, to {targets}"),
        ]
    )
    for warning in one.warnings:
        yield plain(f"warning: {one_line(warning)}", "yellow")
    for heading in one.headings[:MOST_HEADINGS]:
        page = f"  p. {heading.page}" if heading.page else ""
        yield plain("  " * heading.level + one_line(heading.text) + page)
    if len(one.headings) > MOST_HEADINGS:
        yield plain(f"{len(one.headings) - MOST_HEADINGS:,} more headings with --json", "dim")
    yield plain("")
