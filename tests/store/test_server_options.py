"""How a server is reached, with which key and certificate, and how it keeps collections."""

import socket
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from store.qdrant_server import QdrantDouble
from stored_nodes import MakeNode

from rag_nodes.core.errors import ConfigurationError, StoreError, StoreUnreachableError
from rag_nodes.store import Query, ServerOptions, open_store

CLIENT = "qdrant-client"
KEY = "canary-of-the-store"
X = [1.0, 0.0, 0.0]
KEPT: dict[str, Any] = {
    "quantization": "scalar",
    "shards": 3,
    "replicas": 2,
    "vectors_on_disk": True,
    "payload_on_disk": False,
    "hnsw_m": 0,
}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"quantisation": "scalar"}, "quantisation is unknown; did you mean quantization"),
        ({"zzz": 1}, "options are: grpc, "),
        ({"quantization": "tiny"}, "quantization: .*'scalar', 'product' or 'binary'"),
        ({"shards": 0}, "shards: .*greater than or equal to 1"),
        ({"timeout": "nan"}, "timeout"),
        ({"retries": "often"}, "retries: .*integer"),
        ({"grpc": True, "ca_file": "x"}, "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"),
    ],
)
def test_a_wrong_option_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ServerOptions.of(values)


def test_a_key_does_not_cross_a_network_in_plain_text_unless_told_so(double: QdrantDouble) -> None:
    url = double.url.replace("127.0.0.1", "0.0.0.0")  # the same, by a name that does not show it
    with pytest.raises(ConfigurationError, match=r"plain text.*trusted_network=true") as refused:
        open_store(url, KEY)
    assert KEY not in str(refused.value)
    assert not double.requests
    open_store(url, KEY, ServerOptions(trusted_network=True)).close()
    assert double.requests


@pytest.mark.parametrize(
    "host",
    ["http://192.168.0.9:6333", "http://localhost.example.org", "http://notlocalhost:6333"],
)
def test_a_machine_that_is_not_this_one_is_not_taken_for_it(host: str) -> None:
    with pytest.raises(ConfigurationError, match="plain text"):
        open_store(host, KEY)


@pytest.mark.parametrize("name", ["localhost", "qdrant.localhost", "A.Qdrant.LocalHost"])
def test_names_of_this_machine_are_not_refused(
    name: str, double: QdrantDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = double.url.replace("127.0.0.1", name)
    resolve = socket.getaddrinfo  # not every system knows all of them
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda _, *asked, **more: resolve("127.0.0.1", *asked, **more)
    )
    open_store(url, KEY).close()
    assert double.requests


def test_the_key_is_sent_and_a_wrong_one_refused(
    serve: Callable[..., Any], collection: str, make_node: MakeNode
) -> None:
    with serve(api_key=KEY) as double:
        with open_store(double.url, KEY) as store:
            store.add(collection, [make_node("one", X)])
            assert store.count(collection) == 1
            assert KEY not in f"{store!r} {store.location}"
        for key in ("wrong", None):
            with pytest.raises(StoreError, match="refused the key"):
                open_store(double.url, key)


def test_a_certificate_of_an_own_authority_is_trusted_where_it_is_named(
    serve: Callable[..., Any],
    collection: str,
    make_node: MakeNode,
    certificate: Callable[[str], Path],
) -> None:
    own = certificate("own")
    with serve(api_key=KEY, certificate=own) as double:
        assert double.url.startswith("https:")
        with open_store(double.url, KEY, ServerOptions(ca_file=str(own))) as store:
            store.add(collection, [make_node("one", X)])
            assert store.count(collection) == 1
        with pytest.raises(StoreUnreachableError, match="certificate"):
            open_store(double.url, KEY)
        assert all("/collections" in request for request in double.requests)


def test_a_file_without_a_certificate_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    for name in ("empty.pem", "missing.pem"):
        options = ServerOptions(ca_file=str(tmp_path / name))
        with pytest.raises(ConfigurationError, match=name):
            open_store("https://127.0.0.1:1", options=options)


def test_a_new_collection_is_kept_as_the_options_say(
    double: QdrantDouble, collection: str, make_node: MakeNode
) -> None:
    with open_store(double.url, options=ServerOptions.of(KEPT)) as store:
        store.add(collection, [make_node("red zebra", X)])
        assert [
            hit.node.text for hit in store.search(collection, Query(vector=X, text="", limit=1))
        ]
    settings = double.wanted[collection]
    assert settings["quantization_config"] == {"scalar": {"type": "int8", "always_ram": True}}
    assert settings["vectors"]["text-dense"]["on_disk"] is True
    assert settings["hnsw_config"] == {"m": 0}
    named = ("shard_number", "replication_factor", "on_disk_payload")
    assert [settings[name] for name in named] == [3, 2, False]


def test_without_options_the_server_decides(
    double: QdrantDouble, collection: str, make_node: MakeNode
) -> None:
    with open_store(double.url) as store:
        store.add(collection, [make_node("red zebra", X)])
    assert set(double.wanted[collection]) == {"vectors", "sparse_vectors"}


def test_every_option_is_documented_with_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/store.md").read_text(encoding="utf-8")
    for name, field in ServerOptions.model_fields.items():
        shown = {"None": "not set", "False": "`false`", "60.0": "60"}
        default = shown.get(str(field.default), field.default)
        [row] = [line for line in page.splitlines() if line.startswith("|") and f"`{name}`" in line]
        assert f" | {default} | " in row


def test_the_server_of_the_compose_file_is_one_that_our_client_speaks_to() -> None:
    root = Path(__file__).parents[2]
    server = yaml.safe_load((root / "docker-compose.yml").read_text())["services"]["qdrant"]
    image, _, version = server["image"].partition(":v")
    assert image == "qdrant/qdrant"
    ours, theirs = (
        [int(part) for part in line.split(".")[:2]] for line in (metadata.version(CLIENT), version)
    )
    assert ours[0] == theirs[0]
    assert abs(ours[1] - theirs[1]) <= 1
    assert all(port.startswith("127.0.0.1:") for port in server["ports"])
    assert server["environment"]["QDRANT__SERVICE__API_KEY"].startswith(
        "${RAG_NODES_STORE_API_KEY:?"
    )
