"""Markdown files: text verbatim, title and description as metadata."""

import json
from pathlib import Path

import pytest
from llama_index.core.schema import Document

from rag_nodes.core import metadata as keys
from rag_nodes.readers import read


def read_text(tmp_path: Path, text: str) -> Document:
    path = tmp_path / "page.md"
    path.write_bytes(text.encode())
    return read(path)


def test_the_text_stays_verbatim_with_front_matter_and_line_ends(tmp_path: Path) -> None:
    text = "---\r\ntitle: Ferns\r\n---\r\n\r\n# Moss\r\n\r\n```\r\n# code\r\n```\r\n"
    assert read_text(tmp_path, text).text == text


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: Ferns\n---\n# Moss\n", "Ferns"),
        ('---\ntitle: "Ferns: a guide" # remark\n---\n', "Ferns: a guide"),
        ("---\ntitle: >\n  Ferns and\n  mosses\nother: x\n---\n", "Ferns and mosses"),
        ("---\nother: x\n---\n\n# Moss\n", "Moss"),
        ("# Moss #\n\ntext\n", "Moss"),
        ("Moss\n====\n\n# Later\n", "Moss"),
        ("```\n# code\n```\n\n# Moss\n", "Moss"),
        ("~~~~\n# code\n~~~\n# still code\n~~~~\n# Moss\n", "Moss"),
        ("# The [moss](https://example.org) of `today`\n", "The moss of today"),
        ("## Only a section\n", None),
        ("#hashtag\n", None),
        ("---\n\ntitle: no front matter, two rules\n", None),
    ],
)
def test_the_title_is_that_of_the_front_matter_or_the_first_h1(
    tmp_path: Path, text: str, title: str | None
) -> None:
    assert read_text(tmp_path, text).metadata.get(keys.TITLE) == title


def test_the_description_is_kept_and_hidden_from_the_models(tmp_path: Path) -> None:
    document = read_text(tmp_path, "---\ndescription: 'All about ferns'\n---\ntext\n")
    assert document.metadata["description"] == "All about ferns"
    assert "description" in document.excluded_embed_metadata_keys
    assert "description" in document.excluded_llm_metadata_keys


# --- front matter as metadata -------------------------------------------------------------------


def front_matter(tmp_path: Path, yaml: str) -> tuple[object, list[str]]:
    path = tmp_path / "note.md"
    path.write_text(f"---\n{yaml}\n---\n\n# Body\n", encoding="utf-8")
    metadata = read(path).metadata
    return metadata.get(keys.FRONT_MATTER), metadata.get(keys.READ_WARNINGS, [])


def test_plain_values_of_the_front_matter_become_metadata_that_models_do_not_see(
    tmp_path: Path,
) -> None:
    yaml = (
        "title: Tea\ntags: [a, 2, {b: c}]\ndate: 2024-05-01\ndraft: false\nnested: {x: 1}\n1: .nan"
    )
    values, warnings = front_matter(tmp_path, yaml)
    assert values == {
        "title": "Tea",
        "tags": ["a", 2],
        "date": "2024-05-01",
        "draft": False,
        "1": "nan",
    }
    assert warnings == []
    assert json.loads(json.dumps(values)) == values
    document = read(tmp_path / "note.md")
    assert keys.FRONT_MATTER in document.excluded_embed_metadata_keys
    assert keys.FRONT_MATTER in keys.BOOKKEEPING


@pytest.mark.parametrize(
    ("yaml", "why"),
    [
        ("a: &a [x, x]\nb: [*a, *a]", "aliases"),
        ("title: Tea: a story", "invalid YAML in its line 1"),
        ("a: !!python/object/apply:os.system [ls]", "invalid YAML"),
        ("a: " + "[" * 2000, "nest too deeply"),
        ("a: " + "x" * 20_000, "characters"),
        ("when: 2024-99-99", "invalid YAML"),
        ("when: !!timestamp soon", "invalid YAML"),
        ("draft: !!bool maybe", "invalid YAML"),
        ('n: !!int ""', "invalid YAML"),
        ("n: 1" + ":59" * 900 + ".0", "invalid YAML"),
        pytest.param("n: 0x" + "f" * 6_000, "invalid YAML", id="an integer nobody can write"),
    ],
)
def test_front_matter_that_cannot_be_taken_over_is_a_warning_and_not_an_error(
    tmp_path: Path, yaml: str, why: str
) -> None:
    values, (warning,) = front_matter(tmp_path, yaml)
    assert values is None
    assert why in warning


def test_any_number_of_lists_may_stand_side_by_side(tmp_path: Path) -> None:
    lists = {f"key{number}": [number] for number in range(25)}
    yaml = "\n".join(f"{key}: {value}" for key, value in lists.items())
    assert front_matter(tmp_path, yaml) == (lists, [])


def test_a_rule_at_the_top_is_no_front_matter(tmp_path: Path) -> None:
    assert front_matter(tmp_path, "just a line of text") == (None, [])
