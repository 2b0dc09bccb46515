"""Names that a file of questions may use for documents, and the files they come from."""

from __future__ import annotations

from collections import defaultdict
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rag_nodes.core.metadata import FILE_NAME, SOURCE, TITLE, display_name, sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llama_index.core.schema import Document

_NAMED = 3
"""Files that are named as examples."""


class DocumentNames:
    """Ids of documents by all they may be called: several, if a file was read page by page.

    Args:
        documents: each with an id of its own.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self._ids: dict[str, list[str]] = defaultdict(list)
        self._folded: dict[str, list[str]] = defaultdict(list)
        self._files: dict[str, str] = {}
        for document in documents:
            self._files[document.id_] = file_of(document)
            for name in dict.fromkeys(_names_of(document)):
                self._ids[name].append(document.id_)
                self._folded[name.casefold()].append(document.id_)

    def find(self, name: str) -> list[str]:
        """Return the ids of the documents that are called so, in their order.

        Capitals do not matter if no name is written exactly so.
        """
        last = PurePosixPath(name.replace("\\", "/")).name
        exact = self._ids.get(name) or self._ids.get(last)
        return exact or list(dict.fromkeys(self._folded.get(last.casefold(), ())))

    def files(self, ids: Iterable[str]) -> list[str]:
        """Return the files that documents come from, each once."""
        return list(dict.fromkeys(self._files[document] for document in ids))

    def shown(self, name: str) -> str:
        """Return the names of a few files as examples, the closest to a misspelt one first."""
        files = self.files(self._files)
        ends = {PurePosixPath(path.replace("\\", "/")).name: path for path in files}
        last = PurePosixPath(name.replace("\\", "/")).name
        close = [ends[end] for end in get_close_matches(last, ends, n=_NAMED)]
        files = list(dict.fromkeys([*close, *files]))
        return ", ".join(map(ending, files[:_NAMED])) + (", …" if len(files) > _NAMED else "")


def ending(path: str) -> str:
    """Return the name of a file and of the folder that it is in."""
    return "/".join(PurePosixPath(path.replace("\\", "/")).parts[-2:])


def file_of(document: Document) -> str:
    """Return the path or URL that a document comes from; its id if it names none."""
    return next(iter(sources(document.metadata)), document.id_)


def _names_of(document: Document) -> Iterator[str]:
    """Yield all that a document may be called: its id, title, URL, name, and ends of its path."""
    metadata = document.metadata
    path = file_of(document)
    called = [str(metadata.get(key) or "") for key in (SOURCE, FILE_NAME, TITLE)]
    parts: Sequence[str] = PurePosixPath(path.replace("\\", "/")).parts
    ends = ["/".join(parts[first:]) for first in range(len(parts))]
    names = [*filter(None, [document.id_, display_name(metadata), path, *called, *ends])]
    yield from names
    yield from (str(path.with_suffix("")) for path in map(PurePosixPath, names) if path.suffix)
