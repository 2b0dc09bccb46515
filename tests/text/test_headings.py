"""The tree of headings: names, anchors, and what stands above an offset."""

import pytest

from rag_nodes.text.formats import HeadingTree
from rag_nodes.text.markdown import scan_blocks


def tree_of(text: str) -> HeadingTree:
    return HeadingTree(text, list(scan_blocks(text)))


def test_paths_hold_the_headings_above_without_gaps_for_skipped_levels() -> None:
    tree = tree_of("# A\n\n### B\n\n## C\n\n###### D\n\n# E")
    assert [heading.path for heading in tree.headings] == [
        ("A",),
        ("A", "B"),
        ("A", "C"),
        ("A", "C", "D"),
        ("E",),
    ]


def test_a_heading_without_text_names_nothing_but_closes_those_before_it() -> None:
    assert [h.path for h in tree_of("# A\n\n#\n\n## B").headings] == [("A",), (), ("B",)]


def test_an_offset_stands_under_the_headings_before_it() -> None:
    text = "Above.\n\n# A\n\nText.\n\n## B\n\nMore."
    tree = tree_of(text)
    assert tree.path_at(text.index("Above")) == ()
    assert tree.path_at(text.index("# A")) == ("A",)
    assert tree.path_at(text.index("Text")) == ("A",)
    assert tree.path_at(text.index("More")) == ("A", "B")


def test_headings_inside_start_after_the_first_character() -> None:
    text = "# A\n\n## B\n\n# C"
    inside = tree_of(text).inside(0, text.index("# C"))
    assert [heading.path for heading in inside] == [("A", "B")]


@pytest.mark.parametrize(
    ("title", "name", "anchor"),
    [
        (r"Auth SMTP [\#](\#auth-smtp)", "Auth SMTP", r"#auth-smtp"),
        ("Install [#](#install)", "Install", "#install"),
        ("Install[#](https://example.org/docs#install)", "Install", "#install"),
        ("Install[¶](#install 'Link to this heading')", "Install", "#install"),
        ('Install[\u200b](#install "Direct link to Install")', "Install", "#install"),
        ("Install [](#install)", "Install", "#install"),
        ("See [Install](#install)", "See [Install](#install)", ""),
        ("Issue [#](https://example.org/12)", "Issue [#](https://example.org/12)", ""),
        ("Call f(x)", "Call f(x)", ""),
        ("[#](#install) Install", "[#](#install) Install", ""),
    ],
)
def test_the_link_of_a_heading_to_itself_is_not_part_of_its_name(
    title: str, name: str, anchor: str
) -> None:
    (heading,) = tree_of(f"## {title}").headings
    assert heading.path == (name,)
    assert heading.anchor == anchor
