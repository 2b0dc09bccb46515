"""Chunks in the two shapes that are written: a JSON document, and JSON lines."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rag_nodes.core import metadata as keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from llama_index.core.schema import Document, TextNode

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
"""Metadata that the JSON document has if the chunk has it."""
_LISTS = (keys.ALSO_AT, keys.LOCALES, keys.HEADING_PATH, keys.BLOCKS)
_FACTS = (
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
    keys.TOKEN_COUNT,
    keys.SUMMARY,
    keys.SUMMARY_KIND,
    keys.SUMMARY_ERROR,
)
_LINE_ENDS = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"})
"""JSON allows these inside texts; programs that read line by line would end a line there."""


def chunk_objects(nodes: Iterable[TextNode]) -> Iterator[dict[str, Any]]:
    """Yield chunk_id, source_url, content, headers by level, token_count, summary, metadata."""
    for node in nodes:
        facts = node.metadata
        path = facts.get(keys.HEADING_PATH, [])
        notes = {"note": "full document"} if facts.get(keys.WHOLE_DOCUMENT) else {}
        if part := facts.get(keys.PART):
            notes["part"] = f"Part {part}"
        yield {
            "chunk_id": node.node_id,
            "source_url": facts.get(keys.SOURCE),
            "content": node.text,
            "headers": {f"Header {level}": name for level, name in enumerate(path, 1)},
            "token_count": facts.get(keys.TOKEN_COUNT),
            "summary": facts.get(keys.SUMMARY),
            "metadata": {
                "title": facts.get(keys.TITLE),
                "link": chunk_link(facts),
                **notes,
                **{key: facts[key] for key in _KEPT if key in facts},
            },
        }


def chunk_rows(nodes: Sequence[TextNode], document: Document) -> Iterator[dict[str, Any]]:
    """Yield every fact in a column of its own, the same columns for every chunk of any page."""
    overlaps = [(after.start_char_idx or 0) < (node.end_char_idx or 0)
                for node, after in pairwise(nodes)]  # fmt: skip
    for node, previous, following in zip(
        nodes, [False, *overlaps], [*overlaps, False], strict=True
    ):
        facts = node.metadata
        yield {
            "chunk_id": node.node_id,
            "document_id": node.ref_doc_id,
            "source_url": facts.get(keys.SOURCE),
            **{key: facts.get(key) for key in _FACTS},
            **{key: facts.get(key, []) for key in _LISTS},
            "links_on_page": document.metadata.get(keys.LINKS_ON_PAGE, []),
            "link": chunk_link(facts),
            "start_char": node.start_char_idx,
            "end_char": node.end_char_idx,
            "overlap_with_prev": previous,
            "overlap_with_next": following,
            "oversized": bool(facts.get(keys.OVERSIZED)),
            "whole_document": bool(facts.get(keys.WHOLE_DOCUMENT)),
            "text": node.text,
        }


def chunk_link(facts: Mapping[str, Any]) -> str | None:
    """Return `url#anchor` of the section a chunk belongs to.

    The anchor is the one the page itself gives the heading. A heading without one has the URL
    alone: a guessed anchor may lead nowhere.
    """
    url, anchor = facts.get(keys.SOURCE), facts.get(keys.LINK)
    if not anchor or "://" in anchor:
        return anchor or url
    return f"{str(url).partition('#')[0]}{anchor}"


def as_json(rows: Iterable[dict[str, Any]], *, lines: bool) -> Iterator[str]:
    """Yield the text of objects piece by piece: one per line, or one array indented by two."""
    before = "" if lines else "[\n  "
    for row in rows:
        text = json.dumps(row, ensure_ascii=False, indent=None if lines else 2)
        text = text.translate(_LINE_ENDS)
        yield f"{text}\n" if lines else before + text.replace("\n", "\n  ")
        before = ",\n  "
    if not lines:
        yield "[]\n" if before.startswith("[") else "\n]\n"
