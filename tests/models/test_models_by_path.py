"""Any embedding model and LLM of LlamaIndex by import path, from settings and nowhere else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import openai
import pytest
from own_models import LettersEmbedding, ParrotLLM

from rag_nodes.errors import (
    ConfigurationError,
    CredentialsError,
    MissingPackageError,
    RagNodesError,
)
from rag_nodes.models import Models, check_models, choose_models, get_embedding
from rag_nodes.models.openai import OpenAIServerEmbedding
from rag_nodes.settings import Settings
from rag_nodes.workspace.options import Choice, effective_settings

if TYPE_CHECKING:
    from pathlib import Path

    from openai_server import OpenAIServer

KEY = "sk-canary-91f3"
EMBEDDING, LLM = "own_models:LettersEmbedding", "own_models:ParrotLLM"

pytest_plugins = ["fixtures_openai"]
pytestmark = pytest.mark.usefixtures("no_configuration")


def test_classes_are_named_in_the_settings_and_made_with_their_options() -> None:
    settings = Settings(
        embedding=EMBEDDING,
        embedding_options={"letters": "xyz"},
        llm=LLM,
        llm_options={"says": "So it is."},
    )
    models = choose_models(settings)
    assert isinstance(models.embedding, LettersEmbedding)
    assert models.embedding.get_text_embedding("xylophone") == [2.0, 2.0, 1.0]
    assert isinstance(models.llm, ParrotLLM)
    assert models.llm.complete("?").text == "So it is."


def test_what_was_named_by_its_path_is_named_in_the_report() -> None:
    models = choose_models(Settings(embedding=EMBEDDING, llm=LLM))
    assert models.describe() == (
        "embedding: LettersEmbedding (LettersEmbedding) · answers: parrot (ParrotLLM)"
    )
    assert not models.offline
    check_models(models)


def test_the_mocks_of_llama_index_are_models_like_any() -> None:
    settings = Settings(
        embedding="llama_index.core:MockEmbedding",
        embedding_options={"embed_dim": 8},
        llm="llama_index.core.llms:MockLLM",
    )
    models = choose_models(settings)
    assert len(models.embedding.get_text_embedding("hello")) == 8
    assert models.describe().endswith("answers: MockLLM (MockLLM)")


def test_llama_indexs_own_class_for_compatible_servers_answers_too(
    openai_server: OpenAIServer,
) -> None:
    options = {
        "model": "m",
        "api_base": openai_server.base,
        "api_key": "none",
        "is_chat_model": True,
    }
    settings = Settings(llm="llama_index.llms.openai_like:OpenAILike", llm_options=options)
    models = choose_models(settings)
    assert models.llm is not None
    assert models.llm.complete("question").text == openai_server.answer
    assert models.answer_name == "m"


def test_a_key_that_the_client_of_a_foreign_class_misses_is_called_a_key() -> None:
    # Which of its versions miss an empty key differs; what they raise does not.
    class Keyless(LettersEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            raise openai.OpenAIError(f"Missing credentials for {text}")

    with pytest.raises(CredentialsError, match="no key"):
        check_models(Models.of(embed_model=Keyless()))


def test_options_come_from_the_environment_the_file_and_flags_one_by_one(
    no_configuration: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = 'embedding = "own_models:LettersEmbedding"\n[embedding_options]\nletters = "file"\n'
    (no_configuration / "rag_nodes.toml").write_text(file + "num_workers = 7\n", encoding="utf-8")
    monkeypatch.setenv("RAG_NODES_EMBEDDING_OPTIONS", f'{{"letters": "env", "api_key": "{KEY}"}}')
    model = choose_models(Settings(embedding_options={"letters": "flag"})).embedding
    assert isinstance(model, LettersEmbedding)
    assert (model.letters, model.api_key, model.num_workers) == ("flag", KEY, 7)


def test_options_of_openais_own_class_reach_the_server(openai_server: OpenAIServer) -> None:
    settings = Settings(
        embedding="openai", api_base=openai_server.base, embedding_options={"dimensions": 16}
    )
    assert len(choose_models(settings).embedding.get_text_embedding("hello")) == 16


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"embedding": "no_such_module:Model"}, "cannot be imported.*install the package"),
        ({"embedding": "own_models:Nothing"}, "has no 'Nothing'"),
        ({"embedding": LLM}, "ParrotLLM' is no BaseEmbedding"),
        ({"llm": EMBEDDING}, "LettersEmbedding' is no LLM"),
        ({"embedding_options": {"letters": "x"}}, "lexical takes no options"),
        ({"llm": "extractive", "llm_options": {"a": 1}}, "extractive takes no options"),
        ({"embedding": EMBEDDING, "embedding_options": {"letters": 7}}, "LettersEmbedding"),
    ],
)
def test_what_cannot_be_made_is_refused_with_a_reason(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        choose_models(Settings(**values))


@pytest.mark.parametrize("setting", ["embedding", "llm"])
def test_a_class_that_is_no_model_is_never_called(setting: str, no_configuration: Path) -> None:
    left = no_configuration / "left.txt"
    options = f'file = "{left.as_posix()}"\nmode = "w"\n'
    file = no_configuration / "rag_nodes.toml"
    file.write_text(f'{setting} = "io:FileIO"\n[{setting}_options]\n{options}', "utf-8")
    with pytest.raises(ConfigurationError, match="'io:FileIO' is no "):
        choose_models(Settings())
    assert not left.exists()


def test_an_integration_that_is_not_installed_names_its_package() -> None:
    path = "llama_index.embeddings.not_there_yet:NotThereEmbedding"
    with pytest.raises(
        MissingPackageError, match="pip install llama-index-embeddings-not-there-yet"
    ):
        choose_models(Settings(embedding=path))


@pytest.mark.parametrize("value", ["lexicon", "fastembed:", "Class", f"{EMBEDDING}(letters='x')"])
def test_what_names_no_model_is_refused_where_settings_are_read(value: str) -> None:
    with pytest.raises(ConfigurationError, match="module:Class, whose options stand in"):
        Settings(embedding=value)
    with pytest.raises(ConfigurationError, match="module:Class, whose options stand in"):
        Settings(llm=value)


def test_a_key_among_the_options_is_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    given = f'{{"letters": "", "api_key": "{KEY}", "more": {{"access_token": "{KEY}"}}}}'
    monkeypatch.setenv("RAG_NODES_EMBEDDING_OPTIONS", given)
    settings = Settings(embedding=EMBEDDING)
    masked = settings.masked()["embedding_options"]
    assert masked == {"letters": "", "api_key": "****", "more": {"access_token": "****"}}
    assert KEY not in f"{settings!r} {settings}"
    with pytest.raises(RagNodesError, match="LettersEmbedding cannot be made") as refused:
        choose_models(settings)
    assert KEY not in str(refused.value)


def test_a_key_in_the_file_that_is_shared_is_refused(no_configuration: Path) -> None:
    file = no_configuration / "rag_nodes.toml"
    file.write_text(f'[llm_options]\napi_key = "{KEY}"\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"llm_options: api_key.*LLM_OPTIONS") as refused:
        Settings()
    assert KEY not in str(refused.value)


def test_what_is_no_json_in_the_environment_is_refused_without_repeating_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAG_NODES_LLM_OPTIONS", f"api_key={KEY}")
    with pytest.raises(ConfigurationError, match="no JSON object") as refused:
        Settings()
    assert KEY not in str(refused.value)


def test_names_that_come_with_data_import_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    for use in (get_embedding, lambda name: Models.of(embed_model=name)):
        with pytest.raises(ConfigurationError, match="use lexical, openai:<model>"):
            use("this:Model")
    with pytest.raises(ConfigurationError, match="give an LLM of LlamaIndex"):
        Models.of(llm="this:Model")
    assert "this" not in sys.modules


def test_a_path_that_a_visitor_types_is_the_name_of_a_model_and_imports_nothing(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    choice = Choice(
        parsers=("fixed",),
        api_base=openai_server.base,
        embedding_model="this:Model",
        llm_model="this:Model",
    )
    models = choose_models(effective_settings(Settings(), choice, local_models=True))
    assert isinstance(models.embedding, OpenAIServerEmbedding)
    models.embedding.get_query_embedding("hello")
    assert openai_server.asked("embeddings")[0]["model"] == "this:Model"
    assert "this" not in sys.modules


def test_the_options_of_the_servers_models_do_not_go_to_a_visitors_server(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = f'{{"default_headers": {{"Authorization": "Bearer {KEY}"}}}}'
    monkeypatch.setenv("RAG_NODES_EMBEDDING", "openai")
    for name in ("EMBEDDING", "LLM"):
        monkeypatch.setenv(f"RAG_NODES_{name}_OPTIONS", headers)
    choice = Choice(parsers=("fixed",), api_base=openai_server.base)
    models = choose_models(effective_settings(Settings(), choice, local_models=True))
    check_models(models)
    assert {one.authorization for one in openai_server.requests} == {"Bearer none"}
