"""Parsers of other packages: found by entry point, imported when asked for, never in our way."""

import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from llama_index.core.schema import Document
from stock_callers import text_nodes

from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers import (
    PRESETS,
    FixedSizeNodeParser,
    OptionRange,
    SpanNodeParser,
    get_parser,
    offered,
)
from rag_nodes.parsers.offer import in_few_words, ranges_of
from rag_nodes.parsers.plugins import GROUP, find_plugins, load_plugin, package_of
from rag_nodes.parsers.presets import parser_names

EXAMPLE = Path(__file__).parents[2] / "examples" / "custom_parser"
BUILT_IN: dict[str, type[SpanNodeParser]] = {"fixed": FixedSizeNodeParser}
Install = Callable[..., None]
PARSER = """
from rag_nodes.parsers import ChunkSpan, SpanNodeParser
class {name}(SpanNodeParser):
    def spans(self, source):
        return iter([ChunkSpan(source.packer.start, source.packer.end)])
"""


def install_metadata(folder: Path, name: str, entries: dict[str, str]) -> None:
    """What an installer writes next to a package's modules."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{key} = {value}" for key, value in entries.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs packages of a single module into a folder on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    modules: list[str] = []

    def add(distribution: str, entries: dict[str, str], module: str = "", code: str = "") -> None:
        install_metadata(tmp_path, distribution, entries)
        if module:
            (tmp_path / f"{module}.py").write_text(code)
            modules.append(module)
        find_plugins.cache_clear()

    yield add
    find_plugins.cache_clear()
    for module in modules:
        sys.modules.pop(module, None)


def test_a_plugin_is_found_without_being_imported_and_loaded_when_asked_for(
    install: Install,
) -> None:
    code = PARSER.format(name="WholeNodeParser")
    install("whole-parser", {"whole": "whole_plugin:WholeNodeParser"}, "whole_plugin", code)
    assert "whole" in find_plugins()
    assert package_of(find_plugins()["whole"][0]) == "whole-parser 1.0"
    assert "whole_plugin" not in sys.modules
    parser = load_plugin("whole", BUILT_IN)
    assert parser is not None
    assert parser().split_text("All of it.") == ["All of it."]


def test_a_name_nobody_offers_is_not_ours_to_judge() -> None:
    assert load_plugin("nobody-offers-this", BUILT_IN) is None


def test_a_plugin_that_takes_the_name_of_a_preset_is_refused(install: Install) -> None:
    install("rude-parser", {"fixed": "rude_plugin:Rude"})
    with pytest.raises(ConfigurationError, match=r"'fixed' is built in, and rude-parser 1\.0"):
        load_plugin("fixed", BUILT_IN)


def test_a_name_two_packages_offer_is_refused(install: Install) -> None:
    install("first-parser", {"shared": "first_plugin:First"})
    install("second-parser", {"shared": "second_plugin:Second"})
    with pytest.raises(ConfigurationError, match="uninstall all but one") as refused:
        load_plugin("shared", BUILT_IN)
    assert "first-parser 1.0" in str(refused.value)
    assert "second-parser 1.0" in str(refused.value)


def test_the_same_package_twice_on_the_path_is_one_offer(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("twin-parser", {"twin": "twin_plugin:Twin"})
    (tmp_path / "again").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "again"))
    install_metadata(tmp_path / "again", "twin-parser", {"twin": "twin_plugin:Twin"})
    find_plugins.cache_clear()
    assert len(find_plugins()["twin"]) == 1


def test_a_plugin_that_ends_the_program_when_it_is_imported_is_refused(install: Install) -> None:
    install("ending-parser", {"ending": "ending_plugin:X"}, "ending_plugin", "raise SystemExit(0)")
    with pytest.raises(ConfigurationError, match=r"ending-parser 1\.0 .*SystemExit: 0"):
        load_plugin("ending", BUILT_IN)


def test_a_broken_plugin_names_its_package_and_leaves_the_others_alone(install: Install) -> None:
    install("broken-parser", {"broken": "broken_plugin:X"}, "broken_plugin", "import not_here")
    code = PARSER.format(name="SoundNodeParser")
    install("sound-parser", {"sound": "sound_plugin:SoundNodeParser"}, "sound_plugin", code)
    assert {"broken", "sound"} <= set(find_plugins())
    assert load_plugin("sound", BUILT_IN) is not None
    with pytest.raises(ConfigurationError, match=r"broken-parser 1\.0 .*No module named 'not_he"):
        load_plugin("broken", BUILT_IN)


@pytest.mark.parametrize("target", ["LIMIT", "Strange", "missing"])
def test_an_entry_point_that_is_no_parser_is_refused(install: Install, target: str) -> None:
    code = "LIMIT = 3\nclass Strange: pass\n"
    install("odd-parser", {"odd": f"odd_plugin:{target}"}, "odd_plugin", code)
    with pytest.raises(ConfigurationError, match=r"'odd' of odd-parser 1\.0"):
        load_plugin("odd", BUILT_IN)


def test_a_plugin_whose_class_is_named_like_one_of_ours_is_refused(install: Install) -> None:
    code = PARSER.format(name="FixedSizeNodeParser")
    install("copy-parser", {"copy": "copy_plugin:FixedSizeNodeParser"}, "copy_plugin", code)
    with pytest.raises(ConfigurationError, match="calls itself 'FixedSizeNodeParser'"):
        load_plugin("copy", BUILT_IN)


def install_example(folder: Path) -> None:
    """Install `examples/custom_parser` as its pyproject says, without a build tool or network."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())
    for module in project["tool"]["setuptools"]["py-modules"]:
        shutil.copy(EXAMPLE / f"{module}.py", folder)
    install_metadata(folder, project["project"]["name"], project["project"]["entry-points"][GROUP])
    find_plugins.cache_clear()


@pytest.mark.usefixtures("install")
def test_the_ten_line_example_package_is_found_by_name_once_installed(tmp_path: Path) -> None:
    install_example(tmp_path)
    text = "# Title\n\nFirst paragraph.\n\n- a list\n- of two"
    parser = get_parser("paragraphs")
    assert type(parser).__name__ == "ParagraphNodeParser"
    nodes = text_nodes(parser([Document(text=text, id_="d")]))
    assert [node.text for node in nodes] == ["# Title", "First paragraph.", "- a list\n- of two"]
    for node in nodes:
        assert text[node.start_char_idx : node.end_char_idx] == node.text
        assert node.metadata["heading_path"] == ["Title"]


def test_the_example_is_as_short_as_we_say() -> None:
    lines = (EXAMPLE / "paragraph_parser.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 10


def test_a_plugin_is_offered_like_a_preset_with_sliders_from_its_fields(install: Install) -> None:
    code = (
        "from pydantic import Field\nfrom rag_nodes.parsers import ChunkSpan, SpanNodeParser\n"
        "class PackedNodeParser(SpanNodeParser):\n"
        '    """Packs things.\n\n    Args:\n        chunk_size: tokens of a node.\n    """\n'
        "    chunk_size: int = Field(default=100, ge=8)\n"
        "    share: float = Field(default=0.5, ge=0, le=1)\n"
        "    fast: bool = True\n"
        "    name: str = 'x'\n"
        "    def spans(self, source):\n        return iter(())\n"
    )
    install("packing-parser", {"packed": "packed_plugin:PackedNodeParser"}, "packed_plugin", code)
    assert parser_names()[-1] == "packed"
    assert "packed_plugin" not in sys.modules, "a name costs no import"
    preset = offered()["packed"]
    assert (preset.title, preset.summary) == ("packed", "Packs things")
    assert ranges_of(preset) == (
        OptionRange("chunk_size", "Chunk size, tokens", 20, 400, 1),
        OptionRange("share", "Share", 0, 1, 0.01),
    )
    assert in_few_words(preset.make().to_dict()) == "chunk_size 100 · share 0.5"


def test_a_plugin_that_cannot_be_made_is_left_out_of_the_offer_with_a_line_in_the_log(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    install("broken-parser", {"broken": "broken_plugin:X"}, "broken_plugin", "import not_here")
    needs = PARSER.format(name="NeedsNodeParser").replace(
        "    def spans", "    model: str\n    def spans"
    )
    install("needs-parser", {"needs": "needs_plugin:NeedsNodeParser"}, "needs_plugin", needs)
    assert list(offered()) == list(PRESETS)
    assert "parser broken is left out" in caplog.text
    assert "parser needs is left out" in caplog.text
