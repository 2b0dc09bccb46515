"""Every error rag_nodes raises on purpose; each message says what failed, where, and the remedy.

Catch `RagNodesError` to catch them all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

CHECK_KEY = "check RAG_NODES_API_KEY or OPENAI_API_KEY"
"""Remedy for a refused key; the page and served surfaces replace it by what helps there."""
SET_KEY = "set OPENAI_API_KEY or RAG_NODES_API_KEY"
"""Remedy for a missing key, likewise."""

NAME_KEYS = "name --set or --metadata in every ingest (Python: metadata=FileMetadata(...))"
"""Remedy for documents without metadata keys of their owner, likewise."""
FREE_SPACE = (
    "free some space, or choose a folder on another disk; `rag-nodes clear --parser COLLECTION "
    "--yes` deletes a collection you no longer need"
)
"""Remedy for a full disk, likewise."""
REPAIR = (
    "export or download it again, or have PyMuPDF repair it: pip install 'rag-nodes[pdf]', and "
    'read it with --pdf-engine pymupdf (Python: engine="pymupdf")'
)
"""Remedy for a damaged PDF that PDFium does not open, likewise."""


class RagNodesError(Exception):
    """Base of all errors raised on purpose."""


class BusyError(RagNodesError):
    """A server takes on no more for the moment."""


class CancelledError(RagNodesError):
    """The caller ended it before it was done."""


class ConfigurationError(RagNodesError, ValueError):
    """An option is unknown, out of range, or contradicts another.

    A `ValueError` too, as from any other constructor that is given a wrong value.
    """


class CredentialsError(ConfigurationError):
    """A key is missing, malformed or was refused by the server."""


class AmbiguousDocumentError(ConfigurationError):
    """Several stored documents are called so; the message lists them."""


class DatasetError(RagNodesError, ValueError):
    """Documents and questions with which nothing can be measured; says which and the remedy."""


class DatasetTooLargeError(DatasetError):
    """More documents and questions than one visitor of a server may have measured."""


class EngineError(RagNodesError):
    """The engine that runs workers cannot be started or reached, or gave up."""


class MissingPackageError(RagNodesError, ImportError):
    """A package is not installed; the message holds the install line.

    Args:
        package: its name.
        install: what to give to `pip install`; the package itself by default.
    """

    def __init__(self, package: str, install: str | None = None) -> None:
        super().__init__(
            f"{package} is not installed. Install it with: pip install {install or package}"
        )
        self.package = package
        self.install = install

    def __reduce__(self) -> tuple[type[MissingPackageError], tuple[Any, ...]]:
        return type(self), (self.package, self.install)


class MissingExtraError(MissingPackageError):
    """An optional dependency is not installed; the message holds the install line."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(package, f"'rag-nodes[{extra}]'")
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingPackageError], tuple[Any, ...]]:
        return type(self), (self.package, self.extra)


class MissingPdfEngineError(MissingExtraError):
    """No library that reads PDF files is installed; the message names both, and their licences."""

    def __init__(self) -> None:
        RagNodesError.__init__(
            self,
            "No PDF engine is installed. Install one with: pip install 'rag-nodes[pdfium]' "
            "(PDFium: BSD and Apache licences) or pip install 'rag-nodes[pdf]' (PyMuPDF: AGPL or a "
            "commercial licence)",
        )
        self.package, self.extra, self.install = "PDFium", "pdfium", "'rag-nodes[pdfium]'"

    def __reduce__(self) -> tuple[type[MissingPackageError], tuple[Any, ...]]:
        return type(self), ()


MAX_REASON_CHARACTERS = 600
"""Length of a reason; libraries quote damaged files at any length."""


class ReadError(RagNodesError):
    """One file could not be read.

    Attributes:
        path: the file.
        reason: what is wrong with it, without the path, on one line of `MAX_REASON_CHARACTERS`.
        remedy: what the user can do about it.
    """

    reason = "could not be read"
    remedy = "check the file and try again"

    def __init__(
        self, path: str | Path, reason: str | None = None, remedy: str | None = None
    ) -> None:
        self.path = Path(path)
        self.reason = " ".join((reason or type(self).reason).split())
        if len(self.reason) > MAX_REASON_CHARACTERS:
            self.reason = self.reason[: MAX_REASON_CHARACTERS - 2] + " …"
        self.remedy = remedy or type(self).remedy
        super().__init__(f"{path}: {self.reason}; {self.remedy}")

    def __reduce__(self) -> tuple[type[ReadError], tuple[Path, str, str]]:
        return type(self), (self.path, self.reason, self.remedy)


class FileMissingError(ReadError):
    """The path does not exist or is not a file."""

    reason = "no such file"
    remedy = "check the path"


class UnsupportedFileError(ReadError):
    """No reader is registered for this kind of file."""

    reason = "no reader for this kind of file"
    remedy = "convert it to PDF, Markdown or plain text"


class EmptyFileError(ReadError):
    """The file holds no bytes, or nothing but blank space."""

    reason = "the file is empty"
    remedy = "check that the export or download finished"


class MisnamedFileError(ReadError):
    """The content is not what the file name says."""

    reason = "the content is not what the file name says"
    remedy = "rename it to its real type"


class CorruptFileError(ReadError):
    """The file is damaged beyond repair."""

    reason = "the file is damaged"
    remedy = "export or download it again"


class EncryptedFileError(ReadError):
    """The file asks for a password."""

    reason = "the file is encrypted"
    remedy = "save a copy without password protection"


class NoTextLayerError(ReadError):
    """The pages are images: there is no text to read."""

    reason = "no text layer (scanned pages)"
    remedy = (
        'name a program for OCR: --ocr "tesseract {png} stdout --dpi {dpi} --psm 1 tsv" '
        "(Python: ocr=), or RAG_NODES_OCR for the app; or run ocrmypdf on it first"
    )


class OcrError(ReadError):
    """A page without text could not be read by OCR."""

    reason = "OCR found no text on its pages"
    remedy = "check that they are upright and in the language of the OCR"


class OcrProgramMissingError(OcrError):
    """The program that reads pages without text is not there."""

    reason = "the OCR program is not installed"
    remedy = "install it, or name it with its path in --ocr (Python: ocr=) or RAG_NODES_OCR"


class NoPagesError(ReadError):
    """The file opens but holds no page."""

    reason = "the file has no pages"
    remedy = "export or download it again"


class PageMissingError(ReadError):
    """The file has no page of this number."""

    reason = "it has no such page"
    remedy = "check the number, counted from 1 in the order of the file"


class FileChangedError(ReadError):
    """The file is another than the one that was ingested, so places in it are not known."""

    reason = "the file has changed since it was ingested"
    remedy = "ingest it again"


class FileTooLargeError(ReadError):
    """The file is over a configured limit."""

    reason = "the file is over the size limit"
    remedy = "split it or raise the limit"


class ReadMemoryError(FileTooLargeError):
    """Reading the file takes more memory than the limit."""

    reason = "reading it takes more memory than the limit"
    remedy = "split it or raise Limits.memory_bytes"


class ReadTimeoutError(ReadError):
    """Reading the file takes longer than the limit."""

    reason = "reading it takes longer than the limit"
    remedy = "split it or raise Limits.seconds"


class ReaderCrashedError(ReadError):
    """The process that read the file died."""

    reason = "the process that read it died"
    remedy = "the file is damaged or hostile; export or download it again"


class ParseError(RagNodesError):
    """A document could not be split."""


class SessionEndedError(RagNodesError):
    """A visitor's session is over, or never was."""


class TransformationError(RagNodesError):
    """A transformation of the user failed, or gave back nodes that cannot be stored."""


class ModelError(RagNodesError):
    """An embedding model or LLM failed."""


class ModelConnectionError(ModelError):
    """The model's server could not be reached."""


class RateLimitedError(ModelError):
    """The model's server keeps answering 429: too many requests, or no quota left."""


class ModelRequestError(ModelError):
    """The model's server refused the request: too long, unknown model, bad parameter."""


class UnknownModelError(ModelRequestError):
    """The server knows no such model, or there is none at the address: no request will succeed."""


class ModelResponseError(ModelError):
    """The model's server answered with something unusable: half a stream, no choices, NaN."""


class DimensionError(ModelError):
    """Vectors of another length than expected."""


class StoreError(RagNodesError):
    """The vector store failed."""


class LedgerError(StoreError):
    """The record of what is stored cannot be opened or written."""


class LedgerDamagedError(LedgerError):
    """The record of what is stored is torn."""


class StoreLockedError(StoreError):
    """Another process holds the storage folder."""


class StoreForeignError(StoreError):
    """Folder or collection are of another program; nothing in them is changed."""


class StoreDamagedError(StoreError):
    """The storage folder cannot be opened."""


class StoreFullError(StoreError):
    """The disk has too little space to write safely."""


class StoreUnreachableError(StoreError):
    """The vector store's server does not answer."""


class CollectionMissingError(StoreError):
    """Nothing was ingested for this corpus, parser and embedding model."""


class DocumentMissingError(StoreError):
    """No stored document is the one that was named; the message has names that are near."""
