"""Texts encoded in other threads while this one cuts: tiktoken lets go of Python's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rag_nodes.text.tokenizers import is_tiktoken
from rag_nodes.text.tokens import TokenIndex, encodable, fresh_space, load_encoding

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORTH = 100_000
"""Characters below which starting a thread costs more than it gains."""
_SEVERAL = 2
"""Texts from which on it pays: one alone has to wait for its tokens anyway."""
_JOB = 200_000
"""Characters encoded in one go: long enough that threads hardly wait for one another."""
_MOST_THREADS = 4
_SEPARATOR = "<|endoftext|>"
"""The special token between texts that are encoded together; every encoding has it."""


class _Piece(NamedTuple):
    """Characters `start:end` of the text with this number."""

    text: int
    start: int
    end: int


_Job = list[_Piece]


def tokens_ahead(texts: Sequence[str], encoding: str) -> Iterator[Callable[[], TokenIndex] | None]:
    """For each text what gives its tokens, while those of the texts after it are being found.

    The tokens are the same as without threads. None where threads would not pay: little text, one
    text alone, one processor, or a tokenizer that is not tiktoken's.

    Args:
        texts: the texts, in the order in which they will be cut.
        encoding: name of the tokenizer.
    """
    # One processor stays free for the thread that cuts.
    threads = min(_MOST_THREADS, (os.cpu_count() or 1) - 1)
    if (
        threads == 0
        or len(texts) < _SEVERAL
        or sum(map(len, texts)) < _WORTH
        or not is_tiktoken(encoding)
    ):
        yield from [None] * len(texts)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="rag-nodes-tokens") as pool:
        ahead = _Ahead(texts, encoding, pool)
        try:
            for number in range(len(texts)):
                ahead.start(number)
                yield lambda number=number: ahead.index(number)  # type: ignore[misc]
                ahead.forget(number)
        finally:
            pool.shutdown(cancel_futures=True)


class _Ahead:
    """The jobs of all texts: which are running, and what they found."""

    def __init__(self, texts: Sequence[str], encoding: str, pool: ThreadPoolExecutor) -> None:
        self.texts = texts
        self.encoding = encoding
        self.pool = pool
        self.jobs = list(_jobs(texts))
        self.started = 0
        self.found: dict[int, list[tuple[Future[list[NDArray[np.uint32]]], int]]] = {}

    def start(self, number: int) -> None:
        """Start the jobs up to the one that ends text `number`, and as many beyond as can run."""
        beyond = 0
        while self.started < len(self.jobs) and beyond <= _MOST_THREADS:
            job = self.jobs[self.started]
            beyond += job[0].text > number
            future = self.pool.submit(
                _encode, [self.texts[p.text] for p in job], job, self.encoding
            )
            for position, piece in enumerate(job):
                self.found.setdefault(piece.text, []).append((future, position))
            self.started += 1

    def index(self, number: int) -> TokenIndex:
        """The tokens of a text, as soon as they are there."""
        parts = [future.result()[position] for future, position in self.found[number]]
        return TokenIndex(self.texts[number], self.encoding, np.concatenate(parts))

    def forget(self, number: int) -> None:
        """Let go of what was found for a text."""
        self.found.pop(number, None)


def _jobs(texts: Sequence[str]) -> Iterator[_Job]:
    job: _Job = []
    size = 0
    for piece in _pieces(texts):
        job.append(piece)
        size += piece.end - piece.start
        if size >= _JOB:
            yield job
            job, size = [], 0
    if job:
        yield job


def _pieces(texts: Sequence[str]) -> Iterator[_Piece]:
    """Whole texts, long ones in parts that the encoding does not look beyond."""
    for number, text in enumerate(texts):
        start = 0
        while len(text) - start > 2 * _JOB and (cut := fresh_space(text, start + _JOB)) < len(text):
            yield _Piece(number, start, cut)
            start = cut
        yield _Piece(number, start, len(text))


def _encode(texts: Sequence[str], job: _Job, name: str) -> list[NDArray[np.uint32]]:
    """The tokens of each piece of a job."""
    encoding = load_encoding(name)
    pieces = [
        encodable(text[piece.start : piece.end]) for text, piece in zip(texts, job, strict=True)
    ]
    if len(pieces) == 1 or any(_SEPARATOR in piece for piece in pieces):
        return [encoding.encode_to_numpy(piece, disallowed_special=()) for piece in pieces]
    # One call for all: between two calls a thread would wait for its turn.
    tokens = encoding.encode_to_numpy(
        _SEPARATOR.join(pieces), allowed_special={_SEPARATOR}, disallowed_special=()
    )
    ends = np.flatnonzero(tokens == encoding.eot_token)
    return [part[1:] if number else part for number, part in enumerate(np.split(tokens, ends))]
