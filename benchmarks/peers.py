"""The parsers people use today, each behind the same two-step interface."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

SIZE, OVERLAP = 512, 64


class Peer(NamedTuple):
    """A competitor.

    Attributes:
        name: as it stands in the tables.
        prepare: takes the texts, returns the work to be timed; nothing is timed in here.
    """

    name: str
    prepare: Callable[[list[str]], Callable[[], object]]


def peers() -> list[Peer]:
    """Every peer that is installed (`make bench` installs all)."""
    found = [
        Peer("LlamaIndex SentenceSplitter, nodes", _llama_index("SentenceSplitter")),
        Peer("LlamaIndex TokenTextSplitter, nodes", _llama_index("TokenTextSplitter")),
        Peer("LlamaIndex Markdown + Sentence, nodes", _markdown_then_sentences),
    ]
    if find_spec("langchain_text_splitters"):
        found += [
            Peer("LangChain recursive (tiktoken), no nodes", _langchain("RecursiveCharacter")),
            Peer("LangChain TokenTextSplitter, no nodes", _langchain("Token")),
        ]
    if find_spec("chonkie"):
        found.append(Peer("chonkie RecursiveChunker, no nodes", _chonkie))
    if find_spec("semchunk"):
        found.append(Peer("semchunk, no nodes", _semchunk))
    return found


def _use_bundled_data() -> None:
    """Point tiktoken at the vocabularies LlamaIndex ships; it would ask the network otherwise."""
    import llama_index.core

    static = Path(llama_index.core.__file__).parent / "_static"
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(static / "tiktoken_cache"))


def _llama_index(name: str) -> Callable[[list[str]], Callable[[], object]]:
    def prepare(texts: list[str]) -> Callable[[], object]:
        import llama_index.core.node_parser as parsers
        from llama_index.core.schema import Document

        parser = getattr(parsers, name)(chunk_size=SIZE, chunk_overlap=OVERLAP)
        documents = [Document(text=text) for text in texts]
        return lambda: parser(documents)

    return prepare


def _markdown_then_sentences(texts: list[str]) -> Callable[[], object]:
    from llama_index.core.node_parser import MarkdownNodeParser, SentenceSplitter
    from llama_index.core.schema import Document

    markdown = MarkdownNodeParser()
    sentences = SentenceSplitter(chunk_size=SIZE, chunk_overlap=OVERLAP)
    documents = [Document(text=text) for text in texts]
    return lambda: sentences(markdown(documents))


def _langchain(name: str) -> Callable[[list[str]], Callable[[], object]]:
    def prepare(texts: list[str]) -> Callable[[], object]:
        import langchain_text_splitters as splitters

        _use_bundled_data()
        splitter = getattr(splitters, f"{name}TextSplitter").from_tiktoken_encoder(
            "cl100k_base", chunk_size=SIZE, chunk_overlap=OVERLAP
        )
        return lambda: [splitter.split_text(text) for text in texts]

    return prepare


def _chonkie(texts: list[str]) -> Callable[[], object]:
    import tiktoken
    from chonkie import RecursiveChunker

    _use_bundled_data()
    chunker = RecursiveChunker(tokenizer=tiktoken.get_encoding("cl100k_base"), chunk_size=SIZE)
    return lambda: [chunker.chunk(text) for text in texts]


def _semchunk(texts: list[str]) -> Callable[[], object]:
    import semchunk

    _use_bundled_data()
    chunker = semchunk.chunkerify("cl100k_base", SIZE)
    return lambda: [chunker(text, overlap=OVERLAP) for text in texts]
