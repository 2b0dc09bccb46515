"""What else is written to stdout than the data, seen by the process that reads it."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

LOUD = """\
import os

class Loud:
    def split_text(self, text):
        print("a word in Python")
        os.system("echo a word of a child process")
        os.write(1, b"a word from C\\n")
        return [text]
"""


def test_a_splitter_that_writes_to_stdout_below_python_leaves_the_json_alone(
    no_configuration: Path,
) -> None:
    (no_configuration / "loud.py").write_text(LOUD, "utf-8")
    (no_configuration / "tea.md").write_text("Green tea takes eighty degrees.", "utf-8")
    asked = ("chunk", "tea.md", "--parser", "loud:Loud()", "--json")
    ended = subprocess.run(
        [sys.executable, "-m", "rag_nodes.cli", *asked],
        cwd=no_configuration,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert json.loads(ended.stdout)["chunks"][0]["text"] == "Green tea takes eighty degrees."
    for words in ("in Python", "of a child process", "from C"):
        assert f"a word {words}" in ended.stderr


def test_standard_streams_that_are_closed_are_no_reason_to_fail(no_configuration: Path) -> None:
    command = shlex.join([sys.executable, "-m", "rag_nodes.cli", "--version"])
    ended = subprocess.run(
        ["/bin/sh", "-c", f"exec {command} >&- 2>&- <&-"],
        cwd=no_configuration,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0
