"""What a visitor types in, and what of it reaches parsers and models."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from rag_nodes.apps.options import OPTIONS, Choice, default_of, effective_settings, make_parsers
from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.settings import Settings

SERVER = SecretStr("sk-server-canary")
TYPED = SecretStr("sk-typed-canary")


def test_nothing_typed_leaves_the_settings_of_the_server(settings: Settings) -> None:
    assert effective_settings(settings, Choice(("fixed",))) is settings


def test_a_typed_key_turns_on_the_online_models_and_replaces_the_servers_key() -> None:
    server = Settings(embedding="lexical", llm="extractive", api_key=SERVER)
    effective = effective_settings(server, Choice(("fixed",), api_key=TYPED))
    assert (effective.embedding, effective.llm) == ("openai", "openai")
    assert effective.api_key == TYPED


def test_the_servers_key_is_never_sent_to_an_address_a_visitor_typed() -> None:
    server = Settings(api_key=SERVER)
    choice = Choice(("fixed",), api_base="https://evil.example/v1")
    effective = effective_settings(server, choice, local_models=True)
    assert effective.api_base == "https://evil.example/v1"
    assert effective.api_key is None


def test_a_key_typed_in_does_not_show_in_the_choice() -> None:
    assert "canary" not in repr(Choice(("fixed",), api_key=TYPED))


def test_an_address_that_is_none_is_refused(settings: Settings) -> None:
    with pytest.raises(ConfigurationError, match="http"):
        effective_settings(settings, Choice(("fixed",), api_base="ftp://example"))


def test_thresholds_of_the_server_survive_a_typed_model(settings: Settings) -> None:
    effective = effective_settings(settings, Choice(("fixed",), llm_model="other"))
    assert effective.llm_model == "other"
    assert "high_similarity" not in effective.model_fields_set


@pytest.mark.parametrize("preset", OPTIONS)
def test_every_slider_starts_at_the_preset_and_the_parser_takes_both_of_its_ends(
    preset: str,
) -> None:
    assert preset in PRESETS
    for option in OPTIONS[preset]:
        start = default_of(preset, option)
        assert option.minimum <= start <= option.maximum
        others = {"chunk_overlap": 0, "min_chunk_size": 0}
        known = {name: 0 for name in others if name in PRESETS[preset].parser.model_fields}
        for end in (option.minimum, option.maximum):
            size = {"chunk_size": 4000} if option.field != "chunk_size" else {}
            get_parser(preset, **{**known, **size, option.field: end})


def test_options_reach_only_their_own_parser() -> None:
    choice = Choice(("fixed", "heading"), options={"fixed": {"chunk_size": 300}})
    parsers = make_parsers(choice, None)
    assert parsers["fixed"].to_dict()["chunk_size"] == 300
    assert parsers["heading"] == get_parser("heading")


def test_more_overlap_than_size_is_refused_in_words() -> None:
    choice = Choice(("fixed",), options={"fixed": {"chunk_size": 100, "chunk_overlap": 200}})
    with pytest.raises(ConfigurationError, match="must be smaller"):
        make_parsers(choice, None)
