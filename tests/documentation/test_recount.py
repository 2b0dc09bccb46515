import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rag_nodes.documentation.recount import recount

COMMONMARK = MarkdownIt("commonmark").enable("table")


def headings(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in recount(text).headings]


def by_commonmark(text: str) -> list[int]:
    """Levels of the headings that stand neither in a list nor in a quote."""
    tokens = COMMONMARK.parse(text)
    return [int(t.tag[1]) for t in tokens if t.type == "heading_open" and t.level == 0]


@pytest.mark.parametrize(
    "text",
    [
        "# One\n## Two ##\n### Three [\\#](\\#three)\n#### 4\n##### 5\n###### 6\n####### none",
        "#none\n #one\n    # code\n#\n##  \n",
        "One\n===\n\nTwo\n---\n\n* * *\n\n---\n",
        "```\n# code\n```\n# One\n~~~ py\n## code\n```\n~~~~\n## Two",
        "````\n```\n# code\n````\n# One",
        "```\n# code to the end\n",
        "- item\n---\n- item\n\n  text\n===\n",
        "> quote\n---\n# One\n> # inside\n",
        "| a |\n|---|\n| b |\n\n# One\n",
        "<!-- # no\n# no -->\n# One\n<pre>\n\n# no\n</pre>\n# Two",
        "text\n# One\ntext\n",
        "",
        "\r\n# One\r\n\r\nTwo\r\n---\r\n",
    ],
)
def test_headings_are_those_of_commonmark(text: str) -> None:
    assert [level for level, _ in headings(text)] == by_commonmark(text)


LINES = st.sampled_from(
    ["# One", "## Two", "text", "", "", "```", "~~~", "===", "* * *", "    code", "> q", "#### x #"]
)


@given(st.lists(LINES, max_size=30))
def test_any_mixture_of_lines_has_the_headings_of_commonmark(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert [level for level, _ in headings(text)] == by_commonmark(text)


def test_titles_lose_their_marks_and_front_matter_is_no_heading() -> None:
    text = "---\ntitle: Tea\n---\n\n##  A   b ##\n\nSetext\n---\n"
    assert headings(text) == [(2, "A b"), (2, "Setext")]


def test_code_that_crawlers_leave_between_lone_backticks_is_code() -> None:
    text = "# One\n\n`\n_10\n# no\n\n_10\nx\n`\n\n# Two\n"
    assert headings(text) == [(1, "One"), (1, "Two")]
    [code] = recount(text).code
    assert text[code.start : code.end].startswith("`\n_10")
    assert text[code.start : code.end].endswith("x\n`")


def test_a_stray_backtick_hides_no_heading() -> None:
    assert headings("`\n\n# One\n\n`\n\ntext\n") == [(1, "One")]


def test_offsets_are_those_of_the_visible_line() -> None:
    text = "text\n\n  ## Two  \n"
    [heading] = recount(text).headings
    assert text[heading.start : heading.end] == "## Two"
