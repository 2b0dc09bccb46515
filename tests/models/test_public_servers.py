"""Addresses typed in by strangers: names that change their mind, redirects, certificates."""

import http.server
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from certificates import certificate_in
from openai_server import OpenAIServer
from pydantic import SecretStr

from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.errors import ConfigurationError, ModelConnectionError, RagNodesError
from rag_nodes.models import public_servers
from rag_nodes.models.openai import OpenAIServerEmbedding, OpenAIServerLLM
from rag_nodes.models.public_servers import (
    PublicTransport,
    must_be_public,
    public_client,
)
from rag_nodes.settings import Settings

PUBLIC, SECOND = "93.184.216.34", "8.8.8.8"
BEHIND = (
    "127.0.0.1 127.1 2130706433 0x7f000001 0.0.0.0 10.1.2.3 172.16.0.1 192.168.0.1 "
    "169.254.169.254 2852039166 100.64.0.1 192.0.2.1 224.0.0.1 255.255.255.255 [::] [::1] "
    "[::ffff:127.0.0.1] [::ffff:a9fe:a9fe] [64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [2002:7f00:1::] "
    "[fe80::1] [fec0::1] [::127.0.0.1] [fd00::1] localhost LOCALHOST. inside.test both.test "
    "mapped.test zone.test unknown.test"
)
"""Addresses that are not of the internet, as numbers are read by the system, and names of such."""
KEY = "canary-key-93b1"

pytest_plugins = ["fixtures_openai"]
pytestmark = pytest.mark.usefixtures("no_configuration")


class Names:
    """A name server of our own: each answer is given once, the last one for ever."""

    def __init__(self, known: dict[str, list[list[str]]]) -> None:
        self.known = known
        self.system = socket.getaddrinfo

    def __call__(self, host: Any, port: Any, *args: Any, **kwargs: Any) -> Sequence[Any]:
        if host not in self.known:
            return self.system(host, port, *args, **kwargs)
        answers = self.known[host]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in found]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def know(**known: list[list[str]]) -> None:
        table = {f"{name}.test": answers for name, answers in known.items()}
        monkeypatch.setattr(socket, "getaddrinfo", Names(table))

    return know


@pytest.fixture
def everything_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_servers, "_is_public", lambda _: True)


def _at(server: OpenAIServer, name: str) -> str:
    return server.base.replace("127.0.0.1", f"{name}.test")


def _embedding(api_base: str, *, public_only: bool = True) -> OpenAIServerEmbedding:
    return OpenAIServerEmbedding(
        api_base=api_base,
        api_key=SecretStr(KEY),
        http_client=public_client() if public_only else None,
        retry_seconds=0,
    )


@pytest.fixture
def sent() -> list[httpx.Request]:
    """What reached a server."""
    return []


@pytest.fixture
def client(sent: list[httpx.Request]) -> Iterator[httpx.Client]:
    """A careful client; the first of two addresses of a name does not answer."""

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        if request.url.host == PUBLIC:
            raise httpx.ConnectError("made to fail")
        return httpx.Response(200)

    with httpx.Client(transport=PublicTransport(httpx.MockTransport(answer))) as careful:
        yield careful


@pytest.mark.parametrize("host", BEHIND.split())
def test_an_address_behind_the_firewall_is_refused_however_it_is_written(
    host: str, names: Callable[..., None], client: httpx.Client, sent: list[httpx.Request]
) -> None:
    found = {"inside": ["10.0.0.7"], "both": [PUBLIC, "127.0.0.1"], "unknown": []}
    found |= {"mapped": ["::ffff:169.254.169.254"], "zone": ["fe80::1%eth0"]}
    names(**{name: [addresses] for name, addresses in found.items()})
    with pytest.raises(ConfigurationError, match="public internet") as refused:
        client.get(f"http://{host}:8000/v1")
    assert sent == []
    # Otherwise it would say which names and ports there are behind the firewall.
    *_, said = str(refused.value).partition("' ")
    assert said.startswith("is not a server on the public internet; use another")


@pytest.mark.parametrize("host", ["six.test", "SIX.test:8443", "8.8.8.8"])
def test_a_public_address_is_asked(
    host: str, names: Callable[..., None], client: httpx.Client, sent: list[httpx.Request]
) -> None:
    names(six=[["2606:2800:220:1:248:1893:25c8:1946"]])
    assert client.get(f"https://{host}/v1").status_code == len(sent) * 200 == 200


def test_a_name_that_leads_behind_the_firewall_reaches_nothing(
    openai_server: OpenAIServer, names: Callable[..., None]
) -> None:
    names(rebind=[["127.0.0.1"]])
    address = _at(openai_server, "rebind")
    llm = OpenAIServerLLM(api_base=address, http_client=public_client())
    for ask in (
        lambda: _embedding(address).get_query_embedding("hello"),
        lambda: llm.complete("hello"),
        lambda: list(llm.stream_complete("hello")),
    ):
        with pytest.raises(ConfigurationError, match=r"public internet.*--local-models"):
            ask()
    assert openai_server.requests == []
    _embedding(address, public_only=False).get_query_embedding("hello")
    assert len(openai_server.requests) == 1


def test_a_refusal_is_final_and_names_no_address(
    openai_server: OpenAIServer, names: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    names(inside=[["127.0.0.1"]])
    model = _embedding(_at(openai_server, "inside"))
    with pytest.raises(ConfigurationError) as caught:
        model.get_query_embedding("hello")
    assert "next attempt" not in caplog.text
    assert "127.0.0.1" not in str(caught.value)


@pytest.mark.usefixtures("everything_is_public")
def test_a_server_that_may_be_asked_answers_under_its_name(
    openai_server: OpenAIServer, names: Callable[..., None]
) -> None:
    names(models=[["127.0.0.1"]])
    assert _embedding(_at(openai_server, "models")).get_query_embedding("hello")
    assert openai_server.requests[0].authorization == f"Bearer {KEY}"


def test_the_address_connected_to_is_the_one_checked_and_the_name_stays(
    names: Callable[..., None], client: httpx.Client, sent: list[httpx.Request]
) -> None:
    names(models=[[PUBLIC, SECOND]])
    reply = client.post("https://models.test:8443/v1/chat", content=b"body")
    assert [request.url.host for request in sent] == [PUBLIC, SECOND]
    assert {request.headers["host"] for request in sent} == {"models.test:8443"}
    assert {request.extensions["sni_hostname"] for request in sent} == {"models.test"}
    assert sent[-1].read() == b"body"
    assert str(reply.request.url) == "https://models.test:8443/v1/chat"


def test_no_proxy_of_the_environment_resolves_the_name_again(
    names: Callable[..., None], openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = openai_server.base.removesuffix("/v1")
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("ALL_PROXY", proxy)
    names(inside=[["10.0.0.7"]])
    with pytest.raises(ConfigurationError):
        _embedding("http://inside.test/v1").get_query_embedding("hello")
    assert openai_server.requests == []


@pytest.mark.usefixtures("everything_is_public")
@pytest.mark.parametrize("public_only", [True, False])
@pytest.mark.parametrize("status", [301, 307])
def test_a_redirect_is_not_followed(
    status: int, public_only: bool, openai_server: OpenAIServer
) -> None:
    with _answering(status, f"{openai_server.base}/embeddings") as address:
        model = _embedding(address, public_only=public_only)
        with pytest.raises(RagNodesError):
            model.get_query_embedding("hello")
    assert openai_server.requests == []


@pytest.mark.usefixtures("everything_is_public")
def test_the_certificate_has_to_be_for_the_name(
    names: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names(models=[["127.0.0.1"]], other=[["127.0.0.1"]])
    certificate = certificate_in(tmp_path / "models.pem", "models.test")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with _answering(401, "", context) as address:
        port = address.rpartition(":")[2]
        with pytest.raises(RagNodesError, match="key was refused"):  # so it was reached
            _embedding(f"https://models.test:{port}").get_query_embedding("hello")
        with pytest.raises(ModelConnectionError, match="cannot be reached"):
            _embedding(f"https://other.test:{port}").get_query_embedding("hello")


@pytest.mark.parametrize("typed", ["here", "rebind"])
def test_both_models_of_an_address_that_a_visitor_types_in_are_careful(
    typed: str, openai_server: OpenAIServer, names: Callable[..., None]
) -> None:
    names(rebind=[["127.0.0.1"]])
    address = openai_server.base if typed == "here" else _at(openai_server, typed)
    choice = Choice(("fixed",), api_base=address, api_key=SecretStr(KEY))
    with closing(PageSession(Settings())) as session:
        models = session.models_of(choice, check=False)
        assert models.llm is not None
        for ask in (models.embedding.get_query_embedding, models.llm.complete):
            with pytest.raises(ConfigurationError, match="public internet"):
                ask("hello")
        with pytest.raises(ConfigurationError, match="public internet"):
            session.models_of(choice)
    assert openai_server.requests == []
    with closing(PageSession(Settings(), local_models=True)) as session:
        assert session.models_of(choice).embedding
    assert openai_server.requests


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize(
    "typed",
    [
        "http://host:port/",
        "http://xn--/v1",
        "http://\uff11\uff12\uff17.0.0.1/v1",
        "http://:80/v1",
    ],
)
def test_what_is_no_address_is_said_to_be_none_and_no_server_is_blamed(
    typed: str, local: bool
) -> None:
    choice = Choice(("fixed",), api_base=typed, api_key=SecretStr(KEY))
    with (
        closing(PageSession(Settings(), local_models=local)) as session,
        pytest.raises(ConfigurationError, match=r"api_base: .* is not an address; write it like"),
    ):
        session.models_of(choice, check=False)


@pytest.mark.parametrize(
    ("address", "configured", "local", "wanted"),
    [
        (None, None, False, False),
        ("https://api.example/v1", None, False, True),
        ("https://api.example/v1", "http://127.0.0.1:11434/v1", False, True),
        ("http://127.0.0.1:11434/other", "http://127.0.0.1:11434/v1", False, False),
        ("http://127.0.0.1:22/v1", "http://127.0.0.1:11434/v1", False, True),
        ("http://127.0.0.1:22/v1", None, True, False),
    ],
)
def test_what_the_operator_vouches_for_need_not_be_public(
    address: str | None, configured: str | None, local: bool, wanted: bool
) -> None:
    assert must_be_public(address, configured=configured, local=local) is wanted


@contextmanager
def _answering(status: int, location: str, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """A loopback server that gives every POST the same answer."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("Location", location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # refused certificates
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join(timeout=10)
