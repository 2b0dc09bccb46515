"""The splitters whose retrieval is compared: those of other packages, and ours."""

from __future__ import annotations

from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter
from peers import use_bundled_data

from rag_nodes.parsers import get_parser
from rag_nodes.text.tokens import count_tokens

CURVE = (50, 100, 150, 200, 400, 800, 1600)
"""Sizes of our `recursive`, for the curves over the size."""
LADDER_ON = "recursive 200"
"""The chunks that the ladder of widths takes its candidates from."""
PEER = "LangChain recursive 200"
"""The setting of another package that stands beside ours where not everything is measured."""
STOCK = "LlamaIndex sentence as it comes"
"""LlamaIndex's `SentenceSplitter()`: 1,024 tokens, 200 of them shared."""


class Semchunk:
    """semchunk behind the method that splitters have.

    Args:
        chunk_size: tokens at most.
    """

    def __init__(self, chunk_size: int) -> None:
        self.chunk_size = chunk_size

    def split_text(self, text: str) -> list[str]:
        """The chunks of a text."""
        import semchunk

        pieces: list[str] = semchunk.chunkerify(count_tokens, self.chunk_size)(text)  # type: ignore[attr-defined]
        return pieces


def langchain(size: int) -> object:
    """LangChain's `RecursiveCharacterTextSplitter` without overlap, in tokens."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    return RecursiveCharacterTextSplitter(
        chunk_size=size, chunk_overlap=0, length_function=count_tokens
    )


def chonkie(size: int) -> object:
    """Chonkie's `RecursiveChunker`, in tokens."""
    import tiktoken
    from chonkie import RecursiveChunker

    use_bundled_data()
    return RecursiveChunker(tokenizer=tiktoken.get_encoding("cl100k_base"), chunk_size=size)


def peers(*, markdown: bool = False) -> dict[str, object]:
    """Splitters of other packages, at sizes that people use.

    Args:
        markdown: with those for texts with headings.
    """
    splitters: dict[str, object] = {
        f"LangChain recursive {size}": langchain(size) for size in (100, 150, 200, 400, 800)
    }
    splitters["LlamaIndex sentence 100"] = SentenceSplitter(chunk_size=100, chunk_overlap=0)
    splitters["LlamaIndex sentence 512"] = SentenceSplitter(chunk_size=512)
    splitters[STOCK] = SentenceSplitter()
    splitters["semchunk 200"] = Semchunk(200)
    splitters["chonkie recursive 200"] = chonkie(200)
    if markdown:
        splitters["LlamaIndex Markdown"] = MarkdownNodeParser()
    return splitters


def ours() -> dict[str, object]:
    """Our parsers, at 200 tokens and as they come."""
    curve = {
        f"recursive {size}": get_parser(
            "recursive", unit="tokens", chunk_size=size, chunk_overlap=0
        )
        for size in (200, *(number for number in CURVE if number != 200))  # noqa: PLR2004 -- the one first
    }
    presets = ("recursive", "fixed", "token-overlap", "sentence", "heading", "semantic")
    return {
        **curve,
        "heading 200": get_parser("heading", chunk_size=200),
        **{f"preset {name}": get_parser(name) for name in presets},
    }


def ours_of_equal_size() -> dict[str, object]:
    """Return our parsers that are compared at one mean size."""
    return {
        "recursive": get_parser("recursive", unit="tokens", chunk_size=200, chunk_overlap=0),
        "heading": get_parser("heading", chunk_size=200),
        "token-overlap": get_parser("token-overlap", chunk_overlap=0),
        "sentence": get_parser("sentence", unit="tokens", chunk_size=200, chunk_overlap=0),
        "fixed": get_parser("fixed", unit="tokens", chunk_size=200, chunk_overlap=0),
    }


def peers_of_equal_size(*, markdown: bool) -> dict[str, object]:
    """Return one splitter of each kind of other packages, to be compared at one mean size.

    Args:
        markdown: with those for texts with headings.
    """
    splitters: dict[str, object] = {
        "LangChain recursive": langchain(200),
        "LlamaIndex sentence": SentenceSplitter(chunk_size=200, chunk_overlap=0),
        "semchunk": Semchunk(200),
        "chonkie recursive": chonkie(200),
    }
    if markdown:
        splitters["LlamaIndex Markdown, then sentence"] = MarkdownThenSentences(200)
    return splitters


class MarkdownThenSentences:
    """LlamaIndex's sections, cut by its `SentenceSplitter`: the stock way to bounded sections.

    Args:
        chunk_size: tokens at most.
    """

    def __init__(self, chunk_size: int) -> None:
        self.chunk_size = chunk_size

    def split_text(self, text: str) -> list[str]:
        """The chunks of a text."""
        from llama_index.core import Document

        sections = MarkdownNodeParser()([Document(text=text)])
        cut = SentenceSplitter(chunk_size=self.chunk_size, chunk_overlap=0)
        return [node.get_content() for node in cut(sections)]
