"""An LLM that says what a script tells it, and remembers what it was asked."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from pydantic import Field


class ScriptedLLM(CustomLLM):
    """Answers with its lines in turn, then always with the last.

    A line is a text, an error that is raised, a function of the prompt, or a list of the pieces in
    which an answer arrives.
    """

    lines: list[Any]
    model: str = "scripted-1"
    window: int = 3900
    longest_answer: int = 256
    facts: dict[str, Any] = Field(default_factory=dict)
    tools: bool = False
    prompts: list[str] = Field(default_factory=list)
    closed: int = 0

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(
            model_name=self.model,
            context_window=self.window,
            num_output=self.longest_answer,
            is_function_calling_model=self.tools,
        )

    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        return CompletionResponse(text="".join(self._pieces(prompt)))

    def stream_complete(self, prompt: str, *_: Any, **__: Any) -> Iterator[CompletionResponse]:
        text = ""
        for piece in self._pieces(prompt):
            text += piece
            yield CompletionResponse(text=text, delta=piece)

    def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
        return self._said("".join(self._pieces(_prompt(messages))))

    def stream_chat(self, messages: Sequence[ChatMessage], **_: Any) -> Iterator[ChatResponse]:
        text, pieces = "", self._pieces(_prompt(messages))
        for piece in pieces:
            text += piece
            yield self._said(text, piece)

    async def astream_chat(
        self, messages: Sequence[ChatMessage], **_: Any
    ) -> AsyncIterator[ChatResponse]:
        async def pieces() -> AsyncIterator[ChatResponse]:
            for piece in self.stream_chat(messages):
                yield piece

        return pieces()

    def _said(self, text: str, delta: str | None = None) -> ChatResponse:
        message = ChatMessage(role=MessageRole.ASSISTANT, content=text)
        return ChatResponse(message=message, delta=delta, additional_kwargs=self.facts)

    def _pieces(self, prompt: str) -> Iterator[str]:
        self.prompts.append(prompt)
        line = self.lines[min(len(self.prompts), len(self.lines)) - 1]
        try:
            for piece in line if isinstance(line, list | tuple) else [line]:
                if isinstance(piece, Exception):
                    raise piece
                yield piece(prompt) if callable(piece) else piece
        finally:
            self.closed += 1


def _prompt(messages: Sequence[ChatMessage]) -> str:
    return "".join(str(message.content) for message in messages)
