"""What holds for every operation, whoever asks for it and on whichever surface."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crawls import write_crawl
from fixtures_app import offline_settings
from pydantic import ValidationError
from typer.main import get_command_from_info
from typer.models import CommandInfo

from rag_nodes.cli.derive import command_of
from rag_nodes.core.errors import CancelledError, CollectionMissingError, ConfigurationError
from rag_nodes.core.processes import Interrupt, interruptible
from rag_nodes.core.settings import Settings
from rag_nodes.models import choose_models
from rag_nodes.operations import GROUPS, OPERATIONS, ExitCode, Operation
from rag_nodes.operations.agents import TOOLS
from rag_nodes.operations.asking import AskRequest
from rag_nodes.operations.base import Flag, Only, Reply, Request, model_for
from rag_nodes.operations.copying import PushRequest, push
from rag_nodes.operations.documents import ChunkRequest
from rag_nodes.operations.run import Run, Said
from rag_nodes.operations.stored import Listed, StatusRequest, status
from rag_nodes.operations.workspace.session import Session
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest
from rag_nodes.pipeline.upkeep import ListedDocument
from rag_nodes.store import open_store

SERVED = [
    *(
        (model_for(operation.request), model_for(operation.reply))
        for operation in OPERATIONS
        if "rest" in operation.surfaces
    ),
    *((tool.request, tool.reply) for tool in TOOLS.values()),
]
"""Requests of strangers over REST and of agents, each with its reply."""
LIGHT = "typer", "rich", "pydantic", "pydantic_settings"
HEAVY = "llama_index", "qdrant_client", "pymupdf", "openai", "gradio", "numpy", "tiktoken", "ray"

SILENT = {"status", "list", "remove", "clear"}
"""Operations that are done before there is anything to tell."""

every_operation = pytest.mark.parametrize(
    "operation", OPERATIONS, ids=lambda collection: collection.name
)
every_served = pytest.mark.parametrize(
    ("request_model", "reply_model"), SERVED, ids=lambda part: part.__name__
)


def imported_by(script: str, names: tuple[str, ...]) -> list[str]:
    looked = f"import sys\n{script}\nprint([one for one in {names!r} if one in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", looked], capture_output=True, text=True, check=True
    )
    modules: list[str] = json.loads(done.stdout.splitlines()[-1].replace("'", '"'))
    return modules


def test_the_list_imports_nothing_but_names() -> None:
    assert imported_by("import rag_nodes.operations", (*LIGHT, *HEAVY)) == []


def test_the_help_of_every_operation_imports_nothing_heavy() -> None:
    names = [operation.name for operation in OPERATIONS]
    script = (
        "import contextlib, io\n"
        "from rag_nodes.cli.program import run\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    codes = [run([*name.split(), '--help']) for name in {names!r}]\n"
        "assert codes == [0] * len(codes), codes"
    )
    assert imported_by(script, HEAVY) == []


@every_operation
def test_the_list_says_what_the_docstring_of_the_request_says(operation: Operation) -> None:
    docstring = " ".join((operation.request.__doc__ or "").split())
    assert docstring.startswith(operation.summary)
    assert operation.name.partition(" ")[0] in GROUPS or " " not in operation.name


@every_operation
def test_every_field_is_described(operation: Operation) -> None:
    fields = operation.request.model_fields
    assert [name for name, field in fields.items() if not field.description] == []
    settings = Settings.model_fields
    assert [name for name in operation.settings if not settings[name].description] == []


@every_operation
def test_main_options_are_at_most_five_known_fields(operation: Operation) -> None:
    fields = {*operation.request.model_fields, *operation.settings}
    assert {*operation.main} <= fields
    assert len(operation.main) <= 5


@every_operation
def test_its_examples_can_be_typed(operation: Operation) -> None:
    command = get_command_from_info(
        CommandInfo(name="it", callback=command_of(operation)),
        pretty_exceptions_short=False,
        rich_markup_mode=None,
    )
    assert operation.examples
    for example in operation.examples:
        typed = shlex.split(example.partition(" | ")[0].partition(" > ")[0])
        words = operation.name.split()
        assert typed[: len(words)] == words
        command.make_context("it", typed[len(words) :])


@every_operation
def test_parsers_are_typed_alike_everywhere(operation: Operation) -> None:
    for name, field in operation.request.model_fields.items():
        if "ParserSpec" in str(field.annotation):
            (flag,) = (part for part in field.metadata if isinstance(part, Flag))
            assert (flag.name or f"--{name}", flag.short) == ("--parser", "-p")


# --- what strangers may send and see ------------------------------------------------------------


def schemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Every schema in a schema."""
    if isinstance(schema, list):
        for part in schema:
            yield from schemas(part)
    elif isinstance(schema, dict):
        yield schema
        for part in schema.values():
            yield from schemas(part)


@every_served
def test_a_stranger_can_name_no_file_and_send_nothing_without_a_bound(
    request_model: type[Request], reply_model: type[Reply]
) -> None:
    del reply_model
    schema = request_model.model_json_schema()
    for part in schemas(schema):
        kind = part.get("type")
        assert part.get("format") not in {"path", "file-path", "directory-path"}
        if kind == "string" and not {"enum", "const"} & part.keys():
            assert "maxLength" in part, part
        elif kind in {"integer", "number"}:
            assert {"maximum", "exclusiveMaximum"} & part.keys(), part
        elif kind == "array":
            assert "maxItems" in part, part


@every_served
def test_a_stranger_gets_a_typed_reply_without_open_tables_and_a_sentence_about_each_field(
    request_model: type[Request], reply_model: type[Reply]
) -> None:
    del request_model
    schema = reply_model.model_json_schema()
    for part in schemas(schema):
        assert part.get("additionalProperties") is not True, part
        for name, field in part.get("properties", {}).items():
            description = field["description"]
            assert description != part["description"], name
            assert not re.match(r"[a-z]|\d[a-z]", description), (name, description)
            assert not re.search(r"\(\)|`rag_nodes|\bNone\b|see `[A-Z]", description), (
                name,
                description,
            )
    assert not [
        part for part in schemas(schema) if {"source", "path"} & part.get("properties", {}).keys()
    ]


def test_a_field_of_another_surface_is_no_field() -> None:
    (chunk,) = (operation for operation in OPERATIONS if operation.name == "chunk")
    request = chunk.request
    assert Only(("cli",)) in request.model_fields["file"].metadata
    assert request.model_fields.keys() - model_for(request).model_fields.keys() == {
        "file",
        "full",
    }


# --- a run --------------------------------------------------------------------------------------


@pytest.fixture
def settings(no_configuration: Path) -> Settings:
    return Settings(store=str(no_configuration / "kept"), embedding="lexical", llm="extractive")


def test_a_run_whose_interrupt_is_set_ends_at_the_next_event(settings: Settings) -> None:
    interrupt, heard = Interrupt(), []
    with interruptible(interrupt):
        run = Run(settings, heard.append)
    run.note("one")
    interrupt.set()
    with pytest.raises(CancelledError):
        run.note("two")
    assert heard == [Said("one")]


@pytest.fixture(scope="module")
def kept_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What operations work on: documents, questions, a crawl, a store, another program's folder."""
    folder = tmp_path_factory.mktemp("there")
    text = folder / "tea.md"
    text.write_text("# Tea\n\nGreen tea takes eighty degrees.\n", "utf-8")
    (folder / "q.csv").write_text("question,answer\nHow hot?,eighty degrees\n", "utf-8")
    write_crawl(folder / "crawl.json")
    with open_store(folder / "kept") as store:
        ingest(
            [text], {"auto": get_parser("auto")}, store, models=choose_models(offline_settings())
        )
    return folder


def request_for(operation: Operation, kept_folder: Path, out: Path) -> Request:
    """A request that has enough to do."""
    is_of_questions = operation.name.startswith(("questions", "evaluate", "recommend"))
    given: dict[str, Any] = {
        "paths": [kept_folder / "tea.md"],
        "files": [str(kept_folder / "tea.md")],
        "file": kept_folder / ("q.csv" if is_of_questions else "tea.md"),
        "question": "How hot?",
        "crawl": kept_folder / "crawl.json",
        "output": out / "made.json",
        "target": str(out / "copy"),
        "folder": out / "copy",
        "yes": True,
        "page": 1,
        **({"text": "How hot?"} if operation.name == "locate" else {}),
    }
    fields = operation.request.model_fields
    return operation.request.model_validate({k: v for k, v in given.items() if k in fields})


@pytest.mark.parametrize("when", ["before", "at the first event"])
@every_operation
def test_an_operation_that_is_ended_does_nothing_more(
    operation: Operation, when: str, kept_folder: Path, no_configuration: Path
) -> None:
    if when != "before" and operation.name in SILENT:
        return
    is_filled = operation.name == "ingest"
    store = no_configuration / "new" if is_filled else kept_folder / "kept"
    location = ":memory:" if operation.name == "compare" else str(store)
    settings = offline_settings().model_copy(update={"store": location})
    request, interrupt, heard = (
        request_for(operation, kept_folder, no_configuration),
        Interrupt(),
        [],
    )

    def hear(event: object) -> None:
        heard.append(event)
        interrupt.set()  # as by somebody else

    if when == "before":
        interrupt.set()
    before = sorted(kept_folder.rglob("*.json")), (kept_folder / "tea.md").read_text("utf-8")
    with interruptible(interrupt):
        run = Run(settings, hear)

    def perform() -> None:
        run.tell(request)
        operation.function(request, run)

    with interruptible(interrupt), pytest.raises(CancelledError):
        perform()
    run.close()
    assert len(heard) == (when != "before")
    assert not [*no_configuration.glob("**/collections/*")]
    assert not [*no_configuration.glob("made.json*")]
    assert (
        sorted(kept_folder.rglob("*.json")),
        (kept_folder / "tea.md").read_text("utf-8"),
    ) == before
    run = Run(settings.model_copy(update={"store": str(kept_folder / "kept")}))
    assert [collection.chunks for collection in status(StatusRequest(), run).collections] == [1]
    run.close()


def test_a_session_of_a_stranger_with_a_persistent_store_is_refused(settings: Settings) -> None:
    with pytest.raises(ConfigurationError, match="must not be stored"):
        Run(settings, session=Session(settings, store=settings.store), offer={})


def test_bounds_hold_for_strangers_and_not_for_the_owner() -> None:
    long = {"question": "Why? " * 2000}
    assert AskRequest.model_validate(long)
    with pytest.raises(ValidationError, match="4000 characters"):
        model_for(AskRequest).model_validate(long)
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        model_for(ChunkRequest).model_validate({"file": "/etc/passwd"})


def test_a_result_is_reported_by_its_fields_and_times_in_utc() -> None:
    listed = Listed(
        outcome=ExitCode.PARTIAL,
        corpus="tea",
        documents=[ListedDocument("a", "tea", "a.md", stored_at=1_600_000_000.5, pages=3)],
        total=2,
        collections={"tea.fixed": "FixedSizeNodeParser"},
        foreign=(),
    )
    fields = listed.as_dict()
    assert (
        fields["documents"][0] | {"stored_at": "2020-09-13T12:26:40Z", "pages": 3}
        == fields["documents"][0]
    )
    assert (fields["total"], fields["foreign"], "outcome" in fields) == (2, [], False)


def test_a_push_of_nothing_makes_no_store(no_configuration: Path) -> None:
    source, target = no_configuration / "empty", no_configuration / "notaurl"
    open_store(source).close()
    run = Run(Settings(store=str(source)))
    with pytest.raises(CollectionMissingError):
        push(PushRequest(target=str(target)), run)
    run.close()
    assert not target.exists()
