"""Settings in, models out: names, keys, options, and any class of LlamaIndex by its import path."""

import sys
from pathlib import Path
from typing import Any

import openai
import openai_server as faults
import pytest
from openai_server import OpenAIServer
from own_models import LettersEmbedding, ParrotLLM
from pydantic import SecretStr

from rag_nodes.apps.visitors.columns import ColumnsRequest
from rag_nodes.core.errors import (
    ConfigurationError,
    CredentialsError,
    MissingExtraError,
    MissingPackageError,
    ModelResponseError,
    RagNodesError,
    RateLimitedError,
)
from rag_nodes.core.settings import Settings
from rag_nodes.models import check_models, choose_models, failure_of, get_embedding
from rag_nodes.models.openai import OpenAIServerEmbedding

KEY = "sk-canary-77aa"
EMBEDDING, LLM = "own_models:LettersEmbedding", "own_models:ParrotLLM"
LIKE = "llama_index.llms.openai_like:OpenAILike"

pytest_plugins = ["fixtures_openai"]
pytestmark = pytest.mark.usefixtures("no_configuration")


def server_settings(server: OpenAIServer, key: str = KEY, **values: object) -> Settings:
    return Settings(api_base=server.base, api_key=SecretStr(key), **values)


# --- names and keys -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "offline", "described"),
    [
        ({}, True, "embedding: lexical-1024 (offline) · answers: extractive (offline)"),
        (
            {"api_key": KEY},
            False,
            "embedding: text-embedding-3-small (OpenAI) · answers: gpt-4o-mini (OpenAI)",
        ),
        (
            {"api_key": KEY, "embedding": "lexical", "llm_model": "x"},
            False,
            "embedding: lexical-1024 (offline) · answers: x (OpenAI)",
        ),
        (
            {"embedding": EMBEDDING, "llm": LLM},
            False,
            "embedding: LettersEmbedding (LettersEmbedding) · answers: parrot (ParrotLLM)",
        ),
    ],
)
def test_the_key_or_a_name_chooses_the_models_and_they_say_which(
    values: dict[str, Any], offline: bool, described: str
) -> None:
    models = choose_models(Settings(**values))
    assert (models.offline, models.describe()) == (offline, described)


def test_the_same_model_behind_another_server_is_another_vector_space(
    openai_server: OpenAIServer,
) -> None:
    models = choose_models(server_settings(openai_server))
    host = openai_server.base.removeprefix("http://")
    assert models.embedding_name == f"text-embedding-3-small@{host}"
    assert openai_server.base in models.describe()


@pytest.mark.parametrize("field", ["embedding", "llm"])
def test_openai_without_a_key_is_refused_before_any_request(field: str) -> None:
    with pytest.raises(CredentialsError, match="OPENAI_API_KEY"):
        choose_models(Settings(**{field: "openai"}))
    with pytest.raises(CredentialsError):
        get_embedding("openai:some-model")


@pytest.mark.parametrize("key", ["key-of-another-vendor", "sk-with blank", "sk-\u2039quoted\u203a"])
def test_malformed_keys_are_refused_without_repeating_them(key: str) -> None:
    with pytest.raises(CredentialsError) as caught:
        choose_models(Settings(api_key=SecretStr(key)))
    assert key not in str(caught.value)


def test_compatible_servers_choose_their_own_keys_or_do_without(
    openai_server: OpenAIServer,
) -> None:
    choose_models(server_settings(openai_server, key="any-key")).embedding.get_query_embedding(
        "hello"
    )
    check_models(
        choose_models(Settings(api_base=openai_server.base, embedding="openai", llm="openai"))
    )
    asked = [(request.path, request.authorization) for request in openai_server.requests]
    assert asked == [
        ("/v1/embeddings", "Bearer any-key"),
        ("/v1/embeddings", "Bearer none"),  # the check asks each model once
        ("/v1/chat/completions", "Bearer none"),
    ]


def test_settings_reach_the_requests(openai_server: OpenAIServer) -> None:
    own = {"llm_model": "mine", "temperature": 0.7, "max_output_tokens": 99}
    options = {"embedding_options": {"dimensions": 16}, "prompt": "{context}?{question}"}
    models = choose_models(server_settings(openai_server, **own, **options))
    assert models.prompt == "{context}?{question}"
    assert models.llm is not None
    models.llm.complete("question")
    (body,) = openai_server.asked("chat/completions")
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("mine", 0.7, 99)
    assert len(models.embedding.get_text_embedding("hello")) == 16


def test_a_missing_client_names_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("rag_nodes.models.openai")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "llama_index.llms.openai_like", None)
    with pytest.raises(MissingExtraError, match=r"rag-nodes\[openai\]"):
        choose_models(Settings(api_key=SecretStr(KEY)))


def test_an_embedding_model_is_found_by_name_which_imports_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert get_embedding("lexical").model_name == "lexical-1024"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert get_embedding("openai:some-model").model_name == "some-model"
    monkeypatch.delitem(sys.modules, "this", raising=False)
    for name in ("", "lexicon", "openai", "openai:", "azure:x", "this:Model"):
        with pytest.raises(ConfigurationError, match="use lexical, openai:<model> or fastembed:<m"):
            get_embedding(name)
    assert "this" not in sys.modules


# --- trying them out ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "error"),
    [(faults.UNAUTHORIZED, CredentialsError), (faults.NO_QUOTA, RateLimitedError)],
)
def test_the_check_finds_a_bad_key_with_one_request(
    fault: faults.Fault, error: type[Exception], openai_server: OpenAIServer
) -> None:
    openai_server.fail(fault, times=9)
    with pytest.raises(error):
        check_models(choose_models(server_settings(openai_server)))
    assert len(openai_server.requests) == 1


def test_our_own_errors_stay_and_words_of_a_server_are_shortened_and_put_on_one_line() -> None:
    asked = OpenAIServerEmbedding()
    own = ModelResponseError("as it was")
    assert failure_of(own, asked, name="m") is own
    # Which of its client's versions miss an empty key differs; what they raise does not.
    missing = failure_of(openai.OpenAIError("Missing credentials"), asked, name="m")
    assert isinstance(missing, CredentialsError)
    assert "no key" in str(missing)
    error = RuntimeError("first\nsecond\x1b[31m " + "x" * 1000)
    message = str(failure_of(error, asked, name="m"))
    assert "first second[31m x" in message
    assert len(message) < 600


# --- classes by their path ----------------------------------------------------------------------


def test_classes_are_named_in_the_settings_and_made_with_their_options(
    openai_server: OpenAIServer,
) -> None:
    own = {"embedding_options": {"letters": "xyz"}, "llm_options": {"says": "So it is."}}
    models = choose_models(Settings(embedding=EMBEDDING, llm=LLM, **own))
    assert isinstance(models.embedding, LettersEmbedding)
    assert models.embedding.get_text_embedding("xylophone") == [2.0, 2.0, 1.0]
    assert isinstance(models.llm, ParrotLLM)
    assert models.llm.complete("?").text == "So it is."
    check_models(models)
    like = {"model": "m", "api_base": openai_server.base, "api_key": "k", "is_chat_model": True}
    theirs = choose_models(Settings(llm=LIKE, llm_options=like))
    assert theirs.llm is not None
    assert theirs.llm.complete("question").text == openai_server.answer
    assert theirs.answer_name == "m"


def test_options_come_from_the_environment_the_file_and_flags_one_by_one(
    no_configuration: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = 'embedding = "own_models:LettersEmbedding"\n[embedding_options]\nletters = "file"\n'
    (no_configuration / "rag_nodes.toml").write_text(file + "num_workers = 7\n", encoding="utf-8")
    monkeypatch.setenv("RAG_NODES_EMBEDDING_OPTIONS", f'{{"letters": "env", "api_key": "{KEY}"}}')
    model = choose_models(Settings(embedding_options={"letters": "flag"})).embedding
    assert isinstance(model, LettersEmbedding)
    assert (model.letters, model.api_key, model.num_workers) == ("flag", KEY, 7)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"embedding": "no_such_module:Model"}, "cannot be imported.*install the package"),
        ({"embedding": "own_models:Nothing"}, "has no 'Nothing'"),
        ({"embedding": LLM}, "ParrotLLM' is not a subclass of BaseEmbedding"),
        ({"llm": EMBEDDING}, "LettersEmbedding' is not a subclass of LLM"),
        ({"embedding_options": {"letters": "x"}}, "lexical takes no options"),
        ({"llm": "extractive", "llm_options": {"a": 1}}, "extractive takes no options"),
        ({"embedding": EMBEDDING, "embedding_options": {"letters": 7}}, "LettersEmbedding"),
        *(
            ({setting: value}, "module:Class, whose options stand in")
            for value in ("lexicon", "fastembed:", "Class", f"{EMBEDDING}(letters='x')")
            for setting in ("embedding", "llm")
        ),
    ],
)
def test_unusable_models_are_refused_with_a_reason(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        choose_models(Settings(**values))


@pytest.mark.parametrize("setting", ["embedding", "llm"])
def test_a_class_that_is_no_model_is_never_called(setting: str, no_configuration: Path) -> None:
    left = no_configuration / "left.txt"
    options = f'file = "{left.as_posix()}"\nmode = "w"\n'
    file = no_configuration / "rag_nodes.toml"
    file.write_text(f'{setting} = "io:FileIO"\n[{setting}_options]\n{options}', "utf-8")
    with pytest.raises(ConfigurationError, match="'io:FileIO' is not a subclass of "):
        choose_models(Settings())
    assert not left.exists()


def test_an_integration_that_is_not_installed_names_its_package() -> None:
    path = "llama_index.embeddings.not_there_yet:NotThereEmbedding"
    with pytest.raises(MissingPackageError, match="install llama-index-embeddings-not-there-yet"):
        choose_models(Settings(embedding=path))


# --- keys among options, and strangers ----------------------------------------------------------


@pytest.mark.parametrize("embedding", [EMBEDDING, "openai"])
def test_a_key_among_the_options_is_shown_nowhere(
    embedding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = '"letters": ""' if embedding == EMBEDDING else '"timeout": "soon"'
    given = f'{{{refused}, "api_key": "{KEY}", "additional_kwargs": {{"access_token": "{KEY}"}}}}'
    monkeypatch.setenv("RAG_NODES_EMBEDDING_OPTIONS", given)
    settings = Settings(embedding=embedding, api_key=KEY)
    masked = settings.masked()["embedding_options"]
    assert (masked["api_key"], masked["additional_kwargs"]) == ("****", {"access_token": "****"})
    assert KEY not in f"{settings!r} {settings}"
    with pytest.raises(RagNodesError, match="Embedding") as caught:
        choose_models(settings)
    assert KEY[:8] not in str(caught.value)


def test_options_that_others_can_read_or_are_no_json_are_refused_without_repeating_them(
    no_configuration: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_NODES_LLM_OPTIONS", f"api_key={KEY}")
    with pytest.raises(ConfigurationError, match="no JSON object") as refused:
        Settings()
    assert KEY not in str(refused.value)
    monkeypatch.delenv("RAG_NODES_LLM_OPTIONS")
    file = no_configuration / "rag_nodes.toml"
    file.write_text(f'[llm_options]\napi_key = "{KEY}"\n', encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"llm_options: api_key.*LLM_OPTIONS") as refused:
        Settings()
    assert KEY not in str(refused.value)


def test_a_visitors_model_imports_nothing_and_gets_no_option_of_the_server(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = f'{{"default_headers": {{"Authorization": "Bearer {KEY}"}}}}'
    monkeypatch.setenv("RAG_NODES_EMBEDDING", "openai")
    for name in ("EMBEDDING", "LLM"):
        monkeypatch.setenv(f"RAG_NODES_{name}_OPTIONS", headers)
    monkeypatch.delitem(sys.modules, "this", raising=False)
    request = ColumnsRequest(
        api_key=SecretStr("typed"), embedding_model="this:Model", llm_model="this:Model"
    )
    settings = Settings(api_base=openai_server.base)
    check_models(choose_models(request.settings(settings)))
    asked = [(request.body["model"], request.authorization) for request in openai_server.requests]
    assert asked == [("this:Model", "Bearer typed")] * 2
    assert "this" not in sys.modules
