"""The question's words, counted in sentences and in the headings above them."""

from __future__ import annotations

from rag_nodes.text.ladder import Read, Run, best_passages
from rag_nodes.text.ladder.counting import units_of

PUMPS = "# Ferry\n\nIt was built long ago.\n\nThe ferry has a deck.\n\nIt is blue."


def test_a_word_in_a_heading_counts_half_for_all_that_stands_under_it() -> None:
    units = units_of("Which ferry?", [Run("boats", 0, PUMPS)])
    texts = [span.of(PUMPS) for span in units.spans]
    assert texts[1:] == ["The ferry has a deck.", "It is blue."]
    assert units.counts[1:, 0].tolist() == [1.5, 0.5]


def test_a_sentence_with_the_word_is_read_before_one_with_the_word_only_in_its_heading() -> None:
    runs = [
        Run("above", 0, "# Ferry\n\nIt was built long ago.\n\nThe deck is blue today."),
        Run("own", 0, "# Boats\n\nIt was built long ago.\n\nThe ferry is blue too."),
    ]
    blue = [one for one in best_passages("A blue ferry?", runs, 30) if "blue" in _text(runs, one)]
    assert runs[blue[0].run].document == "own"


def _text(runs: list[Run], one: Read) -> str:
    return runs[one.run].text[slice(*one.best)]
