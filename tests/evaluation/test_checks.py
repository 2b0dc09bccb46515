"""What is wrong with questions is said before anything is measured with them."""

from dataclasses import replace

import pytest
from llama_index.core import Document

from rag_nodes.evaluation.basis import asked_twice
from rag_nodes.evaluation.checks import LARGEST, check_dataset, leakage
from rag_nodes.evaluation.dataset import Dataset, NotLocated, Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import count_tokens

TEXT = "The ferry leaves the northern pier at nine. " + "Passengers wait in the old hall. " * 600
DOCUMENT = Document(text=TEXT, id_="d", metadata={"file_name": "ferry.md"})
GOLD = Passage("d", Span(0, 43))


def dataset(*questions: Question, not_located: tuple[NotLocated, ...] = ()) -> Dataset:
    return Dataset("test", (DOCUMENT,), questions, not_located)


def problems(data: Dataset) -> list[tuple[str, str]]:
    return [(concern.question, concern.problem) for concern in check_dataset(data).concerns]


FAIR = Question("fair", "When does the boat go?", ((GOLD,),))


def test_a_fair_question_raises_no_concern() -> None:
    check = check_dataset(dataset(FAIR))
    assert (check.concerns, check.is_sound, check.questions, check.leakage) == ((), True, 1, 0.0)


def test_four_words_of_five_in_the_answer_leak_and_three_do_not() -> None:
    four = Question("four", "Ferry leaves northern pier tomorrow?", ((GOLD,),))
    three = Question("three", "Ferry leaves southern pier tomorrow?", ((GOLD,),))
    assert leakage(four, dataset(four)) == pytest.approx(0.8)
    assert problems(dataset(four, three)) == [("four", "leakage")]
    assert check_dataset(dataset(four, three)).leakage == pytest.approx(0.7)


def test_a_question_that_only_names_what_it_asks_about_does_not_leak() -> None:
    named = Question("named", "What is a ferry?", ((GOLD,),))
    assert leakage(named, dataset(named)) == 1.0
    assert problems(dataset(named)) == []


def test_a_question_without_words_is_named_and_changes_no_mean() -> None:
    mute = Question("mute", "???", ((GOLD,),))
    leaky = Question("leaky", "When leaves the ferry the northern pier?", ((GOLD,),))
    data = dataset(mute, replace(leaky, draft=True))
    assert problems(data) == [("mute", "no words"), ("leaky", "leakage")]
    assert check_dataset(data).leakage == 1.0
    assert (check_dataset(data).drafts, check_dataset(data).is_sound) == (1, True)


def test_a_question_that_is_asked_twice_is_counted_twice_and_that_is_said() -> None:
    twin = replace(FAIR, id="twin", text="  when does the BOAT go? ")
    assert problems(dataset(FAIR, twin)) == [("twin", "duplicate")]
    assert not check_dataset(dataset(FAIR, twin)).is_sound
    assert problems(dataset(FAIR, replace(twin, within=("d",)))) == []
    detail = check_dataset(dataset(FAIR, twin)).concerns[0].detail
    assert detail == "asks what 'fair' asks; keep one of them"
    assert list(asked_twice(dataset(FAIR, twin).decisive())) == []


def test_a_question_that_is_asked_with_two_answers_is_named_and_counts_twice() -> None:
    other = replace(FAIR, id="other", gold=((Passage("d", Span(44, 80)),),))
    twice = dataset(FAIR, other)
    assert problems(twice) == [("other", "duplicate")]
    assert (
        "give both the same id if an answer needs both" in check_dataset(twice).concerns[0].detail
    )
    assert twice.decisive() == twice
    [words] = asked_twice(twice)
    assert words.startswith("other repeats a question with another answer, and both count. Give")


def test_an_answer_no_chunk_can_hold_is_named() -> None:
    whole = replace(FAIR, gold=((Passage("d", Span(0, len(TEXT))),),))
    assert problems(dataset(whole)) == [("fair", "too long")]
    words = " word" * (LARGEST + 1)
    assert count_tokens(words) == LARGEST + 1
    for size, expected in ((LARGEST, []), (LARGEST + 1, [("fair", "too long")])):
        document = Document(text=words, id_="d")
        gold = Passage("d", Span(0, size * len(" word")))
        assert problems(Dataset("t", (document,), (replace(FAIR, gold=((gold,),)),))) == expected


def test_gold_that_was_found_only_nearly_and_what_was_not_found_are_shown() -> None:
    lost = NotLocated("lost", "Where?", "in the new hall", "it is not in the documents")
    data = dataset(replace(FAIR, confidence=0.9), not_located=(lost,))
    assert problems(data) == [("lost", "not located"), ("fair", "found nearly")]
    without = dataset(FAIR, not_located=(replace(lost, quote=""),))
    details = [check_dataset(each).concerns[0].detail for each in (data, without)]
    assert details == [f"{lost.reason} (quote: '{lost.quote}')", lost.reason]
    assert not check_dataset(data).is_sound
