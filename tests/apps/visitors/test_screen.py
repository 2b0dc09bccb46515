"""What a page shows: nothing is lost and nothing older wins, in whatever order replies arrive."""

from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.apps.visitors.screen import Screen

CHANGES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9) | st.none()), max_size=20)


class Shown:
    """A page as its script keeps it: the newest drawing of each region that it heard of."""

    def __init__(self) -> None:
        self.at, self.html = dict[str, int](), dict[str, Any]()

    def take(self, patches: list[dict[str, Any]]) -> None:
        """Apply a reply."""
        for patch in patches:
            if self.at.get(patch["name"], 0) < patch["at"]:
                self.at[patch["name"]] = patch["at"]
                self.html[patch["name"]] = patch["html"]

    @property
    def visible(self) -> dict[str, str]:
        """Regions that are there."""
        return {name: html for name, html in self.html.items() if html is not None}


def change(screen: Screen, name: str, value: int | None) -> None:
    screen.show(name, None if value is None else partial(str, value))


@given(CHANGES, st.randoms(use_true_random=False))
def test_replies_in_any_order_show_what_the_server_shows(changes: Any, random: Any) -> None:
    screen, replies, since = Screen(), list[Any](), 0
    for name, value in changes:
        change(screen, name, value)
        if random.random() < 0.5:
            replies.append(screen.patches(since))
            # A page asks from what it has seen, which may be an old number.
            since = random.choice([since, screen.count])
    replies.append(screen.patches(since))
    replies += random.sample(replies, len(replies) // 2)  # some arrive twice
    random.shuffle(replies)
    page, expected = Shown(), dict[str, str]()
    for reply in replies:
        page.take(reply)
    for name, value in changes:
        expected.pop(name, None)
        if value is not None:
            expected[name] = str(value)
    assert page.visible == expected


def test_a_new_page_gets_all_regions_and_none_that_was_removed() -> None:
    screen = Screen()
    change(screen, "a", 1)
    change(screen, "b", 2)
    change(screen, "a", None)
    page = Shown()
    page.take(screen.patches(0))
    assert page.visible == {"b": "2"}


def test_a_region_is_drawn_when_a_page_asks_and_a_fault_takes_no_other_along() -> None:
    screen, drawn = Screen(), list[int]()

    def draw() -> str:
        drawn.append(1)
        raise ZeroDivisionError("secret text")

    screen.show("bad", draw)
    screen.show("good", lambda: "<p>good</p>")
    assert drawn == []
    bad, good = (patch["html"] for patch in screen.patches(0))
    assert "ZeroDivisionError" in bad
    assert "secret" not in bad
    assert good == "<p>good</p>"


def test_regions_that_were_appended_are_removed_together() -> None:
    screen = Screen()
    screen.show("turn 1", lambda: "one", "history")
    screen.show("top", lambda: "top")
    seen = screen.count
    screen.clear("history")
    assert [(patch["name"], patch["html"]) for patch in screen.patches(seen)] == [("turn 1", None)]


def test_every_screen_has_an_epoch_of_its_own() -> None:
    assert Screen().epoch != Screen().epoch
