"""Embedding beside the workers: a few actors hold the models, and all workers ask them.

A model that runs here takes memory of a graphics card, or of a machine, that not every worker can
have, and seconds to be loaded.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from rag_nodes.errors import EngineError
from rag_nodes.models.names import embedding_name, place_of
from rag_nodes.workers.words import LoggedWords

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rag_nodes.workers.transport import WorkerRecipe

STARTING = 300.0
"""Seconds in which actors must have started, or there is too little room for them."""

_PAUSE = 0.5
"""Seconds between two looks whether an actor is there again."""


class EmbedderLostError(Exception):
    """An embedder died of what this worker had asked it, and so of the files in hand."""


class ModelFacts(NamedTuple):
    """What one has to know of a model that is elsewhere.

    Attributes:
        name: of its vectors, as in collections.
        place: where texts go, see `place_of`.
        options: those of LlamaIndex's base class, and how many tokens a minute has.
    """

    name: str
    place: str
    options: dict[str, Any]


class EmbeddingActor:
    """What a process of Ray runs that embeds for workers.

    Args:
        recipe: of the workers, whose models it makes.
    """

    def __init__(self, recipe: WorkerRecipe) -> None:
        self._recipe = recipe
        self._words = LoggedWords(recipe.keys)
        self._models: Sequence[BaseEmbedding] = ()

    def ready(self) -> list[ModelFacts]:
        """Load the models.

        Raises:
            RagNodesError: one cannot be made here.
        """
        if not self._models:
            with suppress(FileNotFoundError):  # this machine need not have the documents
                os.chdir(self._recipe.folder or ".")
            with self._words.listening():
                self._models = self._own_recipe().make_models()
        return [_facts_of(model) for model in self._models]

    def _own_recipe(self) -> WorkerRecipe:
        import ray

        had_died = ray.get_runtime_context().was_current_actor_reconstructed
        return self._recipe.successor() if had_died else self._recipe

    def embed(self, number: int, texts: list[str], *, is_query: bool) -> Iterator[Any]:
        """The vectors of texts, and what was logged meanwhile.

        Before them comes None, upon which it is known who is asked about what.

        Args:
            number: of the model in the recipe.
            texts: as many as the model takes at once.
            is_query: they are a question each.
        """
        yield None
        self.ready()
        model = self._models[number]
        with self._words.listening():
            if is_query:
                vectors = [model.get_query_embedding(text) for text in texts]
            else:
                vectors = model.get_text_embedding_batch(texts)
        yield vectors, [*self._words.taken()]


def _facts_of(model: BaseEmbedding) -> ModelFacts:
    names = ("model_name", "embed_batch_size", "num_workers", "tokens_per_minute")
    options = {name: getattr(model, name, None) for name in names}
    return ModelFacts(embedding_name(model), place_of(model), options)


class Embedders:
    """The actors that embed, as a worker sees them.

    Args:
        actors: of `EmbeddingActor`, which Ray starts anew where they die; may be none.
        first: position of the one that is asked first; the others take turns after it.

    Attributes:
        failure: why the batch in hand cannot be done; None while it can.
    """

    def __init__(self, actors: Sequence[Any], first: int) -> None:
        self.failure: Exception | None = None
        self._actors, self._turns = actors, count(first)

    def models(self) -> list[BaseEmbedding]:
        """What stands in for the models; empty where nobody embeds but the worker.

        Raises:
            EngineError: an actor does not start.
            Exception: a model cannot be made there.
        """
        ready = [self._await(actor) for actor in self._actors]
        return [
            ActorEmbedding(self, number, one)
            for facts in ready[:1]
            for number, one in enumerate(facts)
        ]

    def ask(self, number: int, texts: list[str], *, is_query: bool = False) -> list[list[float]]:
        """The vectors of texts, waited for; arguments as of `EmbeddingActor.embed`.

        Raises:
            EmbedderLostError: the actor died of it.
            EngineError: no actor is there any more.
            Exception: what the model raised.
        """
        import ray

        while self.failure is None:
            actor = self._actors[next(self._turns) % len(self._actors)]
            method = actor.embed.options(
                num_returns="streaming", _generator_backpressure_num_objects=1
            )
            stream, has_begun = method.remote(number, texts, is_query=is_query), False
            try:
                ray.get(next(stream))
                has_begun = True
                vectors: list[list[float]]
                vectors, words = ray.get(next(stream))
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayError as error:
                if has_begun:
                    how = type(error).__name__
                    self.failure = EmbedderLostError(f"with the process that embeds: {how}")
                else:  # of what another worker had asked
                    self._await(actor)
            else:
                for one in words:
                    one.log()
                return vectors
        raise self.failure

    def _await(self, actor: Any) -> list[ModelFacts]:
        """Wait until an actor is there, and has its models; Ray would print a line every second.

        Raises:
            EngineError: it does not come, or not again; the `failure` from now on.
            Exception: a model cannot be made there.
        """
        import ray

        end = time.monotonic() + STARTING
        while self.failure is None:
            try:
                facts: list[ModelFacts] = ray.get(actor.ready.remote(), timeout=STARTING)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except ray.exceptions.RayError as error:
                is_starting = isinstance(error, ray.exceptions.ActorUnavailableError)
                if is_starting and time.monotonic() < end:
                    time.sleep(_PAUSE)
                    continue
                self.failure = EngineError(
                    f"a process that embeds died and did not come back ({type(error).__name__}); "
                    "look at free memory and graphics cards"
                )
            else:
                return facts
        raise self.failure


class ActorEmbedding(BaseEmbedding):
    """Stands in for a model that embedders hold: the same vectors under the same name.

    Args:
        embedders: are asked.
        number: of the model in their recipe.
        facts: of that model.
    """

    tokens_per_minute: int | None = None
    _embedders: Embedders = PrivateAttr()
    _number: int = PrivateAttr()
    _facts: ModelFacts = PrivateAttr()

    def __init__(self, embedders: Embedders, number: int, facts: ModelFacts) -> None:
        super().__init__(**facts.options)
        self._embedders, self._number, self._facts = embedders, number, facts

    @property
    def stands_for(self) -> str:
        """The name of the vectors, see `rag_nodes.models.names.embedding_name`."""
        return self._facts.name

    @property
    def place(self) -> str:
        """Where the model sends texts."""
        return self._facts.place

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._embedders.ask(self._number, texts)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._embedders.ask(self._number, [query], is_query=True)[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)
