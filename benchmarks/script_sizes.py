"""Tokens per chunk of the presets sized in characters, with and without scaling by script.

    python benchmarks/script_sizes.py FOLDER...

Each folder holds UTF-8 texts (`*.txt`) of one language. A row per preset: mean tokens per chunk at
the size as it is, then at the size the script asks for, and the characters that is at most.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean

from llama_index.core.schema import Document

from rag_nodes.core import metadata as keys
from rag_nodes.parsers import get_parser

PRESETS = ("fixed", "recursive", "pdf-qa")


def cut(preset: str, documents: list[Document], *, scale: bool) -> tuple[float, str]:
    """Mean tokens per chunk, and the sizes in characters that were taken, least and most."""
    nodes = get_parser(preset, scale_by_script=scale)(documents)
    usual = get_parser(preset).to_dict()["chunk_size"]
    sizes = sorted({int(node.metadata.get(keys.SCALED_SIZE, usual)) for node in nodes})
    span = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    return mean(node.metadata[keys.TOKEN_COUNT] for node in nodes), span


def main() -> None:
    """Print the rows of each folder named on the command line."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    for folder in arguments.parse_args().folders:
        paths = sorted(folder.glob("*.txt"))
        if not paths:
            raise SystemExit(f"{folder}: no *.txt in it; name a folder of texts of one language")
        documents = [Document(text=path.read_text(encoding="utf-8")) for path in paths]
        for preset in PRESETS:
            before, characters = cut(preset, documents, scale=False)
            after, scaled = cut(preset, documents, scale=True)
            print(
                f"{folder.name:10} {len(documents):4} texts  {preset:10} {before:5.0f} tokens at "
                f"{characters} characters, {after:4.0f} at {scaled}"
            )


if __name__ == "__main__":
    main()
