"""Stores as their operator sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.cli.views.stored import near
from rag_nodes.cli.views.text import counted, plain, seconds, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from rag_nodes.store import CopyReport
    from rag_nodes.store.importing import ImportReport


def copies_view(copied: Sequence[CopyReport], source: str, target: str) -> Iterator[RenderableType]:
    """What became of each collection that was copied."""
    for one in copied:
        gone = f", {one.deleted:,} former ones deleted" if one.deleted else ""
        yield plain(one.collection, "bold")
        yield plain(
            f"  {counted(one.points, 'point')}: {one.sent:,} sent, {one.unchanged:,} there already"
            f"{gone}, in {seconds(one.seconds)}"
        )
        yield plain("  both sides are equal", "dim")
        if one.extra:
            kept = counted(one.extra, "point")
            yield plain(f"  {kept} of other documents stay there; --prune deletes them", "yellow")
    yield plain(f"From {near(source)} to {near(target)}.", "dim")


def imported_view(
    imported: Sequence[ImportReport], source: str, target: str
) -> Iterator[RenderableType]:
    """What became of each collection of another program."""
    for one in imported:
        yield plain(one.collection, "bold")
        yield plain(f"  {counted(one.points, 'point')}")
        if one.left_out:
            names = ", ".join(repr(name) for name in one.left_out)
            yield plain(f"  vectors that cannot be ranked here were left out: {names}", "yellow")
    yield plain(f"From {near(source)}, which is as it was, to {near(target)}.", "dim")


def aliases_view(aliases: Mapping[str, str], location: str) -> Iterator[RenderableType]:
    """What each alias means."""
    if not aliases:
        yield plain(f"{location} has no aliases.", "dim")
        return
    made = table("Alias", "Collection")
    for alias, collection in sorted(aliases.items()):
        made.add_row(plain(alias), plain(collection))
    yield made
