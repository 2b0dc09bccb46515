"""The engine behind every parser: documents in, nodes out that are exact slices of them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

from llama_index.core.bridge.pydantic import (
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
)
from llama_index.core.callbacks import CallbackManager
from llama_index.core.node_parser import NodeParser
from llama_index.core.node_parser.node_utils import default_id_func
from llama_index.core.schema import BaseNode, Document, MetadataMode, TextNode
from llama_index.core.utils import get_tqdm_iterable

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.processes import current_interrupt
from rag_nodes.core.several import several, several_nodes
from rag_nodes.parsers.media import span_without_text
from rag_nodes.parsers.mistakes import configuration_error, frozen_error
from rag_nodes.parsers.nodes import build_nodes, link_neighbours
from rag_nodes.parsers.sizes import check_sizes
from rag_nodes.parsers.source import ChunkSpan, Origin, SourceText, origins_of
from rag_nodes.text.formats import format_in, is_raw_html
from rag_nodes.text.sentences import AUTO
from rag_nodes.text.tokens import DEFAULT_ENCODING, check_tokenizer

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z0-9]{2,8})*")


class SpanNodeParser(NodeParser):
    """Base of all parsers: a subclass says where to split, this class makes the nodes.

    Every node is a slice of its document: `document.text[n.start_char_idx:n.end_char_idx]` is
    `n.text`, alone, inside an `IngestionPipeline`, and behind another parser whose nodes carry
    right offsets. Ids are stable, neighbours complete, pages and headings known.

    Nodes of an image are `ImageNode`s with that image. An image, sound or film without text becomes
    one node without text.

    Configuration is frozen and plain data; `from_dict(to_dict())` gives an equal parser. Only
    LlamaIndex may set `callback_manager`, which `Settings.node_parser = parser` makes it do.

    Args:
        tokenizer: name of the tiktoken encoding that measures `token_count` and token limits.
        language: ISO 639-1 code for sentence rules, or "auto" to guess per document.
        include_metadata: copy the document's own metadata to its nodes. What the parser finds
            out is added either way.
        include_prev_next_rel: link each node to its neighbours.

    Raises:
        ConfigurationError: an option is unknown, out of range, or contradicts another.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        arbitrary_types_allowed=True, extra="forbid", frozen=True
    )

    output_version: ClassVar[int] = 2
    """Raised when the same configuration starts to split differently: ids and caches follow."""
    _cosmetic: ClassVar[frozenset[str]] = frozenset({"include_prev_next_rel", "include_metadata"})

    id_func: Any = Field(default=None, exclude=True, repr=False)
    tokenizer: str = Field(default=DEFAULT_ENCODING)
    language: str = Field(default=AUTO)
    _fingerprint: str = PrivateAttr(default="")

    def __init__(self, **options: Any) -> None:
        # Not a validator, out of which no ValueError comes as it is.
        try:
            super().__init__(**options)
        except ValidationError as error:
            raise configuration_error(type(self), error) from error

    @classmethod
    def from_defaults(cls, **options: Any) -> Self:
        """The parser with some options changed, as LlamaIndex's own parsers are often made.

        Raises:
            ConfigurationError: an option is unknown, out of range, or contradicts another.
        """
        return cls(**options)

    @field_validator("callback_manager", mode="before")
    @classmethod
    def _callbacks_may_be_left_out(cls, manager: Any) -> Any:
        return CallbackManager([]) if manager is None else manager

    @field_validator("id_func")
    @classmethod
    def _ids_are_derived(cls, function: Any) -> Any:
        if function not in (None, default_id_func):
            raise ValueError("node ids are derived from the document and the span; leave it out")
        return default_id_func

    @field_validator("tokenizer")
    @classmethod
    def _tokenizer_is_here(cls, name: str) -> str:
        check_tokenizer(name)
        return name

    @field_validator("language")
    @classmethod
    def _language_is_a_code(cls, name: str) -> str:
        # What sentencex does not know it takes for English without a word.
        if name != AUTO and not _LANGUAGE.fullmatch(name):
            raise ValueError(
                f"'{name}' is not an ISO 639 code such as 'en' or 'de'; '{AUTO}' guesses it"
            )
        return name

    def model_post_init(self, context: Any, /) -> None:
        """Derive the fingerprint once; the configuration never changes after this."""
        super().model_post_init(context)
        plain = {k: v for k, v in self.to_dict().items() if k not in self._cosmetic}
        name = json.dumps(plain, sort_keys=True, default=str)
        self._fingerprint = hashlib.sha256(name.encode()).hexdigest()[:12]
        check_sizes(self)
        self._check()

    def _check(self) -> None:
        """Refuse options that contradict each other; for subclasses to implement."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse every change but of `callback_manager`, which LlamaIndex's `Settings` sets.

        Raises:
            ConfigurationError: an option is assigned, as `Settings.chunk_size = 512` does. What a
                number means is each parser's own (tokens, characters, sentences), and the ids of
                its nodes and its collections are named after it.
        """
        if name == "callback_manager":
            self.__dict__[name] = CallbackManager([]) if value is None else value
        elif name in type(self).model_fields:
            raise frozen_error(self, name, value)
        else:
            super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        """Parsers of the same class and configuration are equal."""
        return isinstance(other, SpanNodeParser) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        """Follows the fingerprint."""
        return hash(self.fingerprint)

    @classmethod
    def class_name(cls) -> str:
        """Name of the class: part of the fingerprint and of LlamaIndex's cache key."""
        return cls.__name__

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Plain data that `from_dict` turns into an equal parser; never holds a key."""
        return {**super().to_dict(**kwargs), "output_version": self.output_version}

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """The parser `to_dict` described.

        Raises:
            ConfigurationError: the data was written by a version that split differently.
        """
        options = {**data, **kwargs}
        version = options.pop("output_version", cls.output_version)
        if version != cls.output_version:
            raise ConfigurationError(
                f"{cls.__name__} was saved by version {version}, which split differently from "
                f"version {cls.output_version}; ingest again"
            )
        return super().from_dict(options)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A parser with some options changed, checked like any other.

        Raises:
            ConfigurationError: an option is unknown, out of range, or contradicts another.
        """
        del deep  # a configuration is plain data that never changes
        options = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**options, **(update or {})})

    @property
    def fingerprint(self) -> str:
        """12 hex digits of the class and all configuration that decides the output (L8)."""
        return self._fingerprint

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        """Return where to split: the only method a strategy implements.

        Starts and ends must strictly increase, every visible character must be in a split, and no
        split may be blank.
        """
        # Not an abstract method: LlamaIndex would trace every call, 0.1 ms for each document.
        raise NotImplementedError(f"{type(self).__name__} must implement `spans(source)`")

    async def aspans(self, source: SourceText) -> list[ChunkSpan]:
        """Like `spans`, for a strategy that waits for a model; others are run in a thread."""
        return await asyncio.to_thread(lambda: list(self.spans(source)))

    def split_text(self, text: str) -> list[str]:
        """The chunks of a bare text, for components that ask for a `TextSplitter`."""
        return [text[cut.start : cut.end] for cut in self.spans(self._source(text))]

    def split_texts(self, texts: str | list[str]) -> list[str]:
        """The chunks of several texts, one after the other."""
        return [chunk for text in several(texts) for chunk in self.split_text(text)]

    def split_text_metadata_aware(self, text: str, metadata_str: str) -> list[str]:  # noqa: ARG002
        """The chunks of a text: metadata takes no room from a chunk here."""
        return self.split_text(text)

    def split_texts_metadata_aware(
        self,
        texts: str | list[str],
        metadata_strs: str | list[str],  # noqa: ARG002 -- LlamaIndex's signature
    ) -> list[str]:
        """Split several texts, see `split_text_metadata_aware`."""
        return self.split_texts(texts)

    def get_nodes_from_documents(
        self,
        documents: BaseNode | Sequence[BaseNode],
        show_progress: bool = False,  # noqa: FBT001, FBT002 -- LlamaIndex's signature
        **kwargs: Any,
    ) -> list[BaseNode]:
        """Return the nodes of documents, or of a single one."""
        given = list(several_nodes(documents))
        return super().get_nodes_from_documents(given, show_progress, **kwargs)

    async def aget_nodes_from_documents(
        self,
        documents: BaseNode | Sequence[BaseNode],
        show_progress: bool = False,  # noqa: FBT001, FBT002 -- LlamaIndex's signature
        **kwargs: Any,
    ) -> list[BaseNode]:
        """Return the nodes of documents, or of a single one."""
        given = list(several_nodes(documents))
        return await super().aget_nodes_from_documents(given, show_progress, **kwargs)

    def _source(self, text: str, **facts: Any) -> SourceText:
        return SourceText(text, encoding=self.tokenizer, language=self.language, **facts)

    def _parse_nodes(
        self,
        nodes: Sequence[BaseNode],
        show_progress: bool = False,  # noqa: FBT001, FBT002 -- LlamaIndex's signature
        **_kwargs: Any,
    ) -> list[BaseNode]:
        parsed: list[TextNode] = []
        for origin, source in self._sources(nodes, show_progress=show_progress):
            cuts = span_without_text(origin.node, source.text) or self.spans(source)
            parsed += self._build(origin, source, cuts)
        return self._finish(parsed)

    async def _aparse_nodes(
        self,
        nodes: Sequence[BaseNode],
        show_progress: bool = False,  # noqa: FBT001, FBT002 -- LlamaIndex's signature
        **_kwargs: Any,
    ) -> list[BaseNode]:
        if type(self).aspans is SpanNodeParser.aspans:
            return await asyncio.to_thread(self._parse_nodes, nodes, show_progress)
        parsed: list[TextNode] = []
        for origin, source in self._sources(nodes, show_progress=show_progress):
            cuts = span_without_text(origin.node, source.text) or await self.aspans(source)
            parsed += self._build(origin, source, cuts)
        return self._finish(parsed)

    def _sources(
        self, nodes: Sequence[BaseNode], *, show_progress: bool
    ) -> Iterator[tuple[Origin, SourceText]]:
        _warn_of_raw_html(nodes)
        for origin in counted(origins_of(nodes), len(nodes), show_progress=show_progress):
            yield origin, self._source_of(origin)

    def _source_of(self, origin: Origin) -> SourceText:
        node = origin.node
        text = node.get_content(metadata_mode=MetadataMode.NONE)
        return self._source(
            text,
            title=str(node.metadata.get(keys.TITLE) or ""),
            text_format=format_in(node.metadata, text),
            address=keys.web_address(node.metadata),
            page_breaks=origin.breaks_within(0, len(text)),
        )

    def _build(
        self, origin: Origin, source: SourceText, cuts: Iterable[ChunkSpan]
    ) -> list[TextNode]:
        name = f"{self.class_name()}:{self.fingerprint}"
        checked = _until_cancelled(cuts)
        return build_nodes(origin, source, checked, parser=name, inherit=self.include_metadata)

    def _finish(self, nodes: list[TextNode]) -> list[BaseNode]:
        link_neighbours(nodes, relate=self.include_prev_next_rel)
        return list(nodes)

    def _postprocess_parsed_nodes(
        self,
        nodes: list[BaseNode],
        parent_doc_map: dict[str, Document],  # noqa: ARG002 -- LlamaIndex's signature
    ) -> list[BaseNode]:
        """Nothing is left to do: LlamaIndex would search for offsets we already know."""
        return nodes


def _warn_of_raw_html(nodes: Sequence[BaseNode]) -> None:
    documents = [node for node in nodes if node.source_node is None]
    texts = (node.get_content(MetadataMode.NONE) for node in documents)
    pairs = zip(documents, texts, strict=True)
    if raw := [node for node, text in pairs if is_raw_html(text, node.metadata)]:
        logger.warning(
            "Documents that are raw HTML: %d; the first is %s. Tags and scripts are split like "
            "text: read HTML files with rag_nodes.read, or with "
            "SimpleDirectoryReader(..., file_extractor={'.html': RagNodesReader()})",
            len(raw),
            keys.page_name(raw[0].metadata) or raw[0].node_id,
        )


def _until_cancelled(cuts: Iterable[ChunkSpan]) -> Iterator[ChunkSpan]:
    """Yield the splits of a document, unless the work that they are part of is to end.

    Raises:
        CancelledError: the work was cancelled, see `interruptible`.
    """
    interrupt = current_interrupt()
    for cut in cuts:
        interrupt.check("splitting the document")
        yield cut


def counted(items: Iterable[_T], total: int, *, show_progress: bool) -> Iterable[_T]:
    """The items, with the progress bar of LlamaIndex's own parsers where one is asked for."""
    shown: Iterable[_T] = get_tqdm_iterable(items, show_progress, "Parsing nodes", total)
    return shown
