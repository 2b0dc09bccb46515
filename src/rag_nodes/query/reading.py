"""Hits in, sources out: what is read of them within a budget, each character and sentence once.

What is read is grouped per page for the model only: the hits themselves stay as retrieved, so a
comparison still shows which chunk matched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.schema import NodeRelationship

from rag_nodes.core import metadata as keys
from rag_nodes.query.locations import document_of, pages_of, related, span_of, tables_of
from rag_nodes.query.types import Excerpt, Source
from rag_nodes.store import Hit
from rag_nodes.text.filling import Lead, Ranked, Repeat, fill, lead_tokens
from rag_nodes.text.formats import format_in, format_of
from rag_nodes.text.markdown import Kind
from rag_nodes.text.packing import Packer
from rag_nodes.text.passages import normalised
from rag_nodes.text.spans import Span
from rag_nodes.text.tables import Tables, column_names
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llama_index.core.schema import TextNode

    from rag_nodes.text.passages import TextRun
    from rag_nodes.text.tables import Table

_GAP = "\n[...]\n"
"""Stands for text between two excerpts of a page that is not read."""
_BLANK = "\n"
"""Between two chunks that are neighbours: what their parser left out there is blank."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Sources that go into the prompt, and what did not fit, as in `Answer`.

    `truncated` is the hit of which only a part is read, always the last; None where all are whole.
    """

    hits: tuple[Hit, ...]
    sources: tuple[Source, ...]
    left_out: int
    tokens: int
    left_out_tokens: int = 0
    truncated: Hit | None = None


def pack(hits: Sequence[Hit], budget: int | None, *, all_wanted: bool = False) -> Packed:
    """Read the hits in rank order until the budget is full, each character and sentence once.

    `rag_nodes.text.filling` says how; the budget counts the documents' own text and the names of
    columns before rows that have lost them. Hits behind the
    one that filled it were never candidates and are dropped, unless all were wanted: then they
    count as left out.
    """
    ranked = [passage_of(hit) for hit in hits]
    filled = fill(ranked, budget)
    read = [
        _ReadHit(hit, passage, parts)
        for hit, passage, parts in zip(hits, ranked, filled.parts, strict=False)
    ]
    truncated = hits[len(read) - 1] if filled.truncated else None
    if truncated and not read[-1].parts:
        del read[-1]
        truncated = None
    left_out = hits[len(read) :] if all_wanted else []
    sources = _sources(read)
    return Packed(
        hits=tuple(hits) if all_wanted else tuple(excerpt.hit for excerpt in read),
        sources=sources,
        left_out=len(left_out),
        tokens=sum(source.tokens for source in sources),
        left_out_tokens=sum(count_tokens(hit.read.text) for hit in left_out),
        truncated=truncated,
    )


def one_by_one(hits: Sequence[Hit]) -> tuple[Source, ...]:
    """A source for each hit, numbered by its rank, as other engines number what they read."""
    passages = [passage_of(hit) for hit in hits]
    whole = [
        _excerpt(hit, passage, passage.span) for hit, passage in zip(hits, passages, strict=True)
    ]
    return tuple(_source(excerpt.hit.rank, [excerpt], [excerpt.hit], []) for excerpt in whole)


class _ReadHit(NamedTuple):
    """A hit and what is read because of it; no parts where hits before it hold its text."""

    hit: Hit
    passage: Ranked
    parts: tuple[Span, ...]


def in_whole_sentences(excerpts: Iterable[Excerpt]) -> list[Excerpt]:
    """Return excerpts by rank, without sentences and rows that the budget has split at their ends.

    If nothing is left of them, the best one has its sentence whole.
    """
    kept: list[Excerpt] = []
    completed: list[Excerpt] = []
    for excerpt in sorted(excerpts, key=lambda excerpt: excerpt.hit.rank):
        node, held, read = excerpt.hit.node, span_of(excerpt.hit.node), excerpt.span
        if not (read and held and held.start <= read.start < read.end < held.end):
            kept.append(excerpt)  # the chunk ends there, too, or does not hold all of it
            continue
        start, end = read.start - held.start, read.end - held.start
        packer = Packer(node.text, text_format=format_in(node.metadata, node.text))
        *before, last = packer.unit_starts(0, end)
        # A heading belongs to what follows it.
        ends = [
            packer.unit_end(at) for at in before if packer.block_at(at).kind is not Kind.HEADING
        ]
        if (whole := packer.unit_end(last)) <= end:
            kept.append(excerpt)
        elif ends and ends[-1] > start:
            kept.append(replace(excerpt, end=excerpt.end - end + ends[-1]))
        else:
            hit = replace(excerpt.hit, surroundings=None)
            completed.append(Excerpt(hit, last, whole, excerpt.tokens))
    return kept or completed[:1]


def passage_of(hit: Hit) -> Ranked:
    """The hit as a passage of its document; of a document of its own where offsets are missing."""
    node, passage = hit.read, plain_passage_of(hit)
    base = node.start_char_idx if span_of(node) else None
    core = span_of(hit.found) if base is not None else None
    repeats = tuple(_repeats_of(hit)) if hit.also else ()
    return passage._replace(core=core, leads=leads_of(node, base or 0), repeats=repeats)


def plain_passage_of(hit: Hit) -> Ranked:
    """Return the passage without what matched, the lines before tables, and what repeats it."""
    node, span = hit.read, span_of(hit.read)
    if span is None:
        return Ranked(f"node {node.node_id}", Span(0, len(node.text)), node.text)
    return Ranked(document_of(node), span, node.text)


def _repeats_of(hit: Hit) -> Iterator[Repeat]:
    text = normalised(hit.read.text)
    for node in hit.also:
        if span := span_of(node):
            yield Repeat(document_of(node), span, normalised(node.text) in text)


def _sources(read: Sequence[_ReadHit]) -> tuple[Source, ...]:
    """Numbered sources: one per page of a file, or per section where there are no pages.

    They are numbered by their best hit; the text inside one is in document order.
    """
    groups: dict[tuple[str, str], list[Excerpt]] = defaultdict(list)
    held: dict[tuple[str, str], list[Hit]] = defaultdict(list)
    copies: dict[tuple[str, str], list[Hit]] = defaultdict(list)
    places: dict[str, list[tuple[Span, tuple[str, str]]]] = defaultdict(list)
    for passage in read:
        document, whole = passage.passage.document, passage.passage.span
        for part in passage.parts:
            excerpt = _excerpt(passage.hit, passage.passage, part)
            group = (
                document_of(passage.hit.read),
                section_of(excerpt.hit.read, excerpt.start, excerpt.end),
            )
            groups[group].append(excerpt)
            places[document].append((part, group))
        touched = (group for part, group in places[document] if part.overlap(whole))
        for group in dict.fromkeys(touched):
            held[group].append(passage.hit)
        repeated = (
            group
            for repeat in passage.passage.repeats
            for part, group in (() if passage.parts else places[repeat.document])
            if part.overlap(repeat.span)
        )
        for group in dict.fromkeys(repeated):
            copies[group].append(passage.hit)
    return tuple(
        _source(number, excerpts, held[group], copies[group])
        for number, (group, excerpts) in enumerate(groups.items(), start=1)
    )


def _excerpt(hit: Hit, passage: Ranked, part: Span) -> Excerpt:
    start, end = part.start - passage.span.start, part.end - passage.span.start
    lead = passage.lead_at(part.start)
    tokens = count_tokens(passage.text[start:end])
    return Excerpt(hit, start, end, tokens, lead.text if lead else "")


def _source(number: int, excerpts: list[Excerpt], hits: list[Hit], copies: Sequence[Hit]) -> Source:
    ordered = _led(sorted(excerpts, key=lambda excerpt: (excerpt.span or (0, 0), excerpt.hit.rank)))
    return Source(
        number=number,
        hits=tuple(sorted(hits, key=lambda hit: (hit.node.start_char_idx or 0, hit.rank))),
        text=_joined(ordered),
        label=f"Source {number}{_place(ordered[0])}",
        tokens=sum(excerpt.tokens for excerpt in ordered),
        excerpts=tuple(ordered),
        copies=tuple(copies),
    )


def _place(excerpt: Excerpt) -> str:
    page, _ = pages_of(excerpt.hit.read, excerpt.start, excerpt.end)
    if page:
        return f" - Page {page}"
    metadata = excerpt.hit.read.metadata
    name = metadata.get(keys.BREADCRUMB) or metadata.get(keys.TITLE) or metadata.get(keys.FILE_NAME)
    # No line ends, no brackets that would end the label early.
    words = str(name or "").translate({ord("["): "(", ord("]"): ")"}).split()
    return f" - {' '.join(words)}" if words else ""


def _led(excerpts: Sequence[Excerpt]) -> list[Excerpt]:
    """Keep each lead once, unless the text before the excerpt continues in it."""
    led: set[str] = set()
    kept: list[Excerpt] = []
    for excerpt in excerpts:
        continues = bool(kept) and _between(kept[-1], excerpt) != _GAP
        if not excerpt.lead or excerpt.lead in led or continues:
            kept.append(replace(excerpt, lead=""))
        else:
            led.add(excerpt.lead)
            kept.append(replace(excerpt, tokens=excerpt.tokens + lead_tokens(excerpt.lead)))
    return kept


def _joined(excerpts: Sequence[Excerpt]) -> str:
    """The texts in document order, gaps marked, names of columns before rows that lost them."""
    between = ["", *(_between(before, after) for before, after in pairwise(excerpts))]
    texts = (
        f"{excerpt.lead}\n{excerpt.text}" if excerpt.lead else excerpt.text for excerpt in excerpts
    )
    return "".join(gap + text for gap, text in zip(between, texts, strict=True))


def _between(before: Excerpt, after: Excerpt) -> str:
    """Return the text that stands for a gap between two excerpts."""
    if before.span and after.span and before.span.end == after.span.start:
        return ""
    first, other = before.hit.read, after.hit.read
    whole = before.end == len(first.text) and after.start == 0
    # Either may be a slice, whose neighbours are slices; those of a stored chunk are chunks.
    next_id = related(first, NodeRelationship.NEXT)
    previous_id = related(other, NodeRelationship.PREVIOUS)
    beside = next_id == other.node_id or previous_id == first.node_id
    return _BLANK if whole and beside else _GAP


def section_of(node: TextNode, start: int, end: int) -> str:
    """Return the page of some characters of a node, else the headings above the node."""
    page, _ = pages_of(node, start, end)
    return f"page {page}" if page else str(node.metadata.get(keys.BREADCRUMB) or "")


def leads_of(node: TextNode, base: int) -> tuple[Lead, ...]:
    """Return the lines before parts of a node that begin inside a table.

    Args:
        node: is read.
        base: offset of its first character in the document.
    """
    turned = [at - base for at in node.metadata.get(keys.PAGE_BREAKS) or ()]
    return tuple(
        Lead(Span(base + start, base + end), line, section_of(node, start, end))
        for table in tables_of(node).tables
        for start, end, line in _stretches(table, turned)
    )


def leads_of_run(
    run: TextRun, breaks: Iterable[int], page: Callable[[int], int | None]
) -> tuple[Lead, ...]:
    """Return the lines before passages of a run that begin inside a table.

    Args:
        run: text that was retrieved.
        breaks: offsets in the document at which a page may start.
        page: returns the page of an offset in the document; None if it has none.
    """
    turned = sorted({at - run.start for at in breaks})
    tables = Tables.of(run.text, format_of(run.text), run.table_header).tables
    return tuple(
        Lead(Span(run.start + start, run.start + end), line, place)
        for table in tables
        for start, end, line in _stretches(table, turned)
        for place in (f"table {table.start}, page {page(run.start + start)}",)
    )


def _stretches(table: Table, turned: Iterable[int]) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and line of what can begin inside a table, page by page."""
    names = column_names(table.header)
    low, high = max(0, table.start + 1), table.end
    bounds = [low, *(at for at in turned if low < at < high), high]
    for start, end in pairwise(bounds) if names else ():
        yield start, end, f"{keys.TABLE}: {names}"
