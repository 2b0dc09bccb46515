"""Elements that show text in other ways than most: frames, roles, sections of XML, links."""

from pathlib import Path

import pytest

from rag_nodes.core import metadata as keys
from rag_nodes.readers import read
from rag_nodes.readers.html import reading_of_html

BASE = "https://tea.test/docs/guide"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<div role=heading aria-level=1>Tea</div><p>Hot.", "# Tea\n\nHot."),
        ("<div role=heading>Tea</div><p>Hot.", "## Tea\n\nHot."),
        ("<span role=heading aria-level=9>Tea</span>", "###### Tea"),
        ("<div role=heading aria-level=x><b>Tea</b> time</div>", "## Tea time"),
        ("<h3 role=heading aria-level=1>Tea</h3>", "### Tea"),
        ("<article><div role=heading aria-level=3>1. Tea</div></article>", "### 1. Tea"),
        ("<p>a<iframe srcdoc='<h2>Tea</h2><p>Hot.'>old</iframe>", "a\n\n## Tea\n\nHot."),
        ("<iframe srcdoc='&lt;p>5 &amp;lt; 6&lt;/p>'></iframe>b", "5 < 6\n\nb"),
        ("<iframe srcdoc='<nav>gone</nav><script>gone</script>Tea'></iframe>", "Tea"),
        ("<iframe srcdoc=\"<p>a</p><iframe srcdoc='gone'></iframe>b\"></iframe>", "a\n\nb"),
        ("<iframe hidden srcdoc='gone'></iframe><iframe src=x>gone</iframe><p>a", "a"),
    ],
)
def test_frames_and_roles_are_read_as_what_they_show(html: str, text: str) -> None:
    assert reading_of_html(html).text == text


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<svg><title>Chart</title></svg><p>a", None),
        ("<title>Tea</title><svg><title>Chart</title></svg><p>a", "Tea"),
        ("<svg><title>Chart</title></svg><title>Tea</title><p>a", "Tea"),
        ("<p>a<svg><a><title>Link</title></a><svg><title>In</title></svg></svg>", None),
        ("<p>a<symbol><title>Icon</title></symbol><svg><g><title>Chart</title></g></svg>", "Icon"),
    ],
)
def test_a_drawing_gives_the_page_no_title(html: str, title: str | None) -> None:
    assert reading_of_html(html).title == title


@pytest.mark.parametrize(
    ("html", "warnings"),
    [
        ("<p>Tea<noscript><p>Hot tea is <b>here</b>.</p></noscript>", 1),
        ("<body><noscript>Hot tea.</noscript><p>Tea", 1),
        ("<p>Tea<noscript><img src=x></noscript>", 0),
        ("<p>Tea<noscript></noscript><noscript>Hot tea</noscript>", 1),
        (f"<p>{'Tea is hot. ' * 20}<noscript>Switch scripts on.</noscript>", 0),
    ],
)
def test_much_text_for_browsers_without_scripts_is_named(html: str, warnings: int) -> None:
    reading = reading_of_html(html)
    assert reading.text.startswith("Tea")
    assert len(reading.warnings) == warnings
    assert all("words in <noscript>" in warning for warning in reading.warnings)


@pytest.mark.parametrize(
    "page",
    [
        "<html><head><script/></head><body><p>Tea &amp; cake</p></body></html>",
        "<html><body><div/><p>Tea <![CDATA[& cake]]></p></body></html>",
        "<html><head><title/></head><body>Tea &amp; cake</body></html>",
        "<html><body><p><a id='x'/>Tea &amp; cake</p><textarea/></body></html>",
        "<html><body><iframe src='x'/><p>Tea &amp; cake</p></body></html>",
    ],
)
def test_xhtml_is_xml_by_the_name_of_its_file(tmp_path: Path, page: str) -> None:
    path = tmp_path / "page.xhtml"
    path.write_text(page, encoding="utf-8")
    document = read(path)
    assert document.text == "Tea & cake"
    assert keys.READ_WARNINGS not in document.metadata


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
