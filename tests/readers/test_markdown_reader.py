"""Markdown files: text verbatim, title and description as metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rag_nodes import metadata as keys
from rag_nodes.readers import read

if TYPE_CHECKING:
    from pathlib import Path

    from llama_index.core.schema import Document


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
