"""Time and memory of one document and of one five times as long (L12).

    python benchmarks/growth.py                     10 and 50 MB, the parsers that have goals
    python benchmarks/growth.py --sizes 2 10        smaller ones
    python benchmarks/growth.py --presets auto page

Each document is parsed in a process of its own. Memory beyond the text and its nodes is the
peak of the process's resident memory, less what it held before, less what its nodes hold. The
first two come from the operating system, because the tokenizer's own memory is not Python's.
The nodes are weighed by `tracemalloc`, in another process on the smaller document, because it
slows down what it watches. Scattered free memory and the pages copied after the fork count
against us.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

from corpora import text_of
from llama_index.core.schema import Document
from measuring import MEGABYTE, in_child, markdown_table, measured, save
from pathological import WARM_UP
from rag_nodes_parsers import preset_parser

from rag_nodes.parsers import PRESETS, SpanNodeParser

TIME_GOAL = 6.0
"""Most the longer document may take, in times of the one a fifth as long."""
MEMORY_GOAL = 10.0
"""Most bytes per character beyond the text and its nodes."""
WITH_GOALS = ("fixed", "token-overlap", "heading", "semantic")
DEADLINE = 600.0


def parse(parser: SpanNodeParser, text: str) -> dict[str, float]:
    """CPU seconds, and bytes by which memory grew at the peak."""
    parser([Document(text=WARM_UP)])
    documents = [Document(text=text, id_="long")]
    nodes: list[object] = []
    gc.collect()
    _forget_peak()
    before = _memory("VmRSS")
    seconds = measured(lambda: nodes.extend(parser(documents)))
    return {"seconds": seconds, "peak": _memory("VmHWM") - before, "nodes": len(nodes)}


def weigh(parser: SpanNodeParser, text: str) -> float:
    """Bytes that the nodes of a document hold."""
    parser([Document(text=WARM_UP)])
    documents = [Document(text=text, id_="long")]
    tracemalloc.start()
    nodes = parser(documents)
    del documents
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    return float(held) if nodes else 0.0


def _forget_peak() -> None:
    """Let the peak of this process start from now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _memory(name: str) -> int:
    """Bytes of this process, as Linux counts them."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"this system does not tell {name}; growth is measured on Linux")


def grown(preset: str, kind: str, sizes: tuple[int, int]) -> dict[str, Any]:
    """Time and memory of one preset on a small and a large document."""
    parser = preset_parser(preset)
    small, large = (text_of(kind, size * MEGABYTE) for size in sizes)
    first = in_child(partial(parse, parser, small), DEADLINE)
    second = in_child(partial(parse, parser, large), DEADLINE)
    held = in_child(partial(weigh, parser, small), DEADLINE)
    problem = first.problem or second.problem or held.problem
    if problem:
        return {"preset": preset, "kind": kind, "sizes": sizes, "problem": problem}
    nodes_of_large = held.value / len(small) * len(large)
    return {
        "preset": preset,
        "kind": kind,
        "sizes": sizes,
        "seconds": [first.value["seconds"], second.value["seconds"]],
        "times": second.value["seconds"] / first.value["seconds"],
        "beyond": (second.value["peak"] - nodes_of_large) / len(large),
        "peak": second.value["peak"] / len(large),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """One row per preset and kind of text; what misses its goal is bold."""
    small, large = rows[0]["sizes"]
    header = [
        "preset, text",
        f"{small} MB, s",
        f"{large} MB, s",
        "times",
        "bytes/character beyond text and nodes",
        "with nodes",
    ]
    return markdown_table(header, [_row(row) for row in rows])


def _row(row: dict[str, Any]) -> list[str]:
    name = f"{row['preset']}, {row['kind']}"
    if "problem" in row:
        return [name, "", "", f"**{row['problem']}**", "", ""]
    seconds = [f"{value:.1f}" for value in row["seconds"]]
    goals = [_against(row["times"], TIME_GOAL), _against(row["beyond"], MEMORY_GOAL)]
    return [name, *seconds, *goals, f"{row['peak']:.1f}"]


def _against(value: float, most: float) -> str:
    return f"{value:.1f}" if value <= most else f"**{value:.1f}**"


def main(arguments: list[str] | None = None) -> int:
    """Print the table and write the raw numbers."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--sizes", type=int, nargs=2, default=[10, 50], help="megabytes")
    options.add_argument("--kinds", nargs="+", default=["markdown"])
    options.add_argument("--presets", nargs="+", choices=list(PRESETS), default=list(WITH_GOALS))
    chosen = options.parse_args(arguments)
    sizes = (chosen.sizes[0], chosen.sizes[1])
    rows = []
    for preset in chosen.presets:
        for kind in chosen.kinds:
            rows.append(grown(preset, kind, sizes))
            print(rows[-1], file=sys.stderr)
    print(table(rows))
    print(f"\nraw numbers: {save('growth', rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
