"""What is compared: parsers at their own options, at other sizes, at an equal mean size."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from rag_nodes.columns import StoredCollection as StoredCollection  # noqa: PLC0414 -- given on
from rag_nodes.errors import ConfigurationError
from rag_nodes.evaluation.report import LeftOut
from rag_nodes.evaluation.sizes import Matched, resized
from rag_nodes.parsers import SpanNodeParser, as_parser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rag_nodes.query import QueryOptions

Role = Literal["own", "size", "matched", "control"]
"""Its own options; one size of its curve; the common mean size; the first column once more."""
Sized = Matched | Exception
"""A parser at the common mean size, or why there is none."""
CONTROL = "A/A control"
"""Name of the column that is another one once more."""
_SEARCHING = ("granularity", "mode", "fusion", "vector", "expand", "similarity_cutoff")
"""Options of a search that are plain values."""


@dataclass(frozen=True, slots=True)
class Searched:
    """A column that is searched in a way of its own, such as by sentences beside one by chunks.

    Attributes:
        parser: what cuts, or a `StoredCollection`.
        options: how is searched, in place of the plan's `options`; budget and number of chunks are
            set by the evaluation.
    """

    parser: object
    options: QueryOptions


@dataclass(frozen=True, slots=True)
class Variant:
    """One parser with one configuration, which is indexed and asked on its own.

    Attributes:
        column: name of the column it belongs to.
        role: what it is there for.
        parser: how it cuts, or the collection that was cut once.
        nominal: tokens a chunk may have, for a size of the curve; None otherwise.
        note: what has to be said of it, such as a mean size it could not reach; "" for nothing.
        options: how it is searched, where that is not as all others are.
    """

    column: str
    role: Role
    parser: SpanNodeParser | StoredCollection
    nominal: int | None = None
    note: str = ""
    options: QueryOptions | None = None

    @property
    def name(self) -> str:
        """Unique in a run."""
        if self.role == "size":
            return f"{self.column} at {self.nominal}"
        return f"{self.column} at equal size" if self.role == "matched" else self.column


def variants_of(
    columns: Mapping[str, object],
    *,
    sizes: Sequence[int],
    target: int | None,
    sized: Callable[[Mapping[str, SpanNodeParser]], Mapping[str, Sized]],
) -> tuple[list[Variant], list[LeftOut]]:
    """Everything that is indexed and asked, in the order it is shown, and what cannot be.

    Args:
        columns: parsers by name: ours, and splitters of other packages; or collections; each of
            them also `Searched` in a way of its own.
        sizes: of the curve, in tokens; none for no curve.
        target: mean size of the comparison at equal size; None for none.
        sized: finds that size of each parser, by column.

    Raises:
        CancelledError: `sized` was cancelled.
        ConfigurationError: there is no column, one is no splitter, or a name is taken.
    """
    if not columns:
        raise ConfigurationError("nothing to evaluate: name at least one parser")
    if CONTROL in columns:
        raise ConfigurationError(
            f"{CONTROL!r} is the name of a column that is added; choose another"
        )
    own = [_own(name, column) for name, column in columns.items()]
    cut = {one.column: one.parser for one in own if isinstance(one.parser, SpanNodeParser)}
    at_target = sized(cut) if target else {}
    found: list[Variant] = []
    left_out: list[LeftOut] = []
    for column in own:
        found.append(column)
        for one in _resized(column.name, column.parser, sizes, target, at_target):
            if isinstance(one, Variant):
                found.append(replace(one, options=column.options))
            else:
                left_out.append(one)
    repeated = [name for name, times in Counter(one.name for one in found).items() if times > 1]
    if repeated:
        raise ConfigurationError(
            f"two rows would be called {repeated[0]!r}; choose another name for that column"
        )
    note = f"{own[0].name} once more"
    return [*found, replace(own[0], column=CONTROL, role="control", note=note)], left_out


def by_vectors(
    columns: Mapping[str, object], options: QueryOptions, vectors: Sequence[str]
) -> dict[str, object]:
    """Each column by each embedding of its chunks; the same columns for one embedding or none.

    Args:
        columns: as `evaluate` takes them.
        options: of the search, but for the embedding.
        vectors: names of the embeddings, see `rag_nodes.FurtherVectors`.
    """
    wanted = dict.fromkeys(vectors)
    if len(wanted) <= 1:
        return dict(columns)
    return {
        f"{name} by {vector}": Searched(column, replace(options, vector=vector))
        for name, column in columns.items()
        for vector in wanted
    }


def in_both_ways(columns: Mapping[str, object], options: QueryOptions) -> dict[str, object]:
    """Each column, and the same column read by sentences.

    Args:
        columns: as `evaluate` takes them, read as its plan says.
        options: of the search, but for what is read.
    """
    found: dict[str, object] = {}
    for name, column in columns.items():
        found[name] = column
        given, own = (
            (column.parser, column.options) if isinstance(column, Searched) else (column, options)
        )
        read = replace(own, granularity="sentences", top_k=None, budget=own.budget or 1)
        found[f"{name} by sentence"] = Searched(given, read)
    return found


def _own(name: str, column: object) -> Variant:
    """A column at its own options."""
    given, options = (
        (column.parser, column.options) if isinstance(column, Searched) else (column, None)
    )
    parser = given if isinstance(given, StoredCollection) else as_parser(given)
    return Variant(name, "own", parser, options=options)


def _resized(
    name: str,
    parser: SpanNodeParser | StoredCollection,
    sizes: Sequence[int],
    target: int | None,
    at_target: Mapping[str, Sized],
) -> Iterator[Variant | LeftOut]:
    """The points of a column's curve, and the column at the common mean size."""
    if isinstance(parser, StoredCollection):
        if sizes or target:
            yield LeftOut(name, ("other sizes",), "a collection stays as it was cut")
        return
    wanted: dict[str, Callable[[], Variant]] = {
        str(size): partial(_at, name, parser, size) for size in sizes
    }
    if target:
        wanted[f"a mean of {target}"] = partial(_matched, name, at_target[name])
    refused = defaultdict[str, list[str]](list)
    for size, make in wanted.items():
        try:
            yield make()
        except Exception as error:  # noqa: BLE001 -- another's splitter may raise anything
            refused[str(error) or type(error).__name__].append(size)
    for reason, named in refused.items():
        yield LeftOut(name, tuple(named), reason)


def _at(name: str, parser: SpanNodeParser, size: int) -> Variant:
    return Variant(name, "size", resized(parser, size), size)


def _matched(name: str, one: Sized) -> Variant:
    if isinstance(one, Exception):
        raise one
    note = "" if one.reached else f"mean size {one.mean:.0f}: {one.target} could not be reached"
    return Variant(name, "matched", one.parser, note=note)


def configuration_of(variant: Variant) -> dict[str, Any]:
    """The class and the plain options of a parser; what could hold a key is left out."""
    parser, searched = variant.parser, _searched(variant.options)
    if isinstance(parser, StoredCollection):
        place = {"class": "collection", "name": parser.name, "store": parser.store.location}
        return {**place, **searched}
    plain = (str, int, float, bool, dict)
    options = {
        name: value
        for name in type(parser).model_fields
        if isinstance(value := getattr(parser, name), plain)
    }
    return {"class": parser.class_name(), "fingerprint": parser.fingerprint, **options, **searched}


def _searched(options: QueryOptions | None) -> dict[str, Any]:
    """How a column is searched in a way of its own, as plain data; nothing where it is not."""
    if options is None:
        return {}
    usual = type(options)()
    values = {name: getattr(options, name) for name in _SEARCHING}
    return {"searched": {k: v for k, v in values.items() if v != getattr(usual, k)}}
