"""`Run`: what the functions of operations work with, whoever asked and however it is shown."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rag_nodes.errors import (
    ConfigurationError,
    DatasetError,
    DocumentMissingError,
    FileMissingError,
)
from rag_nodes.operations.parsers import make_offered, make_parsers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from llama_index.core.schema import Document, TextNode

    from rag_nodes.models import Models
    from rag_nodes.operations.base import Request
    from rag_nodes.operations.fields import ParserSpec
    from rag_nodes.parsers import Preset, SpanNodeParser
    from rag_nodes.readers import Limits
    from rag_nodes.settings import Settings
    from rag_nodes.workspace.workspace import Workspace

MEMORY = ":memory:"
"""The store that is gone at the end."""
CUT_SECONDS = 60.0
"""Seconds that one parser may take for a document of a stranger of up to a million characters."""


class Doing(NamedTuple):
    """Work begins that takes seconds and has no steps to count."""

    what: str


class Said(NamedTuple):
    """A word beside the result.

    Attributes:
        words: one sentence or more.
        level: a note, or a warning, that something is not as it was asked for.
    """

    words: str
    level: Literal["note", "warning"] = "note"


class Run:
    """One operation under way.

    Progress, pieces of answers and words beside the result all go to `emit`. Work is ended by
    `rag_nodes.processes.interruptible` around it.

    Args:
        settings: models, limits and store.
        emit: hears of every event: `Doing`, `Said`, steps of the library (with `stage`, `done`,
            `total`), and pairs of a column and an event of its answer.
        workspace: models and store of a stranger; None for those of the settings.
        documents: that a stranger has sent.
        offer: parsers that a stranger may name; None where the owner of the computer asks.
    """

    def __init__(
        self,
        settings: Settings,
        emit: Callable[[object], None] = lambda _: None,
        *,
        workspace: Workspace | None = None,
        documents: Sequence[Document] = (),
        offer: Mapping[str, Preset] | None = None,
    ) -> None:
        self.settings = settings
        self.emit = emit
        self.documents = documents
        self.offer = offer
        self.unread = 0
        self.cleanup = ExitStack()
        self._workspace = workspace

    @classmethod
    def for_visitor(
        cls,
        settings: Settings,
        emit: Callable[[object], None],
        *,
        workspace: Workspace,
        documents: Sequence[Document],
        offer: Mapping[str, Preset],
    ) -> Run:
        """The run of a stranger, who leaves nothing behind.

        Raises:
            ConfigurationError: the workspace has a store that is kept.
        """
        if workspace.location != MEMORY:
            raise ConfigurationError("what strangers send must not be stored; give it to memory")
        return cls(settings, emit, workspace=workspace, documents=documents, offer=offer)

    @property
    def is_trusted(self) -> bool:
        """Whether the owner of the computer asks."""
        return self.offer is None

    def close(self) -> None:
        """Free everything that was opened on the way."""
        self.cleanup.close()

    def note(self, words: str) -> None:
        """Say something beside the result."""
        self.emit(Said(words))

    def warn(self, words: str) -> None:
        """Say that something is not as it was asked for."""
        self.emit(Said(words, "warning"))

    def tell(self, request: Request) -> None:
        """Have what the request says about settings win over them; before anything is opened."""
        told = {name: getattr(request, name) for name in request.configures}
        self.configure({name: one for name, one in told.items() if one is not None})

    def configure(self, told: Mapping[str, Any]) -> None:
        """Have these settings instead.

        Raises:
            ConfigurationError: a value is out of range.
        """
        if told:
            kept = self.settings.model_dump(exclude_unset=True)
            self.settings = type(self.settings)(**{**kept, **told})

    @cached_property
    def workspace(self) -> Workspace:
        """Models and store; nothing is opened before it is needed."""
        if self._workspace is not None:
            return self._workspace
        from rag_nodes.workspace.workspace import Workspace

        made = Workspace(self.settings, store=self.settings.store)
        return self.cleanup.enter_context(made)

    def models(self, *, answers: bool = True, check: bool = True) -> Models:
        """The models that will run, known to answer; see `Workspace.models`."""
        return self.workspace.models(answers=answers, check=check)

    def parsers(
        self,
        specs: Sequence[ParserSpec],
        changes: Mapping[str, str] | None = None,
        models: Models | None = None,
    ) -> dict[str, SpanNodeParser]:
        """The parsers that a request names, by label; models are loaded for one that embeds.

        Raises:
            ConfigurationError: see `make_parsers` and `make_offered`.
        """

        def embedding() -> Any:
            return (models or self.models(answers=False)).sentence_model

        if self.offer is not None:
            return make_offered(specs, self.offer, embedding)
        return make_parsers(specs, changes or {}, embedding)

    def cut(self, parser: SpanNodeParser, document: Document) -> Sequence[TextNode]:
        """The chunks of a document, those of a stranger within bounds.

        Raises:
            ParseError: cutting takes too long, or fails.
        """
        if self.is_trusted:
            return parser([document])  # type: ignore[return-value]
        from rag_nodes.parsers.isolation import cutting

        return cutting.cut(parser, document, CUT_SECONDS)  # type: ignore[return-value]

    def limits(self) -> Limits:
        """What reading one file may cost."""
        from rag_nodes.readers import Limits

        return Limits(**self.settings.reading())

    def read(self, paths: Sequence[Path]) -> list[Document]:
        """The documents of files; those that cannot be read are said and counted in `unread`.

        Raises:
            FileMissingError: there is none of these files.
            DatasetError: none can be read.
        """
        from rag_nodes.readers import read_all

        check_there(paths)
        documents = []
        for result in read_all(paths, limits=self.limits()) if paths else ():
            if result.document is not None:
                documents.append(result.document)
            if result.error is not None:
                self.unread += 1
                self.warn(str(result.error))
        if paths and not documents:
            raise DatasetError("none of the documents could be read; see above")
        return documents

    def document(self, document_id: str) -> Document:
        """A document that a stranger has sent.

        Raises:
            DocumentMissingError: there is no such document.
        """
        found = next((one for one in self.documents if one.id_ == document_id), None)
        if found is None:
            raise DocumentMissingError("this session has no such document; upload it first")
        return found


def text_document(text: str) -> Document:
    """A text as a document; the same text has the same id, and so have its chunks."""
    from uuid import NAMESPACE_OID, uuid5

    from llama_index.core.schema import Document

    from rag_nodes.metadata import FILE_NAME

    return Document(text=text, id_=str(uuid5(NAMESPACE_OID, text)), metadata={FILE_NAME: "text"})


def check_there(paths: Iterable[Path]) -> None:
    """Refuse names of which nothing is there, before a model is loaded or a store is opened.

    Where some are there, the work goes on with those, and the report names the others.

    Raises:
        FileMissingError: there is no file and no folder of any of these names.
    """
    named = list(paths)
    if named and not any(path.exists() for path in named):
        more = f" (nor the other {len(named) - 1})" if len(named) > 1 else ""
        raise FileMissingError(named[0], f"no such file or folder{more}")


def check_writable(path: Path) -> None:
    """Refuse a name before hours are spent on what should be written there.

    Raises:
        ConfigurationError: nothing can be written there.
    """
    import os

    known = path if path.exists() else path.parent
    if path.is_dir() or not path.parent.is_dir() or not os.access(known, os.W_OK):
        raise ConfigurationError(f"{path} cannot be written; name a file in a folder that is there")


def write_text(path: Path, text: str) -> None:
    """Write a file that was asked for.

    Raises:
        ConfigurationError: it cannot be written.
    """
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written ({error}); name a file in a folder that is there"
        ) from error
