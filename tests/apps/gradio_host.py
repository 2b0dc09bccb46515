"""A host app of somebody else that shows ours: `python gradio_host.py WAY THEME`.

The app is imported only when it is built, so this runs in a process of its own, as a host does.
"""

import socket
import sys

import gradio as gr
import uvicorn
from fastapi import FastAPI

DOCUMENT = "# Colours\n\nThe machine is red, and its lid is blue.\n"


def in_a_tab() -> gr.Blocks:
    import rag_nodes.apps

    with gr.Blocks() as host:
        with gr.Tab("Own tab"):
            gr.Markdown("Something of the host")
        with gr.Tab("Chunking"):
            rag_nodes.apps.build_app()
    return host


def columns_in_a_tab() -> gr.Blocks:
    from llama_index.core import Document, VectorStoreIndex

    from rag_nodes import get_embedding
    from rag_nodes.apps import build_app

    documents = [Document(text=DOCUMENT, metadata={"file_name": "colours.md"})]
    index = VectorStoreIndex.from_documents(documents, embed_model=get_embedding("lexical"))
    columns = {"index": index, "found": index.as_retriever(), "heading": "heading"}
    with gr.Blocks() as host, gr.Tab("Chunking"):
        build_app(columns=columns, documents=documents)
    return host


def in_a_tabbed_interface() -> gr.Blocks:
    import rag_nodes.apps

    own = gr.Interface(lambda text: text, "text", "text")
    return gr.TabbedInterface([own, rag_nodes.apps.build_app()], ["Own tab", "Chunking"])


def alone() -> gr.Blocks:
    import rag_nodes.apps

    return rag_nodes.apps.build_app()


WAYS = {
    "tab": in_a_tab,
    "columns": columns_in_a_tab,
    "tabbed": in_a_tabbed_interface,
    "mounted": alone,
}


def _theme(name: str) -> gr.themes.Base:
    if name == "ours":
        from rag_nodes.apps.theme import make_theme

        return make_theme()
    return gr.themes.Default()


def main(way: str, theme: str) -> None:
    """Serve the host on a free port of the loopback interface, and write its address."""
    host = WAYS[way]()
    path = "/chunking" if way == "mounted" else "/"
    app = gr.mount_gradio_app(FastAPI(), host, path=path, theme=_theme(theme))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        # From here on a visitor waits for the server, where it would be refused before.
        taken.listen()
        print(f"http://127.0.0.1:{taken.getsockname()[1]}{path}", flush=True)  # noqa: T201
        # Pages keep a stream open, for which the server would wait at its end.
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run([taken])


if __name__ == "__main__":
    main(*sys.argv[1:])
