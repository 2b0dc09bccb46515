"""An agent of LlamaIndex that searches over stdio, and verifies a quotation before it cites it."""

import json
from pathlib import Path

import httpx
import pytest
from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from mcp_process import data, mcp_process
from openai_server import OpenAIServer, ToolCall
from tests.server.test_stdio import TEXT, fill

QUESTION = "How high is the machine?"
QUOTED = "The machine is two metres high."


def model(message: str) -> str | ToolCall:
    """Search for the question, verify a sentence of what was found, and cite it if it is exact."""
    if message == QUESTION:
        return ToolCall("search", {"query": message})
    reply = json.loads(message)
    if "passages" in reply:
        passage = reply["passages"][0]
        place = {key: passage[key] for key in ("document_id", "start", "end")}
        return ToolCall("quote", {**place, "text": QUOTED})
    if not reply["exact"] and reply["text_start"] is not None:
        place = {"start": reply["text_start"], "end": reply["text_end"]}
        return ToolCall("quote", {"document_id": reply["document_id"], **place, "text": QUOTED})
    return f"{QUOTED} ({reply['name']}, {reply['start']}-{reply['end']}, exact: {reply['exact']})"


# The workflows of LlamaIndex look at all members of an agent, which is a model of pydantic.
@pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecationWarning")
async def test_an_agent_of_llama_index_searches_and_verifies_what_it_cites(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    store = fill(tmp_path)
    openai_server.answer = model
    async with (
        httpx.AsyncClient() as client,
        mcp_process(tmp_path, "--store", str(store)) as session,
    ):
        llm = OpenAILike(
            model="test",
            api_base=openai_server.base,
            api_key="sk-none",
            is_chat_model=True,
            is_function_calling_model=True,
            async_http_client=client,
        )

        async def search(query: str) -> str:
            """Find passages."""
            return json.dumps(data(await session.call_tool("search", {"query": query})))

        async def quote(document_id: str, start: int, end: int, text: str) -> str:
            """Verify a quotation."""
            place = {"document_id": document_id, "start": start, "end": end, "text": text}
            return json.dumps(data(await session.call_tool("quote", place)))

        tools = [FunctionTool.from_defaults(async_fn=function) for function in (search, quote)]
        agent = FunctionAgent(tools=tools, llm=llm, streaming=False)
        handler = agent.run(user_msg=QUESTION)
        called = [
            event.tool_name
            async for event in handler.stream_events()
            if isinstance(event, ToolCallResult)
        ]
        answer = str(await handler)
    start = TEXT.index(QUOTED)
    assert called == ["search", "quote", "quote"]
    assert answer == f"{QUOTED} (note.md, {start}-{start + len(QUOTED)}, exact: True)"
