"""Every preset over the documentation of the Linux kernel: no node without bounds, linear time.

    python benchmarks/kernel_docs.py                      1 and 10 MB, all presets
    python benchmarks/kernel_docs.py --presets heading auto --sizes 1 2
    python benchmarks/kernel_docs.py --read-as markdown   the wrong way
    python benchmarks/kernel_docs.py --sizes --files FILE_OR_FOLDER ...

The documentation is that of Debian's package `linux-doc`, some 6,000 files of reStructuredText and
plain text. It is downloaded with `apt-get download` into `artefacts/`, where it stays, and is
unpacked, not installed; so any Debian or Ubuntu with package lists will do, without being root.
With `--read-as markdown` the parsers are told what is not true, and bounds must hold all the same.
With `--files` the presets also cut what our readers make of these files.

Counted are tokens, or characters where the preset's size is in characters. The ceiling is what no
node may exceed: the size, or for code that is kept whole `max_block_tokens`. "Oversized" nodes are
those the parser marks so, within the ceiling. Time is CPU time in multiples of what
`tiktoken.encode_ordinary` takes for the same text, the best of three runs; growth is the time for
the last size over that for the first. The exit code is 1 if a node is over its ceiling.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from llama_index.core.schema import BaseNode, Document, MetadataMode
from measuring import ARTEFACTS, MEGABYTE, in_child, interleaved, markdown_table, save
from pathological import WARM_UP
from rag_nodes_parsers import preset_parser

from rag_nodes.core import metadata as keys
from rag_nodes.parsers import PRESETS, HeadingHierarchyNodeParser, SpanNodeParser, get_parser
from rag_nodes.parsers.parent_child import ParentChildNodeParser
from rag_nodes.readers import read_all
from rag_nodes.text.formats import Format
from rag_nodes.text.tokens import count_tokens
from rag_nodes.text.tokens.encodings import load_encoding

PACKAGE = "linux-doc"
DEADLINE = 1800.0
RUNS = 3


def kernel_documentation(characters: int) -> str:
    """The first `characters` characters of all files, in the order of their paths."""
    folder = _unpacked()
    parts: list[str] = []
    size = 0
    for path in sorted(folder.rglob("*")):
        if not path.name.endswith((".rst", ".txt", ".rst.gz", ".txt.gz")) or not path.is_file():
            continue
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        parts.append(data.decode("utf-8", "replace"))
        size += len(parts[-1]) + 2
        if size >= characters:
            return "\n\n".join(parts)[:characters]
    raise SystemExit(f"{PACKAGE} has {size:,} characters, {characters:,} are wanted")


def _unpacked() -> Path:
    """The folder with the files, downloaded where it is not there yet."""
    folder = ARTEFACTS / PACKAGE
    marker = folder / "done"
    if not marker.exists():
        folder.mkdir(parents=True, exist_ok=True)
        depends = _run("apt-cache", "depends", "--important", PACKAGE, cwd=folder)
        package = next(
            line.split()[1] for line in depends.splitlines() if line.strip().startswith("Depends:")
        )
        _run("apt-get", "download", package, cwd=folder)
        for archive in folder.glob("*.deb"):
            _run("dpkg-deb", "-x", str(archive), str(folder / "files"), cwd=folder)
        marker.touch()
    return next((folder / "files").glob("usr/share/doc/*/Documentation"))


def _run(*command: str, cwd: Path) -> str:
    return subprocess.check_output(command, cwd=cwd, text=True)  # noqa: S603 -- our own commands


def ceiling(parser: SpanNodeParser) -> int:
    """What no node may exceed, in the parser's unit."""
    if isinstance(parser, HeadingHierarchyNodeParser):
        return parser.block_ceiling
    if isinstance(parser, ParentChildNodeParser):
        return ceiling(get_parser(parser.parent, **parser.parent_options))
    counts_sentences = getattr(parser, "unit", "") == "sentences"
    return int(getattr(parser, "max_tokens" if counts_sentences else "chunk_size"))


def size_of(parser: SpanNodeParser, node: BaseNode) -> int:
    """How large a node is in the parser's unit, counted anew."""
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    return len(text) if getattr(parser, "unit", "") == "characters" else count_tokens(text)


def facts(parser: SpanNodeParser, document: Document) -> dict[str, float]:
    """Seconds, and the nodes' number and sizes."""
    parser([Document(text=WARM_UP)])
    seconds = interleaved({"": lambda: parser([document])}, RUNS)[""]
    nodes = parser([document])
    sizes = [size_of(parser, node) for node in nodes]
    return {
        "seconds": seconds,
        "nodes": len(nodes),
        "largest": max(sizes, default=0),
        "over": sum(size > ceiling(parser) for size in sizes),
        "oversized": sum(bool(node.metadata.get(keys.OVERSIZED)) for node in nodes),
    }


def of_kernel(preset: str, sizes: Sequence[int], read_as: str | None) -> dict[str, Any]:
    """One preset on the kernel's documentation of these sizes."""
    metadata = {keys.TEXT_FORMAT: read_as} if read_as else {}
    parser = preset_parser(preset)
    row: dict[str, Any] = {"preset": preset, "ceiling": ceiling(parser), "runs": []}
    for size in sizes:
        text = kernel_documentation(size * MEGABYTE)
        encode = load_encoding("cl100k_base").encode_ordinary
        tokenize = {"": partial(encode, text)}
        reference = in_child(partial(interleaved, tokenize, RUNS), DEADLINE).value[""]
        document = Document(text=text, id_="kernel", metadata=metadata)
        outcome = in_child(partial(facts, parser, document), DEADLINE)
        if outcome.value is None:
            raise SystemExit(f"{preset}, {size} MB: {outcome.problem}")
        row["runs"].append({"megabytes": size, "reference": reference, **outcome.value})
        print(preset, row["runs"][-1], file=sys.stderr)
    return row


def of_files(preset: str, documents: Sequence[Document]) -> dict[str, Any]:
    """One preset on what the readers made of files."""
    parser = preset_parser(preset)
    rows = [facts(parser, document) for document in documents]
    return {
        "preset": preset,
        "ceiling": ceiling(parser),
        "files": len(documents),
        **{name: sum(int(row[name]) for row in rows) for name in ("nodes", "over", "oversized")},
        "largest": max(int(row["largest"]) for row in rows),
    }


def kernel_table(rows: Sequence[dict[str, Any]]) -> str:
    """One row per preset; what its last and longest text gave."""
    header = ["preset", "nodes", "largest", "ceiling", "over it", "oversized", "time", "growth"]
    return markdown_table(header, [_row(row) for row in rows])


def _row(row: dict[str, Any]) -> list[str]:
    first, last = row["runs"][0], row["runs"][-1]
    return [
        *_counts(row | last),
        f"{last['seconds'] / last['reference']:.2f}",
        f"{last['seconds'] / first['seconds']:.1f}",
    ]


def _counts(row: dict[str, Any]) -> list[str]:
    over = f"**{row['over']:.0f}**" if row["over"] else "0"
    numbers = [f"{row[name]:,.0f}" for name in ("nodes", "largest", "ceiling")]
    return [row["preset"], *numbers, over, f"{row['oversized']:,.0f}"]


def main(arguments: list[str] | None = None) -> int:
    """Print the tables, write the raw numbers, and fail where a node is over its ceiling."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--sizes", type=int, nargs="*", default=[1, 10], help="megabytes")
    options.add_argument("--presets", nargs="+", choices=list(PRESETS), default=list(PRESETS))
    options.add_argument("--read-as", choices=[str(file_format) for file_format in Format])
    options.add_argument("--files", nargs="*", default=[], help="files and folders to read")
    chosen = options.parse_args(arguments)
    presets = chosen.presets if chosen.sizes else []
    kernel = [of_kernel(preset, chosen.sizes, chosen.read_as) for preset in presets]
    if kernel:
        print(kernel_table(kernel))
    documents = [row.document for row in read_all(chosen.files) if row.document]
    files = [of_files(preset, documents) for preset in chosen.presets if documents]
    if files:
        header = ["preset", "nodes", "largest", "ceiling", "over it", "oversized"]
        print(f"\n{len(documents)} documents\n")
        print(markdown_table(header, [_counts(row) for row in files]))
    print(f"\nraw numbers: {save('kernel-docs', {'kernel': kernel, 'files': files})}")
    over = sum(run["over"] for row in kernel for run in row["runs"])
    return 1 if over + sum(row["over"] for row in files) else 0


if __name__ == "__main__":
    sys.exit(main())
