"""The text a strategy cuts, and the cuts it answers with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from rag_nodes.text.formats import Format, format_of
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import Span

NO_FACTS: Mapping[str, Any] = MappingProxyType({})


class Cut(NamedTuple):
    """One future node: a span of the text and what the strategy knows of it.

    Attributes:
        start: offset of the first character.
        end: offset after the last one.
        facts: metadata of this node alone, by the keys of `rag_nodes.metadata`.
        window: what is to be read where the node is found; None for the node alone.
    """

    start: int
    end: int
    facts: Mapping[str, Any] = NO_FACTS
    window: Span | None = None


class SourceText:
    """One text to cut, with what strategies ask of it computed at most once.

    Args:
        text: the text.
        title: the document's title, "" when unknown.
        encoding: name of the tokenizer.
        language: ISO 639-1 code for sentence rules, or "auto".
        text_format: what marks its structure; None to judge by the text.
        address: URL of the page of a website that it is, "" for any other document.
        page_breaks: sorted offsets at which its pages after the first start; none where it has
            no pages.
    """

    def __init__(
        self,
        text: str,
        *,
        title: str,
        encoding: str,
        language: str,
        text_format: Format | None = None,
        address: str = "",
        page_breaks: Sequence[int] = (),
    ) -> None:
        self.text = text
        self.text_format = text_format or format_of(text)
        self.title = title
        self.address = address
        self.page_breaks = page_breaks
        self.encoding = encoding
        self._language = language

    @cached_property
    def packer(self) -> Packer:
        """Tokens, blocks and sentences of the text."""
        return Packer(
            self.text,
            encoding=self.encoding,
            language=self._language,
            text_format=self.text_format,
        )

    def count(self, start: int, end: int) -> int:
        """Tokens of a span, exact."""
        return self.packer.count(start, end)
