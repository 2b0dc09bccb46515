"""What a command imports: a look at a store needs no LlamaIndex, an ingest nothing that answers."""

import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Command


def test_a_look_at_a_store_loads_no_llamaindex_and_an_ingest_nothing_that_answers(
    command: Command, manual: Path, tmp_path: Path
) -> None:
    place = ["--store", str(tmp_path / "store")]
    command("ingest", manual, *place)
    rooms = ("query", "compare", "evaluation")
    script = (
        "import sys\n"
        "from rag_nodes.cli.program import run\n"
        f"codes = [run([typed, *{place}]) for typed in ('status', 'list')]\n"
        "print(codes, 'llama_index.core' in sys.modules, file=sys.stderr)\n"
        f"code = run(['ingest', {str(manual)!r}, '-p', 'fixed', *{place}])\n"
        f"loaded = [one for one in {rooms} if f'rag_nodes.{{one}}' in sys.modules]\n"
        "print(code, loaded, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    lines = done.stderr.splitlines()
    assert ("[0, 0] False" in lines, lines[-1]) == (True, "0 []")
