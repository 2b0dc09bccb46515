"""The length of an answer, and what a number of answers can decide."""

import numpy as np
from llama_index.core.schema import Document

from rag_nodes.evaluation.drafts.review import LEAST_WINS, resized, told
from rag_nodes.evaluation.sign_flips import SignFlips
from rag_nodes.text.spans import Span

TEXT = "\n\n".join(
    f"# Part {number}\n\nThe first thing of part {number} is this one here. A second follows it."
    f"\n\nMuch later there is a paragraph of its own in part {number}."
    for number in range(5)
)
DOCUMENT = Document(text=TEXT, id_="one")


def test_an_answer_grows_to_its_paragraph_and_section_and_shrinks_to_its_sentence() -> None:
    start = TEXT.index("The first thing of part 2")
    sentence = Span(start, TEXT.index(" A second", start))
    paragraph = resized(DOCUMENT, sentence, 1)
    section = resized(DOCUMENT, paragraph, 1)
    assert paragraph.of(TEXT).endswith("follows it.")
    assert section.of(TEXT).endswith("of its own in part 2.")
    assert resized(DOCUMENT, section, 1) == section
    assert resized(DOCUMENT, section, -1) == paragraph
    assert resized(DOCUMENT, paragraph, -1) == sentence
    assert resized(DOCUMENT, sentence, -1) == sentence


def test_the_card_says_no_more_than_the_test_of_a_report_would_show() -> None:
    for questions in (10, 20):
        for wins in (LEAST_WINS - 1, LEAST_WINS):
            values = np.zeros((questions, 2))
            values[:wins, 0] = 1
            (gap,) = SignFlips(values, [(0, 1)]).intervals
            assert gap.is_significant == (wins == LEAST_WINS)
        assert told(questions)
        assert not told(questions + 1)
