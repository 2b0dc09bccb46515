"""ARCHITECTURE.md shows the house as it is, and the list of slow tests what there is."""

import re
from pathlib import Path

import pytest
from quick import HERE, SLOW

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "rag_nodes"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([\w/]+(?:/|\.py))`", PAGE))))
def test_every_path_on_the_page_is_there(path: str) -> None:
    assert (PACKAGE / path).exists() or (ROOT / path).exists()


def test_the_page_has_a_row_for_every_room() -> None:
    named = set(re.findall(r"`([a-z_]+)(?:/|\.py)`", PAGE))
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix in {"", ".py"}}
    assert rooms - {"__init__", "__pycache__"} <= named


@pytest.mark.parametrize("path", SLOW)
def test_files_excluded_from_make_quick_exist(path: str) -> None:
    assert (HERE / path).exists()


def test_every_thread_of_the_package_is_one_that_ends_before_the_interpreter() -> None:
    others = re.compile(r"(?<!gr\.)\b(?:Thread|Timer|start_new_thread)\(")
    assert [path for path in PACKAGE.rglob("*.py") if others.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("engine", "rooms"),
    [("qdrant_edge", {"store/edge"}), ("ray", {"models/executors"})],
)
def test_an_engine_that_may_change_is_imported_where_it_is_known(
    engine: str, rooms: set[str]
) -> None:
    imports = re.compile(rf"^\s*(import|from) {engine}\b", re.MULTILINE)
    files = (path for path in PACKAGE.rglob("*.py") if imports.search(path.read_text("utf-8")))
    assert {path.parent.relative_to(PACKAGE).as_posix() for path in files} == rooms
