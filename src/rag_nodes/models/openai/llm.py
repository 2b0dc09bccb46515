"""Messages in, an answer of an OpenAI or compatible chat model out, whole or streamed (S0-35)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseAsyncGen,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseAsyncGen,
    CompletionResponseGen,
    LLMMetadata,
    MessageRole,
)
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from pydantic import Field, PrivateAttr, SecretStr

from rag_nodes.errors import ModelResponseError
from rag_nodes.models.chat_facts import billed, known_window
from rag_nodes.models.openai.connection import Connection, client_faults
from rag_nodes.models.pacing import before_repeating
from rag_nodes.settings import OPENAI_API_BASE
from rag_nodes.text.tokens import encodable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import openai
    from openai.types.chat import ChatCompletion

_UNSUPPORTED = frozenset({"unsupported_parameter", "unsupported_value"})
"""Codes of the 400 that names one parameter a model does not take."""


class OpenAIServerLLM(CustomLLM):
    """Chat model of OpenAI or any compatible server, by any name the server knows.

    Every fault, a stream that breaks off included, ends in one of our errors. Parameters that a
    model refuses by name (reasoning models take no temperature) are left out and the request
    repeated. The key is in no field, `repr` or pickle. Async calls run in threads.

    Args:
        model_name: as the server knows it.
        api_key: None for the configured one, or for a server without keys.
        api_base: None for OpenAI itself.
        temperature: 0 to 2.
        max_tokens: longest answer, in the model's tokens.
        context_window: tokens of prompt and answer together, prompts are packed by it (S4-20);
            None for what is known of the model, or a cautious guess.
        timeout: seconds without a sign of life.
        retry_seconds: seconds for which a failing request is repeated; 0 for one attempt.
        public_only: refuse a server that is not on the public internet.

    Example:
        >>> OpenAIServerLLM(model_name="llama3", api_base="http://127.0.0.1:11434/v1").place
        'http://127.0.0.1:11434/v1'
    """

    model_name: str = "gpt-4o-mini"
    api_base: str | None = None
    temperature: float = Field(default=0.2, ge=0, le=2)
    max_tokens: int = Field(default=1024, ge=1)
    context_window: int | None = Field(default=None, ge=1)
    timeout: float = Field(default=60.0, gt=0)
    retry_seconds: float = Field(default=10.0, ge=0)
    public_only: bool = False
    _connection: Connection = PrivateAttr()
    _parameters: dict[str, Any] = PrivateAttr()
    _stream_options: dict[str, Any] = PrivateAttr()

    def __init__(self, *, api_key: SecretStr | None = None, **values: Any) -> None:
        super().__init__(**values)
        self._connection = Connection(
            model=self.model_name,
            api_key=api_key,
            api_base=self.api_base,
            timeout=self.timeout,
            retry_seconds=self.retry_seconds,
            public_only=self.public_only,
        )
        at_openai = self.api_base in (None, OPENAI_API_BASE)
        # OpenAI's newer models know only the first name, most compatible servers the second.
        limit = "max_completion_tokens" if at_openai else "max_tokens"
        self._parameters = {"temperature": self.temperature, limit: self.max_tokens}
        # Other servers may refuse a request for figures they do not know; tokens are counted then.
        self._stream_options = {"stream_options": {"include_usage": True}} if at_openai else {}

    @classmethod
    def class_name(cls) -> str:
        """Name LlamaIndex files this under; its own class is `openai_llm`."""
        return "rag_nodes_openai_llm"

    @property
    def metadata(self) -> LLMMetadata:
        """What LlamaIndex wants to know about the model."""
        return LLMMetadata(
            context_window=self.context_window or known_window(self.model_name),
            num_output=self.max_tokens,
            is_chat_model=True,
            model_name=self.model_name,
        )

    @property
    def place(self) -> str:
        """Where prompts are sent, for display."""
        return self.api_base or "OpenAI"

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """The whole answer; raises a `ModelError` or `CredentialsError`."""
        return self._chat(messages, **kwargs)

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """The answer as it grows; errors surface while iterating."""
        return self._stream(messages, **kwargs)

    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Like `chat`."""
        return await asyncio.to_thread(self._chat, messages, **kwargs)

    @llm_chat_callback()
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **kwargs: Any
    ) -> ChatResponseAsyncGen:
        """Like `stream_chat`."""
        return _in_threads(self._stream(messages, **kwargs))

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:  # noqa: ARG002, FBT001, FBT002 - LlamaIndex's signature
        """`chat` with the prompt as the user's only message."""
        return _completion(self._chat(_user(prompt), **kwargs))

    @llm_completion_callback()
    def stream_complete(
        self,
        prompt: str,
        formatted: bool = False,  # noqa: ARG002, FBT001, FBT002 - LlamaIndex's signature
        **kwargs: Any,
    ) -> CompletionResponseGen:
        """`stream_chat` with the prompt as the user's only message."""
        return (_completion(answer) for answer in self._stream(_user(prompt), **kwargs))

    @llm_completion_callback()
    async def acomplete(
        self,
        prompt: str,
        formatted: bool = False,  # noqa: ARG002, FBT001, FBT002 - LlamaIndex's signature
        **kwargs: Any,
    ) -> CompletionResponse:
        """Like `complete`."""
        return _completion(await asyncio.to_thread(self._chat, _user(prompt), **kwargs))

    @llm_completion_callback()
    async def astream_complete(
        self,
        prompt: str,
        formatted: bool = False,  # noqa: ARG002, FBT001, FBT002 - LlamaIndex's signature
        **kwargs: Any,
    ) -> CompletionResponseAsyncGen:
        """Like `stream_complete`."""
        answers = _in_threads(self._stream(_user(prompt), **kwargs))
        return (_completion(answer) async for answer in answers)

    def _chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        response: ChatCompletion = self._connection.call(self._sender(messages, kwargs))
        try:
            choice = response.choices[0]
            text = choice.message.content or ""
        except (AttributeError, IndexError, TypeError) as error:
            raise self._connection.mapped(error) from None
        if not text.strip():
            raise self._nothing(choice.finish_reason)
        facts = {"finish_reason": choice.finish_reason, **billed(response)}
        return _answer(text, delta=None, raw=response, facts=facts)

    def _stream(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Each piece with everything before it; complete only if the server says it finished."""
        text, reason = "", None
        for piece, ended, tokens in self._pieces(messages, kwargs):
            reason = ended or reason
            if piece or (tokens and text):
                text += piece
                facts = {"finish_reason": reason, **tokens}
                yield _answer(text, delta=piece, raw=None, facts=facts)
        if reason is None and text:
            raise ModelResponseError(
                f"{self._here}: the answer was cut off after {len(text)} characters; try again"
            )
        if not text.strip():
            raise self._nothing(reason)

    def _pieces(
        self, messages: Sequence[ChatMessage], extra: dict[str, Any]
    ) -> Iterator[tuple[str, str | None, dict[str, int]]]:
        """Text, finish reason and tokens billed of each event."""
        options = {"stream": True, **self._stream_options}
        events = self._connection.call(self._sender(messages, {**options, **extra}))
        try:
            with events:
                for event in events:
                    # The last event of a stream may carry figures and no choice.
                    choice = event.choices[0] if event.choices else None
                    text = (choice.delta.content or "") if choice else ""
                    yield text, choice.finish_reason if choice else None, billed(event)
        except client_faults() as error:
            raise self._connection.mapped(error) from None

    def _sender(
        self, messages: Sequence[ChatMessage], extra: dict[str, Any]
    ) -> Callable[[openai.OpenAI], Any]:
        """Makes the request; drops what the model says it does not take, once and for all."""
        body = {
            "model": self.model_name,
            "messages": [
                {"role": message.role.value, "content": encodable(message.content or "")}
                for message in messages
            ],
        }

        def send(client: openai.OpenAI) -> Any:
            import openai

            try:
                return client.chat.completions.create(**{**body, **self._parameters, **extra})
            except openai.BadRequestError as error:
                if not self._adapt(error):
                    raise
                before_repeating()
                return send(client)

        return send

    def _adapt(self, error: openai.BadRequestError) -> bool:
        """Leave out the parameter the server names; False where it is none of ours."""
        name = error.param
        if error.code not in _UNSUPPORTED or name not in self._parameters:
            return False
        rest = {key: value for key, value in self._parameters.items() if key != name}
        if name == "max_tokens":
            rest["max_completion_tokens"] = self.max_tokens
        self._parameters = rest
        return True

    def _nothing(self, reason: str | None) -> ModelResponseError:
        remedies = {
            None: "check that api_base names the right server, it usually ends in /v1",
            "content_filter": "the server's content filter stopped it",
            "length": "raise max_output_tokens, the model used all of them before answering",
        }
        remedy = remedies.get(reason, "try again or choose another model")
        return ModelResponseError(f"{self._here}: an empty answer; {remedy}")

    @property
    def _here(self) -> str:
        return f"{self.model_name} at {self.api_base or OPENAI_API_BASE}"


def _user(prompt: str) -> list[ChatMessage]:
    return [ChatMessage(role=MessageRole.USER, content=prompt)]


def _answer(text: str, *, delta: str | None, raw: Any, facts: dict[str, Any]) -> ChatResponse:
    return ChatResponse(
        message=ChatMessage(role=MessageRole.ASSISTANT, content=text),
        delta=delta,
        raw=raw,
        additional_kwargs=facts,
    )


def _completion(answer: ChatResponse) -> CompletionResponse:
    return CompletionResponse(
        text=answer.message.content or "",
        delta=answer.delta,
        raw=answer.raw,
        additional_kwargs=answer.additional_kwargs,
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
