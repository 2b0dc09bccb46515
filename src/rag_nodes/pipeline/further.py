"""Further embeddings of an ingest: those asked for, those that are there, and who writes for them.

An ingest that names none keeps up to date what its collections have, as the store tells it: a
vector that is missing from a changed document would be found by its words alone, unnoticed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.ledger import FILE_NAME
from rag_nodes.metadata import USUAL
from rag_nodes.transforms import (
    WRITTEN_FILE,
    FurtherVectors,
    TextJournal,
    UserTransformations,
    further_names,
    unwritten,
    vector_steps,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from llama_index.core.schema import TransformComponent

    from rag_nodes.models import Models
    from rag_nodes.store import Store


class FurtherSteps(NamedTuple):
    """The transformations of an ingest, complete.

    Attributes:
        steps: with those that write for further embeddings.
        kept: names of the embeddings that nobody asked for and that are there.
    """

    steps: Sequence[TransformComponent]
    kept: tuple[str, ...] = ()


def further_steps(
    transformations: Sequence[TransformComponent],
    collections: Iterable[str],
    store: Store,
    models: Models,
    journal: Path | None,
    *,
    dry_run: bool = False,
) -> FurtherSteps:
    """What an ingest is to do to its chunks.

    Args:
        transformations: that it was given; among them may be some `FurtherVectors`.
        collections: that it writes.
        store: where they are.
        models: whose LLM writes where no transformation does.
        journal: file in which what it writes is kept; None to keep it nowhere.
        dry_run: write nothing into that.

    Raises:
        ConfigurationError: a transformation is none, a context is needed and there is no LLM, or
            the journal cannot be written.
        StoreError: the store does not say what it has.
    """
    given = UserTransformations(transformations).steps
    asked, there = further_names(given), set[str]()
    if all(step.keep for step in given if isinstance(step, FurtherVectors)):
        there = {name for one in collections for name in store.vector_names(one)}
    kept = tuple(sorted(there.difference(asked, [USUAL])))
    writes = models.llm and journal and unwritten([*asked, *kept], given)
    texts = TextJournal(journal, frozen=dry_run) if journal and writes else None
    return FurtherSteps(vector_steps(kept, models.llm, texts, given), kept)


def journal_beside(ledger: Path) -> Path:
    """Where what an LLM wrote for an ingest is kept: beside the ledger of its store."""
    return ledger.with_name(
        WRITTEN_FILE if ledger.name == FILE_NAME else f"{ledger.stem}.{WRITTEN_FILE}"
    )
