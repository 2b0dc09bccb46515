"""Controls of what is read and who answers: retrieval, models, key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import gradio as gr
from pydantic import SecretStr

from rag_nodes.metadata import USUAL
from rag_nodes.query import QueryOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradio.components import Component

    from rag_nodes.apps.visitors.choice import Choice
    from rag_nodes.settings import Settings

BY_BUDGET = "Same token budget"
BY_SENTENCE = "Best sentences, same token budget"
BY_COUNT = "Same number of chunks"
_VECTORS = [
    ("headings and text", USUAL),
    ("text alone", "plain"),
    ("summary, headings and text", "summary"),
]
"""Embeddings of a chunk that need no LLM, and what they are called."""
_LONGEST = 4096
"""Tokens of the longest answer that can be chosen."""


@dataclass(frozen=True, slots=True)
class AnsweringControls:
    """The components, the same for every column.

    Attributes:
        retrieval: budget, sentences within it, or number of chunks.
        budget: context tokens per answer.
        top_k: chunks per answer.
        retrieval_only: whether answers are left out.
        models: key, address, embedding model, answer model.
        writing: similarity below which chunks are left out, temperature, longest answer.
        vector: embedding of the chunks that is compared.
    """

    retrieval: gr.Radio
    budget: gr.Slider
    top_k: gr.Slider
    retrieval_only: gr.Checkbox
    models: tuple[gr.Textbox, ...] = field(repr=False)
    writing: tuple[gr.Slider, ...]
    vector: gr.Dropdown

    @property
    def inputs(self) -> list[Component]:
        """What an event takes to get the values that `chosen` reads."""
        return [
            self.retrieval,
            self.budget,
            self.top_k,
            self.retrieval_only,
            *self.models,
            *self.writing,
            self.vector,
        ]

    @staticmethod
    def chosen(values: Sequence[Any]) -> dict[str, Any]:
        """The values of `inputs` as fields of a `Choice`."""
        retrieval, budget, top_k, retrieval_only, *typed = values
        key, api_base, embedding_model, llm_model, cutoff, temperature, longest, vector = typed
        by_budget = retrieval != BY_COUNT
        key = (key or "").strip()
        return {
            "budget": int(budget) if by_budget else None,
            "top_k": None if by_budget else int(top_k),
            "granularity": "sentences" if retrieval == BY_SENTENCE else "chunks",
            "retrieval_only": bool(retrieval_only),
            "api_key": SecretStr(key) if key else None,
            "api_base": api_base or "",
            "embedding_model": embedding_model or "",
            "llm_model": llm_model or "",
            "similarity_cutoff": number(cutoff) or None,
            "temperature": number(temperature),
            "max_output_tokens": int(longest),
            "vector": vector or USUAL,
        }

    @staticmethod
    def restored(choice: Choice) -> list[Any]:
        """What `inputs` become so that they show a choice; the key stays on the server."""
        kept = "Kept for this tab; type another one in to replace it"
        by_sentence = BY_SENTENCE if choice.granularity == "sentences" else BY_BUDGET
        return [
            gr.update(value=by_sentence if choice.budget else BY_COUNT),
            gr.update(value=choice.budget) if choice.budget else gr.skip(),
            gr.update(value=choice.top_k) if choice.top_k else gr.skip(),
            gr.update(value=choice.retrieval_only),
            gr.update(placeholder=kept) if choice.api_key else gr.skip(),
            gr.update(value=choice.api_base),
            gr.update(value=choice.embedding_model),
            gr.update(value=choice.llm_model),
            gr.update(value=choice.similarity_cutoff or 0),
            gr.skip() if choice.temperature is None else gr.update(value=choice.temperature),
            gr.update(value=choice.max_output_tokens) if choice.max_output_tokens else gr.skip(),
            gr.update(value=choice.vector),
        ]

    def wire(self) -> None:
        """Show only what has a meaning for what is chosen."""
        quiet: dict[str, Any] = {
            "show_progress": "hidden",
            "queue": False,
            "api_visibility": "private",
        }
        self.retrieval.change(
            lambda way: (gr.Slider(visible=way != BY_COUNT), gr.Slider(visible=way == BY_COUNT)),
            self.retrieval,
            [self.budget, self.top_k],
            **quiet,
        )


def build_answering(settings: Settings, usual: QueryOptions | None = None) -> AnsweringControls:
    """Build the controls inside the blocks that are open.

    Args:
        settings: where they stand at first.
        usual: the same of what they leave open; None for what the settings say.
    """
    usual = usual or QueryOptions(**settings.answering())
    with gr.Accordion("Retrieval", open=False):
        retrieval, budget, top_k = _retrieval(settings, usual)
        cutoff = gr.Slider(
            0,
            1,
            value=max(0, settings.similarity_cutoff or 0),
            step=0.01,
            label="Least similarity of a chunk",
            info="Chunks of a lower cosine similarity are left out; 0 keeps all.",
            elem_id="rn-cutoff",
        )
        vector = gr.Dropdown(
            [*_VECTORS, *([] if usual.vector in dict(_VECTORS).values() else [usual.vector])],
            value=usual.vector,
            label="What of a chunk is compared with the question",
            info="Another one is embedded as well when you apply it.",
            elem_id="rn-vector",
        )
        retrieval_only = gr.Checkbox(
            usual.retrieval_only,
            label="Show the chunks only",
            info="Nothing is answered, and no LLM is asked.",
        )
    with gr.Accordion("Models and key", open=False):
        models = _models(settings)
        temperature = gr.Slider(
            0, 2, value=settings.temperature, step=0.1, label="Temperature of the answer model"
        )
        longest = gr.Slider(
            1,
            max(_LONGEST, settings.max_output_tokens),
            value=settings.max_output_tokens,
            step=1,
            label="Longest answer, tokens",
        )
    return AnsweringControls(
        retrieval=retrieval,
        budget=budget,
        top_k=top_k,
        retrieval_only=retrieval_only,
        models=models,
        writing=(cutoff, temperature, longest),
        vector=vector,
    )


def _retrieval(settings: Settings, usual: QueryOptions) -> tuple[gr.Radio, gr.Slider, gr.Slider]:
    by_budget = settings.top_k is None
    budget, top_k = settings.budget or 1500, settings.top_k or 5
    within = BY_SENTENCE if usual.granularity == "sentences" else BY_BUDGET
    return (
        gr.Radio(
            [BY_BUDGET, BY_SENTENCE, BY_COUNT],
            value=within if by_budget else BY_COUNT,
            label="What every parser gets",
            info="With the same number of chunks, larger chunks win by size. Sentences are read "
            "wherever chunks end: better answers, and less of a difference between parsers.",
        ),
        gr.Slider(
            min(200, budget),
            max(8000, budget),
            value=budget,
            step=1 if budget % 100 else 100,
            label="Context tokens per answer",
            visible=by_budget,
        ),
        gr.Slider(
            1,
            max(20, top_k),
            value=top_k,
            step=1,
            label="Chunks per answer",
            visible=not by_budget,
        ),
    )


def _models(settings: Settings) -> tuple[gr.Textbox, ...]:
    return (
        gr.Textbox(
            value="",
            type="password",
            label="API key",
            placeholder="sk-…",
            info="Kept in this session's memory only. Without one, everything runs offline.",
            html_attributes=gr.InputHTMLAttributes(autocomplete="off"),
        ),
        gr.Textbox(
            value="",
            label="Address of a compatible server (api_base)",
            placeholder="https://host/v1",
            info="Empty for OpenAI itself.",
        ),
        gr.Textbox(value="", label="Embedding model", placeholder=settings.embedding_model),
        gr.Textbox(value="", label="Answer model", placeholder=settings.llm_model),
    )


def number(value: float) -> float:
    """Sliders send 750.0 for 750, which parsers refuse to take for a whole number of tokens."""
    return int(value) if float(value).is_integer() else value
