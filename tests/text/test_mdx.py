"""Comments and strings of MDX hold no headings, and attributes are no part of a title."""

import pytest

from rag_nodes.text.markdown import scan_blocks


def headings(text: str) -> list[str]:
    return [block.title.of(text) for block in scan_blocks(text) if block.level]


@pytest.mark.parametrize(
    "hidden",
    [
        "{/*\n# not a heading\n*/}",
        "{/* one line */}\n{/*\n\n# not a heading\n\n*/}",
        "Text of a paragraph.\n{/*\n# not a heading\n*/}",
        "<Code sample={`\n# not a heading\n`} />",
        '<Code\n  lang="sh"\n  sample={`one\n\n# not a heading\n` }\n/>',
        '<Code lang="sh">{`\n# not a heading\n`}</Code>',
        "<Code>\n{`one\n\n# not a heading\n`}\n</Code>",
        "{`\n# not a heading\n`}",
        "   {/*\n## not a heading\n   */}",
    ],
)
def test_comments_and_strings_hold_no_headings(hidden: str) -> None:
    text = f"# Tea\n\n{hidden}\n\n## Cake\n\nText.\n"
    assert headings(text) == ["Tea", "Cake"]
    shown = " ".join(text[block.start : block.end] for block in scan_blocks(text))
    assert shown.split() == text.split()


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("## Install {#install-id}", "Install"),
        ("## Install {.wide #a} ##", "Install"),
        ("## Install {: #install }", "Install"),
        ("## Install {/* #install */}", "Install"),
        ("## Install{#a}", "Install{#a}"),
        ("## The set {a, b}", "The set {a, b}"),
        ("## {#a}", "{#a}"),
        ("## `{#a}`", "`{#a}`"),
    ],
)
def test_attributes_are_no_part_of_a_title(line: str, title: str) -> None:
    assert headings(f"{line}\n\nText.\n") == [title]
    assert headings(f"Text.\n\n {line}") == [title]


def test_braces_in_running_text_are_text() -> None:
    text = "{name} is here.\n# Tea\n\n{/ no comment\n# Cake"
    assert headings(text) == ["Tea", "Cake"]
