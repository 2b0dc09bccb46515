"""Our engine and retriever as tools of LlamaIndex: alone, checked, planned, routed, divided."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from llama_index.core import Settings
from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RouterQueryEngine, SubQuestionQueryEngine
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import RouterRetriever
from llama_index.core.schema import Document, QueryBundle
from llama_index.core.selectors import LLMMultiSelector, LLMSingleSelector
from llama_index.core.tools import FunctionTool, QueryEngineTool, QueryPlanTool, RetrieverTool
from llama_index.core.tools.eval_query_engine import EvalQueryEngineTool
from llama_index.core.tools.query_plan import QueryNode
from llama_index.core.tools.tool_spec.load_and_search import LoadAndSearchToolSpec
from plant import MANUAL, QUESTION, offline_models
from scripted_llm import ScriptedLLM

from rag_nodes import (
    RagNodesQueryEngine,
    RagNodesRetriever,
    SentencePostprocessor,
    get_embedding,
    get_parser,
    ingest_documents,
    open_store,
)

ANSWER = "A spare battery starts the generator when the grid is down."
TEA = "Green tea is brewed at seventy degrees."
DOCUMENTS = [
    Document(text=MANUAL, id_="plant", metadata={"file_name": "plant.md"}),
    Document(text=TEA, id_="tea"),
]


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, "_llm", MockLLM())


@pytest.fixture(scope="module")
def stored() -> Iterator[dict[str, Any]]:
    parser = get_parser("sentence", chunk_size=1, chunk_overlap=0)
    with open_store() as store:
        ingest_documents(DOCUMENTS, {"sentence": parser}, store)
        yield {"store": store, "parser": parser, "models": offline_models()}


@pytest.fixture
def engines(stored: dict[str, Any]) -> list[QueryEngineTool]:
    """A tool for each document; without an LLM it quotes."""
    return [
        QueryEngineTool.from_defaults(
            RagNodesQueryEngine(**stored, document_ids=name), name=name, description=name
        )
        for name in ("plant", "tea")
    ]


async def test_an_engine_takes_the_question_of_its_tool_in_every_form(
    engines: list[QueryEngineTool],
) -> None:
    plant = engines[0]
    schema: Any = plant.metadata.fn_schema
    for output in (
        plant(QUESTION),
        plant(QueryBundle(QUESTION)),
        plant(input=QUESTION),
        plant(**schema(input=QUESTION).model_dump()),
        await plant.acall(QUESTION),
        await plant.acall(input=QUESTION),
    ):
        assert output.content == f"{ANSWER} [Source 1]"
        assert output.raw_input == {"input": QUESTION}
        [citation] = output.raw_output.metadata["answer"]["citations"]
        assert MANUAL[citation["start"] : citation["end"]] == ANSWER
    assert ANSWER in str(plant(topic=QUESTION)), "other arguments are asked as they are written"
    strict = QueryEngineTool.from_defaults(plant.query_engine, resolve_input_errors=False)
    with pytest.raises(ValueError, match="input"):
        strict(topic=QUESTION)


async def test_a_retriever_tool_reads_passages_with_their_metadata(stored: dict[str, Any]) -> None:
    retriever = RagNodesRetriever(**stored, similarity_top_k=9)
    selected = RetrieverTool.from_defaults(
        retriever, node_postprocessors=[SentencePostprocessor(budget=13)]
    )
    for output in (selected(QUESTION), await selected.acall(QUESTION)):
        [source, *_] = output.raw_output
        assert source.text == ANSWER
        assert output.content.startswith(f"Heading: Power\n\n{ANSWER}\n\n")
    for output in (
        RetrieverTool.from_defaults(retriever)(QueryBundle(QUESTION)),
        await RetrieverTool.from_defaults(retriever).acall(input=QUESTION),
    ):
        assert ANSWER in output.content
        assert [source.node.ref_doc_id for source in output.raw_output].count("plant") > 1


async def test_a_tool_that_checks_answers_passes_on_quotes(engines: list[QueryEngineTool]) -> None:
    class Quoted(BaseEvaluator):
        """Passes an answer that is quoted from its sources; fails any other."""

        async def aevaluate(
            self,
            query: str | None = None,  # noqa: ARG002
            response: str | None = None,
            contexts: Sequence[str] | None = None,
            **_: Any,
        ) -> EvaluationResult:
            quote = str(response).partition(" [Source")[0]
            is_quoted = any(quote in context for context in contexts or ())
            return EvaluationResult(passing=is_quoted, feedback="It is no quote.")

        def _get_prompts(self) -> dict[str, Any]:
            return {}

        def _update_prompts(self, prompts: dict[str, Any]) -> None: ...

    engine: Any = engines[0].query_engine
    tool = EvalQueryEngineTool.from_defaults(engine, name="plant", evaluator=Quoted())
    assert ANSWER in (await tool.acall(QUESTION)).content
    written = RagNodesQueryEngine.from_args(engine.retriever, llm=ScriptedLLM(lines=["A dog."]))
    tool = EvalQueryEngineTool.from_defaults(written, name="plant", evaluator=Quoted())
    assert (await tool.acall(QUESTION)).content.endswith("Reason: It is no quote.")


def test_a_plan_answers_a_question_with_what_another_tool_found(
    engines: list[QueryEngineTool],
) -> None:
    llm = ScriptedLLM(lines=["Both are known."])
    plan = QueryPlanTool.from_defaults(engines, get_response_synthesizer(llm=llm))
    first = QueryNode(id=1, query_str=QUESTION, tool_name="plant")
    second = QueryNode(id=2, query_str="How is tea brewed?", tool_name="tea", dependencies=[1])
    assert TEA in plan(nodes=[first, second]).content
    assert ANSWER in llm.prompts[-1]


def test_documents_of_a_loader_are_split_by_our_parser_and_searched() -> None:
    def load() -> list[Document]:
        """Load the documents."""
        return DOCUMENTS

    loader = FunctionTool.from_defaults(load, name="documents")
    kwargs = {
        "transformations": [get_parser("retrieval")],
        "embed_model": get_embedding("lexical"),
    }
    both: Any = LoadAndSearchToolSpec.from_defaults(loader, index_kwargs=kwargs)
    assert "Content loaded" in both.load()
    assert ANSWER in both.read(QUESTION)


@pytest.mark.parametrize("use_async", [False, True])
async def test_sub_questions_are_answered_by_our_engines(
    engines: list[QueryEngineTool], use_async: bool
) -> None:
    items = [
        {"sub_question": QUESTION, "tool_name": "plant"},
        {"sub_question": "How is tea brewed?", "tool_name": "tea"},
    ]
    llm = ScriptedLLM(lines=[json.dumps({"items": items}), "A battery; at seventy degrees."])
    engine = SubQuestionQueryEngine.from_defaults(
        engines,
        question_gen=LLMQuestionGenerator.from_defaults(llm=llm),
        response_synthesizer=get_response_synthesizer(llm=llm, use_async=use_async),
        use_async=use_async,
        verbose=False,
    )
    asked = "What starts the generator, and how is tea brewed?"
    response = await engine.aquery(asked) if use_async else engine.query(asked)
    assert str(response) == "A battery; at seventy degrees."
    assert ANSWER in llm.prompts[-1]
    assert TEA in llm.prompts[-1]
    assert {source.node.ref_doc_id for source in response.source_nodes} >= {"plant", "tea"}


def choose_tools(*numbers: int) -> ScriptedLLM:
    """Return an LLM that chooses these tools, counted from 1."""
    return ScriptedLLM(lines=[json.dumps([{"choice": n, "reason": "apt"} for n in numbers])])


async def test_a_router_asks_the_engines_and_retrievers_it_selects(
    engines: list[QueryEngineTool],
) -> None:
    single = RouterQueryEngine(LLMSingleSelector.from_defaults(llm=choose_tools(1)), engines)
    both = RouterQueryEngine(LLMMultiSelector.from_defaults(llm=choose_tools(1, 2)), engines)
    for response in (single.query(QUESTION), await single.aquery(QUESTION)):
        assert str(response) == f"{ANSWER} [Source 1]"
    for response in (both.query(QUESTION), await both.aquery(QUESTION)):
        assert ANSWER in str(response)
    tools = []
    for engine in engines:
        retriever: Any = engine.query_engine.retriever  # type: ignore[attr-defined]
        tools.append(RetrieverTool.from_defaults(retriever, description=engine.metadata.name))
    for numbers, expected in (((2,), {"tea"}), ((1, 2), {"plant", "tea"})):
        router = RouterRetriever(LLMMultiSelector.from_defaults(llm=choose_tools(*numbers)), tools)
        asked = f"{QUESTION} How is tea brewed?"
        for hits in (router.retrieve(asked), await router.aretrieve(asked)):
            assert {source.node.ref_doc_id for source in hits} == expected
