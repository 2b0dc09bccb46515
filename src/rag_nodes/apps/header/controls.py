"""The controls: which parsers at which sizes, and all values read back as a `Choice`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import gradio as gr
from markupsafe import Markup

from rag_nodes.apps.header.answering import AnsweringControls, number
from rag_nodes.apps.markup import count, part, render, title_of
from rag_nodes.apps.visitors.choice import MOST_COLUMNS, Choice, default_of
from rag_nodes.compare.sizing import EQUAL_SIZE
from rag_nodes.parsers import COMPARED
from rag_nodes.parsers.offer import ranges_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradio.components import Component

    from rag_nodes.parsers import OptionRange, Preset


@dataclass(frozen=True, slots=True)
class Columns:
    """Which parsers to compare.

    Attributes:
        parsers: by name.
        count: how many that are.
        same_size: whether the chunks of all have one mean size.
    """

    parsers: gr.CheckboxGroup
    count: gr.HTML
    same_size: gr.Checkbox


@dataclass(frozen=True, slots=True)
class Controls:
    """All components that make up a choice.

    Attributes:
        offer: what can be compared, by name.
        columns: which of them to compare.
        groups: per parser, what holds its sliders.
        sliders: parser and field of each slider.
        answering: what is read and who answers.
    """

    offer: Mapping[str, Preset] = field(repr=False)
    columns: Columns
    groups: dict[str, gr.Group]
    sliders: dict[tuple[str, str], gr.Slider]
    answering: AnsweringControls

    @property
    def inputs(self) -> list[Component]:
        """What an event takes to get the values that `choice` reads."""
        return [
            self.columns.parsers,
            self.columns.same_size,
            *self.sliders.values(),
            *self.answering.inputs,
        ]

    def choice(self, values: Sequence[Any]) -> Choice:
        """The values of `inputs` as a choice."""
        parsers, same_size, *rest = values
        numbers, rest = rest[: len(self.sliders)], rest[len(self.sliders) :]
        columns = _known(self.offer, parsers)
        options: dict[str, dict[str, float]] = {}
        for (column, name), value in zip(self.sliders, numbers, strict=True):
            if column in columns:
                options.setdefault(column, {})[name] = number(value)
        return Choice(
            parsers=columns,
            options=options,
            equal_size=EQUAL_SIZE if same_size else None,
            **self.answering.chosen(rest),
        )

    def restored(self, choice: Choice) -> list[Any]:
        """What `inputs` become so that they show a choice; the key stays on the server."""
        sliders = [
            gr.update(value=choice.options[column][name])
            if name in choice.options.get(column, {})
            else gr.skip()
            for column, name in self.sliders
        ]
        return [
            gr.update(value=list(choice.parsers)),
            gr.update(value=choice.equal_size is not None),
            *sliders,
            *self.answering.restored(choice),
        ]

    def shown(self, parsers: list[str] | None) -> list[Any]:
        """What count and `groups` become with these chosen."""
        names = _known(self.offer, parsers)
        return [_counted(len(names)), *(gr.Group(visible=one in names) for one in self.groups)]

    def wire(self) -> None:
        """Show only the sliders that have a meaning for what is chosen."""
        self.columns.parsers.change(
            self.shown,
            self.columns.parsers,
            [self.columns.count, *self.groups.values()],
            show_progress="hidden",
            queue=False,
            api_visibility="private",
        )
        self.answering.wire()


def build_columns(offer: Mapping[str, Preset], own: Sequence[str] = ()) -> Columns:
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
    same_size = gr.Checkbox(
        label="Same size",
        info=f"All chunks have {EQUAL_SIZE} tokens on average, so that only the way of cutting "
        "differs. Loading takes longer.",
        elem_id="rn-same-size",
    )
    return Columns(parsers, count, same_size)


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
