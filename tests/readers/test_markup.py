"""What readers write is what Markdown reads: links, headings and kinds of files."""

import pytest
from markdown_it import MarkdownIt

from rag_nodes.readers.markup import heading, link
from rag_nodes.readers.sniff import is_html

RENDER = MarkdownIt().render


@pytest.mark.parametrize("text", ["a [b] c", "a\\", "a\\\\", "a \\[b", "\\] b", "[[[", "C:\\tea"])
def test_a_link_shows_its_text_whatever_brackets_and_backslashes_are_in_it(text: str) -> None:
    assert RENDER(link(text, "http://tea.test")) == (
        f'<p><a href="http://tea.test">{text}</a></p>\n'
    )


@pytest.mark.parametrize("text", ["C #", "#", "##", "a ##", "a # b", "C#", "a\\ #"])
def test_a_heading_shows_its_text_whatever_hashes_are_in_it(text: str) -> None:
    assert RENDER(heading(2, text)) == f"<h2>{text}</h2>\n"


def test_many_comments_before_what_is_no_page_are_read_in_one_way_only() -> None:
    assert not is_html(b"<!---->" * 5000 + b"x")
    assert is_html(b"<!-- a --> <!-- b\nc --><html>")
