"""Which model servers a visitor may name: none behind the firewall, however it is written."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import SecretStr

from rag_nodes.apps.visitors.choice import Choice, effective_settings
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.errors import ConfigurationError
from rag_nodes.models.public_servers import check_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openai_server import OpenAIServer

    from rag_nodes.settings import Settings

CORPUS = Path(__file__).parents[3] / "examples" / "corpus"
NAMES = {
    "api.example": ["93.184.216.34"],
    "inside.example": ["10.0.0.7"],
    "both.example": ["93.184.216.34", "127.0.0.1"],
    "six.example": ["2606:2800:220:1:248:1893:25c8:1946"],
    "mapped.example": ["::ffff:169.254.169.254"],
    "zone.example": ["fe80::1%eth0"],
}


def _resolve(host: str, port: int, **_: Any) -> Sequence[Any]:
    """A name server of our own; numbers are read as the system reads them."""
    if host in NAMES:
        return [(0, 0, 0, "", (address, port)) for address in NAMES[host]]
    if host.endswith(".example"):
        raise socket.gaierror("unknown name")
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "2852039166",
        "100.64.0.1",
        "192.0.2.1",
        "224.0.0.1",
        "255.255.255.255",
        "[::]",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fd00::1]",
        "localhost",
        "LOCALHOST.",
        "inside.example",
        "both.example",
        "mapped.example",
        "zone.example",
        "unknown.example",
        "",
    ],
)
def test_an_address_behind_the_firewall_is_refused_however_it_is_written(host: str) -> None:
    with pytest.raises(ConfigurationError, match="public internet"):
        check_address(f"http://{host}:8000/v1", resolve=_resolve)


@pytest.mark.parametrize("host", ["api.example", "six.example", "API.example:8443", "8.8.8.8"])
def test_a_public_address_is_allowed(host: str) -> None:
    check_address(f"https://{host}/v1", resolve=_resolve)


@pytest.mark.parametrize("address", ["", "http://[::1", "http://host:port/", "//"])
def test_an_address_that_cannot_be_read_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError):
        check_address(address, resolve=_resolve)


def test_the_configured_server_is_allowed_and_its_neighbours_are_not() -> None:
    check_address("http://127.0.0.1:11434/v1/", configured="http://127.0.0.1:11434/v1")
    with pytest.raises(ConfigurationError):
        check_address("http://127.0.0.1:22/v1", configured="http://127.0.0.1:11434/v1")


def test_a_server_for_local_use_allows_every_address() -> None:
    check_address("http://127.0.0.1:11434/v1", local=True)


def test_all_refusals_read_the_same() -> None:
    """Otherwise they would say which names and ports there are behind the firewall."""
    messages = {_message(host).replace(host, "HOST") for host in ("10.0.0.7", "unknown.example")}
    assert len(messages) == 1


def test_what_a_visitor_types_in_is_checked(settings: Settings) -> None:
    choice = Choice(("fixed",), api_base="http://127.0.0.1:9/v1")
    with pytest.raises(ConfigurationError, match="public internet"):
        effective_settings(settings, choice)
    assert effective_settings(settings, choice, local_models=True).api_base


def test_a_session_asks_a_typed_address_only_while_it_is_public(
    settings: Settings, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is public when it is checked, and leads behind the firewall a moment later."""
    answers = iter(["93.184.216.34"])
    system = socket.getaddrinfo

    def resolve(host: Any, port: Any, *args: Any, **options: Any) -> Sequence[Any]:
        if host != "rebind.test":
            return system(host, port, *args, **options)
        return [(socket.AF_INET, 1, 6, "", (next(answers, "127.0.0.1"), port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    typed = openai_server.base.replace("127.0.0.1", "rebind.test")
    choice = Choice(("fixed",), api_base=typed, api_key=SecretStr("sk-anything"))
    session = PageSession(settings)
    with pytest.raises(ConfigurationError, match="public internet"):
        session.load([CORPUS / "manual.md"], choice, lambda _: None)
    session.close()
    assert next(answers, None) is None
    assert openai_server.requests == []


def _message(host: str) -> str:
    refused: Callable[..., None] = check_address
    with pytest.raises(ConfigurationError) as caught:
        refused(f"http://{host}/v1", resolve=_resolve)
    return str(caught.value)
