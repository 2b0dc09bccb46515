"""What the package says of itself, held against what is true before anything is published."""

import re
import runpy
import tomllib
from collections.abc import Iterable
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
INTEGRATIONS = [ROOT / "parsers", ROOT / "postprocessors"]
"""Packages that carry our classes under LlamaIndex's namespace."""
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
MODULES = {
    "huggingface-hub": "huggingface_hub",
    "llama-index-embeddings-fastembed": "llama_index.embeddings.fastembed",
    "llama-index-embeddings-openai": "llama_index.embeddings.openai",
    "llama-index-llms-openai": "llama_index.llms.openai",
    "llama-index-llms-openai-like": "llama_index.llms.openai_like",
    "markdown-it-py": "markdown_it",
    "qdrant-client": "qdrant_client",
    "qdrant-edge-py": "qdrant_edge",
}
"""Modules that are not called like the distribution that brings them."""
IS_RELEASED = re.search(r"^## \[?\d", CHANGELOG, re.MULTILINE) is not None


def test_before_a_release_every_install_line_of_the_documentation_works_from_a_checkout() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for wanted in re.findall(r"^pip install (\S+)", "".join(blocks), re.MULTILINE):
            assert IS_RELEASED or wanted.strip("\"'").startswith("."), (page.name, wanted)


def test_every_page_installs_one_of_the_sets_of_extras_that_the_page_of_installing_names() -> None:
    install = (ROOT / "docs/get-started/install.md").read_text(encoding="utf-8")
    sets = set(re.findall(r"`pip install \"\.\[([\w,]+)\]\"`", install))
    assert sets
    assert all(extras.split(",")[0] == "pdfium" for extras in sets)
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.*")]
    texts = {page.name: page.read_text(encoding="utf-8", errors="replace") for page in pages}
    for name, text in texts.items():
        for extras in re.findall(r"pip install [^\n`]*?\[([\w,]*,[\w,]*)\]", text):
            assert extras in sets or name == "runbook.md", (
                name,
                extras,
            )  # which serves a nightly job


def test_before_a_release_the_package_calls_itself_an_alpha() -> None:
    project = _project(ROOT)["project"]
    (status,) = (
        classifier
        for classifier in project["classifiers"]
        if classifier.startswith("Development Status")
    )
    assert IS_RELEASED or status == "Development Status :: 3 - Alpha"


def test_the_wheel_is_built_and_tried_before_a_change_is_accepted() -> None:
    assert "make wheel\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_ci_runs_the_commands_of_the_readme() -> None:
    assert "make readme\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = runpy.run_path(str(ROOT / "scripts" / "docs" / "run_readme.py"))["blocks_of"](page)
    assert [kind for kind, _ in blocks] == ["sh", "python", "sh", "py"]
    assert blocks[0][1].startswith("pip install")


@pytest.mark.parametrize("page", ["README.md", "docs/guides/app.md"])
def test_the_first_app_of_a_reader_compares_no_model_that_repeats_its_prompt(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```py\n(.*?)```", text, flags=re.DOTALL)
    [first, *_] = [block for block in blocks if "build_app(" in block]
    assert "MockLLM" not in first


def test_the_front_page_begins_with_the_commands_of_a_fresh_machine_and_a_pipeline() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    for start, last in (
        ("make demo", 30),
        ("make test", 30),
        ("pip install", 30),
        ("select =", 50),
    ):
        assert any(line.startswith(start) for line in lines[:last]), start
    assert len(lines) <= 130


STOCK = "llama-index-vector-stores-qdrant"
"""LlamaIndex's own vector store, which takes our nodes and reads our collections without our code:
see `tests/llamaindex` and `tests/query/test_stock_collections.py`."""


def test_every_extra_brings_what_the_source_imports() -> None:
    project = _project(ROOT)["project"]
    sources = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "src" / "rag_nodes").rglob("*.py")
    )
    for extra, wanted in project["optional-dependencies"].items():
        if extra == "all":
            continue
        names = set(map(_distribution, wanted)) - {"rag-nodes", STOCK}  # a further extra of ours
        modules = {MODULES.get(name, name) for name in names}
        for module in modules:
            assert re.search(rf"(import|from) {re.escape(module)}\b", sources), (extra, module)


def test_all_brings_every_extra() -> None:
    project = _project(ROOT)["project"]
    extras = project["optional-dependencies"]
    (everything,) = extras["all"]
    named = everything.partition("[")[2].rstrip("]").split(",")
    assert sorted(named) == sorted(extras.keys() - {"all", "ray"})  # ray is for several machines


def test_the_app_brings_what_opens_a_file_and_keeps_its_chunks() -> None:
    project = _project(ROOT)["project"]
    wanted = " ".join(project["optional-dependencies"]["app"])
    (ours,) = re.findall(r"rag-nodes\[(.+?)\]", wanted)
    assert {"docx", "html", "qdrant"} <= set(ours.split(","))
    assert {"pdf", "pdfium"}.isdisjoint(ours.split(","))  # the licence decides which one


def test_one_version_stands_in_all_that_is_published() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"]
    assert {_project(folder)["project"]["version"] for folder in [ROOT, *INTEGRATIONS]} == {cited}


@pytest.mark.parametrize("folder", INTEGRATIONS, ids=lambda folder: folder.name)
def test_an_integration_is_what_its_name_the_hub_and_our_own_package_say(folder: Path) -> None:
    ours, theirs = _project(ROOT), _project(folder)
    hub = theirs["tool"]["llamahub"]
    module = import_module(hub["import_path"])
    assert theirs["project"]["name"] == hub["import_path"].replace(".", "-").replace("_", "-")
    assert [*hub["class_authors"]] == module.__all__
    assert hub["class_authors"].items() <= ours["tool"]["llamahub"]["class_authors"].items()
    for key in ("license", "requires-python"):
        assert theirs["project"][key] == ours["project"][key]
    assert {*theirs["project"]["dependencies"]} - {*ours["project"]["dependencies"]} == {
        "rag-nodes>=0.1,<0.2"
    }
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_every_integration_is_built_and_tested_before_a_change_is_accepted() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [built] = re.findall(r"^INTEGRATIONS := (.*)$", makefile, re.MULTILINE)
    options = _project(ROOT)["tool"]["pytest"]
    names = {folder.name for folder in INTEGRATIONS}
    assert {*built.split()} == names == {path.parent.name for path in ROOT.glob("*/pyproject.toml")}
    assert names <= {*options["testpaths"]} & {*options["pythonpath"]}


def test_the_readme_on_the_package_index_has_no_dead_link() -> None:
    project = _project(ROOT)
    hook = project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    relative = re.compile(r"\]\((?!https?://|#)")
    assert relative.search(page)
    for substitution in hook["substitutions"]:
        page = re.sub(substitution["pattern"], substitution["replacement"], page)
    assert not relative.search(page)


def test_a_release_is_built_from_what_passed_the_same_command_as_every_change() -> None:
    workflows = ROOT / ".github" / "workflows"
    for name in ("test", "release"):
        flow = yaml.safe_load((workflows / f"{name}.yml").read_text(encoding="utf-8"))
        first = next(iter(flow["jobs"].values()))
        assert {"run": "bash .ci/run"} in first["steps"], name
    flow = yaml.safe_load((workflows / "release.yml").read_text(encoding="utf-8"))
    assert flow["jobs"]["publish"]["needs"] == "build"


def test_every_python_that_the_package_index_is_told_of_is_tried_before_a_change_lands() -> None:
    project = _project(ROOT)["project"]
    prefix = "Programming Language :: Python :: 3."
    classifiers = [
        classifier.rpartition(" ")[2]
        for classifier in project["classifiers"]
        if classifier.startswith(prefix)
    ]
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["test"]["strategy"]["matrix"]["python"] == classifiers
    assert project["requires-python"] == f">={classifiers[0]}"


def test_an_audit_that_could_look_nothing_up_does_not_pass() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"]
    assert "pip-audit --strict " in jobs["audit"]["steps"][-1]["run"]


def test_every_placeholder_of_the_owner_is_named_where_a_release_is_explained() -> None:
    release = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Release")[2]
    folders = [ROOT, *INTEGRATIONS]
    files = [file for folder in folders for file in folder.glob("*.*")]
    files += (ROOT / ".github").rglob("*.yml")
    with_owner = [
        file.relative_to(ROOT).as_posix()
        for file in files
        if file.is_file() and "/OWNER" in file.read_text(encoding="utf-8")
    ]
    assert with_owner
    assert [name for name in with_owner if f"`{name}`" not in release] == []


def test_only_pymupdf_has_a_licence_that_binds_what_is_built_with_it() -> None:
    brought = _brought_by(_extras())
    bound = {name for name in brought if "GPL" in _licence(name) or not _licence(name)}
    # PyMuPDF 2.0 has two parts; the licence of the last is in a file only.
    assert bound == {"pymupdf", "pymupdf4llm", "pymupdf-layout", "py-rust-stemmers"} & bound
    assert "pymupdf" in bound


def test_pdfs_are_read_searched_and_shown_without_agpl_and_onnxruntime() -> None:
    brought = _brought_by(["pdfium", "qdrant", "evaluate", "app"])
    assert {"pypdfium2", "gradio", "qdrant-client", "openpyxl", "lxml"} <= brought
    assert [
        name for name in brought if "AGPL" in _licence(name) or "Affero" in _licence(name)
    ] == []
    assert {"onnxruntime", "pymupdf"}.isdisjoint(brought)
    assert [name for name in brought - {"py-rust-stemmers"} if not _licence(name)] == []


def _extras() -> list[str]:
    """Return our extras as they are in this checkout, not as they were installed."""
    return sorted(_project(ROOT)["project"]["optional-dependencies"])


def _project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def _brought_by(extras: Iterable[str]) -> set[str]:
    """Return what installs with some of our extras, as far as it is installed here."""
    left = {("rag-nodes", extra) for extra in ("", *extras)}
    seen: set[tuple[str, str]] = set()
    while left:
        seen.add(requirement := left.pop())
        for wanted in map(Requirement, _requires(*requirement)):
            if wanted.marker is None or wanted.marker.evaluate({"extra": requirement[1]}):
                left |= {(canonicalize_name(wanted.name), extra) for extra in ("", *wanted.extras)}
        left -= seen
    return {name for name, _ in seen if _is_installed(name)}


def _requires(name: str, extra: str) -> list[str]:
    if name == "rag-nodes":
        project = _project(ROOT)["project"]
        return list(project["optional-dependencies"][extra] if extra else project["dependencies"])
    return list(metadata.requires(name) or []) if _is_installed(name) else []


def _is_installed(name: str) -> bool:
    return any(True for _ in metadata.Distribution.discover(name=name))


def _licence(name: str) -> str:
    fields = metadata.metadata(name)
    kinds = [line for line in fields.get_all("Classifier") or [] if line.startswith("License")]
    return " ".join(
        [fields.get("License-Expression") or "", fields.get("License") or "", *kinds]
    ).strip()


def _distribution(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement, maxsplit=1)[0]
