"""`rag-nodes ingest` a second time: what it says of what it remembers, and of what is gone."""

import re
import shutil
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from rag_nodes.operations import ExitCode

_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
KEPT = ("-p", "fixed", "--store", "kept", "-q")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    teas = tmp_path / "teas"
    teas.mkdir()
    for name in ("green", "black"):
        (teas / f"{name}.md").write_text(f"# Tea\n\nThis tea is {name}.\n")
    return teas


def test_unchanged_documents_are_counted_as_saved(command: Command, folder: Path) -> None:
    assert "saved" not in command("ingest", folder, *KEPT).stdout

    again = command("ingest", folder, *KEPT).stdout

    assert "unchanged" in again
    assert "Already embedded: 100%" in again
    report = command("ingest", folder, *KEPT, "--json").json
    assert report["embedding_cache_hit_rate"] == 1
    assert report["saved_tokens"] == report["columns"][0]["tokens"]


def test_own_keys_that_a_run_removes_are_named(command: Command, folder: Path) -> None:
    command("ingest", folder, *KEPT, "--set", "site=Bern", "--set", "owner=Ann")
    output = " ".join(command("ingest", folder, *KEPT).stdout.split())
    assert "Removed the keys owner, site from 2 documents, which this run did not give." in output
    assert "Removed" not in command("ingest", folder, *KEPT).stdout


def test_a_report_says_when_and_by_which_release_it_was_made(
    command: Command, folder: Path
) -> None:
    report = command("ingest", folder, *KEPT, "--json").json
    assert _UTC.fullmatch(report["started"])
    assert report["release"] == version("rag-nodes")


def test_a_share_is_all_only_where_all_was_saved(command: Command, folder: Path) -> None:
    (folder / "long.md").write_text("Tea is ready. " * 2000)
    command("ingest", folder, *KEPT)
    (folder / "green.md").write_text("# Tea\n\nThis tea is red.\n")
    assert "Already embedded: 99%" in command("ingest", folder, *KEPT).stdout


def test_another_option_says_what_became_of_the_previous_collection(
    command: Command, folder: Path
) -> None:
    command("ingest", folder, *KEPT)
    [former] = command("status", "--store", "kept", "--json").json["collections"]

    other = ("-p", "fixed:chunk_size=400", *KEPT[2:])
    output = " ".join(command("ingest", folder, *other).stdout.split())

    assert "The superseded one stays, with 2 chunks of 2 documents" in output
    assert f"rag-nodes clear --parser {former['name']} --yes" in output
    command("clear", "--store", "kept", "--parser", former["name"], "--yes")
    left = command("status", "--store", "kept", "--json").json["collections"]
    assert [entry["name"] == former["name"] for entry in left] == [False]


def test_five_parsers_are_a_table_in_80_columns_and_blocks_name_what_they_count(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("fixed", "heading", "semantic", "sentence", "token-overlap")
    parsers = [part for name in names for part in ("-p", name)]
    monkeypatch.setenv("COLUMNS", "80")
    output = command("ingest", folder, *parsers, *KEPT[2:]).stdout
    assert all(re.search(rf"^ {name} +\d", output, re.MULTILINE) for name in names), output
    assert "Unchanged" not in output

    monkeypatch.setenv("COLUMNS", "50")
    blocks = command("ingest", folder, *parsers, "--store", "other").stdout
    assert re.search(r"^  Tokens max  ", blocks, re.MULTILINE), blocks
    assert "\n\nDone in" in blocks
    again = command("ingest", folder, *parsers, "--store", "other").stdout
    assert re.search(r"^  Unchanged   ", again, re.MULTILINE), again


def test_a_collection_is_superseded_only_by_one_that_has_its_documents(
    command: Command, folder: Path
) -> None:
    command("ingest", folder, *KEPT)
    for path in folder.iterdir():
        path.write_bytes(b"")

    ended = command("ingest", folder, "-p", "fixed:chunk_size=400", *KEPT[2:])

    assert ended.code == ExitCode.FAILURE
    assert "superseded" not in ended.stdout


def test_pruning_names_what_went(command: Command, folder: Path) -> None:
    command("ingest", folder, *KEPT)
    (folder / "green.md").unlink()

    ended = command("ingest", folder, *KEPT, "--prune")

    assert ended.code == ExitCode.DONE
    assert "Removed, as they are gone: green.md (1 chunk)." in ended.stdout
    listed = command("list", "--store", "kept", "--json").json["documents"]
    assert [entry["name"] for entry in listed] == ["black.md"]


@pytest.mark.parametrize("is_empty", [False, True], ids=["missing", "empty"])
def test_a_path_that_may_not_be_mounted_stops_pruning_and_not_the_other_paths(
    command: Command, folder: Path, tmp_path: Path, *, is_empty: bool
) -> None:
    share = tmp_path / "share"
    share.mkdir()
    (share / "white.md").write_text("# Tea\n\nThis tea is white.\n", encoding="utf-8")
    command("ingest", folder, share, *KEPT)
    (folder / "green.md").unlink()
    (folder / "red.md").write_text("# Tea\n\nThis tea is red.\n", encoding="utf-8")
    (share / "white.md").unlink()
    if not is_empty:
        share.rmdir()

    dry = command("ingest", folder, share, *KEPT, "--prune", "--dry-run", "--json")
    assert (dry.code, dry.json["missing_paths"]) == (ExitCode.PARTIAL, [str(share)])
    assert f"Nothing would be removed: {share} is missing or empty" in dry.stderr

    ended = command("ingest", folder, share, *KEPT, "--prune", "--json")

    assert ended.code == ExitCode.PARTIAL
    assert (ended.json["pruned"], ended.json["missing_paths"]) == (None, [str(share)])
    reason = f"Nothing was removed: {share} is missing or empty; an unmounted disk would look the"
    assert reason in ended.stderr
    listed = command("list", "--store", "kept", "--json").json["documents"]
    names = {entry["name"] for entry in listed if entry["state"] != "failed"}
    assert names >= {"black.md", "green.md", "red.md", "white.md"}


def test_a_dry_run_into_a_folder_that_is_not_there_yet_prunes_as_the_run_does(
    command: Command, folder: Path, tmp_path: Path
) -> None:
    for paths, code in (
        ([folder], ExitCode.DONE),
        ([folder, "missing"], ExitCode.PARTIAL),
        (["missing"], ExitCode.USAGE),
    ):
        ended = [command("ingest", *paths, "--prune", "--store", "new", "--dry-run")]
        assert not (tmp_path / "new").exists()
        ended += [command("ingest", *paths, "--prune", "--store", "new")]
        assert [each.code for each in ended] == [code] * 2
        assert ["missing or empty" in each.stderr for each in ended] == [len(paths) > 1] * 2
        shutil.rmtree(tmp_path / "new")


def test_programs_are_given_times_in_utc_and_null_where_none_is_known(
    command: Command, folder: Path, tmp_path: Path
) -> None:
    command("ingest", folder, *KEPT)
    (row,) = command("status", "--store", "kept", "--json").json["collections"]
    listed = command("list", "--store", "kept", "--json").json["documents"]
    for time in (row["first_used"], row["last_used"], *(row["stored_at"] for row in listed)):
        assert _UTC.fullmatch(time)
    elsewhere = ("--ledger", tmp_path / "none.sqlite", "--json")
    (row,) = command("status", "--store", "kept", *elsewhere).json["collections"]
    assert (row["first_used"], row["last_used"]) == (None, None)


def test_documents_without_a_file_are_counted_until_they_are_pruned(
    command: Command, folder: Path
) -> None:
    names = sorted(path.name for path in folder.iterdir())
    (folder / "kept.md").write_text("# Tea\n\nTea stays.\n", encoding="utf-8")
    command("ingest", folder, *KEPT)
    (folder / names[0]).unlink()
    output = command("ingest", folder, *KEPT).stdout
    assert "1 stored document has no file any more; --prune removes them." in output
    (folder / names[1]).unlink()
    assert command("ingest", folder, *KEPT, "--json").json["gone"] == 2
    assert "2 stored documents have no file" in command("ingest", folder, *KEPT, "--dry-run").stdout
    rehearsed = command("ingest", folder, *KEPT, "--dry-run", "--prune")
    assert "2 stored documents have no file" in rehearsed.stdout
    assert "Nothing was removed" not in rehearsed.stderr, "a dry run never removes"


def test_a_torn_ledger_is_named_with_the_remedy(
    command: Command, folder: Path, tmp_path: Path
) -> None:
    place = tmp_path / "tea.sqlite"
    place.write_text("torn, " * 1000)

    ended = command("ingest", folder, *KEPT, "--ledger", place)

    assert ended.code == ExitCode.FAILURE
    assert "tea.sqlite: the ledger is damaged" in ended.stderr
    assert "move it away" in ended.stderr


def test_stored_chunks_are_embedded_with_another_model(command: Command, folder: Path) -> None:
    command("ingest", folder, *KEPT)
    model = ("--embedding", "llama_index.core:MockEmbedding", "--embedding-option", "embed_dim=8")
    asked = ("ingest", "--from-store", *KEPT, *model)

    assert "To embed" in command(*asked, "--dry-run").stdout
    assert [file["status"] for file in command(*asked, "--json").json["files"]] == ["read"] * 2
    again = command("ingest", folder, *KEPT, *model, "--json").json
    assert [file["status"] for file in again["files"]] == ["unchanged"] * 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name files or folders"),
        (("--from-store", "teas", "--set", "a=b", "--text", "plain"), "--set, --text, PATH would"),
        (("--from-store", "--encoding", "cp1252"), "--encoding would need other chunks"),
        (("--from-store", "--store", "nowhere"), "there is no store here"),
    ],
)
def test_an_ingest_without_documents_or_with_too_many_is_refused(
    command: Command, folder: Path, words: tuple[str, ...], message: str
) -> None:
    command("ingest", folder, *KEPT)
    ended = command("ingest", *KEPT, *words)
    assert ended.code == ExitCode.USAGE
    assert message in ended.stderr
    assert not Path("nowhere").exists()


def test_rows_of_metadata_that_belong_to_no_file_are_named(command: Command, folder: Path) -> None:
    table = folder.parent / "keys.csv"
    table.write_text("path,dept\nteas/green.md,a\nteas/blue.md,b\nteas/gone.md,c\n")
    ended = command("ingest", folder, *KEPT, "--metadata", table)
    assert ended.code == ExitCode.DONE
    message = " ".join(ended.stderr.split())
    assert "no file of this ingest is 'teas/blue.md' (line 3) and 1 more" in message
