"""Conversations: LlamaIndex's chat engine over our query engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.base.response.schema import Response
from llama_index.core.chat_engine.types import (
    AgentChatResponse,
    BaseChatEngine,
    StreamingAgentChatResponse,
)
from llama_index.core.tools import ToolOutput

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.query.answering import NOTHING_ANSWERS, NOTHING_FOUND
from rag_nodes.query.checks import check_whole
from rag_nodes.query.engine import RagNodesQueryEngine
from rag_nodes.query.follow_ups import Condensed, FollowUp, earlier_turns
from rag_nodes.query.preparing import check_question
from rag_nodes.query.responses import innermost, replaced, response_of
from rag_nodes.query.types import Delta, Failed, Finished, Retrieved
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Sequence

    from llama_index.core.schema import NodeWithScore

    from rag_nodes.query.types import Answer, Event

OFFLINE = (
    "I found nothing about this in the documents. Without an LLM I quote their sentences: ask "
    "about something that they describe."
)
"""Answer of an offline chat if no sentence answers the message, as with most small talk."""


@dataclass(eq=False)
class _Turn:
    """A question of a conversation.

    Attributes:
        question: in the user's words.
        searched: the question that was searched for.
        answer: as far as it was read; None if nothing of it was.
    """

    question: str
    searched: str
    answer: str | None = None


@checks_keywords
class RagNodesChat(BaseChatEngine):
    """LlamaIndex's chat engine over one query engine; one per user, not shared between threads.

    `chat`, `stream_chat`, `achat`, `astream_chat`, `reset` and `chat_history` are as in every chat
    engine of LlamaIndex. The metadata of a response holds the whole answer as plain data under
    "answer"; a streaming response has them in `sources[0].raw_output` once it has been read.
    `ask`, `aask`, `stream` and `astream` give our `Answer` and its events. A stream that is left
    early is remembered as far as it was read.

    With an LLM, each question after the first is condensed from the conversation to a standalone
    question, as LlamaIndex's `CondensePlusContextChatEngine` does. Without one, each question
    stands alone, unless `ask` or `stream` gets `follow_up=True`: then the previous question stands
    in front of it. The `question` of an answer is what was searched for. Answers are made of the
    documents alone, never of earlier answers. A question that fails leaves the history as it was.

    Args:
        engine: answers.
        memory_tokens: length of the history in tokens; the oldest turns are forgotten first.
        chat_history: earlier messages of the user and the assistant, oldest first.

    Raises:
        ConfigurationError: `engine` is no `RagNodesQueryEngine`, or `memory_tokens` is below 1.
    """

    def __init__(
        self,
        engine: RagNodesQueryEngine,
        *,
        memory_tokens: int = 2000,
        chat_history: Sequence[ChatMessage] = (),
    ) -> None:
        if not isinstance(engine, RagNodesQueryEngine):
            raise ConfigurationError(
                f"{type(engine).__name__} is not a RagNodesQueryEngine: pass one; that of an index "
                "of LlamaIndex is RagNodesQueryEngine.from_index(index)"
            )
        check_whole("memory_tokens", memory_tokens)
        self.engine = engine
        self.memory_tokens = memory_tokens
        self._turns: list[_Turn] = []
        self._recall(chat_history)

    @classmethod
    def from_defaults(cls, query_engine: RagNodesQueryEngine, **options: Any) -> Self:
        """Return a chat with a query engine, by LlamaIndex's name for the argument.

        Args:
            query_engine: answers.
            options: the other arguments of this class.
        """
        return cls(query_engine, **options)

    @property
    def chat_history(self) -> list[ChatMessage]:
        """Questions and answers that are remembered, as LlamaIndex's messages."""
        roles = (MessageRole.USER, MessageRole.ASSISTANT)
        return [
            ChatMessage(role=role, content=text)
            for turn in self._turns
            for role, text in zip(roles, (turn.question, turn.answer), strict=True)
            if text is not None
        ]

    def reset(self) -> None:
        """Forget everything."""
        self._turns = []

    def chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> AgentChatResponse:
        """Answer a message.

        Args:
            message: a question, in the user's words.
            chat_history: messages that replace what is remembered; None to go on.

        Raises:
            RagNodesError: as for `ask`.
        """
        self._recall(chat_history)
        return self._response(self.ask(innermost(message).query_str))

    async def achat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> AgentChatResponse:
        """Like `chat`, without blocking the event loop."""
        self._recall(chat_history)
        return self._response(await self.aask(innermost(message).query_str))

    def stream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """Answer a message piece by piece, see `response_gen` of the response; as `chat`."""
        self._recall(chat_history)
        events = self.stream(innermost(message).query_str)
        source = self._source(Response(None, _nodes(next(events))))
        pieces = (self._piece(event, source) for event in events)
        return StreamingAgentChatResponse(
            chat_stream=(piece for piece in pieces if piece.delta),
            sources=[source],
            is_writing_to_memory=False,
        )

    async def astream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """Like `stream_chat`, without blocking the event loop; see `async_response_gen`."""
        self._recall(chat_history)
        events = self.astream(innermost(message).query_str)
        source = self._source(Response(None, _nodes(await anext(events))))
        pieces = (self._piece(event, source) async for event in events)
        return StreamingAgentChatResponse(
            achat_stream=(piece async for piece in pieces if piece.delta),
            sources=[source],
            is_writing_to_memory=False,
        )

    def ask(self, question: str, *, follow_up: bool | str = False) -> Answer:
        """Answer a question; also raises what `RagNodesQueryEngine.answer` raises.

        Args:
            question: in the user's words.
            follow_up: True if it follows the previous question, which an LLM sees for itself; or
                the earlier question that it follows.

        Raises:
            ConfigurationError: the question is blank, or there is no earlier one to follow up.
        """
        condensed = self._follow_up(question, follow_up).condensed()
        return self._answered(question, self.engine.answer(condensed.question), condensed)

    async def aask(self, question: str, *, follow_up: bool | str = False) -> Answer:
        """Like `ask`, without blocking the event loop."""
        condensed = await self._follow_up(question, follow_up).acondensed()
        answer = await self.engine.aanswer(condensed.question)
        return self._answered(question, answer, condensed)

    def stream(self, question: str, *, follow_up: bool | str = False) -> Generator[Event]:
        """The events of an answer, see `RagNodesQueryEngine.stream`; arguments as for `ask`."""
        condensed = self._follow_up(question, follow_up).condensed()
        turn = _Turn(question, condensed.question)
        for event in self.engine.stream(condensed.question):
            yield self._noted(turn, event, condensed)

    async def astream(
        self, question: str, *, follow_up: bool | str = False
    ) -> AsyncGenerator[Event]:
        """Like `stream`, without blocking the event loop."""
        condensed = await self._follow_up(question, follow_up).acondensed()
        turn = _Turn(question, condensed.question)
        async for event in self.engine.astream(condensed.question):
            yield self._noted(turn, event, condensed)

    def _follow_up(self, question: str, follow_up: bool | str) -> FollowUp:  # noqa: FBT001
        check_question(question)
        models = self.engine.models
        turns = [(turn.question, turn.answer or "") for turn in self._turns]
        if models.llm is None and turns:
            turns = [(self._turns[-1].searched, "")]
        is_explicit = follow_up is not False
        earlier = earlier_turns(follow_up, turns) if is_explicit else turns
        return FollowUp(question, earlier, models, self.engine.options.prices, is_explicit)

    def _noted(self, turn: _Turn, event: Event, condensed: Condensed) -> Event:
        """Remember what an event tells of a turn, and return the event."""
        match event:
            case Retrieved():
                self._turns.append(turn)
            case Delta():
                turn.answer = (turn.answer or "") + self._spoken(event.text)
            case Failed():
                self._turns = [other for other in self._turns if other is not turn]
            case Finished():
                return Finished(self._finished(turn, event.answer, condensed))
        return event

    def _answered(self, question: str, answer: Answer, condensed: Condensed) -> Answer:
        """Remember a turn whose answer came as a whole, and return the answer."""
        self._turns.append(turn := _Turn(question, condensed.question))
        return self._finished(turn, answer, condensed)

    def _finished(self, turn: _Turn, answer: Answer, condensed: Condensed) -> Answer:
        """Note the whole answer, and return it with what condensing its question took."""
        turn.answer = self._spoken(answer.text)
        while len(self._turns) > 1 and self._tokens() > self.memory_tokens:
            del self._turns[0]
        if self._tokens() > self.memory_tokens:
            turn.answer = ""
        return condensed.counted_in(answer)

    def _tokens(self) -> int:
        return sum(count_tokens(f"{message.content}") for message in self.chat_history)

    def _recall(self, messages: Sequence[ChatMessage] | None) -> None:
        """Replace what is remembered by other messages; None changes nothing."""
        if messages is None:
            return
        self.reset()
        for message in messages:
            text = message.content or ""
            if message.role == MessageRole.USER:
                self._turns.append(_Turn(text, text))
            elif message.role == MessageRole.ASSISTANT and self._turns:
                last = self._turns[-1]
                last.answer = "\n\n".join(filter(None, (last.answer, text)))

    def _spoken(self, text: str) -> str:
        """Return the text of an answer, or what an offline chat can do if it found none."""
        is_empty = text in (NOTHING_FOUND, NOTHING_ANSWERS)
        return OFFLINE if is_empty and self.engine.models.llm is None else text

    def _response(self, answer: Answer) -> AgentChatResponse:
        source = self._source(response_of(answer))
        return AgentChatResponse(
            source.content,
            [source],
            source.raw_output.source_nodes,
            metadata=source.raw_output.metadata,
        )

    def _source(self, response: Response) -> ToolOutput:
        """Return a response as the source of the turn that was just remembered."""
        return ToolOutput(
            tool_name="query_engine",
            content=self._spoken(response.response or ""),
            raw_input={"query": self._turns[-1].searched},
            raw_output=response,
        )

    def _piece(self, event: Event, source: ToolOutput) -> ChatResponse:
        """Return the text that an event adds, as a piece of an LLM's response.

        Args:
            event: the next event of a stream.
            source: gets the response once it is whole.

        Raises:
            RagNodesError: the LLM failed.
        """
        if isinstance(event, Failed):
            raise event.error
        if isinstance(event, Finished):
            source.raw_output = response_of(event.answer)
            source.content = self._spoken(event.answer.text)
        text = self._spoken(event.text) if isinstance(event, Delta) else ""
        message = ChatMessage(role=MessageRole.ASSISTANT, content=text)
        return ChatResponse(message=message, delta=text)


def _nodes(first: Event) -> list[NodeWithScore]:
    """Return the nodes that the first event of an answer brings."""
    return replaced(first.hits) if isinstance(first, Retrieved) else []
