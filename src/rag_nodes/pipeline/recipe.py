"""What all units of an ingest share, here and in other processes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rag_nodes.pipeline.build import column_pipeline
from rag_nodes.text.packing import Packer
from rag_nodes.transforms import ChunkWriter, TextJournal, WrittenTexts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from llama_index.core.schema import TransformComponent

    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline.build import ColumnPipeline, Parse
    from rag_nodes.pipeline.report import Stage
    from rag_nodes.readers import Limits
    from rag_nodes.transforms import PromptKey

    Tell = Callable[[Stage, str, int, int], object]
    """Takes what was just done: stage, file or parser, how many chunks, tokens embedded."""


class ReturnedTexts(WrittenTexts):
    """Texts that were written on a machine without the journal, to be taken there with a result."""

    def __init__(self) -> None:
        self._known: dict[PromptKey, str] = {}
        self._new: list[tuple[PromptKey, str]] = []

    def get(self, key: PromptKey) -> str | None:
        """The text, where it was written in this process."""
        return self._known.get(key)

    def add(self, key: PromptKey, summary: str) -> None:
        """Keep a text until it is taken."""
        self._known[key] = summary
        self._new.append((key, summary))

    def taken(self) -> list[tuple[PromptKey, str]]:
        """What was written since this was asked last."""
        new, self._new = self._new, []
        return new


@dataclass(eq=False)
class IngestRecipe:
    """The parsers, models and transformations of an ingest in this process.

    Attributes:
        parsers: by their names in the report.
        models: of which one embeds.
        steps: transformations between parsers and guard.
        limits: what one file may cost.
        identities: of this version and the transformations, see `identities_of`.
        codes: of the columns, see `codes_of`.
        parse: makes the nodes of a document; None to have the parser do it.
        dry_run: nothing of it is stored.
        tell: hears of what is done, as it is done; None where nobody listens.
        stopped: why columns gave up, by name: every further document would fail the same way.
        has_embedded: the model has answered, so that several requests may be under way.
        returned: journals that are elsewhere, by their paths.
        columns: what `prepare` made of the parsers.
    """

    parsers: Mapping[str, SpanNodeParser]
    models: Models
    steps: Sequence[TransformComponent]
    limits: Limits
    identities: Sequence[str]
    codes: Mapping[str, str]
    parse: Parse | None = None
    dry_run: bool = False
    tell: Tell | None = None
    stopped: dict[str, str] = field(default_factory=dict)
    has_embedded: bool = False
    returned: Mapping[str, ReturnedTexts] = field(default_factory=dict)
    columns: Sequence[ColumnPipeline] = ()

    def prepare(self) -> None:
        """Make the pipelines, once."""
        if self.columns:
            return
        _warm_up(self.parsers.values())
        self.columns = [
            column_pipeline(
                name, self.codes[name], parser, self.models.embedding, self.steps, self.parse
            )
            for name, parser in self.parsers.items()
        ]

    def for_workers(self, *, is_remote: bool) -> IngestRecipe:
        """The same for other processes.

        Args:
            is_remote: they may be on other machines, which do not have the journals.
        """
        returned: dict[str, ReturnedTexts] = {}
        steps = [_returning(one, returned) for one in self.steps] if is_remote else self.steps
        return IngestRecipe(
            parsers=dict(self.parsers),
            models=replace(self.models, llm=None),
            steps=list(steps),
            limits=self.limits,
            identities=list(self.identities),
            codes=dict(self.codes),
            returned=returned,
        )


def _returning(step: TransformComponent, returned: dict[str, ReturnedTexts]) -> TransformComponent:
    """A step whose texts are brought to its journal, as that is on another machine."""
    if not (isinstance(step, ChunkWriter) and isinstance(step.journal, TextJournal)):
        return step
    path = str(step.journal.path)
    return step.model_copy(update={"journal": returned.setdefault(path, ReturnedTexts())})


def _warm_up(parsers: Iterable[SpanNodeParser]) -> None:
    """Load vocabularies and sentence rules now, or the parser that runs first would look slow."""
    for tokenizer in {parser.tokenizer for parser in parsers}:
        Packer("Warm up. Then run.", encoding=tokenizer).unit_starts(0, 1)
