"""Ingest files into Qdrant; run it as often as you like, unchanged files cost nothing.

    python examples/ingest_to_qdrant.py report.pdf notes/
    python examples/ingest_to_qdrant.py report.pdf --store http://localhost:6333
    python examples/ingest_to_qdrant.py report.pdf --store ./chunks --parser semantic

Without --store a folder in the system's temporary directory is used. A server's key is read from
the environment variable QDRANT_API_KEY.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from rag_nodes.core.errors import RagNodesError
from rag_nodes.core.settings import Settings
from rag_nodes.models import choose_models
from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.pipeline import ingest
from rag_nodes.store import open_store

MANUAL = Path(__file__).parent / "corpus" / "manual.md"


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", default=[str(MANUAL)], help="files and folders")
    parser.add_argument(
        "--store",
        default=str(Path(tempfile.gettempdir()) / "rag_nodes_example"),
        help="folder or URL of a Qdrant server (default: %(default)s)",
    )
    parser.add_argument("--parser", choices=sorted(PRESETS), default="heading")
    parser.add_argument("--corpus", default="example")
    return parser.parse_args()


def main() -> int:
    """Ingest and report; 0 when everything went well, 3 when some files did not."""
    chosen = arguments()
    models = choose_models(Settings())
    print(models.describe(), file=sys.stderr)
    try:
        with open_store(chosen.store, os.environ.get("QDRANT_API_KEY")) as store:
            report = ingest(
                chosen.paths,
                {chosen.parser: get_parser(chosen.parser)},
                store,
                models=models,
                corpus=chosen.corpus,
            )
    except RagNodesError as error:
        print(error, file=sys.stderr)
        return 1
    for outcome in report.files:
        print(f"{outcome.status:9} {outcome.path} {outcome.error or ''}".rstrip())
    for column in report.columns:
        print(
            f"{column.parser}: {column.chunks} chunks, {column.written} written, "
            f"{column.unchanged} unchanged -> {column.collection}"
        )
        if column.error:
            print(column.error, file=sys.stderr)
    complete = not report.failed and not any(column.error for column in report.columns)
    return 0 if complete else 3


if __name__ == "__main__":
    sys.exit(main())
