"""What stands around a chunk in its document, of which some may be embedded with it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from llama_index.core.schema import BaseNode, TextNode, TransformComponent
from pydantic import ConfigDict, Field

from rag_nodes.metadata import START_CHAR, TEXT_AFTER, TEXT_BEFORE
from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.text.tokens import TokenIndex

_BLANK = re.compile(r"\s+")
_AROUND = (TEXT_BEFORE, TEXT_AFTER)


class NeighbourText(TransformComponent):
    """Puts the end of the chunk before and the beginning of the one after into the embedding text.

    They stand in the metadata `before` and `after`, of one document only; the LLM that answers
    never reads them, and neither does the search by words. Costs no model.

    Args:
        tokens: of each side at most, in whole words where blanks part them.

    Examples:
        >>> from llama_index.core.schema import TextNode
        >>> from rag_nodes import NeighbourText
        >>> nodes = [TextNode(text="The tank is red."), TextNode(text="It holds nine litres.")]
        >>> NeighbourText(tokens=20)(nodes)[1].metadata["before"]
        'The tank is red.'
    """

    model_config = ConfigDict(extra="forbid")

    tokens: int = Field(default=50, ge=1)

    @classmethod
    def class_name(cls) -> str:
        """Name of the class: part of LlamaIndex's cache key."""
        return "NeighbourText"

    def __call__(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> list[BaseNode]:
        """The nodes with what stands around them."""
        for family in families(nodes):
            texts = [node.text for node in family]
            before = ["", *(_end(text, self.tokens) for text in texts)]
            after = [*(_beginning(text, self.tokens) for text in texts[1:]), ""]
            for node, *around in zip(family, before, after, strict=False):
                facts = {key: text for key, text in zip(_AROUND, around, strict=True) if text}
                note(node, _AROUND, facts, embedded=_AROUND)
        return list(nodes)


def families(nodes: Iterable[BaseNode]) -> Iterator[list[TextNode]]:
    """The chunks of each document that are found, in their order in it."""
    found: dict[str, list[TextNode]] = defaultdict(list)
    for node in nodes:
        if isinstance(node, TextNode) and node.text.strip() and is_leaf(node):
            found[node.ref_doc_id or ""].append(node)
    for family in found.values():
        yield sorted(family, key=lambda node: node.metadata.get(START_CHAR) or 0)


def note(
    node: TextNode, keys: Sequence[str], facts: Mapping[str, str], embedded: Collection[str]
) -> None:
    """Put facts about a node into its metadata, in place of those of an earlier run.

    Args:
        node: changed in place.
        keys: of all facts that there may be; the LLM that answers reads none of them.
        facts: that there are.
        embedded: keys of those that stand in the embedding text.
    """
    node.metadata = {**{k: v for k, v in node.metadata.items() if k not in keys}, **facts}
    hidden = [key for key in node.excluded_embed_metadata_keys if key not in keys]
    node.excluded_embed_metadata_keys = [*hidden, *(key for key in keys if key not in embedded)]
    hidden = [key for key in node.excluded_llm_metadata_keys if key not in keys]
    node.excluded_llm_metadata_keys = [*hidden, *keys]


def _end(text: str, tokens: int) -> str:
    """The last words of a text, at most so many tokens, on one line.

    Where no blank parts words, as in Chinese, it starts anywhere.
    """
    index = TokenIndex(text)
    start = index.before(len(text), tokens)
    while index.count(start) > tokens or (start and not text[start - 1].isspace()):
        following = _BLANK.search(text, start)
        if following is None:
            break
        start = following.end()
    return " ".join(text[start:].split())


def _beginning(text: str, tokens: int) -> str:
    """The first words of a text, at most so many tokens, on one line."""
    end = TokenIndex(text).fit(0, tokens)
    if end < len(text) and not text[end].isspace():
        end = max((found.start() for found in _BLANK.finditer(text, 0, end)), default=end)
    return " ".join(text[:end].split())
