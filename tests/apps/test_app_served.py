"""The served app, asked over HTTP as a browser or a script would."""

import gc
import json
import re
import urllib.request
import warnings
from pathlib import Path

import gradio as gr
import pytest
from gradio_client import Client, handle_file

from rag_nodes.core.errors import ConfigurationError, FileMissingError
from rag_nodes.core.settings import Settings
from rag_nodes.server.serve import launch

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUESTION = "When must the sand filter be rinsed backwards?"


def test_the_api_offers_loading_asking_and_clearing_and_nothing_else(app: gr.Blocks) -> None:
    endpoints = app.get_api_info()["named_endpoints"]
    assert set(endpoints) == {"/process", "/process_example", "/ask", "/clear"}


def test_blocks_that_are_launched_alone_tell_the_browser_to_stay_with_this_server(
    app: gr.Blocks,
) -> None:
    with urllib.request.urlopen(str(app.local_url)) as reply:  # noqa: S310 - our own address
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]


def test_no_event_of_the_page_is_public_as_gradio_keeps_a_history_of_those_in_the_browser(
    app: gr.Blocks,
) -> None:
    started_by_the_page = [one for one in app.fns.values() if one.targets]
    assert started_by_the_page
    assert [one.name for one in started_by_the_page if one.api_visibility == "public"] == []


def test_a_script_uploads_asks_and_gets_a_column_per_parser_with_citations(app: gr.Blocks) -> None:
    client = _client(app)
    status, history, *_ = client.predict(
        [handle_file(CORPUS / "handbook.pdf")], api_name="/process"
    )
    assert "6 pages" in status
    assert "What do you want to know?" in history
    history, _ = client.predict(QUESTION, api_name="/ask")
    assert history.count("<article") == 4
    assert history.count("2.4 bar") >= 4
    assert len(re.findall(r"rn-citations", history)) == 4
    history, _ = client.predict(api_name="/clear")
    assert history.count("<article") == 0


def test_a_typed_key_comes_back_in_no_answer(app: gr.Blocks) -> None:
    client = _client(app)
    key = {_parameter(client, "API key"): "canary-no-key-51"}
    outputs = client.predict([handle_file(CORPUS / "manual.md")], **key, api_name="/process")
    assert "does not start with sk-" in outputs[0]
    assert "canary" not in json.dumps(outputs, default=str)


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


def _client(app: gr.Blocks) -> Client:
    patient = {"timeout": 60}
    return Client(str(app.local_url), verbose=False, analytics_enabled=False, httpx_kwargs=patient)


def _parameter(client: Client, label: str) -> str:
    """What the API calls the control with that label."""
    described = client.view_api(print_info=False, return_format="dict")["named_endpoints"]
    parameters = described["/process"]["parameters"]
    return next(str(one["parameter_name"]) for one in parameters if one["label"] == label)
