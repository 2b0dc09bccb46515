"""The pages of a crawl as the file holds them, one at a time: memory holds one page."""

from __future__ import annotations

import codecs
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.core.errors import CorruptFileError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

DEEPEST = 64
"""Levels of nesting inside a page; more is an attack, real pages have five."""
LINE_SUFFIXES = frozenset({".jsonl", ".ndjson"})
"""Files with one page per line."""

_LISTS = frozenset({
    "data", "documents", "items", "news", "pages", "records", "results", "web",
})  # fmt: skip
"""Fields of a file, or of its `data`, that hold a list of pages."""
_PAGE = frozenset({"content", "markdown", "metadata", "pagecontent", "text"})
"""Fields of which a page has at least one, by `plain_name`."""
_BUFFER = 1 << 18
"""Bytes given to the parser at once; it copies a long text again with every piece of it."""
_FIRST_LINE = 1 << 20
"""Bytes of a first line that is tried as a page of its own, whatever the file is called."""
_BELOW = 1024
"""Bytes behind the first line in which another one begins; what is alone is no line."""
_NOTHING = r"\u0000"
"""JSON for NUL, which every reader replaces by U+FFFD and says so."""
_HEX = "[0-9a-fA-F]"
_HIGH, _LOW = rf"u[dD][89abAB]{_HEX}{{2}}", rf"u[dD][c-fC-F]{_HEX}{{2}}"
_ESCAPE = re.compile(rf"\\(?:{_HIGH}\\{_LOW}|(?P<half>{_HIGH}|{_LOW})|.)", re.DOTALL)
_OPEN_ESCAPE = re.compile(
    rf"(?<!\\)(?:\\\\)*(\\(?:u{_HEX}{{0,3}}|{_HIGH}(?:\\(?:u{_HEX}{{0,3}})?)?)?)\Z"
)
_LONGEST_OPEN = len(r"\ud83d\ude0")
_BAD_BYTES = re.compile("\udced[\udca0-\udcbf][\udc80-\udcbf]|[\udc80-\udcff]")
_OPENS = frozenset({"start_map", "start_array"})
_CLOSES = frozenset({"end_map", "end_array"})
_REMEDY = "check that it is the whole result of a Firecrawl crawl, as UTF-8"


class RawPage(NamedTuple):
    """Element of the list of pages, of any type; a `ValueError` if it is no JSON."""

    where: str
    value: Any


def plain_name(field: str) -> str:
    """Return the name of a field in the same spelling, whichever program wrote it.

    >>> from rag_nodes.readers.crawl.stream import plain_name
    >>> plain_name("sourceURL"), plain_name("source_url")
    ('sourceurl', 'sourceurl')
    """
    return field.replace("_", "").lower()


def raw_pages(path: Path, about: dict[str, Any] | None = None) -> Iterator[RawPage]:
    """Yield the pages of a crawl: `{"data": [...]}`, a bare list, or a JSON object per line.

    What the file says of the crawl as a whole goes into `about` by `plain_name`, as far as it has
    been read: texts, numbers and the error, and of other lists and objects their length.

    Raises:
        CorruptFileError: not JSON, or broken off; the pages before that were given already.
        MissingExtraError: ijson is not installed.
    """
    with path.open("rb") as file:
        if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
            file.seek(0)
        if _is_by_line(file, named_so=path.suffix.lower() in LINE_SUFFIXES):
            yield from _by_line(file)
        else:
            yield from _by_event(path, file, {} if about is None else about)


def _is_by_line(file: BinaryIO, *, named_so: bool) -> bool:
    """Return True if each line is a page of its own; the file stays at its start.

    A list, and an object that goes on in the next line, are no lines of pages.
    """
    start = file.tell()
    line, below = file.readline(_FIRST_LINE), file.read(_BELOW)
    file.seek(start)
    if named_so:
        return not line.lstrip().startswith(b"[") and line.strip() != b"{"
    try:
        first = json.loads(_decodable(line.decode("utf-8", "surrogateescape")))
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "data" not in first and bool(below.strip())


def _by_line(file: BinaryIO) -> Iterator[RawPage]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        value: Any
        try:
            value = json.loads(_decodable(line.decode("utf-8", "surrogateescape")))
        except (ValueError, RecursionError) as error:
            value = ValueError(f"not JSON ({error})")
        yield RawPage(f"line {number}", value)


def _by_event(path: Path, file: BinaryIO, about: dict[str, Any]) -> Iterator[RawPage]:
    try:
        import ijson
    except ImportError:
        raise MissingExtraError("ijson", "firecrawl") from None
    last = ""
    events = ijson.basic_parse(_Mended(file), use_float=True, buf_size=_BUFFER)
    try:
        for page in _elements(events, about):
            last = page.where
            yield page
    except ijson.JSONError as error:
        reason = str(error).partition("\n")[0].removeprefix("b'").partition("\\n")[0]
        raise CorruptFileError(path, f"not JSON {_behind(last)} ({reason})", _REMEDY) from error
    except _TooDeepError as error:
        deep = f"over {DEEPEST} levels of nesting {_behind(last)}"
        raise CorruptFileError(path, deep, _REMEDY) from error


class _Mended:
    """A JSON file in which what is no character reads as NUL.

    Half a surrogate pair or a byte that is not UTF-8 would end the parser, or become a question
    mark without a word; both are a page's own mistake and cost it a character.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._open = ""

    def read(self, size: int = -1) -> bytes:
        """Return some bytes, not always as many as asked for; none at the end."""
        text = ""
        while not text and size:
            data = self._file.read(size)
            text = self._open + self._decoder.decode(data, final=not data)
            self._open = ""
            if not data:
                break
            if "\\" in text[-_LONGEST_OPEN:] and (open_ := _OPEN_ESCAPE.search(text)):
                text, self._open = text[: open_.start(1)], text[open_.start(1) :]
        if "\\ud" in text or "\\uD" in text:
            text = _ESCAPE.sub(lambda escape: _NOTHING if escape["half"] else escape[0], text)
        return _decodable(text).encode()


def _decodable(text: str) -> str:
    """Return JSON text of `surrogateescape` with NUL for bytes that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return _BAD_BYTES.sub(lambda _: _NOTHING, text)
    return text


def _behind(last: str) -> str:
    return f"behind {last}" if last else "from the start"


class _TooDeepError(Exception):
    """A value has more levels than any page."""


def _elements(events: Iterator[tuple[str, Any]], about: dict[str, Any]) -> Iterator[RawPage]:
    """Yield the elements of the file's own list, or of the list under `data`, or a page alone."""
    kind, value = next(events)
    if kind == "start_array":
        yield from _list(events, "")
    elif kind == "start_map":
        yield from _map(events, about)
    else:
        yield RawPage("the file", value)
    for _ in events:  # what follows must be nothing; the parser raises where it is not
        pass


def _map(events: Iterator[tuple[str, Any]], about: dict[str, Any]) -> Iterator[RawPage]:
    """Yield the elements of lists of pages, or the object itself if it is a page."""
    fields: dict[str, Any] = {}
    is_page = True
    for kind, key in events:
        if kind == "end_map":
            break
        first = next(events)
        if key in _LISTS and first[0] == "start_array":
            is_page = False
            yield from _list(events, key)
        elif key == "data":
            is_page = False
            yield from _nested(_built(first, events))
        else:
            fields[key] = value = _built(first, events)
            is_counted = isinstance(value, dict | list) and plain_name(key) != "error"
            about[plain_name(key)] = len(value) if is_counted else value
    if is_page and not _PAGE.isdisjoint(map(plain_name, fields)):
        yield RawPage("the file", fields)


def _nested(data: Any) -> Iterator[RawPage]:
    """Yield the pages of `data`: results of a search, or a single page."""
    lists = {
        key: value
        for key, value in (data.items() if isinstance(data, dict) else ())
        if key in _LISTS and isinstance(value, list)
    }
    for key, values in lists.items():
        for number, value in enumerate(values):
            yield RawPage(f"data.{key}[{number}]", value)
    if not lists:
        yield RawPage("data", data)


def _list(events: Iterator[tuple[str, Any]], name: str) -> Iterator[RawPage]:
    for number, first in enumerate(events):  # the rest of an element is taken by `_built`
        if first[0] == "end_array":
            return
        yield RawPage(f"{name}[{number}]", _built(first, events))


def _built(first: tuple[str, Any], events: Iterator[tuple[str, Any]]) -> Any:
    """Return the value that starts with the event `first`, and consume its other events."""
    from ijson import ObjectBuilder

    builder = ObjectBuilder()
    depth, event = 0, first
    while True:
        builder.event(*event)
        depth += (event[0] in _OPENS) - (event[0] in _CLOSES)
        if depth == 0:
            return builder.value
        if depth > DEEPEST:
            raise _TooDeepError
        event = next(events)
