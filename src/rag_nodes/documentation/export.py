"""Chunks to JSON objects, in the shapes that the pipelines behind ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes import metadata as keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

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
            "token_count": found.get(keys.TOKEN_COUNT),
            "summary": found.get(keys.SUMMARY),
            "metadata": {
                "title": found.get(keys.TITLE),
                "link": chunk_link(node),
                **{key: found[key] for key in _OF_THE_CRAWL if key in found},
                **_notes(node),
            },
        }


def link_rows(nodes: Sequence[TextNode], _: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Keys: chunk_link, chunk_heading, text, summary."""
    for node in nodes:
        yield {
            "chunk_link": chunk_link(node),
            "chunk_heading": node.metadata.get(keys.HEADING) or node.metadata.get(keys.TITLE),
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
    for number, node in enumerate(nodes):
        found = node.metadata
        yield {
            "chunk_id": number,
            "total_chunks": len(nodes),
            "content": node.text,
            "section": found.get(keys.HEADING) or found.get(keys.TITLE),
            "hierarchy": found.get(keys.HEADING_PATH, []),
            "position": number,
            "token_count": found.get(keys.TOKEN_COUNT),
            "overlap_with_prev": number > 0 and _overlap(nodes[number - 1], node),
            "overlap_with_next": number + 1 < len(nodes) and _overlap(node, nodes[number + 1]),
            "source_url": found.get(keys.SOURCE),
            "source_hash": found.get(keys.SOURCE_HASH),
            "summary": found.get(keys.SUMMARY),
        }


def flat_rows(nodes: Sequence[TextNode], page: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every fact in a column of its own, the same columns in every row: ready for Parquet."""
    for node in nodes:
        found = node.metadata
        yield {
            "chunk_id": node.node_id,
            "document_id": node.ref_doc_id,
            "source_url": found.get(keys.SOURCE),
            "also_at": found.get(keys.ALSO_AT, []),
            "source_hash": found.get(keys.SOURCE_HASH),
            "title": found.get(keys.TITLE),
            "description": found.get(keys.DESCRIPTION),
            "language": found.get(keys.LANGUAGE),
            "og_locale_alternate": found.get(keys.LOCALES, []),
            "status_code": found.get(keys.STATUS_CODE),
            "base_url": found.get(keys.BASE_URL),
            "timestamp": found.get(keys.TIMESTAMP),
            "links_on_page": page.get(keys.LINKS_ON_PAGE, []),
            "link": chunk_link(node),
            "heading": found.get(keys.HEADING),
            "heading_path": found.get(keys.HEADING_PATH, []),
            "chunk_index": found.get(keys.CHUNK_INDEX),
            "total_chunks": found.get(keys.TOTAL_CHUNKS),
            "part": found.get(keys.PART),
            "parts": found.get(keys.PARTS),
            "start_char": node.start_char_idx,
            "end_char": node.end_char_idx,
            "token_count": found.get(keys.TOKEN_COUNT),
            "blocks": found.get(keys.BLOCKS, []),
            "oversized": bool(found.get(keys.OVERSIZED)),
            "whole_document": bool(found.get(keys.WHOLE_DOCUMENT)),
            "text": node.text,
            "summary": found.get(keys.SUMMARY),
            "summary_kind": found.get(keys.SUMMARY_KIND),
            "summary_error": found.get(keys.SUMMARY_ERROR),
        }


FORMATS: dict[str, ChunkFormat] = {
    "documentation": documentation_rows,
    "links": link_rows,
    "tokens": token_rows,
    "web": web_rows,
    LINES: flat_rows,
}
"""The shapes by name."""

_OF_THE_CRAWL = (keys.BASE_URL, keys.TIMESTAMP, keys.LOCALES)


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


def _notes(node: TextNode) -> dict[str, Any]:
    """What is special about a chunk, for people who read the output."""
    found = node.metadata
    notes: dict[str, Any] = {}
    if found.get(keys.WHOLE_DOCUMENT):
        notes["note"] = "full document"
    if part := found.get(keys.PART):
        notes["part"] = f"Part {part}"
    for key in (keys.OVERSIZED, keys.BLOCKS, keys.ALSO_AT, keys.SUMMARY_KIND, keys.SUMMARY_ERROR):
        if key in found:
            notes[key] = found[key]
    return notes


def _overlap(left: TextNode, right: TextNode) -> bool:
    return (right.start_char_idx or 0) < (left.end_char_idx or 0)
