"""`import rag_nodes`: all public names are there, and none costs anything before it is used."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tomllib
from collections import defaultdict
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.node_parser import NodeParser
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.readers.base import BaseReader

import rag_nodes
from rag_nodes.parsers import PRESETS, Preset

ROOT = Path(__file__).parents[1]
HEAVY = ("gradio", "qdrant_client", "pymupdf", "openai", "ray", "llama_index", "lxml", "numpy")


def loaded_after(code: str) -> set[str]:
    """The heavy packages a fresh interpreter has imported after this code."""
    report = f"\nimport json, sys\nprint(json.dumps([n for n in {HEAVY} if n in sys.modules]))"
    run = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, text=True, check=True
    )
    return set(json.loads(run.stdout))


def test_importing_the_package_loads_no_framework_and_no_client() -> None:
    assert loaded_after("import rag_nodes; rag_nodes.__version__; dir(rag_nodes)") == set()


def test_all_public_names_together_load_llama_index_and_no_client() -> None:
    assert loaded_after("from rag_nodes import *") == {"llama_index", "numpy"}


def test_the_public_names_are_complete_and_sorted() -> None:
    def in_order(name: str) -> tuple[bool, bool, str]:
        return not name.isupper(), name[0].islower() or name.startswith("_"), name

    assert rag_nodes.__all__ == sorted(rag_nodes.__all__, key=in_order)
    assert set(rag_nodes.__all__) <= set(dir(rag_nodes))


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_the_class_of_every_preset_is_found_also_before_anybody_lists_it(preset: Preset) -> None:
    assert getattr(rag_nodes, preset.parser.__name__) is preset.parser
    assert getattr(rag_nodes.parsers, preset.parser.__name__) is preset.parser


@pytest.mark.parametrize("name", sorted(set(rag_nodes.__all__) - {"__version__"}))
def test_type_checkers_and_the_interpreter_find_a_name_in_the_same_place(name: str) -> None:
    tree = ast.parse((ROOT / "src/rag_nodes/__init__.py").read_text(encoding="utf-8"))
    (home,) = (
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}
    )
    assert getattr(rag_nodes, name) is getattr(import_module(str(home)), name)
    assert name in import_module(str(home)).__dict__


def test_the_version_is_that_of_the_installed_package() -> None:
    assert rag_nodes.__version__ == version("rag-nodes")


def test_every_module_is_an_attribute_without_being_imported_first() -> None:
    code = "import rag_nodes; rag_nodes.errors.RagNodesError; rag_nodes.parsers.SpanNodeParser"
    assert loaded_after(code) == {"llama_index", "numpy"}


def test_the_list_of_parsers_costs_no_import_until_one_is_made() -> None:
    assert loaded_after("from rag_nodes.parsers import PRESETS, get_parser; list(PRESETS)") == set()


@pytest.mark.parametrize("name", ["no_such_name", "_private", "__wrapped__", "a b"])
def test_a_name_that_does_not_exist_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(rag_nodes, name)


def test_what_llama_hub_is_told_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hub = project["tool"]["llamahub"]
    classes = hub["class_authors"]
    package = import_module(hub["import_path"])
    kinds = (NodeParser, BaseReader, BaseRetriever, BaseQueryEngine, BaseNodePostprocessor)
    assert {preset.parser.__name__ for preset in PRESETS.values()} <= set(classes)
    assert all(issubclass(getattr(package, name), kinds) for name in classes)
    assert hub["contains_example"] == any((ROOT / "examples").glob("*.py"))


def test_a_class_name_means_one_thing_in_the_whole_package() -> None:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted((ROOT / "src/rag_nodes").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
