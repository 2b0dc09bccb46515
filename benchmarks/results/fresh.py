"""The tables of fresh questions: the order of systems there and on five sets, and by language."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from measuring import markdown_table
from systems import STOCK

from rag_nodes.evaluation.sign_flips import Interval, SignFlips
from results.kept import Kept
from results.summary import Floats, Named, Summary, in_points, words

LADDER: Named = ("ladder", "ladder")
BUDGET = 1000
"""Tokens that are read."""
SHOWN: tuple[Named, ...] = (
    ("plain", STOCK),
    ("plain", "LangChain recursive 200"),
    ("plain", "recursive 200"),
    ("plain", "heading 200"),
    LADDER,
)
"""Systems of the table by language."""


def fresh_order() -> str:
    """Recall on fresh questions, best first, the ladder's lead, and the mean of the five sets."""
    kept, summary = Kept.load("fresh"), Summary.load()
    systems = _systems(kept, summary)
    own = {system: 100 * float(_recalls(kept, system).mean()) for system in systems}
    dev = {system: summary.mean(system, BUDGET) for system in systems}
    place = {system: rank for rank, system in enumerate(_ordered(dev), 1)}
    leads = _leads(kept, systems)
    rows = []
    for rank, system in enumerate(_ordered(own), 1):
        lead = "" if system == LADDER else words(leads[system])
        rows.append(
            [
                str(rank),
                system[1],
                f"{own[system]:.1f}",
                lead,
                f"{dev[system]:.1f}",
                str(place[system]),
            ]
        )
    header = [
        "",
        "system",
        "fresh",
        "sentence selection ahead by",
        "mean of five sets",
        "place there",
    ]
    agreement = f"Rank correlation of both orders (Spearman): {_agreement(own, dev):.2f}."
    return f"{markdown_table(header, rows)}\n\n{agreement}"


def fresh_languages() -> str:
    """Recall of a few systems by the language of the question."""
    kept = Kept.load("fresh")
    places: dict[str, list[int]] = defaultdict(list)
    for number, name in enumerate(kept.questions):
        places[name.split("-")[0]].append(number)
    rows = [
        [
            system[1],
            *(f"{100 * _recalls(kept, system)[at].mean():.0f}" for at in places.values()),
        ]
        for system in SHOWN
    ]
    heads = [f"{language} ({len(at)})" for language, at in places.items()]
    return markdown_table(["system", *heads], rows)


def _systems(kept: Kept, summary: Summary) -> list[Named]:
    """What was measured here and on all five sets."""
    candidates = [*summary.complete("plain"), *summary.complete("ladder")]
    return [(step, name) for step, name in candidates if name in kept.systems.get(step, {})]


def _agreement(own: dict[Named, float], dev: dict[Named, float]) -> float:
    """Spearman's rank correlation of two orders of the same systems."""
    left, right = (
        np.argsort(np.argsort([order[system] for system in own])) for order in (own, dev)
    )
    return float(np.corrcoef(left, right)[0, 1])


def _ordered(values: dict[Named, float]) -> list[Named]:
    return sorted(values, key=lambda system: -values[system])


def _recalls(kept: Kept, system: Named) -> Floats:
    step, name = system
    return np.array(kept.systems[step][name]["recall"][str(BUDGET)], float)


def _leads(kept: Kept, systems: list[Named]) -> dict[Named, Interval]:
    """The ladder less each system in documents like these, all judged at once, in points."""
    table = np.stack([_recalls(kept, system) for system in systems], axis=1)
    ladder = systems.index(LADDER)
    pairs = [(ladder, at) for at in range(len(systems))]
    intervals = SignFlips(table, pairs, kept.documents).intervals
    return dict(zip(systems, map(in_points, intervals), strict=True))
