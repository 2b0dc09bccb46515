"""Documents to cited answers through an OpenAI-compatible server."""

import json
from pathlib import Path

import pytest
from openai_server import OpenAIServer

from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.compare import Comparison
from rag_nodes.models import Models, check_models, choose_models
from rag_nodes.parsers import COMPARED, get_parser
from rag_nodes.readers import read

KEY = "sk-canary-5f1c"
MANUAL = Path(__file__).parents[1] / "examples" / "corpus" / "manual.md"
QUESTION = "How long does manual control last?"
pytestmark = pytest.mark.usefixtures("no_configuration")


@pytest.fixture
def models(openai_server: OpenAIServer) -> Models:
    return choose_models(
        Settings(
            embedding="openai",
            llm="openai",
            embedding_model="an-embedding-nobody-has-heard-of",
            llm_model="a-model-nobody-has-heard-of",
            api_key=KEY,
            api_base=openai_server.base,
            retry_seconds=0,
        )
    )


def comparison(models: Models, *names: str) -> Comparison:
    parsers = {
        name: get_parser(name, **({"embed_model": models.embedding} if name == "semantic" else {}))
        for name in names
    }
    return Comparison(parsers, documents=read(MANUAL), models=models)


def test_four_parsers_answer_with_citations_and_the_question_is_embedded_once(
    models: Models, openai_server: OpenAIServer
) -> None:
    check_models(models)
    with comparison(models, *COMPARED) as compared:
        assert not compared.loaded.failed
        asked_before = len(openai_server.asked("embeddings"))
        report = compared.ask(QUESTION)
    assert [column.name for column in report.columns] == list(COMPARED)
    for column in report.columns:
        assert column.error is None
        assert column.answer is not None
        assert column.answer.kind == "generated"
        assert column.answer.answer_model == "a-model-nobody-has-heard-of"
        assert [citation.file_name for citation in column.answer.citations] == ["manual.md"]
    questions = [
        body for body in openai_server.asked("embeddings")[asked_before:] if QUESTION in str(body)
    ]
    assert len(questions) == 1
    assert KEY not in json.dumps(report.as_dict())
