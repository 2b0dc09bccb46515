"""The length of an answer, and what a number of answers can decide."""

import numpy as np
from llama_index.core.schema import Document

from rag_nodes.evaluation.dataset import Question
from rag_nodes.evaluation.drafts.review import LEAST_WINS, as_long, told
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.sign_flips import SignFlips
from rag_nodes.text.spans import Span

TEXT = "\n\n".join(
    f"# Part {number}\n\nThe first thing of part {number} is this one here. A second follows it."
    f"\n\nMuch later there is a paragraph of its own in part {number}."
    for number in range(5)
)
DOCUMENT = Document(text=TEXT, id_="one")


def test_a_sentence_grows_to_its_paragraph_and_section_and_no_further() -> None:
    start = TEXT.index("The first thing of part 2")
    sentence = Span(start, TEXT.index(" A second", start))
    question = Question("two", "What is the first thing?", ((Passage("one", sentence),),))

    def answer(characters: int) -> str:
        ((passage,),) = as_long(question, {"one": DOCUMENT}, characters).gold
        return passage.span.of(TEXT)

    assert answer(sentence.length) == sentence.of(TEXT)
    assert answer(80).endswith("A second follows it.")
    assert answer(10_000).endswith("of its own in part 2.")


def test_the_card_says_no_more_than_the_test_of_a_report_would_show() -> None:
    for questions in (10, 20):
        for wins in (LEAST_WINS - 1, LEAST_WINS):
            values = np.zeros((questions, 2))
            values[:wins, 0] = 1
            (gap,) = SignFlips(values, [(0, 1)]).intervals
            assert gap.is_significant == (wins == LEAST_WINS)
        assert told(questions)
        assert not told(questions + 1)
