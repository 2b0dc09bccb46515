"""Hand-made replies, a served app and a browser for the app's tests."""

from __future__ import annotations

import os
import shutil
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_page import watched
from fixtures_app import collecting
from llama_index.core.schema import TextNode
from pydantic import SecretStr

from rag_nodes.compare import Column, ComparisonReport
from rag_nodes.metadata import FILE_NAME, HEADING_PATH, PAGE_END, PAGE_START, TOKEN_COUNT
from rag_nodes.pipeline import ParserOutcome
from rag_nodes.query import Answer, Citation, Hit, Source
from rag_nodes.query.citations import marks_of
from rag_nodes.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import gradio as gr
    from openai_server import OpenAIServer
    from playwright.sync_api import Browser, Page

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
_PARSER = {
    "class": "FixedSizeNodeParser",
    "chunk_size": 1000,
    "chunk_overlap": 200,
    "unit": "characters",
}


@pytest.fixture(autouse=True)
def _unconfigured(no_configuration: Path) -> None:
    """A developer's own variables decide nothing here."""


@pytest.fixture(autouse=True, scope="session")
def _undecided() -> Iterator[None]:
    """No sweep keeps a core busy beside tests of something else, and no upload leads to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rag_nodes.apps.visitors.deciding.QUIET", 3600.0)
        patch.setattr("rag_nodes.apps.page.ends_in_decide", lambda _: False)
        yield


@pytest.fixture
def make_column() -> Callable[..., Column]:
    """A column whose every text can be chosen."""
    return _column


@pytest.fixture
def make_report(make_column: Callable[..., Column]) -> Callable[..., ComparisonReport]:
    def make(*columns: Column, question: str = "Why?", models: str = "offline") -> ComparisonReport:
        return ComparisonReport(
            question=question,
            corpus="default",
            models=models,
            files=(),
            columns=columns or (make_column(),),
            seconds=0.1,
        )

    return make


@pytest.fixture(scope="session")
def serve(build: Callable[..., gr.Blocks]) -> Callable[..., AbstractContextManager[str]]:
    """The app mounted into another one, where Gradio itself never sets `has_launched`."""

    @contextmanager
    def serve(settings: Settings) -> Iterator[str]:
        import gradio as gr
        import uvicorn
        from fastapi import FastAPI

        app = build(settings)
        with collecting():
            outer = gr.mount_gradio_app(FastAPI(), app, path="/")
        server = uvicorn.Server(uvicorn.Config(outer, port=0, log_level="error"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
        server.should_exit = True
        thread.join(timeout=20)

    return serve


@pytest.fixture(scope="session")
def online(
    build: Callable[..., gr.Blocks], _running_openai_server: OpenAIServer
) -> Iterator[gr.Blocks]:
    """An app, served to all tests, whose models are those of `openai_server`."""
    from rag_nodes.server.serve import launch_options

    base, key = _running_openai_server.base, SecretStr("any")
    built = build(Settings(embedding="openai", llm="openai", api_key=key, api_base=base))
    with collecting():
        built.launch(server_name="127.0.0.1", prevent_thread_lock=True, **launch_options())
    yield built
    with collecting():
        built.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real Chromium; without one the test is skipped, in CI it fails."""
    wanted = os.environ.get("CHROMIUM_PATH")
    found = wanted or next(filter(None, map(shutil.which, _BROWSERS)), None)
    if found is None:
        reason = f"no Chromium found ({', '.join(_BROWSERS)}); set CHROMIUM_PATH to its path"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=list(_FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, app: gr.Blocks) -> Iterator[Page]:
    """An open page; whatever leaves this machine or breaks fails the test."""
    with watched(browser, str(app.local_url)) as opened:
        yield opened


def _column(  # noqa: PLR0913 - every text of a column can be set
    *,
    name: str = "fixed",
    title: str = "Fixed size",
    text: str = "It rained. [Source 1]",
    chunk: str = "The roof leaks. It rained. Nobody came.",
    quote: str = "It rained.",
    file_name: str = "diary.pdf",
    headings: tuple[str, ...] = ("May", "Sunday"),
    page: int | None = 3,
    similarity: float | None = 0.4,
    kind: str = "extract",
    unknown: tuple[int, ...] = (),
    packed: bool = True,
    error: str | None = None,
    warning: str | None = None,
    embedding_model: str = "lexical-1024",
    answer_model: str = "extractive",
) -> Column:
    hit = Hit(_node(chunk, file_name, headings, page), 1, 1.0, similarity, 2.5)
    start = chunk.find(quote)
    citation = Citation(
        number=1,
        node_id=hit.node.node_id,
        file_name=file_name,
        source=f"/srv/uploads/{file_name}",
        page=page,
        page_end=page,
        heading_path=headings,
        start=100 + start,
        end=100 + start + len(quote),
        quote=quote,
    )
    answer = Answer(
        question="Why?",
        text=text,
        kind=kind,
        citations=(citation,) if kind != "nothing" else (),
        unknown_sources=unknown,
        hits=(hit,),
        sources=(Source(1, (hit,), chunk, "Source 1", 9),) if packed else (),
        left_out=0 if packed else 1,
        context_tokens=1400,
        seconds={"answer": 0.1},
        embedding_model=embedding_model,
        answer_model=answer_model,
        marks=marks_of(text),
    )
    return Column(
        name=name,
        title=title,
        parser=_PARSER,
        statistics=ParserOutcome(name, "c", chunks=12, tokens=2400, error=warning),
        answer=None if error else answer,
        error=error,
        seconds={"total": 0.25},
    )


def _node(text: str, file_name: str, headings: tuple[str, ...], page: int | None) -> TextNode:
    return TextNode(
        id_="6f1f9a52-3f0a-5d8c-9f58-8f6a3c6f0a11",
        text=text,
        start_char_idx=100,
        end_char_idx=100 + len(text),
        metadata={
            FILE_NAME: file_name,
            HEADING_PATH: list(headings),
            PAGE_START: page,
            PAGE_END: page,
            TOKEN_COUNT: 9,
        },
    )
