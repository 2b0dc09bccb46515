"""`import rag_nodes`: all public names are there, and none costs anything before it is used."""

import ast
import json
import pydoc
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from inspect import isclass, iscoroutinefunction, isfunction, signature
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.node_parser import NodeParser
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.readers.base import BaseReader

import rag_nodes
from rag_nodes import (
    AtomicIngestionPipeline,
    Comparison,
    EmbeddingGuard,
    Filter,
    QueryOptions,
    RagNodesError,
    RagNodesRetriever,
    RagNodesVectorStore,
    SectionSummary,
    SentencePostprocessor,
    ServerOptions,
)
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.evaluation import StoredCollection, recommend
from rag_nodes.parsers import PRESETS, SpanNodeParser
from rag_nodes.readers import Limits

ROOT = Path(__file__).parents[1]
HEAVY = ("gradio", "qdrant_client", "pymupdf", "openai", "ray", "llama_index", "lxml", "numpy",
         "chardet", "bs4", "justhtml", "markdownify", "yaml")  # fmt: skip


def loaded_after(*steps: str) -> list[set[str]]:
    """The heavy packages a fresh interpreter has imported after each of some steps."""
    report = f"print(json.dumps([n for n in {HEAVY} if n in sys.modules]))"
    code = "\n".join(["import json, sys", *(f"{step}\n{report}" for step in steps)])
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [set(json.loads(line)) for line in run.stdout.splitlines()]


def test_nothing_heavy_is_loaded_before_it_is_used_and_no_client_by_any_name() -> None:
    packages = loaded_after(
        "import rag_nodes; rag_nodes.__version__; dir(rag_nodes)",
        "import rag_nodes.readers",
        "from rag_nodes.parsers import PRESETS, get_parser; list(PRESETS)",
        "rag_nodes.core.errors.RagNodesError; rag_nodes.parsers.SpanNodeParser",
        "from rag_nodes import *",
    )
    of_nodes = {"llama_index", "numpy", "chardet", "yaml"}
    assert packages == [set(), set(), set(), of_nodes, of_nodes]


def test_the_public_names_are_complete_and_sorted() -> None:
    def in_order(name: str) -> tuple[bool, bool, str]:
        return not name.isupper(), name[0].islower() or name.startswith("_"), name

    assert rag_nodes.__all__ == sorted(rag_nodes.__all__, key=in_order)
    assert set(rag_nodes.__all__) <= set(dir(rag_nodes))


def test_the_class_of_every_preset_is_found_also_before_anybody_lists_it() -> None:
    for preset in PRESETS.values():
        for place in (rag_nodes, rag_nodes.parsers):
            assert getattr(place, preset.parser.__name__) is preset.parser


def test_type_checkers_and_the_interpreter_find_every_name_in_the_same_place() -> None:
    tree = ast.parse((ROOT / "src/rag_nodes/__init__.py").read_text(encoding="utf-8"))
    homes = {
        alias.name: str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for name in set(rag_nodes.__all__) - {"__version__"}:
        home = import_module(homes[name])
        assert getattr(rag_nodes, name) is home.__dict__[name] is getattr(home, name)


def test_the_version_is_that_of_the_installed_package() -> None:
    assert rag_nodes.__version__ == version("rag-nodes")


@pytest.mark.parametrize("name", ["no_such_name", "_private", "__wrapped__", "a b"])
def test_a_name_that_does_not_exist_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=name):
        getattr(rag_nodes, name)


CLASSES = [
    *(public for name in rag_nodes.__all__ if isclass(public := getattr(rag_nodes, name))),
    *(Limits, StoredCollection),
]


@pytest.mark.parametrize("public", [kind for kind in CLASSES if kind is not RagNodesError])
def test_constructors_refuse_unknown_keywords_and_list_their_own(public: type) -> None:
    with pytest.raises(ConfigurationError, match="unheard_of") as refused:
        public(unheard_of=1)
    own = set(signature(public).parameters) - {"args", "options", "callback_manager", "id_func"}
    assert own <= set(re.findall(r"\w+", str(refused.value)))


def test_a_filter_by_file_is_answered_with_the_file_name() -> None:
    with pytest.raises(ConfigurationError, match="unknown option 'file'; use file_name"):
        Filter(file="manual.pdf")


@pytest.mark.parametrize(
    ("public", "options", "reason"),
    [
        (EmbeddingGuard, {"max_tokens": 0}, "max_tokens: must be at least 64"),
        (EmbeddingGuard, {"margin": 2}, "margin: must be at most 1"),
        (SectionSummary, {"concurrency": "x"}, "concurrency: must be a valid integer"),
    ],
)
def test_a_value_that_pydantic_refuses_is_a_configuration_error(
    public: type, options: dict[str, object], reason: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"{public.__name__}: {reason}"):
        public(**options)


@pytest.mark.parametrize(
    ("public", "typed", "meant"),
    [
        (QueryOptions, "topk", "top_k"),
        (Filter, "page", "pages"),
        (SentencePostprocessor, "budgett", "budget"),
        (RagNodesRetriever, "documents_ids", "document_ids"),
        (Comparison, "embedding_model", "embed_model"),
        (AtomicIngestionPipeline, "doc_store", "docstore"),
        (EmbeddingGuard, "max_token", "max_tokens"),
        (ServerOptions, "grcp", "grpc"),
    ],
)
def test_a_misspelt_keyword_is_answered_with_the_closest_one(
    public: type, typed: str, meant: str
) -> None:
    with pytest.raises(ConfigurationError, match=rf"{typed}.*; did you mean {meant}\?"):
        public(**{typed: 1})


METHODS = [
    pytest.param(method, id=method.__qualname__)
    for public in CLASSES
    if not issubclass(public, (SpanNodeParser, RagNodesVectorStore))  # LlamaIndex calls theirs
    for name, method in vars(public).items()
    if isfunction(method) and not name.startswith(("_", "model_"))
    if len(signature(method).parameters) > 1 and "kwargs" not in str(signature(method))
]


@pytest.mark.parametrize("method", METHODS)
async def test_a_misspelt_keyword_of_a_method_is_answered_with_those_there_are(
    method: Callable[..., Any],
) -> None:
    _, first, *_ = signature(method).parameters
    name = method.__qualname__
    with pytest.raises(ConfigurationError, match=rf"{name}: .*'{first}x'.* takes: {first}"):
        await method(None, **{f"{first}x": 1})


def test_a_checked_method_of_coroutines_is_known_as_such() -> None:
    assert iscoroutinefunction(Comparison.aask)


def documented_functions() -> dict[str, Any]:
    """All functions that `rag_nodes` or the reference of the API names."""
    pages = sorted((ROOT / "docs/reference/api").glob("*.md"))
    texts = "".join(page.read_text(encoding="utf-8") for page in pages)
    names = {f"rag_nodes.{name}" for name in rag_nodes.__all__}
    names |= set(re.findall(r"^::: (rag_nodes\.[\w.]+)", texts, re.MULTILINE))
    values = {name: pydoc.locate(name) for name in sorted(names)}
    return {name: value for name, value in values.items() if isfunction(value)}


PASSING_ON = {"rag_nodes.aingest", "rag_nodes.aingest_documents", "rag_nodes.ask",
              "rag_nodes.get_parser", "rag_nodes.load_parser"}  # fmt: skip
"""Functions with no option but those of another, which refuses what it does not know."""


@pytest.mark.parametrize("name", sorted(documented_functions().keys() - PASSING_ON))
def test_a_misspelt_keyword_of_a_function_is_answered_with_the_closest_one(name: str) -> None:
    function = documented_functions()[name]
    meant = next(iter(signature(function).parameters))
    with pytest.raises(ConfigurationError, match=rf"'{meant}x'; did you mean {meant}\?"):
        function(**{f"{meant}x": 1})


@pytest.mark.parametrize(
    ("function", "given", "typed", "meant"),
    [
        (rag_nodes.aingest, {"paths": [], "parsers": {}, "store": None}, "limit", "limits"),
        (rag_nodes.ask, {"question": "Who?", "store": None}, "option", "options"),
        (rag_nodes.get_parser, {"name": "fixed"}, "chunk_sze", "chunk_size"),
        (rag_nodes.launch, {}, "prot", "port"),
        (rag_nodes.launch, {}, "document", "documents"),
        (recommend, {}, "parser", "parsers"),
        (recommend, {}, "cach", "cache"),
    ],
)
async def test_keywords_that_a_function_passes_on_are_proposed_beside_its_own(
    function: Callable[..., Any], given: dict[str, Any], typed: str, meant: str
) -> None:
    with pytest.raises(ConfigurationError, match=rf"'{typed}'; did you mean {meant}\?"):
        await function(**given, **{typed: 1})


def test_a_checked_function_shows_its_own_signature() -> None:
    assert list(signature(rag_nodes.read).parameters)[:2] == ["path", "limits"]
    assert "isolate: 'bool' = True" in pydoc.plain(pydoc.render_doc(rag_nodes.read))


def test_classes_declared_for_llama_hub_exist() -> None:
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
