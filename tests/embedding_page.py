"""The page in each of the ways its documentation names: alone, mounted, and inside other blocks."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

import gradio as gr
from app_server import listening
from fastapi import FastAPI

Build = Callable[[], gr.Blocks]


OWN_TAB = "Ours"
"""Name of the tab beside the page, which has a text box of the surrounding app."""
OWN_BOX = "Say"
PAGE_TAB = "Chunking"


class Shown(NamedTuple):
    """Where the page is.

    Attributes:
        address: of the served app.
        inside: it is a tab of another app and has to be opened there.
    """

    address: str
    inside: bool = False


@contextmanager
def launched(build: Build) -> Iterator[Shown]:
    """The page alone."""
    with _served(build()) as address:
        yield Shown(address)


@contextmanager
def mounted(build: Build) -> Iterator[Shown]:
    """Under a path of a FastAPI app."""
    with listening(gr.mount_gradio_app(FastAPI(), build(), path="/page")) as address:
        yield Shown(f"{address}/page/")


@contextmanager
def in_a_tab(build: Build) -> Iterator[Shown]:
    """Built while other blocks are open."""
    with gr.Blocks() as outer, gr.Tabs():
        with gr.Tab(OWN_TAB):
            box = gr.Textbox(label=OWN_BOX)
            box.submit(str.upper, box, gr.Textbox())
        with gr.Tab(PAGE_TAB):
            build()
    with _served(outer) as address:
        yield Shown(address, inside=True)


@contextmanager
def in_a_tabbed_interface(build: Build) -> Iterator[Shown]:
    """Built alone and then put into other blocks."""
    own = gr.Interface(str.upper, gr.Textbox(label=OWN_BOX), "text")
    outer = gr.TabbedInterface([own, build()], [OWN_TAB, PAGE_TAB])
    with _served(outer) as address:
        yield Shown(address, inside=True)


@contextmanager
def _served(blocks: gr.Blocks) -> Iterator[str]:
    """As their user launches them: with no option that matters here."""
    blocks.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True)
    yield str(blocks.local_url)
    blocks.close()


WAYS: dict[str, Callable[[Build], AbstractContextManager[Shown]]] = {
    "launched": launched,
    "mounted": mounted,
    "in a tab": in_a_tab,
    "in a tabbed interface": in_a_tabbed_interface,
}
