"""What a visitor types in, and what of it reaches parsers and models."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import gradio as gr
import pytest
from pydantic import SecretStr

from rag_nodes.apps.header.controls import BY_BUDGET, BY_COUNT, BY_SENTENCE, Controls, number
from rag_nodes.apps.header.panel import build_header
from rag_nodes.apps.visitors.choice import (
    Choice,
    default_of,
    effective_settings,
    headline_of,
    make_parsers,
    query_options,
)
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.settings import Settings
from rag_nodes.models import choose_models
from rag_nodes.models.openai.client import ServerModel
from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.parsers.offer import ranges_of
from rag_nodes.query import QueryOptions

SERVER = SecretStr("sk-server-canary")
TYPED = SecretStr("sk-typed-canary")


@pytest.fixture(scope="module")
def controls(leaks_collected: Callable[[], AbstractContextManager[None]]) -> Controls:
    with leaks_collected(), gr.Blocks():
        return build_header(Settings(embedding="lexical", llm="extractive"), None).controls


def test_nothing_typed_leaves_the_settings_of_the_server(settings: Settings) -> None:
    assert effective_settings(settings, Choice(("fixed",))) is settings


def test_a_typed_key_turns_on_the_online_models_and_replaces_the_servers_key() -> None:
    server = Settings(embedding="lexical", llm="extractive", api_key=SERVER)
    effective = effective_settings(server, Choice(("fixed",), api_key=TYPED))
    assert (effective.embedding, effective.llm) == ("openai", "openai")
    assert effective.api_key == TYPED


@pytest.mark.parametrize("address", [None, "https://models.example/v1"])
def test_a_typed_key_is_for_the_address_that_the_operator_set(address: str | None) -> None:
    server = Settings(
        api_base=address,
        api_key=SERVER,
        embedding_options={"api_base": "https://other.example/v1"},
        llm_options={"api_base": "https://other.example/v1"},
    )
    models = choose_models(effective_settings(server, Choice(("fixed",), api_key=TYPED)))
    for model in (models.embedding, models.llm):
        assert isinstance(model, ServerModel)
        assert (model.api_base, model.api_key) == (address, TYPED.get_secret_value())


def test_a_key_typed_in_does_not_show_in_the_choice() -> None:
    assert "canary" not in repr(Choice(("fixed",), api_key=TYPED))


def test_thresholds_of_the_server_survive_a_typed_model(settings: Settings) -> None:
    effective = effective_settings(settings, Choice(("fixed",), llm_model="other"))
    assert effective.llm_model == "other"
    assert "high_similarity" not in effective.model_fields_set


@pytest.mark.parametrize(
    ("way", "granularity"),
    [(BY_BUDGET, "chunks"), (BY_SENTENCE, "sentences"), (BY_COUNT, "chunks")],
)
def test_chunks_are_compared_unless_the_best_sentences_are_chosen(
    way: str, granularity: str, controls: Controls, settings: Settings
) -> None:
    values = [component.value for component in controls.inputs]
    at = controls.inputs.index(controls.answering["way"])
    assert values[at] == BY_BUDGET
    values[at] = way
    options = query_options(QueryOptions(**settings.answering()), controls.choice(values))
    assert options.granularity == granularity
    assert (options.top_k is None) == (way != BY_COUNT)
    assert (options.budget is None) == (way == BY_COUNT)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_slider_starts_at_the_preset_and_the_parser_takes_both_of_its_ends(
    preset: str,
) -> None:
    for option in ranges_of(PRESETS[preset]):
        assert option.minimum <= default_of(PRESETS[preset], option) <= option.maximum
        small = {"chunk_overlap": 0, "min_chunk_size": 0, "split_only_if_over": 0}
        known = {name: 0 for name in small if name in PRESETS[preset].parser.model_fields}
        wide = {} if option.field.endswith("chunk_size") else {"chunk_size": 8000}
        if preset == "parent-child":
            wide = {}
        for end in (option.minimum, option.maximum):
            values = {preset: {**known, **wide, option.field: end}}
            make_parsers(Choice((preset,), options=values), None)


@pytest.mark.parametrize("preset", PRESETS)
def test_with_its_sliders_untouched_a_parser_is_the_preset(preset: str) -> None:
    ranges = ranges_of(PRESETS[preset])
    values = {preset: {one.field: number(default_of(PRESETS[preset], one)) for one in ranges}}
    (parser,) = make_parsers(Choice((preset,), options=values), None).values()
    assert parser == get_parser(preset)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_says_its_options_under_its_title(preset: str) -> None:
    parser = get_parser(preset)
    headline = headline_of(preset, {"class": type(parser).__name__, **parser.to_dict()})
    value = default_of(PRESETS[preset], ranges_of(PRESETS[preset])[0])
    if preset != "web":  # whose first slider is a condition, not a size
        assert f"{value:g}" in headline


def test_a_key_of_a_nested_option_leaves_the_other_keys_as_they_are() -> None:
    choice = Choice(("parent-child",), options={"parent-child": {"child_options.chunk_size": 100}})
    options = make_parsers(choice, None)["parent-child"].to_dict()
    before = get_parser("parent-child").to_dict()
    assert options["child_options"] == {**before["child_options"], "chunk_size": 100}
    assert options["parent_options"] == before["parent_options"]


def test_what_was_chosen_is_shown_again_but_no_key(controls: Controls) -> None:
    chosen = Choice(
        ("fixed", "page"),
        options={"fixed": {"chunk_size": 700, "chunk_overlap": 100}, "page": {}},
        top_k=7,
        budget=None,
        granularity="chunks",
        api_key=TYPED,
        temperature=0.5,
        max_output_tokens=99,
    )
    shown = controls.restored(chosen)
    assert TYPED.get_secret_value() not in repr(shown)
    values = [
        update.get("value", component.value)
        for component, update in zip(controls.inputs, shown, strict=True)
    ]
    again = replace(controls.choice(values), api_key=TYPED)
    options = {"fixed": again.options["fixed"]}
    assert options == {"fixed": chosen.options["fixed"]}
    assert replace(again, options={}) == replace(chosen, options={})


def test_more_columns_than_fit_are_refused_and_not_left_out() -> None:
    with pytest.raises(ConfigurationError, match=r"5 columns chosen, at most 4 .*: untick 1"):
        make_parsers(Choice(tuple(PRESETS)[:5]), None)


def test_only_the_sliders_of_chosen_parsers_are_shown(controls: Controls) -> None:
    said, *groups = controls.shown(["page", "fixed", "no-such-parser"])
    visible = [name for name, group in zip(controls.groups, groups, strict=True) if group.visible]
    assert visible == ["fixed", "page"]
    assert "2 columns of 4" in said
    assert "untick 1" in controls.shown(list(PRESETS)[:5])[0]


def test_options_reach_only_their_own_parser() -> None:
    choice = Choice(("fixed", "heading"), options={"fixed": {"chunk_size": 300}})
    parsers = make_parsers(choice, None)
    assert parsers["fixed"].to_dict()["chunk_size"] == 300
    assert parsers["heading"] == get_parser("heading")


def test_chunks_that_share_nearly_everything_are_refused_in_words() -> None:
    choice = Choice(("fixed",), {"fixed": {"chunk_size": 100, "chunk_overlap": 99}})
    with pytest.raises(ConfigurationError, match="three quarters"):
        make_parsers(choice, None)


def test_more_overlap_than_size_is_refused_in_words() -> None:
    choice = Choice(("fixed",), options={"fixed": {"chunk_size": 100, "chunk_overlap": 200}})
    with pytest.raises(ConfigurationError, match="must be smaller"):
        make_parsers(choice, None)


def test_what_was_chosen_of_cutoff_temperature_and_length_is_what_runs(settings: Settings) -> None:
    choice = Choice(("fixed",), similarity_cutoff=0.3, temperature=1.1, max_output_tokens=99)
    assert query_options(QueryOptions(**settings.answering()), choice).similarity_cutoff == 0.3
    effective = effective_settings(settings, choice)
    assert (effective.temperature, effective.max_output_tokens) == (1.1, 99)
    with pytest.raises(ConfigurationError, match="at most 1024"):
        effective_settings(settings, Choice(("fixed",), max_output_tokens=5000))
