"""`ask --boxes` and `locate`: where PDFs print what is cited, as lines and as JSON."""

from pathlib import Path

import pytest
from tests.cli.conftest import Command, invoke_cli

from rag_nodes.operations import ExitCode

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
FERRY = CORPUS / "ferry.pdf"
SENTENCE = "This manual is for the crews and the shore staff of the ferries on Skerrow Sound."
QUESTION = "When must the sand filter be rinsed backwards?"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[object, ...]]:
    """A copy of the handbook, and where it is stored."""
    folder = tmp_path_factory.mktemp("handbook")
    copy = folder / "handbook.pdf"
    copy.write_bytes((CORPUS / "handbook.pdf").read_bytes())
    stored = ("-p", "fixed", "--store", folder / "kept")
    assert invoke_cli("ingest", copy, *stored, "--embedding", "lexical", "-q").code == 0
    return copy, stored


def test_locate_shows_a_box_for_each_line(command: Command) -> None:
    ended = command("locate", FERRY, "--page", 1, "--text", SENTENCE)
    assert ended.code == ExitCode.DONE
    assert "p. 1, 420 by 595 points" in ended.stdout
    assert " 48.0   128.6   344.5    143.1" in ended.stdout
    location = command("locate", FERRY, "--page", 1, "--text", SENTENCE, "--json").json
    assert [box["left"] for box in location["boxes"]] == [48, 48]
    assert set(location["boxes"][0]) == {
        "page", "left", "top", "right", "bottom", "page_width", "page_height",
    }  # fmt: skip


def test_locate_fails_with_a_remedy_where_the_page_does_not_show_the_text(
    command: Command,
) -> None:
    ended = command("locate", FERRY, "--page", 2, "--text", SENTENCE)
    assert ended.code == ExitCode.FAILURE
    assert "Page 2 does not show this text; check the number" in ended.stderr
    beyond = command("locate", FERRY, "--page", 99, "--text", SENTENCE)
    assert beyond.code == ExitCode.FAILURE
    assert "no page 99, as it has 20 pages" in " ".join(beyond.stderr.split())


def test_ask_shows_the_boxes_of_what_it_cites_on_request(
    command: Command, kept: tuple[Path, tuple[object, ...]]
) -> None:
    _, stored = kept
    plain = command("ask", QUESTION, *stored, "--json").json
    assert "boxes" not in plain["citations"][0]
    answer = command("ask", QUESTION, *stored, "--boxes", "--json").json
    [first, second] = answer["citations"][0]["boxes"]
    assert first["page"] == second["page"] == 2
    assert first["bottom"] < second["bottom"]
    shown = command("ask", QUESTION, *stored, "--boxes").stdout
    line = f"[1] p. 2: {first['left']:.1f},{first['top']:.1f}-{first['right']:.1f}"
    assert line in shown


def test_ask_says_why_a_changed_file_has_no_boxes_and_answers_all_the_same(
    command: Command, kept: tuple[Path, tuple[object, ...]]
) -> None:
    copy, stored = kept
    before = copy.read_bytes()
    copy.write_bytes(FERRY.read_bytes())
    ended = command("ask", QUESTION, *stored, "--boxes", "--json")
    copy.write_bytes(before)
    assert ended.code == ExitCode.DONE
    assert ended.json["citations"][0]["boxes"] == []
    message = " ".join(ended.stderr.split())
    assert "No boxes in handbook.pdf: the file has changed since it was ingested" in message
    assert "ingest it again" in message
