"""Stores as their operator sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.cli.views.stored import near
from rag_nodes.cli.views.text import counted, plain, seconds, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations.base import Request
    from rag_nodes.operations.copying import Aliases, Copied


def copied_view(found: Copied, _: Request, __: Invocation) -> Iterator[RenderableType]:
    """What became of each collection that was copied."""
    for one in found.collections:
        yield plain(one.collection, "bold")
        points = f"  {counted(one.points, 'point')}"
        if isinstance(one, tuple):  # of another program
            yield plain(points)
            if one.left_out:
                names = ", ".join(map(repr, one.left_out))
                left_out = f"  vectors that cannot be ranked here were left out: {names}"
                yield plain(left_out, "yellow")
            continue
        gone = f", {one.deleted:,} former ones deleted" if one.deleted else ""
        sent = f"{one.sent:,} sent, {one.unchanged:,} there already{gone}"
        yield plain(f"{points}: {sent}, in {seconds(one.seconds)}")
        yield plain("  both sides are equal", "dim")
        if one.extra:
            kept = counted(one.extra, "point")
            yield plain(f"  {kept} of other documents stay there; --prune deletes them", "yellow")
    yield plain(f"From {near(found.source)} to {near(found.target)}.", "dim")


def aliases_view(found: Aliases, _: Request, __: Invocation) -> Iterator[RenderableType]:
    """What each alias means."""
    if found.aliases:
        yield table("Alias", "Collection", rows=sorted(found.aliases.items()))
    else:
        yield plain(f"{found.store} has no aliases.", "dim")
