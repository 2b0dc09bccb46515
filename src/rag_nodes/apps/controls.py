"""The sidebar's controls: built once, their values read back as one `Choice`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import gradio as gr
from pydantic import SecretStr

from rag_nodes.apps.options import MOST_COLUMNS, OPTIONS, Choice, default_of
from rag_nodes.parsers import COMPARED, PRESETS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradio.components import Component

    from rag_nodes.settings import Settings

BY_BUDGET = "Same token budget"
BY_COUNT = "Same number of chunks"


@dataclass(frozen=True, slots=True)
class Controls:
    """All components that make up a choice.

    Attributes:
        parsers: which presets to compare.
        groups: per preset, what holds its sliders.
        sliders: preset and field of each slider.
        retrieval: budget or number of chunks.
        budget: context tokens per answer.
        top_k: chunks per answer.
        retrieval_only: whether answers are left out.
        models: key, address, embedding model, answer model.
    """

    parsers: gr.CheckboxGroup
    groups: dict[str, gr.Group]
    sliders: dict[tuple[str, str], gr.Slider]
    retrieval: gr.Radio
    budget: gr.Slider
    top_k: gr.Slider
    retrieval_only: gr.Checkbox
    models: tuple[gr.Textbox, ...] = field(repr=False)

    @property
    def inputs(self) -> list[Component]:
        """What an event takes to get the values that `choice` reads."""
        return [
            self.parsers,
            *self.sliders.values(),
            self.retrieval,
            self.budget,
            self.top_k,
            self.retrieval_only,
            *self.models,
        ]

    def choice(self, values: Sequence[Any]) -> Choice:
        """The values of `inputs` as a choice."""
        parsers, *rest = values
        numbers, rest = rest[: len(self.sliders)], rest[len(self.sliders) :]
        retrieval, budget, top_k, retrieval_only, *typed = rest
        key, api_base, embedding_model, llm_model = typed
        options: dict[str, dict[str, float]] = {}
        for (preset, name), value in zip(self.sliders, numbers, strict=True):
            options.setdefault(preset, {})[name] = _number(value)
        by_budget = retrieval == BY_BUDGET
        key = (key or "").strip()
        return Choice(
            parsers=tuple(name for name in PRESETS if name in (parsers or ()))[:MOST_COLUMNS],
            options=options,
            budget=int(budget) if by_budget else None,
            top_k=None if by_budget else int(top_k),
            retrieval_only=bool(retrieval_only),
            api_key=SecretStr(key) if key else None,
            api_base=api_base or "",
            embedding_model=embedding_model or "",
            llm_model=llm_model or "",
        )

    def wire(self) -> None:
        """Show only the sliders that have a meaning for what is chosen."""
        self.parsers.change(
            lambda chosen: [gr.Group(visible=name in (chosen or ())) for name in self.groups],
            self.parsers,
            list(self.groups.values()),
            show_progress="hidden",
            queue=False,
            api_visibility="private",
        )
        self.retrieval.change(
            lambda way: (gr.Slider(visible=way == BY_BUDGET), gr.Slider(visible=way == BY_COUNT)),
            self.retrieval,
            [self.budget, self.top_k],
            show_progress="hidden",
            queue=False,
            api_visibility="private",
        )


def build_controls(settings: Settings) -> Controls:
    """Build the controls inside the blocks that are open."""
    first = list(COMPARED[:MOST_COLUMNS])
    parsers = gr.CheckboxGroup(
        [(preset.title, name) for name, preset in PRESETS.items()],
        value=first,
        label=f"Parsers to compare, up to {MOST_COLUMNS}",
        elem_id="rn-parsers",
    )
    groups: dict[str, gr.Group] = {}
    sliders: dict[tuple[str, str], gr.Slider] = {}
    with gr.Accordion("Chunk sizes", open=False):
        for name in OPTIONS:
            with gr.Group(visible=name in first) as groups[name]:
                sliders |= _sliders(name)
    with gr.Accordion("Retrieval", open=False):
        retrieval, budget, top_k = _retrieval(settings)
        retrieval_only = gr.Checkbox(
            label="Show the chunks only", info="Nothing is answered, and no LLM is asked."
        )
    with gr.Accordion("Models and key", open=False):
        models = _models(settings)
    return Controls(parsers, groups, sliders, retrieval, budget, top_k, retrieval_only, models)


def _sliders(preset: str) -> dict[tuple[str, str], gr.Slider]:
    title = PRESETS[preset].title
    return {
        (preset, option.field): gr.Slider(
            option.minimum,
            option.maximum,
            value=default_of(preset, option),
            step=option.step,
            label=f"{title}: {option.label[:1].lower()}{option.label[1:]}",
        )
        for option in OPTIONS[preset]
    }


def _retrieval(settings: Settings) -> tuple[gr.Radio, gr.Slider, gr.Slider]:
    by_budget = settings.top_k is None
    return (
        gr.Radio(
            [BY_BUDGET, BY_COUNT],
            value=BY_BUDGET if by_budget else BY_COUNT,
            label="What every parser gets",
            info="With the same number of chunks, larger chunks win by size.",
        ),
        gr.Slider(
            200,
            8000,
            value=settings.budget or 1500,
            step=100,
            label="Context tokens per answer",
            visible=by_budget,
        ),
        gr.Slider(
            1,
            20,
            value=settings.top_k or 5,
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


def _number(value: float) -> float:
    """Sliders send 750.0 for 750, which parsers refuse to take for a whole number of tokens."""
    return int(value) if float(value).is_integer() else value
