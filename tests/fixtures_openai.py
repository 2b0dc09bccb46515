"""Fixtures around the loopback OpenAI server and the variables that point to a real one."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from openai_server import OpenAIServer


@pytest.fixture(scope="session")
def _running_openai_server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.fixture
def openai_server(_running_openai_server: OpenAIServer) -> Iterator[OpenAIServer]:
    """A loopback server that remembers nothing of the test before."""
    _running_openai_server.reset()
    yield _running_openai_server
    _running_openai_server.reset()


@pytest.fixture
def no_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty working directory and none of the variables that settings are read from.

    A developer's own key must neither reach a test nor be spent by one.
    """
    for name in list(os.environ):
        if name.upper().startswith(("RAG_NODES_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.chdir(tmp_path)
    return tmp_path
