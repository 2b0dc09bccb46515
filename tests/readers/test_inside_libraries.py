"""What the readers take for granted of the insides of other libraries, one test for each.

`readers/html/tree.py` is the only place that reaches into one: Beautiful Soup has no public way to
say that a start tag implies the end of what is open.
"""

from typing import Any

import pytest
from bs4 import BeautifulSoup
from bs4.element import PageElement, Tag


class Watched(BeautifulSoup):
    """A tree that notes what is open whenever an element starts."""

    def __init__(self, html: str) -> None:
        self.open: dict[str, list[str]] = {}
        super().__init__(html, "html.parser")

    def handle_starttag(self, name: str, *args: Any, **kwargs: Any) -> Tag | None:
        self.open[name] = [tag.name for tag in self.tagStack]
        return super().handle_starttag(name, *args, **kwargs)


def test_open_elements_stand_on_the_stack_outermost_first() -> None:
    assert Watched("<div><p>a</p><ul><li>b").open["li"] == ["[document]", "div", "ul"]


def test_popping_to_a_name_closes_that_element_and_all_within() -> None:
    class Closing(Watched):
        def handle_starttag(self, name: str, *args: Any, **kwargs: Any) -> Tag | None:
            if name == "p" and "p" in [tag.name for tag in self.tagStack]:
                self.endData()
                self._popToTag("p")
            return super().handle_starttag(name, *args, **kwargs)

    assert str(Closing("<p>a<b>b<p>c")) == "<p>a<b>b</b></p><p>c</p>"


def test_without_ending_the_data_first_text_goes_to_the_wrong_element() -> None:
    class Hasty(Watched):
        def handle_starttag(self, name: str, *args: Any, **kwargs: Any) -> Tag | None:
            self._popToTag("p")
            return super().handle_starttag(name, *args, **kwargs)

    assert str(Hasty("<p>a<p>b</p>")) == "<p></p>a<p>b</p>"


@pytest.mark.parametrize("take", [Tag.extract, Tag.decompose])
def test_a_child_is_taken_out_where_its_parent_says_it_is(take: Any) -> None:
    asked: list[str] = []

    class Asked(Tag):
        def index(self, element: PageElement) -> int:
            asked.append(self.name)
            return super().index(element)

    soup = BeautifulSoup(
        "<ul><li>a</li><li>b</li></ul>", "html.parser", element_classes={Tag: Asked}
    )
    take(soup.find_all("li")[1])
    assert asked == ["ul"]
    assert str(soup) == "<ul><li>a</li></ul>"
