"""Long sections cut by meaning: the sentences of all of them embedded in one go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from rag_nodes.parsers.heading.split import Splitter, Stretch
from rag_nodes.parsers.topics.runs import Runs
from rag_nodes.parsers.topics.units import TopicUnits
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WINDOW = 1000
"""Sentences embedded in one call."""
_PENALTY = 1.0
"""What one more part has to gain, as `SemanticNodeParser` has it by default."""


class Meaning:
    """Groups the sentences of stretches by their vectors, which arrive in windows.

    Args:
        splitter: the text and its sizes.
        stretches: what to cut; code over the size and what fits anyway is passed over.
        least: tokens below which a part joins a neighbour where both fit.
        encoding: tokenizer of the text.
    """

    def __init__(
        self, splitter: Splitter, stretches: Sequence[Stretch], *, least: int, encoding: str
    ) -> None:
        self._splitter = splitter
        # Room for what neighbours share; at least one token, so that any sentence may stand alone.
        most = max(1, splitter.size - splitter.overlap)
        self._units: list[TopicUnits] = []
        self._runs: dict[Stretch, Runs] = {}
        for stretch in stretches:
            if stretch.is_code or splitter.packer.count(*stretch[:2]) <= splitter.size:
                continue
            view = _view(splitter.packer, stretch, encoding)
            self._units.append(units := TopicUnits(view, splitter.size))
            self._runs[stretch] = Runs(units, most, min(least, most), _PENALTY)
        self._waiting = [(runs, len(runs.units)) for runs in self._runs.values()][::-1]

    def __len__(self) -> int:
        """Sentences to embed."""
        return sum(map(len, self._units))

    def texts(self) -> Iterator[list[str]]:
        """The sentences to embed, a window at a time."""
        every = (text for units in self._units for texts in units.texts(WINDOW) for text in texts)
        while window := list(islice(every, WINDOW)):
            yield window

    def add(self, rows: NDArray[np.float64]) -> None:
        """The vectors of the next window, each of length 1."""
        while len(rows):
            runs, missing = self._waiting.pop()
            runs.add(rows[:missing])
            if len(rows) < missing:
                self._waiting.append((runs, missing - len(rows)))
            rows = rows[missing:]

    def parts(self, stretch: Stretch) -> Iterator[Span]:
        """The parts of a stretch, of the closest sentences; each may share some with the last."""
        splitter, runs = self._splitter, self._runs.get(stretch)
        if runs is None:
            yield from splitter.parts(stretch)
            return
        before: Span | None = None
        for first, last in runs.pieces():
            span = runs.units.span(first, last)
            if splitter.packer.count(*span) > splitter.size:
                # Where the sum over the text misses the count of this very span.
                *others, before = splitter.parts(Stretch(*span, is_code=False))
                yield from others
            else:
                before = self._sharing(before, span)
            yield before

    def _sharing(self, before: Span | None, span: Span) -> Span:
        """The part, begun as many sentences earlier as the overlap and the size allow."""
        splitter = self._splitter
        for start in splitter.shared(before) if before else ():
            if splitter.packer.count(start, span.end) <= splitter.size:
                return Span(start, span.end)
        return span


def _view(packer: Packer, stretch: Stretch, encoding: str) -> Packer:
    """The blocks of a stretch, counted in the text they are part of."""
    view = Packer(
        packer.text,
        encoding=encoding,
        language=packer.language,
        text_format=packer.text_format,
    )
    blocks = packer.blocks_between(stretch.start, stretch.end)
    vars(view).update(tokens=packer.tokens, blocks=blocks)
    return view
