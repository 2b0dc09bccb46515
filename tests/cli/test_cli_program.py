"""What every command shares: help, version, settings, errors and exit codes."""

import io
import json
import logging
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.cli.conftest import Command, failing

from rag_nodes.cli.failures import exit_code_of
from rag_nodes.core import errors
from rag_nodes.core.settings import Settings
from rag_nodes.operations import ExitCode
from rag_nodes.operations.run import context_budget
from rag_nodes.operations.workspace.session import Session
from rag_nodes.parsers import PRESETS

COMMANDS = ("app", "ask", "chunk", "compare", "ingest", "parsers")
CANARY = "sk-canary-7f3a9"


def test_help_names_every_command_and_the_exit_codes(command: Command) -> None:
    ended = command("--help")
    assert (ended.code, ended.stderr) == (0, "")
    assert all(name in ended.stdout for name in COMMANDS)
    assert "Exit codes" in ended.stdout
    assert command().stdout.strip() == ended.stdout.strip()
    for name in COMMANDS:
        assert f"rag-nodes {name}" in command(name, "--help").stdout.split("Examples")[1]


def test_help_names_no_type_of_python(command: Command) -> None:
    for name in ("", *COMMANDS):
        help_text = command(*name.split(), "--help").stdout
        assert not [text for text in ("<bool>", "list[", "<str>", "<path>") if text in help_text], (
            name
        )


def test_a_command_that_is_typed_wrong_is_answered_with_one_like_it(command: Command) -> None:
    assert "Did you mean 'ingest'" in command("ingset").stderr
    assert "Did you mean 'push'" in command("store", "pusch").stderr


def test_a_format_that_no_report_has_is_answered_with_those_there_are(command: Command) -> None:
    ended = command("evaluate", "report.pdf", "--csv", "out.csv")
    assert ended.code == 2
    assert "A report is written as HTML (--html FILE)" in ended.stderr
    assert "--ocr" not in ended.stderr


def test_shell_completion_is_offered_and_help_does_not_list_it(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "completion" not in command("--help").stdout
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    shown = command("--show-completion", "bash")
    assert shown.code == ExitCode.DONE
    assert "complete -o default -F _rag_nodes_completion rag-nodes" in shown.stdout


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("rag-nodes ev", ["evaluate"]), ("rag-nodes read --mark", ["--markdown"])],
)
def test_a_shell_completes_commands_and_options(
    typed: str, offered: list[str], command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_RAG_NODES_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    ended = command()
    assert (ended.stdout.split(), ended.stderr) == (offered, "")


def test_an_app_without_its_extra_names_the_install_line(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('gradio', 'fastapi', 'starlette', 'uvicorn', 'mcp'):\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from rag_nodes.cli.program import run\n"
        "sys.exit(run(['app']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == ExitCode.UNAVAILABLE
    assert "pip install 'rag-nodes[app]'" in done.stderr


def test_the_process_ends_with_the_exit_code() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rag_nodes.cli", "brew"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )
    assert done.returncode == ExitCode.USAGE
    assert done.stdout == ""
    assert "brew" in done.stderr


def test_the_version_is_the_packages(command: Command) -> None:
    from importlib.metadata import version

    assert command("--version").stdout == f"rag-nodes {version('rag-nodes')}\n"


# --- settings -----------------------------------------------------------------------------------


def test_print_config_is_the_settings_file_and_never_shows_a_key(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("RAG_NODES_STORE_API_KEY", CANARY)
    ended = command("--print-config")
    assert ended.code == 0
    assert CANARY not in ended.stdout + ended.stderr
    assert '# api_key = "****"' in ended.stdout
    assert tomllib.loads(ended.stdout)["budget"] == 1500
    (tmp_path / "rag_nodes.toml").write_text(ended.stdout, encoding="utf-8")
    assert command("--print-config").stdout == ended.stdout


def test_a_flag_wins_over_the_environment_and_that_over_the_file(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rag_nodes.toml").write_text('corpus = "file"\nbudget = 7\nstore = "file"\n')
    monkeypatch.setenv("RAG_NODES_CORPUS", "environment")
    monkeypatch.setenv("RAG_NODES_BUDGET", "8")
    (tmp_path / "file").mkdir()
    (tmp_path / "flag").mkdir()
    values = tomllib.loads(command("--print-config").stdout)
    assert (values["budget"], values["corpus"], values["store"]) == (8, "environment", "file")
    assert command("status", "--json").json["store"].endswith("file")
    monkeypatch.setenv("RAG_NODES_STORE", "environment")
    assert command("status", "--store", "flag", "--json").json["store"].endswith("flag")


@pytest.mark.usefixtures("no_configuration")
def test_a_number_of_chunks_lifts_only_the_default_budget() -> None:
    assert context_budget(Settings()) == 1500
    assert context_budget(Settings(top_k=3)) is None
    assert context_budget(Settings(top_k=3, budget=900)) == 900


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConfigurationError("x"), 2),
        (errors.CredentialsError("x"), 2),
        (errors.EngineError("x"), 5),
        (errors.MissingExtraError("gradio", "app"), 5),
        (errors.ModelConnectionError("x"), 5),
        (errors.StoreLockedError("x"), 5),
        (errors.StoreUnreachableError("x"), 5),
        (errors.StoreDamagedError("x"), 1),
        (errors.RateLimitedError("x"), 1),
        (errors.EmptyFileError("x.txt"), 1),
        (ValueError("x"), 1),
    ],
)
def test_every_kind_of_error_has_its_exit_code(error: Exception, code: int) -> None:
    assert exit_code_of(error) == code


def test_a_program_gets_an_object_of_a_run_that_ended_with_an_error(
    command: Command, manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail = failing(errors.StoreDamagedError("kept: it is damaged; restore a copy"))
    monkeypatch.setattr("rag_nodes.pipeline.ingest", fail)
    ended = command("ingest", manual, "--store", "kept", "--quiet", "--json")
    assert ended.code == ExitCode.FAILURE
    assert ended.json["error"] == {
        "type": "StoreDamagedError",
        "message": "kept: it is damaged; restore a copy",
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", ended.json["started"])
    assert ended.json["release"] == version("rag-nodes")


def test_a_wrong_option_is_a_usage_error_without_traceback(command: Command, manual: Path) -> None:
    ended = command("chunk", manual, "--parser", "heading:chunk_size=-4")
    assert ended.code == ExitCode.USAGE
    assert ended.stdout == ""
    assert "chunk_size" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (("ask", ""), "QUESTION: must not be blank"),
        (("ask", "Who?", "--filter", "foo"), "Error: --filter foo: write file=NAME"),
        (("ingest", "MANUAL", "-p", "fixed:chunk_size=5,chunk_overlap=9"),
         "Error: parser 'fixed:chunk_size=5,chunk_overlap=9': chunk_overlap (9) must be smaller"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_once_and_as_it_was_typed(
    typed: tuple[str, ...], message: str, command: Command, manual: Path
) -> None:
    ended = command(*(manual if argument == "MANUAL" else argument for argument in typed))
    assert ended.code == ExitCode.USAGE
    assert message in ended.stderr


def test_a_bug_is_one_line_and_a_traceback_only_when_asked_for(
    command: Command, manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Session, "models", failing(ZeroDivisionError("oh \x1b[31mno")))
    arguments = ("compare", manual, "--ask", "why?", "-p", "fixed")
    quiet = command(*arguments, "-q")
    assert quiet.code == ExitCode.FAILURE
    assert quiet.stderr.startswith("Error: unexpected ZeroDivisionError. This is a bug")
    assert quiet.stderr.count("\n") == 1
    assert "Traceback" in command(*arguments, "--verbose").stderr


def test_a_run_leaves_the_loggers_as_they_were(command: Command, manual: Path) -> None:
    logger = logging.getLogger("rag_nodes")
    before = (logger.level, logger.propagate, list(logger.handlers))
    command("chunk", manual, "--verbose")
    assert (logger.level, logger.propagate, list(logger.handlers)) == before


# --- paths --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "typed",
    [
        ("compare", "GONE", "--ask", "Why?"),
        ("evaluate", "GONE", "--questions", "THERE"),
        ("evaluate", "THERE", "--questions", "GONE"),
        ("evaluate", "THERE", "--questions", "THERE", "--baseline", "GONE"),
        ("recommend", "GONE", "--questions", "THERE"),
        ("recommend", "THERE", "--questions", "GONE"),
        ("recommend", "GONE"),
        ("ingest", "GONE", "--store", "kept"),
        ("ingest", "GONE", "--store", "pruned", "--prune"),
        ("ingest", "GONE", "--store", "kept", "--json"),
        ("read", "GONE"),
        ("chunk", "GONE"),
        ("docs", "GONE", "chunks.json"),
        ("questions", "draft", "GONE", "-o", "q.json"),
        ("questions", "check", "GONE", "THERE"),
        ("questions", "check", "THERE", "GONE"),
        ("questions", "draft", "THERE", "-o", "GONE/q.json"),
        ("store", "push", "http://localhost:1", "--store", "GONE"),
        ("ask", "Why?", "--store", "GONE"),
        ("doctor", "--store", "GONE"),
        ("app", "GONE"),
    ],
    ids=" ".join,
)
def test_a_path_that_is_not_there_is_a_usage_error_that_names_it_and_a_remedy(
    command: Command, manual: Path, tmp_path: Path, typed: tuple[str, ...]
) -> None:
    gone = str(tmp_path / "gone")
    ended = command(
        *(argument.replace("GONE", gone).replace("THERE", str(manual)) for argument in typed)
    )
    assert ended.code == ExitCode.USAGE
    error = ended.stderr.splitlines()[-1]
    assert error.startswith(f"Error: {gone}")
    assert "; " in error
    if "--json" in typed:
        assert error == f"Error: {ended.json['error']['message']}"
    else:
        assert ended.stdout == ""
    assert not (tmp_path / "kept").exists()


# --- parsers and app ----------------------------------------------------------------------------


def test_parsers_lists_presets_with_their_options(command: Command) -> None:
    listed = {preset["name"]: preset for preset in command("parsers", "--json").json["parsers"]}
    assert list(listed) == list(PRESETS)
    assert listed["fixed"]["options"]["chunk_size"] == 1000
    assert "embed_model" not in listed["semantic"]["options"]
    assert json.dumps(listed)
    assert "breakpoint_percentile=75.0" in command("parsers").stdout


# --- standard input -----------------------------------------------------------------------------


def test_a_bar_is_a_text_or_a_question_from_standard_input(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "# Tea\n\nGreen tea takes eighty degrees.\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    (chunk,) = command("chunk", "-", "--json").json["chunks"]
    assert (chunk["text"], chunk["heading_path"]) == (text.strip(), ["Tea"])
    monkeypatch.setattr(sys, "stdin", io.StringIO("Why?\n"))
    asked = command("ask", "-", "--store", "nowhere")
    assert (asked.code, "there is no store here" in asked.stderr) == (ExitCode.USAGE, True)


@pytest.mark.parametrize(
    "questions",
    ["question,gold\nHow warm?,Green tea takes eighty degrees.\n",
     '[{"question": "How warm?", "gold": ["Green tea takes eighty degrees."]}]'],
    ids=["sheet", "json"],
)  # fmt: skip
def test_a_bar_is_a_file_of_questions_from_standard_input_and_no_place_to_write_to(
    questions: str, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tea.md").write_text("# Tea\n\nGreen tea takes eighty degrees.\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(questions.encode())))
    ended = command("questions", "check", "-", tmp_path / "tea.md", "--json")
    assert (ended.json["questions"], ended.json["sound"]) == (1, True)
    draft = command("questions", "draft", tmp_path / "tea.md", "--output", "-")
    for refused in (draft, command("ingest", "-", "--store", tmp_path / "kept")):
        assert refused.code == ExitCode.USAGE
        assert "needs the name of a file" in refused.stderr
    assert not (tmp_path / "kept").exists()
