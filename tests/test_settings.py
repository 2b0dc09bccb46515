import json
import traceback
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.settings import DEFAULT_PROMPT, Settings
from rag_nodes.readers import Limits

pytest_plugins = ["fixtures_openai"]
pytestmark = pytest.mark.usefixtures("no_configuration")

KEY = "sk-canary-5511"


def test_every_source_beats_the_ones_after_it(
    no_configuration: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Settings().top_k is None
    (no_configuration / "rag_nodes.toml").write_text("top_k = 1\n")
    assert Settings().top_k == 1
    (no_configuration / ".env").write_text("RAG_NODES_TOP_K=2\nSOMETHING_ELSE=x\n")
    assert Settings().top_k == 2
    monkeypatch.setenv("RAG_NODES_TOP_K", "3")
    assert Settings().top_k == 3
    assert Settings(top_k=4).top_k == 4


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_the_variables_of_other_openai_tools_are_read(
    name: str, no_configuration: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "http://localhost:11434/v1/")
    (no_configuration / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    settings = Settings()
    assert settings.api_base == "http://localhost:11434/v1"
    assert settings.api_key == SecretStr(KEY)
    assert not settings.uses_openai_itself


def test_our_own_variables_win_over_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-theirs")
    monkeypatch.setenv("RAG_NODES_API_KEY", "sk-ours")
    assert Settings().api_key == SecretStr("sk-ours")
    assert Settings(api_key=SecretStr("sk-flag")).api_key == SecretStr("sk-flag")


def test_blank_values_count_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.setenv("RAG_NODES_CORPUS", "")
    settings = Settings(api_base=" ")
    assert (settings.api_key, settings.corpus, settings.api_base) == (None, "default", None)


def test_a_key_pasted_with_its_line_break_is_trimmed() -> None:
    assert Settings(api_key=SecretStr(f" {KEY}\r\n")).api_key == SecretStr(KEY)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"topk": 3}, "did you mean top_k"),
        ({"zzz": 3}, "settings are: embedding,"),
        ({"top_k": 0}, "top_k: Input should be greater"),
        ({"temperature": 3}, "temperature"),
        ({"similarity_cutoff": float("nan")}, "similarity_cutoff"),
        ({"similarity_cutoff": 1.1}, "similarity_cutoff"),
        ({"similarity_cutoff": "much"}, "similarity_cutoff"),
        ({"answer_preset": "gpt"}, "'workbench', 'crawl' or 'pdf-qa'"),
        ({"embedding": "magic"}, "names are: auto, lexical, openai, fastembed:<model>"),
        ({"api_base": "localhost:80"}, "must start with http"),
        ({"api_base": "http://user:pass@host/v1"}, "not into the address"),
        ({"store": "http://host:6333?key=1"}, "not into the address"),
        ({"prompt": "{context} only"}, "needs {context} and {question}"),
        ({"prompt": "{context} {question} {other}"}, "no other placeholder"),
        ({"prompt": "{context} {question} {"}, "stray brace"),
        ({"medium_similarity": 0.9}, "must not exceed"),
    ],
)
def test_invalid_settings_are_refused_with_a_reason(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings(**values)
    assert words in str(caught.value)


def test_a_mistyped_variable_is_refused(
    no_configuration: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (no_configuration / ".env").write_text("RAG_NODES_LLM_MODLE=x\n")
    with pytest.raises(ConfigurationError, match=r"\.env: .*did you mean RAG_NODES_LLM_MODEL"):
        Settings()
    (no_configuration / ".env").unlink()
    monkeypatch.setenv("RAG_NODES_BUGDET", "1")
    with pytest.raises(ConfigurationError, match=r"environment: .*did you mean RAG_NODES_BUDGET"):
        Settings()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("rag_nodes.toml", b"top_k = ", r"rag_nodes\.toml: cannot be read"),
        ("rag_nodes.toml", b"top_k = " + b"9" * 5000, r"rag_nodes\.toml: cannot be read"),
        ("rag_nodes.toml", b"corpus = '\xff'", r"rag_nodes\.toml: cannot be read"),
        ("rag_nodes.toml", b"[models]\nllm = 'x'", "models is not a setting"),
        ("rag_nodes.toml", b"api_key = 'sk-x'", "RAG_NODES_API_KEY"),
        ("rag_nodes.toml", b"store_api_key = 'x'", "RAG_NODES_STORE_API_KEY"),
        ("rag_nodes.toml", b"[store_options]\napi_key = 'x'", "RAG_NODES_STORE_API_KEY"),
        (".env", b"RAG_NODES_CORPUS=\xff", r"\.env: cannot be read"),
    ],
)
def test_a_bad_file_is_refused_by_name(
    name: str, content: bytes, words: str, no_configuration: Path
) -> None:
    (no_configuration / name).write_bytes(content)
    with pytest.raises(ConfigurationError, match=words):
        Settings()


SECRETS = [name for name, field in Settings.model_fields.items() if "SecretStr" in str(field)]


def test_every_key_token_and_password_is_known_as_one() -> None:
    assert SECRETS == ["api_key", "store_api_key", "api_token", "app_password"]


@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_is_shown_or_taken_from_a_file_that_is_shared(
    name: str, no_configuration: Path
) -> None:
    settings = Settings(**{name: KEY})
    assert settings.masked()[name] == "****"
    assert KEY not in f"{settings!r} {settings} {settings.masked()}"
    (no_configuration / "rag_nodes.toml").write_text(f"{name} = '{KEY}'\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=f"RAG_NODES_{name.upper()}") as refused:
        Settings()
    assert KEY not in str(refused.value)


def test_keys_are_masked_wherever_settings_are_shown() -> None:
    settings = Settings(api_key=SecretStr(KEY), store_api_key=SecretStr(KEY))
    shown = [repr(settings), str(settings), str(settings.model_dump()), settings.model_dump_json()]
    assert settings.masked()["api_key"] == settings.masked()["store_api_key"] == "****"
    assert KEY not in "\n".join([*shown, json.dumps(settings.masked())])
    assert Settings().masked()["api_key"] is None


def test_a_refused_value_is_not_repeated() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings(api_key=SecretStr(KEY), api_base=f"http://{KEY}@host/v1", store_api_key=[KEY])
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().top_k = 3  # type: ignore[misc]


def test_the_default_prompt_takes_text_with_braces() -> None:
    prompt = DEFAULT_PROMPT.format(context="{not a field}", question="{}?")
    assert "{not a field}" in prompt
    assert "Question: {}?" in prompt


def test_the_example_of_an_env_file_is_understood(no_configuration: Path) -> None:
    example = Path(__file__).parents[1] / ".env.example"
    lines = example.read_text(encoding="utf-8").splitlines()
    uncommented = [line.removeprefix("# ") for line in lines]
    assigned = [line for line in uncommented if "=" in line.partition(" ")[0]]
    (no_configuration / ".env").write_text("\n".join(assigned), encoding="utf-8")
    names = {line.partition("=")[0].removeprefix("RAG_NODES_").lower() for line in assigned}
    assert names == Settings.model_fields.keys() - {"prompt", "system_prompt"} | {"openai_api_key"}
    Settings()


def test_file_limits_reach_the_readers_in_their_units() -> None:
    limits = Limits(**Settings(read_seconds=7, read_memory_mb=100, read_pages=3).reading())
    assert (limits.seconds, limits.memory_bytes, limits.pages) == (7.0, 100 * 1024**2, 3)
    assert Limits(**Settings().reading()) == Limits()


def test_the_answer_settings_of_a_source_document_have_a_name() -> None:
    chosen = Settings(answer_preset="pdf-qa")
    assert (chosen.llm_model, chosen.temperature, chosen.max_output_tokens) == (
        "gpt-3.5-turbo",
        0.7,
        1000,
    )
    assert (chosen.budget, chosen.top_k, chosen.similarity_cutoff) == (None, 10, 0.2)
    assert chosen.answering()["step_factor"] == 5
    workbench = Settings(answer_preset="workbench")
    assert (workbench.llm_model, workbench.temperature, workbench.max_output_tokens) == (
        "gpt-4o",
        0.2,
        1024,
    )


def test_single_settings_win_over_a_preset(
    no_configuration: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (no_configuration / "rag_nodes.toml").write_text(
        "answer_preset = 'pdf-qa'\ntop_k = 7\nsimilarity_cutoff = 0.5\n[answers]\nstep_factor = 3\n"
    )
    monkeypatch.setenv("RAG_NODES_TEMPERATURE", "0.1")
    settings = Settings(llm_model="mine")
    assert (settings.llm_model, settings.temperature, settings.max_output_tokens) == (
        "mine",
        0.1,
        1000,
    )
    answering = settings.answering()
    assert (settings.top_k, answering["similarity_cutoff"], answering["step_factor"]) == (7, 0.5, 3)
