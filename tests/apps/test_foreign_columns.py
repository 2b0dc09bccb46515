"""Splitters of other packages as columns of the page: chosen by visitors, named by the server."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from splitters import Given, Headed, LineChunker, WindowSplitter

from rag_nodes.apps.header.controls import (
    Controls,
    build_answering,
    build_columns,
    build_parameters,
)
from rag_nodes.apps.markup import colour_of, title_of
from rag_nodes.apps.tabs.compare.events import history
from rag_nodes.apps.tabs.decide import _used
from rag_nodes.apps.tabs.document import DocumentEvents
from rag_nodes.apps.visitors.choice import Choice, make_parsers
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.settings import Settings
from rag_nodes.operations.scripts import script_of
from rag_nodes.parsers import offered

STOCK = "llama_index.core.node_parser:SentenceSplitter(chunk_size=64,chunk_overlap=0)"
LABEL = "SentenceSplitter(chunk_size=64,chunk_overlap=0)"
TEXT = "The pump draws water. The filter is rinsed weekly.\n\nIt rained all day, and nobody came."
LOSSY = Given(["The pump draws water.", "Words that stand <nowhere> in it.", TEXT[-35:]])
OFFER: dict[str, Any] = {
    "stock": STOCK,
    "windows": WindowSplitter(),
    "lines": LineChunker(),
    "lossy": LOSSY,
}


class _Request:
    session_hash = "visitor"


@pytest.fixture
def sessions(settings: Settings, tmp_path: Path) -> Iterator[PageSessions]:
    opened = PageSessions(settings, offer=offered(OFFER))
    path = tmp_path / "pump.md"
    path.write_text(TEXT, encoding="utf-8")
    session = opened.of("visitor")
    session.load([path], Choice((*OFFER,)), lambda _: None)
    yield opened
    opened.close()


def test_what_a_server_offers_can_be_ticked_beside_the_presets_and_has_no_sliders(
    settings: Settings, leaks_collected: Callable[[], AbstractContextManager[None]]
) -> None:
    offer = offered([STOCK])
    with leaks_collected(), gr.Blocks():
        columns, answering = build_columns(offer), build_answering(settings)
        controls = Controls(offer, *columns, *build_parameters(offer), answering)
    assert (LABEL, LABEL) in controls.parsers.choices
    assert LABEL not in controls.groups
    values = [component.value for component in controls.inputs]
    values[0] = ["fixed", LABEL, "os:system"]
    assert controls.choice(values).parsers == ("fixed", LABEL)


def test_an_import_path_that_a_visitor_sends_is_looked_up_and_never_imported() -> None:
    for offer in (None, offered([STOCK])):
        with pytest.raises(ConfigurationError, match="unknown parser 'not_there:Splitter"):
            make_parsers(Choice(("not_there:Splitter()",)), None, offer)


def test_a_name_that_is_taken_and_a_path_with_a_key_are_refused_when_the_server_starts() -> None:
    with pytest.raises(ConfigurationError, match="'fixed' is taken"):
        offered({"fixed": STOCK})
    with pytest.raises(ConfigurationError, match="api_key must not stand") as refused:
        offered(["its_package:Splitter(api_key='sk-canary')"])
    assert "sk-canary" not in str(refused.value)
    with pytest.raises(ConfigurationError, match="cannot be imported"):
        offered(["no_such_package:Splitter()"])


def test_columns_of_all_kinds_answer_and_say_how_many_chunks_were_found(
    sessions: PageSessions,
) -> None:
    turn = sessions.of("visitor").ask("What draws water?")
    assert turn.report is not None
    found = {one.name: one.statistics.unplaced for one in turn.report.columns}
    assert found == {"stock": 0, "windows": 0, "lines": 0, "lossy": 1}
    assert all(one.answer and one.answer.hits for one in turn.report.columns)
    assert "path" not in json.dumps([one.parser for one in turn.report.columns])


def test_the_heading_of_a_foreign_column_says_its_options_and_its_recovery(
    sessions: PageSessions,
) -> None:
    turn = sessions.of("visitor").ask("What draws water?")
    said = history([turn], ready=True).split("<article")[1:]
    assert "chunk_size 64" in said[0]
    assert "(100 %)" in said[0]
    assert "2 of 3 chunks found in their document (66.7 %)" in said[3]
    assert title_of("lossy") == "lossy"
    assert colour_of("lossy") == colour_of("lossy")


def test_the_document_tab_draws_what_has_a_place_and_lists_the_rest(sessions: PageSessions) -> None:
    events = DocumentEvents(sessions)
    *_, summary, drawn = events.choose_document("lossy", "", _Request())  # type: ignore[arg-type]
    assert "2 of 3 chunks" in summary
    assert "Words that stand &lt;nowhere&gt; in it." in summary
    assert "1 chunk without a place" in summary
    assert "nowhere" not in drawn
    assert "nobody came." in drawn


def test_the_chunks_of_a_column_without_any_place_are_listed_in_order(
    settings: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "pump.md"
    path.write_text("One.\n\nTwo.\n\nThree.\n", encoding="utf-8")
    opened = PageSessions(settings, offer=offered({"headed": Headed()}))
    opened.of("visitor").load([path], Choice(("headed",)), lambda _: None)
    cuts = opened.of("visitor").cuts
    assert cuts is not None
    (document,) = cuts.documents
    said = [node.text.split()[-1] for node in cuts.unplaced("headed", document)]
    assert said == ["One.", "Two.", "Three."]
    opened.close()


def test_the_script_makes_a_splitter_by_its_path_and_says_where_it_cannot(
    sessions: PageSessions,
) -> None:
    comparison = sessions.of("visitor").comparison
    assert comparison is not None
    script = script_of(comparison, "stock")
    assert (
        f"PARSER = ForeignNodeParser(path={STOCK!r})" in " ".join(script.split()) or STOCK in script
    )
    compile(script, "script", "exec")
    with pytest.raises(ConfigurationError, match="offer it by import path"):
        script_of(comparison, "windows")
    code, file = _used(sessions.of("visitor"), "windows")
    assert code.startswith("# splitters:WindowSplitter was given")
    assert file is None
