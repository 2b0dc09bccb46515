"""The manual of a small plant, a question about it, and the models that tests answer it with."""

from dataclasses import replace
from typing import Any

from openai_server import OpenAIServer
from scripted_llm import ScriptedLLM

from rag_nodes.core.settings import Settings
from rag_nodes.models import Models, choose_models, get_embedding

QUESTION = "What starts the generator?"
MANUAL = """\
# Cooling

The pump moves water through the reactor. The pump is checked every forty days.

# Power

The generator makes two megawatts. A spare battery starts the generator when the grid is down.
"""


def offline_models() -> Models:
    return Models(
        embedding=get_embedding("lexical"),
        llm=None,
        embedding_name="lexical-1024",
        answer_name="extractive",
        offline=True,
    )


def scripted_models(*lines: Any, **facts: Any) -> Models:
    """The offline models, but for one that says these lines."""
    llm = ScriptedLLM(lines=list(lines), **facts)
    return replace(offline_models(), llm=llm, answer_name=llm.model, offline=False)


def served_models(server: OpenAIServer, key: str, **changes: Any) -> Models:
    """Models whose answers come from the loopback server; repeated for no second."""
    values: dict[str, Any] = {
        "embedding": "lexical",
        "llm": "openai",
        "llm_model": "a-model",
        "api_key": key,
        "api_base": server.base,
        "retry_seconds": 0,
    }
    return choose_models(Settings(**values | changes))
