"""How long an answer is by one key, and which part of a document is labelled next."""

import numpy as np
from llama_index.core.schema import Document

from rag_nodes.evaluation.dataset import Question
from rag_nodes.evaluation.drafts.review import LEAST_WINS, next_to_ask, resized, stretches, told
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


def test_the_next_part_is_the_farthest_from_all_answers_until_each_has_one() -> None:
    parts = stretches([DOCUMENT])
    assert [one.heading for one in parts] == [f"Part {number}" for number in range(5)]
    asked = [Question("first", "?", ((parts[0].passage,),))]
    while found := next_to_ask(parts, asked, {"one": TEXT}):
        asked.append(found)
    order = [one.text for one in asked[1:]]
    assert order[:2] == ["Part 4", "Part 2"]
    assert sorted(order) == ["Part 1", "Part 2", "Part 3", "Part 4"]


def test_a_document_without_answers_comes_before_the_rest_of_another() -> None:
    other = Document(text="Speech has no heading at all, and goes on as it likes. " * 60, id_="two")
    parts = stretches([DOCUMENT, other])
    asked = [Question("first", "?", ((parts[0].passage,),))]
    found = next_to_ask(parts, asked, {"one": TEXT, "two": other.text})
    assert found is not None
    assert (found.document, found.draft) == ("two", True)
    assert found.text.endswith("that this answers?")


def test_the_card_says_no_more_than_the_test_of_a_report_would_show() -> None:
    for questions in (10, 20):
        for wins in (LEAST_WINS - 1, LEAST_WINS):
            values = np.zeros((questions, 2))
            values[:wins, 0] = 1
            (gap,) = SignFlips(values, [(0, 1)]).intervals
            assert gap.is_significant == (wins == LEAST_WINS)
        assert told(questions)
        assert not told(questions + 1)
