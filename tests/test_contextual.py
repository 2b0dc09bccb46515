"""What is embedded with a chunk: the row that asks a model is measured with a real one or not."""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from llama_index.core import Document
from openai_server import OpenAIServer
from pydantic import SecretStr

from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.importers import load_dataset
from rag_nodes.models.openai import OpenAIServerLLM

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
PUMPS = " ".join(f"Pump {number} is red and stands beside the others." for number in range(90))
TEXT = f"# Tank\n\nIt holds nine litres of water.\n\n# Pumps\n\n{PUMPS}"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, no_configuration: Path) -> ModuleType:
    del no_configuration
    monkeypatch.syspath_prepend(BENCHMARKS)
    return import_module("contextual")


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    path = tmp_path / "questions.csv"
    path.write_text("question,quote\nHow much water?,It holds nine litres of water\n")
    document = Document(text=TEXT, id_="manual", metadata={"text_format": "markdown"})
    return load_dataset(path, [document])


def test_neither_a_mock_nor_nothing_is_a_model_to_measure_with(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert script.real_model() is None
    monkeypatch.setenv("RAG_NODES_LLM", "llama_index.core.llms:MockLLM")
    assert script.real_model() is None


def test_a_model_that_answers_gives_its_row(
    script: ModuleType,
    dataset: Dataset,
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    openai_server.answer = "It is about the tank."
    llm = OpenAIServerLLM(
        model="tea-1", api_base=openai_server.base, api_key=SecretStr("sk"), retry_seconds=0
    )
    monkeypatch.setattr(script, "MiniLM", lambda: "lexical")
    kept = script.measure(dataset, llm, None)
    for systems in kept.systems.values():
        assert list(systems) == list(script.variants(llm, None))
        assert "headings, summary by a model" in systems
    assert len(openai_server.asked("chat/completions")) > 2


def test_a_row_that_was_not_measured_says_so_and_has_no_number(
    script: ModuleType, dataset: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    del tmp_path
    monkeypatch.setattr(script, "MiniLM", lambda: "lexical")
    kept = script.measure(dataset, None, None)
    table = import_module("results.contextual")

    def load(_cls: Any, _name: str) -> Any:
        return kept

    monkeypatch.setattr(table.Kept, "load", classmethod(load))
    lines = table.contextual().splitlines()
    [by_model] = [line for line in lines if "by a model" in line]
    assert {cell.strip() for cell in by_model.split("|")[2:-1]} == {"not measured here"}
    measured = [line for line in lines[2:] if "by a model" not in line]
    assert len(measured) == 3
    assert not any("not measured" in line for line in measured)
