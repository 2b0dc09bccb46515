"""The store as the command line names it: options of a server."""

import tomllib
from pathlib import Path

import pytest
from store import qdrant_server as _server
from tests.cli.conftest import Command

from rag_nodes.cli.derive import settings_of
from rag_nodes.operations import ExitCode, named
from rag_nodes.store.server import connection

KEY = "canary-of-the-store"
SERVER = ("--store", "http://192.168.0.9:6333")


def test_options_of_the_server_come_from_flags_file_and_environment(
    command: Command, monkeypatch: pytest.MonkeyPatch, no_configuration: Path
) -> None:
    settings = settings_of(named("ask"), {"store_options": ["quantization=scalar", "grpc=true"]})
    assert settings.store_options == {"quantization": "scalar", "grpc": "true"}
    (no_configuration / "rag_nodes.toml").write_text("[store_options]\nreplicas = 2\n")
    shown = command("--print-config")
    assert tomllib.loads(shown.stdout)["store_options"] == {"replicas": 2}
    monkeypatch.setenv("RAG_NODES_STORE_OPTIONS", '{"shards": 3}')
    shown = command("--print-config")
    assert tomllib.loads(shown.stdout)["store_options"]["shards"] == 3


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("quantisation=scalar", "did you mean quantization?"),
        ("shards=none", "store option shards"),
        ("api_key=canary-of-the-store", "set RAG_NODES_STORE_API_KEY in the environment"),
    ],
)
def test_a_wrong_option_of_the_server_is_a_usage_error(
    command: Command, manual: Path, option: str, message: str
) -> None:
    ended = command("ingest", manual, *SERVER, "--store-option", option)
    assert ended.code == ExitCode.USAGE
    assert message in " ".join(ended.stderr.split())
    assert KEY not in ended.stdout + ended.stderr


def test_a_key_that_would_cross_the_network_in_plain_text_ends_the_command(
    command: Command, manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_NODES_STORE_API_KEY", KEY)
    ended = command("ingest", manual, *SERVER)
    assert ended.code == ExitCode.USAGE
    assert "trusted_network=true" in ended.stderr
    assert KEY not in ended.stdout + ended.stderr


def test_an_ingest_that_the_server_let_down_goes_on_when_it_is_run_again(
    command: Command, manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(connection, "pause", waits.append)
    ingest = ("ingest", manual, "-p", "fixed:chunk_size=40,chunk_overlap=0", "--store")
    with _server.serve() as clean, _server.serve() as double:
        assert command(*ingest, clean.url).code == ExitCode.DONE
        double.faults = [("PUT", fault) for fault in ("503", "lost", "cut", "reset")]
        double.faults += [("/points", "503")] * 6
        let_down = command(*ingest, double.url)
        assert let_down.code != ExitCode.DONE
        words = " ".join((let_down.stdout + let_down.stderr).split())
        assert "could not do it, also when asked again" in words
        assert len(waits) > len(("503", "lost", "cut", "reset"))
        assert command(*ingest, double.url).code == ExitCode.DONE
        (name,) = double.wanted
        both = [
            store_.client.scroll(name, limit=100, with_vectors=True)[0]
            for store_ in (clean, double)
        ]
        assert sorted(map(repr, both[0])) == sorted(map(repr, both[1]))
        assert len(both[0]) > 1
