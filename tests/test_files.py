"""Files that somebody asked for are written whole or not at all, and stay what they were."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.files import check_writable, replacing, write_text

Spoil = Callable[[pytest.MonkeyPatch, Path], object]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    report = tmp_path / "report.json"
    report.write_text("before", encoding="utf-8")
    return report


def _disk_is_full(patch: pytest.MonkeyPatch, _: Path) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    patch.setattr(os, "fsync", full)


def _folder_is_not_writable(patch: pytest.MonkeyPatch, path: Path) -> None:
    access = os.access
    patch.setattr(
        os,
        "access",
        lambda unread_file, mode: unread_file != path.parent and access(unread_file, mode),
    )


def _file_is_mounted(patch: pytest.MonkeyPatch, _: Path) -> None:
    def busy(*_: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    patch.setattr(Path, "replace", busy)


def _file_is_of_another(patch: pytest.MonkeyPatch, path: Path) -> None:
    patch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)


def test_an_interrupted_write_leaves_the_file_as_it_was(path: Path) -> None:
    def interrupt_write() -> None:
        with replacing(path) as write:
            write("after")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt_write()
    assert path.read_text(encoding="utf-8") == "before"
    assert list(path.parent.iterdir()) == [path]


def test_a_disk_that_is_full_at_the_end_is_reported_and_costs_nothing_that_was_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _disk_is_full(monkeypatch, path)
    with pytest.raises(ConfigurationError, match="No space left"):
        write_text(path, "after")
    assert path.read_text(encoding="utf-8") == "before"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("spoil", [_folder_is_not_writable, _file_is_mounted, _file_is_of_another])
def test_a_file_whose_place_no_other_can_take_is_written_as_it_is(
    path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Spoil
) -> None:
    before = path.stat().st_ino
    spoil(monkeypatch, path)
    check_writable(path)
    write_text(path, "after")
    assert (path.read_text(encoding="utf-8"), path.stat().st_ino) == ("after", before)
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_only_its_owner_reads_stays_so(path: Path) -> None:
    path.chmod(0o600)
    write_text(path, "after")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_no_file_beside_it_is_overwritten(path: Path) -> None:
    beside = path.with_name("report.json.part")
    beside.write_text("mine", encoding="utf-8")
    write_text(path, "after")
    assert beside.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nowhere/new.json", "No such file or directory"),
        ("report.json/new.json", "Not a directory"),
        (".", "Is a directory"),
        ("new.json", "Permission denied"),
    ],
)
@pytest.mark.parametrize("use", [check_writable, lambda path: write_text(path, "after")])
def test_a_file_that_cannot_be_written_is_named_with_the_reason(
    path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str, use: Callable[[Path], None]
) -> None:
    _folder_is_not_writable(monkeypatch, path)
    with pytest.raises(ConfigurationError) as refused:
        use(path.parent / name)
    wanted = f"{path.parent / name}: cannot be written ({why}); check the folder, its permissions"
    assert str(refused.value).startswith(wanted)


def test_a_link_stays_a_link_and_a_device_is_written_to(tmp_path: Path) -> None:
    file, link = tmp_path / "rows.json", tmp_path / "latest.json"
    link.symlink_to(file)
    reading, terminal = os.openpty()
    for path in (link, Path(os.ttyname(terminal))):
        with replacing(path) as write:
            write("text")
    assert (link.is_symlink(), file.read_text(encoding="utf-8")) == (True, "text")
    assert sorted(tmp_path.iterdir()) == [link, file]
    assert os.read(reading, 9) == b"text"
    os.close(terminal)
    os.close(reading)
