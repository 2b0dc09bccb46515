"""The Document tab: a map of all chunks, a page as printed or rendered, and its chunks."""

from __future__ import annotations

import base64
from statistics import median
from typing import TYPE_CHECKING, Any

from llama_index.core.schema import MetadataMode
from markupsafe import Markup

from rag_nodes.apps.markup import count, in_a_line, place, render
from rag_nodes.apps.view.cut_map import HEIGHT, WIDTH, box_of, flags_of, ruler, strip_of
from rag_nodes.apps.view.rails import (
    STRIP,
    DrawnChunk,
    block_rails,
    padding,
    page_notches,
    page_rails,
)
from rag_nodes.apps.view.rendered import TextMark, text_blocks
from rag_nodes.apps.visitors.cuts import GONE, tokens_in
from rag_nodes.core.errors import RagNodesError
from rag_nodes.core.metadata import (
    BLOCKS,
    HEADING_PATH,
    OVERSIZED,
    PAGE_END,
    PAGE_START,
    PART,
    PARTS,
    SOURCE,
    TITLE,
    remarks,
)
from rag_nodes.readers.pdf.surface import PdfSurface
from rag_nodes.text.formats import format_in
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

    from rag_nodes.apps.visitors.cuts import Shown
    from rag_nodes.readers.pdf.picture import KeptPages, PagePicture

DPI = 144
"""Resolution of a printed page: sharp on a screen of two pixels a point at the width shown."""
LONGEST = 4_000
"""Characters of a chunk that its card shows."""
LISTED = 60
"""Chunks of a page that have a card."""
_UNKNOWN = "only retrieved chunks are known"
"""Remark on a column that searches for itself and does not list its chunks."""
_BASELINE = 0.22
"""Share of a line's height below the line its letters stand on."""


def map_html(shown: Shown) -> Markup:
    """A strip for every strategy, the whole document long."""
    length, rows = len(shown.text), []
    known = " here" if len(shown.cuts.documents) > 1 else ""
    for strategy in shown.cuts.strategies:
        pieces = shown.pieces(strategy)
        inside = sum(piece.inside is not None for piece in pieces)
        hits = sum(piece.is_retrieved for piece in pieces)
        lists_all = shown.cuts.lists_all(strategy)
        label = f"{len(pieces):,} chunks, {inside:,} begin inside a word, line or sentence"
        label += "" if lists_all else f", {_UNKNOWN}"
        unasked = _unasked(shown, strategy)
        rows.append(
            {
                "strategy": strategy,
                "paths": strip_of(pieces, length),
                "chunks": f"{len(pieces):,}{known if lists_all else ' retrieved'}{unasked}",
                "said": label + (f", {hits} retrieved" if hits else unasked),
                "is_unasked": bool(unasked),
            }
        )
    return render(
        "map",
        rows=rows,
        gold=flags_of(shown.gold, length),
        ticks=[
            {"page": f"{tick.page:,}", "x": f"{100 * tick.x / WIDTH:.1f}%", "is_main": tick.is_main}
            for tick in ruler(shown.pages.starts, length)
        ],
        width=WIDTH,
        height=HEIGHT,
        unit=shown.pages.unit,
    )


def where_html(shown: Shown) -> Markup:
    """The box that says which part of the map is shown."""
    x, wide = box_of(shown.span, len(shown.text))
    return render("where", x=f"{x:.1f}", wide=f"{wide:.1f}", width=WIDTH, height=HEIGHT)


def summary_html(shown: Shown) -> Markup:
    """Describe the chunks of a strategy in one line, with its errors and unlocated chunks."""
    cuts, strategy, document = shown.cuts, shown.strategy, shown.document
    nodes, lost = cuts.nodes(strategy, document), cuts.unlocated(strategy, document)
    sizes, lists_all = [tokens_in(node) for node in nodes], cuts.lists_all(strategy)
    statistics = cuts.comparison.statistics.get(strategy)
    over = sum(bool(node.metadata.get(OVERSIZED)) for node in nodes)
    facts = [
        count(len(nodes), "chunk"),
        f"median {median(sizes):,.0f} tokens, {min(sizes):,} to {max(sizes):,}"
        if len(sizes) > 1
        else f"{sum(sizes):,} tokens",
        f"{over:,} over the size limit" if over else "",
        "" if lists_all else _UNKNOWN,
        cuts.recovery(strategy, [document]),
        *(f"{name}: {words}" for name, words in remarks(node.metadata for node in nodes)),
    ]
    error = None
    if lists_all and not nodes and not lost:
        error = (statistics and statistics.error) or "This column has no chunk of it."
    return render(
        "summary",
        facts=" · ".join(fact for fact in facts if fact),
        error=error,
        lost=[node.text[:200] for node in lost[:8]],
        lost_said=count(len(lost), "chunk"),
    )


def page_html(shown: Shown, kept: KeptPages) -> Markup:
    """The page with the chunks of all strategies, and cards of those of the chosen one."""
    picture, why = _picture(shown, kept)
    drawn = _printed(shown, picture) if picture else _rendered(shown)
    here = shown.here(shown.strategy)
    return render(
        "sheet",
        strategy=shown.strategy,
        document=shown.document,
        file=shown.cuts.name_of(shown.document) if len(shown.cuts.documents) > 1 else "",
        page=shown.page,
        drawn=drawn,
        why=why,
        legend=[
            {
                "strategy": strategy,
                "splits": f"{_splits_here(shown, strategy)} here{_unasked(shown, strategy)}",
            }
            for strategy in shown.cuts.strategies
        ],
        question=shown.question,
        lists_all=shown.cuts.lists_all(shown.strategy),
        cards=[_card(shown, piece) for piece in here[:LISTED]],
        more=f"{len(here) - LISTED:,}" if len(here) > LISTED else None,
    )


def _picture(shown: Shown, kept: KeptPages) -> tuple[PagePicture | None, str | None]:
    """The page as printed; where there is none, why."""
    if shown.pages.path is None:
        return None, shown.pages.why
    try:
        text = shown.span.of(shown.text)
        return kept.picture(shown.pages.path, shown.page, text, DPI), None
    except RagNodesError as error:
        reason = getattr(error, "reason", str(error))
        return None, f"This page cannot be drawn ({reason}); its text is shown."
    except OSError:
        return None, GONE


def _splits_here(shown: Shown, strategy: str) -> str:
    starts = [piece.span.start for piece in shown.here(strategy)]
    number = sum(shown.span.start < at < shown.span.end for at in starts)
    return f"{number:,} split" if number == 1 else f"{number:,} splits"


def _unasked(shown: Shown, strategy: str) -> str:
    return ", not asked" if strategy in shown.unasked else ""


def _printed(shown: Shown, picture: PagePicture) -> Markup:
    surface = PdfSurface(picture.page, picture.places, shown.span.of(shown.text), shown.span.start)
    strategies = shown.cuts.strategies
    columns = [shown.here(strategy) for strategy in strategies]
    here = shown.here(shown.strategy)
    pad = padding(surface)
    return render(
        "printed",
        strategy=shown.strategy,
        page=f"{shown.page:,}",
        box=f"{-pad:.0f} 0 {picture.width + 2 * pad:.1f} {picture.height:.1f}",
        is_wide=picture.width > picture.height,
        image=_image(picture),
        chunks=[
            {"number": piece.number, "cls": _tint(shown, piece), "path": _path(surface, piece.span)}
            for piece in here
        ],
        gold="".join(_path(surface, span) for span in shown.gold),
        lost=[piece.number + 1 for piece in here if surface.is_lost(piece.span)],
        lost_gold=any(surface.is_lost(span) for span in shown.gold),
        rails=[
            {"strategy": strategies[rail.column], "cls": rail.cls, "path": rail.path}
            for rail in page_rails(surface, columns)
        ],
        notches=[
            {
                "strategy": strategies[notch.column],
                "inside": notch.inside,
                "x": f"{notch.x - 0.9:.1f}",
                "y": f"{notch.top - 2:.1f}",
                "height": f"{notch.height + 4:.1f}",
            }
            for notch in page_notches(surface, columns)
        ],
        runs=[
            {
                "start": run.start,
                "text": run.text,
                "x": f"{run.box[0]:.1f}",
                "y": f"{run.box[3] - _BASELINE * (run.box[3] - run.box[1]):.1f}",
                "size": f"{run.box[3] - run.box[1]:.1f}",
                "width": f"{run.box[2] - run.box[0]:.1f}",
            }
            for run in surface.runs()
            if run.box[2] - run.box[0] >= 0.2 * (run.box[3] - run.box[1])
        ],
    )


def _image(picture: PagePicture) -> Markup:
    """Return the picture of the page, for an SVG whose units are points."""
    data = base64.b64encode(picture.png).decode()
    return Markup('<image width="{}" height="{}" href="data:image/png;base64,{}"></image>').format(
        picture.width, picture.height, data
    )


def _path(surface: PdfSurface, span: Span) -> str:
    return "".join(
        f"M{left:.1f} {top:.1f}H{right:.1f}V{bottom:.1f}H{left:.1f}z"
        for left, top, right, bottom in surface.boxes(span)
    )


def _tint(shown: Shown, piece: DrawnChunk) -> str:
    pointed = " rn-shown" if piece.number == shown.chosen else ""
    hit = " rn-hit" if piece.is_retrieved else ""
    return ("rn-k1" if piece.number % 2 else "rn-k0") + hit + pointed


def _rendered(shown: Shown) -> Markup:
    strategies, metadata = shown.cuts.strategies, shown.cuts.documents[shown.document].metadata
    columns = [shown.here(strategy) for strategy in strategies]
    here = shown.here(shown.strategy)
    marks = [TextMark(piece.span, _tint(shown, piece), piece.number) for piece in here]
    marks += [TextMark(span, "rn-gold") for span in shown.gold]
    blocks = text_blocks(shown.text, shown.span, format_in(metadata, shown.text), marks)
    source = str(metadata.get(SOURCE) or "")
    return render(
        "text",
        title=metadata.get(TITLE),
        address=source if source.startswith(("http://", "https://")) else None,
        strip=f"{STRIP:.0f}",
        blocks=[
            {
                "html": block.html,
                "rails": [
                    {"strategy": strategies[rail.column], "cls": rail.cls, "path": rail.path}
                    for rail in block_rails(block.span, columns)
                ],
            }
            for block in blocks
        ],
    )


def _card(shown: Shown, piece: DrawnChunk) -> dict[str, Any]:
    """Describe a chunk; it and those before and after it count from 1."""
    nodes = shown.cuts.nodes(shown.strategy, shown.document)
    node = nodes[piece.number]
    data, rank = node.metadata, shown.ranks.get(shown.strategy, {}).get(node.node_id)
    embedded = node.get_content(MetadataMode.EMBED)
    return {
        "number": piece.number,
        "name": f"{piece.number + 1:,}",
        "cls": _tint(shown, piece),
        "is_open": piece.number == shown.chosen,
        "facts": " · ".join(_facts(node)),
        "inside": piece.inside,
        "rank": rank,
        "words": in_a_line(node.text[:180])[:90],
        "headings": [str(name) for name in data.get(HEADING_PATH) or ()],
        "embedded": embedded[:LONGEST],
        "is_longer": len(embedded) > LONGEST,
        "before": piece.number or None,
        "after": piece.number + 2 if piece.number + 1 < len(nodes) else None,
    }


def _facts(node: TextNode) -> list[str]:
    data = node.metadata
    facts = [
        f"{tokens_in(node):,} tokens",
        place(data.get(PAGE_START), data.get(PAGE_END)),
        f"part {data[PART]} of {data[PARTS]}" if data.get(PART) and data.get(PARTS) else None,
        "holds " + ", ".join(map(str, data[BLOCKS])) if data.get(BLOCKS) else None,
        "over the size limit" if data.get(OVERSIZED) else None,
    ]
    return [fact for fact in facts if fact]
