"""Views of boxes on printed pages."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text

from rag_nodes.cli.views.text import one_line, plain, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import RenderableType

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations.boxes import CitedBoxes, Located, LocateRequest
    from rag_nodes.query import Citation
    from rag_nodes.readers import PlacedBox

_UNIT = "points from the upper left corner"


def located_view(result: Located, _: LocateRequest, __: Invocation) -> Iterator[RenderableType]:
    """A row for each box of a text; nothing if the page does not show it, which is said."""
    for number, page in groupby(result.boxes, lambda box: box.page):
        boxes = list(page)
        size = f"{boxes[0].page_width:g} by {boxes[0].page_height:g}"
        yield plain(f"{one_line(result.file)}, p. {number}, {size} points, {_UNIT}")
        sides = ("left", "top", "right", "bottom")
        yield table(
            boxes,
            {side.capitalize(): _side(side) for side in sides},
            right=[side.capitalize() for side in sides],
        )


def cited_boxes(
    citations: Sequence[Citation], boxes: Sequence[CitedBoxes]
) -> Iterator[RenderableType]:
    """A line for each citation: `[1] p. 3: 72.0,134.2-523.1,146.0; …`, each place once."""
    yield Text.assemble(("Boxes", "bold"), (f"  left,top-right,bottom in {_UNIT}", "dim"))
    lines = [
        f"[{citation.number}] p. {number}: {'; '.join(map(_in_words, page))}"
        for citation, placed in zip(citations, boxes, strict=True)
        for number, page in groupby(placed.boxes, lambda box: box.page)
    ]
    yield from map(plain, dict.fromkeys(lines) or ["none"])


def _side(name: str) -> Callable[[PlacedBox], str]:
    return lambda box: f"{getattr(box, name):.1f}"


def _in_words(box: PlacedBox) -> str:
    return f"{box.left:.1f},{box.top:.1f}-{box.right:.1f},{box.bottom:.1f}"
