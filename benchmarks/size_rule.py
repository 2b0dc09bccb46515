"""Which size and overlap `auto` should take: the parsers that it chooses, on five labelled sets.

By words alone (BM25), whole chunks in the order of their rank, budgets filled exactly. Sizes are
compared on Chroma's corpora and on one half of the other sets' documents, and what is chosen there
is confirmed on the other half. Recall of every question is kept in a folder, from which the tables
are made again at once.

    python benchmarks/size_rule.py --data FOLDER --pages PAGES.json --kept FOLDER
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from labelled_sets import SETS, labelled_set, options_of
from measuring import markdown_table
from quality import Measurement
from results.kept import Kept
from results.summary import CONFIRMED, LEVELS, PARTS, TITLES, TUNED, Summary, words

from rag_nodes.evaluation.columns import Searched
from rag_nodes.parsers import SpanNodeParser, get_parser
from rag_nodes.parsers.auto import AutoNodeParser
from rag_nodes.query import QueryOptions

SIZES = (100, 150, 200, 250, 300, 400, 500, 800)
"""Tokens that a chunk may hold."""
SHARES = (0, 10, 20)
"""Percent of a chunk that it shares with the one before."""
RULE = "200/0 %"
"""What every other size is compared with."""
BEFORE = {"headed": "web", "qmsum": "500/20 %"}
"""What `auto` took before sizes were measured: pages whole up to 4,000 tokens, meetings by 500."""
FLAT_BEFORE = "250/20 %"
"""The same of everything else."""
TALK = "qmsum"
"""The set of conversations."""
AUTO = f"auto {AutoNodeParser.output_version}"
"""What `auto` does now."""
ONE_SIZE = "retrieval"
"""The preset that takes 200 tokens whatever the document."""
BY_SENTENCES = ", by sentences"
"""Behind the name of what is read by sentences, for which no size has to be right."""
_SENTENCES = QueryOptions(mode="sparse", granularity="sentences")
_STEP = "auto"


def name_of(size: int, share: int) -> str:
    """What a size with an overlap is called."""
    return f"{size}/{share} %"


def columns() -> Iterator[tuple[str, SpanNodeParser | Searched]]:
    """What `auto` chooses with every size and overlap, its own choice, and reading by sentences."""
    for size in SIZES:
        for share in SHARES:
            yield (
                name_of(size, share),
                AutoNodeParser(
                    chunk_size=size,
                    chunk_overlap=size * share // 100,
                    min_chunk_size=min(100, size // 2),
                    choose_size=False,
                    whole_document_below=0,
                ),
            )
    yield "web", get_parser("web")
    yield AUTO, AutoNodeParser()
    for name, parser in ((AUTO, AutoNodeParser()), (ONE_SIZE, get_parser(ONE_SIZE))):
        yield f"{name}{BY_SENTENCES}", Searched(parser, _SENTENCES)


def measured(name: str, data: Path, pages: Path | None, folder: Path) -> Kept:
    """A set with all of it, measured as far as it is not kept already."""
    dataset = labelled_set(name, data, pages)
    kept = Kept(
        name,
        [question.id for question in dataset.questions],
        [dataset.names[question.document] for question in dataset.questions],
    )
    if (folder / f"{name}.json").exists():
        kept = Kept.load(name, folder)
    measured_systems = kept.systems.get(_STEP, {})
    missing = {name: column for name, column in columns() if name not in measured_systems}
    if missing:
        for system in Measurement(dataset, None).splitters(missing):
            kept.put(_STEP, system)
        folder.mkdir(parents=True, exist_ok=True)
        kept.save(folder)
        print(name, len(missing), "measured", flush=True)
    return kept


def compared(summary: Summary, systems: Iterable[str], base: str, level: int) -> str:
    """Per set the recall of some systems, and how far they are from one of them."""
    rows = []
    for system in systems:
        cells = [system]
        for name in summary.sets:
            value = summary.of_set((_STEP, system), name, level)
            gap = summary.gap((_STEP, system), (_STEP, base), name, level)
            cells.append(f"{value:.1f}" + ("" if system == base else f": {words(gap)}"))
        rows.append(cells)
    return markdown_table(["", *(TITLES[name] for name in summary.sets)], rows)


def chosen(summary: Summary, names: Iterable[str]) -> str:
    """The size and overlap with the best mean over some sets at the middle budget."""
    names = [*names]
    grid = [name_of(size, share) for size in SIZES for share in SHARES]
    return max(grid, key=lambda system: mean_of(summary, system, names))


def mean_of(summary: Summary, system: str, names: Iterable[str]) -> float:
    """The mean over some sets at the middle budget, in points."""
    means = [summary.of_set((_STEP, system), name, LEVELS[1]) for name in names]
    return sum(means) / len(means)


def print_tables(kept: dict[str, Kept]) -> None:
    """Everything that `auto` rests on, in tables."""
    tuned, confirmed, whole = (Summary(kept, half) for half in (TUNED, CONFIRMED, None))
    written = [name for name in PARTS if name != TALK]
    for names in (written, [TALK]):
        best = chosen(tuned, names)
        held = [name for name in names if name in confirmed.sets]
        print(
            f"{', '.join(TITLES[name] for name in names)}: of all sizes and overlaps {best} finds "
            f"most where it was tuned, {mean_of(tuned, best, names):.1f}; {RULE} finds "
            f"{mean_of(tuned, RULE, names):.1f}. Confirmed: {mean_of(confirmed, best, held):.1f} "
            f"and {mean_of(confirmed, RULE, held):.1f}."
        )
    for summary, half in ((tuned, "Tuned"), (confirmed, "Confirmed"), (whole, "All")):
        for level in LEVELS:
            print(f"\n{half}, {level} tokens, difference to {RULE}:\n")
            sizes = [name_of(size, 0) for size in SIZES]
            print(compared(summary, sizes, RULE, level))
    for size in (200, 500):
        print(f"\nAll, {LEVELS[1]} tokens, {size} with overlap, difference to none:\n")
        shares = [name_of(size, share) for share in SHARES]
        print(compared(whole, shares, name_of(size, 0), LEVELS[1]))
    print(f"\n`auto` at {LEVELS[1]} tokens, difference to what it took before:\n")
    rows = []
    for name in whole.sets:
        now, before = (_STEP, AUTO), (_STEP, BEFORE.get(name, FLAT_BEFORE))
        values = (f"{whole.of_set(system, name, LEVELS[1]):.1f}" for system in (before, now))
        gaps = (
            words(summary.gap(now, before, name, LEVELS[1])) if name in summary.sets else ""
            for summary in (whole, tuned, confirmed)
        )
        rows.append([TITLES[name], *values, *gaps])
    print(markdown_table(["", "before", "now", "difference", "tuned", "confirmed"], rows))
    one_size = f"{ONE_SIZE}{BY_SENTENCES}"
    print(f"\nRead by sentences at {LEVELS[1]} tokens, difference to {ONE_SIZE}:\n")
    print(compared(whole, [one_size, f"{AUTO}{BY_SENTENCES}"], one_size, LEVELS[1]))


def main() -> None:
    """Measure what is not kept yet, and print the tables."""
    parser = options_of(__doc__)
    parser.add_argument("--kept", type=Path, required=True, help="folder with the recalls")
    options = parser.parse_args()
    kept = {
        name: measured(name, options.data, options.pages, options.kept) for name in options.sets
    }
    if set(SETS) <= set(kept):
        print_tables(kept)


if __name__ == "__main__":
    main()
