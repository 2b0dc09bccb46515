"""What users read says things in the field's words; docs/reference/troubleshooting.md has them."""

import io
import json
import re
from contextlib import redirect_stdout
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from documentation.words import (
    CLAUSE,
    ROOT,
    SOURCE,
    bound_names,
    docstrings,
    numbers_without_unit,
    prose,
    representations,
)

from rag_nodes.cli.program import run
from rag_nodes.operations import OPERATIONS

CODE = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE]
VAGUE = {"found", "known", "made", "of", "one", "said", "some", "there", "told"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
GUIDES = [
    ROOT / name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile")
]
TERMS = {
    r"\banew\b|\bonce more\b": "again",
    r"\bas (?:it|they) comes?\b": "with its default settings",
    r"\bby (?:itself|themselves)\b": "automatically; alone",
    r"\bwhere nothing is said\b": "by default",
    r"\busual\b": "default",
    r"\bluck\b": "chance",
    r"\bimagined questions?\b": "pseudo-observations",
    r"\bcannot be told\b": "inconclusive; unknown",
    r"\b(?:un)?told\b": "given; known, unknown",
    r"\bstandard stands\b": "keeping the default",
    r"\b(?:un)?placed\b": "located, not located",
    r"\bl(?:ie|ies) on each other\b": "overlap",
    r"(?<![\w*{])cut(?:s|ting)?\b(?![\w.`-]*[.\[]\w|-off| off)": "split; truncated",
    r"\bnearness\b": "embedding similarity",
    r"\bwhat (?:embeds|answers)\b": "embedding model; LLM",
    r"\b(?:suspects?|blamed?|barren)\b": "unit retried in isolation; failed at startup",
    r"\bfurniture\b": "headers and footers; boilerplate",
    r"\bmetadata (?:are|come|differ|have|hold|say|take|tell)\b": "metadata is",
    r"\bown document\b": "the document the question belongs to",
    r"\btwins?\b": "duplicate document",
    r"\bformer(?:ly)?\b": "previous",
}
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
COMMANDS = ["", *(operation.name for operation in OPERATIONS), "app"]


@cache
def help_of(command: str) -> str:
    """What a command says of itself on a terminal of 80 columns."""
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output):
        patch.setenv("COLUMNS", "80")
        run([*command.split(), "--help"])
    return output.getvalue()


def banned_in(text: str) -> list[str]:
    words = " ".join(re.sub(r"```.*?```", "", text, flags=re.DOTALL).split())
    return [match[0] for term in BANNED for match in re.finditer(term, words, re.IGNORECASE)]


def test_docstrings_begin_with_a_verb_or_a_noun_phrase() -> None:
    written = [docstring for path in CODE for docstring in docstrings(path)]
    clauses = [str(docstring) for docstring in written if CLAUSE.match(docstring.text)]
    assert len(clauses) / len(written) <= 0.03, clauses


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "scripts"])
def test_variables_are_called_after_what_they_hold(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    names = [name for path in paths for name in bound_names(path)]
    nameless = [str(name) for name in names if name.text in VAGUE]
    assert len(nameless) / len(names) <= 0.002, nameless


def test_the_field_s_terms_are_used_everywhere() -> None:
    wrong = re.compile("|".join(f"(?:{term})" for term in TERMS), re.IGNORECASE)
    places = (place for path in [*CODE, *PAGES, *GUIDES] for place in prose(path))
    assert [str(place) for place in places if wrong.search(place.text)] == [], TERMS


def test_messages_quote_values_as_people_do() -> None:
    assert [str(place) for path in CODE for place in representations(path)] == []


def test_numeric_constants_state_their_unit() -> None:
    assert [str(place) for path in CODE for place in numbers_without_unit(path)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_uses_no_word_that_the_field_has_a_better_one_for(page: Path) -> None:
    assert banned_in(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_help_uses_none_either_and_truncates_nothing_at_80_columns(command: str) -> None:
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
    for parser in json.loads(capsys.readouterr().out)["parsers"]:
        assert banned_in(f"{parser['title']} {parser['summary']}") == []


def test_an_option_is_described_in_90_characters() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    row = r"^\| `-.*?` \| (.*?)(?: \[(?:default: .*|repeatable)\])* \|$"
    described = re.findall(row, page, re.MULTILINE)
    assert len(described) > 150
    assert [description for description in described if len(description) > 90] == []
