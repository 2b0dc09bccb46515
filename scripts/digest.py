"""One hash per preset over everything that an ingest stores: ids, payloads and vectors.

    python scripts/digest.py [PATH …] [--preset NAME …]

Files are those of `examples/corpus` unless others are named. Run it before and after a change, over
the same paths, as these are part of ids: equal hashes mean equal points. The embedding is the
offline one. To hash what another checkout stores, put its `src` into PYTHONPATH.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rag_nodes import ingest, open_store
from rag_nodes.parsers import PRESETS, get_parser

CORPUS = Path(__file__).parents[1] / "examples" / "corpus"


def points_of(paths: Sequence[Path], preset: str) -> Iterator[str]:
    """Every point that a preset makes of the files, as JSON, sorted by its id."""
    with tempfile.TemporaryDirectory() as folder, open_store(folder) as store:
        ingest(paths, {preset: get_parser(preset)}, store)
        for name in sorted(store.engine.names()):
            points = store.select(name, None, None, vectors=True)
            for point in sorted(points, key=lambda point: point.node_id):
                vector = None if point.vector is None else list(map(float, point.vector))
                words = sorted(zip(*point.words, strict=True))
                stored = [name, point.node_id, dict(point.payload), vector, words]
                yield json.dumps(stored, sort_keys=True, default=float)


def main() -> int:
    """Print the hash of each preset, and how many points it stands for."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("paths", nargs="*", type=Path, default=[CORPUS], help="files and folders")
    options.add_argument("--preset", nargs="+", choices=list(PRESETS), default=list(PRESETS))
    chosen = options.parse_args()
    for preset in chosen.preset:
        digest, count = hashlib.sha256(), 0
        for point in points_of(chosen.paths, preset):
            digest.update(f"{point}\n".encode())
            count += 1
        sys.stdout.write(f"{preset:18}{digest.hexdigest()[:16]}{count:8}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
