"""Links of a page lead somewhere from anywhere, or are their text."""

import pytest

from rag_nodes.readers.html import reading_of_html

BASE = "https://tea.test/docs/guide"


@pytest.mark.parametrize(
    ("address", "with_base"),
    [
        ("/link", "[tea](https://tea.test/link)"),
        ("next", "[tea](https://tea.test/docs/next)"),
        ("#part", "[tea](https://tea.test/docs/guide#part)"),
        ("//other.test/x", "[tea](https://other.test/x)"),
        ("http://[", "tea"),
        ("javascript:run()", "tea"),
    ],
)
def test_a_relative_link_is_resolved_where_the_page_is_known_and_else_its_text(
    address: str, with_base: str
) -> None:
    html = f'<p>Green <a href="{address}">tea</a>.</p>'
    assert reading_of_html(html, base=BASE).text == f"Green {with_base}."
    assert reading_of_html(html).text == "Green tea."


def test_an_absolute_link_stays() -> None:
    html = '<a href="https://tea.test/x">tea</a> <a href="mailto:a@tea.test">mail</a>'
    assert reading_of_html(html).text == "[tea](https://tea.test/x) [mail](mailto:a@tea.test)"
