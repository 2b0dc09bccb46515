"""Limits of readers, their answers, and the `Document` made of an answer."""

from __future__ import annotations

import codecs
import hashlib
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError, FileTooLargeError, ReadError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several
from rag_nodes.readers.ocr import Ocr, check_ocr
from rag_nodes.text.formats import Format, format_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llama_index.core.schema import Document

TITLE_LENGTH = 300
"""Characters of a title or description that are kept; the rest is not a title any more."""

SLOWEST = 256 * 1024
"""Bytes of a file for which one more second is granted; the slowest readers do twice that."""
SLOWEST_OCR = 8 * 1024
"""The same with OCR: a page takes seconds, and its picture is rarely smaller."""
LONGEST = 30 * 24 * 3600.0
"""Seconds that timers can take, for limits that mean none."""

_EVERY_BYTE = bytes(range(256))
_UNSAFE = re.compile("[\x00\ud800-\udfff]")
_BLANKS = re.compile(r"\s+")


@checks_keywords
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a file, above which it is refused, and its PDF engine, encoding and OCR.

    Attributes:
        file_bytes: size on disk.
        pages: pages of a PDF.
        characters: characters of text taken from the file.
        seconds: wall-clock time that one document may take where it is read in a child process;
            large files get more, see `seconds_for`.
        memory_bytes: memory that reading may take there, the libraries themselves apart. Linux
            only; other systems have no limit that holds.
        pdf_engine: what reads PDF files: "pymupdf" (extra `pdf`), "pdfium" (extra `pdfium`), or
            "auto" for the first of them that is installed.
        encoding: encoding of text, Markdown, HTML and CSV files that are not Unicode, such as
            "cp1250"; for some of them after a pattern, as "*.csv=cp1250" or "old/*.txt=cp850". Of
            several the last one that fits holds. () guesses it.
        ocr: what reads pages of PDFs that have images and no text: a command with {png} and {dpi}
            that writes tesseract's TSV, or a function, see `OcrFunction`; None for nothing. With a
            function PDFs are read in this process, and `seconds` and `memory_bytes` do not hold.

    Raises:
        ConfigurationError: there is no such engine or encoding, or `ocr` cannot be run.
    """

    file_bytes: int = 500 * 1024 * 1024
    pages: int = 20_000
    characters: int = 100_000_000
    seconds: float = 120.0
    memory_bytes: int = 2 * 1024**3
    pdf_engine: keys.PdfEngineName = "auto"
    encoding: str | Sequence[str] = ()
    ocr: Ocr | None = None

    def __post_init__(self) -> None:
        if self.pdf_engine not in (names := get_args(keys.PdfEngineName)):
            raise ConfigurationError(
                f"pdf_engine: '{self.pdf_engine}' is not an engine; choose from: {', '.join(names)}"
            )
        named = tuple(several(self.encoding))
        object.__setattr__(self, "encoding", named)
        for setting in named:
            _codec(setting.rpartition("=")[2])
        if self.ocr is not None:
            check_ocr(self.ocr)

    def encoding_of(self, path: PurePath) -> str | None:
        """Return the encoding that is named for a file; None to guess it."""
        for setting in reversed(self.encoding):
            pattern, _, encoding = setting.rpartition("=")
            if not pattern or path.match(pattern.strip()):
                return _codec(encoding)
        return None

    def seconds_for(self, size: int) -> float:
        """Return the seconds that a file may take: `seconds`, and 1 more for each 256 KiB.

        With OCR it is 1 more for each 8 KiB.
        """
        slowest = SLOWEST if self.ocr is None else SLOWEST_OCR
        return min(self.seconds + size / slowest, LONGEST)

    def check(
        self, path: str | Path, actual: int, unit: Literal["bytes", "pages", "characters"]
    ) -> None:
        """Refuse a file that holds more of a unit than these allow; raises FileTooLargeError."""
        limits = {"bytes": self.file_bytes, "pages": self.pages, "characters": self.characters}
        if actual > limits[unit]:
            reason = f"{actual:,} {unit}, over the limit of {limits[unit]:,} {unit}"
            raise FileTooLargeError(Path(path), reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Text and facts of a file, as plain data that can go from process to process.

    Attributes:
        text: the full text.
        title: title the file states, if any.
        description: description the file states, if any.
        page_starts: offset at which each page starts; None for formats without pages.
        text_format: what marks the structure of the text; None to judge by it and the file name.
        warnings: what could not be taken over, or was guessed.
        source: URL of the text, where it is a web page that the file holds a copy of; None where
            the text is that of the file itself.
        record: id of the text within the file, where the file holds several that are no web pages.
        also_at: further URLs at which the same text was found.
        facts: more metadata of the document, by key; plain data, as it goes to the vector store.
            A key that we set ourselves keeps our value.
    """

    text: str
    title: str | None = None
    description: str | None = None
    page_starts: tuple[int, ...] | None = None
    text_format: str | None = None
    warnings: tuple[str, ...] = ()
    source: str | None = None
    record: str | None = None
    also_at: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class Reader(Protocol):
    """Turns one kind of file into a `Reading`, or raises a `ReadError` that names the file."""

    def __call__(self, path: Path, limits: Limits) -> Reading:
        """Read the file at `path`, an existing file within `limits.file_bytes`.

        Raises:
            EmptyFileError: no text for a reader in it.
            MisnamedFileError: the content is of another kind.
            EncryptedFileError: it asks for a password.
            CorruptFileError: cut off, damaged, or made to exhaust a reader.
            FileTooLargeError: over a limit.
            MissingExtraError: a library for it is not installed.
        """
        ...


class CollectionReader(Protocol):
    """Turns a file that holds many documents into one `Reading` each, as they are found.

    A document of the file that cannot be read is given as a `ReadError` in its place; an error
    that ends the file is raised.
    """

    def __call__(self, path: Path, limits: Limits) -> Iterator[Reading | ReadError]:
        """Read the file at `path`, an existing file within `limits.file_bytes`."""
        ...


def _codec(name: str) -> str:
    """Return Python's name of a text encoding."""
    try:
        codec = codecs.lookup(name.strip())
        _EVERY_BYTE.decode(codec.name, "replace")  # some are for bytes, or for names of hosts
    except (LookupError, TypeError, ValueError):
        raise ConfigurationError(
            f"encoding: Python knows none called '{name.strip()}'; use a name such as "
            "cp1250, iso8859-2, cp850, mac-roman or gb18030"
        ) from None
    return codec.name


def safe_text(text: str) -> str:
    """Replace what tokenizers and databases choke on: NUL and lone surrogates become U+FFFD.

    The length does not change, so offsets stay those of the original. `build_document` says in
    `read_warnings` how many there were.
    """
    return _UNSAFE.sub("\ufffd", text) if _is_unsafe(text) else text


def _is_unsafe(text: str) -> bool:
    """Return True if a character is; encoding the text takes a tenth of the time of a search."""
    try:
        return b"\x00" in text.encode()
    except UnicodeEncodeError:
        return True


def build_document(path: str | Path, reading: Reading) -> Document:
    """Make the `Document` of a reading: stable id, text, bookkeeping metadata.

    The id depends on the canonical path alone, or on the URL of a web page, or on path and id of a
    record, so a changed file replaces its previous version; the hash of the text tells whether it
    changed. Its metadata is hidden from embedding model and LLM. `path` is the canonical one.
    """
    from llama_index.core.schema import Document

    path, text = Path(path), safe_text(reading.text)
    facts = _facts(path, reading, text)
    hidden = list(facts)
    return Document(
        id_=document_id(reading.source or f"{path.as_uri()}{_part(reading)}"),
        text=text,
        metadata=facts,
        excluded_embed_metadata_keys=hidden,
        excluded_llm_metadata_keys=list(hidden),
    )


def _part(reading: Reading) -> str:
    """Return what leads from a file to a record of it."""
    return "" if reading.record is None else f"#{reading.record}"


def document_id(source: Path | str) -> str:
    """Return the id of a document by the canonical path of its file, or by the URL of its page."""
    name = source if isinstance(source, str) else source.as_uri()
    return str(uuid.uuid5(uuid.NAMESPACE_URL, safe_text(name)))


def _facts(path: Path, reading: Reading, text: str) -> dict[str, Any]:
    facts: dict[str, Any] = {
        **_safe(reading.facts),
        keys.SOURCE: safe_text(reading.source or f"{path}{_part(reading)}"),
        keys.FILE_NAME: safe_text(f"{path.name}{_part(reading)}"),
        keys.SOURCE_HASH: hashlib.sha256(text.encode()).hexdigest(),
        keys.TEXT_FORMAT: Format(reading.text_format or format_of(text, path.name)).value,
    }
    if title := _one_line(reading.title):
        facts[keys.TITLE] = title
    if description := _one_line(reading.description):
        facts[keys.DESCRIPTION] = description
    if reading.also_at:
        facts[keys.ALSO_AT] = [safe_text(url) for url in reading.also_at]
    if reading.page_starts is not None:
        facts[keys.TOTAL_PAGES] = len(reading.page_starts)
        facts[keys.PAGE_STARTS] = list(reading.page_starts)
    if warnings := (*reading.warnings, *_replaced(reading.text, text)):
        facts[keys.READ_WARNINGS] = [safe_text(warning) for warning in warnings]
    return facts


def _safe(value: Any) -> Any:
    """Return plain data with `safe_text` for every text in it."""
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, Mapping):
        return {_safe(key): _safe(part) for key, part in value.items()}
    return [_safe(part) for part in value] if isinstance(value, list | tuple) else value


def _replaced(text: str, safe: str) -> Iterator[str]:
    if text != safe:
        count = len(_UNSAFE.findall(text))
        what = "invalid character" if count == 1 else "invalid characters"
        yield f"{count:,} {what} (NUL or half a surrogate pair) became U+FFFD"


def _one_line(text: str | None) -> str:
    return _BLANKS.sub(" ", safe_text(text or "")).strip()[:TITLE_LENGTH].rstrip()
