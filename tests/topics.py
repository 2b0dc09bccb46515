"""An embedding model that knows four topics, and one that forgets an answer."""

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr

TOPICS = ("pump", "lamp", "roof", "door")


class TopicEmbedding(BaseEmbedding):
    """One axis per topic word; remembers the texts of every call."""

    model_name: str = "topics"
    embed_batch_size: int = 2048
    _calls: list[list[str]] = PrivateAttr(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "TopicEmbedding"

    @property
    def seen(self) -> list[str]:
        return [text for call in self._calls for text in call]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self._calls.append(texts)
        return [self._get_text_embedding(text) for text in texts]

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._get_text_embeddings(texts)

    def _get_text_embedding(self, text: str) -> list[float]:
        return [float(text.count(topic)) + 0.01 for topic in TOPICS]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class ForgetfulEmbedding(TopicEmbedding):
    """Answers for one text less than it was asked."""

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return super()._get_text_embeddings(texts)[:-1]
