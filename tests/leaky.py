"""Components of a user whose exceptions hold a token that nobody but their own code knows."""

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TransformComponent

CANARY = "canary-5d81-of-the-user"


class LeakyError(Exception):
    """An error of a user's own package, with the status of a refused request."""

    status_code = 418


def leak(*_: Any, **__: Any) -> NoReturn:
    """Fail as a client does that repeats its whole request."""
    raise LeakyError(f"refused: {CANARY}") from ValueError(f"Authorization: {CANARY}")


class LeakySplitter:
    """A splitter of another package."""

    split_text = leak


class UnmadeSplitter:
    """A splitter that cannot be made."""

    __init__ = leak


class LeakyStep(TransformComponent):
    """A transformation."""

    def __call__(self, *_: Any, **__: Any) -> Any:
        leak()


class LeakyReranker(BaseNodePostprocessor):
    """A reranker."""

    def _postprocess_nodes(self, *_: Any, **__: Any) -> list[NodeWithScore]:
        leak()


class LeakyRetriever(BaseRetriever):
    """A retriever."""

    def _retrieve(self, *_: QueryBundle) -> list[NodeWithScore]:
        leak()


class LeakyEngine(BaseQueryEngine):
    """A query engine."""

    def __init__(self) -> None:
        super().__init__(callback_manager=None)

    _query = leak
    _aquery = leak

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}


class LeakyEmbedding(BaseEmbedding):
    """An embedding model."""

    _get_query_embedding = leak
    _aget_query_embedding = leak
    _get_text_embedding = leak


class LeakyLLM(CustomLLM):
    """An LLM that breaks off in the middle of an answer."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="leaky")

    def complete(self, *_: Any, **__: Any) -> CompletionResponse:
        leak()

    def stream_complete(self, *_: Any, **__: Any) -> Any:
        leak()

    def stream_chat(self, *_: Sequence[ChatMessage], **__: Any) -> Iterator[ChatResponse]:
        message = ChatMessage(role=MessageRole.ASSISTANT, content="A battery sta")
        yield ChatResponse(message=message, delta="A battery sta")
        leak()


class BreakingLLM(LeakyLLM):
    """An LLM that answers whole, and breaks off where it is streamed."""

    def complete(self, *_: Any, **__: Any) -> CompletionResponse:
        return CompletionResponse(text="Yes.")
