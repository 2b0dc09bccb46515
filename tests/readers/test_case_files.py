"""Small files that were once read wrongly, and what is right of each.

The files in `tests/data/cases` were made for these tests; each stands for a kind of fault that
users of several tools have reported.
"""

from pathlib import Path

import pytest
from llama_index.core.schema import Document

from rag_nodes.readers import read

CASES = Path(__file__).parents[1] / "data" / "cases"


def case(name: str) -> Document:
    return read(CASES / name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("html/head_unclosed.html", "# Ferry times\n\nThe last ferry leaves at 21:40."),
        ("html/head_no_body_tag.html", "# Ferry times\n\nThe last ferry leaves at 21:40."),
        ("html/tabs.html", "# Install\n\nUse apt on Linux.\n\nUse winget on Windows."),
        ("docx/legacy_form.docx", "Size: medium wanted.\n\n[x] smoker\n\n[ ] non-smoker"),
        ("docx/altchunk_mht_only.docx", "# Résumé\n\nOnly the alternate chunk has text."),
    ],
)
def test_the_whole_text_of_a_file(name: str, text: str) -> None:
    assert case(name).text == text


def test_superscripts_are_no_digits_of_the_number_before_them() -> None:
    assert "に行く。10³ and H2O[1]." in case("html/ruby_sup.html").text


def test_a_price_list_beside_an_article_is_named_in_a_warning() -> None:
    [warning] = case("html/main_plus_outside.html").metadata["read_warnings"]
    assert warning.startswith("67% of the visible words stand outside the page's <article>")


def test_a_page_within_a_word_file_stands_where_it_is_inserted() -> None:
    assert case("docx/altchunk_html_middle.docx").text.split("\n\n") == [
        "# Report",
        "Text before the chunk.",
        "## Inserted chapter",
        "The mail merge letter is addressed to the harbour master.",
        "Text after the chunk.",
    ]
