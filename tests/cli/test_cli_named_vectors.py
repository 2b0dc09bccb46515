"""`ingest --vector` and asking by one of the embeddings, as typed."""

from pathlib import Path

import pytest
from openai_server import OpenAIServer
from tests.cli.conftest import Command

from rag_nodes.operations import ExitCode
from rag_nodes.transforms import WRITTEN_FILE

CUT = ("--parser", "heading:min_chunk_size=0")


def test_a_question_is_asked_by_an_embedding_that_is_kept_until_that_is_stopped(
    command: Command, manual: Path, tmp_path: Path
) -> None:
    place = ("--store", tmp_path / "store")
    asked = ("ask", "Is it red?", *CUT, *place, "--retrieval-only", "--mode", "dense", "--json")
    at = ("status", *place)
    assert command("ingest", manual, *CUT, *place, "--vector", "plain").code == ExitCode.DONE
    assert "Vectors     heading, plain" in command(*at).stdout
    manual.write_text(manual.read_text("utf-8") + "\nAnd it is red.\n", "utf-8")
    said = command("ingest", manual, *CUT, *place).stdout
    assert "Kept up to date, as they are stored: vectors plain; --vector none stops" in said
    found = {
        name: [hit["similarity"] for hit in command(*asked, "--vector", name).json["hits"]]
        for name in ("heading", "plain")
    }
    assert found["heading"] != found["plain"]
    assert "Kept up" not in command("ingest", manual, *CUT, *place, "--vector", "none").stdout
    refused = command(*asked, "--vector", "plain")
    assert refused.code != ExitCode.DONE
    assert "has no vectors 'plain'; it has: heading" in refused.stderr
    assert "Kept up" not in command("ingest", manual, *CUT, *place).stdout
    assert "Vectors" not in command(*at).stdout
    assert command(*at, "--json").json["collections"][0]["vectors"] == ["heading"]


def test_what_a_model_wrote_is_priced_and_asked_for_once(
    command: Command, openai_server: OpenAIServer, manual: Path, tmp_path: Path
) -> None:
    openai_server.answer = "Part of the manual of a tea machine."
    server = ("--llm", "openai", "--api-base", openai_server.base, "--embedding", "lexical")
    place = ("--store", tmp_path / "store", *CUT, *server)
    first = command("ingest", manual, *place, "--vector", "context")
    assert first.code == ExitCode.DONE
    elsewhere = f"gpt-4o-mini@{openai_server.base.partition('://')[2]}"
    assert f": 3 requests to {elsewhere}, " in " ".join(first.stdout.split())
    assert (tmp_path / "store" / WRITTEN_FILE).is_file()
    asked = len(openai_server.asked("chat/completions"))
    command("ingest", manual, *place, "--vector", "context", "--vector", "plain")
    again = openai_server.asked("chat/completions")[asked:]
    assert not [body for body in again if "tea machine" in str(body).lower()]
    found = command("ask", "Water?", *place, "--vector", "context", "--retrieval-only", "--json")
    assert found.json["hits"][0]["similarity"] is not None


def test_a_dry_run_prices_what_a_model_would_write(
    command: Command,
    openai_server: OpenAIServer,
    manual: Path,
    tmp_path: Path,
    no_configuration: Path,
) -> None:
    server = ("--llm", "openai", "--api-base", openai_server.base, "--embedding", "lexical")
    place = ("--store", tmp_path / "store", *CUT, *server, "--vector", "context", "--dry-run")
    elsewhere = f"@{openai_server.base.partition('://')[2]}"
    said = " ".join(command("ingest", manual, *place).stdout.split())
    assert f"ChunkContext: 3 requests to gpt-4o-mini{elsewhere}, " in said
    assert "tokens to read and up to 300 to write: price unknown" in said
    (no_configuration / "rag_nodes.toml").write_text("[answers.prices]\nmine = [1.0, 2.0]\n")
    known = ("--llm-model", "mine", "--json")
    (one,) = command("ingest", manual, *place, *known).json["writers"]
    assert (one["model"], one["requests"]) == (f"mine{elsewhere}", 3)
    assert one["cost"] == pytest.approx((one["tokens_in"] + 2 * one["tokens_out"]) / 1e6)
    assert not openai_server.requests
    assert not (tmp_path / "store").exists()


def test_every_column_is_asked_by_each_embedding_that_is_named(
    command: Command, manual: Path, tmp_path: Path
) -> None:
    both = ("--vector", "heading", "--vector", "plain", "--json")
    asked = command("compare", manual, "--ask", "Water?", *CUT, *both).json["columns"]
    names = [f"heading:min_chunk_size=0 by {name}" for name in ("heading", "plain")]
    assert [(one["name"], one["error"]) for one in asked] == [(name, None) for name in names]
    assert len({one["statistics"]["collection"] for one in asked}) == 1
    assert asked[0]["answer"]["hits"] != asked[1]["answer"]["hits"]
    labels = tmp_path / "labels.csv"
    labels.write_text("question,quote\nHow much water?,nine litres of water\n", "utf-8")
    place = ("--store", tmp_path / "store")
    ingested = command("ingest", manual, *CUT, *place, "--vector", "plain", "--json")
    stored = ingested.json["columns"][0]["collection"]
    measured = ("evaluate", manual, "--questions", labels, "--sizes", 0, "--equal-size", 0)
    rows = command(*measured, *place, "--collection", stored, *both).json["rows"]
    assert [one["error"] for one in rows] == [None] * len(rows)
    assert {f"{stored} by heading", f"{stored} by plain"} <= {one["name"] for one in rows}
    unknown = command("compare", manual, "--ask", "Water?", *CUT, "--vector", "title")
    assert "--vector: must be 'heading', 'plain'" in unknown.stderr
