"""Any embedding model and LLM of LlamaIndex on the command line, by import path and options."""

import tomllib
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from rag_nodes.cli.derive import settings_of
from rag_nodes.operations import ExitCode, named

KEY = "sk-canary-33ab"
ASKED = ("-a", "How much does the tank hold?")
EMBEDDING = ("--embedding", "own_models:LettersEmbedding", "--embedding-option", "letters=tank")
LLM = ("--llm", "own_models:ParrotLLM", "--llm-option", "says=Nine litres [Source 1].")


def test_models_named_by_their_path_split_embed_and_answer_and_are_named_in_the_report(
    command: Command, manual: Path
) -> None:
    asked = ("-a", "How much does the tank hold?", "-p", "fixed", "-p", "semantic")
    ended = command("compare", manual, *asked, *EMBEDDING, *LLM, "--json", "-q")
    assert ended.code == ExitCode.DONE
    for column in ended.json["columns"]:
        assert column["error"] is None
        assert column["answer"]["text"].startswith("Nine litres")
        assert column["answer"]["answer_model"] == "parrot"
        assert column["answer"]["embedding_model"].startswith("LettersEmbedding-")


def test_ask_uses_the_model_that_the_ingest_named_by_path(
    command: Command, manual: Path, tmp_path: Path
) -> None:
    store = ("--store", str(tmp_path / "store"), "-p", "fixed")
    assert command("ingest", manual, *store, *EMBEDDING).code == ExitCode.DONE
    asked = command("ask", "How much does the tank hold?", *store, *EMBEDDING, *LLM)
    assert "Nine litres" in asked.stdout
    other = ("--embedding-option", "letters=other", *EMBEDDING[:2])
    assert command("ask", "How much?", *store, *other, *LLM).code == ExitCode.FAILURE


def test_an_integration_that_is_missing_ends_with_its_install_line(
    command: Command, manual: Path
) -> None:
    path = "llama_index.embeddings.not_there_yet:NotThereEmbedding"
    ended = command("chunk", manual, "-p", "semantic", "--embedding", path)
    assert ended.code == ExitCode.UNAVAILABLE
    assert "pip install llama-index-embeddings-not-there-yet" in " ".join(ended.stderr.split())


@pytest.mark.parametrize("flag", ["--embedding-option", "--llm-option"])
def test_a_key_is_not_taken_as_a_flag_and_not_repeated(
    command: Command, manual: Path, flag: str
) -> None:
    ended = command("compare", manual, "-a", "?", flag, f"api_key={KEY}")
    assert ended.code == ExitCode.USAGE
    words = " ".join(ended.stderr.split())
    assert "others can read it there" in words
    assert f"RAG_NODES_{flag[2:].upper().replace('-', '_')}S" in words
    assert KEY not in ended.stdout + ended.stderr


def test_options_with_keys_are_masked_and_come_back_as_they_were(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = f'{{"letters": "xyz", "api_key": "{KEY}"}}'
    monkeypatch.setenv("RAG_NODES_EMBEDDING_OPTIONS", given)
    shown = command("--print-config")
    assert shown.code == ExitCode.DONE
    assert KEY not in shown.stdout + shown.stderr
    assert '# api_key = "****"' in shown.stdout
    options = tomllib.loads(shown.stdout)["embedding_options"]
    assert options == {"letters": "xyz"}
    settings = settings_of(named("ask"), {"embedding_options": ["num_workers=3"]})
    assert settings.embedding_options == {"letters": "xyz", "api_key": KEY, "num_workers": 3}


def test_an_option_that_is_no_assignment_is_refused(command: Command, manual: Path) -> None:
    ended = command("compare", manual, *ASKED, "--llm-option", "temperature")
    assert ended.code == ExitCode.USAGE
    assert "is not OPTION=VALUE" in " ".join(ended.stderr.split())


def test_a_model_that_cannot_be_asked_is_not_laid_to_the_parser(
    command: Command, tmp_path: Path
) -> None:
    document = tmp_path / "note.md"
    document.write_text("It rained.", encoding="utf-8")
    ended = command("chunk", document, "-p", "semantic", "--embedding", "openai")
    assert "no key is set" in ended.stderr
    assert "--parser" not in ended.stderr
