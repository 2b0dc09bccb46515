"""`ingest --shard I/N`, as a scheduler's script would use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

NAMES = [f"{number}.md" for number in range(8)]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_text(f"# {name}\n\nThe tank of {name} holds water.\n", "utf-8")
    return folder


def test_each_file_is_ingested_by_one_shard(
    command: Callable[..., Ended], docs: Path, tmp_path: Path
) -> None:
    found = []
    for number in (1, 2):
        store = ["--store", str(tmp_path / f"part-{number}")]
        ended = command("ingest", str(docs), *store, "--shard", f"{number}/2", "--json")
        assert ended.code == 0, ended.stderr
        found += [file["name"] for file in ended.json["files"]]
    assert sorted(found) == NAMES


def test_what_is_no_shard_is_a_usage_error(command: Callable[..., Ended], docs: Path) -> None:
    ended = command("ingest", str(docs), "--shard", "3/2")
    assert ended.code == 2
    assert "from 1/8 to 8/8" in ended.stderr
