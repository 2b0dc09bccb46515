"""The table of what is embedded with a chunk, from the recalls that `contextual.py` kept."""

from __future__ import annotations

import numpy as np
from measuring import markdown_table

from rag_nodes.evaluation.sign_flips import SignFlips
from results.kept import Kept
from results.summary import in_points, words

HEADINGS = "headings (the default)"
TEXT_ALONE = "text alone"
EXTRACT = "headings, sentences of the chunk"
SUMMARY = "headings, summary by a model"
ROWS = (TEXT_ALONE, HEADINGS, EXTRACT, SUMMARY)
"""What is embedded, as the table shows it; that by a model where one was configured."""
SEARCHES = (("lexical", "dense"), ("MiniLM", "dense"), ("MiniLM", "hybrid"))
BUDGET = 1000
"""Tokens that are read."""
NOT_MEASURED = "not measured here"


def step_of(embedding: str, mode: str) -> str:
    """The name under which a way of searching is kept."""
    return f"{embedding}, {mode}"


def contextual() -> str:
    """Recall by what is embedded, and the difference to headings with its interval."""
    kept = Kept.load("contextual")
    rows = [[name, *(_cell(kept, step_of(*search), name) for search in SEARCHES)] for name in ROWS]
    return markdown_table(["embedded", *(step_of(*search) for search in SEARCHES)], rows)


def _cell(kept: Kept, step: str, name: str) -> str:
    systems = kept.systems[step]
    if name not in systems:
        return NOT_MEASURED
    own = np.array(systems[name]["recall"][str(BUDGET)], float)
    shown = f"{100 * own.mean():.1f}"
    if name == HEADINGS:
        return shown
    usual = np.array(systems[HEADINGS]["recall"][str(BUDGET)], float)
    gap = SignFlips(np.stack([own, usual], axis=1), [(0, 1)], kept.documents).intervals[0]
    return f"{shown}, {words(in_points(gap))}"
