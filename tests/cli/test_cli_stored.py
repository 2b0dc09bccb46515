"""`rag-nodes status`, `list`, `remove` and `clear` as typed."""

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from tests.cli.conftest import Command

from rag_nodes.cli.progress import _STAGES
from rag_nodes.cli.views import VIEWS
from rag_nodes.cli.views.evaluation import _COLOURS
from rag_nodes.core.errors import CredentialsError, StoreLockedError
from rag_nodes.embedding import Stage
from rag_nodes.evaluation.diagnosis import REMEDIES, Reason
from rag_nodes.evaluation.gates import Outcome
from rag_nodes.evaluation.plan import Step
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.operations import OPERATIONS, ExitCode
from rag_nodes.operations.crawl import DocsStep
from rag_nodes.pipeline.upkeep import DocumentState, Inventory, ListedDocument
from rag_nodes.store.copying import CopyStep
from rag_nodes.store.edge import shards

OTHER_PROGRESS = (DocsStep, Step, CopyStep)


def stages_of(progress: type) -> tuple[str, ...]:
    return get_args(get_type_hints(progress)["stage"])


@pytest.fixture
def store(tmp_path: Path, manual: Path, command: Command) -> Path:
    folder, other = tmp_path / "store", tmp_path / "other.md"
    other.write_text("# Kettle\n\nThe kettle boils in two minutes.\n", encoding="utf-8")
    parsers = ("-p", "heading", "-p", "fixed")
    assert command("ingest", manual, other, *parsers, "--store", folder).code == 0
    return folder


def chunks(command: Command, store: Path) -> list[tuple[str, int, int]]:
    collections = command("status", "--store", store, "--json").json["collections"]
    return [(row["parser"], row["documents"], row["chunks"]) for row in collections]


@pytest.mark.parametrize("name", ["status", "list", "clear"])
def test_a_store_that_is_not_there_is_not_made(command: Command, tmp_path: Path, name: str) -> None:
    ended = command(name, "--store", tmp_path / "none")
    assert ended.code == ExitCode.USAGE
    assert "there is no store here; check --store" in ended.stderr
    assert not (tmp_path / "none").exists()


def test_status_and_list_say_what_is_stored_by_which_parser_and_model(
    command: Command, store: Path, manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = command("status", "--store", store).stdout
    assert "default: HeadingHierarchyNodeParser" in output
    assert "lexical" in output
    assert "2 collections" in output
    listed = command("list", "--store", store, "--json").json["documents"]
    assert [(entry["name"], entry["state"]) for entry in listed] == [
        ("manual.md", "stored"),
        ("other.md", "stored"),
    ]
    assert listed[0]["source"] == str(manual)
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.chdir(store.parent)
    narrow = command("list", "--store", store).stdout
    assert "2 of 2 documents: 2 stored" in narrow
    folded = "".join(line[:9].strip() for line in narrow.splitlines())
    assert "manual.md" in folded
    assert "other.md" in folded


def test_list_narrows_to_a_state_and_refuses_an_unknown_one(
    command: Command, store: Path, manual: Path
) -> None:
    assert "0 of 2 documents" in command("list", "--store", store, "--state", "expired,gone").stdout
    manual.unlink()
    gone = command("list", "--store", store, "--state", "gone,failed", "--json").json["documents"]
    assert [entry["name"] for entry in gone] == ["manual.md"]
    assert command("list", "--store", store, "--state", "lost").code == 2


def test_list_shows_a_document_whose_file_is_gone_and_names_the_command_that_removes_it(
    command: Command, store: Path, manual: Path
) -> None:
    manual.unlink()
    shown = command("list", "--store", store, "--state", "gone")
    assert (shown.code, shown.stderr) == (0, "")
    assert "corpus default: 1 of 2 documents: 1 gone" in shown.stdout
    message = " ".join(shown.stdout.split())
    words = shlex.split(message.partition("`rag-nodes ")[2].partition("`")[0])
    assert words[:2] == ["remove", str(manual)]
    assert command(*words).code == 0
    left = command("list", "--store", store, "--json").json["documents"]
    assert [entry["name"] for entry in left] == ["other.md"]


@pytest.mark.parametrize("as_json", [False, True])
def test_list_shows_documents_of_every_state(
    command: Command, store: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    states = get_args(DocumentState)
    documents = [ListedDocument(state, "default", f"{state}.md", state=state) for state in states]
    monkeypatch.setattr(Inventory, "documents", lambda *_: documents)
    ended = command("list", "--store", store, *(["--json"] if as_json else []))
    assert ended.code == 0
    assert all(f"{state}.md" in ended.stdout for state in states)


@pytest.mark.parametrize(
    ("shown", "values"),
    [
        ({*_COLOURS}, {*get_args(Outcome)}),
        ({*_STAGES} - {"count"}, {*get_args(Stage)}.union(*map(stages_of, OTHER_PROGRESS))),
        ({*REMEDIES}, {*get_args(Reason)}),
        ({*VIEWS} - {"app", "mcp"}, {operation.name for operation in OPERATIONS}),
    ],
    ids=["gates", "stages", "reasons", "operations"],
)
def test_views_know_every_value_that_they_are_given(shown: set[str], values: set[str]) -> None:
    assert shown == values


def test_remove_says_what_goes_of_every_collection_parents_too(
    command: Command, store: Path, manual: Path
) -> None:
    place = ("--store", store)
    assert command("ingest", manual, "-p", "parent-child", *place).code == 0
    would = command("remove", manual, "--dry-run", *place, "--json").json["collections"]
    ended = command("remove", manual, *place, "--json").json
    assert ended["title"] == "Removed manual.md"
    assert would == ended["collections"]
    assert sorted(row["nodes"] > 1 for row in would) == [False, False, True]
    left = command("list", *place, "--json").json["documents"]
    assert [entry["name"] for entry in left] == ["other.md"]
    asked = command("ask", "Who uses vinegar?", "-p", "heading", *place).stdout
    assert "Rinse the machine" not in asked


def test_a_hostile_name_is_shown_and_not_obeyed(command: Command, tmp_path: Path) -> None:
    hostile = tmp_path / "a\x1b[2Jb[red].md"
    hostile.write_text("# Title\n\nSome text.\n", encoding="utf-8")
    command("ingest", hostile, "--store", tmp_path / "store")
    output = command("list", "--store", tmp_path / "store").stdout
    assert "\x1b" not in output
    assert "[red]" in output


def test_list_says_whose_number_of_chunks_is_whose(
    command: Command, store: Path, manual: Path, tmp_path: Path
) -> None:
    third = tmp_path / "third.md"
    third.write_text("# Cup\n\nA cup.\n", encoding="utf-8")
    command("ingest", third, "-p", "heading", "--store", store)
    output = command("list", "--store", store).stdout
    assert "Chunks: FixedSizeNodeParser · HeadingHierarchyNodeParser" in output
    [row] = [line for line in output.splitlines() if "third.md" in line]
    assert "- · 1" in row
    assert "Chunks:" not in command("list", "--store", store, "-p", "heading").stdout
    command("ingest", manual, "-p", "heading:chunk_size=300", "--store", store)
    listing = " ".join(command("list", "--store", store).stdout.split())
    assert "Chunks: FixedSizeNodeParser · default.HeadingHierarchyNodeParser." in listing


def test_a_previous_collection_goes_by_the_command_that_the_ingest_tells(
    command: Command, manual: Path, store: Path
) -> None:
    place = ("--store", store)
    command("ingest", manual, "--corpus", "contracts", "-p", "heading", *place)
    ended = command(
        "ingest", manual, "--corpus", "contracts", "-p", "heading:chunk_size=300", *place
    )
    words = (
        " ".join(ended.stdout.split()).partition("rag-nodes clear ")[2].partition("`")[0].split()
    )
    would = command("clear", *(word for word in words if word != "--yes"))
    assert would.code == 2
    [name] = [word for word in words if word.startswith("contracts.")]
    assert f"Would clear collection '{name}':" in would.stdout
    assert command("clear", *words).code == 0
    kept = command("status", *place, "--json").json["collections"]
    assert [row["corpus"] for row in kept].count("contracts") == 1
    assert len(kept) == 3


def test_clear_deletes_with_yes_alone_what_one_parser_split_or_all(
    command: Command, store: Path
) -> None:
    before = chunks(command, store)
    ended = command("clear", "--store", store)
    assert (ended.code, "--yes" in ended.stderr) == (2, True)
    assert "Would clear corpus 'default'" in ended.stdout
    assert chunks(command, store) == before
    cleared = command("clear", "--parser", "fixed", "--yes", "--store", store)
    assert (cleared.code, "Cleared parser 'fixed' in corpus 'default'" in cleared.stdout) == (
        0,
        True,
    )
    assert [parser for parser, *_ in chunks(command, store)] == ["HeadingHierarchyNodeParser"]
    assert command("clear", "--yes", "--store", store).code == 0
    assert chunks(command, store) == []


def test_on_a_full_disk_remove_changes_nothing_and_names_what_makes_room(
    command: Command, store: Path, manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = chunks(command, store)
    full = shutil.disk_usage(store)._replace(free=1 << 20)
    with monkeypatch.context() as patch:
        patch.setattr(shards.shutil, "disk_usage", lambda _: full)
        ended = command("remove", manual, "--store", store)
        assert ended.code == 1
        room = f"`rag-nodes clear --parser COLLECTION --yes --store {store}` deletes a collection"
        assert room in " ".join(ended.stderr.split())
        listed = command("list", "--store", store, "--json").json["documents"]
        assert [row["state"] for row in listed] == ["stored"] * 2
        assert command("clear", "--parser", "fixed", "--yes", "--store", store).code == 0
    assert chunks(command, store) == [row for row in before if not row[0].startswith("Fixed")]


def panics_when_it_is_opened(_: Path, patch: pytest.MonkeyPatch) -> None:
    """Have the engine give up on the collection of the fixed parser, as it does on some bytes."""
    panic = type("PanicException", (BaseException,), {})("index out of range")
    load = shards.loaded
    patch.setattr(
        shards, "loaded", lambda shard: raising(panic) if "fixed" in str(shard) else load(shard)
    )


def opens_and_cannot_be_read(store: Path, patch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    """Overwrite texts and metadata of that collection, and have no ledger that knows them."""
    for page in store.glob("collections/*fixed*/shard/segments/*/payload_storage/page_0.dat"):
        with page.open("r+b") as file:
            file.write(bytes(3 << 12))
    for file in store.glob("ledger.sqlite*"):
        file.unlink()


def raising(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("damage", [panics_when_it_is_opened, opens_and_cannot_be_read])
def test_a_damaged_collection_is_named_and_deleted_and_the_others_are_managed(
    command: Command,
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    damage: Callable[[Path, pytest.MonkeyPatch], None],
) -> None:
    names = {
        row["parser"]: row["name"]
        for row in command("status", "--store", store, "--json").json["collections"]
    }
    damaged, whole = names["FixedSizeNodeParser"], names["HeadingHierarchyNodeParser"]
    damage(store, monkeypatch)

    ended = command("doctor", "--store", store, "--json")
    assert ended.code == ExitCode.GATE
    findings = {row["where"]: row for row in ended.json["findings"] if row["is_wrong"]}
    assert findings.keys() == {damaged}
    assert f"`rag-nodes clear --parser {damaged} --yes" in findings[damaged]["remedy"]
    shown = command("status", "--store", store, "--json")
    assert shown.code == ExitCode.PARTIAL
    troubles = {row["name"]: row["trouble"] for row in shown.json["collections"]}
    assert (troubles[whole], f"'{damaged}' is damaged" in troubles[damaged]) == ("", True)
    listed = command("list", "--store", store, "--json")
    assert (listed.code, listed.json["total"]) == (ExitCode.PARTIAL, 2)
    assert damaged in listed.stderr
    pushed = command("store", "push", tmp_path / "copy", "--store", store, "--json")
    assert pushed.code == ExitCode.PARTIAL
    assert [row["collection"] for row in pushed.json["collections"]] == [whole]

    assert command("clear", "--parser", damaged, "--yes", "--store", store).code == 0
    assert [parser for parser, *_ in chunks(command, store)] == ["HeadingHierarchyNodeParser"]


def test_failed_documents_are_listed_with_the_reason_until_they_are_stored(
    command: Command, store: Path, manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise CredentialsError("the key was refused; renew it")

    def ingest() -> int:
        parsers = ("-p", "heading", "-p", "fixed")
        return command("ingest", manual.parent, *parsers, "--store", store).code

    manual.write_text("# Tea\n\nGreen tea.\n", encoding="utf-8")
    blob = manual.with_name("blob.md")
    blob.write_bytes(b"\x00\x01\xff" * 500)
    with monkeypatch.context() as patch:
        patch.setattr(LexicalEmbedding, "_get_text_embeddings", refuse)
        assert ingest() == 3

    output = " ".join(command("list", "--store", store).stdout.split())
    assert "manual.md" in output
    assert "the key was refused; renew it" in output
    assert "the content is binary data" in output
    output = " ".join(command("status", "--store", store).stdout.split())
    assert "Reason 1 document, since " in output
    assert "the key was refused; renew it" in output
    assert "1 file could not be read, since " in output
    seen = command("status", "--store", store, "--json").json
    assert [(collection["failed"], collection["error"]) for collection in seen["collections"]] == [
        (1, "the key was refused; renew it")
    ] * 2
    assert [row["path"] for row in seen["unread"]] == [str(blob)]
    listed = command("list", "--store", store, "--state", "incomplete,failed", "--json").json
    assert [(document["name"], len(document["errors"])) for document in listed["documents"]] == [
        ("manual.md", 2),
        ("blob.md", 0),
    ]
    assert all(document["failed_at"].endswith("Z") for document in listed["documents"])
    assert command("doctor", "--store", store).code == 0, "nothing is wrong with the store"

    blob.unlink()
    assert ingest() == 0
    listed = command("list", "--store", store, "--json").json["documents"]
    assert [
        (entry["name"], entry["error"]) for entry in listed if entry["name"] == "manual.md"
    ] == [("manual.md", None)]


def test_a_ledger_elsewhere_is_looked_at_where_it_is_named(
    command: Command, manual: Path, tmp_path: Path
) -> None:
    where = ("--store", tmp_path / "store", "--ledger", tmp_path / "mine.sqlite")
    assert command("ingest", manual, *where).code == 0
    assert command("doctor", *where, "--json").json["findings"] == []
    (tmp_path / "mine.sqlite").write_bytes(b"no ledger any more")
    assert command("doctor", *where[:2], "--json").json["findings"] == []
    (finding,) = command("doctor", *where, "--json").json["findings"]
    assert (finding["kind"], finding["is_wrong"]) == ("ledger", True)


def test_a_row_of_many_parsers_has_one_number_and_room_for_the_name(
    command: Command, manual: Path, tmp_path: Path
) -> None:
    named = [
        word for size in (200, 300, 400, 500, 600) for word in ("-p", f"heading:chunk_size={size}")
    ]
    done = command("ingest", manual, "--store", tmp_path / "many", *named)
    listed = command("list", "--store", tmp_path / "many")
    numbers = [
        collection["chunks"]
        for collection in command("status", "--store", tmp_path / "many", "--json").json[
            "collections"
        ]
    ]
    [row] = [line for line in done.stdout.splitlines() if line.strip().startswith("manual.md")]
    assert row.split()[-1] == str(sum(numbers))
    assert f" {sum(numbers)} " in listed.stdout
    assert "Chunks: in 5 collections together" in listed.stdout


def test_status_tells_collections_of_a_class_apart_by_their_options(
    command: Command, manual: Path, tmp_path: Path
) -> None:
    command("ingest", manual, "--store", tmp_path / "two", "-p", "retrieval", "-p", "recursive")
    output = command("status", "--store", tmp_path / "two").stdout
    assert "chunk_size 200 · chunk_overlap 0 · unit tokens" in output
    assert "chunk_size 1000 · chunk_overlap 200 · unit characters" in output


def test_doctor_ends_like_other_commands_while_another_process_has_the_folder(
    command: Command, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StoreLockedError(f"{store}: another process uses this storage folder; end it")

    monkeypatch.setattr("rag_nodes.operations.stored.opened", refuse)
    ended = command("doctor", "--store", store, "--json")
    assert (ended.code, ended.json["sound"]) == (ExitCode.UNAVAILABLE, False)
    assert [finding["kind"] for finding in ended.json["findings"]] == ["locked"]


def test_doctor_shows_which_languages_a_model_knows_without_a_store(command: Command) -> None:
    model = ("--embedding", "llama_index.core:MockEmbedding", "--embedding-option", "embed_dim=4")
    shown = command("doctor", "--languages", *model, "--store", "GONE")
    assert shown.code == 0
    # All texts get the same vector, so the first answer is the nearest to every question.
    assert "does not know English: 1 of 8 answers found" in shown.stdout
    assert "does not know Chinese: 1 of 8 answers found" in shown.stdout
    assert "wrong" not in shown.stdout
    languages = command("doctor", "--languages", *model, "--json").json["languages"]
    assert languages["German"] == {"right": 1, "asked": 8}


def test_doctor_says_that_a_model_without_meaning_knows_no_language(command: Command) -> None:
    refused = command("doctor", "--languages", "--embedding", "lexical")
    assert refused.code == 2
    assert "name a neural model with --embedding" in refused.stderr
