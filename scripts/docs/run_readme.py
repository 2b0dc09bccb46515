"""Runs what the README shows, in an environment that its install line makes: `make readme`.

`pip install …` is typed in the checkout, with the versions of constraints.txt. Every further block
of Python or shell runs by itself in a folder outside, which has a copy of `examples`. Lines that
begin with `make` are left out: CI runs those by themselves. Python marked as `py` runs only here,
in a process of its own: Gradio leaves event loops open, which the tests of other blocks refuse.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(sh|python|py)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_HASHES = re.compile(r" \\$|^ +--hash=.*\n", re.MULTILINE)
_SECONDS = 900
"""Within which the installation has to end, as each block has to."""


def blocks_of(page: str) -> list[tuple[str, str]]:
    """Language and text of the blocks that are run, in their order."""
    blocks = [(match[1], match[2]) for match in _BLOCK.finditer(page)]
    return [(kind, text) for kind, text in blocks if not text.startswith("make ")]


def main() -> None:
    """Make the environment, then run one block after another until one fails."""
    blocks = blocks_of((ROOT / "README.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shutil.copytree(ROOT / "examples", folder / "examples")
        venv.create(folder / "venv", with_pip=True)
        pins = folder / "constraints.txt"
        pins.write_text(_HASHES.sub("", (ROOT / "constraints.txt").read_text(encoding="utf-8")))
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        place = {
            **kept,
            "PATH": f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PIP_CONSTRAINT": str(pins),
            "PIP_QUIET": "2",
        }
        for kind, text in blocks:
            sys.stderr.write(f"README: {text.splitlines()[0]}\n")
            command = ["sh", "-ec", text] if kind == "sh" else ["python", "-c", text]
            where = ROOT if text.startswith("pip install") else folder
            # The shell finds the environment's own programs by its path.
            program = shutil.which(command[0], path=place["PATH"]) or command[0]
            subprocess.run(  # noqa: S603 - of our own page
                [program, *command[1:]], cwd=where, env=place, check=True, timeout=_SECONDS
            )


if __name__ == "__main__":
    main()
