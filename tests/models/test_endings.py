"""A model that stops at its limit of tokens is recognised by what any class of LlamaIndex says."""

from types import SimpleNamespace as Object
from typing import Any

import pytest
from llama_index.core.llms import CompletionResponse

from rag_nodes.models.endings import ended_at_limit


@pytest.mark.parametrize(
    ("raw", "facts"),
    [
        pytest.param(Object(choices=[Object(finish_reason="length")]), {}, id="OpenAI"),
        pytest.param({"choices": [{"finish_reason": "length"}]}, {}, id="OpenAI as a mapping"),
        pytest.param({"message": {}, "done_reason": "length"}, {}, id="Ollama"),
        pytest.param({"stop_reason": "max_tokens"}, {}, id="Anthropic"),
        pytest.param(Object(stop_reason="max_tokens"), {}, id="Anthropic as an object"),
        pytest.param({"finish_reason": Object(name="MAX_TOKENS")}, {}, id="Google"),
        pytest.param(None, {"finish_reason": "length"}, id="ours"),
    ],
)
def test_the_limit_of_tokens_is_recognised(raw: Any, facts: dict[str, Any]) -> None:
    assert ended_at_limit(CompletionResponse(text="a", raw=raw, additional_kwargs=facts))


@pytest.mark.parametrize(
    "raw",
    [None, {}, {"choices": []}, {"choices": [{"finish_reason": "stop"}]}, {"done_reason": "stop"}],
)
def test_any_other_end_is_no_limit(raw: Any) -> None:
    assert not ended_at_limit(CompletionResponse(text="a", raw=raw))
