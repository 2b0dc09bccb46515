"""The metadata keys that readers set on documents and parsers set on nodes, in one place.

Every key but `BREADCRUMB` is bookkeeping: it is listed in the node's excluded keys, so neither
the embedding model nor the LLM sees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SOURCE = "source"
"""Canonical path or URL the text came from (str)."""
FILE_NAME = "file_name"
"""Last part of the path, for display (str)."""
SOURCE_HASH = "source_hash"
"""SHA-256 of the document's text, hex (str). On stored nodes it is that of text, pages and metadata
together, and decides re-ingest."""
TITLE = "title"
"""Title of the document, where the file states one (str)."""
DESCRIPTION = "description"
"""What the document says it is about, from its front matter (str)."""
ALSO_AT = "also_at"
"""Further URLs at which the same text was found (list of str)."""
FRONT_MATTER = "front_matter"
"""Scalars and lists of scalars that a Markdown file states about itself, by name (dict)."""
LANGUAGE = "language"
"""Language a web page states (str)."""
STATUS_CODE = "status_code"
"""HTTP status a web page was answered with (int)."""
BASE_URL = "base_url"
"""Address at which the crawl of a web page began (str)."""
TIMESTAMP = "timestamp"
"""When the crawl was made, as the crawler writes it (str)."""
LOCALES = "og_locale_alternate"
"""Further locales in which a web page says it exists (list of str)."""
LINKS_ON_PAGE = "links_on_page"
"""On documents only: addresses to which a web page links (list of str)."""
TOTAL_PAGES = "total_pages"
"""Pages of the document; absent for formats without pages (int)."""
TEXT_FORMAT = "text_format"
"""What marks the structure of the text: `markdown`, or `plain`, in which only underlined titles
and blank lines do (str). Where a document does not say it, its parser judges and its nodes say."""
PAGE_STARTS = "page_starts"
"""On documents only: character offset at which each page starts (sorted list of int)."""
READ_WARNINGS = "read_warnings"
"""On documents only: what the reader could not take over (list of str)."""

PAGE_START = "page_start"
"""Page of the node's first character, counted from 1 (int)."""
PAGE_END = "page_end"
"""Page of the node's last character (int)."""
PAGE_BREAKS = "page_breaks"
"""Document offsets inside the node at which the next page starts (list of int, often empty)."""
CHUNK_INDEX = "chunk_index"
"""Position among the nodes of the document, counted from 0 (int)."""
TOTAL_CHUNKS = "total_chunks"
"""Nodes of the document (int)."""
SCALED_SIZE = "scaled_size"
"""Characters the node may hold, where its script asked for fewer than were configured (int)."""
CUT_BY_SIZE = "cut_by_size"
"""Why the node was cut by size where its parser cuts by meaning, in words (str)."""
TOKEN_COUNT = "token_count"  # noqa: S105 -- tokens of text, not a password
"""Tokens of the node's text in the parser's encoding, exact (int)."""
TOKEN_COUNT_ESTIMATED = "token_count_estimated"  # noqa: S105 -- tokens of text, not a password
"""True where the tokenizer is a rule of thumb and `token_count` with it (C11)."""
START_CHAR = "start_char"
"""Offset of the node in its document; equals `start_char_idx`, which some components drop."""
END_CHAR = "end_char"
"""Offset one past the node's last character."""
HEADING_PATH = "heading_path"
"""Headings above the text, outermost first (list of str)."""
HEADING = "heading"
"""Innermost heading (str)."""
HEADINGS_INSIDE = "headings_inside"
"""Headings that start further down in the node: `[document offset, path]` pairs in order (list).

The first is the node's own start where the node is named after a later section of it."""
BREADCRUMB = "Heading"
"""`A > B`: the one key that is embedded. LlamaIndex renders metadata as `key: value`, so this
spelling yields the `Heading: A > B` line of S1-06."""
LINK = "link"
"""`url#anchor` of the section (str)."""
PART = "part"
"""Number of this part of a section cut in several, counted from 1 (int)."""
PARTS = "parts"
"""Parts of that section (int)."""
BLOCKS = "blocks"
"""Kinds of Markdown blocks inside: `code`, `table`, `list` (sorted list of str)."""
OVERSIZED = "oversized"
"""True where an atomic block kept whole exceeds the size limit."""
SPLIT_BLOCK = "split_block"
"""True where the node holds a part of a block of code that was too long to stay whole."""
TABLE_HEADER = "table_header"
"""Header rows of the table this node continues (str)."""
CODE_LANGUAGE = "code_language"
"""Language of the code this node continues, as its fence names it (str)."""
WHOLE_DOCUMENT = "whole_document"
"""True where the node is the full document because that is short (S1-42, S2-06)."""
PARSER = "parser"
"""Class name and fingerprint of the parser, `name:hex` (str)."""

DECISION = "parser_choice"
"""Which parser and size `AutoNodeParser` chose for the document, and why, in a sentence (str)."""

SUMMARY = "summary"
"""What `SectionSummary` wrote about the node (str). Embedded where that is asked for."""
SUMMARY_KIND = "summary_kind"
"""Who wrote it: `generated` by a model, or `extract`, sentences of the text itself (str)."""
SUMMARY_ERROR = "summary_error"
"""Why there is no summary (str)."""

WINDOW = "window"
"""A node's text with the sentences around it (str): LlamaIndex's key, for its post-processor."""
ORIGINAL_TEXT = "original_text"
"""The node's own text (str), kept where a post-processor puts the window in its place."""
WINDOW_PLACE = "window_place"
"""Offsets, pages and headings of the window, by the keys of nodes (dict)."""

RETRIEVAL_SIMILARITY = "retrieval_similarity"
"""Cosine similarity of question and node, from -1 to 1; absent without a dense search (float)."""
RETRIEVAL_KEYWORD_SCORE = "retrieval_keyword_score"
"""BM25 score for the question, 0 or more; absent without a sparse search (float)."""
RETRIEVAL_FUSED_SCORE = "retrieval_fused_score"
"""What a hybrid search ranked by, of any size and sign; absent where one ranking did (float)."""
RETRIEVAL_RERANK_SCORE = "retrieval_rerank_score"
"""What a reranker gave, of any size and sign; absent without one (float)."""
SCORES = (
    RETRIEVAL_SIMILARITY,
    RETRIEVAL_KEYWORD_SCORE,
    RETRIEVAL_FUSED_SCORE,
    RETRIEVAL_RERANK_SCORE,
)
"""On retrieved nodes only: what they were found by for one question; our stores do not keep it."""

FILE_PATH = "file_path"
"""Of LlamaIndex's readers: the path of the file, read where there is no `source` (str)."""
PAGE_LABEL = "page_label"
"""Of LlamaIndex's readers: the page as printed, read where there are no pages of ours (str)."""

DOCUMENT_ONLY = frozenset({LINKS_ON_PAGE, PAGE_STARTS, READ_WARNINGS, *SCORES})
"""Keys a node does not inherit from its document."""

BOOKKEEPING: tuple[str, ...] = (
    SOURCE,
    FILE_NAME,
    SOURCE_HASH,
    TITLE,
    DESCRIPTION,
    ALSO_AT,
    LANGUAGE,
    STATUS_CODE,
    BASE_URL,
    TIMESTAMP,
    LOCALES,
    LINKS_ON_PAGE,
    FRONT_MATTER,
    TOTAL_PAGES,
    TEXT_FORMAT,
    PAGE_STARTS,
    READ_WARNINGS,
    PAGE_START,
    PAGE_END,
    PAGE_BREAKS,
    CHUNK_INDEX,
    TOTAL_CHUNKS,
    SCALED_SIZE,
    CUT_BY_SIZE,
    TOKEN_COUNT,
    TOKEN_COUNT_ESTIMATED,
    START_CHAR,
    END_CHAR,
    HEADING_PATH,
    HEADING,
    HEADINGS_INSIDE,
    LINK,
    PART,
    PARTS,
    BLOCKS,
    OVERSIZED,
    SPLIT_BLOCK,
    TABLE_HEADER,
    CODE_LANGUAGE,
    WHOLE_DOCUMENT,
    PARSER,
    DECISION,
    SUMMARY,
    SUMMARY_KIND,
    SUMMARY_ERROR,
    WINDOW,
    ORIGINAL_TEXT,
    WINDOW_PLACE,
    *SCORES,
)
"""Keys hidden from the embedding model and the LLM."""

_LONGEST_TITLE = 100
"""Characters of a title in a name; the address behind it tells pages apart."""


def display_name(metadata: Mapping[str, Any]) -> str:
    """What a document is called where people read it; "" where nothing is known.

    A web page has its title and URL: the file that holds it holds many. Any other document has the
    name of its file.

    >>> display_name({"file_name": "crawl.json", "source": "https://a.example/b", "title": "B"})
    'B (https://a.example/b)'
    """
    source = web_address(metadata)
    if not source:
        return str(metadata.get(FILE_NAME) or "")
    title = str(metadata.get(TITLE) or "")
    if len(title) > _LONGEST_TITLE:
        title = f"{title[:_LONGEST_TITLE].rstrip()}…"
    return f"{title} ({source})" if title else source


def web_address(metadata: Mapping[str, Any]) -> str:
    """Where a document is a page of a website, such as one of a crawl: its URL; "" elsewhere."""
    source = str(metadata.get(SOURCE) or "")
    return source if source.startswith(("http://", "https://")) else ""


def remarks(nodes: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What the metadata of a document's nodes say about how they were cut: a name and words each.

    >>> remarks([{"scaled_size": 280}, {"scaled_size": 280}])
    [('Size', 'at most 280 characters, which in this script are as many tokens as usual')]
    """
    found = list(nodes)
    said = []
    if choice := next((one[DECISION] for one in found if one.get(DECISION)), ""):
        said.append(("Chosen", str(choice)))
    if size := max((int(one.get(SCALED_SIZE) or 0) for one in found), default=0):
        words = f"at most {size:,} characters, which in this script are as many tokens as usual"
        said.append(("Size", words))
    if beyond := [str(one[CUT_BY_SIZE]) for one in found if one.get(CUT_BY_SIZE)]:
        said.append(("Cut by size", f"{len(beyond):,} of {len(found):,} chunks, {beyond[0]}"))
    return said
