"""The sidebar's controls: which parsers at which sizes, and all values read back as a `Choice`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.sidebar.answering import AnsweringControls, build_answering, number
from rag_nodes.apps.sidebar.status import parsers_explained
from rag_nodes.apps.view.html import Html, tag
from rag_nodes.apps.view.parts import count, notice, title_of
from rag_nodes.apps.visitors.choice import (
    MOST_COLUMNS,
    SECOND,
    Choice,
    default_of,
    is_second,
    preset_of,
)
from rag_nodes.compare.sizing import EQUAL_SIZE
from rag_nodes.parsers import COMPARED
from rag_nodes.parsers.offer import offered, ranges_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradio.components import Component

    from rag_nodes.parsers import OptionRange, Preset
    from rag_nodes.settings import Settings


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
        equal_size: mean tokens of a chunk in every column; 0 for the parsers' own options.
        answering: what is read and who answers.
    """

    offer: Mapping[str, Preset] = field(repr=False)
    parsers: gr.CheckboxGroup
    seconds: gr.Dropdown
    count: gr.HTML
    groups: dict[str, gr.Group]
    sliders: dict[tuple[str, str], gr.Slider]
    equal_size: gr.Slider
    answering: AnsweringControls

    @property
    def inputs(self) -> list[Component]:
        """What an event takes to get the values that `choice` reads."""
        return [
            self.parsers,
            *self.sliders.values(),
            self.seconds,
            self.equal_size,
            *self.answering.inputs,
        ]

    def choice(self, values: Sequence[Any]) -> Choice:
        """The values of `inputs` as a choice."""
        parsers, *rest = values
        numbers, rest = rest[: len(self.sliders)], rest[len(self.sliders) :]
        seconds, equal_size, *rest = rest
        columns = _columns(self.offer, parsers, seconds)
        options: dict[str, dict[str, float]] = {}
        for (column, name), value in zip(self.sliders, numbers, strict=True):
            if column in columns:
                options.setdefault(column, {})[name] = number(value)
        return Choice(
            parsers=columns,
            options=options,
            equal_size=int(equal_size) or None,
            **self.answering.chosen(rest),
        )

    def restored(self, choice: Choice) -> list[Any]:
        """What `inputs` become so that they show a choice; the key stays on the server."""
        names = [preset_of(one) for one in choice.parsers if is_second(one)]
        sliders = [
            gr.Slider(value=choice.options[column][name])
            if name in choice.options.get(column, {})
            else gr.skip()
            for column, name in self.sliders
        ]
        return [
            gr.CheckboxGroup(value=[one for one in choice.parsers if not is_second(one)]),
            *sliders,
            gr.Dropdown(value=names),
            gr.Slider(value=choice.equal_size or 0),
            *self.answering.restored(choice),
        ]

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
        self.answering.wire()


def build_controls(
    settings: Settings, offer: Mapping[str, Preset] | None = None, own: Sequence[str] = ()
) -> Controls:
    """Build the controls inside the blocks that are open.

    Args:
        settings: where they stand at first.
        offer: what can be compared; None for presets and plug-ins.
        own: names of those that are ticked at first, at their own sizes; () for the usual ones, at
            one size.
    """
    offer = offered() if offer is None else offer
    first = list((own or COMPARED)[:MOST_COLUMNS])
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
        value=0 if own else EQUAL_SIZE,
        step=10,
        label="Equal size: mean tokens of a chunk",
        info="At one size you see how each parser cuts and not how large. "
        "0: each at its own size, see Parameters.",
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
    answering = build_answering(settings)
    return Controls(
        offer=offer,
        parsers=parsers,
        seconds=seconds,
        count=count,
        groups=groups,
        sliders=sliders,
        equal_size=equal_size,
        answering=answering,
    )


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
