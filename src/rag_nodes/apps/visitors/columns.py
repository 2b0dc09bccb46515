"""ChosenColumns that a visitor can compare, and what was chosen of them as a request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, SecretStr

from rag_nodes.apps.markup import free_colour
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.settings import MODEL_OPTIONS, Settings
from rag_nodes.evaluation.columns import REFERENCE
from rag_nodes.evaluation.engines import FoundColumn, offered_columns
from rag_nodes.operations.fields import MOST_COLUMNS, Parser, ParserSpec, Searching
from rag_nodes.parsers import PRESETS, offered
from rag_nodes.parsers.offer import in_few_words, ranges_of
from rag_nodes.parsers.presets import DEFAULT_PARSER, SWEPT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_nodes.parsers import OptionRange, Preset

FIRST = ("retrieval", "heading", "semantic")
"""Presets that are compared with the baseline until a visitor chooses others."""
PLOTTED = (DEFAULT_PARSER, REFERENCE, *SWEPT)
"""Columns that each decision measures, ticked or not; the first get a colour of their own."""
_REFERENCE_PATH = "llama_index.core.node_parser:SentenceSplitter"
_MAX_OPTIONS = 3
"""Options of a parser that have a slider: size, overlap and one more."""
_SIZE, _OVERLAP = "chunk_size", "chunk_overlap"


class ColumnsRequest(Searching):
    """Parsers and context that a visitor chose, checked like every other request."""

    parsers: tuple[Parser, ...] = ()
    """Parsers to compare, with the options that differ from the preset."""
    embedding_model: Annotated[str, Field(max_length=200)] = ""
    """Name of the embedding model; by default the model of the server."""
    llm_model: Annotated[str, Field(max_length=200)] = ""
    """Name of the LLM; by default the model of the server."""
    api_key: Annotated[SecretStr | None, Field(repr=False, exclude=True)] = None
    """Key that the visitor typed; the server's own key is never used beside it."""

    @property
    def names_models(self) -> bool:
        """True if the visitor chose a model or typed a key."""
        return bool(self.embedding_model or self.llm_model or self.api_key)

    def settings(self, settings: Settings) -> Settings:
        """Return the server's settings with the visitor's models; no path of a class among them.

        The server's options of models may hold keys, so a typed key leaves them out.
        """
        typed: dict[str, Any] = {
            name: value
            for name in ("embedding_model", "llm_model")
            if (value := getattr(self, name).strip())
        }
        if self.api_key is not None:
            typed |= {"api_key": self.api_key, "embedding": "openai", "llm": "openai"}
        if not typed:
            return settings
        merged = Settings(**{**settings.model_dump(exclude_unset=True), **typed})
        if self.api_key is None:
            return merged
        return merged.model_copy(update={name: {} for name in MODEL_OPTIONS})


def offer_of(columns: Mapping[str, Any] | str | Sequence[Any] = ()) -> dict[str, Preset]:
    """Return every column on offer by name: the user's own first, LlamaIndex's default last.

    Raises:
        ConfigurationError: a column cannot be used.
    """
    offer = offered_columns(columns)
    if REFERENCE not in offer:
        offer[REFERENCE] = offered({REFERENCE: _REFERENCE_PATH})[REFERENCE]
    return offer


@dataclass
class ChosenColumns:
    """The columns of one visitor: which are compared, with which options, and the baseline.

    Attributes:
        offer: all that can be compared, by name.
        ticked: names of the columns that are compared.
        options: options that differ from the preset, by name of the column.
        baseline: name of the column that the others are compared with; "" for none.
        chosen: name of the column whose chunks are drawn and whose options are shown.
        colours: colour of each column that was ticked or is plotted, by name; those that are
            ticked differ, and those that are plotted as far as there are colours.
        own: names of the columns that the operator brought.
    """

    offer: Mapping[str, Preset]
    ticked: tuple[str, ...]
    options: dict[str, dict[str, float]]
    baseline: str
    chosen: str
    colours: dict[str, int] = field(default_factory=dict)
    own: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._colour()

    @classmethod
    def first(cls, offer: Mapping[str, Preset], own: Sequence[str] = ()) -> ChosenColumns:
        """Return the columns that a new visitor sees.

        Args:
            offer: all that can be compared.
            own: names of the columns that the operator brought; they are ticked if there are any.
        """
        ticked = tuple(own[:MOST_COLUMNS])
        baseline = ticked[0] if ticked else REFERENCE
        if not ticked:
            ticked = (REFERENCE, *(name for name in FIRST if name in offer))
        chosen = next((name for name in ticked if name != baseline), ticked[0])
        return cls(offer, ticked, {}, baseline, chosen, own=tuple(own))

    @property
    def specs(self) -> list[ParserSpec]:
        """The ticked columns as a request names them."""
        options = self.options
        return [ParserSpec(name=name, options={**options.get(name, {})}) for name in self.ticked]

    def tick(self, name: str, *, is_ticked: bool) -> None:
        """Compare a column, or leave it out; names that are not on offer change nothing.

        Raises:
            ConfigurationError: there are as many as are compared at a time.
        """
        if name not in self.offer:
            return
        if is_ticked and name not in self.ticked and len(self.ticked) >= MOST_COLUMNS:
            raise ConfigurationError(
                f"At most {MOST_COLUMNS} columns are compared. Untick a column first."
            )
        wanted = {*self.ticked, name} if is_ticked else {*self.ticked} - {name}
        self.ticked = tuple(column for column in self.offer if column in wanted)
        self._colour(name)
        if name == self.baseline and not is_ticked:
            self.baseline = ""
        if is_ticked or self.chosen not in self.ticked:
            self.chosen = name if is_ticked else next(iter(self.ticked), "")

    def _colour(self, new: str = "") -> None:
        """Give ticked columns, the new one last, and then those of the plot a colour each."""
        taken = set[int]()
        for name in dict.fromkeys((*sorted(self.ticked, key=lambda name: name == new), *PLOTTED)):
            number = self.colours.get(name)
            if number is None or number in taken:
                number = self.colours[name] = free_colour(name, taken)
            taken.add(number)

    def compare_with(self, name: str) -> None:
        """Take a column as the baseline; it is compared from now on. "" takes none."""
        if name in self.offer:
            self.tick(name, is_ticked=True)
        self.baseline = name if name in self.offer else ""

    def set_option(self, name: str, field: str, value: float) -> None:
        """Change a number of a column; numbers without a slider change nothing."""
        ranges = {option.field: option for option in sliders_of(self.offer[name])} if (
            name in self.offer) else {}  # fmt: skip
        if field not in ranges:
            return
        bounded = min(max(value, ranges[field].minimum), ranges[field].maximum)
        number = int(bounded) if float(bounded).is_integer() else bounded
        own = self.options.setdefault(name, {})
        own[field] = number
        if number == default_of(self.offer[name], ranges[field]):
            del own[field]

    def value_of(self, name: str, option: OptionRange) -> float:
        """Return the number of a column as it is now."""
        own = self.options.get(name, {})
        return own.get(option.field, default_of(self.offer[name], option))


def sliders_of(preset: Preset) -> list[OptionRange]:
    """Return the numbers of a column that have a slider: size, overlap, and one more."""
    if isinstance(preset, FoundColumn):
        return []
    ranges = [option for option in ranges_of(preset) if "." not in option.field]
    first = sorted(ranges, key=lambda option: (option.field != _SIZE, option.field != _OVERLAP))
    if preset.embeds:  # the percentile decides where such a parser splits
        first.sort(key=lambda option: (option.field != _SIZE, "percentile" not in option.field))
    return first[:_MAX_OPTIONS]


def default_of(preset: Preset, option: OptionRange) -> float:
    """Return the number that the preset has."""
    value: float = getattr(preset.make(), option.field)
    return value


def headline_of(name: str, configuration: Mapping[str, object]) -> str:
    """Return the options of a column in a few words."""
    preset = PRESETS.get(name)
    # Another parser may have the name of a preset.
    if preset and preset.headline and preset.path.endswith(f":{configuration['class']}"):
        return preset.headline.format(**configuration)
    return in_few_words(configuration)
