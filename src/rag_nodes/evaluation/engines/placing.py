"""Nodes that anybody found, located in the documents they were split from."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from llama_index.core.schema import (
    BaseNode,
    Document,
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)

from rag_nodes.core import metadata as keys
from rag_nodes.core.foreign_metadata import usable
from rag_nodes.core.several import several
from rag_nodes.parsers.foreign.placing import Visible, place_window
from rag_nodes.text.locating import IndexedSpan, LetterIndex, Piece
from rag_nodes.text.spans import PageMap, Span

_LEAST = 20
"""Visible characters of a chunk that is looked for in documents which nothing else connects with
it."""
_NUMBERED = re.compile(r"\ASource \d+:\n")
"""Prefix that LlamaIndex's `CitationQueryEngine` puts in front of the texts it reads."""
_PAGES = (keys.PAGE_LABEL, keys.SOURCE)
"""Metadata in which readers put the number of a page that is a document."""
_OFFSETS = (keys.HEADINGS_INSIDE, keys.WINDOW_PLACE, keys.PAGE_BREAKS)
"""Metadata with offsets, which are wrong where those of the node are."""
_NAMES = (keys.SOURCE, keys.FILE_NAME, keys.TITLE)
"""Metadata of documents by which they are cited."""


class NodePlace(NamedTuple):
    """Location of a node: a document and a span.

    Attributes:
        document: the document's id.
        span: its characters in it.
    """

    document: str
    span: Span


class Placing:
    """Finds the place of a node: for certain, or not at all.

    A node's document is the one whose id it names, else those of the same path or URL, else any. In
    it the place is where the node's offsets say, if its text stands there, else the only place at
    which its visible characters stand, else the only place at which its letters and digits stand,
    as another program may have extracted them: see `LetterIndex`.

    Args:
        documents: in which nodes are located, several or a single one; without any, nodes stay as
            they are.
    """

    def __init__(self, documents: Document | Iterable[Document] = ()) -> None:
        given: Iterable[Document] = several(documents)
        self.documents = {document.id_: document for document in given}
        self._by_source: dict[str, list[str]] = defaultdict(list)
        for document in self.documents.values():
            for source in _sources(document):
                self._by_source[source].append(document.id_)
        self._visible: dict[str, Visible] = {}
        self._ids = list(self.documents)
        self._known: dict[tuple[str, str, str, int | None], NodePlace | None] = {}

    def placed(self, node: BaseNode) -> TextNode:
        """A copy of the node, as a slice of its document; without offsets where it has no place."""
        text = _text_of(node)
        if not self.documents:
            return _copy(node, text, _claim(node, text), {})
        place = self.place(node)
        if place is None:
            return _copy(node, text, None, {})
        document, span = self.documents[place.document], place.span
        facts = {key: document.metadata[key] for key in _NAMES if key in document.metadata}
        if pages := PageMap.of(document.metadata):
            facts |= pages.facts(*span)
        if window := self._window(node, document, span):
            facts |= window
        return _copy(node, span.of(document.text), span, facts, document)

    def learn(self, nodes: Iterable[BaseNode]) -> None:
        """Locate nodes of which all are known: what stands in several places, by its neighbours.

        Neighbours are the nodes before and behind it in the same file.
        """
        for family in in_order_of_files(nodes):
            places = [self.place(node) for node in family]
            if all(map(_is_claimed, family, places)):
                continue
            texts, parts = _rejoined(family)
            alone = [
                IndexedSpan(self._numbers[place.document], place.span) if place else None
                for place in places
            ]
            among = self._texts_of(family) or {place.text for place in alone if place}
            spans = self._index.find_in_order(texts, parts, alone, among, self._pages_of(among))
            for node, old, new in zip(family, places, spans, strict=True):
                if not _is_claimed(node, old):
                    place = NodePlace(self._ids[new.text], new.span) if new else None
                    self._known[self._key(node)] = place

    def _texts_of(self, family: Iterable[BaseNode]) -> set[int]:
        """Return the numbers of the texts that the nodes of a file name as theirs."""
        candidates = (pair for node in family for pair in self._candidates(node))
        named = {name for names, is_guess in candidates if not is_guess for name in names}
        return {self._numbers[name] for name in named}

    def _pages_of(self, numbers: Iterable[int]) -> Iterator[IndexedSpan]:
        """Yield the pages of texts, as far as they are known."""
        for number in numbers:
            document = self.documents[self._ids[number]]
            if pages := PageMap.of(document.metadata):
                for ends in pairwise([*pages.starts, len(document.text)]):
                    yield IndexedSpan(number, Span(*ends))

    def _key(self, node: BaseNode) -> tuple[str, str, str, int | None]:
        start = getattr(node, "start_char_idx", None)
        return node.node_id, node.ref_doc_id or "", _text_of(node), start

    def place(self, node: BaseNode) -> NodePlace | None:
        """Locate a node; None if its location is not certain."""
        key = self._key(node)
        if key not in self._known:
            self._known[key] = self._searched(node, _text_of(node))
        return self._known[key]

    def is_elsewhere(self, node: BaseNode) -> bool:
        """Return True if the named document has another text at the span that a node claims."""
        text = _text_of(node)
        document, claim = self.documents.get(node.ref_doc_id or ""), _claim(node, text)
        return bool(document and claim and claim.of(document.text) != text)

    def _searched(self, node: BaseNode, text: str) -> NodePlace | None:
        for documents, is_guess in self._candidates(node):
            if claim := _claim(node, text):
                true = [
                    document
                    for document in documents
                    if claim.of(self.documents[document].text) == text
                ]
                if len(true) == 1 and not is_guess:
                    return NodePlace(true[0], claim)
            if is_guess and len("".join(text.split())) < _LEAST:
                return None
            places = [
                NodePlace(document, span)
                for document in documents
                if (span := self._letters(document).only(text))
            ]
            if len(places) == 1 and (not is_guess or self._is_alone(places[0], text)):
                return places[0]
            if not places and (extracted := self._extracted(documents, text)):
                return extracted
        return None

    def _extracted(self, documents: Sequence[str], text: str) -> NodePlace | None:
        """Return the place of a text that another program extracted from the same files."""
        numbers = {self._numbers[document] for document in documents}
        is_all = len(numbers) == len(self._ids)
        place = self._index.find(text, None if is_all else numbers)
        return NodePlace(self._ids[place.text], place.span) if place else None

    @cached_property
    def _index(self) -> LetterIndex:
        return LetterIndex([document.text for document in self.documents.values()])

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._ids)}

    def _candidates(self, node: BaseNode) -> Iterator[tuple[Sequence[str], bool]]:
        """Documents that may hold the node, the likeliest first; True where that is a guess."""
        if node.ref_doc_id in self.documents:
            yield [str(node.ref_doc_id)], False
        if same := [
            document for source in _sources(node) for document in self._by_source.get(source, ())
        ]:
            yield list(dict.fromkeys(same)), False
        yield list(self.documents), True

    def _letters(self, document: str) -> Visible:
        if document not in self._visible:
            self._visible[document] = Visible(self.documents[document].text)
        return self._visible[document]

    def _window(self, node: BaseNode, document: Document, span: Span) -> dict[str, object]:
        """The window around a node as a slice of its document; nothing where it has none."""
        window = node.metadata.get(keys.WINDOW)
        if not isinstance(window, str) or keys.WINDOW_PLACE in node.metadata:
            return {}
        around = place_window(self._letters(document.id_), span, window)
        if around is None:
            return {}
        place = {keys.START_CHAR: around.start, keys.END_CHAR: around.end}
        return {keys.WINDOW: around.of(document.text), keys.WINDOW_PLACE: place}

    def _is_alone(self, place: NodePlace, text: str) -> bool:
        """Return True if no other document holds the text."""
        letters = "".join(text.split())
        others = (visible for name, visible in self._visible.items() if name != place.document)
        return not any(letters in other.letters for other in others)


def _rejoined(family: Iterable[BaseNode]) -> tuple[list[Piece], list[IndexedSpan]]:
    """Return the texts that nodes in order were split from, as far as they tell, and where in them.

    What stands in several nodes, such as an overlap, is there once.
    """
    texts: list[list[str]] = []
    pages: list[int] = []
    spans: list[IndexedSpan] = []
    own: str | None = None
    size = end = 0
    for node in family:
        text, (start, _) = _text_of(node), _offsets(node)
        again = max(0, end - start)
        if not texts or node.ref_doc_id != own or not _follows(texts[-1], text, again):
            texts.append([])
            pages.append(_page_of(node))
            own, size, end, again = node.ref_doc_id, 0, start, 0
        spans.append(IndexedSpan(len(texts) - 1, Span(size - again, size - again + len(text))))
        texts[-1].append(text[again:])
        size += len(text[again:])
        end = max(end, start + len(text))
    joined = map("".join, texts)
    return [Piece(text, page) for text, page in zip(joined, pages, strict=True)], spans


def _follows(pieces: Sequence[str], text: str, again: int) -> bool:
    """Return whether a text begins with as many of the last characters of others as it says."""
    last = ""
    for piece in reversed(pieces):
        if len(last) >= again:
            break
        last = piece + last
    return last[len(last) - again :].startswith(text[:again])


def _offsets(node: BaseNode) -> tuple[int, int]:
    """Return where a node says it begins and ends; -1 if it does not say."""
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    return (-1 if start is None else start), (-1 if end is None else end)


def in_order_of_files(nodes: Iterable[BaseNode]) -> list[list[BaseNode]]:
    """Return the nodes of each file in the order in which they stand in it.

    Pages of a file may be documents; nodes that do not say where they begin are left out.
    """
    families: dict[str, list[tuple[int, int, int, BaseNode]]] = defaultdict(list)
    order: dict[str, int] = {}
    for node in nodes:
        start = getattr(node, "start_char_idx", None)
        if start is not None:
            own = node.ref_doc_id or ""
            path = next((source for source in _sources(node) if "/" in source), own)
            turn = order.setdefault(own, len(order))
            families[path].append((_page_of(node), turn, int(start), node))
    return [
        [node for *_, node in sorted(family, key=lambda member: member[:3])]
        for family in families.values()
    ]


def _page_of(node: BaseNode) -> int:
    """Return the number of the page that a node is of; 0 if it does not say."""
    labels = (keys.page_number(node.metadata.get(key)) for key in _PAGES)
    return next(filter(None, labels), 0)


def is_placed(node: BaseNode) -> bool:
    """Return True if a node was located."""
    return getattr(node, "start_char_idx", None) is not None


def _sources(node: BaseNode) -> list[str]:
    """Return the paths and URLs that a node names as its source, each in one spelling."""
    return list(dict.fromkeys(map(_spelt, keys.sources(node.metadata))))


def _spelt(source: str) -> str:
    if "://" in source:
        return source.partition("#")[0]
    try:
        return os.path.realpath(source)
    except (OSError, ValueError):  # a name that the system cannot take
        return source


def _text_of(node: BaseNode) -> str:
    """The node's text as its document has it."""
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    numbered = _NUMBERED.match(text)
    return text[numbered.end() :].removesuffix("\n") if numbered else text


def _is_claimed(node: BaseNode, place: NodePlace | None) -> bool:
    """Return whether a place is where a node says it stands."""
    claim = _claim(node, _text_of(node))
    return place is not None and place == (node.ref_doc_id, claim)


def _claim(node: BaseNode, text: str) -> Span | None:
    """Return the span that a node claims, if its length agrees."""
    start, end = _offsets(node)
    return Span(start, end) if start >= 0 and end - start == len(text) else None


def _copy(
    node: BaseNode,
    text: str,
    span: Span | None,
    facts: dict[str, object],
    document: Document | None = None,
) -> TextNode:
    metadata = dict(usable(node).metadata)
    if span is None or span != _claim(node, text):
        metadata = {key: value for key, value in metadata.items() if key not in _OFFSETS}
    for key in (keys.START_CHAR, keys.END_CHAR):
        metadata.pop(key, None)
    added = sorted(facts.keys() - node.metadata.keys())  # which its own embedding lacks
    relationships = dict(node.relationships)
    if document is not None:
        relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document.id_)
    copy = TextNode(
        id_=node.node_id,
        text=text,
        metadata={**metadata, **facts},
        relationships=relationships,
        excluded_embed_metadata_keys=[*node.excluded_embed_metadata_keys, *added],
        excluded_llm_metadata_keys=[*node.excluded_llm_metadata_keys, *added],
    )
    if span is not None:
        copy.start_char_idx, copy.end_char_idx = span
    return copy
