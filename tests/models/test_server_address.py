"""The address of a model server: one that can be asked, redirects, certificates, keys."""

import http.server
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from certificates import certificate_in
from openai_server import OpenAIServer
from pydantic import SecretStr

from rag_nodes.apps.visitors.columns import ColumnsRequest
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.core.errors import ConfigurationError, ModelConnectionError, RagNodesError
from rag_nodes.core.network import usual_certificates
from rag_nodes.core.settings import Settings
from rag_nodes.models import choose_models
from rag_nodes.models.openai import OpenAIServerEmbedding

KEY = "canary-key-93b1"

pytest_plugins = ["fixtures_openai"]
pytestmark = pytest.mark.usefixtures("no_configuration")


def _embedding(api_base: str) -> OpenAIServerEmbedding:
    return OpenAIServerEmbedding(api_base=api_base, api_key=SecretStr(KEY), retry_seconds=0)


@pytest.mark.parametrize("status", [301, 307])
def test_a_redirect_is_not_followed(status: int, openai_server: OpenAIServer) -> None:
    with _answering(status, f"{openai_server.base}/embeddings") as address:
        model = _embedding(address)
        with pytest.raises(RagNodesError):
            model.get_query_embedding("hello")
    assert openai_server.requests == []


def test_a_key_of_a_visitor_is_sent_to_the_server_of_the_operator(
    openai_server: OpenAIServer,
) -> None:
    choice = ColumnsRequest(api_key=SecretStr(KEY))
    with PageSession(Settings(api_base=openai_server.base, api_key=SecretStr("own"))) as session:
        session.models_of(choice)
    assert {request.authorization for request in openai_server.requests} == {f"Bearer {KEY}"}


@pytest.mark.parametrize("status", [301, 307])
def test_a_key_of_a_visitor_follows_no_redirect_of_the_server_of_the_operator(
    status: int, openai_server: OpenAIServer
) -> None:
    choice = ColumnsRequest(api_key=SecretStr(KEY))
    with (
        _answering(status, f"{openai_server.base}/embeddings") as address,
        PageSession(Settings(api_base=address, retry_seconds=0)) as session,
        pytest.raises(RagNodesError),
    ):
        session.models_of(choice)
    assert openai_server.requests == []


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A certificate for `models.test`, trusted like those that everybody trusts."""
    certificate = certificate_in(tmp_path / "models.pem", "models.test")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    usual_certificates.cache_clear()
    yield certificate
    usual_certificates.cache_clear()


def test_the_certificate_has_to_be_for_the_name(
    trusted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = socket.getaddrinfo

    def here(host: Any, *args: Any, **kwargs: Any) -> Any:
        named = host in ("models.test", "other.test")
        return system("127.0.0.1" if named else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", here)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted)
    with _answering(401, "", context) as address:
        port = address.rpartition(":")[2]
        with pytest.raises(RagNodesError, match="key was refused"):  # so it was reached
            _embedding(f"https://models.test:{port}").get_query_embedding("hello")
        with pytest.raises(ModelConnectionError, match="cannot be reached"):
            _embedding(f"https://other.test:{port}").get_query_embedding("hello")


@pytest.mark.parametrize(
    "address",
    [
        "http://host:port/",
        "http://xn--/v1",
        "http://\uff11\uff12\uff17.0.0.1/v1",
        "http://:80/v1",
    ],
)
def test_an_address_that_cannot_be_read_is_refused_and_no_server_is_blamed(address: str) -> None:
    settings = Settings(api_base=address, embedding="openai", llm="openai", api_key=SecretStr(KEY))
    with pytest.raises(ConfigurationError, match=r"api_base: .* is not an address; write it like"):
        choose_models(settings)


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
