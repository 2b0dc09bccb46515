"""The table `[answers]` of `rag_nodes.toml`, and what it makes of an engine's options."""

from math import inf, nan
from pathlib import Path
from typing import get_args

import pytest

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.settings import Settings
from rag_nodes.core.settings.answers import ANSWER_PRESETS, AnswerPreset
from rag_nodes.query import QueryOptions
from rag_nodes.query.options import READ_IN, STEP_WORDS


def test_without_a_table_the_library_decides(no_configuration: Path) -> None:
    assert not list(no_configuration.iterdir())
    assert QueryOptions(**Settings().answering()) == QueryOptions()


def test_the_table_becomes_the_options_of_an_engine(no_configuration: Path) -> None:
    (no_configuration / "rag_nodes.toml").write_text(
        "top_k = 4\n[answers]\nmode = 'dense'\nstep_words = ['passaggi']\nstep_factor = 3\n"
        "context_window = 4096\ncache_ttl_hours = 0\n[answers.prices]\n'my-model' = [1, 2.5]\n"
    )
    settings = Settings()
    assert settings.top_k == 4
    options = QueryOptions(**settings.answering(), top_k=settings.top_k)
    assert options.mode == "dense"
    assert options.step_words == ("passaggi",)
    assert options.prices == {"my-model": (1.0, 2.5)}
    assert (options.step_factor, options.context_window, options.cache_ttl_hours) == (3, 4096, 0)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mode = 'psychic'", "answers.mode"),
        ("colour = 'red'", "answers.colour"),
        ("step_factor = 0.5", "answers.step_factor"),
        ("prices = {m = [1]}", "answers.prices.m"),
        ("prices = {m = [-1, 0]}", "answers.prices.m.0"),
    ],
)
def test_a_mistake_in_the_table_is_named(no_configuration: Path, line: str, words: str) -> None:
    (no_configuration / "rag_nodes.toml").write_text(f"[answers]\n{line}\n")
    with pytest.raises(ConfigurationError, match=rf"rag_nodes\.toml: {words}"):
        Settings()


def test_the_presets_retrieve_what_their_source_says() -> None:
    defaults = {}
    for name in ANSWER_PRESETS:
        settings = Settings(answer_preset=name)
        options = QueryOptions(**settings.answering(), budget=settings.budget, top_k=settings.top_k)
        usual, more = (options.chunks(widened=widened) for widened in (False, True))
        defaults[name] = (options.budget, usual, more, options.similarity_cutoff)
    assert defaults == {
        "workbench": (None, 5, 10, None),
        "crawl": (None, 3, 6, 0.3),
        "pdf-qa": (None, 10, 50, 0.2),
    }
    assert set(ANSWER_PRESETS) == set(get_args(AnswerPreset))
    usual = QueryOptions()
    assert (usual.budget, usual.chunks(widened=False)) == (1500, READ_IN)


def test_an_option_of_the_wrong_type_or_range_is_refused_in_words() -> None:
    for options, words in (
        ({"budget": 0}, "budget"),
        ({"context_window": 0}, "context_window"),
        ({"step_factor": 0.9}, "step_factor"),
        ({"cache_ttl_hours": -1}, "cache_ttl_hours"),
        ({"expand": "sideways"}, "auto, none or neighbours"),
        ({"budget": nan}, "budget must be a whole number"),
        ({"budget": "1500"}, "budget must be a whole number"),
        ({"budget": True}, "budget must be a whole number"),
        ({"top_k": 1.5}, "top_k must be a whole number"),
        ({"top_k": 0}, "top_k must be at least 1"),
        ({"similarity_cutoff": nan}, "similarity_cutoff must be a number"),
        ({"similarity_cutoff": 1.2}, "similarity_cutoff must be between -1 and 1"),
        ({"similarity_cutoff": "0.3"}, "similarity_cutoff must be a number"),
        ({"step_factor": inf}, "step_factor must be a number"),
        ({"cache_ttl_hours": nan}, "cache_ttl_hours must be a number"),
        ({"mode": "psychic"}, "choose hybrid, dense or sparse"),
        ({"mode": ["dense"]}, "choose hybrid, dense or sparse"),
        ({"fusion": "vote"}, "choose score or rank"),
        ({"step_words": 5}, "step_words must be a list of texts"),
        ({"step_words": [1]}, "step_words must be a list of texts"),
        ({"prices": {"m": 1}}, "prices of 'm'"),
        ({"prices": {"m": (1, nan)}}, "prices of 'm'"),
        ({"prices": [("m", 1, 2)]}, "prices must map"),
        ({"filter": {"file_name": "a"}}, "filter must be a Filter"),
        ({"rerank": "model"}, "rerank must be a function"),
        ({"retrieval_only": "no"}, "retrieval_only must be a bool"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            QueryOptions(**options)
    assert "how do i" in STEP_WORDS
