"""Our readers where LlamaIndex takes one of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.readers.base import Limits
from rag_nodes.readers.files import DEFAULT_LIMITS, read_all


@checks_keywords
class RagNodesReader(BaseReader):
    """A reader of LlamaIndex for every kind of file that `rag_nodes.read` reads.

    A file becomes one document with its whole text and a page map, where LlamaIndex's own readers
    make one document of each page; a crawl becomes a document for each page of the website.

    Args:
        limits: how large a file may be, and what reading it may take.

    Examples:
        >>> from rag_nodes import RagNodesReader
        >>> from llama_index.core import SimpleDirectoryReader
        >>> reader = RagNodesReader()
        >>> folder = SimpleDirectoryReader(
        ...     input_files=["examples/corpus/ferry.pdf"], file_extractor={".pdf": reader}
        ... )
        >>> [document.metadata["total_pages"] for document in folder.load_data()]
        [20]
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        super().__init__()
        self._limits = limits

    def lazy_load_data(
        self,
        file: str | Path,
        extra_info: Mapping[str, Any] | None = None,
        fs: Any = None,
    ) -> Iterator[Document]:
        """Yield the documents of a file, or of the files of a folder, as they are read.

        Args:
            file: its path on this machine.
            extra_info: metadata of each document; what the file says of itself goes before it.
            fs: must be None: files are read from this machine.

        Raises:
            ReadError: a file cannot be read; the message names file and remedy.
            ConfigurationError: a remote file system is given.
        """
        if fs is not None:
            raise ConfigurationError(f"{file}: copy it to this machine first, and leave fs out")
        for result in read_all([file], limits=self._limits):
            if result.error is not None:
                raise result.error
            assert result.document is not None  # noqa: S101 -- for the type checker
            added = {**(extra_info or {}), **result.document.metadata}
            yield result.document.model_copy(update={"metadata": added})
