"""The JSON of a Firecrawl crawl in, one `Reading` per page out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import (
    CorruptFileError,
    EmptyFileError,
    FileTooLargeError,
    ReadError,
)
from rag_nodes.readers.base import Limits, Reading
from rag_nodes.readers.crawl.records import is_record, record, text_name
from rag_nodes.readers.crawl.status import answered_with, incomplete, no_pages, words_of
from rag_nodes.readers.crawl.stream import RawPage, plain_name, raw_pages
from rag_nodes.readers.html import reading_of_html
from rag_nodes.text.formats import Format

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEXTS = ("markdown", "content", "rawcontent", "text", "html", "rawhtml")
"""Fields with the text of a page, best first, by `plain_name`; Firecrawl 0 and 1 have the first."""
_ALWAYS_HTML = frozenset({"html", "rawhtml"})
_URLS = ("sourceurl", "url")
_LINKS = ("linksonpage", "links")
_BASES = ("baseurl", "inputurl")
_STATUSES = ("statuscode", "pagestatuscode", "status")
_ERRORS = ("error", "pageerror", "errormessage")
_DESCRIPTIONS = ("description", "snippet")
_LANGUAGES = ("language", "languagecode")
_HTTP_STATUSES = range(100, 1000)
"""Range of an HTTP status; some servers make up their own."""
_FAILED = 400
"""HTTP status from which on a page is an error message and not the document."""
_LONGEST_URL = 8_000
"""Characters of an URL; servers take no more."""
_LONGEST_LANGUAGE = 35
"""Characters of a language tag (RFC 5646), and of a time."""
_DIGEST = 16
"""Bytes of the hashes that find pages crawled twice."""
_CRAWL_AGAIN = "crawl this page again"
_SAVE_TEXT = "have the crawler save the text of pages: for Firecrawl, name formats=['markdown']"
_GIVE_ADDRESS = "give the page its address as 'url'; a record without one has its text under 'text'"
_ADDRESS = re.compile(r"https?://[^\s/?#\x00-\x1f\x7f][^\x00-\x1f\x7f]*")
_HTML = re.compile(
    r"[\s\ufeff]*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*"
    r"<(?:!doctype|html|head|body|main|article|section|div|p|h[1-6]|table|ul|ol|nav|header)[\s>]",
    re.IGNORECASE | re.DOTALL,
)


def read_firecrawl(path: str | Path, limits: Limits) -> Iterator[Reading | ReadError]:
    """Read a crawl page by page; memory holds one page and two short hashes per page.

    Shapes: what Firecrawl's REST and SDKs give for a crawl, a batch, a scrape and a search, in any
    version and spelling (`sourceURL`, `source_url`), and what other crawlers write alike: pages
    under `data`, `results`, `pages` or `items`, a bare list of pages, one page per line, one page
    alone. The text of a page is its Markdown, else its content, which may be Markdown or HTML, else
    its HTML.

    An object with a text and no address is a record: a document with its own id and metadata.

    A text that was crawled under several URLs is given once, at its first URL, with the others in
    `also_at`. To know them by then, the file is read twice.

    Args:
        path: an existing file.
        limits: `characters` is checked for each page.

    Yields:
        In the order of the file: a page, with title, description, language and HTTP status; or,
        for a page without text or URL, of a failed request, or with an URL that came before, an
        error that names its place, such as `data[3].metadata.sourceURL`. A file that breaks off,
        or says that pages are missing, ends with such an error.

    Raises:
        CorruptFileError: not JSON from the first page on.
        NoPagesError: JSON, but no list of pages.
        MissingExtraError: ijson is not installed, or a page is HTML and the extra `html` is not.
    """
    path = Path(path)
    about: dict[str, Any] = {}
    further = _further_urls(path, limits, about)
    texts: set[bytes] = set()
    urls: set[bytes] = set()
    for page in _pages(path, limits, about):
        if isinstance(page, ReadError):
            yield page
        elif isinstance(page, Reading):
            yield _once(path, page, urls)
        elif page.digest in texts:
            continue  # the first copy has this URL in `also_at`
        elif _digest(page.url) in urls:
            reason = f"{page.where}: {page.url} came before in this file, with another text"
            yield ReadError(path, reason, "remove one of the two")
        else:
            urls.add(_digest(page.url))
            if page.digest in further:
                texts.add(page.digest)
            yield _reading(path, page, further.get(page.digest, {}), about)


def _once(path: Path, record: Reading, seen: set[bytes]) -> Reading | ReadError:
    """Return a record, or the error of one whose id came before."""
    digest = _digest(f"#{record.record}")
    if digest in seen:
        reason = f"the id '{record.record}' came before in this file"
        return ReadError(path, reason, "give each record an id of its own")
    seen.add(digest)
    return record


@dataclass(frozen=True, slots=True)
class _CrawledPage:
    """A page that has all it needs."""

    where: str
    url: str
    text: str
    is_html: bool
    metadata: dict[str, Any]
    links: list[str]
    digest: bytes


def _further_urls(
    path: Path, limits: Limits, about: dict[str, Any]
) -> dict[bytes, dict[str, None]]:
    """Return the URLs of all copies of a text after the first, in order, by its hash."""
    seen: set[bytes] = set()
    further: dict[bytes, dict[str, None]] = {}
    for page in _pages(path, limits, about):
        if not isinstance(page, _CrawledPage):
            continue
        if page.digest in seen:
            further.setdefault(page.digest, {})[page.url] = None
        seen.add(page.digest)
    return further


def _pages(
    path: Path, limits: Limits, about: dict[str, Any]
) -> Iterator[_CrawledPage | Reading | ReadError]:
    has_pages = False
    try:
        for raw in raw_pages(path, about):
            has_pages = True
            yield _checked(path, raw, limits)
    except CorruptFileError as error:
        if not has_pages:
            raise
        yield error  # a file that breaks off: what stood before is good
        return
    if not has_pages:
        raise no_pages(path, about)
    if missing := incomplete(path, about):
        yield missing


def _checked(path: Path, raw: RawPage, limits: Limits) -> _CrawledPage | Reading | ReadError:
    """Return the page, or the first error in it."""
    try:
        return _page(path, raw, limits)
    except ReadError as error:
        return error


def _page(path: Path, raw: RawPage, limits: Limits) -> _CrawledPage | Reading:
    where = raw.where
    if isinstance(raw.value, ValueError):
        raise CorruptFileError(path, f"{where}: {raw.value}", _CRAWL_AGAIN)
    page = _fields(_object(path, where, raw.value))
    if is_record(page):
        name = text_name(page)
        _check_text(path, where, name, page[name], limits)
        return record(where, raw.value, page)
    name, text = _text_of(page)
    given = page.get("metadata", {} if _first(page, _URLS) else None)
    facts = {**page, **(_fields(given) if isinstance(given, dict) else {})}
    if failure := _failed_request(facts):
        raise ReadError(path, f"{where}.metadata: {failure}", _CRAWL_AGAIN)
    has_text = isinstance(text, str) and text.strip() and facts.get("success") is not False
    if not has_text and (words := words_of(_first(facts, _ERRORS))):
        raise ReadError(path, f"{where}: {answered_with(words)}", _CRAWL_AGAIN)
    if page and page.keys().isdisjoint({"metadata", *_TEXTS, *_URLS}):
        raise ReadError(path, f"{where}: fields without an address and a text", _SAVE_TEXT)
    _object(path, f"{where}.metadata", given)
    url = _first(facts, _URLS)
    if not _is_address(url):
        raise _wrong(path, f"{where}.metadata.sourceURL", "an http address", url, _GIVE_ADDRESS)
    _check_text(path, where, name, text, limits)
    is_html = name in _ALWAYS_HTML or (name == "content" and _HTML.match(text) is not None)
    links = _texts(_first(page, _LINKS))
    return _CrawledPage(where, url, text, is_html, facts, links, _digest(text))


def _fields(value: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are set, by `plain_name`; of several spellings the first."""
    fields: dict[str, Any] = {}
    for key, field in value.items():
        if field is not None and fields.get(plain_name(key)) in (None, ""):
            fields[plain_name(key)] = field
    return fields


def _check_text(path: Path, where: str, name: str, text: object, limits: Limits) -> None:
    if not isinstance(text, str):
        raise _wrong(path, f"{where}.{name}", "a text", text, _SAVE_TEXT)
    if not text.strip():
        raise EmptyFileError(path, f"{where}.{name}: no text", _CRAWL_AGAIN)
    try:
        limits.check(path, len(text), "characters")
    except FileTooLargeError as error:
        raise FileTooLargeError(path, f"{where}.{name}: {error.reason}") from None


def _is_address(url: object) -> bool:
    return isinstance(url, str) and len(url) <= _LONGEST_URL and bool(_ADDRESS.fullmatch(url))


def _object(path: Path, where: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(path, where, "an object", value)
    return value


def _text_of(page: dict[str, Any]) -> tuple[str, Any]:
    """Return the best text of a page and its field; without a text, any value of such a field."""
    markdown = page.get("markdown")
    if isinstance(markdown, dict):  # of Crawl4AI
        page = {**page, "markdown": _first(_fields(markdown), ("rawmarkdown", "fitmarkdown"))}
    for name in (*_TEXTS, "pagecontent"):
        if isinstance(page.get(name), str) and page[name].strip():
            return name, page[name]
    return next(((name, page[name]) for name in _TEXTS if name in page), ("markdown", None))


def _failed_request(metadata: dict[str, Any]) -> str:
    """Return the error that a server answered instead of the page; "" if there is none."""
    status = _status(metadata)
    if status is None or status < _FAILED:
        return ""
    words = words_of(_first(metadata, _ERRORS))
    quoted = f" ({words})" if words else ""
    url = _one_text(_first(metadata, _URLS)) or "the page"
    return f"{url} was answered with HTTP status {status}{quoted}"


def _status(metadata: dict[str, Any]) -> int | None:
    status = _first(metadata, _STATUSES)
    if isinstance(status, str) and status.isdecimal() and status.isascii():
        status = int(status[:4])
    return int(status) if status in _HTTP_STATUSES else None


def _wrong(
    path: Path, where: str, wanted: str, value: object, remedy: str = _CRAWL_AGAIN
) -> ReadError:
    shown = "nothing" if value is None else f"{type(value).__name__} '{str(value)[:40]}'"
    return ReadError(path, f"{where}: {wanted} is required, found {shown}", remedy)


def _reading(
    path: Path, page: _CrawledPage, further: dict[str, None], about: dict[str, Any]
) -> Reading | ReadError:
    read = Reading(text=page.text, text_format=Format.MARKDOWN)
    if page.is_html:
        read = reading_of_html(page.text, base=page.url)
    if not read.text.strip():
        nothing = f"{page.where}: HTML without text for a visitor ({page.url})"
        return EmptyFileError(path, nothing, _CRAWL_AGAIN)
    return replace(
        read,
        title=_one_text(page.metadata.get("title")) or read.title,
        description=_one_text(_first(page.metadata, _DESCRIPTIONS)) or read.description,
        source=page.url,
        also_at=tuple(url for url in further if url != page.url),
        facts=_facts(page, about),
    )


def _facts(page: _CrawledPage, about: dict[str, Any]) -> dict[str, Any]:
    """Return facts about a page, from its metadata and from the crawl."""
    language = _one_text(_first(page.metadata, _LANGUAGES)) or ""
    facts = {
        keys.LANGUAGE: language[:_LONGEST_LANGUAGE],
        keys.STATUS_CODE: _status(page.metadata),
        keys.BASE_URL: (_one_text(_first(about, _BASES)) or "")[:_LONGEST_URL],
        keys.TIMESTAMP: (_one_text(about.get("timestamp")) or "")[:_LONGEST_LANGUAGE],
        keys.LOCALES: _texts(page.metadata.get("oglocalealternate")),
        keys.LINKS_ON_PAGE: page.links,
    }
    return {key: value for key, value in facts.items() if value not in (None, "", [])}


def _first(metadata: dict[str, Any], names: tuple[str, ...]) -> Any:
    """Return the first of these fields that is set."""
    return next((metadata[name] for name in names if metadata.get(name) not in (None, "")), None)


def _texts(value: Any) -> list[str]:
    """Return the texts of a list; a text alone counts as a list of it."""
    values = value if isinstance(value, list) else [value]
    return [text[:_LONGEST_URL] for text in values if isinstance(text, str) and text.strip()]


def _one_text(value: Any) -> str | None:
    """Return a text; of several, such as repeated meta tags, the first."""
    if isinstance(value, list):
        value = next((text for text in value if isinstance(text, str) and text.strip()), None)
    return value if isinstance(value, str) and value.strip() else None


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()
