"""Where we leave CommonMark: a mark that lost its partner, or heads a paragraph, rules no document.

All that CommonMark's own examples hold is far below these bounds, see test_commonmark.py.
"""

from pathlib import Path

import pytest

from rag_nodes.text.markdown import LONGEST_HEADING, Block, Kind, scan_blocks
from rag_nodes.text.markdown import lines as markdown_lines
from rag_nodes.text.markdown.lines import PLAUSIBLE

PROSE = "The pump runs at night and rests while the sun is up.\n\n"
MANUAL = "## Pump\n\n" + PROSE * 50
LONG = MANUAL * (2 * PLAUSIBLE // len(MANUAL))
CODE = "x = compute(x)  # The pump runs at night and rests while the sun is up.\n\n"
LONG_CODE = CODE * (2 * PLAUSIBLE // len(CODE))


def headings(text: str) -> int:
    return sum(block.kind is Kind.HEADING for block in scan_blocks(text))


def texts_of_kind(kind: Kind, text: str) -> list[str]:
    return [text[b.start : b.end] for b in scan_blocks(text) if b.kind is kind]


def longest(text: str) -> Block:
    return max(scan_blocks(text), key=lambda block: block.end - block.start)


@pytest.mark.parametrize(
    "opening",
    ["```\n", "```\n\n", "~~~~\n", "```py\nx = 1\n", "<!-- note\n", "<script>\nx\n", "`\n", "``\n"],
)
def test_a_mark_that_is_never_closed_swallows_no_document(opening: str) -> None:
    text = f"# Manual\n\n{opening}\n{LONG}"
    assert headings(text) == 1 + LONG.count("##")
    assert longest(text).end - longest(text).start < 100


@pytest.mark.parametrize("mark", ["```", "~~~", "`"])
def test_a_mark_whose_partner_is_chapters_away_swallows_none_of_them(mark: str) -> None:
    chapters = LONG.replace("##", "#!")  # a heading would part the two backticks anyway
    assert longest(f"{mark}\n{chapters}{mark}\n").end < 200


def test_the_code_of_an_unclosed_fence_ends_at_the_first_blank_line() -> None:
    text = f"```js\ncall(1);\ncall(2);\n\n{LONG}"
    assert texts_of_kind(Kind.CODE, text) == ["```js\ncall(1);\ncall(2);"]


@pytest.mark.parametrize(
    "text",
    [
        f"```text\n{LONG}```",  # it says what it is, and where it ends
        f"```\n{LONG_CODE}```",
        f"```\n{LONG_CODE}",
        f"```\n{MANUAL}",
        f"<!-- {LONG} -->",
        f"{'`' * 65}\n{LONG}",
    ],
)
def test_a_block_that_is_closed_or_plausible_is_as_commonmark_has_it(text: str) -> None:
    (block,) = scan_blocks(text)
    assert (block.start, block.end) == (0, len(text.rstrip()))


@pytest.mark.parametrize("mark", ["=", "-", "======", "------"])
def test_a_paragraph_is_no_heading_for_the_line_below_it(mark: str) -> None:
    words = "word " * (LONGEST_HEADING // 5)
    assert headings(f"{words[:-1]}\n{mark}") == 1
    long = f"{words}more\nover lines\n{mark}"
    assert headings(long) == 0
    assert headings(f"[link]: definition\n{long}\n{mark}\n\ntext") == 0
    assert headings(f"[link]: definition\n{words[:-1]}\n{mark}") == 1


def test_a_line_that_goes_on_and_on_is_no_heading_for_the_hash_before_it() -> None:
    assert headings(f"# {'a' * LONGEST_HEADING} #") == 1
    assert headings(f"# {'a' * LONGEST_HEADING}a #") == 0
    assert texts_of_kind(Kind.PARAGRAPH, f"# {'a b' * 200}\ntext\n\n# A") == [
        f"# {'a b' * 200}\ntext"
    ]


@pytest.mark.parametrize("opening", ["```js\n\n", "~~~ js\n\n", "```\n\n", "<!--\n\n"])
def test_many_marks_without_partners_are_searched_for_once(
    opening: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched = 0
    find = markdown_lines.closing_fence

    def count_search(text: str, mark: str, at: int, stop: int) -> int:
        nonlocal searched
        searched += (find(text, mark, at, stop) or min(stop, len(text))) - at
        return find(text, mark, at, stop)

    monkeypatch.setattr(markdown_lines, "closing_fence", count_search)
    text = (opening + PROSE) * 2000
    assert sum(1 for _ in scan_blocks(text)) >= 2000
    assert searched <= 3 * len(text)


def test_one_comment_that_reads_as_prose_ends_no_long_code() -> None:
    code = CODE * (PLAUSIBLE // (3 * len(CODE))) + PROSE + LONG_CODE
    [code_block] = texts_of_kind(Kind.CODE, f"```\n{code}```\n\nThe end.\n")
    assert code_block.endswith("```")
    assert len(code_block) > PLAUSIBLE


def test_the_bounds_are_those_of_the_documentation() -> None:
    stated = " ".join(
        (Path(__file__).parents[2] / "docs" / "concepts" / "spans.md").read_text().split()
    )
    assert f"would hold over {PLAUSIBLE:,} characters, and there are paragraphs of prose" in stated
    assert f"A heading of over {LONGEST_HEADING} characters is a paragraph" in stated


@pytest.mark.parametrize("form", ["# {}", "# {} #", "{}\n===", "{}\n---"])
def test_a_heading_may_have_the_longest_length_and_not_one_more(form: str) -> None:
    for more, kind in ((0, Kind.HEADING), (1, Kind.PARAGRAPH)):
        title = "word " * (LONGEST_HEADING // 5 - 1) + "w" * (5 + more)
        assert next(scan_blocks(form.format(title))).kind is kind
