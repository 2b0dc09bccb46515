"""Documents to cited answers through an OpenAI-compatible server, and every fault on the way."""

import json
from pathlib import Path

import pytest
from openai_server import FAILING, LIMITED, NO_QUOTA, TOO_LONG, UNAUTHORIZED, Fault, OpenAIServer

from rag_nodes.compare import Comparison
from rag_nodes.errors import RagNodesError
from rag_nodes.models import Models, check_models, choose_models
from rag_nodes.parsers import COMPARED, get_parser
from rag_nodes.pipeline import IngestReport
from rag_nodes.query import RagNodesQueryEngine
from rag_nodes.settings import Settings
from rag_nodes.store import open_store

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
    return Comparison(store=open_store(":memory:"), models=models, corpus="e2e", columns=parsers)


def test_four_parsers_answer_with_citations_and_the_question_is_embedded_once(
    models: Models, openai_server: OpenAIServer
) -> None:
    check_models(models)
    with comparison(models, *COMPARED) as compared:
        assert not compared.ingest([MANUAL]).failed
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


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (UNAUTHORIZED, "key"),
        (LIMITED, "rate"),
        (NO_QUOTA, "quota"),
        (FAILING, "500"),
        (TOO_LONG, "context length"),
        (Fault(body="garbage"), "answer"),
        (Fault(body="no-choices"), "answer"),
    ],
)
def test_a_column_whose_model_fails_says_why_while_the_other_answers(
    models: Models, openai_server: OpenAIServer, fault: Fault, words: str
) -> None:
    with comparison(models, "fixed", "heading") as compared:
        compared.ingest([MANUAL])
        vector = models.embedding.get_query_embedding(QUESTION)
        one, other = (
            RagNodesQueryEngine(
                store=compared.store,
                collection=compared.collection(name),
                models=models,
                parser_name=name,
            )
            for name in ("fixed", "heading")
        )
        openai_server.fail(fault, times=4)
        with pytest.raises(RagNodesError, match=f"(?i){words}") as failure:
            one.answer(QUESTION, question_vector=vector)
        openai_server.faults.clear()
        assert other.answer(QUESTION, question_vector=vector).citations
    assert KEY not in str(failure.value)


@pytest.mark.parametrize(
    "fault",
    [UNAUTHORIZED, FAILING, Fault(body="nan"), Fault(body="dimension"), Fault(body="count")],
)
def test_embedding_that_fails_during_ingestion_is_a_row_of_the_report_and_a_second_run_completes(
    models: Models, openai_server: OpenAIServer, fault: Fault
) -> None:
    with comparison(models, "heading") as compared:
        models.embedding.get_text_embedding("the dimension is known from here on")
        openai_server.fail(fault, times=40)
        broken: IngestReport = compared.ingest([MANUAL])
        assert broken.columns[0].error
        assert KEY not in json.dumps(broken.as_dict())
        openai_server.faults.clear()
        mended = compared.ingest([MANUAL])
        assert mended.columns[0].error is None
        assert mended.columns[0].written == mended.columns[0].chunks > 0
