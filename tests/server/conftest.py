"""What tests of REST, MCP and their limits start from: nothing configured, one server per file."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from app_server import Api
from fixtures_app import offline_settings
from hostile_parsers import HangingNodeParser

from rag_nodes.operations import run


@pytest.fixture(autouse=True)
def _unconfigured(no_configuration: Path) -> None:
    """A developer's own variables decide nothing here."""


@pytest.fixture(scope="module")
def api() -> Api:
    return Api(offline_settings())


@pytest.fixture(scope="module")
def client(api: Api) -> Iterator[httpx.Client]:
    """A client of one server, where sessions are what keeps tests apart."""
    with api.opened() as opened:
        yield opened


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> HangingNodeParser:
    """The only parser of the server, which hangs."""
    parser = HangingNodeParser()
    monkeypatch.setattr(run, "make_offered", lambda *_: {"fixed": parser})
    return parser
