"""An invalid character costs a crawl that character, and the reader says so."""

import io
import json
import re
from pathlib import Path

import pytest
from crawls import SITE, page
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.core import metadata as keys
from rag_nodes.core.processes import from_json, to_json
from rag_nodes.readers import Reading, read_all
from rag_nodes.readers.crawl.stream import _Mended
from rag_nodes.readers.isolation import pack, unpack

PLACE = "PLACE"
NAMES = ("a", "b", "c", "d")

half_pairs = st.sampled_from([r"\udfff", r"\ud83d", r"\uDBFF", r"\uDC00"])
pieces = st.one_of(
    half_pairs, st.sampled_from(["\\\\", r"\n", r"\"", r"\u00e9", "u", "d83d", "é", "😀", " "])
)
any_text = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize("isolate", [True, False])
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
@pytest.mark.parametrize(
    ("broken", "shown"),
    [
        (rb"\udfff", "\ufffd"),
        (rb"\ud83d", "\ufffd"),
        (rb"\ude00\ud83d", "\ufffd\ufffd"),
        (rb"\ud83d\ud83d\ude00", "\ufffd😀"),
        (b"\xed\xbf\xbf", "\ufffd"),
        (b"caf\xe9", "caf\ufffd"),
    ],
)
def test_one_broken_character_of_a_page_costs_a_crawl_nothing_but_that_character(
    broken: bytes, shown: str, suffix: str, isolate: bool, tmp_path: Path
) -> None:
    pages = [page(name, f"# {name}\n\nWarm. {PLACE if name == 'b' else ''}") for name in NAMES]
    lines = [json.dumps(item) for item in pages]
    text = "\n".join(lines) if suffix == "jsonl" else f'{{"data": [{",".join(lines)}]}}'
    path = tmp_path / f"crawl.{suffix}"
    path.write_bytes(text.encode().replace(PLACE.encode(), broken))

    rows = list(read_all([path], isolate=isolate))

    documents = [row.document for row in rows if row.document]
    assert [document.metadata[keys.SOURCE] for document in documents] == [
        f"{SITE}/{name}" for name in NAMES
    ]
    assert documents[1].text == f"# b\n\nWarm. {shown}"
    [warning] = documents[1].metadata[keys.READ_WARNINGS]
    assert f"{shown.count(chr(0xFFFD))} invalid character" in warning
    assert all(
        keys.READ_WARNINGS not in document.metadata
        for document in documents
        if document.id_ != documents[1].id_
    )


@given(st.lists(pieces).map("".join), st.integers(1, 9))
def test_half_pairs_read_as_nothing_and_all_else_as_it_is_wherever_a_block_ends(
    inside: str, size: int
) -> None:
    source = f'"{inside}"'
    mended = _Mended(io.BytesIO(source.encode()))
    read = b"".join(iter(lambda: mended.read(size), b""))
    assert json.loads(read) == re.sub("[\ud800-\udfff]", "\x00", json.loads(source))


def test_a_megabyte_of_backslashes_is_mended_in_steps_that_grow_with_it() -> None:
    mended = _Mended(io.BytesIO(b"\\" * 1_000_001))
    held = 0
    while mended.read(1000):
        held = max(held, len(mended._open))
    assert held <= 1


@given(any_text, any_text)
def test_the_child_process_can_say_any_text(text: str, title: str) -> None:
    reading = Reading(text=text, title=title, facts={"links": [title]})
    assert unpack(from_json(to_json(pack(reading)))) == reading
