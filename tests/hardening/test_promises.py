"""What `docs/security.md` promises has a test each, and a few of them are here."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (H\d+) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)


def test_every_promise_has_its_number_once() -> None:
    numbers = sorted(int(promise[1:]) for promise, _, _ in ROWS)
    assert numbers == list(range(1, len(ROWS) + 1))
    assert len(ROWS) >= 27


def test_every_test_that_the_page_names_is_there() -> None:
    missing = []
    for _, _, shown in ROWS:
        named = re.findall(r"`(tests/\S+?)::(test_\w+)`", shown)
        assert named
        for file, name in named:
            source = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).is_file() else ""
            if f"def {name}(" not in source:
                missing.append(f"{file}::{name}")
    assert missing == []


def test_nothing_that_is_read_from_a_disk_is_unpickled() -> None:
    to_other_processes = ("models/executors/", "models/pickling.py")
    lines = set()
    for file in (ROOT / "src").rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        name = file.relative_to(ROOT / "src" / "rag_nodes").as_posix()
        if re.search(
            r"\b(pickle|dill|cloudpickle|joblib|shelve)\.(loads?|open|Unpickler)\b", source
        ):
            lines.add(name)
    from_a_disk = {line for line in lines if not line.startswith(to_other_processes)}
    assert from_a_disk == set()
