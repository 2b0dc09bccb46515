"""Messages in, an answer of an OpenAI or compatible chat model out, whole or streamed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from llama_index.llms.openai.utils import (
    is_chatcomp_api_supported,
    is_function_calling_model,
    is_json_schema_supported,
    openai_modelname_to_contextsize,
)
from llama_index.llms.openai_like import OpenAILike
from pydantic import Field

from rag_nodes.core.errors import ConfigurationError, ModelResponseError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.settings import OPENAI_API_BASE
from rag_nodes.models.openai.client import ServerModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.base.llms.types import (
        ChatMessage,
        ChatResponse,
        ChatResponseAsyncGen,
        ChatResponseGen,
    )

SMALLEST_WINDOW = 8192
"""Context window assumed of a model that LlamaIndex has not heard of."""


@checks_keywords
class OpenAIServerLLM(ServerModel, OpenAILike):  # type: ignore[misc]
    """Chat model of OpenAI or any compatible server, by any name the server knows.

    Every fault, a stream that breaks off included, ends in one of our errors. Async calls run in
    threads.

    Args:
        model: as the server knows it.
        temperature: 0 to 2.
        max_tokens: longest answer, in the model's tokens.
        context_window: tokens of prompt and answer together, prompts are packed by it;
            None for what LlamaIndex knows of the model, or a cautious guess.
        values: options of `ServerModel`, and of LlamaIndex's class; there is no endpoint but that
            for chats.

    Raises:
        ConfigurationError: the model is none that chats.

    Examples:
        >>> from rag_nodes.models.openai.llm import OpenAIServerLLM
        >>> OpenAIServerLLM(model="llama3", api_base="http://127.0.0.1:11434/v1").place
        'http://127.0.0.1:11434/v1'
    """

    context_window: int = Field(default=SMALLEST_WINDOW, ge=1)

    def __init__(
        self,
        *,
        model: str = "gpt-4o-mini",
        api_base: str | None = None,
        temperature: float = 0.2,
        max_tokens: int = 1024,
        context_window: int | None = None,
        **values: Any,
    ) -> None:
        if not is_chatcomp_api_supported(model):
            raise ConfigurationError(
                f"model '{model}' does not chat; choose another, such as gpt-5"
            )
        at_openai = api_base in (None, OPENAI_API_BASE)
        defaults = {
            "is_function_calling_model": at_openai and is_function_calling_model(model),
            "should_use_structured_outputs": at_openai and is_json_schema_supported(model),
        }
        super().__init__(
            model=model,
            api_base=api_base,
            temperature=temperature,
            max_tokens=max_tokens,
            context_window=known_window(model) if context_window is None else context_window,
            **{**defaults, **values, "is_chat_model": True, "reuse_client": True},
        )

    @classmethod
    def class_name(cls) -> str:
        """Name LlamaIndex files this under; its own classes are `openai_llm` and `OpenAILike`."""
        return "rag_nodes_openai_llm"

    @property
    def _asked_for(self) -> str:
        return self.model

    def _use_chat_completions(self, kwargs: dict[str, Any]) -> bool:
        """Compatible servers rarely have the other endpoint, and it is not checked here."""
        del kwargs
        return True

    def _get_model_kwargs(self, **kwargs: Any) -> dict[str, Any]:
        """Return the arguments sent with messages; those of a call override the model's options."""
        body = {**super()._get_model_kwargs(**kwargs), **kwargs}
        if self.api_base in (None, OPENAI_API_BASE):
            # OpenAI's newer models know only the second name, most compatible servers the first.
            if (limit := body.pop("max_tokens", None)) is not None:
                body.setdefault("max_completion_tokens", limit)
            # Other servers may refuse to be asked for figures; their tokens are counted here.
            if body.get("stream"):
                body.setdefault("stream_options", {"include_usage": True})
        return body

    def _chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        self._wait_for_limits(messages)
        with self._asking():
            answer: ChatResponse = super()._chat(messages, **kwargs)
            reason = _ended(answer)
            if not (answer.message.content or "").strip() and not _calls_tools(answer):
                raise self._nothing(reason)
            answer.additional_kwargs["finish_reason"] = reason
        return answer

    def _stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Each piece with everything before it; complete only if the server says it finished."""
        text, reason, acts = "", None, False
        self._wait_for_limits(messages)
        with self._asking():
            for answer in super()._stream_chat(messages, **kwargs):
                text = answer.message.content or ""
                acts = acts or _calls_tools(answer)
                reason = _ended(answer) or reason
                if answer.delta or acts or (text and (answer.additional_kwargs or reason)):
                    answer.additional_kwargs["finish_reason"] = reason
                    yield answer
        if reason is None and (text or acts):
            raise ModelResponseError(
                f"{self._here}: the answer is incomplete after {len(text)} characters; try again"
            )
        if not text.strip() and not acts:
            raise self._nothing(reason)

    def _wait_for_limits(self, messages: Sequence[ChatMessage]) -> None:
        if self._window:
            texts = [message.content or "" for message in messages]
            self._window.acquire_for(texts, self.max_tokens or 0)

    async def _achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return await asyncio.to_thread(self._chat, messages, **kwargs)

    async def _astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        return _in_threads(self._stream_chat(messages, **kwargs))

    def _nothing(self, reason: str | None) -> ModelResponseError:
        remedies = {
            None: "check that api_base names the right server, it usually ends in /v1",
            "content_filter": "the server's content filter stopped it",
            "length": "raise max_output_tokens, the model used all of them before answering",
        }
        remedy = remedies.get(reason, "try again or choose another model")
        return ModelResponseError(f"{self._here}: an empty answer; {remedy}")


def known_window(model: str) -> int:
    """Context window of a model in tokens; `SMALLEST_WINDOW` where it is not known.

    Variants that LlamaIndex does not list are known by the longest name they begin with.

    Examples:
        >>> from rag_nodes.models.openai.llm import known_window
        >>> known_window("gpt-4o-mini-of-next-year"), known_window("llama3")
        (128000, 8192)
    """
    parts = model.split("-")
    for count in range(len(parts), 0, -1):
        with suppress(ValueError):
            return openai_modelname_to_contextsize("-".join(parts[:count]))
    return SMALLEST_WINDOW


def _ended(answer: ChatResponse) -> str | None:
    """Return why the model stopped; None for earlier pieces and the piece with usage figures."""
    response: Any = answer.raw
    return response.choices[0].finish_reason if response.choices else None


def _calls_tools(answer: ChatResponse) -> bool:
    """Return True if the model calls a tool instead of writing text."""
    message = answer.message
    return bool(message.additional_kwargs.get("tool_calls")) or any(
        block.block_type == "tool_call" for block in message.blocks
    )


async def _in_threads(answers: ChatResponseGen) -> ChatResponseAsyncGen:
    """A blocking generator as an async one: each step waits in a thread."""
    try:
        while (answer := await asyncio.to_thread(next, answers, None)) is not None:
            yield answer
    finally:
        # Cancelled in the middle of a step, the thread still runs the generator and ends it.
        with suppress(ValueError):
            answers.close()
