"""The metadata keys that readers set on documents and parsers set on nodes, in one place.

Every key but `BREADCRUMB` and `TABLE` is bookkeeping: it is listed in the node's excluded keys, so
neither the embedding model nor the LLM sees it. A new key takes one line here, made by the function
that says what becomes of it, and whoever reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_bookkeeping: list[str] = []
_not_inherited: list[str] = []


def _hidden(key: str) -> str:
    """A key of bookkeeping; nodes have it from their document, where it has it."""
    _bookkeeping.append(key)
    return key


def _own(key: str) -> str:
    """The same, true of one document, span or question only: nodes split from it do not have it."""
    _not_inherited.append(key)
    return _hidden(key)


SOURCE = _hidden("source")
"""Canonical path or URL the text came from (str)."""
FILE_NAME = _hidden("file_name")
"""Last part of the path, for display (str)."""
SOURCE_HASH = _hidden("source_hash")
"""SHA-256 of the document's text, hex (str). On stored nodes it is that of text, pages and metadata
together, and decides re-ingest."""
FILE_HASH = _hidden("file_hash")
"""SHA-256 of the bytes of a PDF, hex (str): places on its pages are those of this file only."""
PDF_ENGINE = _hidden("pdf_engine")
"""Library that read a PDF file, of `PdfEngineName` (str)."""
TITLE = _hidden("title")
"""Title of the document, where the file states one (str)."""
DESCRIPTION = _hidden("description")
"""Description of the document, from its front matter (str)."""
ALSO_AT = _hidden("also_at")
"""Further URLs at which the same text was found (list of str)."""
FRONT_MATTER = _hidden("front_matter")
"""Scalars and lists of scalars that a Markdown file states about itself, by name (dict)."""
LANGUAGE = _hidden("language")
"""Language a web page states (str)."""
STATUS_CODE = _hidden("status_code")
"""HTTP status a web page was answered with (int)."""
BASE_URL = _hidden("base_url")
"""Address at which the crawl of a web page began (str)."""
TIMESTAMP = _hidden("timestamp")
"""Time of the crawl, as the crawler writes it (str)."""
LOCALES = _hidden("og_locale_alternate")
"""Further locales in which a web page says it exists (list of str)."""
LINKS_ON_PAGE = _own("links_on_page")
"""On documents only: addresses to which a web page links (list of str)."""
TOTAL_PAGES = _hidden("total_pages")
"""Pages of the document; absent for formats without pages (int)."""
TEXT_FORMAT = _hidden("text_format")
"""Markup of the text: `markdown`, or `plain`, in which only underlined titles
and blank lines do (str). Where a document does not say it, its parser judges and its nodes say."""
PAGE_STARTS = _own("page_starts")
"""On documents only: character offset at which each page starts (sorted list of int)."""
BLANK_PAGES = _own("blank_pages")
"""On documents only: pages without text and images, counted from 1 (sorted list of int)."""
OCR_PAGES = _own("ocr_pages")
"""On documents only: pages that were read by OCR, counted from 1 (sorted list of int)."""
READ_WARNINGS = _own("read_warnings")
"""On documents only: what the reader could not take over (list of str)."""

PAGE_START = _own("page_start")
"""Page of the node's first character, counted from 1 (int)."""
PAGE_END = _own("page_end")
"""Page of the node's last character (int)."""
PAGE_BREAKS = _own("page_breaks")
"""Document offsets inside the node at which the next page starts (list of int, often empty)."""
CHUNK_INDEX = _hidden("chunk_index")
"""Position among the nodes of the document, counted from 0 (int)."""
TOTAL_CHUNKS = _hidden("total_chunks")
"""Nodes of the document (int)."""
SCALED_SIZE = _own("scaled_size")
"""Characters the node may hold, where its script asked for fewer than were configured (int)."""
SPLIT_BY_SIZE = _own("split_by_size")
"""Reason, in words, for which a parser that splits by meaning split the node by size (str)."""
TOKEN_COUNT = _hidden("token_count")
"""Tokens of the node's text in the parser's encoding, exact (int)."""
TOKEN_COUNT_ESTIMATED = _hidden("token_count_estimated")
"""True where the tokenizer is a rule of thumb and `token_count` with it."""
START_CHAR = _own("start_char")
"""Offset of the node in its document; equals `start_char_idx`, which some components drop."""
END_CHAR = _own("end_char")
"""Offset one past the node's last character."""
HEADING_PATH = _hidden("heading_path")
"""Headings above the text, outermost first (list of str)."""
HEADING = _hidden("heading")
"""Innermost heading (str)."""
HEADINGS_INSIDE = _own("headings_inside")
"""Headings that start further down in the node: `[document offset, path]` pairs in order (list).

The first is the node's own start where the node is named after a later section of it."""
BREADCRUMB = "Heading"
"""`A > B`: the one key that is embedded. LlamaIndex renders metadata as `key: value`, so this
spelling yields the line `Heading: A > B`."""
LINK = _hidden("link")
"""`url#anchor` of the section (str)."""
PART = _own("part")
"""Number of this part of a section split in several, counted from 1 (int)."""
PARTS = _own("parts")
"""Parts of that section (int)."""
BLOCKS = _own("blocks")
"""Kinds of Markdown blocks inside: `code`, `table`, `list` (sorted list of str)."""
OVERSIZED = _own("oversized")
"""True where an atomic block kept whole exceeds the size limit."""
SPLIT_BLOCK = _own("split_block")
"""True where the node holds a part of a block of code that was too long to stay whole."""
TABLE_HEADER = _own("table_header")
"""Header rows of the table that the node begins inside of, as the document has them (str)."""
TABLE = "Table"
"""`A | B`: column names of that table, embedded, searched and read as the line `Table: A | B`."""
CODE_LANGUAGE = _own("code_language")
"""Language of the code this node continues, as its fence names it (str)."""
WHOLE_DOCUMENT = _own("whole_document")
"""True where the node is the full document because that is short."""
PARSER = _hidden("parser")
"""Class name and fingerprint of the parser, `name:hex` (str)."""

DECISION = _hidden("parser_choice")
"""Sentence with the parser and size that `AutoNodeParser` chose, and the reason (str)."""

SUMMARY = _own("summary")
"""Summary of the node by `SectionSummary` (str). Embedded if an ingest is asked to."""
SUMMARY_KIND = _own("summary_kind")
"""Origin of the summary: `generated` by a model, or `extract`, sentences of the text (str)."""
SUMMARY_ERROR = _own("summary_error")
"""Reason why there is no summary (str)."""

EMBEDDED_METADATA = _own("embedded_metadata")
"""Keys whose values are embedded with the text and indexed as words, as named (list of str)."""

FLATTENED = _own("flattened_metadata")
"""Keys whose lists and mappings `FlatMetadata` wrote as JSON, as a JSON list of names (str)."""

WINDOW = _own("window")
"""A node's text with the sentences around it (str): LlamaIndex's key, for its post-processor."""
ORIGINAL_TEXT = _own("original_text")
"""The node's own text (str), kept where a post-processor puts the window in its place."""
WINDOW_PLACE = _own("window_place")
"""Offsets, pages and headings of the window, by the keys of nodes (dict)."""

RETRIEVAL_SIMILARITY = _own("retrieval_similarity")
"""Cosine similarity of question and node, from -1 to 1; absent without a dense search (float)."""
RETRIEVAL_KEYWORD_SCORE = _own("retrieval_keyword_score")
"""BM25 score for the question, 0 or more; absent without a sparse search (float)."""
RETRIEVAL_FUSED_SCORE = _own("retrieval_fused_score")
"""Score of a hybrid search, of any size and sign; absent if only one ranking was used (float)."""
RETRIEVAL_RERANK_SCORE = _own("retrieval_rerank_score")
"""Score of a reranker, of any size and sign; absent without one (float)."""
SCORES = (
    RETRIEVAL_SIMILARITY,
    RETRIEVAL_KEYWORD_SCORE,
    RETRIEVAL_FUSED_SCORE,
    RETRIEVAL_RERANK_SCORE,
)
"""On retrieved nodes only: what they were found by for one question; our stores do not keep it."""

FILE_PATH = "file_path"
"""Path of the file as LlamaIndex's readers give it, read if there is no `source` (str)."""
PAGE_LABEL = "page_label"
"""Printed page as LlamaIndex's readers give it, read if there are no pages of ours (str)."""

PdfEngineName = Literal["auto", "pymupdf", "pdfium"]
"""Names of what reads PDF files; "auto" is the first that is installed."""
EmbeddedAs = Literal["plain", "heading", "summary"]
EMBEDDED_TEXTS = get_args(EmbeddedAs)
"""Embedded text of a chunk: its text alone, with the headings above it, or with these and a
summary."""

BOOKKEEPING = tuple(_bookkeeping)
"""Keys hidden from the embedding model and the LLM."""
NOT_INHERITED = frozenset({*_not_inherited, TABLE})
"""Keys a node does not take over from what it was split from."""

_MAX_PAGE_DIGITS = 9
"""Digits of the number of a page: files may hold any label, and more digits are no page."""
_LONGEST_TITLE = 100
"""Characters of a title in a name; the address behind it tells pages apart."""


def display_name(metadata: Mapping[str, Any], document_id: str = "") -> str:
    """Return the name of a document that people read: its file name, or else its id.

    A web page has its title and URL: the file that holds it holds many.

    >>> from rag_nodes.core.metadata import display_name
    >>> display_name({"file_name": "crawl.json", "source": "https://a.example/b", "title": "B"})
    'B (https://a.example/b)'
    >>> display_name({"dept": "hr"}, "policy-7")
    'policy-7'
    """
    source = web_address(metadata)
    if not source:
        return str(metadata.get(FILE_NAME) or document_id)
    title = str(metadata.get(TITLE) or "")
    if len(title) > _LONGEST_TITLE:
        title = f"{title[:_LONGEST_TITLE].rstrip()}…"
    return f"{title} ({source})" if title else source


def page_name(metadata: Mapping[str, Any]) -> str:
    """Return the name of a document with its page, if it is a page that another reader made.

    >>> from rag_nodes.core.metadata import page_name
    >>> page_name({"file_path": "/manuals/report.pdf", "page_label": "7"})
    'report.pdf, page 7'
    >>> page_name({"file_name": "report.pdf", "source": "/manuals/report.pdf"})
    'report.pdf'
    """
    path = str(metadata.get(FILE_PATH) or "").replace("\\", "/")
    name = display_name(metadata) or path.rstrip("/").rpartition("/")[2]
    label = str(metadata.get(PAGE_LABEL) or "")
    return f"{name}, page {label}" if name and label else name


def sources(metadata: Mapping[str, Any]) -> list[str]:
    """Return the paths and URLs that a text came from, as its reader writes them.

    >>> from rag_nodes.core.metadata import sources
    >>> sources({"source": "7", "file_path": "/manuals/report.pdf"})
    ['/manuals/report.pdf']
    """
    also = metadata.get(ALSO_AT)
    named = [metadata.get(key) for key in (SOURCE, FILE_PATH, "url", "URL")]
    named += also if isinstance(also, list) else []
    # Some readers put the number of the page there.
    return [
        name for name in named if isinstance(name, str) and name.strip() and not name.isdecimal()
    ]


def page_number(label: object) -> int | None:
    """Return the number of a page by its label; None for a label that is no number.

    >>> from rag_nodes.core.metadata import page_number
    >>> page_number("7"), page_number("iv")
    (7, None)
    """
    text = str(label or "")
    is_number = text.isdecimal() and len(text) <= _MAX_PAGE_DIGITS
    return int(text) or None if is_number else None


def web_address(metadata: Mapping[str, Any]) -> str:
    """Return the URL of a document that is a page of a website, such as a crawl's; "" otherwise."""
    source = str(metadata.get(SOURCE) or "")
    return source if source.startswith(("http://", "https://")) else ""


def remarks(nodes: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return remarks on how a document's nodes were split: a name and words for each.

    >>> from rag_nodes.core.metadata import remarks
    >>> remarks([{"scaled_size": 280}, {"scaled_size": 280}])
    [('Size', 'at most 280 characters, which in this script are about as many tokens')]
    """
    rows = list(nodes)
    pairs = []
    if choice := next((metadata[DECISION] for metadata in rows if metadata.get(DECISION)), ""):
        pairs.append(("Chosen", str(choice)))
    if size := max((int(metadata.get(SCALED_SIZE) or 0) for metadata in rows), default=0):
        words = f"at most {size:,} characters, which in this script are about as many tokens"
        pairs.append(("Size", words))
    if beyond := [str(metadata[SPLIT_BY_SIZE]) for metadata in rows if metadata.get(SPLIT_BY_SIZE)]:
        pairs.append(("Split by size", f"{len(beyond):,} of {len(rows):,} chunks, {beyond[0]}"))
    return pairs
