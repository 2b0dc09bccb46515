"""Served apps and a browser for the app's tests."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest
from browser_page import watch_page
from playwright.sync_api import Browser, Page
from visits import DIARY, Visitor, visiting, write_text

from rag_nodes.core.settings import Settings

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(autouse=True)
def _unconfigured(no_configuration: Path) -> None:
    """A developer's own variables decide nothing here."""


@pytest.fixture(autouse=True, scope="session")
def _undecided() -> Iterator[None]:
    """No sweep keeps a core busy beside tests of something else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rag_nodes.apps.visitors.deciding.QUIET", 3600.0)
        yield


@pytest.fixture
def diary(settings: Settings, tmp_path: Path) -> Iterator[Visitor]:
    with visiting(settings) as visitor:
        visitor.load(write_text(tmp_path / "diary.md", DIARY))
        yield visitor


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real Chromium; without one the test is skipped, in CI it fails."""
    wanted = os.environ.get("CHROMIUM_PATH")
    executable = wanted or next(filter(None, map(shutil.which, _BROWSERS)), None)
    if executable is None:
        reason = f"no Chromium found ({', '.join(_BROWSERS)}); set CHROMIUM_PATH to its path"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=list(_FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, app: gr.Blocks) -> Iterator[Page]:
    """An open page; whatever leaves this machine or breaks fails the test."""
    with watch_page(browser, str(app.local_url)) as opened:
        yield opened
