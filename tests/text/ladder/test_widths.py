"""How much the words of the question weigh in long windows and in short ones."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from rag_nodes.text.ladder import Run, best_passages
from rag_nodes.text.ladder.counting import Units
from rag_nodes.text.ladder.widths import Widths
from rag_nodes.text.spans import Span


def test_of_two_sentences_with_a_word_the_short_one_weighs_more_as_bm25_has_it() -> None:
    letters, counts = np.array([100.0, 300.0, 200.0]), np.array([[1.0], [1.0], [0.0]])
    spans = [Span(0, 100), Span(101, 401), Span(402, 602)]
    units = Units(np.zeros(3, np.intp), spans, letters, counts)
    alone = Widths(units).scores(0) / 2  # the widest window is that of the unit alone, too
    rarity = log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    assert alone.tolist() == pytest.approx(
        [
            rarity * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 100 / 200)),
            rarity * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 300 / 200)),
            0.0,
        ]
    )


def test_a_short_sentence_with_the_word_is_read_before_a_long_one_that_has_it_twice() -> None:
    long = (
        "In the long years before the war the old dog of the harbour master slept on the quay "
        "beside another dog until the evening boat came back from the island with the mail."
    )
    runs = [Run("long", 0, long), Run("short", 0, "The dog travels free.")]
    best, *_ = best_passages("What about a dog?", runs, 60)
    assert runs[best.run].document == "short"
