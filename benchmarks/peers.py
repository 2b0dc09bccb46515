"""The parsers people use today, each behind the same two-step interface."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from measuring import Work

SIZE, OVERLAP = 512, 64
SENTENCE_SPLITTER = "LlamaIndex SentenceSplitter, nodes"
MARKDOWN = "LlamaIndex MarkdownNodeParser, no size limit, nodes"
MARKDOWN_AND_SENTENCES = "LlamaIndex Markdown + SentenceSplitter, nodes"
SEMANTIC_SPLITTER = "LlamaIndex SemanticSplitter, free vectors, nodes"
RESPECT_SENTENCES = (
    SENTENCE_SPLITTER,
    "chonkie SentenceChunker",
    "chonkie RecursiveChunker, no overlap",
    "semantic-text-splitter TextSplitter",
    "semchunk",
    "LangChain RecursiveCharacter (tiktoken)",
)
"""Peers that cut at sentences or paragraphs and hold a size in tokens."""

Prepare = Callable[[list[str]], Work]


class Peer(NamedTuple):
    """A competitor.

    Attributes:
        name: as it stands in the tables.
        prepare: takes the texts, returns the work to be timed; nothing is timed in here.
    """

    name: str
    prepare: Prepare


def peers() -> list[Peer]:
    """Every peer that is installed (`make bench` installs all); without nodes unless it says so."""
    splitters = [
        Peer(SENTENCE_SPLITTER, _llama_index("SentenceSplitter")),
        Peer("LlamaIndex TokenTextSplitter, nodes", _llama_index("TokenTextSplitter")),
        Peer(MARKDOWN_AND_SENTENCES, markdown_then_sentences),
        Peer(SEMANTIC_SPLITTER, _semantic_splitter),
    ]
    if find_spec("langchain_text_splitters"):
        splitters += [
            Peer("LangChain RecursiveCharacter (tiktoken)", _langchain("RecursiveCharacter")),
            Peer("LangChain TokenTextSplitter", _langchain("Token")),
        ]
    if find_spec("chonkie"):
        splitters += [
            Peer("chonkie RecursiveChunker, no overlap", _chonkie("RecursiveChunker")),
            Peer("chonkie SentenceChunker", _chonkie("SentenceChunker", chunk_overlap=OVERLAP)),
        ]
    if find_spec("semchunk"):
        splitters.append(Peer("semchunk", _semchunk))
    if find_spec("semantic_text_splitter"):
        splitters.append(
            Peer("semantic-text-splitter TextSplitter", _text_splitter("TextSplitter"))
        )
    return splitters


def markdown_peers() -> list[Peer]:
    """Peers that cut Markdown at its headings."""
    splitters = [
        Peer(MARKDOWN, markdown_alone),
        Peer(MARKDOWN_AND_SENTENCES, markdown_then_sentences),
    ]
    if find_spec("langchain_text_splitters"):
        splitters.append(Peer("LangChain MarkdownHeader, no size limit", _markdown_headers))
    if find_spec("semantic_text_splitter"):
        splitters.append(
            Peer("semantic-text-splitter MarkdownSplitter", _text_splitter("MarkdownSplitter"))
        )
    return splitters


def use_bundled_data() -> None:
    """Point tiktoken at the vocabularies LlamaIndex ships; it would ask the network otherwise."""
    import llama_index.core

    static = Path(llama_index.core.__file__).parent / "_static"
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(static / "tiktoken_cache"))


def _parsing(parser: Callable[[list[Any]], object], texts: list[str]) -> Work:
    """A node parser at work on documents of these texts."""
    from llama_index.core.schema import Document

    documents = [Document(text=text) for text in texts]
    return lambda: parser(documents)


def _llama_index(name: str) -> Prepare:
    def prepare(texts: list[str]) -> Work:
        import llama_index.core.node_parser as parsers

        parser = getattr(parsers, name)(chunk_size=SIZE, chunk_overlap=OVERLAP)
        return _parsing(parser, texts)

    return prepare


def markdown_alone(texts: list[str]) -> Work:
    """LlamaIndex's sections, however long they are."""
    from llama_index.core.node_parser import MarkdownNodeParser

    return _parsing(MarkdownNodeParser(), texts)


def markdown_then_sentences(texts: list[str]) -> Work:
    """The stock way to sections of bounded size."""
    from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter

    markdown = MarkdownNodeParser()
    sentences = SentenceSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP)
    return _parsing(lambda documents: sentences(markdown(documents)), texts)


def _semantic_splitter(texts: list[str]) -> Work:
    from free_embedding import FreeEmbedding
    from llama_index.core.node_parser import SemanticSplitterNodeParser

    return _parsing(SemanticSplitterNodeParser(embed_model=FreeEmbedding()), texts)


def _langchain(name: str) -> Prepare:
    def prepare(texts: list[str]) -> Work:
        import langchain_text_splitters as splitters

        use_bundled_data()
        splitter = getattr(splitters, f"{name}TextSplitter").from_tiktoken_encoder(
            "cl100k_base", chunk_size=SIZE, chunk_overlap=OVERLAP
        )
        return lambda: [splitter.split_text(text) for text in texts]

    return prepare


def _markdown_headers(texts: list[str]) -> Work:
    from langchain_text_splitters import MarkdownHeaderTextSplitter

    levels = [("#" * level, f"h{level}") for level in range(1, 7)]
    splitter = MarkdownHeaderTextSplitter(levels, strip_headers=False)
    return lambda: [splitter.split_text(text) for text in texts]


def _chonkie(name: str, **options: Any) -> Prepare:
    def prepare(texts: list[str]) -> Work:
        import chonkie
        import tiktoken

        use_bundled_data()
        encoding = tiktoken.get_encoding("cl100k_base")

        def work() -> object:
            # A new one for each run: it remembers the counts of texts it has seen.
            chunker = getattr(chonkie, name)(tokenizer=encoding, chunk_size=SIZE, **options)
            return [chunker.chunk(text) for text in texts]

        return work

    return prepare


def _semchunk(texts: list[str]) -> Work:
    import semchunk
    import tiktoken

    use_bundled_data()
    encoding = tiktoken.get_encoding("cl100k_base")
    longest = max(map(len, encoding.token_byte_values()))

    def work() -> object:
        # A new one for each run: it remembers the counts of all texts it has seen.
        chunker = semchunk.chunkerify(  # type: ignore[attr-defined]
            encoding, SIZE, max_token_chars=longest
        )
        return [chunker(text, overlap=OVERLAP) for text in texts]

    return work


def _text_splitter(name: str) -> Prepare:
    def prepare(texts: list[str]) -> Work:
        import semantic_text_splitter

        splitter = getattr(semantic_text_splitter, name).from_tiktoken_model("gpt-4", SIZE, OVERLAP)
        return lambda: [splitter.chunks(text) for text in texts]

    return prepare
