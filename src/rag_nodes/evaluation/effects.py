"""Differences that a way of reading or of searching makes, on average over the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.evaluation.sign_flips import DRAWS, SignFlips
from rag_nodes.evaluation.tables import Effect
from rag_nodes.evaluation.wording import SAME, ends, some_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rag_nodes.evaluation.report import EvaluationReport, Row
    from rag_nodes.query.options import Granularity

    Floats = NDArray[np.float64]

_MODES = ("sparse", "dense", "hybrid")
_SEARCHED = {
    "sparse": "by keywords",
    "dense": "by embeddings",
    "hybrid": "by keywords and embeddings",
}
"""Searches by mode, as the end of a sentence."""
NO_MEANING = (
    "Dense and hybrid search compared words here, as the offline lexical model knows no meaning; "
    "name an embedding model with --embedding to measure them."
)
"""Sentence for searches by an embedding that says the same as the words."""


def reading_of(report: EvaluationReport) -> str:
    """Say what was read for the recall of a report; "" if that is of whole chunks alone."""
    read = [row.name for row in report.rows if row.granularity == "sentences"]
    if not read:
        return ""
    selected = "is that of selected sentences, as rag-nodes reads them by default"
    if report.settings.granularity == "sentences":
        sizes = ", in which sizes are compared" if reading_of_sizes(report) == "chunks" else ""
        return f"Recall {selected}; beside it is that of whole chunks{sizes}."
    whose = f"Recall of {some_of(read)}"
    return f"{whose} {selected}; all other recall is that of whole chunks."


def reading_of_sizes(report: EvaluationReport) -> Granularity:
    """Return the reading in which sizes were compared.

    It is "sentences" only if `recommend` had to select them, else "chunks".
    """
    read = {row.granularity for row in report.rows if row.nominal}
    return "sentences" if "sentences" in read else "chunks"


def caution_of(rows: Sequence[Row]) -> str:
    """Say in one sentence that rows differ in more than splitting; "" if they do not.

    Args:
        rows: what a decision chooses from, measured.
    """
    modes, granularities = map(set, zip(*_ways(rows), strict=True)) if rows else ((), ())
    parts = ["search"] * (len(modes) > 1) + ["reading"] * (len(granularities) > 1)
    return f"Settings also differ in {' and '.join(parts)}." if parts else ""


def mixture_of(rows: Sequence[Row]) -> str:
    """Say how rows search and read, and how to compare splitting alone; "" without a caution.

    Args:
        rows: as for `caution_of`.
    """
    ways = _ways(rows)
    if len(ways) <= 1:
        return ""
    is_searched_alike = len({mode for mode, _ in ways}) == 1
    parts = [
        _way_of(names, "" if is_searched_alike else mode, granularity)
        for (mode, granularity), names in ways.items()
    ]
    words = [f"This is not a difference of chunking alone: {'; '.join(parts)}."]
    if names := [row.name for row in rows if row.parser.get("class") == "as it stands"]:
        engines = some_of(names)
        words.append(
            "To compare chunking alone, add a column with the splitter that made the chunks of "
            f"{engines}. To improve {engines}, add SentencePostprocessor, if it is not there yet."
        )
    return " ".join(words)


def _ways(rows: Sequence[Row]) -> dict[tuple[str, str], list[str]]:
    """Return the names of rows by how they search and how they are read.

    Searches that a run compares are no difference: their rows are named after them.
    """
    ways: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        way = ("" if row.search else row.mode, row.granularity)
        ways.setdefault(way, []).append(row.name)
    return ways


def _way_of(names: Sequence[str], mode: str, granularity: str) -> str:
    """Describe how rows search and read, as a part of a sentence."""
    s = "s" if len(names) == 1 else ""
    own = "in its own way" if s else "in their own way"
    searched = f" search{'es' if s else ''} {_SEARCHED.get(mode, own)} and" if mode else ""
    selected = "selected sentences" if granularity == "sentences" else "whole chunks"
    return f"{some_of(names)}{searched} read{s} {selected}"


def effects_of(
    rows: Sequence[Row],
    values: Mapping[str, Floats],
    whole: Mapping[str, Floats],
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[Effect, ...]:
    """Return what reading sentences makes, and each search after the first one.

    They are a family of differences of their own.

    Args:
        rows: at their own options, measured.
        values: the main measure of each question, by row.
        whole: the recall of whole chunks, by row that is read by sentences.
        draws: random sign flips.
        seed: random seed of the sign flips.
    """
    pairs = {name: each for name, each in _pairs(rows, values, whole) if each}
    if not pairs:
        return ()
    sides = (zip(*each.values(), strict=True) for each in pairs.values())
    means = [np.mean(side, axis=0) for both in sides for side in both]
    led = [(2 * at, 2 * at + 1) for at in range(len(pairs))]
    flips = SignFlips(np.stack(means, axis=1), led, draws=draws, seed=seed)
    effects = []
    for ((way, over), each), gap in zip(pairs.items(), flips.intervals, strict=True):
        size = "no difference" if abs(gap.mean) < SAME else f"{100 * gap.mean:+.1f} points"
        words = f"{way[0].upper()}{way[1:]} instead of {over}: {size} ({ends(gap)})"
        first, *others = each
        words += f" on average over {len(each)} columns" if others else f" for {first}"
        words += "." if gap.is_significant or abs(gap.mean) < SAME else ", which could be chance."
        effects.append(Effect(way, over, gap, len(each), words))
    return tuple(effects)


def _pairs(
    rows: Sequence[Row], values: Mapping[str, Floats], whole: Mapping[str, Floats]
) -> Iterator[tuple[tuple[str, str], dict[str, tuple[Floats, Floats]]]]:
    """Yield both names of each effect with the values of both, by column."""
    both = {row.name: (values[row.name], whole[row.name]) for row in rows if row.name in whole}
    yield ("reading sentences", "whole chunks"), both
    first, *others = dict.fromkeys(row.search for row in rows)
    scores = {(row.column, row.search): values[row.name] for row in rows}
    for search in others:
        columns = [
            column for column, name in scores if name == search and (column, first) in scores
        ]
        over = _called(first) if first else "the search alone"
        yield (
            (_called(search), over),
            {column: (scores[column, search], scores[column, first]) for column in columns},
        )


def _called(search: str) -> str:
    """Name a search in a sentence; a name such as that of a reranker stands for itself."""
    return f"{search} search" if search in _MODES else search
