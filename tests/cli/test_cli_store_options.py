"""The store as the command line names it: options of a server."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from rag_nodes.cli.failures import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

KEY = "canary-of-the-store"
SERVER = ("--store", "http://192.168.0.9:6333")


def test_options_of_the_server_come_from_flags_file_and_environment(
    command: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, no_configuration: Path
) -> None:
    flags = ("--store-option", "quantization=scalar", "--store-option", "grpc=true")
    shown = command("ask", "?", *SERVER, *flags, "--print-config")
    assert tomllib.loads(shown.stdout)["store_options"] == {
        "quantization": "scalar",
        "grpc": "true",
    }
    (no_configuration / "rag_nodes.toml").write_text("[store_options]\nreplicas = 2\n")
    shown = command("ask", "?", "--print-config")
    assert tomllib.loads(shown.stdout)["store_options"] == {"replicas": 2}
    monkeypatch.setenv("RAG_NODES_STORE_OPTIONS", '{"shards": 3}')
    shown = command("ask", "?", "--print-config")
    assert tomllib.loads(shown.stdout)["store_options"]["shards"] == 3


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("quantisation=scalar", "did you mean quantization?"),
        ("shards=none", "store option shards"),
        ("api_key=canary-of-the-store", "set RAG_NODES_STORE_API_KEY in the environment"),
    ],
)
def test_a_wrong_option_of_the_server_is_a_usage_error(
    command: Callable[..., Ended], manual: Path, option: str, said: str
) -> None:
    ended = command("ingest", manual, *SERVER, "--store-option", option)
    assert ended.code == ExitCode.USAGE
    assert said in " ".join(ended.stderr.split())
    assert KEY not in ended.stdout + ended.stderr


def test_a_key_that_would_cross_the_network_in_plain_text_ends_the_command(
    command: Callable[..., Ended], manual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_NODES_STORE_API_KEY", KEY)
    ended = command("ingest", manual, *SERVER)
    assert ended.code == ExitCode.USAGE
    assert "trusted_network=true" in ended.stderr
    assert KEY not in ended.stdout + ended.stderr
