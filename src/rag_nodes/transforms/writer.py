"""A model asked once about every chunk: side by side, kept as it arrives, and what it cost."""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, Self
from weakref import WeakValueDictionary

from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.llms import LLM
from llama_index.core.schema import BaseNode, TextNode, TransformComponent
from pydantic import ConfigDict, Field, PrivateAttr

from rag_nodes.models.asking import GIVE_UP_AFTER, Asker, UnansweredError, awaited
from rag_nodes.models.names import priced_name
from rag_nodes.models.pacing import RequestWindow
from rag_nodes.models.prices import NOTHING_SPENT, Spent, spent_on
from rag_nodes.text.sentences import sentence_spans
from rag_nodes.transforms.journal import SummaryKey, WrittenTexts

_log = logging.getLogger(__name__)


class Noted(NamedTuple):
    """Metadata in which stand a text about a chunk, why there is none, and who wrote it.

    `kind` is "" where only a model writes.
    """

    text: str
    error: str
    kind: str = ""


class ChunkWriter(TransformComponent):
    """Has a model write something about every chunk, and notes it in the chunk's metadata.

    Chunks are written about side by side; one whose request fails stays as it is and says why.
    Nodes are changed in place, as LlamaIndex's extractors do. Requests are repeated by the model
    alone: `OpenAIServerLLM` does so for its `retry_seconds`. After eight failures in a row, or a
    refused key, the other nodes of the call are not asked, and later calls ask only until the
    first failure.

    A subclass says what is asked, `_prompts`, and where the answer is noted, `noted`.

    Args:
        llm: any LlamaIndex model. Its own limit on the length of an answer should be `max_tokens`.
        knowledge_base: what the documents are about, for the prompt.
        max_tokens: tokens of an answer; the model is asked to keep to them.
        embed: put what was written in front of the text that is embedded. The LLM that answers
            questions never sees it.
        concurrency: requests under way at the same time.
        requests_per_minute: requests started in any minute at most, those included that our own
            models repeat, or a window that counts other requests as well; None for no limit.
        journal: where answers are kept as they arrive and looked up before asking; what reads the
            same is asked once.
        on_done: called after every node.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    prompt_version: ClassVar[int] = 1
    """Raised when the prompt changes: caches follow."""
    noted: ClassVar[Noted]

    llm: LLM | None = Field(default=None, exclude=True, repr=False)
    knowledge_base: str = ""
    max_tokens: int = Field(default=150, ge=16)
    embed: bool = False
    concurrency: int = Field(default=4, ge=1, exclude=True)
    requests_per_minute: Annotated[float, Field(gt=0)] | RequestWindow | None = Field(
        default=None, exclude=True
    )
    journal: WrittenTexts | None = Field(default=None, exclude=True, repr=False)
    on_done: Callable[[], None] | None = Field(default=None, exclude=True, repr=False)
    _window: RequestWindow | None = PrivateAttr(default=None)
    _failures: int = PrivateAttr(default=0)
    _spent: Spent = PrivateAttr(default=NOTHING_SPENT)
    _rehearses: bool = PrivateAttr(default=False)
    _turns: WeakValueDictionary[Any, asyncio.Lock] = PrivateAttr(
        default_factory=WeakValueDictionary
    )

    def model_post_init(self, context: Any, /) -> None:
        """Open one window for all calls."""
        super().model_post_init(context)
        limit = self.requests_per_minute
        self._window = RequestWindow(limit) if isinstance(limit, float) else limit

    def __reduce__(self) -> tuple[Any, ...]:
        """Made anew of its options: in another process nothing was asked or spent yet."""
        return _made, (type(self), dict(self.__dict__))

    @classmethod
    def class_name(cls) -> str:
        """Name of the class: part of LlamaIndex's cache key."""
        return cls.__name__

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Plain data that decides what is written; never the model itself, nor a key."""
        own = {"model": self.model_name, "prompt_version": self.prompt_version}
        return {**super().to_dict(**kwargs), **own}

    @property
    def model_name(self) -> str:
        """Who writes."""
        return self.llm.metadata.model_name if self.llm else ""

    @property
    def priced_name(self) -> str:
        """Who writes, and for another server than OpenAI's where."""
        return priced_name(self.model_name, self.llm)

    @property
    def spent(self) -> Spent:
        """Requests, tokens and US dollars so far; what the journal knew costs nothing."""
        return self._spent

    def begin_spent(self) -> None:
        """Ask nothing for a minute where requests are limited: another may have had it all."""
        if self._window:
            self._window.spend()

    def rehearsal(self) -> Self:
        """The same, which asks nobody: every answer is as long as it may be, and is counted."""
        copy = self.model_copy(update={"on_done": None})
        copy._spent, copy._rehearses = NOTHING_SPENT, True  # noqa: SLF001 -- of the same class
        return copy

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """The nodes with what was written; like `acall`, also where an event loop runs already."""
        return awaited(self.acall(nodes, **kwargs), threads=self.concurrency)

    async def acall(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> list[BaseNode]:
        """The nodes with what was written about them, in their order.

        Raises:
            ConfigurationError: the journal cannot be written.
        """
        found = [node for node in nodes if isinstance(node, TextNode) and node.text.strip()]
        if self.llm is None:
            self._without_model(found)
            return list(nodes)
        # Whoever failed to the end of the last call is asked again, but once.
        asker = Asker(self.llm, self._window, min(self._failures, GIVE_UP_AFTER - 1))
        prompts = iter(self._prompts(found))
        await asyncio.gather(*(self._work(asker, prompts) for _ in range(self.concurrency)))
        self._failures = asker.failures
        return list(nodes)

    @abstractmethod
    def _prompts(self, nodes: Sequence[TextNode]) -> Iterable[tuple[TextNode, str]]:
        """Each node with what the model reads about it."""

    def _without_model(self, nodes: Sequence[TextNode]) -> None:
        """What is noted where there is no model: nothing, unless a subclass says so."""

    async def _work(self, asker: Asker, prompts: Iterator[tuple[TextNode, str]]) -> None:
        """Write about nodes until there are none; every worker takes the next one."""
        for node, prompt in prompts:
            key = SummaryKey.of(self.model_name, prompt)
            # Who asks the same a moment later, for another parser too, finds what was written.
            turn = self._turns.setdefault((asyncio.get_running_loop(), key), asyncio.Lock())
            try:
                async with turn:
                    facts = {self.noted.text: await self._text(asker, key, prompt)}
            except UnansweredError as failure:
                _log.info("nothing written about %s: %s", node.node_id, failure)
                self._note(node, {self.noted.error: str(failure)})
            else:
                kind = {self.noted.kind: "generated"} if self.noted.kind else {}
                self._note(node, facts | kind)

    async def _text(self, asker: Asker, key: SummaryKey, prompt: str) -> str:
        text = self.journal.get(key) if self.journal else None
        if text is None:
            text = await self._asked(asker, prompt)
            if self.journal:
                self.journal.add(key, text)  # at once: what is paid for must not wait
        return text

    async def _asked(self, asker: Asker, prompt: str) -> str:
        longest = CompletionResponse(text=" ".join(["text"] * self.max_tokens))
        answer = longest if self._rehearses else await asker.ask(prompt)
        told = answer.additional_kwargs
        paid = spent_on(told, prompt, answer.text, model=self.priced_name)
        self._spent = Spent.of([self._spent, paid])
        return whole_sentences(answer)

    def _note(self, node: TextNode, facts: Mapping[str, str]) -> None:
        text, error, kind = self.noted
        keys = [text, kind, error] if kind else [text, error]
        note(node, keys, facts, embedded=[text] if self.embed else [])
        if self.on_done:
            self.on_done()


def _made(kind: type[ChunkWriter], options: dict[str, Any]) -> ChunkWriter:
    return kind(**options)


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


def fenced(text: str, closing: str) -> str:
    """A text that cannot step out of its markers in a prompt."""
    return text.replace(closing, " ".join(closing))


def whole_sentences(answer: CompletionResponse) -> str:
    """The answer on one line, without a last sentence that the limit cut off."""
    text = " ".join(answer.text.split())
    if answer.additional_kwargs.get("finish_reason") == "length":
        sentences = sentence_spans(text)
        if len(sentences) > 1:
            return text[: sentences[-1].start].rstrip()
    return text
