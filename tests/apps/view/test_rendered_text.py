"""Text documents as they are read, with every character knowing where it is from."""

import html
import re
from pathlib import Path

import pytest
from hostile_views import PAYLOADS

from rag_nodes.apps.view.rendered import PART_LENGTH, TextMark, part_starts, text_blocks
from rag_nodes.readers import read
from rag_nodes.text.formats import Format, format_in
from rag_nodes.text.spans import Span

DOCS = Path(__file__).parents[4] / "shared" / "docs"
TEXT = """# Ferries

Test the *horn*, see [rules](https://a.example/x_(1)) &amp; `call`.

| Name | Weight |
| --- | --- |
| ramp | 80 kg |

- first \\* item
"""
_PIECE = re.compile(r'<span class="([^"]*)" data-k="([^"]*)" data-at="(\d+)">([^<]*)</span>')


OURS = r"p|div|span|h\d|pre|code|em|strong|ul|ol|li|hr|br|table|t[rhdb]\w*|blockquote|s"
"""Elements that Markdown makes."""


def html_of(text: str, text_format: Format, *marks: TextMark) -> str:
    blocks = text_blocks(text, Span(0, len(text)), text_format, marks)
    return "".join(str(block.html) for block in blocks)


def pieces(
    text: str, *marks: TextMark, text_format: Format = Format.MARKDOWN
) -> list[tuple[str, ...]]:
    """Class, chunk numbers, offset and text of everything that says where it is from."""
    found_pieces = _PIECE.findall(html_of(text, text_format, *marks))
    return [(cls, number, at, html.unescape(words)) for cls, number, at, words in found_pieces]


def test_rendered_text_stands_at_the_offset_that_it_names() -> None:
    found_pieces = pieces(TEXT)
    assert {"Ferries", "Test the ", "horn", "rules", "call", "ramp", "80 kg"} <= {
        words for *_, words in found_pieces
    }
    for _, _, at, words in found_pieces:
        assert TEXT[int(at) :].startswith(words)


def test_marks_part_the_text_where_they_begin_and_end() -> None:
    start = TEXT.index("horn")
    found_pieces = pieces(
        TEXT, TextMark(Span(0, start + 2), "rn-k0", 0), TextMark(Span(start, 999), "rn-k1", 1)
    )
    assert ("rn-k0 rn-k1", "0 1", str(start), "ho") in found_pieces
    assert ("rn-k1", "1", str(start + 2), "rn") in found_pieces


def test_it_is_rendered_and_leads_nowhere() -> None:
    shown = "".join(
        str(block.html) for block in text_blocks(TEXT, Span(0, len(TEXT)), Format.MARKDOWN, ())
    )
    assert '<h2 dir="auto">' in shown
    assert "<table>" in shown
    assert "href" not in shown
    assert "a.example" not in shown


def test_a_line_end_in_a_cell_is_one_and_in_code_it_is_what_it_says() -> None:
    found_pieces = pieces("| a<br>b |\n| --- |\n\nand `x<br>y`")
    assert [words for *_, words in found_pieces] == ["a", "b", "and ", "x<br>y"]
    assert [at for _, _, at, _ in found_pieces[:2]] == ["2", "7"]


def test_headings_are_as_deep_as_written_but_leave_no_level_out() -> None:
    shown = html_of("### First\n\n##### Second\n\n# Third\n", Format.MARKDOWN)
    assert re.findall(r"<(/?h\d)", shown) == ["h2", "/h2", "h3", "/h3", "h2", "/h2"]


@pytest.mark.parametrize("payload", [*PAYLOADS, "![x](https://a.example/x.png)"])
@pytest.mark.parametrize("text_format", list(Format))
def test_no_document_brings_elements_of_its_own(payload: str, text_format: Format) -> None:
    shown = html_of(payload, text_format, TextMark(Span(0, 9), "rn-k0", 0))
    rest = re.sub(rf"</?(?:{OURS})\b[^<>]*>", "", shown)
    assert "<" not in rest
    assert not re.search(r"<[^>]*\s(?:on\w+|src|href)=", shown)


def test_plain_text_stands_as_it_is() -> None:
    assert pieces("# *no* title", text_format=Format.PLAIN) == [("", "", "0", "# *no* title")]


def test_parts_begin_with_blocks_and_hold_all_of_the_text() -> None:
    text = "\n\n".join(f"## Part {number}\n\n{'word ' * 300}" for number in range(40))
    starts = part_starts(text, Format.MARKDOWN)
    assert starts[0] == 0
    assert all(text[at:].startswith(("##", "word")) for at in starts)
    ends = [*starts[1:], len(text)]
    assert max(end - start for start, end in zip(starts, ends, strict=True)) <= 2 * PART_LENGTH
    assert max(part_starts("x" * 50_000, Format.MARKDOWN)) < 50_000
    assert part_starts("", Format.MARKDOWN) == [0]


@pytest.mark.skipif(not DOCS.is_dir(), reason="the shared documents are not here")
@pytest.mark.parametrize("name", ["docling_cli.md", "word_sample.docx", "csv-semicolon.csv"])
def test_nearly_all_letters_of_real_documents_know_where_they_are_from(name: str) -> None:
    document = read(DOCS / name, isolate=False)
    text = document.text
    shown = html_of(text, format_in(document.metadata, text))
    placed = 0
    for *_, at, words in _PIECE.findall(shown):
        assert text[int(at) :].startswith(html.unescape(words))
        placed += sum(map(str.isalnum, html.unescape(words)))
    rest = html.unescape(re.sub(r"<[^>]*>", "", _PIECE.sub("", shown)))
    assert placed > 500
    assert sum(map(str.isalnum, rest)) <= placed / 1_000
