"""Question to packed sources: everything before a model writes, for all ways of answering.

Each question is embedded once, however many engines ask it and however soon it is asked again.
"""

from __future__ import annotations

import time
from collections import OrderedDict, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.core.errors import ConfigurationError, RagNodesError
from rag_nodes.core.processes import unless_interrupted
from rag_nodes.core.spelling import quoted
from rag_nodes.models import failure_of
from rag_nodes.query.options import asks_for_steps
from rag_nodes.query.prompts import fill
from rag_nodes.query.reading import Packed, pack
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rag_nodes.models import Models
    from rag_nodes.query.options import QueryOptions
    from rag_nodes.query.retriever import RagNodesRetriever
    from rag_nodes.store import SearchMode


_HOUR_SECONDS = 3600.0
_CAPACITY = 256
"""Questions remembered; the one not asked for longest goes first."""


class QuestionVector(NamedTuple):
    """The embedding of a question.

    Attributes:
        vector: None where the search needs none.
        cached: True where no model was asked for it.
        tokens: tokens a model was given for it, counted here; 0 where it runs offline.
    """

    vector: list[float] | None
    cached: bool = False
    tokens: int = 0


class QuestionVectors:
    """Embeds questions and remembers the vectors for a while; safe to share by threads.

    Args:
        ttl_hours: how long a vector is remembered; 0 for not at all.
        size: questions remembered at most.
        clock: seconds that only ever grow.
    """

    def __init__(
        self,
        *,
        ttl_hours: float = 24.0,
        size: int = _CAPACITY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ttl = ttl_hours * _HOUR_SECONDS
        self._size = size
        self._clock = clock
        self._lock = Lock()
        self._known: OrderedDict[tuple[str, str], tuple[float, list[float]]] = OrderedDict()

    def get(self, models: Models, question: str) -> QuestionVector:
        """The vector of a question.

        Raises:
            ModelError: the embedding model failed.
            CredentialsError: its server refused the key.
            CancelledError: see `interruptible`; nobody waits for the model any longer.
        """
        if remembered := self._remembered(models, question):
            return remembered
        try:
            embed = partial(models.embedding.get_query_embedding, question)
            offline = models.embeds_offline
            vector = embed() if offline else unless_interrupted(embed, "the question")
        except Exception as error:
            raise translated(error, models.embedding, models.embedding_name) from error
        return self._remember(models, question, vector)

    async def aget(self, models: Models, question: str) -> QuestionVector:
        """Like `get`, without blocking the event loop."""
        if remembered := self._remembered(models, question):
            return remembered
        try:
            vector = await models.embedding.aget_query_embedding(question)
        except Exception as error:
            raise translated(error, models.embedding, models.embedding_name) from error
        return self._remember(models, question, vector)

    def _remembered(self, models: Models, question: str) -> QuestionVector | None:
        key = (models.embedding_name, question)
        with self._lock:
            since, vector = self._known.get(key, (0.0, None))
            if vector is None:
                return None
            if self._clock() - since >= self._ttl:
                del self._known[key]
                return None
            self._known.move_to_end(key)
            return QuestionVector(vector, cached=True)

    def _remember(self, models: Models, question: str, vector: list[float]) -> QuestionVector:
        if self._ttl > 0:
            with self._lock:
                self._known[models.embedding_name, question] = (self._clock(), vector)
                while len(self._known) > self._size:
                    self._known.popitem(last=False)
        asked = 0 if models.embeds_offline else count_tokens(question)
        return QuestionVector(vector, tokens=asked)


def translated(error: Exception, model: object, name: str) -> RagNodesError:
    """Any model of LlamaIndex can be plugged in, and each raises its provider's errors."""
    return error if isinstance(error, RagNodesError) else failure_of(error, model, name=name)


_MARGIN = 0.05
"""Share of the window kept free: a model's own tokenizer counts a little differently."""


class Clock:
    """Wall-clock seconds per stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] += time.perf_counter() - started


@dataclass(frozen=True, slots=True)
class Prepared:
    """A question with what will be read for it.

    Its models have the prompts that held when it was asked; `prompt` is "" where no LLM is. Budget,
    mode, widening and unsearched are those of `Answer`; the clock has timed the stages so far.
    """

    question: str
    models: Models
    packed: Packed
    prompt: str
    budget: int | None
    mode: SearchMode
    widening: str
    embedded: QuestionVector
    clock: Clock
    unsearched: int = 0


def prepared(
    retriever: RagNodesRetriever,
    question: str,
    embedded: QuestionVector,
    models: Models,
    clock: Clock,
) -> Prepared:
    """Retrieve and pack for a question that is embedded; `models` answers, by its prompts."""
    options = retriever.options
    widened = options.factor > 1 and asks_for_steps(question, options.step_words)
    budget = options.tokens(widened=widened)
    with clock("retrieve"):
        unsearched = retriever.unsearched()
        hits = retriever.find(question, embedded.vector, widened=widened)
        all_wanted = options.top_k is not None or options.budget is None
        packed, prompt = pack(hits, budget, all_wanted=all_wanted), ""
        if models.llm is not None and packed.sources and not options.retrieval_only:
            room = _room(models, options)
            prompt = fill(models.prompt, packed.sources, question)
            while (over := count_tokens(prompt) - room) > 0:
                budget = packed.tokens - over
                if budget < 1:
                    raise _no_room(models, room)
                packed = pack(hits, budget, all_wanted=all_wanted)
                prompt = fill(models.prompt, packed.sources, question)
    widening = _widening(options, budget) if widened else ""
    mode = retriever.mode
    return Prepared(
        question, models, packed, prompt, budget, mode, widening, embedded, clock, unsearched
    )


def check_question(question: str) -> None:
    """Refuse a question that asks nothing.

    Raises:
        ConfigurationError: it is blank, or no text.
    """
    if not isinstance(question, str):
        raise ConfigurationError(f"the question must be a text, not {quoted(question)}")
    if not question.strip():
        raise ConfigurationError("the question is empty: type what you want to know")


def given(vector: Sequence[float] | QuestionVector | None) -> QuestionVector | None:
    """An embedding that a caller brings along; None where there is none."""
    if isinstance(vector, QuestionVector):
        return vector
    return QuestionVector(list(vector)) if vector else None


def _widening(options: QueryOptions, budget: int | None) -> str:
    """Return in words how much more is read for a question that asks for steps; "" for no more."""
    parts = []
    if options.budget is not None and budget is not None and budget > options.budget:
        parts.append(f"budget {budget} instead of {options.budget}")
    if options.budget is None or options.top_k is not None:
        default, more = (options.chunks(widened=widened) for widened in (False, True))
        parts += [f"{more} chunks instead of {default}"] if more > default else []
    return f"{' and '.join(parts)}: asks for steps" if parts else ""


def _room(models: Models, options: QueryOptions) -> int:
    """Tokens the whole prompt may take: the window without the longest answer."""
    about = models.llm.metadata if models.llm is not None else None
    if about is None:
        return 0
    window = options.context_window or about.context_window
    system_tokens = count_tokens(models.system_prompt)
    return int(window * (1 - _MARGIN)) - max(about.num_output, 0) - system_tokens


def _no_room(models: Models, room: int) -> ConfigurationError:
    return ConfigurationError(
        f"{models.answer_name}: {max(room, 0)} tokens are left for prompt and question, and they "
        "take all of it; raise context_window if the model has more, lower max_output_tokens, or "
        "shorten the prompt"
    )
