"""What users read says things in the field's words; docs/reference/troubleshooting.md has them."""

import io
import json
import re
from contextlib import redirect_stdout
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from rag_nodes.cli.program import run
from rag_nodes.operations import OPERATIONS

ROOT = Path(__file__).parents[3]
APP = ROOT / "src" / "rag_nodes" / "apps"
SHOWN = [*APP.rglob("*.html"), *(APP / "header").glob("*.py")]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(SHOWN)]
BANNED = {
    r"ways? of cutting": "chunking strategy",
    r"cut (?:in different ways|anywhere)": "split; fixed-size",
    r"(?:none|\d+|tokens|characters) shared\b": "overlap",
    r"what is (?:found|read)\b": "retrieved nodes; context",
    r"by meaning\b": "dense search; semantic",
    r"search by words": "sparse search (BM25)",
    r"further vectors": "named vectors",
    r"(?:stands in front|written about a chunk)": "contextual prefix",
    r"drawn anew": "bootstrap samples",
    r"no difference (?:is )?shown": "no significant difference",
    r"collection of its own": "separate collection",
    r"\bspared\b": "saved",
    r"\b(?:books|ladder|the house|rooms|a door)\b": "no metaphors",
    r"\bof the draws\b": "random seed",
    r"\b(?:now|formerly) (?:it|they) (?:is|are)\b": "the present",
}
COMMANDS = ["", *(one.name for one in OPERATIONS), "app"]


@cache
def help_of(command: str) -> str:
    """What a command says of itself on a terminal of 80 columns."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said):
        patch.setenv("COLUMNS", "80")
        run([*command.split(), "--help"])
    return said.getvalue()


def banned_in(text: str) -> list[str]:
    said = " ".join(re.sub(r"```.*?```", "", text, flags=re.DOTALL).split())
    return [found[0] for one in BANNED for found in re.finditer(one, said, re.IGNORECASE)]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_uses_no_word_that_the_field_has_a_better_one_for(page: Path) -> None:
    assert banned_in(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_help_uses_none_either_and_cuts_nothing_at_80_columns(command: str) -> None:
    plain = re.sub(r"[│╭╮╰╯─]", " ", help_of(command))
    assert banned_in(plain) == []
    assert "…" not in plain


@pytest.mark.parametrize("command", COMMANDS)
def test_paragraphs_of_help_are_filled_up_to_80_columns(command: str) -> None:
    described = help_of(command).partition("╭")[0].partition("Usage:")[2]
    lines = [line.strip() for line in described.splitlines()][1:]
    for line, following in pairwise(lines):
        if line and following and not following.startswith(("-", "*")):
            assert len(line) + 1 + len(following.split()[0]) > 77, line


def test_descriptions_of_presets_use_none_either(capsys: pytest.CaptureFixture[str]) -> None:
    run(["parsers", "--json"])
    for one in json.loads(capsys.readouterr().out)["parsers"]:
        assert banned_in(f"{one['title']} {one['summary']}") == []


def test_an_option_is_described_in_90_characters() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    row = r"^\| `-.*?` \| (.*?)(?: \[(?:default: .*|repeatable)\])* \|$"
    described = re.findall(row, page, re.MULTILINE)
    assert len(described) > 150
    assert [one for one in described if len(one) > 90] == []
