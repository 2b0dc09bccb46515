"""How much faster gigatoken encodes than tiktoken: text it sees first, and text it has seen.

    python benchmarks/encoding_speed.py [FILE ...]

gigatoken remembers the words it has met, so the first text of a process is the slowest. CPU time
of one process; each figure is how many times tiktoken's time is gigatoken's.
"""

from __future__ import annotations

import sys
from pathlib import Path

from corpora import KINDS, text_of
from measuring import MEGABYTE, measured

from rag_nodes.text.tokens.encodings import (
    DEFAULT_ENCODING,
    GigatokenEncoder,
    TiktokenEncoder,
    load_encoder,
    load_encoding,
)


def main() -> None:
    """Print a row per text: at first sight, and when all of its words are known."""
    texts = {Path(name).name: Path(name).read_text(encoding="utf-8") for name in sys.argv[1:]}
    texts = texts or {kind: text_of(kind, MEGABYTE) for kind in KINDS}
    slow = TiktokenEncoder(load_encoding(DEFAULT_ENCODING))
    print("| text | first seen | seen before |\n|---|---|---|")
    for name, text in texts.items():
        load_encoder.cache_clear()  # a new one has seen nothing
        fast = load_encoder(DEFAULT_ENCODING)
        if not isinstance(fast, GigatokenEncoder):
            sys.exit("gigatoken is not installed: pip install 'rag-nodes[fast]'")
        first = measured(lambda fast=fast, text=text: fast.encode(text))
        again = min(measured(lambda fast=fast, text=text: fast.encode(text)) for _ in range(5))
        usual = min(measured(lambda text=text: slow.encode(text)) for _ in range(3))
        print(f"| {name} | {usual / first:.1f} | {usual / again:.1f} |")


if __name__ == "__main__":
    main()
