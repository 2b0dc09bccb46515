"""`rag-nodes evaluate` and `rag-nodes questions`, as they are typed."""

import errno
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from openai_server import OpenAIServer
from tests.cli.conftest import Command
from tests.evaluation.scripted_judge import good, kind_of

from rag_nodes.cli.invocation import Invocation
from rag_nodes.cli.views.evaluation import measured_view
from rag_nodes.core.errors import DatasetError
from rag_nodes.evaluation import run as evaluation
from rag_nodes.operations import ExitCode
from rag_nodes.parsers.presets import COMPARED, DEFAULT_PARSER

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
FERRY, QUESTIONS = CORPUS / "ferry.pdf", CORPUS / "ferry_questions.csv"
SHEET = "question,quote,file\nHow much fits into the tank?,nine litres of water,manual.md\n"
QUICK = ("--sizes", "0", "--equal-size", "0", "--budget", "20,40", "-q")


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    path = tmp_path / "questions.csv"
    path.write_text(SHEET + "When is it cleaned?,Rinse the machine with vinegar,manual.md\n")
    return path


def test_kinds_have_their_own_numbers_and_sizes_that_cannot_be_had_are_said(
    command: Command, manual: Path, tmp_path: Path
) -> None:
    sheet = tmp_path / "kinds.csv"
    sheet.write_text(
        "question,quote,file,kind\n"
        "How much fits into the tank?,nine litres of water,manual.md,fact\n"
        "When is it cleaned?,Rinse the machine with vinegar,manual.md,how-to\n"
    )
    sizes = ("--sizes", "50", "--equal-size", "0", "--budget", "20,40", "-q")
    ended = command("evaluate", manual, "--questions", sheet, "-p", "sentence-window", *sizes)
    assert ended.code == 0, ended.stderr
    lines = [line.split() for line in ended.stdout.splitlines()]
    assert ["Kind", "questions", "sentence-window"] in lines
    assert [line[:2] for line in lines if line[:1] in (["fact"], ["how-to"])] == [
        ["fact", "1"], ["how-to", "1"]
    ]  # fmt: skip
    words = " ".join(ended.stdout.split())
    assert "sentence-window was not measured at 50: " in words
    assert "no size to change" in words


def test_rows_are_measured_by_as_many_processes_as_are_asked_for(
    command: Command, manual: Path, sheet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def note_executor(*_: object, executor: object, **__: object) -> None:
        given.append(executor)
        raise DatasetError("not here")

    monkeypatch.setattr(evaluation, "evaluate", note_executor)
    for workers in ("2", "1"):
        command("evaluate", manual, "--questions", sheet, *QUICK, "--workers", workers)
    assert (given[0].workers, given[1]) == (2, None)


def test_a_run_against_its_own_baseline_passes_and_a_limit_not_reached_exits_with_4(
    command: Command, manual: Path, sheet: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run.json"
    asked = ("evaluate", manual, "--questions", sheet, "-p", "heading", *QUICK)
    assert command(*asked, "--output", run).code == 0
    held = command(*asked, "--baseline", run)
    assert held.code == 0
    assert "holds" in held.stdout
    missed = command(*asked, "--fail-under", "precision@40=0.99")
    assert missed.code == 4
    assert "is under precision@40" in missed.stdout
    ways = [command(*asked, "--granularity", text, "--json") for text in ("sentences", "chunks")]
    sentences, chunks = (way.json["rows"][0]["means"]["recall@20"] for way in ways)
    assert sentences > chunks, "a chunk is larger than 20 tokens"


@pytest.mark.parametrize("before", ["fixed", "heading"])
def test_the_column_of_the_baseline_is_kept_if_all_find_as_much(
    command: Command, manual: Path, sheet: Path, tmp_path: Path, before: str
) -> None:
    run = tmp_path / "run.json"
    asked = ("evaluate", manual, "--questions", sheet, *QUICK)
    assert command(*asked, "-p", before, "--output", run).code == 0
    ended = command(*asked, "-p", "fixed", "-p", "heading", "--baseline", run, "--json")
    assert ended.json["decision"]["words"].startswith(f"Proposed: keep {before} (")


def test_a_drop_that_the_questions_cannot_exclude_exits_with_5_and_one_that_is_sure_with_4(
    command: Command, manual: Path, sheet: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run.json"
    asked = ("evaluate", manual, "--questions", sheet, "-p", "heading", *QUICK)
    assert command(*asked, "--output", run).code == 0
    before = json.loads(run.read_text("utf-8"))
    for outcome in before["rows"][0]["outcomes"]:
        outcome["scores"]["recall@40"] += 0.5
    run.write_text(json.dumps(before), "utf-8")
    ended = command(*asked, "--baseline", run)
    assert ended.code == 5
    output = " ".join(ended.stdout.split())
    assert (
        "heading: inconclusive: recall@40 -50.0 (-100.0 to +100.0) over 2 questions; about"
        in output
    )
    assert "a drop" not in output
    assert command(*asked, "--baseline", run, "--tolerance", "1").code == 0
    both = command(*asked, "--baseline", run, "--fail-under", "precision@40=0.99", "--json")
    assert both.code == 4
    assert ["inconclusive" in line for line in both.stderr.splitlines()[-2:]] == [True, False]
    assert [(gate["row"], gate["outcome"]) for gate in both.json["gates"]] == [
        ("heading", "inconclusive"),
        ("heading", "fell"),
    ]
    assert both.json["gates"][0]["gap"]["mean"] == pytest.approx(-0.5)


def test_unlocated_questions_and_unread_files_are_named_and_the_rest_is_measured(
    command: Command, manual: Path, sheet: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 and then nothing")
    asked = ("evaluate", manual, broken, "--questions", sheet, "-p", "heading", *QUICK)
    ended = command(*asked)
    assert (ended.code, "broken.pdf" in ended.stderr) == (3, True)
    assert command("questions", "check", sheet, manual, broken).code == 3
    sheet.write_text(sheet.read_text() + "Who built it?,Nobody knows who it was at all,manual.md\n")
    ended = command(*asked)
    assert ended.code == 3
    message = " ".join(ended.stderr.split())
    assert "1 question left out (row 4: Who built it?). Why: its quote is not in" in message
    assert "2 questions about one document" in " ".join(ended.stdout.split())
    checked = command("questions", "check", sheet, manual)
    assert (checked.code, "not located" in checked.stdout) == (4, True)
    assert "Questions with 80% or more are listed: keyword" in " ".join(checked.stdout.split())
    sheet.write_text("question,quote\nWho built it?,Nobody knows who it was at all\n")
    assert "Leakage" not in command("questions", "check", sheet, manual).stdout


def test_a_file_most_of_whose_entries_are_left_out_exits_with_3_and_is_reported(
    command: Command, manual: Path, tmp_path: Path
) -> None:
    question = {"question": "How much fits into the tank?", "quote": "nine litres of water"}
    file, report = tmp_path / "mixed.json", tmp_path / "report.json"
    for others, code in (([], 0), (["a note"], 0), (["a note", "another"], 3)):
        file.write_text(json.dumps([question, *others]))
        ended = command(
            "evaluate", manual, "--questions", file, "-p", "sentence", "-o", report, *QUICK
        )
        assert ended.code == code, ended.stderr
        assert len(json.loads(report.read_text())["questions"]) == 1


def test_a_disk_that_is_full_at_the_end_costs_neither_the_result_nor_the_file_that_was_there(
    command: Command, manual: Path, sheet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    kept = tmp_path / "run.json"
    kept.write_text("before", encoding="utf-8")
    monkeypatch.setattr("rag_nodes.core.files.os.fsync", full)
    ended = command(
        *("evaluate", manual, "--questions", sheet, "-p", "fixed", "--sizes", "0", "-o", kept)
    )
    assert ended.code == ExitCode.PARTIAL
    assert f"{kept}: cannot be written (No space left on device); check" in ended.stderr
    assert "at equal size" in ended.stdout
    assert kept.read_text(encoding="utf-8") == "before"


@pytest.mark.parametrize(("lost", "is_saved"), [("page.html", True), ("rag.py", False)])
def test_a_file_that_cannot_be_written_costs_no_other_and_is_not_taken_for_written(
    command: Command,
    manual: Path,
    sheet: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lost: str,
    is_saved: bool,
) -> None:
    page, report, script = (tmp_path / name for name in ("page.html", "run.json", "rag.py"))
    monkeypatch.setattr(Path, "replace", _but_to(lost))
    asked = ("evaluate", manual, "--questions", sheet, "-p", "fixed", "-p", "retrieval")
    files = ("--html", page, "--output", report, "--export", script)
    ended = command(*asked, *files, *QUICK[:-1])
    assert ended.code == ExitCode.PARTIAL
    assert ended.stderr.count("cannot be written") == 1
    assert {path.name for path in (page, report, script) if not path.exists()} == {lost}
    assert ("To use it: " not in ended.stderr) == is_saved


@pytest.mark.parametrize("option", ['"quoted"', "'$HOME'", "'`ls`'", r"'\n'", "'!'", "'\"'"])
def test_a_proposal_is_quoted_for_the_shell(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_nodes.cli.views.evaluation.evaluation_view", lambda *_: [])
    preset = f"package:Splitter(separator={option})"
    decision = SimpleNamespace(parser={"path": preset}, preset=preset, other="other")
    report = SimpleNamespace(
        decision=decision,
        reading="sentences",
        use_in_llama_index="",
        dataset=SimpleNamespace(probed=False),
        row=lambda _: decision,
    )
    cli = Invocation()
    list(measured_view(SimpleNamespace(report=report, gates=(), is_written=False), None, cli))  # type: ignore[arg-type]
    quoted = [re.findall(r"-p (.*); ask", hint) for hint in cli.hints]
    assert quoted == [[shlex.quote(preset)], [shlex.quote(preset)]]


def test_a_splitter_of_another_package_is_proposed_as_it_was_typed_and_exported(
    command: Command, manual: Path, sheet: Path, tmp_path: Path
) -> None:
    label, script = "SentenceSplitter(chunk_size=30,chunk_overlap=0)", "rag.py"
    path = f"llama_index.core.node_parser:{label}"
    asked = ("evaluate", manual, "--questions", sheet, *QUICK[:-1], "-p", path, "-p", "web")
    output = " ".join(command(*asked).stderr.split())
    assert f'If you read whole chunks: rag-nodes ingest docs/ -p "{path}"; ask with' in output
    asked += ("--granularity", "chunks")
    output = " ".join(command(*asked, "-o", tmp_path / "run.json").stderr.split())
    assert "If you read" not in output
    assert f'To use it: rag-nodes ingest docs/ -p "{path}"; ask with' in output
    assert f"In LlamaIndex: transformations=[{label}]" in output
    report = json.loads((tmp_path / "run.json").read_text("utf-8"))
    assert [row["preset"] for row in report["rows"]] == [path, "web"]
    assert report["decision"]["preset"] == path
    assert command(*asked, "--export", tmp_path / script).code == ExitCode.DONE
    assert f"path={path!r}" in (tmp_path / script).read_text("utf-8")


def test_without_parsers_the_default_preset_is_measured_beside_those_of_a_comparison(
    command: Command, manual: Path, sheet: Path
) -> None:
    ended = command("evaluate", manual, "--questions", sheet, *QUICK, "--json")
    report = json.loads(ended.stdout)
    assert [row["name"] for row in report["rows"]] == [DEFAULT_PARSER, *COMPARED]
    assert "was not measured here" not in report["decision"]["words"]


def test_a_script_that_was_not_written_is_in_the_exit_code(
    command: Command, manual: Path, sheet: Path, tmp_path: Path
) -> None:
    script = tmp_path / "rag.py"
    ended = command(
        "evaluate", manual, "--questions", sheet, *QUICK, "-p", "web", "--export", script
    )
    assert ended.code == ExitCode.PARTIAL
    assert f"{script} was not written: Not decided: " in ended.stderr


def _but_to(name: str) -> Callable[[Path, Path], Path]:
    """Replaces every file except one, for which the disk is full."""
    replace = Path.replace

    def fail_to_replace(self: Path, target: Path) -> Path:
        if target.name == name:
            raise OSError(errno.ENOSPC, "No space left on device")
        return replace(self, target)

    return fail_to_replace


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--budget", "many"), "must be numbers with commas"),
        (("--budget", "0"), "Error: --budget: must have at least 1 item"),
        (("--fail-under", "recall"), "such as recall@1000"),
        (("--fail-under", "recall@7=0.5"), "recall@7, which is not measured"),
        (("--html", "/nowhere/at/all/report.html"), "cannot be written"),
        (("--baseline", "nowhere.json"), "nowhere.json: no such file or folder"),
        (("--baseline", "run.json", "--budget", "1000"), "did not measure recall@1000"),
        (("--baseline", "run.json"), "asked other questions"),
        (("--baseline", "run.json", "-p", "fixed"), "no column of the baseline is in this run"),
    ],
)
def test_contradictory_options_are_refused_before_anything_is_measured(
    command: Command,
    manual: Path,
    sheet: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(manual.parent)
    asked = ("evaluate", manual, "--questions", sheet, *QUICK[:-1])
    if "run.json" in arguments:
        assert command(*asked, "-p", "heading", "-o", "run.json").code == 0
    if "other questions" in message:
        sheet.write_text(sheet.read_text().replace("When", "How often").replace("much", "little"))
    parser = () if "-p" in arguments else ("-p", "heading")
    ended = command(*asked, *parser, *arguments, "-o", "now.json")
    assert ended.code in (1, 2)
    assert message in " ".join(ended.stderr.split())
    assert "indexing" not in ended.stderr
    is_of_the_run = "other questions" in message or "no column" in message  # these are to be read
    assert is_of_the_run or "Reading" not in ended.stderr
    assert not Path("now.json").exists()


@pytest.mark.parametrize("asked", [("evaluate",), ("recommend",), ("questions", "draft")])
def test_a_name_of_another_format_is_refused_before_anything_is_read(
    command: Command, manual: Path, tmp_path: Path, asked: tuple[str, ...]
) -> None:
    table = tmp_path / "out.csv"
    ended = command(*asked, manual, "-o", table)
    assert ended.code == ExitCode.USAGE
    words = "out.csv: this option writes no .csv file; choose a name that ends in .json"
    assert words in " ".join(ended.stderr.split())
    assert not table.exists()


def test_without_questions_columns_are_ranked_by_passages_as_long_as_answers(
    command: Command, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    asked = ("evaluate", FERRY, "-p", "recursive", "-p", "heading", *QUICK)
    refused = command(*asked)
    assert refused.code == 2
    lengths = re.findall(r"--answers \w+, about (\d+) words", refused.stderr)
    assert lengths
    assert all(
        int(length) < 100 or length.endswith("0") for length in lengths
    )  # "about 130 words", not 131
    ended = command(*asked[:-1], "--answers", "paragraph", "--html", page)  # not quiet
    assert ended.code == 0, ended.stderr
    assert "passages are asked, each as long as a paragraph" in " ".join(ended.stderr.split())
    output = " ".join(ended.stdout.split())
    assert "looks best" in output
    assert "Tested in whole chunks by keywords of " in output
    assert "is better" not in output
    assert "To be surer, label twenty" in " ".join(ended.stderr.split())
    assert "looks best" in page.read_text("utf-8")
    tied = ("-p", "heading:max_level=6", "-p", "heading", "--answers", "paragraph")
    ended = command("evaluate", FERRY, *tied, *QUICK[:-1])
    assert "Not decided yet: 2 of 2 settings may be best." in " ".join(ended.stdout.split())
    assert "To be surer, label twenty" in " ".join(ended.stderr.split())


@pytest.fixture
def faq(tmp_path: Path) -> Path:
    """A text of nine headings that are questions."""
    path = tmp_path / "faq.md"
    path.write_text(
        "\n\n".join(
            f"## Who opens the {name} gate?\n\nThe keeper of the {name} side opens it at "
            f"{hour} in the morning."
            for hour, name in enumerate(
                ("red", "blue", "green", "grey", "old", "new", "east", "west", "south"), start=1
            )
        ),
        encoding="utf-8",
    )
    return path


def test_few_drafts_come_with_a_reason_and_a_remedy(
    command: Command, tmp_path: Path, faq: Path
) -> None:
    drafts = tmp_path / "drafts.json"
    ended = command("questions", "draft", faq, "-o", drafts)
    assert ended.code == 0, ended.stderr
    assert "9 of 40 questions found. Only 9 headings are" in " ".join(ended.stderr.split())
    drafts.unlink()
    ended = command("questions", "draft", FERRY, "-o", drafts)
    assert ended.code == 1
    message = " ".join(ended.stderr.split())
    assert "no heading in 1 document(s) is a question" in message
    assert "write questions yourself, or let an LLM draft: --llm openai" in message
    assert not drafts.exists()


def test_drafts_of_several_documents_are_shown_with_document(
    command: Command, tmp_path: Path, faq: Path
) -> None:
    drafts = ("-o", tmp_path / "drafts.json", "--count", "4")
    assert "Document" not in command("questions", "draft", faq, *drafts).stdout
    shown = command("questions", "draft", FERRY, faq, *drafts).stdout
    assert "Document" in shown
    assert "faq.md" in shown


def test_drafts_pass_no_gate_until_somebody_accepts_them(
    command: Command, tmp_path: Path, faq: Path
) -> None:
    drafts, run = tmp_path / "drafts.json", tmp_path / "run.json"
    assert command("questions", "draft", faq, "-o", drafts, "--count", "8").code == 0
    asked = ("evaluate", faq, "--questions", drafts, "-p", "fixed", *QUICK)
    assert command(*asked, "-o", run).code == 0
    gates = ("--baseline", run, "--fail-under", "recall@40=0.0")
    ended = command(*asked, *gates)
    assert ended.code == 5
    assert ended.stdout.endswith("fixed: inconclusive: drafts cannot choose\n")
    assert ended.stdout.count("inconclusive") == 1
    text = drafts.read_text("utf-8")
    drafts.write_text(text.replace('"draft": true', '"draft": false', 3), "utf-8")
    ended = command(*asked, *gates)
    assert ended.code == 0, ended.stdout
    output = " ".join(ended.stdout.split())
    assert "the same for each of 3 questions" in output
    assert "5 drafts that nobody has accepted were left out." in output


def test_drafts_are_written_as_our_own_json_and_are_sound(
    command: Command,
    tmp_path: Path,
    faq: Path,
    monkeypatch: pytest.MonkeyPatch,
    openai_server: OpenAIServer,
) -> None:
    drafts = tmp_path / "drafts.json"
    monkeypatch.setenv("RAG_NODES_API_KEY", "sk-canary")
    monkeypatch.setenv("RAG_NODES_API_BASE", openai_server.base)
    asked = ("questions", "draft", faq, "-o", drafts, "--count", "7")
    ended = command(*asked)
    assert ended.code == 0, ended.stderr
    assert not openai_server.requests, "a model is asked only where --llm names it"
    assert "Drafts cannot choose a parser or a size" in " ".join(ended.stdout.split())
    written = json.loads(drafts.read_text("utf-8"))["questions"]
    assert len(written) == 7
    assert all(row["draft"] for row in written)
    before = drafts.read_bytes()
    assert command(*asked, "--json").json["drafts"] == 7
    assert drafts.read_bytes() == before
    assert command("questions", "check", drafts, faq).code == 0
    shipped = command("questions", "check", QUESTIONS, FERRY, "--json").json
    assert (shipped["questions"], shipped["sound"], shipped["leakage"] < 0.4) == (46, True, True)


def test_the_check_of_questions_names_rows_that_are_one_question(
    command: Command, tmp_path: Path
) -> None:
    sheet, tea = tmp_path / "sheet.csv", tmp_path / "tea.md"
    tea.write_text("Green tea at eighty degrees. Black tea at a hundred.", "utf-8")
    sheet.write_text("question,quote\nHow hot?,eighty\nHow hot?,hundred\n", "utf-8")
    ended = command("questions", "check", sheet, tea, "--json")
    [note] = ended.json["notes"]
    assert "Rows 2 and 3 are one question" in note
    assert note in ended.stderr


def test_a_model_that_only_chats_drafts_nothing_and_its_answers_are_kept_for_another_try(
    command: Command,
    manual: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    openai_server: OpenAIServer,
) -> None:
    monkeypatch.setenv("RAG_NODES_API_KEY", "sk-canary")
    monkeypatch.setenv("RAG_NODES_API_BASE", openai_server.base)
    drafts = tmp_path / "drafts.json"
    asked = ("questions", "draft", manual, "-o", drafts, "--count", "4", "--llm", "openai")
    ended = command(*asked)
    assert ended.code == 1
    assert "wrote no usable question" in " ".join(ended.stderr.split())
    assert not drafts.exists()
    paid = len(openai_server.requests)
    assert command(*asked, "--resume").code == 1
    assert len(openai_server.requests) == paid > 0


@pytest.fixture
def judging_server(monkeypatch: pytest.MonkeyPatch, openai_server: OpenAIServer) -> OpenAIServer:
    monkeypatch.setenv("RAG_NODES_API_KEY", "sk-canary")
    monkeypatch.setenv("RAG_NODES_API_BASE", openai_server.base)
    openai_server.answer = good
    return openai_server


SMALL = "fixed:chunk_size=60,chunk_overlap=0"
JUDGED = (*QUICK, "-p", "heading", "-p", SMALL, "--embedding", "lexical")


def test_answers_are_judged_by_a_served_model_whose_key_is_written_nowhere(
    command: Command, manual: Path, sheet: Path, tmp_path: Path, judging_server: OpenAIServer
) -> None:
    page, cache = tmp_path / "report.html", tmp_path / "cache"
    asked = ("evaluate", manual, "--questions", sheet, *JUDGED, "--cache", cache)
    judging = ("--judge", "2", "--llm", "openai", "--judge-model", "careful-1")
    ended = command(*asked, *judging, "--html", page)
    assert ended.code == 0, ended.stderr
    shown = " ".join(ended.stdout.split())
    assert "Answers from" in shown
    assert "and careful-1 judged" in shown
    assert "Judged answers" in page.read_text("utf-8")
    models = {body["model"] for body in judging_server.asked("chat/completions")}
    assert models == {"gpt-4o-mini", "careful-1"}
    again = command(*asked, *judging, "--json")
    assert again.json["judgement"]["error"] is None
    assert b"sk-canary" not in b"".join(path.read_bytes() for path in cache.iterdir())
    assert "sk-canary" not in again.stdout


def test_a_judge_that_is_not_there_fails_the_judging_and_exits_with_3(
    command: Command, manual: Path, sheet: Path, judging_server: OpenAIServer
) -> None:
    def answer(prompt: str) -> str:
        return good(prompt) if kind_of(prompt) == "answer" else "as you like"

    judging_server.answer = answer
    asked = ("evaluate", manual, "--questions", sheet, *JUDGED, "--judge", "2", "--llm", "openai")
    ended = command(*asked, "--json")
    assert ended.code == 3
    assert "judged nothing" in ended.json["judgement"]["error"]
    assert "judged nothing" in " ".join(ended.stderr.split())
    assert ended.json["rows"][0]["interval"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--judge", "2"), "no LLM answers"),
        (("--judge", "2", "--llm", "llama_index.core.llms:MockLLM"), "is a mock"),
        (("--judge", "2", "--llm", "openai", "--judge-model", "llama_index.core.llms:MockLLM"),
         "is a mock"),
        (("--judge-model", "careful-1"), "add --judge 20"),
        (("--judge", "2", "--judge-option", "model=x"), "needs the --judge-model"),
        (("--judge", "2", "--judge-model", "llama_index.core.llms:MockLLM",
          "--judge-option", "api_key=sk-x"), "environment"),
    ],
)  # fmt: skip
def test_unusable_judges_are_refused_before_anything_is_measured(
    command: Command,
    manual: Path,
    sheet: Path,
    judging_server: OpenAIServer,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    llm = () if "--llm" in arguments else ("--llm", "extractive")
    ended = command("evaluate", manual, "--questions", sheet, *JUDGED, *llm, *arguments)
    assert ended.code in (1, 2)
    assert message in " ".join(ended.stderr.split())
    assert len(judging_server.requests) <= 1


REVERSE = "rerankers:Reverse"


def test_modes_and_rerankers_are_rows_beside_each_other(
    command: Command, manual: Path, sheet: Path
) -> None:
    asked = ("evaluate", manual, "--questions", sheet, "-p", "heading", *QUICK)
    ended = command(*asked, "--mode", "sparse", "--mode", "hybrid", "--rerank", REVERSE)
    assert ended.code == 0
    output = " ".join(ended.stdout.split())
    for search in ("sparse", "hybrid", "sparse, Reverse", "hybrid, Reverse"):
        assert f"heading ({search})" in output
    assert "Hybrid search instead of sparse search: " in output
    rows = command(*asked, "--rerank", REVERSE, "--json").json["rows"]
    assert [row["name"] for row in rows] == ["heading", "heading (Reverse)"]
    [alone] = command(*asked, "--mode", "hybrid", "--json").json["rows"]
    assert (alone["name"], alone["mode"], alone["search"]) == ("heading", "hybrid", "")
    assert "searched" not in alone["parser"]
    refused = command(*asked, "--rerank", "llama_index.core.schema:TextNode")
    assert refused.code == 2
    assert "is not a subclass of BaseNodePostprocessor" in refused.stderr
