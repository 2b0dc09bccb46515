"""`FileShard`: every file in exactly one, and in the same one tomorrow and elsewhere."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.errors import ConfigurationError
from rag_nodes.readers.shards import FileShard

ROOT = Path("/data/docs")
NAMES = st.lists(st.text(st.characters(exclude_characters="/\0"), min_size=1).filter(
    lambda name: name not in {".", ".."}
), min_size=1, max_size=4)  # fmt: skip


@given(NAMES, st.integers(1, 40))
def test_a_file_is_in_exactly_one_shard(parts: list[str], count: int) -> None:
    file = ROOT.joinpath(*parts)
    shards = [FileShard(index, count) for index in range(1, count + 1)]
    assert sum(shard.holds(file, ROOT) for shard in shards) == 1


@given(NAMES, st.integers(1, 40))
def test_it_is_the_same_wherever_the_folder_is(parts: list[str], count: int) -> None:
    shard = FileShard(1, count)
    elsewhere = Path("/mnt/42")
    assert shard.holds(ROOT.joinpath(*parts), ROOT) == shard.holds(
        elsewhere.joinpath(*parts), elsewhere
    )


def test_shards_are_of_about_one_size_and_do_not_change() -> None:
    files = [ROOT / f"{number % 7}" / f"{number}.md" for number in range(4000)]
    sizes = [sum(FileShard(i, 8).holds(file, ROOT) for file in files) for i in range(1, 9)]
    assert sizes == [520, 511, 546, 499, 483, 466, 491, 484]


def test_a_file_that_was_named_itself_goes_by_its_name() -> None:
    file = ROOT / "a.md"
    for index in range(1, 6):
        assert FileShard(index, 5).holds(file, file) == FileShard(index, 5).holds(file, ROOT)


def test_a_shard_is_read_as_it_is_written() -> None:
    assert FileShard.of("3/8") == FileShard.of(" 3/8 ") == FileShard(3, 8)
    assert str(FileShard.of("3/8")) == "3/8"


@pytest.mark.parametrize("words", ["", "3", "0/8", "9/8", "-1/8", "3/0", "1/1/1", "a/b", "1.0/2"])
def test_anything_else_is_refused(words: str) -> None:
    with pytest.raises(ConfigurationError, match="from 1/8 to 8/8"):
        FileShard.of(words)
