"""The tables of docs/results.md, from the recalls that are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from measuring import markdown_table
from splitters import BEST_PEER, CURVE

from results.summary import CONFIRMED, LEVELS, PARTS, TITLES, TUNED, Named, Summary, words

LADDER: Named = ("ladder", "ladder")
PEERS = ("LangChain", "LlamaIndex", "semchunk", "chonkie")
MAIN = 1000
_COLUMNS = ("headed", "EI", "QMSum", "de", "zh", "hi", "Chroma")
"""The parts of the sets, in the order of `Summary.parts`."""


@cache
def _summary(half: int | None = None) -> Summary:
    return Summary.load(half)


def systems() -> list[Named]:
    """What regret is measured against: everything that asks for no setting per set."""
    summary = _summary()
    return [
        (step, name)
        for step in ("plain", "ladder")
        for name in summary.kept["headed"].systems.get(step, {})
    ]


def is_peer(system: Named) -> bool:
    """Whether another package cuts."""
    return system[1].startswith(PEERS)


def by_set() -> str:
    """Recall at the main budget by set, mean and worst regret."""
    summary, rows = _summary(), []
    known = systems()
    for system in _ordered(known):
        values = [
            f"{100 * summary.recalls(system, part, MAIN).mean():.1f}"
            if summary.has(system, part)
            else "-"
            for part in summary.parts
        ]
        total = "-", "-"
        if system in summary.complete(system[0]):
            regret = max(summary.regrets(system, known, MAIN).values())
            total = f"{summary.mean(system, MAIN):.1f}", f"{regret:.1f}"
        rows.append([_title(system), *values, *total])
    best = [f"{summary.best(known, part, MAIN):.1f}" for part in summary.parts]
    rows.append(["best of each, known only in hindsight", *best, "", "0"])
    return markdown_table(["system", *_COLUMNS, "mean", "worst regret"], rows)


def by_budget() -> str:
    """Mean and worst regret at each budget."""
    summary, rows = _summary(), []
    for system in _ordered(summary.complete("plain") + summary.complete("ladder")):
        cells = []
        for level in LEVELS:
            regret = max(summary.regrets(system, systems(), level).values())
            cells += [f"{summary.mean(system, level):.1f}", f"{regret:.1f}"]
        rows.append([_title(system), *cells])
    heads = [f"{what} at {level:,}" for level in LEVELS for what in ("mean", "regret")]
    return markdown_table(["system", *heads], rows)


def against_peer() -> str:
    """The ladder less the best single setting of another package, by set and budget."""
    summary, peer = _summary(), ("plain", BEST_PEER)
    rows = [
        [
            TITLES[name],
            *(words(summary.gap(LADDER, peer, name, level)) for level in LEVELS),
        ]
        for name in PARTS
    ]
    means = [f"**{words(summary.mean_gap(LADDER, peer, level))}**" for level in LEVELS]
    return markdown_table(
        ["set", *(f"at {level:,}" for level in LEVELS)], [*rows, ["**mean of five**", *means]]
    )


def by_half() -> str:
    """The same at the main budget for the documents it was tuned on, and for the others."""
    rows = []
    for title, half in (("tuned on", TUNED), ("confirming", CONFIRMED)):
        summary, peer = _summary(half), ("plain", BEST_PEER)
        known = [one for one in systems() if one in summary.complete(one[0])]
        rows.append(
            [
                f"{title} ({len(summary.sets)} sets)",
                f"{summary.mean(LADDER, MAIN):.1f}",
                f"{summary.mean(peer, MAIN):.1f}",
                words(summary.mean_gap(LADDER, peer, MAIN)),
                f"{max(summary.regrets(LADDER, known, MAIN).values()):.1f}",
            ]
        )
    header = ["half of the documents", "ladder", BEST_PEER, "difference", "worst regret"]
    return markdown_table(header, rows)


def by_size() -> str:
    """The size curve of our recursive parser on each set, and the ladder."""
    summary = _summary()
    rows = []
    for size in CURVE:
        system = "plain", f"recursive {size}"
        values = [f"{summary.of_set(system, name, MAIN):.1f}" for name in PARTS]
        rows.append([f"{size}", *values, f"{summary.mean(system, MAIN):.1f}"])
    ladder = [f"{summary.of_set(LADDER, name, MAIN):.1f}" for name in PARTS]
    rows.append(["no size: ladder", *ladder, f"{summary.mean(LADDER, MAIN):.1f}"])
    header = ["tokens a chunk may have", *(TITLES[name] for name in PARTS), "mean"]
    return markdown_table(header, rows)


def _ordered(named: Iterable[Named]) -> Sequence[Named]:
    """Other packages first, then ours, the ladder last."""
    return sorted(named, key=lambda one: (one[0] == "ladder", not is_peer(one)))


def _title(system: Named) -> str:
    step, name = system
    if step == "ladder":
        return "**ladder of widths**, candidates from recursive 200"
    return name if is_peer(system) else f"{name} (ours)"


TABLES: dict[str, Callable[[], str]] = {
    "by-set": by_set,
    "by-budget": by_budget,
    "against-peer": against_peer,
    "by-half": by_half,
    "by-size": by_size,
}
