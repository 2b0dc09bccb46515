"""A preset written to a file and read again, and files that nobody should have to trust."""

import errno
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.node_parser import SentenceSplitter

from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers import (
    PRESETS,
    as_parser,
    get_parser,
    load_parser,
    load_preset,
    offered,
    preset_for,
    save_preset,
)
from rag_nodes.parsers.preset_files import LARGEST, _toml

GOOD: dict[str, Any] = {
    "schema_version": 1,
    "name": "manuals",
    "preset": "recursive",
    "options": {"unit": "tokens", "chunk_size": 150, "chunk_overlap": 0},
    "query": {"mode": "sparse", "budget": 800},
}


def written(folder: Path, **changes: Any) -> Path:
    path = folder / "preset.toml"
    plain = {**GOOD, **changes}
    path.write_text(_toml({key: one for key, one in plain.items() if one is not None}))
    return path


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_comes_back_from_a_file_as_it_was(tmp_path: Path, name: str) -> None:
    parser = get_parser(name)
    path = tmp_path / "kept.toml"
    save_preset(path, preset_for(parser, "kept", query={"mode": "sparse", "budget": 700}))
    found = load_preset(path)
    assert (found.name, dict(found.query)) == ("kept", {"mode": "sparse", "budget": 700})
    assert found.make().fingerprint == parser.fingerprint
    assert load_parser(path).to_dict() == parser.to_dict()


def test_texts_with_anything_in_them_survive_toml(tmp_path: Path) -> None:
    told = 'a "quote", a \\ backslash, \x7f, é, 日本 and\na line'
    path = tmp_path / "kept.toml"
    save_preset(path, preset_for(get_parser("fixed"), "kept", summary=told))
    assert load_preset(path).summary == told


def test_options_can_be_changed_where_it_is_loaded(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert load_preset(path).make(chunk_size=90).chunk_size == 90
    assert load_parser(path, chunk_size=90).to_dict()["chunk_size"] == 90


def test_a_preset_file_is_offered_to_visitors_by_its_name(tmp_path: Path) -> None:
    offer = offered([str(written(tmp_path))])
    assert list(offer)[-1] == "manuals"
    assert offer["manuals"].make().to_dict()["chunk_size"] == 150


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"preset": "os:system(command='true')"}, "unknown parser"),
        ({"preset": "llama_index.core.node_parser:SentenceSplitter()"}, "unknown parser"),
        ({"preset": "nosuch"}, "unknown parser 'nosuch'"),
        ({"preset": None}, "has no 'preset'"),
        ({"preset": ["recursive"]}, "preset must be a str"),
        ({"schema_version": 2}, "schema version 2"),
        ({"schema_version": True}, "schema_version must be a int"),
        ({"path": "os:system"}, "unknown key path"),
        ({"options": {"chunk_sise": 3}}, "unknown key options.chunk_sise"),
        ({"options": {"id_func": "os:system"}}, "unknown key options.id_func"),
        ({"options": {"callback_manager": {}}}, "unknown key options.callback_manager"),
        ({"options": {"chunk_size": -3}}, "chunk_size"),
        ({"options": {"chunk_size": "many"}}, "chunk_size"),
        ({"preset": "semantic", "options": {"embedding": "openai:x"}}, "names? a model"),
        (
            {"preset": "parent-child", "options": {"child_options": {"embedding": "openai:x"}}},
            "names? a model",
        ),
        ({"query": {"rerank": "os:system"}}, "unknown key query.rerank"),
        ({"query": {"prices": {}}}, "unknown key query.prices"),
        ({"name": "fixed"}, "is that of a preset"),
        ({"name": ""}, "1 to 80 letters"),
        ({"name": "a\x1b[31m"}, "1 to 80 letters"),
        ({"name": "x" * 81}, "1 to 80 letters"),
        ({"output_version": 0}, "cut differently"),
    ],
)
def test_what_is_wrong_is_said_with_the_file_and_nothing_of_it_is_run(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    path = written(tmp_path, **changes)
    with pytest.raises(ConfigurationError, match=said) as raised:
        load_preset(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("none.toml", None),
        ("torn.toml", b"schema_version = "),
        ("deep.toml", b"a = " + b"[" * 50_000),
        ("latin.toml", b"name = '\xe9'"),
        ("long.toml", b"#" * (LARGEST + 1)),
    ],
)
def test_a_file_that_is_no_preset_is_refused(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match="preset"):
        load_preset(path)


def test_a_splitter_of_another_package_is_not_written_to_a_file() -> None:
    with pytest.raises(ConfigurationError, match="no preset file names"):
        preset_for(as_parser(SentenceSplitter()), "stock")


def test_only_toml_is_written(tmp_path: Path) -> None:
    preset = preset_for(get_parser("fixed"), "kept")
    with pytest.raises(ConfigurationError, match=r"ends in \.toml"):
        save_preset(tmp_path / "kept.json", preset)
    with pytest.raises(ConfigurationError, match="cannot be written"):
        save_preset(tmp_path / "nowhere" / "kept.toml", preset)


def test_a_disk_that_is_full_costs_no_preset_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "kept.toml"
    save_preset(path, preset_for(get_parser("fixed"), "kept"))
    before = path.read_bytes()
    monkeypatch.setattr("rag_nodes.files.os.fsync", full)
    with pytest.raises(ConfigurationError, match="No space left on device"):
        save_preset(path, preset_for(get_parser("recursive"), "kept"))
    assert path.read_bytes() == before
