"""HTML pages in, Markdown out: what a visitor reads, without what a browser runs or hides."""

from __future__ import annotations

import codecs
import re
from dataclasses import replace
from pathlib import Path

from rag_nodes.core.errors import EmptyFileError, MisnamedFileError, MissingExtraError
from rag_nodes.readers.base import Limits, Reading
from rag_nodes.readers.plain import decode_file
from rag_nodes.text.formats import Format

HEAD_BYTES = 4096
"""Bytes in which a page states its encoding; the standard asks for the first 1024."""

_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]+)""")
_XML = re.compile(
    r"\s*<\?xml\s|.{0,1000}?<html[^>]{0,500}? xmlns=.http://www\.w3\.org/1999/xhtml\b", re.DOTALL
)
_SEPARATORS = str.maketrans(dict.fromkeys("\x1c\x1d\x1e\x1f", " "))
_TAG = re.compile(r"<[A-Za-z!/]")
_LATIN = frozenset({"ascii", "iso8859-1"})


def read_html(path: str | Path, limits: Limits) -> Reading:
    """Read a web page as Markdown.

    The page is parsed as the HTML standard says. Headings, lists, tables, code with its language,
    quotes and links are kept, images as their alternative text. Scripts, styles, forms' controls,
    navigation, page footers and hidden elements are left out, as are bold and italics; panels of
    tabs are read. Links within the site keep their text alone: a file does not know where it came
    from. Nothing is fetched.

    The one `<main>` of the page is taken, else its one `<article>`, if it
    holds a good part of the text; a page with several articles is a list of them, and is read
    whole. A warning says if more than a tenth of the words stand outside that element.
    """
    path = Path(path)
    text, warnings = decode_file(path, limits.encoding_of(path), declared_encoding)
    limits.check(path, len(text), "characters")
    if not _TAG.search(text):
        raise MisnamedFileError(path, "the content is text without a single HTML tag")
    reading = reading_of_html(text, is_xml=path.suffix.lower() == ".xhtml")
    if not reading.text:
        raise EmptyFileError(path, "no text on the page outside scripts, menus and hidden parts")
    return replace(reading, warnings=(*warnings, *reading.warnings))


def reading_of_html(html: str, *, base: str | None = None, is_xml: bool = False) -> Reading:
    """Turn a page that is already text into Markdown, as `read_html` does; may be empty.

    Args:
        html: the page.
        base: its URL, which links are relative to; None if it is not known.
        is_xml: the page is XHTML, also if it does not say so.

    Raises:
        MissingExtraError: justhtml or markdownify is not installed.
    """
    try:
        from rag_nodes.readers.html import markdown as html_markdown
        from rag_nodes.readers.html import page as html_page
        from rag_nodes.readers.html import tree as html_tree
    except ImportError as error:  # they import justhtml, markdownify and what it brings
        raise MissingExtraError(error.name or "justhtml", "html") from error

    html = html.removeprefix("\ufeff").translate(_SEPARATORS)
    if is_xml or _XML.match(html):
        html = html_page.as_html(html)
    page = html_page.parse_page(html)
    content, left_out = html_tree.main_content(page.content)
    text = html_markdown.markdown_of(content, base)
    return Reading(
        text=text,
        text_format=Format.MARKDOWN,
        title=page.title,
        description=page.description,
        warnings=(*page.warnings, *left_out, *html_tree.left_out_unscripted(text, page.unscripted)),
    )


def declared_encoding(data: bytes) -> str | None:
    """Return the encoding that a page states in its head; None if no such encoding exists."""
    head = data[:HEAD_BYTES]
    match = _CHARSET.search(head) or _XML_ENCODING.match(head)
    if not match:
        return None
    try:
        name = codecs.lookup(match.group(1).decode("ascii")).name
        "".encode(name)  # some codecs turn bytes into bytes
    except (LookupError, UnicodeError, TypeError):
        return None
    return "cp1252" if name in _LATIN else name  # what browsers take these names for
