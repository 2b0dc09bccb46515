"""Count the modules and functions of rag_nodes that run for one question, ingest or evaluation.

    PYTHONPATH=src python scripts/walk.py

With the name of a walk and a folder, which an ingest may have filled, it lists the modules.
Each walk runs in a process of its own, where nothing was imported before. Only functions that are
called count, in every thread of that process; the bodies of modules and classes do not.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

TEXT = "# Ferry\n\nThe first aid kit hangs behind the yellow door.\n\n" + (
    "## Crossing\n\nThe ferry leaves every hour from the northern pier. Nobody swims here.\n\n" * 90
)
QUESTION = "Where is the first aid kit?"
LABELS = 'question,answer,file\n"Where is the first aid kit?",behind the yellow door,ferry.md\n'
GOALS = {"pasted text": 90, "ask": 70, "ingest": 75, "evaluate": 105}


def _pasted(_folder: Path) -> None:
    from rag_nodes.core.settings import Settings
    from rag_nodes.operations.asking import AskRequest, ask
    from rag_nodes.operations.places import text_document
    from rag_nodes.operations.run import Run
    from rag_nodes.operations.workspace.session import Session
    from rag_nodes.parsers import offered

    settings = Settings(embedding="lexical", llm="extractive")
    with Session(settings) as session:
        session.take([text_document(TEXT)], most=1)
        run = Run(settings, session=session, offer=offered())
        assert ask(AskRequest(question=QUESTION), run).answer.citations  # noqa: S101 -- a check


def _command(*words: str) -> None:
    from rag_nodes.cli.program import run

    code = run([*words, "--quiet"])
    assert code == 0  # noqa: S101 -- a check


def _ask(folder: Path) -> None:
    _command("ask", QUESTION, "--store", str(folder / "store"))


def _ingest(folder: Path) -> None:
    _command("ingest", str(folder / "ferry.md"), "--store", str(folder / "store"))


def _evaluate(folder: Path) -> None:
    files = str(folder / "ferry.md"), "--questions", str(folder / "labels.csv")
    _command("evaluate", *files, "--parser", "heading", "--sizes", "0")


WALKS = {"pasted text": _pasted, "ask": _ask, "ingest": _ingest, "evaluate": _evaluate}


def _is_node(value: object) -> bool:
    """Tell whether a value is a document or node of LlamaIndex, or a list that begins with one."""
    if isinstance(value, list | tuple) and value:
        value = value[0]
    return any(kind.__name__ == "BaseNode" for kind in type(value).__mro__)


def walked(name: str, folder: Path) -> None:
    """Run one walk and print how many modules, functions and stops it took.

    A stop is a function that is given a document or its nodes.
    """
    called: set[tuple[str, int, str]] = set()
    stops: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        is_ours = "/rag_nodes/" in code.co_filename and not code.co_name.startswith("<module")
        if event == "call" and is_ours and code.co_flags & 0x2:  # has locals of its own
            called.add((code.co_filename, code.co_firstlineno, code.co_qualname))
            given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if any(_is_node(frame.f_locals.get(argument)) for argument in given):
                stops.add(code.co_qualname)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        WALKS[name](folder)
    finally:
        sys.setprofile(None)
    modules = {file for file, *_ in called}
    print(*sorted(file.partition("/rag_nodes/")[2] for file in modules), sep="\n")
    counts = f"{len(modules)} modules, {len(called)} functions, {len(stops)} stops"
    print(f"{name}: {counts}", file=sys.stderr)


def main() -> None:
    """Run every walk in its own process and print the numbers beside the goals."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "ferry.md").write_text(TEXT, encoding="utf-8")
        (folder / "labels.csv").write_text(LABELS, encoding="utf-8")
        for name in ("ingest", "pasted text", "ask", "evaluate"):
            command = [sys.executable, __file__, name, temporary]
            run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
            last = (run.stderr.strip() or run.stdout.strip()).splitlines()[-1:]
            print(*last, f"(goal: {GOALS[name]} modules)")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        walked(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
