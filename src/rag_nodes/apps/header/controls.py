"""The controls: which parsers at which sizes, how much context, who answers; read as a `Choice`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import gradio as gr
from markupsafe import Markup
from pydantic import SecretStr

from rag_nodes.apps.markup import count, part, render, title_of
from rag_nodes.apps.visitors.choice import MOST_COLUMNS, Choice, default_of
from rag_nodes.parsers import COMPARED
from rag_nodes.parsers.offer import ranges_of
from rag_nodes.query import QueryOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradio.components import Component

    from rag_nodes.core.settings import Settings
    from rag_nodes.parsers import OptionRange, Preset

BY_BUDGET = "Same token budget"
BY_SENTENCE = "Best sentences, same token budget"
BY_COUNT = "Same number of chunks"
_LONGEST = 4096
"""Tokens of the longest answer that can be chosen."""
_QUIET: dict[str, Any] = {"show_progress": "hidden", "queue": False, "api_visibility": "private"}


@dataclass(frozen=True, slots=True)
class Controls:
    """All components that make up a choice.

    Attributes:
        offer: what can be compared, by name.
        parsers: which of them to compare.
        count: how many that are.
        groups: per parser, what holds its sliders.
        sliders: parser and field of each slider.
        answering: the context and who answers, by the field of `Choice` each stands for, and "way"
            for what every parser gets.
    """

    offer: Mapping[str, Preset] = field(repr=False)
    parsers: gr.CheckboxGroup
    count: gr.HTML
    groups: dict[str, gr.Group]
    sliders: dict[tuple[str, str], gr.Slider]
    answering: dict[str, Any] = field(repr=False)

    @property
    def inputs(self) -> list[Component]:
        """What an event takes to get the values that `choice` reads."""
        return [self.parsers, *self.sliders.values(), *self.answering.values()]

    def choice(self, values: Sequence[Any]) -> Choice:
        """The values of `inputs` as a choice."""
        parsers, *rest = values
        numbers, rest = rest[: len(self.sliders)], rest[len(self.sliders) :]
        columns = _known(self.offer, parsers)
        options: dict[str, dict[str, float]] = {}
        for (column, name), value in zip(self.sliders, numbers, strict=True):
            if column in columns:
                options.setdefault(column, {})[name] = number(value)
        typed = dict(zip(self.answering, rest, strict=True))
        way, key = typed.pop("way"), (typed.pop("api_key") or "").strip()
        budget, top_k = int(typed.pop("budget")), int(typed.pop("top_k"))
        return Choice(
            parsers=columns,
            options=options,
            budget=None if way == BY_COUNT else budget,
            top_k=top_k if way == BY_COUNT else None,
            granularity="sentences" if way == BY_SENTENCE else "chunks",
            retrieval_only=bool(typed.pop("retrieval_only")),
            api_key=SecretStr(key) if key else None,
            similarity_cutoff=number(typed.pop("similarity_cutoff")) or None,
            temperature=number(typed.pop("temperature")),
            max_output_tokens=int(typed.pop("max_output_tokens")),
            **{name: value or "" for name, value in typed.items()},
        )

    def restored(self, choice: Choice) -> list[Any]:
        """What `inputs` become so that they show a choice; the key stays on the server."""
        within = BY_SENTENCE if choice.granularity == "sentences" else BY_BUDGET
        shown: dict[str, Any] = {one: getattr(choice, one, None) for one in self.answering}
        shown["way"] = within if choice.budget else BY_COUNT
        shown["similarity_cutoff"] = choice.similarity_cutoff or 0
        shown["api_key"] = None
        updates = {name: _with(value) for name, value in shown.items()}
        if choice.api_key:
            kept = "Kept for this tab; type another one in to replace it"
            updates["api_key"] = gr.update(placeholder=kept)
        sliders = (_with(choice.options.get(one, {}).get(name)) for one, name in self.sliders)
        ticked = gr.update(value=list(choice.parsers))
        return [ticked, *sliders, *updates.values()]

    def shown(self, parsers: list[str] | None) -> list[Any]:
        """What count and `groups` become with these chosen."""
        names = _known(self.offer, parsers)
        return [_counted(len(names)), *(gr.Group(visible=one in names) for one in self.groups)]

    def wire(self) -> None:
        """Show only what has a meaning for what is chosen."""
        changed = [self.count, *self.groups.values()]
        self.parsers.change(self.shown, self.parsers, changed, **_QUIET)
        way, limits = self.answering["way"], [self.answering["budget"], self.answering["top_k"]]
        way.change(
            lambda way: (gr.Slider(visible=way != BY_COUNT), gr.Slider(visible=way == BY_COUNT)),
            way,
            limits,
            **_QUIET,
        )


def build_columns(
    offer: Mapping[str, Preset], own: Sequence[str] = ()
) -> tuple[gr.CheckboxGroup, gr.HTML]:
    """Build what chooses the columns, inside the blocks that are open.

    Args:
        offer: what can be compared.
        own: names of those that are ticked at first; () for the usual ones.
    """
    first = list((own or COMPARED)[:MOST_COLUMNS])
    parsers = gr.CheckboxGroup(
        [(preset.title, name) for name, preset in offer.items()],
        value=first,
        label=f"Parsers to compare, up to {MOST_COLUMNS}",
        elem_id="rn-parsers",
    )
    count = gr.HTML(_counted(len(first)), apply_default_css=False, elem_id="rn-columns")
    return parsers, count


def build_parameters(
    offer: Mapping[str, Preset], own: Sequence[str] = ()
) -> tuple[dict[str, gr.Group], dict[tuple[str, str], gr.Slider]]:
    """Build what each parser does, and its sliders; only those of what is ticked are visible."""
    shown = (own or COMPARED)[:MOST_COLUMNS]
    with gr.Accordion("What each parser does", open=False):
        gr.HTML(render("explained", offer=offer), apply_default_css=False)
    groups: dict[str, gr.Group] = {}
    sliders: dict[tuple[str, str], gr.Slider] = {}
    with gr.Accordion("Parameters", open=False, elem_id="rn-parameters"):
        for name, preset in offer.items():
            if ranges := ranges_of(preset):
                with gr.Group(visible=name in shown) as groups[name]:
                    for option in ranges:
                        sliders[name, option.field] = _slider(name, preset, option)
    return groups, sliders


def build_answering(settings: Settings, usual: QueryOptions | None = None) -> dict[str, Any]:
    """Build the controls of the context and who answers; see `Controls.answering`.

    Args:
        settings: where they stand at first.
        usual: the same of what they leave open; None for what the settings say.
    """
    usual = usual or QueryOptions(**settings.answering())
    by_budget = settings.top_k is None
    budget, top_k = settings.budget or 1500, settings.top_k or 5
    within = BY_SENTENCE if usual.granularity == "sentences" else BY_BUDGET
    with gr.Accordion("Retrieval", open=False):
        read = {
            "way": gr.Radio(
                [BY_BUDGET, BY_SENTENCE, BY_COUNT],
                value=within if by_budget else BY_COUNT,
                label="What every parser gets",
                info="With the same number of chunks, larger chunks win by size. Sentences are "
                "read wherever chunks end: better answers, and less of a difference between "
                "parsers.",
            ),
            "budget": gr.Slider(
                min(200, budget),
                max(8000, budget),
                value=budget,
                step=1 if budget % 100 else 100,
                label="Context tokens per answer",
                visible=by_budget,
            ),
            "top_k": gr.Slider(
                1,
                max(20, top_k),
                value=top_k,
                step=1,
                label="Chunks per answer",
                visible=not by_budget,
            ),
            "similarity_cutoff": gr.Slider(
                0,
                1,
                value=max(0, settings.similarity_cutoff or 0),
                step=0.01,
                label="Least similarity of a chunk",
                info="Chunks of a lower cosine similarity are left out; 0 keeps all.",
                elem_id="rn-cutoff",
            ),
            "retrieval_only": gr.Checkbox(
                usual.retrieval_only,
                label="Show the chunks only",
                info="Nothing is answered, and no LLM is asked.",
            ),
        }
    with gr.Accordion("Models and key", open=False):
        written = {
            "api_key": gr.Textbox(
                value="",
                type="password",
                label="API key",
                placeholder="sk-…",
                info="Kept in this session's memory only. Without one, everything runs offline.",
                html_attributes=gr.InputHTMLAttributes(autocomplete="off"),
            ),
            "embedding_model": gr.Textbox(
                value="", label="Embedding model", placeholder=settings.embedding_model
            ),
            "llm_model": gr.Textbox(value="", label="Answer model", placeholder=settings.llm_model),
            "temperature": gr.Slider(
                0, 2, value=settings.temperature, step=0.1, label="Temperature of the answer model"
            ),
            "max_output_tokens": gr.Slider(
                1,
                max(_LONGEST, settings.max_output_tokens),
                value=settings.max_output_tokens,
                step=1,
                label="Longest answer, tokens",
            ),
        }
    return read | written


def number(value: float) -> float:
    """Sliders send 750.0 for 750, which parsers refuse to take for a whole number of tokens."""
    return int(value) if float(value).is_integer() else value


def _with(value: Any) -> Any:
    return gr.skip() if value is None else gr.update(value=value)


def _known(offer: Mapping[str, Preset], parsers: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the columns in the order of the offer; only what is on offer counts."""
    return tuple(name for name in offer if name in (parsers or ()))


def _counted(number: int) -> Markup:
    said = f"{count(number, 'column')} of {MOST_COLUMNS}"
    if number <= MOST_COLUMNS:
        return Markup('<p class="rn-quiet" role="status">{}</p>').format(said)
    return part("notice", "warning", f"{said}: untick {number - MOST_COLUMNS}")


def _slider(name: str, preset: Preset, option: OptionRange) -> gr.Slider:
    return gr.Slider(
        option.minimum,
        option.maximum,
        value=default_of(preset, option),
        step=option.step,
        label=f"{title_of(name)}: {option.label[:1].lower()}{option.label[1:]}",
    )
