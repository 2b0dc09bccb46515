import subprocess
import sys
from pathlib import Path

import openai_server as faults
import pytest
from llama_index.core import MockEmbedding
from llama_index.core.llms import MockLLM
from openai_server import OpenAIServer
from pydantic import SecretStr

from rag_nodes.errors import (
    ConfigurationError,
    CredentialsError,
    MissingExtraError,
    ModelConnectionError,
    ModelResponseError,
    RateLimitedError,
)
from rag_nodes.models import (
    Models,
    check_models,
    choose_models,
    failure_of,
    get_embedding,
)
from rag_nodes.models.openai import OpenAIServerEmbedding
from rag_nodes.settings import Settings

pytest_plugins = ["fixtures_openai"]
pytestmark = pytest.mark.usefixtures("no_configuration")

KEY = "sk-canary-77aa"


def served(server: OpenAIServer, key: str = KEY, **values: object) -> Settings:
    return Settings(api_base=server.base, api_key=SecretStr(key), **values)


def test_without_a_key_everything_runs_offline() -> None:
    models = choose_models(Settings())
    assert models.offline
    assert models.llm is None
    assert models.describe() == (
        "embedding: lexical-1024 (offline) · answers: extractive (offline)"
    )


def test_with_a_key_openai_does_everything() -> None:
    models = choose_models(Settings(api_key=SecretStr(KEY)))
    assert not models.offline
    assert models.describe() == (
        "embedding: text-embedding-3-small (OpenAI) · answers: gpt-4o-mini (OpenAI)"
    )


def test_each_half_can_be_chosen_alone() -> None:
    models = choose_models(Settings(api_key=SecretStr(KEY), embedding="lexical", llm_model="x"))
    assert models.describe() == "embedding: lexical-1024 (offline) · answers: x (OpenAI)"
    assert not models.offline


def test_the_same_model_behind_another_server_is_another_vector_space(
    openai_server: OpenAIServer,
) -> None:
    models = choose_models(served(openai_server))
    host = openai_server.base.removeprefix("http://")
    assert models.embedding_name == f"text-embedding-3-small@{host}"
    assert openai_server.base in models.describe()


@pytest.mark.parametrize("field", ["embedding", "llm"])
def test_openai_without_a_key_is_refused_before_any_request(field: str) -> None:
    with pytest.raises(CredentialsError, match="OPENAI_API_KEY"):
        choose_models(Settings(**{field: "openai"}))


@pytest.mark.parametrize("key", ["key-of-another-vendor", "sk-with blank", "sk-\u2039quoted\u203a"])
def test_what_cannot_be_a_key_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(CredentialsError) as caught:
        choose_models(Settings(api_key=SecretStr(key)))
    assert key not in str(caught.value)


def test_compatible_servers_choose_their_own_keys(openai_server: OpenAIServer) -> None:
    models = choose_models(served(openai_server, key="any-key"))
    models.embedding.get_query_embedding("hello")
    assert openai_server.requests[0].authorization == "Bearer any-key"


def test_compatible_servers_may_do_without_a_key(openai_server: OpenAIServer) -> None:
    settings = Settings(api_base=openai_server.base, embedding="openai", llm="openai")
    check_models(choose_models(settings))
    assert [request.authorization for request in openai_server.requests] == ["Bearer none"] * 2


def test_settings_reach_the_requests(openai_server: OpenAIServer) -> None:
    models = choose_models(
        served(openai_server, llm_model="mine", temperature=0.7, max_output_tokens=99)
    )
    assert models.llm is not None
    models.llm.complete("question")
    (body,) = openai_server.asked("chat/completions")
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("mine", 0.7, 99)


def test_the_prompt_of_the_settings_comes_along() -> None:
    assert choose_models(Settings(prompt="{context}?{question}")).prompt == "{context}?{question}"


def test_a_missing_client_names_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("rag_nodes.models.openai")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "llama_index.llms.openai_like", None)
    with pytest.raises(MissingExtraError, match=r"rag-nodes\[openai\]"):
        choose_models(Settings(api_key=SecretStr(KEY)))


def test_the_check_asks_each_model_once(openai_server: OpenAIServer) -> None:
    check_models(choose_models(served(openai_server)))
    assert [request.path for request in openai_server.requests] == [
        "/v1/embeddings",
        "/v1/chat/completions",
    ]


@pytest.mark.parametrize(
    ("fault", "error"),
    [(faults.UNAUTHORIZED, CredentialsError), (faults.NO_QUOTA, RateLimitedError)],
)
def test_the_check_finds_a_bad_key_with_one_request(
    fault: faults.Fault, error: type[Exception], openai_server: OpenAIServer
) -> None:
    openai_server.fail(fault, times=9)
    with pytest.raises(error):
        check_models(choose_models(served(openai_server)))
    assert len(openai_server.requests) == 1


def test_the_check_of_offline_models_needs_nothing() -> None:
    check_models(choose_models(Settings()))


def test_any_model_of_llamaindex_can_be_used_and_checked() -> None:
    models = Models(MockEmbedding(embed_dim=8), MockLLM(), "mock", "mock", offline=False)
    check_models(models)
    assert models.describe() == "embedding: mock (MockEmbedding) · answers: mock (MockLLM)"


def test_what_a_foreign_model_raises_becomes_one_of_our_errors() -> None:
    class Broken(MockEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            raise OSError(f"no route for {text}")

    with pytest.raises(ModelConnectionError, match="Broken failed: OSError: no route for"):
        check_models(Models(Broken(embed_dim=8), None, "broken", "extractive", offline=False))


def test_an_embedding_model_is_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_embedding("lexical").model_name == "lexical-1024"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert get_embedding("openai:some-model").model_name == "some-model"


@pytest.mark.parametrize("name", ["", "lexicon", "openai", "openai:", "azure:x"])
def test_an_unknown_embedding_model_is_refused_with_the_ones_there_are(name: str) -> None:
    with pytest.raises(
        ConfigurationError, match="use lexical, openai:<model> or fastembed:<model>"
    ):
        get_embedding(name)


def test_an_embedding_by_name_needs_its_key() -> None:
    with pytest.raises(CredentialsError):
        get_embedding("openai:some-model")


def test_our_own_errors_stay_and_words_of_a_server_are_shortened_and_put_on_one_line() -> None:
    asked = OpenAIServerEmbedding()
    own = ModelResponseError("as it was")
    assert failure_of(own, asked, name="m") is own
    error = RuntimeError("first\nsecond\x1b[31m " + "x" * 1000)
    message = str(failure_of(error, asked, name="m"))
    assert "first second[31m x" in message
    assert len(message) < 600


def test_importing_the_models_loads_nothing_heavy(no_configuration: Path) -> None:
    script = (
        "import sys, rag_nodes.models;"
        "print({'llama_index', 'openai', 'numpy', 'tiktoken'} & sys.modules.keys())"
    )
    result = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=True,
        cwd=no_configuration,
        text=True,
    )
    assert result.stdout.strip() == "set()"
