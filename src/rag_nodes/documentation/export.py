"""Chunks to JSON objects, in the shapes that the pipelines behind ask for."""

from __future__ import annotations

from itertools import pairwise, starmap
from typing import TYPE_CHECKING, Any

from rag_nodes import metadata as keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from llama_index.core.schema import TextNode

    ChunkFormat = Callable[[Sequence[TextNode], Mapping[str, Any]], Iterator[dict[str, Any]]]
    """One object of each chunk of a page, from the chunks in order and the page's metadata."""

LINES = "jsonl"
"""The format with one object per line; the others are one JSON array."""


def documentation_rows(nodes: Sequence[TextNode], _: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Keys: chunk_id, source_url, content, headers by level, token_count, summary."""
    for node in nodes:
        found = node.metadata
        path = found.get(keys.HEADING_PATH, [])
        yield {
            "chunk_id": node.node_id,
            "source_url": found.get(keys.SOURCE),
            "content": node.text,
            "headers": {f"Header {level}": name for level, name in enumerate(path, 1)},
            **_as_named(found, _COUNTED),
            "metadata": {
                "title": found.get(keys.TITLE),
                "link": chunk_link(node),
                **_notes(found),
                **{key: found[key] for key in _KEPT if key in found},
            },
        }


def link_rows(nodes: Sequence[TextNode], _: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Keys: chunk_link, chunk_heading, text, summary."""
    for node in nodes:
        yield {
            "chunk_link": chunk_link(node),
            "chunk_heading": _heading(node),
            "text": node.text,
            "summary": node.metadata.get(keys.SUMMARY),
        }


def token_rows(nodes: Sequence[TextNode], _: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Keys: text, tokens, chunk_index, and metadata with offsets; web pages have no pages."""
    for node in nodes:
        found = node.metadata
        yield {
            "text": node.text,
            "tokens": found.get(keys.TOKEN_COUNT),
            "chunk_index": found.get(keys.CHUNK_INDEX),
            "metadata": {
                "document_id": node.ref_doc_id,
                "page_number": found.get(keys.PAGE_START),
                "start_char": node.start_char_idx,
                "end_char": node.end_char_idx,
                "summary": found.get(keys.SUMMARY),
            },
        }


def web_rows(nodes: Sequence[TextNode], _: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Keys: chunk_id, which counts within the page, and the rest of the web chunker's fields."""
    shared = [False, *starmap(_overlap, pairwise(nodes)), False]
    for number, node in enumerate(nodes):
        yield {
            "chunk_id": number,
            "total_chunks": len(nodes),
            "content": node.text,
            "section": _heading(node),
            "hierarchy": node.metadata.get(keys.HEADING_PATH, []),
            "position": number,
            "token_count": node.metadata.get(keys.TOKEN_COUNT),
            "overlap_with_prev": shared[number],
            "overlap_with_next": shared[number + 1],
            "source_url": node.metadata.get(keys.SOURCE),
            **_as_named(node.metadata, (keys.SOURCE_HASH, keys.SUMMARY)),
        }


def flat_rows(nodes: Sequence[TextNode], page: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every fact in a column of its own, the same columns in every row: ready for Parquet."""
    for node in nodes:
        found = node.metadata
        yield {
            "chunk_id": node.node_id,
            "document_id": node.ref_doc_id,
            "source_url": found.get(keys.SOURCE),
            **_as_named(found, _FLAT),
            **{key: found.get(key, []) for key in _LISTS},
            "links_on_page": page.get(keys.LINKS_ON_PAGE, []),
            "link": chunk_link(node),
            "start_char": node.start_char_idx,
            "end_char": node.end_char_idx,
            "oversized": bool(found.get(keys.OVERSIZED)),
            "whole_document": bool(found.get(keys.WHOLE_DOCUMENT)),
            "text": node.text,
        }


FORMATS: dict[str, ChunkFormat] = {
    "documentation": documentation_rows,
    "links": link_rows,
    "tokens": token_rows,
    "web": web_rows,
    LINES: flat_rows,
}
"""The shapes by name."""

_COUNTED = (keys.TOKEN_COUNT, keys.SUMMARY)
_KEPT = (
    keys.BASE_URL,
    keys.TIMESTAMP,
    keys.LOCALES,
    keys.OVERSIZED,
    keys.BLOCKS,
    keys.ALSO_AT,
    keys.SUMMARY_KIND,
    keys.SUMMARY_ERROR,
)
"""Where a chunk has them."""
_LISTS = (keys.ALSO_AT, keys.LOCALES, keys.HEADING_PATH, keys.BLOCKS)
_FLAT = (
    keys.SOURCE_HASH,
    keys.TITLE,
    keys.DESCRIPTION,
    keys.LANGUAGE,
    keys.STATUS_CODE,
    keys.BASE_URL,
    keys.TIMESTAMP,
    keys.HEADING,
    keys.CHUNK_INDEX,
    keys.TOTAL_CHUNKS,
    keys.PART,
    keys.PARTS,
    *_COUNTED,
    keys.SUMMARY_KIND,
    keys.SUMMARY_ERROR,
)


def _as_named(found: Mapping[str, Any], wanted: Iterable[str]) -> dict[str, Any]:
    """Metadata under their own names, None where there are none."""
    return {key: found.get(key) for key in wanted}


def chunk_link(node: TextNode) -> str | None:
    """`url#anchor` of the section a chunk belongs to.

    The anchor is the one the page itself gives the heading. A heading without one has the URL
    alone: a guessed anchor may lead nowhere.
    """
    url = node.metadata.get(keys.SOURCE)
    anchor = node.metadata.get(keys.LINK)
    if not anchor or "://" in anchor:
        return anchor or url
    return f"{str(url).partition('#')[0]}{anchor}"


def _heading(node: TextNode) -> str | None:
    return node.metadata.get(keys.HEADING) or node.metadata.get(keys.TITLE)


def _notes(found: Mapping[str, Any]) -> dict[str, Any]:
    """What is special about a chunk, for people who read the output."""
    note = {"note": "full document"} if found.get(keys.WHOLE_DOCUMENT) else {}
    return note | ({"part": f"Part {part}"} if (part := found.get(keys.PART)) else {})


def _overlap(left: TextNode, right: TextNode) -> bool:
    return (right.start_char_idx or 0) < (left.end_char_idx or 0)
