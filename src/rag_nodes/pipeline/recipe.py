"""What all units of an ingest share, here and in other processes."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.pipeline.build import column_pipeline
from rag_nodes.pipeline.shelf import Shelf, made_parser, made_transformation, opened_journals
from rag_nodes.pipeline.written_models import ModelRecipe, models_of, names_of, shared_by
from rag_nodes.readers import Limits
from rag_nodes.text.packing import Packer
from rag_nodes.transforms import WrittenTexts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from llama_index.core.schema import TransformComponent

    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline.build import ColumnPipeline, Parse
    from rag_nodes.pipeline.report import Stage
    from rag_nodes.transforms.summaries import SummaryKey

    Tell = Callable[[Stage, str, int, int], None]
    """Takes what was just done: stage, file or parser, how many chunks, tokens embedded."""


class ReturnedTexts(WrittenTexts):
    """Texts that were written on a machine without the journal, to be taken there with a result."""

    def __init__(self) -> None:
        self._known: dict[SummaryKey, str] = {}
        self._new: list[tuple[SummaryKey, str]] = []

    def get(self, key: SummaryKey) -> str | None:
        """The text, where it was written in this process."""
        return self._known.get(key)

    def add(self, key: SummaryKey, summary: str) -> None:
        """Keep a text until it is taken."""
        self._known[key] = summary
        self._new.append((key, summary))

    def taken(self) -> list[tuple[SummaryKey, str]]:
        """What was written since this was asked last."""
        new, self._new = self._new, []
        return new


class RecipeColumn(NamedTuple):
    """One parser of an ingest.

    Attributes:
        name: in the report.
        pipeline: cuts documents and embeds chunks.
        code: part of the version of every document in it.
    """

    name: str
    pipeline: ColumnPipeline
    code: str


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
    columns: Sequence[RecipeColumn] = ()

    def prepare(self) -> None:
        """Make the pipelines, once."""
        if self.columns:
            return
        _warm_up(self.parsers.values())
        self.columns = [
            RecipeColumn(
                name,
                column_pipeline(parser, self.models.embedding, self.steps, self.parse),
                self.codes[name],
            )
            for name, parser in self.parsers.items()
        ]

    @property
    def made(self) -> IngestRecipe:
        """Itself."""
        return self

    def written(self, workers: int, *, is_elsewhere: bool) -> WrittenRecipe:
        """The same for other processes: plain data, and the keys of models apart.

        Args:
            workers: how many there are: what an account may ask in a minute is divided.
            is_elsewhere: they may be on other machines.

        Raises:
            ConfigurationError: a parser, model or transformation cannot be made of plain data, or
                not in another process; says what to do instead.
        """
        shelf = Shelf(self.models.embedding)
        parsers = {name: shelf.parser(one) for name, one in self.parsers.items()}
        steps = [shelf.transformation(one) for one in self.steps]
        models = ModelRecipe(
            models=shelf.plain(),
            names=names_of(self.models),
            llms=shelf.plain_llms(),
            folder="" if is_elsewhere else str(Path.cwd()),
            keys=shelf.keys(),
        )
        return WrittenRecipe(
            models=models.shared_by(workers),
            parsers=parsers,
            steps=shared_by(steps, workers),
            limits=asdict(self.limits),
            identities=list(self.identities),
            codes=dict(self.codes),
            is_elsewhere=is_elsewhere,
        )


@dataclass(eq=False)
class WrittenRecipe:
    """An `IngestRecipe` of which every process makes its own.

    Attributes:
        models: embedding models and LLMs, their keys apart.
        parsers: by name: class, options, and which of them are models.
        steps: class and options of each transformation, its LLMs by number, and its journal.
        limits: what one file may cost.
        identities: as of an `IngestRecipe`.
        codes: as of an `IngestRecipe`.
        is_elsewhere: processes may be on other machines, which do not have the journals.
    """

    models: ModelRecipe
    parsers: Mapping[str, Mapping[str, Any]]
    steps: Sequence[Mapping[str, Any]]
    limits: Mapping[str, Any]
    identities: Sequence[str]
    codes: Mapping[str, str]
    is_elsewhere: bool

    @property
    def keys(self) -> Mapping[str, Any]:
        """What nobody is to see."""
        return self.models.keys

    def successor(self) -> WrittenRecipe:
        """The recipe of a process in the place of one that died."""
        return replace(self, models=self.models.successor())

    def prepare(self) -> None:
        """Make parsers, models and transformations, once in a process.

        Raises:
            ConfigurationError: they cannot be made here.
            MissingPackageError: a package is missing here.
        """
        if self.models.folder:
            os.chdir(self.models.folder)
        embeddings, llms = self.models.make_models(), self.models.make_llms()
        paths = [path for one in self.steps if (path := one["journal"])]
        returned = {path: ReturnedTexts() for path in paths} if self.is_elsewhere else {}
        self.opened = ExitStack()  # as long as this process
        journals = opened_journals(paths, returned, self.opened)
        again = self.models.is_successor
        self.made = IngestRecipe(
            parsers={name: made_parser(one, embeddings) for name, one in self.parsers.items()},
            models=models_of(embeddings, self.models.names),
            steps=[made_transformation(s, llms, journals, is_successor=again) for s in self.steps],
            limits=Limits(**self.limits),
            identities=self.identities,
            codes=self.codes,
            returned=returned,
        )
        self.made.prepare()


def _warm_up(parsers: Iterable[SpanNodeParser]) -> None:
    """Load vocabularies and sentence rules now, or the parser that runs first would look slow."""
    for tokenizer in {parser.tokenizer for parser in parsers}:
        Packer("Warm up. Then run.", encoding=tokenizer).unit_starts(0, 1)
