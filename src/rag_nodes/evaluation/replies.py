"""An LLM whose replies are kept and counted, as LlamaIndex's evaluators are handed it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

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
    from collections.abc import Sequence

    from llama_index.core.llms import LLM

    from rag_nodes.evaluation.cache import EvaluationCache
    from rag_nodes.models.prices import Prices


class RecordedLLM(CustomLLM):
    """Asks another model, but never the same twice, and not one that is down.

    Args:
        inner: the model.
        cache: where replies are kept, under hashes of model and prompt.

    Attributes:
        failure: why the last request that failed did; "" where none has.
    """

    failure: str = ""
    _inner: LLM = PrivateAttr()
    _cache: EvaluationCache = PrivateAttr()
    _usages: list[tuple[int, int, bool]] = PrivateAttr(default_factory=list)
    _failures: int = PrivateAttr(default=0)

    def __init__(self, inner: LLM, cache: EvaluationCache) -> None:
        super().__init__()
        self._inner, self._cache = inner, cache

    @property
    def name(self) -> str:
        """Of the model, in reports."""
        return answer_name(self._inner)

    @property
    def metadata(self) -> LLMMetadata:
        """That of the model."""
        return self._inner.metadata

    def spending(self, prices: Prices) -> dict[str, Any]:
        """What was asked so far, also where an earlier run paid for it; dollars None if unknown."""
        read, written = (sum(one[at] for one in self._usages) for at in (0, 1))
        return {
            "requests": len(self._usages),
            "tokens_read": read,
            "tokens_written": written,
            "tokens_estimated": any(estimated for _, _, estimated in self._usages),
            "dollars": cost_of(read, written, priced_name(self.name, self._inner), prices),
        }

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """The model's reply to a chat.

        Raises:
            UnansweredError: it gave none, or requests kept failing.
        """
        prompt = [[str(one.role), one.content or ""] for one in messages]
        text = await self._reply("chat", prompt, messages, **kwargs)
        return ChatResponse(message=ChatMessage(content=text, role=MessageRole.ASSISTANT))

    async def acomplete(self, prompt: str, *args: Any, **kwargs: Any) -> CompletionResponse:
        """The model's reply to a text; errors as in `achat`."""
        text = await self._reply("completion", [["", prompt]], prompt, *args, **kwargs)
        return CompletionResponse(text=text)

    def complete(self, *_: Any, **__: Any) -> CompletionResponse:
        """Never asked: all is asynchronous.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError

    def stream_complete(self, *_: Any, **__: Any) -> Any:
        """Never asked: replies are read whole; errors as in `complete`."""
        raise NotImplementedError

    async def _reply(self, kind: str, prompt: list[list[str]], *args: Any, **kwargs: Any) -> str:
        plain = json.dumps([*written_as(self._inner), self.name, [kind, prompt]], default=str)
        key = hashlib.sha256(plain.encode()).digest()
        known = self._cache.get("replies", key)
        if known:
            text, *usage = json.loads(known)
        else:
            text, *usage = await self._asked(kind, prompt, *args, **kwargs)
            self._cache.put("replies", key, json.dumps([text, *usage]))  # at once: it is paid for
        self._usages.append(tuple(usage))
        return str(text)

    async def _asked(
        self, kind: str, prompt: list[list[str]], *args: Any, **kwargs: Any
    ) -> tuple[str, int, int, bool]:
        """What the model wrote, tokens of both, and whether they were counted here."""
        if self._failures >= GIVE_UP_AFTER:
            raise UnansweredError(f"not asked, because requests kept failing: {self.failure}")
        response: Any
        try:
            if kind == "chat":
                response = await self._inner.achat(*args, **kwargs)
                text = (response.message.content or "").strip() and response.message.content
            else:
                response = await self._inner.acomplete(*args, **kwargs)
                text = (response.text or "").strip() and response.text
        except Exception as error:
            # A model handed in by the user may raise anything; one reply is no reason to stop.
            raise self._failed(error) from error
        if not text:
            raise self._failed(ValueError("an empty reply"))
        self._failures = 0
        told = "\n".join(content for _, content in prompt)
        usage = usage_of(response, told, text, model=self.name, prices={})
        return text, usage.tokens_in, usage.tokens_out, usage.tokens_estimated

    def _failed(self, error: Exception) -> UnansweredError:
        if not isinstance(error, RagNodesError):
            error = failure_of(error, self._inner, name=self.name)
        self.failure = str(error)
        # A refused key stays refused.
        refused = isinstance(error, CredentialsError)
        self._failures = GIVE_UP_AFTER if refused else self._failures + 1
        return UnansweredError(self.failure)
