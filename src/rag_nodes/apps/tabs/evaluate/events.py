"""What happens in the evaluation: measures when the tab opens, the chunks behind one on demand."""

from __future__ import annotations

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.sent import number_in, texts_of
from rag_nodes.apps.tabs.chunks.events import ChunkLocation
from rag_nodes.apps.tabs.evaluate.findings import findings
from rag_nodes.apps.tabs.evaluate.measures import MEASURES, Judged, evaluation, measuring
from rag_nodes.apps.view.html import Html, join, tag
from rag_nodes.apps.view.parts import empty, notice, title_of
from rag_nodes.apps.visitors import cuts_of
from rag_nodes.errors import RagNodesError
from rag_nodes.models.prices import price_of

if TYPE_CHECKING:
    from rag_nodes.apps.tabs.chunks.events import ChunksEvents
    from rag_nodes.workspace import Sessions
    from rag_nodes.workspace.cuts import Cuts

EMPTY = empty(
    "Measure the chunks, without a question",
    tag("p", "Sizes, boundaries, overlap, cohesion and cost appear here once a document is cut."),
)
HINT = tag("p", "Choose an underlined number to see the chunks behind it.", cls="rn-quiet")


class EvaluateEvents:
    """What the events do.

    Args:
        sessions: where each visitor's work is.
        chunks: draws a chunk that was chosen here.
    """

    def __init__(self, sessions: Sessions, chunks: ChunksEvents) -> None:
        self._sessions = sessions
        self._chunks = chunks

    def refresh(self, shown: str, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """Measure what the session holds now, unless that is on the page already.

        Yields:
            Shown key, table, and the list behind a number.
        """
        cuts = cuts_of(self._sessions, request)
        if shown == (cuts.key if cuts else ""):
            yield (gr.skip(),) * 3
            return
        if cuts is None or not cuts.documents:
            yield "", EMPTY, ""
            return
        yield cuts.key, measuring(cuts.strategies), HINT
        # Gradio sends the last values a second time, when a list may stand in the hint's place.
        judged = evaluation([_judged(cuts, one) for one in cuts.strategies])
        yield cuts.key, join([*_recoveries(cuts), judged]), gr.skip()

    def drill(self, request: gr.Request, event: gr.EventData) -> Html:
        """The chunks behind the number that was chosen."""
        cuts, asked = cuts_of(self._sessions, request), texts_of(event)
        measure, strategy = asked.get("measure", ""), asked.get("strategy", "")
        if cuts is None or strategy not in cuts.strategies or measure not in MEASURES:
            return notice("warning", "These chunks are gone: open the tab again.")
        try:
            found = cuts.measured(strategy).of(*MEASURES[measure].problems)
        except RagNodesError as error:
            return notice("error", str(error))
        texts = {one: cuts.text_of(one) for one in cuts.documents}
        names = {one: cuts.name_of(one) for one in cuts.documents}
        return findings(measure, strategy, found, texts, names)

    def open(self, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        """The chunk that was chosen, in the tab that draws chunks."""
        asked = texts_of(event)
        if not {"strategy", "document", "chunk"} <= set(asked):
            return self._chunks.open(None, request)
        chosen = number_in(asked["chunk"])
        place = ChunkLocation(asked["strategy"], asked["document"], chosen=chosen)
        return self._chunks.open(place, request)


def _recoveries(cuts: Cuts) -> Iterator[Html]:
    """Of how many chunks of other packages' splitters the measures speak."""
    for one in cuts.strategies:
        try:
            said = cuts.recovery(one)
        except RagNodesError:  # the column says why
            continue
        if said:
            yield tag(
                "p", f"{title_of(one)}: {said}. The measures are of these.", cls="rn-recovery"
            )


def _judged(cuts: Cuts, strategy: str) -> Judged:
    price = _price(cuts)
    try:
        tally = cuts.measured(strategy)
        if not tally.chunks and (said := cuts.recovery(strategy)):
            return Judged(strategy, None, price, f"nothing to measure: {said}")
        return Judged(strategy, tally, price)
    except RagNodesError as error:
        return Judged(strategy, None, price, str(error))


def _price(cuts: Cuts) -> float | None:
    """US dollars per million tokens of the embedding model, the configured price first."""
    models, configured = cuts.comparison.models, cuts.comparison.options.prices
    price = price_of(models.embedding_name, configured)
    return None if price is None else price[0]
