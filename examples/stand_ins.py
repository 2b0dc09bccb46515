"""What the examples share: a document, an index, and stand-ins for models that need a key.

In a program of yours, `EMBEDDING` is the embedding model and `Scripted` the LLM you use.
"""

import sys
from pathlib import Path

from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata

from rag_nodes import get_embedding, get_parser, leaf_nodes

MANUAL = Path(__file__).parent / "corpus" / "manual.md"
EMBEDDING = get_embedding("lexical")
QUESTION = "What must be switched off before the relay cover is opened?"
ANSWER = "The supply, at the breaker."


def documents() -> list[Document]:
    """A manual in Markdown; the ids of its chunks follow from `id_`."""
    return [Document(text=MANUAL.read_text(encoding="utf-8"), id_=MANUAL.name)]


def index_of(preset: str) -> VectorStoreIndex:
    """An index of what is found, with all nodes in the docstore."""
    nodes = get_parser(preset)(documents())
    storage = StorageContext.from_defaults()
    storage.docstore.add_documents(nodes)
    return VectorStoreIndex(leaf_nodes(nodes), storage_context=storage, embed_model=EMBEDDING)


def preset_or(default: str) -> str:
    """The preset named on the command line."""
    return sys.argv[1] if len(sys.argv) > 1 else default


class Scripted(CustomLLM):
    """Answers with its lines in turn, then always with the last: no model, key or network."""

    lines: list[str]

    @property
    def metadata(self) -> LLMMetadata:
        """Room for any prompt."""
        return LLMMetadata()

    def complete(self, *_: object, **__: object) -> CompletionResponse:
        """The next line."""
        return CompletionResponse(text=self.lines.pop(0) if self.lines[1:] else self.lines[0])

    def stream_complete(self, *_: object, **__: object) -> CompletionResponseGen:
        """The next line, in one piece."""
        answer = self.complete()
        yield CompletionResponse(text=answer.text, delta=answer.text)
