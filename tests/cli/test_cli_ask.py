"""`rag-nodes ask`: modes, filters, retrieval alone, and answers that grow on a terminal."""

import re
from pathlib import Path

import pytest
from openai_server import Fault, OpenAIServer
from rich.console import Console
from terminals import shown_text, terminal
from tests.cli.conftest import Command, invoke_cli

from rag_nodes.cli.invocation import Invocation
from rag_nodes.cli.progress import Watch
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.operations import ExitCode
from rag_nodes.operations.filtering import SearchFilter, search_filter
from rag_nodes.operations.run import QuestionAsked
from rag_nodes.query import Delta, Filter

HANDBOOK = Path(__file__).parents[2] / "examples" / "corpus" / "handbook.pdf"
FERRY = HANDBOOK.with_name("ferry.pdf")
QUIET = "When do quiet hours begin?"
SAND = "When must the sand filter be rinsed backwards?"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    """Where the handbook is stored, which no question changes."""
    stored = ("-p", "fixed", "--store", tmp_path_factory.mktemp("handbook") / "kept")
    assert invoke_cli("ingest", HANDBOOK, *stored, "--embedding", "lexical", "-q").code == 0
    return stored


@pytest.fixture
def handbook(command: Command, kept: tuple[object, ...]) -> Command:
    return lambda question, *options: command("ask", question, *kept, *options)


def test_the_context_is_compared_with_the_documents_it_is_from(
    handbook: Command, tmp_path: Path
) -> None:
    answer = handbook(SAND, "--json").json
    assert 0 < answer["context_tokens"] < answer["document_tokens"]
    assert answer["context_reduction"] == 1 - answer["context_tokens"] / answer["document_tokens"]
    assert f"{answer['context_reduction']:.0%} less" in handbook(SAND).stderr

    unknown = handbook(SAND, "--json", "--ledger", tmp_path / "no such ledger").json
    assert unknown["document_tokens"] is unknown["context_reduction"] is None


def test_a_file_in_front_of_the_question_is_answered_with_the_command_for_files(
    command: Command,
) -> None:
    ended = command("ask", "handbook.pdf", SAND)
    message = " ".join(ended.stderr.replace("│", " ").split())
    assert ended.code == ExitCode.USAGE
    assert f"Too many arguments: {SAND}" in message
    assert 'rag-nodes compare FILE --ask "QUESTION" --parser retrieval' in message


# --- what is searched ---------------------------------------------------------------------------


def test_an_answer_says_how_was_searched_and_where_what_it_cites_stands(
    handbook: Command,
) -> None:
    ended = handbook(SAND)
    cited = handbook(SAND, "--json").json["citations"][0]
    assert f"handbook.pdf, p. {cited['page']}" in ended.stdout
    assert f"characters {cited['start']}-{cited['end']}" in ended.stdout
    assert "· sparse search ·" in ended.stdout
    assert "1 score 1.00 · handbook.pdf" in ended.stdout
    assert not {"\r", "\x1b", "\x08"} & set(ended.stdout + ended.stderr), "nothing moves"
    hybrid = handbook(SAND, "--similarity-cutoff", "0.01").stdout
    assert "· hybrid search ·" in hybrid
    assert "score" not in hybrid
    first = hybrid.split("Chunks")[-1]
    match = re.search(r"1 (0\.\d\d) \((0\.\d\d)\) · handbook\.pdf · p+\. \d.* · \d+ tokens", first)
    assert match
    assert float(match[1]) + float(match[2]) == pytest.approx(1)


@pytest.mark.parametrize(
    "text",
    ["page=x", "page=9-3", "page=0", "file=", "heading", "page=3-", "!page", "page>3", "dept="],
)
def test_a_filter_that_makes_no_sense_is_refused(handbook: Command, text: str) -> None:
    ended = handbook(SAND, "--filter", text, "-q")
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, "")
    assert "page" in ended.stderr


def test_filters_add_up_and_each_is_given_once() -> None:
    def condition(*texts: str) -> Filter:
        return SearchFilter.model_validate(search_filter(texts)).condition()

    both = condition("file=a=b.pdf", "page=3", "heading= Water supply ")
    assert both == Filter(file_name="a=b.pdf", pages=(3, 3), heading="Water supply")
    address = "https://example.org/a?b=c"
    assert condition(f"source={address}") == Filter(source=address)
    assert search_filter([]) is None
    own = condition("dept=hr, legal", "year>=2020", " year<2024.5", "!draft", 'name="Smith, J"')
    assert own == Filter(
        where={
            "dept": ["hr", "legal"],
            "year": {">=": 2020, "<": 2024.5},
            "draft": None,
            "name": "Smith, J",
        }
    )
    assert condition("dept!=hr", "is final=true") == Filter(
        where={"dept": {"!=": "hr"}, "is final": True}
    )
    for twice in (["dept=hr", "dept=legal"], ["dept=hr", "!dept"], ["!dept", "dept=hr"]):
        with pytest.raises(ConfigurationError, match="dept is given twice"):
            search_filter(twice)
    with pytest.raises(ConfigurationError, match="page is given twice"):
        search_filter(["page=3", "page=4"])


def test_a_similarity_cutoff_leaves_out_what_is_less_similar(
    handbook: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    hybrid = handbook(SAND, "--mode", "hybrid", "--json").json
    every = [hit["similarity"] for hit in hybrid["hits"]]
    assert min(every) < 0.1 < max(every)
    kept = handbook(SAND, "--similarity-cutoff", "0.1", "--json").json["hits"]
    assert kept
    assert all(hit["similarity"] >= 0.1 for hit in kept)
    monkeypatch.setenv("RAG_NODES_SIMILARITY_CUTOFF", "0.99")
    assert handbook(SAND, "--json").json["kind"] == "nothing"


def test_a_preset_answers_as_its_source_document_says(
    handbook: Command, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1234")
    monkeypatch.setenv("RAG_NODES_API_BASE", openai_server.base)
    lexical = ("--embedding", "lexical", "--json")
    answer = handbook(SAND, "--answer-preset", "pdf-qa", *lexical).json
    body = openai_server.asked("chat/completions")[-1]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("gpt-3.5-turbo", 0.7, 1000)
    assert len(answer["hits"]) <= 10
    assert all(hit["similarity"] >= 0.2 for hit in answer["hits"])
    own = ("--temperature", "0.1", "--max-output-tokens", "50", "--top-k", "2")
    handbook(SAND, "--answer-preset", "workbench", *own, *lexical)
    body = openai_server.asked("chat/completions")[-1]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("gpt-4o", 0.1, 50)


def test_an_answer_that_reached_the_limit_of_tokens_says_so(
    handbook: Command, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1234")
    monkeypatch.setenv("RAG_NODES_API_BASE", openai_server.base)
    models = ("--llm", "openai", "--embedding", "lexical")
    openai_server.fail(Fault(body="length"), times=10)
    assert handbook(SAND, *models, "--json").json["truncated"] is True
    ended = handbook(SAND, *models)
    assert "incomplete: the LLM reached --max-output-tokens" in " ".join(
        (ended.stdout + ended.stderr).split()
    )


def test_retrieval_only_shows_chunks_and_no_answer(handbook: Command) -> None:
    ended = handbook(SAND, "--retrieval-only")
    assert ended.code == 0
    assert "retrieval only" in ended.stdout
    assert "[Source" not in ended.stdout
    assert "more than 2.4 bar" not in ended.stdout.split("Chunks")[0]
    answer = handbook(SAND, "--retrieval-only", "--json").json
    assert (answer["kind"], answer["citations"]) == ("retrieval", [])
    assert answer["hits"]


def test_a_limit_given_as_a_flag_also_holds_for_questions_about_steps(handbook: Command) -> None:
    steps = "How do I rinse the sand filter?"
    two = handbook(steps, "--top-k", "2", "--mode", "hybrid", "--json").json
    assert len(two["hits"]) == 2
    assert handbook(steps, "--budget", "300", "--json").json["context_tokens"] <= 300
    assert handbook(steps, "--json").json["widened"]
    assert "budget 3000 instead of 1500: asks for steps" in handbook(steps).stdout


def test_the_settings_file_decides_the_mode_where_no_flag_does(handbook: Command) -> None:
    Path("rag_nodes.toml").write_text('[answers]\nmode = "dense"\n', encoding="utf-8")
    assert handbook(SAND, "--json").json["mode"] == "dense"
    assert handbook(SAND, "--mode", "sparse", "--json").json["mode"] == "sparse"


# --- growing on a terminal ----------------------------------------------------------------------


def test_an_offline_answer_on_a_terminal_is_complete(
    handbook: Command, on_terminal: Console
) -> None:
    assert handbook(SAND).code == 0
    text = shown_text(on_terminal)
    assert "more than 2.4 bar" in " ".join(text.split())
    assert text.index("Question") < text.index("Answer") < text.index("Sources")
    assert "handbook.pdf, p. 2" in text


def test_a_stream_that_breaks_keeps_what_arrived_and_fails(
    command: Command,
    manual: Path,
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    on_terminal: Console,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1234")
    monkeypatch.setenv("RAG_NODES_API_BASE", openai_server.base)
    monkeypatch.setenv("RAG_NODES_RETRY_SECONDS", "0")
    assert command("ingest", manual, "-p", "heading", "--store", "kept", "-q").code == 0
    question = ("ask", "What is answered?", "-p", "heading", "--store", "kept", "-q")
    before = len(openai_server.requests)
    assert command(*question).code == 0
    assert "The documents answer this [Source 1]." in shown_text(on_terminal)
    assert openai_server.requests[-1].body["stream"]
    openai_server.faults.extend([Fault()] * (len(openai_server.requests) - before - 1))
    openai_server.fail(Fault(body="cut"))
    ended = command(*question)
    assert ended.code == ExitCode.FAILURE
    assert shown_text(on_terminal).endswith("Answer\nThe documents answer\n")
    assert "sk-canary" not in ended.stderr + shown_text(on_terminal)


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_no_control_character_reaches_the_terminal_however_it_is_split(size: int) -> None:
    text = "nine \x1b[31mlitres\x1b[0m \x1b]0;own ed\x07 \x9b2J of\r\u202e water \x08\x00"
    console = terminal()
    with Watch(Invocation(output=console)) as watch:
        watch(QuestionAsked("Why?", "a model", "Why?"))
        for start in range(0, len(text), size):
            watch(("heading", Delta(text[start : start + size])))
    assert not set("\x1b\x9b\x07\x08\x00\r\u202e") & set(shown_text(console))
    assert "nine litres" in shown_text(console) or size < 1000


def test_retrieved_chunks_and_selected_sentences_are_both_shown(
    command: Command, manual: Path
) -> None:
    shown = command("compare", manual, "--ask", "How much water?", "-p", "sentence-window").stdout
    assert "read with it, " in shown


def test_chunks_name_each_cited_source_once_and_no_other(command: Command) -> None:
    ended = command("compare", FERRY, "--ask", QUIET, "-p", "recursive", "--chunks", 20)
    listed = re.findall(r"^ *\[(\d+)\] ferry", ended.stdout, re.MULTILINE)
    assert listed
    assert sorted(re.findall(r"· source \[(\d+)\]", ended.stdout)) == listed


# --- follow-up questions ------------------------------------------------------------------------


def test_ask_searches_for_the_earlier_question_and_its_follow_up(handbook: Command) -> None:
    ended = handbook("And how long?", "--follow-up", SAND)
    assert ended.code == 0
    assert "Question And how long?" in " ".join(ended.stdout.split())
    assert f"Searched for {SAND} And how long?" in " ".join(ended.stdout.split())
    assert handbook("And how long?", "--follow-up", SAND, "--json").json["question"] == (
        f"{SAND} And how long?"
    )
    assert "Searched for" not in handbook("And how long?").stdout
    assert handbook("And how long?", "--json").json["question"] == "And how long?"


def test_compare_searches_for_the_earlier_question_and_its_follow_up(
    command: Command, manual: Path
) -> None:
    asked = (manual, "-p", "fixed", "-a", "Why?")
    ended = command("compare", *asked, "--follow-up", "What holds the water?")
    assert "Searched for What holds the water? Why?" in " ".join(ended.stdout.split())
    assert "Searched for" not in command("compare", *asked).stdout


def test_a_blank_earlier_question_is_refused(handbook: Command) -> None:
    ended = handbook("Why?", "--follow-up", " ")
    assert ended.code == ExitCode.USAGE
    assert "follow_up is empty: give the earlier question" in ended.stderr


def test_a_streamed_answer_shows_what_a_follow_up_was_searched_for() -> None:
    screen = terminal(80)
    watch = Watch(Invocation(output=screen, errors=terminal(80)))
    with watch:
        watch(QuestionAsked("Why?", "lexical", "What holds the water? Why?"))
    assert "Searched for  What holds the water? Why?" in shown_text(screen)


def test_a_reranker_puts_the_chunks_into_its_order(handbook: Command) -> None:
    whole = ("--granularity", "chunks", "--retrieval-only", "--json")
    node_ids = [hit["node_id"] for hit in handbook(SAND, *whole, "--budget", "100000").json["hits"]]
    turned = handbook(SAND, *whole, "--budget", "100000", "--rerank", "rerankers:Reverse")
    assert [hit["node_id"] for hit in turned.json["hits"]] == node_ids[::-1]
    refused = handbook(SAND, "--rerank", "llama_index.core.schema:TextNode")
    assert refused.code == 2
    assert "is not a subclass of BaseNodePostprocessor" in refused.stderr
