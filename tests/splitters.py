"""Splitters shaped like those of other packages, for tests of what adapts them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


class WindowSplitter:
    """As of LangChain: `split_text`, options with an underscore, chunks without blank ends."""

    def __init__(self, chunk_size: int = 40, chunk_overlap: int = 10) -> None:
        self._chunk_size = chunk_size
        self._chunk_overlap = chunk_overlap
        self._length_function = len

    def split_text(self, text: str) -> list[str]:
        step = self._chunk_size - self._chunk_overlap
        windows = [text[start : start + self._chunk_size] for start in range(0, len(text), step)]
        return [piece.strip() for piece in windows]


@dataclass
class Chunk:
    """As of chonkie."""

    text: str
    start_index: int
    end_index: int


class LineChunker:
    """As of chonkie: `chunk` gives objects that say where they are, rightly or not."""

    def __init__(self, shift: int = 0) -> None:
        self.shift = shift

    def chunk(self, text: str) -> list[Chunk]:
        chunks, start = [], 0
        for line in text.splitlines(keepends=True):
            first = start + self.shift
            chunks.append(Chunk(line, first, first + len(line)))
            start += len(line)
        return chunks


class Headed:
    """Puts words of its own before every paragraph, as splitters that add context do."""

    api_key = "sk-canary"

    def __init__(self) -> None:
        self.api_key = "sk-canary"

    def split_text(self, text: str) -> list[str]:
        return [f"From the manual:\n{part}" for part in text.split("\n\n")]


@dataclass
class Given:
    """Answers with the chunks it was made with, or what a function makes of the text."""

    pieces: Sequence[object] | Callable[[str], Sequence[object]]

    def split_text(self, text: str) -> Sequence[object]:
        return self.pieces(text) if callable(self.pieces) else self.pieces


class NeedsPackage:
    """A splitter of a package that is not installed whole."""

    def __init__(self) -> None:
        raise ImportError("the secret is canary")
