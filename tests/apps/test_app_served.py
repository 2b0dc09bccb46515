"""The served app, asked over HTTP as a browser or a script would."""

import gc
import urllib.request
import warnings

import gradio as gr
import httpx
import pytest

from rag_nodes.core.errors import ConfigurationError, FileMissingError
from rag_nodes.core.settings import Settings
from rag_nodes.server.serve import launch


def test_gradio_offers_no_event_and_one_function_of_the_page(app: gr.Blocks) -> None:
    assert app.get_api_info()["named_endpoints"] == {}
    assert [fn for fn in app.fns.values() if fn.targets] == []
    functions = [
        name
        for component in app.config["components"]
        for name in component["props"].get("server_fns") or ()
    ]
    assert functions == ["act"]


def test_blocks_that_are_launched_alone_tell_the_browser_to_stay_with_this_server(
    app: gr.Blocks,
) -> None:
    with urllib.request.urlopen(str(app.local_url)) as reply:  # noqa: S310 - our own address
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]


def test_an_action_is_answered_and_a_key_comes_back_in_no_answer(app: gr.Blocks) -> None:
    [component] = [block for block in app.blocks.values() if isinstance(block, gr.HTML)]
    sent = {"token": "a" * 48, "action": "models", "payload": {"api_key": "canary-no-key-51"}}
    body = {"session_hash": "s", "component_id": component._id, "fn_name": "act", "data": sent}
    reply = httpx.post(f"{app.local_url}gradio_api/component_server", json=body, timeout=60)
    assert reply.json()["said"] == "Models are set for your documents."
    assert "canary" not in reply.text


def test_launch_refuses_a_document_that_does_not_exist(
    settings: Settings,
) -> None:
    with pytest.raises(FileMissingError, match=r"nowhere\.pdf"):
        launch(settings, documents=["nowhere.pdf"])


def test_a_port_in_use_is_said_with_the_remedy(app: gr.Blocks, settings: Settings) -> None:
    # Gradio leaves the sockets with which it looked for a free port to the garbage collector.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with pytest.raises(ConfigurationError, match="another port"):
            launch(settings, port=app.server_port)
        gc.collect()
