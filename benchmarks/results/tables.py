"""The tables of benchmarks/results.md, from the recalls that are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from measuring import markdown_table
from systems import CURVE, PEER, STOCK

from results.contextual import contextual
from results.field import hybrid, is_peer, keyword
from results.fresh import fresh_languages, fresh_order
from results.summary import CONFIRMED, LEVELS, PARTS, TITLES, TUNED, Named, Summary, words

LADDER: Named = ("ladder", "ladder")
COMES: Named = ("plain", STOCK)
"""LlamaIndex's splitter without options: a row of every table."""
MAIN = 1000
UNMARKED = ("zh", "hi")
OURS = "recursive"
"""Of our parsers the one that cuts as peers do."""
_COLUMNS = ("headed", "EI", "QMSum", "de", "zh", "hi", "Chroma")
"""The parts of the sets, in the order of `Summary.parts`."""


@cache
def _summary(half: int | None = None) -> Summary:
    return Summary.load(half)


def systems() -> list[Named]:
    """What regret is measured against: every setting that was measured as it is, and the ladder."""
    return [*_named("plain"), *_named("ladder")]


@cache
def best_peer() -> Named:
    """Return the setting of another package with the best mean over the sets."""
    return keyword().best_peer


def by_set() -> str:
    """Recall at the main budget by set, mean and worst regret."""
    summary, rows = _summary(), []
    candidates = systems()
    for system in _ordered(candidates):
        values = [
            f"{100 * summary.recalls(system, part, MAIN).mean():.1f}"
            if summary.has(system, part)
            else "-"
            for part in summary.parts
        ]
        total = "-", "-"
        if system in summary.complete(system[0]):
            regret = max(summary.regrets(system, candidates, MAIN).values())
            total = f"{summary.mean(system, MAIN):.1f}", f"{regret:.1f}"
        rows.append([_title(system), *values, *total])
    best = [f"{summary.best(candidates, part, MAIN):.1f}" for part in summary.parts]
    rows.append(["best of each, known only in hindsight", *best, "", "0"])
    return markdown_table(["system", *_COLUMNS, "mean", "worst regret"], rows)


def by_budget() -> str:
    """Mean and worst regret at each budget, of the ladder and what it is compared with."""
    summary, rows = _summary(), []
    for system in (best_peer(), COMES, LADDER):
        cells = []
        for level in LEVELS:
            regret = max(summary.regrets(system, systems(), level).values())
            cells += [f"{summary.mean(system, level):.1f}", f"{regret:.1f}"]
        rows.append([_title(system), *cells])
    heads = [f"{what} at {level:,}" for level in LEVELS for what in ("mean", "regret")]
    return markdown_table(["system", *heads], rows)


def against_peer() -> str:
    """The ladder less the best single setting of another package, by set and budget."""
    summary, peer = _summary(), best_peer()
    rows = [
        [
            TITLES[name],
            *(words(summary.gap(LADDER, peer, name, level)) for level in LEVELS),
        ]
        for name in PARTS
    ]
    means = [f"**{words(summary.mean_gap(LADDER, peer, level))}**" for level in LEVELS]
    stock = [words(summary.mean_gap(LADDER, COMES, level)) for level in LEVELS]
    rows += [["**mean of five**", *means], [f"mean of five, against {STOCK}", *stock]]
    return markdown_table(["set", *(f"at {level:,}" for level in LEVELS)], rows)


def against_all() -> str:
    """Sentence selection less every setting of another package, by set at the main budget."""
    field = keyword()
    gaps = {(gap.peer, gap.name): words(gap.interval) for gap in field.gaps()}
    rows = [[_title(peer), *(gaps[peer, name] for name in PARTS)] for peer in field.peers]
    return markdown_table(["sentence selection ahead of", *(TITLES[name] for name in PARTS)], rows)


def by_half() -> str:
    """The same at the main budget for the documents it was tuned on, and for the others."""
    rows = []
    for title, half in (("tuned on", TUNED), ("confirming", CONFIRMED)):
        summary, peer = _summary(half), best_peer()
        candidates = [system for system in systems() if system in summary.complete(system[0])]
        rows.append(
            [
                f"{title} ({len(summary.sets)} sets)",
                f"{summary.mean(LADDER, MAIN):.1f}",
                f"{summary.mean(COMES, MAIN):.1f}",
                f"{summary.mean(peer, MAIN):.1f}",
                words(summary.mean_gap(LADDER, peer, MAIN)),
                f"{max(summary.regrets(LADDER, candidates, MAIN).values()):.1f}",
            ]
        )
    header = [
        "half of the documents",
        "sentence selection",
        STOCK,
        best_peer()[1],
        "difference",
        "worst regret",
    ]
    return markdown_table(header, rows)


def by_size() -> str:
    """The size curve of our recursive parser on each set, and the ladder."""
    summary = _summary()
    rows = []
    curve: dict[str, Named] = {f"{size}": ("plain", f"recursive {size}") for size in CURVE}
    named = {**curve, STOCK: COMES, "no size: sentence selection": LADDER}
    for title, system in named.items():
        values = [f"{summary.of_set(system, name, MAIN):.1f}" for name in PARTS]
        rows.append([title, *values, f"{summary.mean(system, MAIN):.1f}"])
    header = ["tokens a chunk may have", *(TITLES[name] for name in PARTS), "mean"]
    return markdown_table(header, rows)


def equal_size() -> str:
    """Splitters at one mean size, and each peer's difference to ours with the nearest way."""
    summary = _summary()
    rows = []
    for system in _ordered([*_named("equal"), COMES]):
        name = system[1]
        ours = None if not is_peer(system) else ("equal", "heading" if "Markdown" in name else OURS)
        cells = []
        for set_name in PARTS:
            if not all(summary.has(system, part) for part in PARTS[set_name]):
                cells.append("-")
                continue
            value = f"{summary.of_set(system, set_name, MAIN):.1f}"
            if ours:
                value += f"; {words(summary.gap(ours, system, set_name, MAIN))}"
            cells.append(value)
        rows.append([_title(system), *cells])
    return markdown_table(["splitter", *(TITLES[part] for part in PARTS)], rows)


def heading() -> str:
    """Our `heading` less other ways of cutting, on documentation with headings, at one size."""
    summary, left = _summary(), ("equal", "heading")
    rows = [
        [
            _title(system),
            *(words(summary.gap(left, system, "headed", level)) for level in LEVELS),
        ]
        for system in _ordered([*_named("equal"), COMES])
        if system != left
    ]
    return markdown_table(["`heading` against", *(f"at {level:,}" for level in LEVELS)], rows)


def unmarked() -> str:
    """Chinese and Hindi with the marks that end sentences, and without."""
    summary, rows = _summary(), []
    for part in UNMARKED:
        for system, before in _with_plain("unmarked", part):
            with_marks = 100 * summary.recalls(before, part, MAIN).mean()
            without = 100 * summary.recalls(system, part, MAIN).mean()
            gap = summary.gap_in_part(system, before, part, MAIN)
            rows.append(
                [TITLES[part], _title(before), f"{with_marks:.1f}", f"{without:.1f}", words(gap)]
            )
    return markdown_table(["language", "system", "with marks", "without", "difference"], rows)


def collections() -> str:
    """The same questions over the document alone, all documents at once, and one in all."""
    summary, rows = _summary(), []
    for set_name in ("evidence_inference", "qmsum"):
        for system, before in _with_plain("together", set_name):
            values = [
                f"{summary.of_set(named, set_name, MAIN):.1f}"
                for named in (("alone", system[1]), before, system)
            ]
            rows.append([TITLES[set_name], _title(before), *values])
    where = ("a collection of its own", "its document in the collection of all", "all documents")
    return markdown_table(["set", "system", *where], rows)


def embeddings() -> str:
    """Keyword search, and MiniLM beside it, on the questions that were asked with MiniLM."""
    summary, rows = Summary.load_parts(), []
    parts = [part for part in summary.parts if "minilm" in summary.kept[part].systems]
    for system, before in _with_plain("minilm", "headed"):
        for title, named in (("words", before), ("words and MiniLM", system)):
            values = [f"{100 * summary.recalls(named, part, MAIN).mean():.1f}" for part in parts]
            rows.append([_title(before), title, *values])
        gaps = [words(summary.gap_in_part(system, before, part, MAIN)) for part in parts]
        rows.append(["", "difference", *gaps])
    field = hybrid()
    for peer in field.peers:
        gaps = [words(summary.gap_in_part(field.ours, peer, part, MAIN)) for part in parts]
        rows.append(["**sentence selection** ahead of", f"{_title(peer)}, both with MiniLM", *gaps])
    titles = dict(zip(summary.parts, _COLUMNS, strict=True))
    heads = [f"{titles[part]} ({len(summary.kept[part].questions)})" for part in parts]
    return markdown_table(["system", "search", *heads], rows)


def _named(step: str) -> list[Named]:
    """The systems of a step on the set that has all of them."""
    return [(step, name) for name in _summary().kept["headed"].systems.get(step, {})]


def _with_plain(step: str, part: str) -> list[tuple[Named, Named]]:
    """The few systems of a step on a part, each with itself as it is measured everywhere."""
    names = ("recursive 200", PEER, STOCK)
    pairs: list[tuple[Named, Named]] = [((step, name), ("plain", name)) for name in names]
    pairs.append(((step, "ladder"), LADDER))
    return [pair for pair in pairs if _summary().has(pair[0], part)]


def _ordered(named: Iterable[Named]) -> Sequence[Named]:
    """Other packages first, then ours, the ladder last."""
    return sorted(named, key=lambda system: (system[0] == "ladder", not is_peer(system)))


def _title(system: Named) -> str:
    name = system[1]
    if name == "ladder":
        return "**sentence selection**"
    return name if is_peer(system) else f"{name} (ours)"


def default_size() -> str:
    """What chunks of the preset `retrieval` have ahead of other sizes, on average over the sets."""
    summary, default = _summary(), ("plain", "recursive 200")
    curve: dict[str, Named] = {f"{size}": ("plain", f"recursive {size}") for size in CURVE}
    rows = []
    for title, other in {**curve, STOCK: COMES}.items():
        if other != default:
            gaps = (words(summary.mean_gap(default, other, level)) for level in LEVELS)
            rows.append([title, *gaps])
    return markdown_table(["200 ahead of", *(f"at {level:,}" for level in LEVELS)], rows)


TABLES: dict[str, Callable[[], str]] = {
    "by-set": by_set,
    "by-budget": by_budget,
    "against-peer": against_peer,
    "against-all": against_all,
    "by-half": by_half,
    "by-size": by_size,
    "default-size": default_size,
    "equal-size": equal_size,
    "heading": heading,
    "unmarked": unmarked,
    "collections": collections,
    "embeddings": embeddings,
    "contextual": contextual,
    "fresh": fresh_order,
    "fresh-languages": fresh_languages,
}
