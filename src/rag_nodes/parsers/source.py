"""The text a strategy splits, where it lies in its document, and the splits it answers with."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from llama_index.core.schema import BaseNode, MetadataMode

from rag_nodes.core import metadata as keys
from rag_nodes.core.foreign_metadata import usable
from rag_nodes.text.formats import Format, format_of
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import PageMap, Span
from rag_nodes.text.tables import Tables, may_hold_tables

logger = logging.getLogger(__name__)

NO_FACTS: Mapping[str, Any] = MappingProxyType({})


class ChunkSpan(NamedTuple):
    """One future node: a span of the text and what the strategy knows of it.

    Attributes:
        start: offset of the first character.
        end: offset after the last one.
        facts: metadata of this node alone, by the keys of `rag_nodes.core.metadata`.
        window: what is to be read where the node is found; None for the node alone.
    """

    start: int
    end: int
    facts: Mapping[str, Any] = NO_FACTS
    window: Span | None = None


class SourceText:
    """One text to split, with what strategies ask of it computed at most once.

    Its title and, of a page of a website, its address are "" when there is none; a format of None
    is judged by the text. `page_breaks` are the sorted offsets at which pages after the first
    start.
    """

    def __init__(
        self,
        text: str,
        *,
        encoding: str,
        language: str,
        title: str = "",
        text_format: Format | None = None,
        address: str = "",
        page_breaks: Sequence[int] = (),
    ) -> None:
        self.text = text
        self.text_format = text_format or format_of(text)
        self.title = title
        self.address = address
        self.page_breaks = page_breaks
        self.encoding = encoding
        self._language = language

    @cached_property
    def packer(self) -> Packer:
        """Tokens, blocks and sentences of the text."""
        return Packer(
            self.text,
            encoding=self.encoding,
            language=self._language,
            text_format=self.text_format,
        )

    @cached_property
    def tables(self) -> Tables:
        """Tables of the text."""
        blocks = self.packer.blocks if may_hold_tables(self.text) else ()
        return Tables.among(blocks, self.text)

    def count(self, start: int, end: int) -> int:
        """Tokens of a span, exact."""
        return self.packer.count(start, end)


_HEADINGS = frozenset({keys.HEADING_PATH, keys.HEADING, keys.BREADCRUMB, keys.HEADINGS_INSIDE})
_OF_THE_FULL_TEXT = frozenset({keys.HEADING_PATH, keys.LINK, keys.WHOLE_DOCUMENT})
"""Metadata that a strategy cannot know from a fragment: it depends on the text before and after."""
_OF_BLOCKS = frozenset({keys.BLOCKS, keys.CODE_LANGUAGE})
"""Metadata that it knows only if the fragment starts with a block and not in the middle of one."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The document or node that is being split.

    `base` is the document offset of its first character, None where that is not known for certain;
    `pages` are those of the document, as far as the node knows them.
    """

    node: BaseNode
    base: int | None
    pages: PageMap | None

    @property
    def document_id(self) -> str:
        """Id of the root document."""
        return self.node.ref_doc_id or self.node.node_id

    def breaks_within(self, start: int, end: int) -> list[int]:
        """Return the offsets in `start:end` of the node's text at which a page starts."""
        if self.base is None or self.pages is None:
            return []
        offsets = self.pages.breaks_within(self.base + start, self.base + end)
        return [offset - self.base for offset in offsets]

    @property
    def is_document(self) -> bool:
        """Return True if this is the full text, not a part that another parser split out."""
        return self.node.source_node is None

    def inherited(self) -> dict[str, Any]:
        """Metadata that holds for every part of the node."""
        metadata = self.node.metadata
        if self.is_document or keys.HEADING_PATH not in metadata:
            return dict(metadata)
        section = {keys.LINK} if "#" in str(metadata.get(keys.LINK, "")) else set()
        return {k: v for k, v in metadata.items() if k not in _HEADINGS | section}

    def headings_above(self, start: int) -> tuple[list[str], str]:
        """Headings above an offset in a fragment, and the link of that section.

        The path is empty where there is none or none is known for certain; so is the link.
        """
        metadata = self.node.metadata
        path, link = list(metadata.get(keys.HEADING_PATH) or ()), str(metadata.get(keys.LINK) or "")
        inside = metadata.get(keys.HEADINGS_INSIDE) or ()
        if self.base is None:
            return ([], "") if inside else (path, link)
        passed = [above for offset, above in inside if offset <= self.base + start]
        return (list(passed[-1]), "") if passed else (path, link)

    def headings_inside(self, start: int, end: int) -> list[list[Any]]:
        """`[document offset, path]` of the headings after `start` and before `end`."""
        if self.base is None:
            return []
        first, last = self.base + start, self.base + end
        inside = self.node.metadata.get(keys.HEADINGS_INSIDE) or ()
        return [[offset, list(path)] for offset, path in inside if first < offset < last]

    def believed(self, facts: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the facts of a strategy that hold for the document, though it saw a fragment."""
        if self.is_document:
            return facts
        refused = _OF_THE_FULL_TEXT if self._starts_with_a_block() else _OF_NOTHING_BUT_SIZE
        kept = {key: value for key, value in facts.items() if key not in refused}
        if keys.BLOCKS in kept:
            blocks = self.node.metadata[keys.BLOCKS]
            kept[keys.BLOCKS] = [kind for kind in kept[keys.BLOCKS] if kind in blocks]
        return kept

    def tables_of(self, source: SourceText) -> Tables:
        """The tables of the text that is being split; a fragment may begin inside the first.

        Those that another parser saw inside a block of code are none.
        """
        metadata = self.node.metadata
        if self.is_document:
            return source.tables
        if "table" not in metadata.get(keys.BLOCKS, ("table",)):
            return Tables(())
        above = str(metadata.get(keys.TABLE_HEADER) or "")
        return Tables.of(source.text, source.text_format, above) if above else source.tables

    def _starts_with_a_block(self) -> bool:
        """Return True if a parser that saw the blocks says that the fragment starts with one."""
        metadata = self.node.metadata
        return keys.BLOCKS in metadata and metadata.get(keys.PART, 1) == 1 and _is_ours(self.node)


_OF_NOTHING_BUT_SIZE = _OF_THE_FULL_TEXT | _OF_BLOCKS


def origins_of(nodes: Sequence[BaseNode]) -> Iterator[Origin]:
    """Return the location of each node in its document, if it is certain."""
    given, nodes = nodes, [usable(node) for node in nodes]
    relative = _count_from_their_parent(nodes)
    bases = [_base_of(node, relative=relative) for node in nodes]
    doubtful = _contradicting(nodes, bases) | _chained(nodes)
    for original, node, base in zip(given, nodes, bases, strict=True):
        certain = None if node.ref_doc_id in doubtful else base
        is_known = certain is not None and _has_right_pages(original, node)
        yield Origin(node, certain, PageMap.of(node.metadata) if is_known else None)


def _has_right_pages(given: BaseNode, node: BaseNode) -> bool:
    """Return False, and say so, if a document's page starts cannot be those of its text."""
    if node.source_node is not None or given.metadata.get(keys.PAGE_STARTS) is None:
        return True
    starts = node.metadata.get(keys.PAGE_STARTS)
    text = node.get_content(MetadataMode.NONE)
    if starts is None:
        problem = "are no sorted list of whole numbers"
    elif starts and starts[-1] > len(text):
        problem = f"go up to {starts[-1]}, beyond the {len(text)} characters of its text"
    elif starts and text[: starts[0]].strip():
        problem = f"begin at {starts[0]}, and there is text before that"
    else:
        return True
    logger.warning(
        "%s: its page_starts %s, so its nodes have no pages; give the offset in the text at which "
        "each page starts, such as [0, 1200]",
        keys.page_name(node.metadata) or node.node_id,
        problem,
    )
    return False


def _base_of(node: BaseNode, *, relative: bool | None) -> int | None:
    """Offset of its first character in its document; None where facts disagree."""
    if node.source_node is None:
        return 0
    claim, outer = _claim_of(node), _outer_of(node)
    if claim is None or outer is None or _is_ours(node):
        return claim and claim[0]
    within = outer[0] <= claim[0] and claim[1] <= outer[1]
    if relative or outer[0] == 0:
        return outer[0] + claim[0] if claim[1] <= outer[1] - outer[0] else None
    return claim[0] if within and relative is False else None


def _claim_of(node: BaseNode) -> tuple[int, int] | None:
    start = getattr(node, "start_char_idx", None)
    end = getattr(node, "end_char_idx", None)
    if start is None or end is None or end - start != len(node.get_content()):
        return None
    return start, end


def _outer_of(node: BaseNode) -> tuple[int, int] | None:
    """Span of the last node of ours that this one was split from, or is."""
    start, end = node.metadata.get(keys.START_CHAR), node.metadata.get(keys.END_CHAR)
    return None if start is None or end is None else (start, end)


def _is_ours(node: BaseNode) -> bool:
    """Return True if no other parser has split the node since one of ours made it."""
    return _outer_of(node) is not None and _outer_of(node) == _claim_of(node)


def _count_from_their_parent(nodes: Sequence[BaseNode]) -> bool | None:
    """Return True if a parser in between counts offsets from the start of its input.

    LlamaIndex's do, and name the root document all the same. One node can look right both ways;
    the nodes of one parser cannot all of them. None where nothing decides it.
    """
    verdicts = set()
    for node in nodes:
        outer = _outer_of(node)
        claim = outer and _claim_of(node)  # looked for last: documents have none, and say so slowly
        if claim is None or outer is None or claim == outer:
            continue
        within = outer[0] <= claim[0] and claim[1] <= outer[1]
        if within != (claim[1] <= outer[1] - outer[0]):
            verdicts.add(not within)
    return verdicts.pop() if len(verdicts) == 1 else None


def _contradicting(nodes: Sequence[BaseNode], bases: Sequence[int | None]) -> set[str]:
    """Documents whose nodes claim the same characters for different text.

    LlamaIndex searches for offsets and may find wrong ones. A parser further down never sees the
    document, but two nodes that overlap must agree on the characters they share.
    """
    doubtful: set[str] = set()
    last: dict[str, tuple[int, int, str]] = {}
    claims = [
        (base, node)
        for base, node in zip(bases, nodes, strict=True)
        if base is not None and node.source_node
    ]
    for base, node in sorted(claims, key=lambda claim: claim[0]):
        document, text = node.ref_doc_id or "", node.get_content()
        start, end, before = last.get(document, (0, 0, ""))
        shared = min(end, base + len(text)) - base
        if shared > 0 and before[base - start : base - start + shared] != text[:shared]:
            doubtful.add(document)
        if base + len(text) >= end:
            last[document] = (base, base + len(text), text)
    return doubtful


def _chained(nodes: Sequence[BaseNode]) -> set[str]:
    """Documents that two parsers of LlamaIndex have split, one behind the other.

    The offsets of the second count from what the first gave it, and nothing says so but this: a
    node names the one before it, which does not name it in turn.
    """
    strangers = {node.node_id: node for node in nodes if _outer_of(node) is None}
    doubtful: set[str] = set()
    for node in strangers.values():
        before = strangers.get(node.prev_node.node_id) if node.prev_node else None
        if before is not None and before.next_node is None:
            doubtful.add(node.ref_doc_id or "")
    return doubtful
