"""`ingest`, `ask`, `chunk` and `compare` on small files, offline unless they say otherwise."""

import sys
from pathlib import Path

import pytest
from crawls import write_crawl
from openai_server import OpenAIServer
from tests.cli.conftest import Command

from rag_nodes.core.errors import ModelResponseError
from rag_nodes.operations import ExitCode
from rag_nodes.query import RagNodesQueryEngine

HANDBOOK = Path(__file__).parents[2] / "examples" / "corpus" / "handbook.pdf"
QUESTION = "How many litres does the tank hold?"
SAND = "When must the sand filter be rinsed backwards?"
SECTIONS = [f"## Step {n}\n\n" + "Turn the valve until it stops. " * 20 for n in range(9)]


# --- ingest and ask -----------------------------------------------------------------------------


def test_a_stored_document_answers_with_its_place(command: Command, manual: Path) -> None:
    assert command("ingest", manual, "-p", "heading:min_chunk_size=5", "--store", "kept").code == 0
    question = ("ask", QUESTION, "-p", "heading:min_chunk_size=5", "--store", "kept")
    shown = command(*question)
    assert shown.code == 0
    assert "The tank holds nine litres of water. [Source 1]" in shown.stdout
    assert "[1] manual.md, line 7, Tea machine > Water" in shown.stdout
    assert "lexical-1024 (offline)" in shown.stdout
    answer = command(*question, "--json").json
    assert answer["schema_version"] == 1
    cited = answer["citations"][0]
    text = manual.read_text(encoding="utf-8")
    assert text[cited["start"] : cited["end"]] == cited["quote"]


def test_asking_what_was_not_ingested_says_what_is_stored(command: Command, manual: Path) -> None:
    command("ingest", manual, "-p", "heading", "--store", "kept")
    ended = command("ask", QUESTION, "-p", "fixed", "--store", "kept", "-q")
    assert ended.code == ExitCode.FAILURE
    assert ended.stdout == ""
    collection = ended.stderr.partition("there are: ")[2].partition(";")[0]
    assert collection.startswith("default.HeadingHierarchyNodeParser.lexical-1024.")
    assert f"{collection}; to ask one of these, name it with --collection" in ended.stderr
    assert command("ask", QUESTION, "--collection", collection, "--store", "kept").code == 0
    assert "ingest documents first, with the same parser" in ended.stderr
    memory = command("ask", QUESTION, "--store", ":memory:")
    assert (memory.code, "rag-nodes compare" in memory.stderr) == (ExitCode.USAGE, True)


def test_a_corpus_that_compares_sentences_by_a_model_is_searched_by_its_preset(
    command: Command, manual: Path
) -> None:
    model = (
        *("--embedding", "llama_index.core.embeddings:MockEmbedding"),
        *("--embedding-option", "embed_dim=8", "--store", "kept"),
    )
    command("ingest", manual, "-p", "semantic", *model)
    assert command("ask", QUESTION, *model, "--json").json["parser"] == "semantic"
    ended = command("ask", QUESTION, "--store", "kept")
    assert "there are: default.SemanticNodeParser.Mock" in ended.stderr


def test_an_option_out_of_range_is_said_in_the_words_that_were_typed(
    command: Command, manual: Path
) -> None:
    ended = command("chunk", manual, "-p", "fixed:chunk_size=0")
    assert "Error: parser 'fixed:chunk_size=0': chunk_size: must be at least 1" in ended.stderr
    ended = command("list", "--state", "lost")
    assert "Error: --state: must be 'stored', " in ended.stderr


def test_some_bad_files_are_a_partial_result_and_none_but_bad_ones_a_failure(
    command: Command, manual: Path, corrupt: Path, tmp_path: Path
) -> None:
    stored = ("-p", "fixed", "--store", "kept")
    ended = command("ingest", corrupt, manual, *stored, "--json")
    assert ended.code == ExitCode.PARTIAL
    statuses = {Path(file["path"]).name: file["status"] for file in ended.json["files"]}
    assert statuses == {"corrupt.pdf": "failed", "manual.md": "read"}
    assert "Failed: 1 of 2 files" in ended.stderr
    assert "corrupt.pdf: the file is damaged" in ended.stderr, "stdout is for programs"
    bad = command("ingest", corrupt, tmp_path / "missing.md", *stored)
    assert bad.code == ExitCode.FAILURE
    output = " ".join(bad.stdout.split())  # lines end where the length of a path makes them end
    assert "corrupt.pdf: the file is damaged" in output
    assert "missing.md: no such file" in output


# --- chunk --------------------------------------------------------------------------------------


def test_chunks_are_exact_slices_in_json(command: Command, manual: Path) -> None:
    asked = ("chunk", manual, "-p", "fixed:chunk_size=60,chunk_overlap=10")
    assert "chunk_size 60" in command(*asked).stdout
    whole = command(*asked, "--json").json
    text = manual.read_text(encoding="utf-8")
    assert whole["characters"] == len(text)
    assert len(whole["chunks"]) > 3
    for index, chunk in enumerate(whole["chunks"]):
        assert chunk["index"] == index
        assert text[chunk["start"] : chunk["end"]] == chunk["text"]


def test_full_shows_every_character_and_the_table_only_the_beginning(
    command: Command, manual: Path
) -> None:
    table, full = command("chunk", manual), command("chunk", manual, "--full")
    assert "Never use sand." in full.stdout
    assert "Never use sand." not in table.stdout
    assert "0-" in table.stdout


def test_a_file_that_cannot_be_read_is_one_line(command: Command, corrupt: Path) -> None:
    ended = command("chunk", corrupt, "-q")
    assert ended.code == ExitCode.FAILURE
    assert ended.stdout == ""
    assert ended.stderr.count("\n") == 1


# --- compare ------------------------------------------------------------------------------------


def test_four_parsers_answer_with_page_and_heading(command: Command) -> None:
    ended = command("compare", HANDBOOK, "--ask", SAND)
    assert ended.code == 0
    assert ended.stdout.index("lexical-1024 (offline)") < ended.stdout.index("Fixed size")
    for title in ("Fixed size", "Heading hierarchy", "Token overlap", "Semantic"):
        assert title in ended.stdout
    assert ended.stdout.count("handbook.pdf, p. 2") >= 4
    assert "2 Water" in ended.stdout
    assert ended.stdout.count("more than 2.4 bar") >= 4


def test_json_is_alone_on_stdout_while_progress_goes_to_stderr(
    command: Command, manual: Path
) -> None:
    ended = command("compare", manual, "--ask", QUESTION, "--json")
    report = ended.json
    assert report["schema_version"] == 1
    assert [column["name"] for column in report["columns"]] == [
        "fixed",
        "heading",
        "token-overlap",
        "semantic",
    ]
    assert all(column["answer"]["citations"] for column in report["columns"])
    assert "read manual.md (1/1)" in ended.stderr
    assert "lexical-1024 (offline)" in ended.stderr
    few = command("compare", manual, "--ask", QUESTION, "-p", "fixed", "--chunks", "0", "--quiet")
    assert (few.code, few.stderr) == (0, "")
    assert "score · file · page" not in few.stdout


def test_nothing_is_asked_when_no_file_could_be_read(command: Command, corrupt: Path) -> None:
    ended = command("compare", corrupt, "-a", QUESTION, "-p", "fixed", "--json")
    assert (ended.code, ended.json["columns"]) == (ExitCode.FAILURE, [])
    assert "the file is damaged" in ended.json["files"][0]["error"]
    output = command("compare", corrupt, "-a", QUESTION).stdout
    assert "the file is damaged" in " ".join(output.split())


def test_a_parser_that_fails_is_a_column_with_its_error(
    command: Command, manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = RagNodesQueryEngine.answer

    def fail_in_fixed(engine: RagNodesQueryEngine, *arguments: object, **options: object) -> object:
        if engine.parser_name == "fixed":
            raise ModelResponseError("the stream was cut")
        return answer(engine, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(RagNodesQueryEngine, "answer", fail_in_fixed)
    asked = ("compare", manual, "-a", QUESTION, "-p", "fixed", "-p", "heading")
    assert "\nfixed: the stream was cut\n" in command(*asked, "--json").stderr
    ended = command(*asked)
    assert ended.code == ExitCode.PARTIAL
    assert "Failed: the stream was cut" in ended.stdout
    assert "nine litres" in ended.stdout
    assert "Failed: 1 of 2 parsers" in ended.stderr


def test_text_from_documents_is_shown_and_never_obeyed(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "hostile.md"
    path.write_text(
        "# [red]Tank[/red] \x1b]0;owned\x07\n\n"
        "The tank holds \x1b[31mnine\x1b[0m [bold]litres[/bold] [/oops] :smile: \x9b2J of water.\n",
        encoding="utf-8",
    )
    for columns in ("200", "60"):
        monkeypatch.setenv("COLUMNS", columns)
        ended = command("compare", path, "-a", QUESTION)
        assert ended.code == 0
        assert "\x1b" not in ended.stdout
        assert "\x9b" not in ended.stdout
        assert "[bold]litres[/bold] [/oops] :smile:" in " ".join(ended.stdout.split())
    for arguments in (("chunk", path), ("chunk", path, "--full"), ("chunk", path, "--json")):
        assert not {"\x1b", "\x9b"} & set(command(*arguments).stdout)


# --- models behind a server ---------------------------------------------------------------------


def test_openai_models_are_named_and_their_answer_is_cited(
    command: Command, manual: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1234")
    monkeypatch.setenv("RAG_NODES_API_BASE", openai_server.base)
    ended = command("compare", manual, "-a", QUESTION, "-p", "heading", "-p", "semantic", "-v")
    assert ended.code == 0
    assert "The documents answer this [Source 1]." in ended.stdout
    assert "written by gpt-4o-mini" in ended.stdout
    assert "text-embedding-3-small" in ended.stdout
    assert "Embedded " in ended.stdout
    assert "question embedded: " in ended.stdout
    assert "price unknown" in ended.stdout, "nobody here knows what this server charges"
    assert "sk-canary" not in ended.stdout + ended.stderr


def test_a_refused_key_is_found_before_work_starts(
    command: Command, manual: Path, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openai_server import UNAUTHORIZED

    openai_server.fail(UNAUTHORIZED, times=4)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1234")
    monkeypatch.setenv("RAG_NODES_API_BASE", openai_server.base)
    ended = command("compare", manual, "-a", QUESTION, "-p", "heading")
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, "")
    assert "sk-canary" not in ended.stderr


def test_a_server_that_is_not_there_is_a_missing_service(
    command: Command, manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_NODES_RETRY_SECONDS", "0")
    ended = command("compare", manual, "-a", QUESTION, "-p", "fixed", "--embedding", "openai",
                    "--api-base", "http://127.0.0.1:9/v1")  # fmt: skip
    assert (ended.code, ended.stdout) == (ExitCode.UNAVAILABLE, "")
    assert "127.0.0.1:9" in ended.stderr


def test_a_pdf_without_its_extra_says_what_to_install_and_ends_with_code_5(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pymupdf", None)
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    ended = command("compare", HANDBOOK, "-a", SAND, "-p", "heading")
    assert ended.code == ExitCode.UNAVAILABLE
    assert "pip install 'rag-nodes[pdf]'" in " ".join((ended.stdout + ended.stderr).split())


# --- what the automatic parser chose ------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("chunk", "-p", "auto"),
        ("ingest", "-p", "auto", "--store", "kept"),
        ("compare", "-p", "auto"),
    ],
    ids=["chunk", "ingest", "compare"],
)
def test_p8_the_choice_of_the_automatic_parser_is_printed_with_its_reason(
    command: Command, arguments: tuple[str, ...]
) -> None:
    ask = ("--ask", QUESTION) if arguments[0] == "compare" else ()
    shown = command(arguments[0], HANDBOOK, *arguments[1:], *ask)
    output = " ".join(shown.stdout.split())
    assert "heading: " in output
    assert "The document is Markdown, so nodes hold up to 200 tokens." in output


# --- what the chunks say about their size ---------------------------------------------------------


def test_p13_the_size_that_a_script_asked_for_is_printed(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "pump.txt"
    path.write_text("泵在夜间运行。土壤干燥时，水箱会自动加满。" * 200, encoding="utf-8")  # noqa: RUF001
    shown = " ".join(command("chunk", path, "-p", "fixed").stdout.split())
    assert "in this script are about as many tokens" in shown


def test_s0_45_a_cap_on_sentences_is_an_option_and_its_effect_is_printed(
    command: Command, manual: Path
) -> None:
    arguments = ("chunk", manual, "-p", "semantic:max_sentences=2,chunk_size=20,min_chunk_size=4")
    shown = " ".join(command(*arguments).stdout.split())
    assert "beyond the first 2 sentences, which alone are embedded: split by size" in shown


# --- where no parser is named ---------------------------------------------------------------------


def test_a_folder_that_is_ingested_without_a_parser_is_split_and_asked_by_retrieval(
    command: Command, tmp_path: Path
) -> None:
    crawl, kept = write_crawl(tmp_path / "crawl.json"), ("--store", tmp_path / "kept")
    (column,) = command("ingest", crawl, *kept, "--json").json["columns"]
    assert column["parser"] == "retrieval"
    answer = command("ask", "What does the machine draw from the tank?", *kept, "--json").json
    assert answer["parser"] == "retrieval"
    assert answer["hits"]
    pages = command("ingest", crawl, *kept, "-p", "auto", "--json").json["files"]
    assert all("page of a website" in page["columns"]["auto"]["choice"] for page in pages)


def test_a_corpus_of_one_other_preset_is_asked_by_that_where_no_parser_is_named(
    command: Command, tmp_path: Path
) -> None:
    kept = ("--store", tmp_path / "kept")
    ask = ("ask", SAND, *kept, "--json")
    command("ingest", HANDBOOK, "-p", "auto", *kept)
    assert command(*ask).json["parser"] == "auto"
    command("ingest", HANDBOOK, "-p", "fixed", *kept)
    several = command(*ask)
    assert several.code == ExitCode.FAILURE
    assert "default.AutoNodeParser." in several.stderr
    assert "default.FixedSizeNodeParser." in several.stderr
    command("ingest", HANDBOOK, *kept)
    assert command(*ask).json["parser"] == "retrieval"
