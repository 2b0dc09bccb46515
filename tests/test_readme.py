"""Every number of the front page comes from a command that it names, or from the code."""

import csv
import re
import runpy
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from rag_nodes.parsers import PRESETS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MADE_BY = {
    "lead": "python scripts/docs/make_results.py",
    "decision": "rag-nodes evaluate examples/corpus/ferry.pdf",
    "some parsers": "docs/reference/parsers.md",
}
"""Parts with numbers that other tests compare, and the command or page beside each."""


def prose() -> str:
    """Return the page without code, links and the parts that a script writes."""
    text = README
    for part in MADE_BY:
        text = re.sub(rf"<!-- {part} -->.*?<!-- /{part} -->", "", text, flags=re.DOTALL)
    return re.sub(r"```.*?```|`[^`]*`|!\[[^\]]*|\]\([^)]*\)", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("part", MADE_BY)
def test_a_part_with_numbers_stands_near_the_command_that_makes_them(part: str) -> None:
    before, _, rest = README.partition(f"<!-- {part} -->")
    after = rest.partition(f"<!-- /{part} -->")[2]
    assert MADE_BY[part] in before[-600:] + after[:600]


def test_other_numbers_of_the_prose_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    python = project["requires-python"].removeprefix(">=")
    assert re.findall(r"\d[\d.,]*\d|\d", prose()) == ["95", python]


def test_the_demo_has_as_many_questions_as_the_page_says() -> None:
    with (ROOT / "examples/corpus/ferry_questions.csv").open(encoding="utf-8") as file:
        asked = len(list(csv.DictReader(file)))
    assert f"a verdict from {asked} questions" in README


def test_the_default_is_the_best_of_the_sizes_that_its_row_names() -> None:
    runpy.run_path(str(ROOT / "scripts" / "docs" / "make_results.py"))  # puts them on the path
    sizes = import_module("systems").CURVE
    summary = import_module("results.tables")._summary()
    level = import_module("results.picture").LEVEL
    names = [("plain", f"recursive {size}") for size in sizes]
    means = [sum(summary.of_set(name, each, level) for each in summary.sets) for name in names]
    best = sizes[means.index(max(means))]
    words = {5: "five", 7: "seven"}
    assert PRESETS["retrieval"].options["chunk_size"] == best
    assert PRESETS["retrieval"].summary.endswith(
        f"{best} tokens, no overlap; best mean recall@{level} of {words[len(sizes)]} sizes on "
        f"{words[len(summary.sets)]} labelled sets"
    )
