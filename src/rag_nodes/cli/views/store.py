"""Stores as their operator sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.cli.views.stored import near
from rag_nodes.cli.views.text import counted, plain, seconds, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations.copying import (
        Aliases,
        AliasRequest,
        Copied,
        ImportRequest,
        PullRequest,
        PushRequest,
    )


def copied_view(
    found: Copied, _: PushRequest | PullRequest, __: Invocation
) -> Iterator[RenderableType]:
    """What became of each collection that was copied."""
    for one in found.done:
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
    yield plain(f"From {near(found.source)} to {near(found.target)}.", "dim")


def imported_view(found: Copied, _: ImportRequest, __: Invocation) -> Iterator[RenderableType]:
    """What became of each collection of another program."""
    for one in found.done:
        yield plain(one.collection, "bold")
        yield plain(f"  {counted(one.points, 'point')}")
        if left_out := getattr(one, "left_out", ()):
            names = ", ".join(repr(name) for name in left_out)
            yield plain(f"  vectors that cannot be ranked here were left out: {names}", "yellow")
    yield plain(f"From {near(found.source)}, which is as it was, to {near(found.target)}.", "dim")


def aliases_view(found: Aliases, _: AliasRequest, __: Invocation) -> Iterator[RenderableType]:
    """What each alias means."""
    if not found.known:
        yield plain(f"{found.location} has no aliases.", "dim")
        return
    made = table("Alias", "Collection")
    for alias, collection in sorted(found.known.items()):
        made.add_row(plain(alias), plain(collection))
    yield made
