"""Questions to a comparison: each stands alone, unless it is asked as a follow-up."""

import asyncio
from pathlib import Path

import pytest
from plant import QUESTION, offline_models, scripted_models

from rag_nodes.core.errors import ConfigurationError, ModelConnectionError
from rag_nodes.evaluation.compare import Comparison
from rag_nodes.models import Models
from rag_nodes.query import QueryOptions
from rag_nodes.readers import read
from rag_nodes.text.tokens import count_tokens

FOLLOW_UP = "How much power does it make?"


def over(manual: Path, models: Models) -> Comparison:
    return Comparison({"fixed": "fixed"}, documents=read(manual), models=models)


def test_a_question_to_a_comparison_stands_alone_by_default(manual: Path) -> None:
    with over(manual, offline_models()) as comparison:
        comparison.ask(QUESTION)
        assert comparison.ask("Why is it?").question == "Why is it?"


def test_without_an_llm_the_previous_question_stands_before_a_follow_up(manual: Path) -> None:
    with over(manual, offline_models()) as comparison:
        comparison.ask(QUESTION)
        second = comparison.ask(FOLLOW_UP, follow_up=True)
        assert second.question == f"{QUESTION} {FOLLOW_UP}"
        with comparison.stream("Why?", follow_up=True) as stream:
            assert stream.wait().question == f"{QUESTION} {FOLLOW_UP} Why?"
        given = asyncio.run(comparison.aask("Why?", follow_up="Who checks the pump?"))
        assert given.question == "Who checks the pump? Why?"


def test_an_llm_condenses_a_follow_up_with_the_answer_before(manual: Path) -> None:
    models = scripted_models("A battery.", "How much power does the generator make?", "Two MW.")
    with over(manual, models) as comparison:
        comparison.ask(QUESTION)
        report = comparison.ask(FOLLOW_UP, follow_up=True)
        assert report.question == "How much power does the generator make?"
        assert report.columns[0].answer.question == report.question
        condensing = models.llm.prompts[1]
        assert "A battery." in condensing
        assert FOLLOW_UP in condensing


def test_every_answer_counts_what_condensing_the_follow_up_took(manual: Path) -> None:
    models = scripted_models("A battery.", "How much power does the generator make?", "Two MW.")
    options = QueryOptions(prices={"scripted-1": (1.0, 1.0)})
    document = read(manual)
    with Comparison(
        {"fixed": "fixed"}, documents=document, models=models, options=options
    ) as comparison:
        comparison.ask(QUESTION)
        [column] = comparison.ask(FOLLOW_UP, follow_up=True).columns
    _, condensing, last = models.llm.prompts
    answer = column.answer
    assert answer.tokens_in == count_tokens(condensing) + count_tokens(last)
    assert answer.cost == pytest.approx((answer.tokens_in + answer.tokens_out) / 1e6)


def test_a_stream_that_was_read_to_its_end_can_be_followed_up(manual: Path) -> None:
    with over(manual, offline_models()) as comparison:
        with comparison.stream(QUESTION) as stream:
            assert [*stream]
        assert comparison.ask("Why?", follow_up=True).question == f"{QUESTION} Why?"


def test_a_question_is_noted_once_however_often_it_is_reported(manual: Path) -> None:
    with over(manual, offline_models()) as comparison:
        with comparison.stream(QUESTION) as stream:
            stream.wait()
            stream.report()
        assert [question for question, _ in comparison.turns] == [QUESTION]


def test_a_question_that_no_column_has_answered_cannot_be_followed_up(manual: Path) -> None:
    models = scripted_models(*[ConnectionError("gone")] * 4)
    with over(manual, models) as comparison:
        with comparison.stream(QUESTION) as stream:
            assert [*stream]
        with pytest.raises(ConfigurationError, match="no earlier question"):
            comparison.ask(FOLLOW_UP, follow_up=True)


def test_a_follow_up_needs_an_earlier_question(manual: Path) -> None:
    with over(manual, offline_models()) as comparison:
        with pytest.raises(ConfigurationError, match="no earlier question here to follow up"):
            comparison.ask(FOLLOW_UP, follow_up=True)
        with pytest.raises(ConfigurationError, match="follow_up is empty"):
            comparison.ask(FOLLOW_UP, follow_up=" ")


def test_a_follow_up_that_cannot_be_condensed_says_which_model_failed(manual: Path) -> None:
    with over(manual, scripted_models("A battery.", ConnectionError("gone"))) as comparison:
        comparison.ask(QUESTION)
        with pytest.raises(ModelConnectionError, match="ScriptedLLM"):
            comparison.stream(FOLLOW_UP, follow_up=True)
