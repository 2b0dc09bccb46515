"""Sections of the heading tree, packed between a least and a most number of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, ClassVar, Literal

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import Field, model_validator
from pydantic import InstanceOf

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.embedders import model_named, named_after
from rag_nodes.parsers.heading.sections import FutureNode, Joining, Outline, kinds_of
from rag_nodes.parsers.heading.split import Splitter, Stretch, breaks_of, embed, parts_by_meaning
from rag_nodes.parsers.sizes import MAX_BLOCK_TOKENS, MIN_TOKENS
from rag_nodes.parsers.source import ChunkSpan, SourceText
from rag_nodes.parsers.topics.breaks import Breaks
from rag_nodes.text.spans import Span

_DEEPEST = 6
"""Levels of headings in Markdown and HTML."""
_MOST_SIZES = 4
"""Sizes that code may take which is kept whole."""
_LEXICAL = "lexical"


class HeadingHierarchyNodeParser(SpanNodeParser):
    r"""Splits a Markdown document at its headings, H1 to H6.

    A section shorter than `min_chunk_size` joins a neighbour, a heading without text joins the
    section under it, and a section longer than `chunk_size` is split between blocks, then sentences
    or lines, and its parts numbered. No node under `min_chunk_size` is left that fits into
    one together with the node before or after it: it joins the one of its own section, else the
    one under more of the same headings, else the one before. A node of several sections stands
    under the one that is two thirds of it, else under the headings they share, and is no numbered
    part of any (`headings_inside` names the others).

    Code within the size is never split; code over it stands alone, marked `oversized`,
    unless it is over `max_block_tokens` too: then it is split between its lines, and each piece
    marked `split_block`. A part that continues a block of code names its language.

    Every node knows the headings above it (`heading_path`), which are embedded with its text as
    `Heading: A > B`. What a missing heading leaves open is settled like this:

    - A document without any H1 stands under its title: below "Manual", the path of "## Install" is
      `["Manual", "Install"]`. Without a title its first heading is as high as an H1, and
      so are its equals: to make it the parent of the headings beside it would be wrong.
    - An H2 that comes before the first H1 stands on its own until then.
    - Skipped levels leave no gap: an H3 directly below an H1 is its child.
    - A text shorter than `min_chunk_size` above the first H1, such as a breadcrumb, is part of that
      H1's section.
    - Other text above the first heading, or all of a document without headings, stands under the
      title. Without a title, Markdown stands under its first sentence; plain text, source code
      and raw HTML stand under no heading.

    Args:
        chunk_size: maximum tokens of a node, overlap included.
        chunk_overlap: maximum tokens that the parts of one long section share, in whole sentences
            if one fits, else in lines or words; 0 for none. Different sections share no text, and
            the overlap begins inside no code block.
        min_chunk_size: minimum tokens of a node; a smaller one joins a neighbour that has room.
        split_only_if_over: a document of at most this many tokens stays one node, marked
            `whole_document`. None means `min_chunk_size`; 0 splits every document.
        max_level: deepest heading level that opens a section, 1 to 6. A deeper heading is text of
            the section around it.
        oversize: treatment of code blocks over `chunk_size`: "keep" leaves them whole, "split"
            splits them.
        max_block_tokens: tokens over which a code block is split although `oversize` is "keep".
            None means four times `chunk_size`, at most 7000 (the input limit of many embedding
            models) unless `chunk_size` is larger.
        long_sections: way to split long sections: "sentences" fills each part with as many as fit,
            "semantic" splits where the topic changes, as SemanticNodeParser does.
        embedding: name of the embedding model that compares sentences if `long_sections` is
            "semantic": "lexical" (offline) or "openai:<model>".
        sentence_model: embedding model to use instead of the one that `embedding` names. A saved
            parser holds only its name.

    Raises:
        ConfigurationError: `min_chunk_size` or `split_only_if_over` is over `chunk_size`,
            `max_block_tokens` under it or without effect,
            `chunk_overlap` is not smaller, a model is named that nothing would use, or it is
            unknown.
        ModelError: embedding failed.

    Examples:
        >>> from rag_nodes import HeadingHierarchyNodeParser
        >>> parser = HeadingHierarchyNodeParser(min_chunk_size=0)
        >>> parser.split_text("# Tea\nHot.\n\n## Green\nLess hot.")
        ['# Tea\nHot.', '## Green\nLess hot.']
    """

    output_version: ClassVar[int] = 3
    """3: a list item wrapped over several lines is split between its sentences."""

    chunk_size: int = Field(default=1000, ge=MIN_TOKENS)
    chunk_overlap: int = Field(default=0, ge=0)
    min_chunk_size: int = Field(default=100, ge=0)
    split_only_if_over: int | None = Field(default=None, ge=0)
    max_level: int = Field(default=_DEEPEST, ge=1, le=_DEEPEST)
    oversize: Literal["keep", "split"] = Field(default="keep")
    max_block_tokens: int | None = Field(default=None, ge=MIN_TOKENS)
    long_sections: Literal["sentences", "semantic"] = Field(default="sentences")
    embedding: str = Field(default=_LEXICAL)
    sentence_model: InstanceOf[BaseEmbedding] | None = Field(default=None, exclude=True, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _name_the_model(cls, data: Any) -> Any:
        return named_after("sentence_model", data)

    def _check(self) -> None:
        whole = self.split_only_if_over
        if whole is not None and whole > self.chunk_size:
            raise ConfigurationError(
                f"split_only_if_over ({whole}) must not be over chunk_size ({self.chunk_size}): "
                "a document that stays one node must fit into one"
            )
        most = self.max_block_tokens
        if most is not None and self.oversize == "split":
            raise ConfigurationError(
                f"max_block_tokens ({most}) has no effect with oversize='split', which splits all "
                "code over chunk_size; leave it out or choose 'keep'"
            )
        if most is not None and most < self.chunk_size:
            raise ConfigurationError(
                f"max_block_tokens ({most}) must not be under chunk_size ({self.chunk_size}): "
                "code within the size is never split"
            )
        if self.long_sections != "semantic" and self.embedding != _LEXICAL:
            raise ConfigurationError(
                f"embedding='{self.embedding}' has no effect with "
                f"long_sections='{self.long_sections}'; leave it out or choose 'semantic'"
            )

    @property
    def block_ceiling(self) -> int:
        """Most tokens of any node: those of code that is kept whole."""
        if self.oversize == "split":
            return self.chunk_size
        usual = min(_MOST_SIZES * self.chunk_size, MAX_BLOCK_TOKENS)
        return self.max_block_tokens or max(usual, self.chunk_size)

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        """Sections, merged where short, split where long."""
        packer, size, least = source.packer, self.chunk_size, self.min_chunk_size
        outline = Outline(packer, title=source.title, max_level=self.max_level, least=least)
        groups = list(outline.groups(size, least))
        whole = least - 1 if self.split_only_if_over is None else self.split_only_if_over
        is_whole = packer.count(packer.start, packer.end) <= whole
        if is_whole and groups:
            groups = [(0, groups[-1][1])]
        splitter = Splitter(packer, size, self.chunk_overlap, self.block_ceiling)
        joining = Joining(packer, outline, most=size, least=least)
        nodes = joining.joined(self._pieces(outline, groups, splitter))
        counts = Counter(node.first for node in nodes if node.is_part)
        numbers: Counter[int] = Counter()
        for node in nodes:
            span = Span(node.start, node.end)
            if node.first == node.last:
                facts = outline.facts(*groups[node.first])
            else:
                facts = outline.facts_of_text(span)
            facts |= splitter.facts(span) if node.is_cut else kinds_of(packer.blocks_between(*span))
            if is_whole:
                facts[keys.WHOLE_DOCUMENT] = True
            if node.is_part and (count := counts[node.first]) > 1:
                numbers[node.first] += 1
                facts |= {keys.PART: numbers[node.first], keys.PARTS: count}
            yield ChunkSpan(*span, facts)

    def _pieces(
        self, outline: Outline, groups: Sequence[tuple[int, int]], splitter: Splitter
    ) -> Iterator[FutureNode]:
        spans = [outline.span(*group) for group in groups]
        size = self.chunk_size
        long = [number for number, span in enumerate(spans) if splitter.packer.count(*span) > size]
        stretches = {number: list(splitter.stretches(spans[number])) for number in long}
        breaks: dict[Stretch, Breaks] = {}
        if self.long_sections == "semantic":
            breaks = breaks_of(
                splitter, chain.from_iterable(stretches.values()), self.min_chunk_size
            )
        if breaks:
            embed(breaks.values(), model_named(self.embedding, self.sentence_model))
        for number, span in enumerate(spans):
            if number not in stretches:
                yield FutureNode(*span, number, number, is_cut=False)
                continue
            for stretch in stretches[number]:
                if stretch in breaks:
                    parts = parts_by_meaning(splitter, breaks.pop(stretch))
                else:
                    parts = splitter.parts(stretch)
                yield from (FutureNode(*part, number, number, is_cut=True) for part in parts)
