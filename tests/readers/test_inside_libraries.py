"""Tests of what the readers rely on inside other libraries.

`readers/html/page.py` builds a tree of Beautiful Soup with the calls by which its parsers do so,
`readers/pdf/engines/inside_pymupdf.py` goes through MuPDF's own list of links.
"""

import pymupdf
from bs4 import BeautifulSoup

from rag_nodes.readers.pdf.engines.inside_pymupdf import links_of


def test_a_tree_is_built_from_starts_texts_and_ends() -> None:
    soup = BeautifulSoup("", "html.parser")
    soup.handle_starttag("p", None, None, {"class": "a b"})
    soup.handle_data("one ")
    soup.handle_starttag("b", None, None, {})
    soup.handle_data("two")
    soup.handle_endtag("b")
    soup.handle_data(" three")
    soup.handle_endtag("p")
    soup.handle_data("four")
    soup.endData()
    assert str(soup) == '<p class="a b">one <b>two</b> three</p>four'
    assert soup.p is not None
    assert soup.p.get_attribute_list("class") == ["a", "b"]


def test_links_are_those_that_pymupdf_gives_one_after_another() -> None:
    document = pymupdf.open()
    page = document.new_page()
    for number in range(5):
        area = pymupdf.Rect(50, 20 * number, 200, 20 * number + 16)
        if number % 2:
            page.insert_link({"from": area, "kind": pymupdf.LINK_GOTO, "page": 0})
        else:
            address = f"https://e.org/{number}"
            page.insert_link({"from": area, "kind": pymupdf.LINK_URI, "uri": address})
    saved = pymupdf.open("pdf", document.tobytes())
    page = saved[0]
    expected = []
    link = page.first_link
    while link is not None:
        expected.append((link.is_external, link.uri, tuple(link.rect)))
        link = link.next
    links = list(links_of(page))
    assert [(link.is_external, link.uri, tuple(link.rect)) for link in links] == expected
    assert len(expected) == 5
    assert list(links_of(pymupdf.open().new_page())) == []
