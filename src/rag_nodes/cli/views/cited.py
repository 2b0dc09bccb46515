"""Sources that an answer cites, and further places that say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from rag_nodes.cli.views.text import heading, one_line, pages, plain
from rag_nodes.query.cited import Citation, OtherPlace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from rag_nodes.query import Answer


def label(name: str, remark: str = "") -> Text:
    """The line above a part of a view."""
    return Text.assemble((name, "bold"), (f"  {remark}" if remark else "", "dim"))


def sources_of(answer: Answer) -> list[RenderableType]:
    """Return lines such as `[1] file, p. 14, A > B, characters 120-180`, each place once."""
    if answer.kind == "retrieval":
        return []
    if not answer.citations:
        return [label("Sources"), plain("no source cited", "dim")]
    grid = numbered()
    places: dict[tuple[int, str, str], list[str]] = {}  # an extract cites every sentence
    for citation in answer.citations:
        where = citation.number, _place(citation), also_at(citation.also)
        ranges = places.setdefault(where, [])
        ranges += [f"{citation.start}-{citation.end}"] if citation.start is not None else []
    for (number, named, also), ranges in places.items():
        characters = f", characters {', '.join(dict.fromkeys(ranges))}" if ranges else ""
        grid.add_row(f"[{number}]", plain(named + characters))
        if also:
            grid.add_row("", plain(also, "dim"))
    if answer.unknown_sources:
        numbers = ", ".join(map(str, answer.unknown_sources))
        grid.add_row("!", plain(f"cites sources that do not exist: {numbers}", "yellow"))
    return [label("Sources"), grid]


def _place(place: Citation | OtherPlace) -> str:
    """File, page and heading of a citation, or of a further place that says the same."""
    parts = (
        one_line(place.file_name),
        pages(place.page, place.page_end) or (lines(place) if isinstance(place, Citation) else ""),
        heading(place.heading_path) if isinstance(place, Citation) else "",
    )
    return ", ".join(filter(None, parts))


def lines(citation: Citation) -> str:
    """Return `line 3`, or `lines 3-4`; nothing if the format has no lines."""
    bounds = citation.lines()
    if bounds is None:
        return ""
    first, last = bounds
    return f"line {first}" if first == last else f"lines {first}-{last}"


def also_at(places: Iterable[OtherPlace]) -> str:
    """Return `also: b.pdf, p. 3; c.pdf, p. 9`, each place once; "" for no place."""
    named = dict.fromkeys(map(_place, places))
    return f"also: {'; '.join(named)}" if named else ""


def numbered() -> Table:
    """Return a grid whose first column holds numbers."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(justify="right", style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    return grid
