"""`QueryEngineTool` in an agent: it decides to look something up, and answers from what it read.

python examples/agent.py [preset]

The answers of the agent's model are written down here; what it looks up is found.
"""

import asyncio

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.llms import MockLLM
from llama_index.core.tools import QueryEngineTool
from stand_ins import ANSWER, QUESTION, Scripted, index_of, preset_or


async def ask(preset: str) -> None:
    """Print the answer and the chunks the agent has seen."""
    tool = QueryEngineTool.from_defaults(
        # MockLLM repeats what it reads: the agent sees the chunks themselves.
        index_of(preset).as_query_engine(llm=MockLLM(), similarity_top_k=2),
        name="manual",
        description="The manual of the greenhouse controller",
    )
    llm = Scripted(
        lines=[
            f'Thought: look it up\nAction: manual\nAction Input: {{"input": "{QUESTION}"}}',
            f"Thought: I can answer\nAnswer: {ANSWER}",
        ]
    )
    result = await ReActAgent(tools=[tool], llm=llm, streaming=False).run(QUESTION)
    print(result)
    for call in result.tool_calls:
        for hit in call.tool_output.raw_output.source_nodes:
            place = f"{hit.metadata['start_char']}-{hit.metadata['end_char']}"
            print(f"{call.tool_name}: {hit.node.ref_doc_id} {place}")


def main(preset: str) -> None:
    """Run it."""
    asyncio.run(ask(preset))


if __name__ == "__main__":
    main(preset_or("heading"))
