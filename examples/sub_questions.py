"""`SubQuestionQueryEngine`: a question of two parts is answered from two searches.

python examples/sub_questions.py [preset]

What the model says is written down here; what each part is answered from is found.
"""

import json

from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import SubQuestionQueryEngine
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.tools import QueryEngineTool
from stand_ins import ANSWER, QUESTION, Scripted, index_of, preset_or

PARTS = (QUESTION, "How many soil probes are in the box?")


def main(preset: str) -> None:
    """Print the answer and what each part was answered from."""
    tool = QueryEngineTool.from_defaults(
        index_of(preset).as_query_engine(llm=MockLLM(), similarity_top_k=1),
        name="manual",
        description="The manual of the greenhouse controller",
    )
    items = [{"sub_question": part, "tool_name": "manual"} for part in PARTS]
    llm = Scripted(lines=[json.dumps({"items": items}), f"{ANSWER} Four."])
    engine = SubQuestionQueryEngine.from_defaults(
        [tool],
        llm=llm,
        question_gen=LLMQuestionGenerator.from_defaults(llm=llm),
        response_synthesizer=get_response_synthesizer(llm=llm),
        use_async=False,
        verbose=False,
    )
    response = engine.query(" And: ".join(PARTS))
    print(response)
    for hit in response.source_nodes:
        if hit.node.ref_doc_id:  # the others are the answers to the parts
            print(f"{hit.node.ref_doc_id} {hit.metadata['start_char']}-{hit.metadata['end_char']}")


if __name__ == "__main__":
    main(preset_or("heading"))
