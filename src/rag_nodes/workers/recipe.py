"""What a worker is made of: plain data, so that it can be made anywhere.

Never pickled parsers, models or settings: a pickle of them has a key in it, or lacks one that the
worker then takes from wherever it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from rag_nodes.parsers import as_parser
from rag_nodes.readers import Limits
from rag_nodes.store import ServerOptions, open_store
from rag_nodes.workers.shelf import Shelf, made_parser, made_transformation
from rag_nodes.workers.written_models import ModelRecipe, models_of, names_of, shared_by

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import TransformComponent

    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.store import Store
    from rag_nodes.store.options import ServerAddress
    from rag_nodes.transforms import WrittenTexts


class MadeParts(NamedTuple):
    """What a recipe gives; as for `rag_nodes.pipeline.ingest`."""

    parsers: Mapping[str, SpanNodeParser]
    models: Models
    transformations: Sequence[TransformComponent]
    limits: Limits
    prices: Prices


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe(ModelRecipe):
    """How to make a worker that ingests; for models and keys see `ModelRecipe`.

    Attributes:
        parsers: by name: class, options, and which of them are models, by field.
        transformations: class and options of each, its LLMs by their numbers, and its journal.
        corpus: name of the document set.
        limits: what one file may cost.
        prices: of embedding models.
        identities: of the transformations, see `rag_nodes.pipeline.identity.identities_of`.
        codes: of the columns, see `rag_nodes.pipeline.identity.codes_of`.
        store: location of a store in which workers write themselves; None where they send.
        store_options: of that server, see `rag_nodes.store.ServerOptions`.
    """

    trade: ClassVar[str] = "rag_nodes.workers.work:INGESTING"

    parsers: Mapping[str, Mapping[str, Any]]
    transformations: Sequence[Mapping[str, Any]]
    corpus: str
    limits: Mapping[str, Any]
    prices: Mapping[str, Sequence[float]]
    identities: Sequence[str]
    codes: Mapping[str, str]
    store: str | None = None
    store_options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(  # noqa: PLR0913 - what a recipe is made of, by name
        cls,
        parsers: Mapping[str, object],
        models: Models,
        *,
        transformations: Sequence[TransformComponent] = (),
        corpus: str = "default",
        limits: Limits | None = None,
        prices: Prices | None = None,
        address: ServerAddress | None = None,
        identities: Sequence[str] = (),
        codes: Mapping[str, str] = MappingProxyType({}),
    ) -> Self:
        """Parsers, models and the rest, written down; for arguments see `Recipe` and `ingest`.

        Raises:
            ConfigurationError: a parser, model or transformation cannot be made of plain data, or
                not elsewhere; says what to do instead.
        """
        shelf = Shelf(models.embedding)
        keys = {"store": address.key} if address and address.key else {}
        made = {name: shelf.parser(as_parser(one)) for name, one in parsers.items()}
        steps = [shelf.transformation(one) for one in transformations]
        return cls(
            parsers=made,
            models=shelf.plain(),
            names=names_of(models),
            transformations=steps,
            llms=shelf.plain_llms(),
            corpus=corpus,
            limits=asdict(limits or Limits()),
            prices={name: list(price) for name, price in (prices or {}).items()},
            folder=str(Path.cwd()),
            identities=list(identities),
            codes=dict(codes),
            store=address.url if address else None,
            store_options=address.options.model_dump() if address else {},
            keys={**keys, **shelf.keys()},
        )

    @property
    def journals(self) -> tuple[str, ...]:
        """Files in which is kept what LLMs write."""
        given = (one["journal"] for one in self.transformations)
        return tuple(dict.fromkeys(path for path in given if path))

    def shared_by(self, workers: int, *, embedding: int | None = None) -> Self:
        """As of every recipe, transformations included."""
        shared = ModelRecipe.shared_by(self, workers, embedding=embedding)
        return replace(shared, transformations=shared_by(self.transformations, workers))

    def make(
        self,
        made: Sequence[BaseEmbedding] = (),
        journals: Mapping[str, WrittenTexts] = MappingProxyType({}),
    ) -> MadeParts:
        """Parsers, models and the rest, equal to those that were written down.

        Args:
            made: what stands in for the embedding models, which then are not made.
            journals: in which is kept what LLMs write, by their paths, see `journals`.

        Raises:
            ConfigurationError: they cannot be made here.
            MissingPackageError: a package is missing here.
        """
        made = made or self.make_models()
        parsers = {name: made_parser(one, made) for name, one in self.parsers.items()}
        llms = self.make_llms()
        steps = [
            made_transformation(one, llms, journals, is_successor=self.is_successor)
            for one in self.transformations
        ]
        prices = {name: (price[0], price[1]) for name, price in self.prices.items()}
        return MadeParts(parsers, models_of(made, self.names), steps, Limits(**self.limits), prices)

    def open_store(self) -> Store | None:
        """The store to write in; None where the driver writes."""
        if self.store is None:
            return None
        key = self.keys.get("store")
        options = ServerOptions.of(self.store_options)
        return open_store(self.store, key.get_secret_value() if key else None, options)
