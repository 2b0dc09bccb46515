"""The sidebar's controls: built once, their values read back as one `Choice`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import gradio as gr
from pydantic import SecretStr

from rag_nodes.apps.sidebar.status import parsers_explained
from rag_nodes.apps.view.html import Html, tag
from rag_nodes.apps.view.parts import count, notice, title_of
from rag_nodes.compare.sizing import EQUAL_SIZE
from rag_nodes.parsers import COMPARED
from rag_nodes.parsers.offer import offered, ranges_of
from rag_nodes.settings.answers import ANSWER_PRESETS
from rag_nodes.workspace import Choice
from rag_nodes.workspace.options import MOST_COLUMNS, SECOND, default_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradio.components import Component

    from rag_nodes.parsers import OptionRange, Preset
    from rag_nodes.settings import Settings

BY_BUDGET = "Same token budget"
BY_COUNT = "Same number of chunks"
_PRESETS = {
    "workbench": "workbench: gpt-4o, top 5",
    "crawl": "crawl: top 3",
    "pdf-qa": "pdf-qa: gpt-3.5-turbo, top 10",
}
"""Presets of answers and what they are called; a test compares them with `ANSWER_PRESETS`."""
_LONGEST = 4096
"""Tokens of the longest answer that can be chosen."""


@dataclass(frozen=True, slots=True)
class Controls:
    """All components that make up a choice.

    Attributes:
        offer: what can be compared, by name.
        parsers: which of them to compare.
        seconds: which of them to compare twice, with other parameters.
        count: how many columns that makes.
        groups: per name of a column, what holds its sliders.
        sliders: name of the column and field of each slider.
        retrieval: budget or number of chunks.
        budget: context tokens per answer.
        top_k: chunks per answer.
        retrieval_only: whether answers are left out.
        models: key, address, embedding model, answer model.
        writing: similarity below which chunks are left out, temperature, longest answer.
        preset: sets what a source document says about answers.
        equal_size: mean tokens of a chunk in every column; 0 for the parsers' own options.
    """

    offer: Mapping[str, Preset] = field(repr=False)
    parsers: gr.CheckboxGroup
    seconds: gr.Dropdown
    count: gr.HTML
    groups: dict[str, gr.Group]
    sliders: dict[tuple[str, str], gr.Slider]
    retrieval: gr.Radio
    budget: gr.Slider
    top_k: gr.Slider
    retrieval_only: gr.Checkbox
    models: tuple[gr.Textbox, ...] = field(repr=False)
    writing: tuple[gr.Slider, ...]
    preset: gr.Dropdown
    equal_size: gr.Slider

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
            self.seconds,
            *self.writing,
            self.equal_size,
        ]

    def choice(self, values: Sequence[Any]) -> Choice:
        """The values of `inputs` as a choice."""
        parsers, *rest = values
        numbers, rest = rest[: len(self.sliders)], rest[len(self.sliders) :]
        retrieval, budget, top_k, retrieval_only, *typed = rest
        key, api_base, embedding_model, llm_model, seconds, *typed = typed
        cutoff, temperature, longest, equal_size = typed
        columns = _columns(self.offer, parsers, seconds)
        options: dict[str, dict[str, float]] = {}
        for (column, name), value in zip(self.sliders, numbers, strict=True):
            if column in columns:
                options.setdefault(column, {})[name] = number(value)
        by_budget = retrieval == BY_BUDGET
        key = (key or "").strip()
        return Choice(
            parsers=columns,
            options=options,
            budget=int(budget) if by_budget else None,
            top_k=None if by_budget else int(top_k),
            retrieval_only=bool(retrieval_only),
            api_key=SecretStr(key) if key else None,
            api_base=api_base or "",
            embedding_model=embedding_model or "",
            llm_model=llm_model or "",
            similarity_cutoff=number(cutoff) or None,
            temperature=number(temperature),
            max_output_tokens=int(longest),
            equal_size=int(equal_size) or None,
        )

    def shown(self, parsers: list[str] | None, seconds: list[str] | None) -> list[Any]:
        """What `count` and `groups` become with these chosen."""
        names = _columns(self.offer, parsers, seconds)
        return [_counted(len(names)), *(gr.Group(visible=one in names) for one in self.groups)]

    def wire(self) -> None:
        """Show only the sliders that have a meaning for what is chosen."""
        gr.on(
            [self.parsers.change, self.seconds.change],
            self.shown,
            [self.parsers, self.seconds],
            [self.count, *self.groups.values()],
            show_progress="hidden",
            queue=False,
            api_visibility="private",
        )
        self.preset.input(
            _like_preset,
            self.preset,
            [self.retrieval, self.budget, self.top_k, *self.writing, self.models[-1]],
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


def build_controls(settings: Settings, offer: Mapping[str, Preset] | None = None) -> Controls:
    """Build the controls inside the blocks that are open.

    Args:
        settings: where they stand at first.
        offer: what can be compared; None for presets and plug-ins.
    """
    offer = offered() if offer is None else offer
    first = list(COMPARED[:MOST_COLUMNS])
    parsers = gr.CheckboxGroup(
        [(preset.title, name) for name, preset in offer.items()],
        value=first,
        label=f"Parsers to compare, up to {MOST_COLUMNS}",
        elem_id="rn-parsers",
    )
    count = gr.HTML(_counted(len(first)), apply_default_css=False, elem_id="rn-columns")
    equal_size = gr.Slider(
        0,
        1000,
        value=EQUAL_SIZE,
        step=10,
        label="Equal size: mean tokens of a chunk",
        info="Larger chunks read differently whatever the parser; at one size you see how it cuts. "
        "Sizes under Parameters count at 0.",
        elem_id="rn-equal-size",
    )
    with gr.Accordion("What each parser does", open=False):
        gr.HTML(parsers_explained(offer), apply_default_css=False)
    with gr.Accordion("Parameters", open=False, elem_id="rn-parameters"):
        seconds = gr.Dropdown(
            [(one.title, name) for name, one in offer.items() if ranges_of(one)],
            multiselect=True,
            value=[],
            label="Compare twice, with other parameters",
            info="Each adds a column with sliders of its own.",
            elem_id="rn-seconds",
        )
        groups, sliders = _groups(offer, first)
    with gr.Accordion("Retrieval", open=False):
        preset = gr.Dropdown(
            [("choose", ""), *((title, name) for name, title in _PRESETS.items())],
            value=settings.answer_preset or "",
            label="As a source document says",
            info="Sets the controls of retrieval and of the answer model.",
            elem_id="rn-answer-preset",
        )
        retrieval, budget, top_k = _retrieval(settings)
        cutoff = gr.Slider(
            0,
            1,
            value=max(0, settings.similarity_cutoff or 0),
            step=0.01,
            label="Least similarity of a chunk",
            info="Chunks of a lower cosine similarity are left out; 0 keeps all.",
            elem_id="rn-cutoff",
        )
        retrieval_only = gr.Checkbox(
            label="Show the chunks only", info="Nothing is answered, and no LLM is asked."
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
    return Controls(
        offer=offer,
        parsers=parsers,
        seconds=seconds,
        count=count,
        groups=groups,
        sliders=sliders,
        retrieval=retrieval,
        budget=budget,
        top_k=top_k,
        retrieval_only=retrieval_only,
        models=models,
        writing=(cutoff, temperature, longest),
        preset=preset,
        equal_size=equal_size,
    )


def _like_preset(name: str | None) -> list[Any]:
    """The controls of retrieval and answer model as a preset says; unchanged for no preset."""
    preset = ANSWER_PRESETS.get(name or "")
    if preset is None:
        return [gr.skip() for _ in range(7)]
    given = (
        gr.Slider(value=preset[field]) if field in preset else gr.skip()
        for field in ("temperature", "max_output_tokens")
    )
    return [
        gr.Radio(value=BY_COUNT),
        gr.Slider(visible=False),
        gr.Slider(value=preset["top_k"], visible=True),
        gr.Slider(value=preset.get("similarity_cutoff", 0)),
        *given,
        gr.Textbox(value=preset["llm_model"]) if "llm_model" in preset else gr.skip(),
    ]


def _columns(
    offer: Mapping[str, Preset], parsers: Sequence[str] | None, seconds: Sequence[str] | None
) -> tuple[str, ...]:
    """Names of the columns, second copies beside the first; only what is on offer counts."""
    wanted = {*(parsers or ()), *(one + SECOND for one in seconds or ())}
    return tuple(name for one in offer for name in (one, one + SECOND) if name in wanted)


def _counted(number: int) -> Html:
    said = f"{count(number, 'column')} of {MOST_COLUMNS}"
    if number <= MOST_COLUMNS:
        return tag("p", said, cls="rn-quiet", role="status")
    return notice("warning", f"{said}: untick {number - MOST_COLUMNS}")


def _groups(
    offer: Mapping[str, Preset], shown: Sequence[str]
) -> tuple[dict[str, gr.Group], dict[tuple[str, str], gr.Slider]]:
    """The sliders of every parser and of its second copy; only those of `shown` are visible."""
    groups: dict[str, gr.Group] = {}
    sliders: dict[tuple[str, str], gr.Slider] = {}
    for preset in offer.values():
        ranges = ranges_of(preset)
        for name in (preset.name, preset.name + SECOND) if ranges else ():
            with gr.Group(visible=name in shown) as groups[name]:
                for option in ranges:
                    sliders[name, option.field] = _slider(name, preset, option)
    return groups, sliders


def _slider(name: str, preset: Preset, option: OptionRange) -> gr.Slider:
    return gr.Slider(
        option.minimum,
        option.maximum,
        value=default_of(preset, option, second=name != preset.name),
        step=option.step,
        label=f"{title_of(name)}: {option.label[:1].lower()}{option.label[1:]}",
    )


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


def number(value: float) -> float:
    """Sliders send 750.0 for 750, which parsers refuse to take for a whole number of tokens."""
    return int(value) if float(value).is_integer() else value
