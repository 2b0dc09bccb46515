"""Columns of an evaluation: parsers at their own options, at other sizes, at an equal mean size."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keys import words_of
from rag_nodes.evaluation.engines import FoundStore, Placing, finds, found_store
from rag_nodes.evaluation.engines import StoredCollection as StoredCollection  # noqa: PLC0414 -- given on
from rag_nodes.evaluation.report import LeftOut
from rag_nodes.evaluation.sizes import resized
from rag_nodes.evaluation.wording import SELECTING
from rag_nodes.parsers import ForeignNodeParser, SpanNodeParser, as_parser, get_parser
from rag_nodes.parsers.loading import spec_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.plan import EvaluationPlan
    from rag_nodes.query import QueryOptions

Role = Literal["own", "size", "matched", "reference"]
"""A column as it is compared; a size of its curve; the common mean size; LlamaIndex's splitter with
its default settings, to look at beside the curves."""
REFERENCE = "LlamaIndex SentenceSplitter"
"""Name of the row of that splitter: 1,024 tokens, 200 of them shared."""
_REFERENCE_PATH = "llama_index.core.node_parser:SentenceSplitter"
_PLAIN = (str, int, float, bool, dict)
_SEARCHING = ("granularity", "mode", "fusion", "expand", "similarity_cutoff")
"""Options of a search that are plain values."""


@dataclass(frozen=True, slots=True)
class Searched:
    """A column that is searched in a way of its own, such as by sentences beside one by chunks.

    `options` are in place of the plan's; budget and number of chunks are set by the evaluation.
    Where `at_sizes`, it is tried at the sizes of the plan, too.
    """

    parser: object
    options: QueryOptions
    at_sizes: bool = True


@dataclass(frozen=True, slots=True)
class Variant:
    """One parser, or collection that is there, which is indexed and asked on its own.

    The parser is pickled for other processes. `nominal` are tokens of a size that was asked for,
    `note` is what has to be said of it, `options` how it is searched if not as all others are, and
    `search` what the plan calls that.
    """

    column: str
    role: Role
    parser: SpanNodeParser | StoredCollection | bytes
    nominal: int | None = None
    note: str = ""
    options: QueryOptions | None = None
    search: str = ""

    @property
    def name(self) -> str:
        """Unique in a run."""
        column = f"{self.column} ({self.search})" if self.search else self.column
        if self.nominal is not None:
            return f"{column} at {self.nominal}"
        return f"{column} at equal size" if self.role == "matched" else column


def variants_of(
    columns: Mapping[str, object], plan: EvaluationPlan
) -> tuple[list[Variant], list[LeftOut]]:
    """Every row there will be of columns as `evaluate` takes them, and sizes that they cannot have.

    Raises:
        ConfigurationError: there is no column, one is no splitter, or a name is taken.
    """
    if not columns:
        raise ConfigurationError("nothing to evaluate: name at least one parser")
    variants: list[Variant] = []
    left_out: list[LeftOut] = []
    for name, column in columns.items():
        own, *others = _searched_by(_own(name, column), plan)
        is_sized = not isinstance(column, Searched) or column.at_sizes
        sized, without = _at_sizes(own, plan) if is_sized else ([], [])
        if plan.chosen_from == "columns" or not sized:
            variants.append(own)
        variants += sized
        left_out += without
        if plan.target and not isinstance(own.parser, StoredCollection):
            variants.append(replace(own, role="matched"))
        variants += others
    variants += _reference(variants, plan)
    repeated = [
        name for name, times in Counter(variant.name for variant in variants).items() if times > 1
    ]
    if repeated:
        raise ConfigurationError(
            f"two rows would be called '{repeated[0]}'; choose another name for that column"
        )
    return variants, left_out


def _own(name: str, column: object) -> Variant:
    """A column at its own options."""
    given, options = (
        (column.parser, column.options) if isinstance(column, Searched) else (column, None)
    )
    parser = given if isinstance(given, StoredCollection) else as_parser(given)
    note = "asked as it stands" if isinstance(parser, StoredCollection) else ""
    return Variant(name, "own", parser, note=note, options=options)


def _searched_by(own: Variant, plan: EvaluationPlan) -> list[Variant]:
    """Return a column in each search of the plan; in its own, if it has one or asks alone."""
    store = own.parser.store if isinstance(own.parser, StoredCollection) else None
    asks_itself = isinstance(store, FoundStore) and not store.lists_all
    if not plan.searches or own.options or asks_itself:
        return [own]
    return [replace(own, options=search, search=name) for name, search in plan.searches.items()]


def placed_in(documents: Sequence[Document], columns: Mapping[str, object]) -> dict[str, object]:
    """The same columns; what finds as it stands as a collection whose chunks have their places."""
    placing = Placing(documents)

    def placed(name: str, column: object) -> object:
        if isinstance(column, Searched):
            return replace(column, parser=placed(name, column.parser))
        if isinstance(column, str):
            return get_parser(column)
        if not finds(column):
            return column
        if isinstance(column, StoredCollection):
            nodes = column.nodes_of(placing.documents)
            is_whole = {node.ref_doc_id for node in nodes} >= placing.documents.keys()
            if is_whole and not any(map(placing.is_elsewhere, nodes)):
                return column  # ingested from these very texts
        return StoredCollection(found_store(column, placing), name)

    return {name: placed(name, column) for name, column in columns.items()}


def _at_sizes(own: Variant, plan: EvaluationPlan) -> tuple[list[Variant], list[LeftOut]]:
    """A column at each size of the plan, and those that it cannot have."""
    if not isinstance(own.parser, SpanNodeParser):
        sizes = plan.sizes or plan.target
        reason = "it stays as it was split"
        return [], [LeftOut(own.column, ("other sizes",), reason)] if sizes else []
    variants: list[Variant] = []
    refused = defaultdict[str, list[str]](list)
    for size in plan.sizes:
        try:
            parser = resized(own.parser, size)
        except Exception as error:  # noqa: BLE001 -- another's splitter may raise anything
            refused[words_of(error)].append(str(size))
        else:
            role: Role = "own" if plan.chosen_from == "sizes" else "size"
            variants.append(replace(own, role=role, parser=parser, nominal=size))
    return variants, [LeftOut(own.column, tuple(names), why) for why, names in refused.items()]


def _reference(variants: Sequence[Variant], plan: EvaluationPlan) -> list[Variant]:
    """LlamaIndex's splitter with its default settings, if sizes are tried and nobody named it."""
    parser = ForeignNodeParser(path=_REFERENCE_PATH)
    fingerprints = {
        variant.parser.fingerprint
        for variant in variants
        if isinstance(variant.parser, SpanNodeParser)
    }
    if not plan.sizes or not fingerprints or parser.fingerprint in fingerprints:
        return []
    role: Role = "own" if plan.chosen_from == "sizes" else "reference"
    return [Variant(REFERENCE, role, parser)]


def configuration_of(variant: Variant) -> dict[str, Any]:
    """The class and the plain options of a parser, or what a collection is."""
    parser, searched = variant.parser, _searched(variant.options)
    if isinstance(parser, SpanNodeParser):
        return {**plain_parser(parser), **searched}
    if isinstance(parser, bytes):
        return searched
    kind = "as it stands" if isinstance(parser.store, FoundStore) else "collection"
    return {"class": kind, "name": parser.name, "store": parser.store.location, **searched}


def typed(variant: Variant) -> str:
    """Return a variant as it is typed after `--parser`; "" if it cannot be typed."""
    if not isinstance(variant.parser, SpanNodeParser):
        return ""
    return spec_of(variant.parser, variant.column.removesuffix(SELECTING).partition(":")[0])


def plain_parser(parser: SpanNodeParser) -> dict[str, Any]:
    """Class, fingerprint and plain options; what could hold a key or a path is left out."""
    options = {
        name: value
        for name in type(parser).model_fields
        if name != "path" and isinstance(value := getattr(parser, name), _PLAIN)
    }
    return {"class": parser.class_name(), "fingerprint": parser.fingerprint, **options}


def _searched(options: QueryOptions | None) -> dict[str, Any]:
    """Return the search options of a column as plain data; empty if it uses those of the run."""
    if options is None:
        return {}
    usual = type(options)()
    values = {name: getattr(options, name) for name in _SEARCHING}
    return {"searched": {k: v for k, v in values.items() if v != getattr(usual, k)}}
