"""Further embeddings of a chunk beside the usual one, by name, to be compared in one collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from llama_index.core.llms import LLM
from llama_index.core.schema import BaseNode, MetadataMode, TransformComponent
from pydantic import ConfigDict, Field

from rag_nodes.errors import ConfigurationError
from rag_nodes.metadata import CONTEXT, NAMED_VECTORS, SUMMARY, USUAL, check_vector
from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.several import several
from rag_nodes.transforms.journal import TextJournal
from rag_nodes.transforms.written import ChunkContext, ChunkWriter, SectionSummary

_WRITTEN = {"summary": SUMMARY, "context": CONTEXT}
"""Metadata with what is embedded in front of the usual text."""


class NamedVectors(TransformComponent):
    r"""Has chunks embedded in further ways, each a vector of its own beside the usual one.

    Stored in the same collection, so a question can be asked of one or the other:
    `QueryOptions(vector="plain")`. An ingest that is given none keeps up to date those that its
    collections have. Where no `SectionSummary` or `ChunkContext` writes what stands in front, one
    does with the LLM of the ingest, and its words are kept beside the ledger. A chunk for which
    nothing was written has no such vector, and is found by its words alone where it is asked.

    Args:
        *given: "plain" for the text alone, "summary" for what `SectionSummary` and "context" for
            what `ChunkContext` wrote, in front of the usual text.
        names: the same.
        keep: those that the collections have stay as well; False to have these alone.

    Raises:
        ConfigurationError: a name is unknown.

    Examples:
        >>> from rag_nodes import NamedVectors
        >>> from rag_nodes.transforms.named_vectors import vector_text
        >>> from llama_index.core.schema import TextNode
        >>> node = TextNode(text="It holds nine litres.", metadata={"Heading": "Tank"})
        >>> [marked] = NamedVectors("plain")([node])
        >>> vector_text(marked, "plain"), vector_text(marked, "heading")
        ('It holds nine litres.', 'Heading: Tank\n\nIt holds nine litres.')
    """

    model_config = ConfigDict(extra="forbid")

    names: list[str] = Field(default_factory=list)
    keep: bool = Field(default=True, exclude=True)

    def __init__(self, *given: str, names: str | Sequence[str] = (), keep: bool = True) -> None:
        wanted = {*given, *several(names)}
        for name in wanted:
            check_vector(name)
        super().__init__(names=sorted(wanted - {USUAL}), keep=keep)  # type: ignore[call-arg] # pydantic's

    @classmethod
    def class_name(cls) -> str:
        """Name of the class: part of LlamaIndex's cache key."""
        return "NamedVectors"

    def __call__(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> list[BaseNode]:
        """The nodes; those that are found are marked with what they are to be embedded as."""
        for node in filter(is_leaf, nodes):
            node.metadata[NAMED_VECTORS] = dict.fromkeys(self.names)
            for hidden in (node.excluded_embed_metadata_keys, node.excluded_llm_metadata_keys):
                if NAMED_VECTORS not in hidden:
                    hidden.append(NAMED_VECTORS)
        return list(nodes)


def vector_steps(
    names: str | Iterable[str],
    llm: LLM | None = None,
    journal: TextJournal | None = None,
    given: Sequence[TransformComponent] = (),
) -> list[TransformComponent]:
    """Transformations of an ingest that embeds chunks in further ways, with what writes for them.

    Writers stand first, so that whatever is given may put something else in place of their words.

    Args:
        names: of the embeddings; none for "heading" alone.
        llm: writes summaries and contexts; without one, summaries are sentences of the chunk.
        journal: keeps what was paid for.
        given: transformations that there are anyway; what one of them writes, no other does.

    Raises:
        ConfigurationError: a name is unknown, or "context" is one and there is no model.
    """
    wanted = NamedVectors(*several(names), *asked_vectors(given))
    steps = [one for one in given if not isinstance(one, NamedVectors)]
    lacking = unwritten(wanted.names, given)
    if "context" in lacking and llm is None:
        raise ConfigurationError(
            "the vectors 'context' are of what an LLM writes, and there is none: choose one "
            "(--llm), or leave these vectors out (--vector none, if they are stored)"
        )
    writers: list[TransformComponent] = []
    if "summary" in lacking:
        writers.append(SectionSummary(llm=llm, journal=journal))
    if "context" in lacking:
        writers.append(ChunkContext(llm, embed=False, journal=journal))
    return [*writers, *steps, *([wanted] if wanted.names else [])]


def unwritten(names: str | Iterable[str], given: Iterable[TransformComponent] = ()) -> list[str]:
    """The embeddings of what an LLM may write, about which no transformation writes."""
    there = {step.noted.text for step in given if isinstance(step, ChunkWriter)}
    return [name for name in several(names) if name in _WRITTEN and _WRITTEN[name] not in there]


def asked_vectors(transformations: Iterable[object]) -> list[str]:
    """Names of the embeddings that transformations ask for beside the usual one."""
    marked = (step.names for step in transformations if isinstance(step, NamedVectors))
    return sorted({name for names in marked for name in names})


def vector_text(node: BaseNode, name: str) -> str | None:
    """What of a node is embedded under a name; None where nothing was written for it."""
    if name == "plain":
        return node.get_content(MetadataMode.NONE)
    usual = node.get_content(MetadataMode.EMBED)
    if name == USUAL:
        return usual
    written = node.metadata.get(_WRITTEN[name])
    return f"{written}\n\n{usual}" if written else None
