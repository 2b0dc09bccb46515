"""Tests of what the readers rely on inside other libraries.

`readers/html/page.py` builds a tree of Beautiful Soup with the calls by which its parsers do so.
"""

from bs4 import BeautifulSoup


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
