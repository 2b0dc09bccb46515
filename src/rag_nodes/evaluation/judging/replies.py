"""An LLM whose replies are kept and counted, as LlamaIndex's evaluators are handed it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from pydantic import PrivateAttr

from rag_nodes.errors import CredentialsError, RagNodesError
from rag_nodes.models import failure_of
from rag_nodes.models.asking import GIVE_UP_AFTER, UnansweredError
from rag_nodes.models.names import answer_name, priced_name, written_as
from rag_nodes.models.prices import cost_of
from rag_nodes.query.answering import usage_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from llama_index.core.llms import LLM

    from rag_nodes.evaluation.cache import EvaluationCache
    from rag_nodes.models.prices import Prices


class Reply(NamedTuple):
    """What a model wrote.

    Attributes:
        text: without its role.
        read: tokens of the prompt.
        written: tokens of the text.
        estimated: counted here, because the server did not say.
    """

    text: str
    read: int
    written: int
    estimated: bool


@dataclass(slots=True)
class Spending:
    """What replies took, also where an earlier run has paid for them.

    Attributes:
        requests: to the model.
        read: tokens.
        written: tokens.
        estimated: some of them were counted here, because the server did not say.
    """

    requests: int = 0
    read: int = 0
    written: int = 0
    estimated: bool = False

    def add(self, reply: Reply) -> None:
        """One more reply."""
        self.requests += 1
        self.read += reply.read
        self.written += reply.written
        self.estimated = self.estimated or reply.estimated

    def as_dict(self, model: str, prices: Prices) -> dict[str, Any]:
        """Plain data, with US dollars; None for them where the price is unknown."""
        return {
            "requests": self.requests,
            "tokens_read": self.read,
            "tokens_written": self.written,
            "tokens_estimated": self.estimated,
            "dollars": cost_of(self.read, self.written, model, prices),
        }


class RecordedLLM(CustomLLM):
    """Asks another model, but never the same twice, and not one that is down.

    Args:
        inner: the model.
        cache: where replies are kept, under hashes of model and prompt.

    Attributes:
        name: of the model, in reports.
        spending: what was asked so far.
        failure: why the last request that failed did; "" where none has.
    """

    _inner: LLM = PrivateAttr()
    _cache: EvaluationCache = PrivateAttr()
    _spending: Spending = PrivateAttr(default_factory=Spending)
    _failures: int = PrivateAttr(default=0)
    _last: str = PrivateAttr(default="")

    def __init__(self, inner: LLM, cache: EvaluationCache) -> None:
        super().__init__()
        self._inner, self._cache = inner, cache

    @property
    def name(self) -> str:
        """Of the model, in reports."""
        return answer_name(self._inner)

    @property
    def priced_name(self) -> str:
        """What it is called in price lists."""
        return priced_name(self.name, self._inner)

    @property
    def spending(self) -> Spending:
        """What was asked so far."""
        return self._spending

    @property
    def failure(self) -> str:
        """Why the last request that failed did; "" where none has."""
        return self._last

    @property
    def metadata(self) -> LLMMetadata:
        """That of the model."""
        return self._inner.metadata

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """The model's reply to a chat.

        Raises:
            UnansweredError: it gave none, or requests kept failing.
        """
        prompt = [[str(message.role), message.content or ""] for message in messages]

        async def ask() -> Reply:
            response = await self._inner.achat(messages, **kwargs)
            return self._counted(response, response.message.content, prompt)

        reply = await self._reply(["chat", prompt], ask)
        return ChatResponse(message=ChatMessage(content=reply.text, role=MessageRole.ASSISTANT))

    async def acomplete(
        self,
        prompt: str,
        formatted: bool = False,  # noqa: FBT001, FBT002 -- LlamaIndex's signature
        **kwargs: Any,
    ) -> CompletionResponse:
        """The model's reply to a text; errors as in `achat`."""

        async def ask() -> Reply:
            response = await self._inner.acomplete(prompt, formatted=formatted, **kwargs)
            return self._counted(response, response.text, [["", prompt]])

        reply = await self._reply(["completion", prompt], ask)
        return CompletionResponse(text=reply.text)

    def complete(self, *_: Any, **__: Any) -> CompletionResponse:
        """Never asked: all is asynchronous.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError

    def stream_complete(self, *_: Any, **__: Any) -> Any:
        """Never asked: replies are read whole.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError

    async def _reply(self, asked: list[object], ask: Callable[[], Awaitable[Reply]]) -> Reply:
        plain = json.dumps([*written_as(self._inner), self.name, asked], default=str)
        key = hashlib.sha256(plain.encode()).digest()
        known = self._cache.get("replies", key)
        reply = Reply(*json.loads(known)) if known else await self._asked(ask)
        if not known:
            self._cache.put("replies", key, json.dumps(reply))  # at once: it is paid for
        self._spending.add(reply)
        return reply

    async def _asked(self, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        if self._failures >= GIVE_UP_AFTER:
            raise UnansweredError(f"not asked, because requests kept failing: {self._last}")
        try:
            reply = await ask()
        except Exception as error:
            # A model handed in by the user may raise anything; one reply is no reason to stop.
            raise self._failed(error) from error
        if not reply.text.strip():
            raise self._failed(ValueError("an empty reply"))
        self._failures = 0
        return reply

    def _failed(self, error: Exception) -> UnansweredError:
        if not isinstance(error, RagNodesError):
            error = failure_of(error, self._inner, name=self.name)
        self._last = str(error)
        # A refused key stays refused.
        refused = isinstance(error, CredentialsError)
        self._failures = GIVE_UP_AFTER if refused else self._failures + 1
        return UnansweredError(self._last)

    def _counted(self, response: Any, text: str | None, prompt: list[list[str]]) -> Reply:
        told = "\n".join(content for _, content in prompt)
        usage = usage_of(response, told, text or "", model=self.name, prices={})
        return Reply(text or "", usage.tokens_in, usage.tokens_out, usage.tokens_estimated)
