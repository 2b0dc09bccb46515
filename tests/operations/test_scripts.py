"""The exported script: it runs as it is, holds no key, and nothing typed in becomes code."""

import ast
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import TokenTextSplitter
from pydantic import SecretStr

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.compare import Comparison
from rag_nodes.models import Models, choose_models
from rag_nodes.operations.scripts import script_name, script_of
from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.query import QueryOptions, RagNodesQueryEngine
from rag_nodes.readers.pdf import engines
from rag_nodes.store import open_store

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUESTION = "When must the sand filter be rinsed backwards?"
KEY = "sk-canary-4711"
EVIL = 'x\'); import os; os.abort() #\n"""\nraise SystemExit(7)\n{0.__class__}'


@pytest.fixture
def script(settings: Settings) -> Callable[..., str]:
    """The script of one parser under some settings."""

    def write(
        name: str = "fixed", used: Settings | None = None, options: Any = None, **parser: Any
    ) -> str:
        models = choose_models(used or settings)
        if not models.offline and "embed_model" in PRESETS[name].parser.model_fields:
            parser["embed_model"] = models.embedding
        parsers = {name: get_parser(name, **parser)}
        return script_of(Comparison(parsers, models=models, options=options), name)

    return write


def _run_here(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Run the script of the folder in this process, which has imported everything already."""
    path = str(folder / "exported.py")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [path, *arguments])
    runpy.run_path(path, run_name="__main__")


def test_an_exported_script_answers_from_no_file_of_an_earlier_run(
    script: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "exported.py").write_text(script("heading"), encoding="utf-8")
    (tmp_path / "rules.md").write_text("Quiet hours begin at ten.", encoding="utf-8")
    _run_here(tmp_path, monkeypatch, str(CORPUS / "handbook.pdf"), "--question", QUESTION)
    assert "2.4 bar" in capsys.readouterr().out
    _run_here(tmp_path, monkeypatch, str(tmp_path / "rules.md"), "--question", QUESTION)
    assert "2.4 bar" not in capsys.readouterr().out
    with pytest.raises(SystemExit, match="No document could be read"):
        _run_here(tmp_path, monkeypatch, "nosuch.pdf", "--question", QUESTION)
    assert "nosuch.pdf" in capsys.readouterr().err


def test_an_exported_script_answers_from_what_can_be_read_and_can_be_run_again(
    script: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written = script("heading", chunk_size=300, min_chunk_size=30)
    bad = tmp_path / "broken.pdf"
    bad.write_bytes(b"%PDF-1.7 nothing")
    arguments = [str(bad), str(CORPUS / "handbook.pdf"), "--question", QUESTION]
    (tmp_path / "exported.py").write_text(written, encoding="utf-8")
    _run_here(tmp_path, monkeypatch, *arguments)
    first = capsys.readouterr()
    assert "broken.pdf" in first.err
    assert "2.4 bar" in first.out
    assert "handbook.pdf, page 2" in first.out
    assert (tmp_path / "rag_nodes_export").is_dir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    arguments += ["--store", str(tmp_path / "rag_nodes_export")]
    second = subprocess.run(
        [sys.executable, "-I", str(tmp_path / "exported.py"), *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=elsewhere,
    )
    assert second.stdout == first.out
    assert first.err.splitlines()[-1] == second.stderr.splitlines()[-1]


def test_a_script_for_parents_and_children_finds_children_and_reads_parents(
    script: Callable[..., str],
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "exported.py").write_text(script("parent-child"), encoding="utf-8")
    folder = tmp_path / "kept"
    manual = str(CORPUS / "handbook.txt")
    _run_here(tmp_path, monkeypatch, manual, "--store", str(folder), "--question", QUESTION)
    assert "2.4 bar" in capsys.readouterr().out
    with open_store(folder) as store:
        [kept] = store.collections()
        engine = RagNodesQueryEngine(
            store=store,
            collection=kept.name,
            models=choose_models(settings),
            options=QueryOptions(granularity="chunks"),
        )
        hits = engine.answer(QUESTION).hits
    assert all(hit.surroundings and hit.node.text in hit.read.text for hit in hits)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_script_of_every_preset_makes_the_parser_of_the_session(
    script: Callable[..., str], preset: str
) -> None:
    written = script(preset, language="de")
    names: dict[str, Any] = {"get_parser": get_parser}
    [value] = [
        node.value
        for node in ast.parse(written).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PARSER"
    ]
    parser = eval(ast.unparse(value), names)  # noqa: S307 - the script under test
    assert parser == get_parser(preset, language="de")
    called = {
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(written))
        if isinstance(node, ast.Call)
    }
    assert {"build_pipeline", "pipeline.run"} <= called


def test_offline_the_script_knows_no_key(script: Callable[..., str]) -> None:
    written = script()
    assert "OPENAI_API_KEY" not in written
    assert "environ" not in written
    assert "import os" not in written


def test_online_the_key_is_read_from_the_environment_and_never_written(
    script: Callable[..., str],
) -> None:
    used = Settings(
        embedding="openai", llm="openai", api_key=SecretStr(KEY), llm_model="house-chat",
        api_base="http://127.0.0.1:9/v1",
    )  # fmt: skip
    written = script("semantic", used)
    assert KEY not in written
    assert 'api_key=os.environ.get("OPENAI_API_KEY")' in written
    assert "llm_model='house-chat'" in written
    assert "api_base='http://127.0.0.1:9/v1'" in written
    assert "model_copy(update={'embed_model': models.embedding})" in written
    compile(written, "script", "exec")


def test_an_embedding_model_alone_online_leaves_the_answers_offline(
    script: Callable[..., str],
) -> None:
    used = Settings(embedding="openai", llm="extractive", api_key=SecretStr(KEY))
    written = script("fixed", used)
    assert "embedding='openai'" in written
    assert "llm='extractive'" in written
    assert KEY not in written


def test_models_by_their_path_are_written_with_their_options_and_without_keys(
    script: Callable[..., str],
) -> None:
    used = Settings(
        embedding="own_models:LettersEmbedding",
        embedding_options={"letters": "xyz", "api_key": KEY},
        llm="own_models:ParrotLLM",
    )
    written = script("fixed", used)
    assert "embedding='own_models:LettersEmbedding'" in written
    assert "embedding_options={'letters': 'xyz'}" in written
    assert "llm='own_models:ParrotLLM'" in written
    assert KEY not in written
    assert "environ" not in written
    compile(written, "script", "exec")


@pytest.mark.parametrize("home", ["__main__", "local"])
def test_classes_of_the_users_app_are_left_out_and_named_in_comments(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class House(MockLLM):
        api_key: str = KEY

    class HouseEmbedding(MockEmbedding):
        pass

    class HouseSplitter(TokenTextSplitter):
        pass

    if home == "__main__":
        for kind in (House, HouseEmbedding, HouseSplitter):
            kind.__module__, kind.__qualname__ = home, kind.__name__
    models = Models.of(embed_model=HouseEmbedding(embed_dim=8), llm=House())
    columns = {"own": HouseSplitter(), "ours": "retrieval"}
    written = script_of(Comparison(columns, models=models), "own")
    assert "splitter=HouseSplitter(...)" in written
    assert "RagNodesQueryEngine(llm=House(...), embed_model=models.embedding, ...)" in written
    assert "Models.of(embed_model=HouseEmbedding(...), llm=models.llm)" in written
    assert f"{home}:" not in written
    assert KEY not in written
    (tmp_path / "exported.py").write_text(written, encoding="utf-8")
    _run_here(tmp_path, monkeypatch, str(CORPUS / "handbook.txt"), "--question", QUESTION)
    assert "2.4 bar" in capsys.readouterr().out


def test_the_script_names_the_extra_of_the_pdf_library_that_is_installed(
    script: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert '"rag-nodes[pdf,qdrant]"' in script()
    assert "PyMuPDF, AGPL" in script()
    monkeypatch.setitem(engines.LIBRARIES, "pymupdf", "not_installed_here")  # type: ignore[misc]
    assert '"rag-nodes[pdfium,qdrant]"' in script()
    assert "AGPL" not in script()


def test_nothing_typed_in_becomes_code(script: Callable[..., str]) -> None:
    doubled = EVIL.replace("{", "{{").replace("}", "}}")
    used = Settings(
        embedding="openai", llm="openai", api_key=SecretStr(KEY), embedding_model=EVIL,
        llm_model=EVIL, prompt=f"{{context}} {{question}} {doubled}",
    )  # fmt: skip
    tree = ast.parse(script("fixed", used))
    plain = ast.parse(script("fixed"))
    kinds = [type(node) for node in tree.body if not isinstance(node, ast.Import)]
    assert kinds == [type(node) for node in plain.body if not isinstance(node, ast.Import)]
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert "os.abort" not in calls
    assert "SystemExit" not in calls
    literals = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert EVIL in literals


def test_options_of_the_answers_are_those_of_the_session(script: Callable[..., str]) -> None:
    options = QueryOptions(budget=None, top_k=7, mode="sparse", retrieval_only=True)
    # A comparison reads as much for every question.
    options_text = "budget=None, top_k=7, mode='sparse', step_factor=1.0, retrieval_only=True"
    assert options_text in " ".join(script(options=options).replace("\n", " ").split())
    whole = script(options=QueryOptions(similarity_cutoff=1, cache_ttl_hours=0))
    assert "similarity_cutoff=1" in whole
    assert "cache_ttl_hours=0" in whole


def test_an_unknown_parser_is_refused(settings: Settings) -> None:
    parsers = {"fixed": get_parser("fixed")}
    comparison = Comparison(parsers, models=choose_models(settings))
    with pytest.raises(ConfigurationError, match="choose another"):
        script_of(comparison, "heading")


def test_the_name_of_a_script_is_a_plain_file_name() -> None:
    assert script_name("../../etc/x y") == "rag_______etc_x_y.py"
