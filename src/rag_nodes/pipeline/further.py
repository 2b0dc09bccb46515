"""Further embeddings of an ingest: those asked for, those that are there, and who writes for them.

An ingest that names none keeps up to date what its collections have, as the store tells it: a
vector that is missing from a changed document would be found by its words alone, unnoticed.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.ledger import FILE_NAME
from rag_nodes.metadata import USUAL
from rag_nodes.transforms import (
    ChunkWriter,
    FurtherVectors,
    SummaryJournal,
    UserTransformations,
    further_names,
    vector_steps,
    written_for,
)
from rag_nodes.transforms.summaries import WRITTEN_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
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


@contextmanager
def further_steps(
    transformations: Sequence[TransformComponent],
    collections: Iterable[str],
    store: Store,
    models: Models,
    journal: Path | None,
    *,
    dry_run: bool = False,
) -> Iterator[FurtherSteps]:
    """What an ingest is to do to its chunks, until it is over.

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
    checked = UserTransformations(transformations).steps
    asked = further_names(checked)
    if all(step.keep for step in checked if isinstance(step, FurtherVectors)):
        there = {name for one in collections for name in store.vector_names(one)} - {USUAL}
    else:
        there = set()
    kept = tuple(sorted(there.difference(asked)))
    given = [step for step in checked if not isinstance(step, FurtherVectors)]
    written = {step.noted.text for step in given if isinstance(step, ChunkWriter)}
    names = [*asked, *kept]
    lacking = [one for one in names if (key := written_for(one)) and key not in written]
    if not (lacking and models.llm and journal):
        yield FurtherSteps(_steps(names, lacking, given, models, None), kept)
        return
    with SummaryJournal(journal, frozen=dry_run) as opened:
        yield FurtherSteps(_steps(names, lacking, given, models, opened), kept)


def journal_beside(ledger: Path) -> Path:
    """Where what an LLM wrote for an ingest is kept: beside the ledger of its store."""
    return ledger.with_name(
        WRITTEN_FILE if ledger.name == FILE_NAME else f"{ledger.stem}.{WRITTEN_FILE}"
    )


def _steps(
    names: Sequence[str],
    lacking: Sequence[str],
    given: Sequence[TransformComponent],
    models: Models,
    journal: SummaryJournal | None,
) -> list[TransformComponent]:
    """Writers first, so that whatever is given may put something else in place of their words."""
    writers = [
        step
        for step in vector_steps(lacking, models.llm, journal)
        if not isinstance(step, FurtherVectors)
    ]
    return [*writers, *given, *([FurtherVectors(*names)] if names else [])]
