"""Models of a user's own, as they would be named by import path: `own_models:LettersEmbedding`."""

from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from pydantic import PrivateAttr


class LettersEmbedding(BaseEmbedding):
    """Loaded once, as a model of Hugging Face would be, and asked for batches: counts letters."""

    letters: str = "aeiou"
    api_key: str = ""
    _loaded: dict[str, int] = PrivateAttr()

    def __init__(self, letters: str = "aeiou", **values: Any) -> None:
        super().__init__(letters=letters, **values)
        if not letters:
            raise ValueError(f"no letters; the key was {self.api_key}")
        self._loaded = {letter: index for index, letter in enumerate(letters)}

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return [[1.0 + text.count(letter) for letter in self._loaded] for text in texts]

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class ParrotLLM(CustomLLM):
    """Says what it was made to say."""

    says: str = "Nine litres [Source 1]."

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="parrot")

    def complete(self, prompt: str, **_: Any) -> CompletionResponse:
        del prompt
        return CompletionResponse(text=self.says)

    def stream_complete(self, prompt: str, **_: Any) -> Any:
        yield CompletionResponse(text=self.says, delta=self.says)
        del prompt
