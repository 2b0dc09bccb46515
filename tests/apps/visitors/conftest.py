"""What tests of a workspace start from: nothing configured, one visitor, two documents."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from openai_server import OpenAIServer
from visits import write_text

from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.core.settings import Settings


@pytest.fixture
def settings(settings: Settings, openai_server: OpenAIServer) -> Settings:
    """Offline without a key; a visitor's key is for a server that the operator set."""
    return settings.model_copy(update={"api_base": openai_server.base})


@pytest.fixture
def session(settings: Settings) -> Iterator[PageSession]:
    with PageSession(settings) as opened:
        yield opened


@pytest.fixture
def red(tmp_path: Path) -> Path:
    return write_text(tmp_path / "red.md", "# Colour\n\nThe machine is red.\n")


@pytest.fixture
def blue(tmp_path: Path) -> Path:
    return write_text(tmp_path / "blue.md", "# Colour\n\nThe machine is blue.\n")
