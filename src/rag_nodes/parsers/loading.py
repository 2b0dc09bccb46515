"""Parsers made again from plain data, and written as they are typed after `--parser`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.node_parser import NodeParser
from llama_index.core.node_parser.loading import load_parser as load_stock_parser
from llama_index.core.node_parser.node_utils import default_id_func

from rag_nodes.core.errors import ConfigurationError, RagNodesError
from rag_nodes.core.import_paths import with_options
from rag_nodes.core.keys import has_user_info, is_secret
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.presets import PRESETS, Preset

MODEL_OPTIONS = frozenset({"embedding", "sentence_model"})
"""Options that name a model, which `--embedding` chooses."""
_NOT_OPTIONS = frozenset({"class_name", "output_version"})
"""Entries of `to_dict` that are no options of the parser."""
_KNOWN = ("llama_index.", "rag_nodes.")
"""Packages whose classes can be made again to see whether they are the same."""


def load_parser(data: Mapping[str, Any] | NodeParser, **overrides: Any) -> NodeParser:
    """Make the parser that `to_dict` described: ours, a package's, LlamaIndex's own, or yours.

    `llama_index.core.node_parser.loading.load_parser` knows a fixed list of classes, to which
    none can be added, so it refuses ours. This one takes both.

    Args:
        data: what `to_dict` gave, also from JSON, or the `parser` of a decision; a parser comes
            back as it is.
        overrides: options to change, and what is never in the data, such as `embed_model`, or the
            `splitter` of a `ForeignNodeParser` that was made without a `path`.

    Raises:
        ConfigurationError: there is no such class, or its options are wrong, or were written by a
            version that split differently.

    Examples:
        >>> from rag_nodes import load_parser
        >>> from rag_nodes.parsers import get_parser
        >>> load_parser(get_parser("fixed", chunk_size=500).to_dict()).chunk_size
        500
    """
    if isinstance(data, NodeParser):
        return data
    name = str(data.get("class_name"))
    from rag_nodes.parsers.foreign import ForeignNodeParser, parser_at

    built_in = {preset.parser.class_name(): preset.parser for preset in PRESETS.values()}
    built_in[ForeignNodeParser.class_name()] = ForeignNodeParser
    own = built_in.get(name)
    if own is None and "path" in data:
        return parser_at(str(data["path"]))
    if own is None:
        return _stock(name, {**data, **overrides}, sorted(built_in))
    return own.from_dict(dict(data), **overrides)


def _stock(name: str, options: dict[str, Any], names: list[str]) -> NodeParser:
    """One of LlamaIndex's own parsers, which refuse the `id_func` that they wrote themselves."""
    id_func = options.get("id_func")
    if isinstance(id_func, Mapping) and id_func.get("id_func_name") == default_id_func.__name__:
        del options["id_func"]
    try:
        return load_stock_parser(options)
    except ValueError as error:
        raise ConfigurationError(
            f"cannot make a parser from data of class '{name}': {error}; pass what to_dict of a "
            f"LlamaIndex parser or of one of these returned: {', '.join(names)}"
        ) from error


def changed_options(parser: SpanNodeParser, default: SpanNodeParser) -> dict[str, Any]:
    """Return the options of a parser that differ from those of `default`, as plain data."""
    usual = default.to_dict()
    return {
        name: value
        for name, value in parser.to_dict().items()
        if name not in _NOT_OPTIONS and usual.get(name) != value
    }


def base_of(parser: SpanNodeParser, name: str = "") -> Preset | None:
    """Return the preset of that name, or the first, whose parser has the same class; else None."""
    same = {preset.name: preset for preset in PRESETS.values() if preset.parser is type(parser)}
    return same.get(name) or next(iter(same.values()), None)


def data_of(parser: SpanNodeParser, spec: str) -> dict[str, Any]:
    """Return a parser as data for `load_parser`, without its model; {} if nothing names it."""
    from rag_nodes.parsers.foreign import ForeignNodeParser

    if base_of(parser):
        data = parser.to_dict()
        return {name: value for name, value in data.items() if name not in MODEL_OPTIONS}
    facts = parser.to_dict() if isinstance(parser, ForeignNodeParser) else {}
    return {"class_name": parser.class_name(), **facts, "path": spec} if spec else {}


def spec_of(parser: SpanNodeParser, name: str = "") -> str:
    """Return a parser as it is typed after `--parser`, without its model.

    "" if an option cannot be typed, or if neither a preset nor an import path makes the same. An
    object of your own has a path only if you gave it. For `name` see `base_of`.

    Examples:
        >>> from rag_nodes.parsers import get_parser
        >>> from rag_nodes.parsers.loading import spec_of
        >>> spec_of(get_parser("heading", chunk_size=200, min_chunk_size=20))
        'heading:chunk_size=200,min_chunk_size=20'
    """
    base = base_of(parser, name)
    if base is None:
        return getattr(parser, "path", "") or _path_of(parser)
    changed = changed_options(parser, base.make())
    own = {name: value for name, value in changed.items() if name not in MODEL_OPTIONS}
    if not all(map(_can_be_typed, own.values())):
        return ""
    options = ",".join(f"{name}={value!s}" for name, value in own.items())
    return f"{base.name}:{options}" if options else base.name


def _path_of(parser: SpanNodeParser) -> str:
    """Return the import path that makes the same parser or splitter; "" if none is known to.

    Only of our own and LlamaIndex's classes: to find out, one is made, and those of others may load
    or connect to anything, and hold secrets in options of any name.
    """
    from rag_nodes.parsers.foreign import parser_at
    from rag_nodes.parsers.foreign.configuration import class_path

    made = getattr(parser, "splitter", parser)
    path = class_path(made)
    if not isinstance(made, NodeParser) or not path.startswith(_KNOWN):
        return ""
    fields = type(made).model_fields
    values = {name: getattr(made, name) for name in fields}
    if any(isinstance(value, BaseEmbedding) for value in values.values()):
        return ""
    if any(
        has_user_info(value) or (is_secret(name) and value != fields[name].default)
        for name, value in values.items()
    ):
        return ""
    changed = {
        name: value
        for name, value in values.items()
        if isinstance(value, str | int | float) and value != fields[name].default
    }
    try:
        path = with_options(f"{path}()", **changed)
        return path if parser_at(path).fingerprint == parser.fingerprint else ""
    except RagNodesError:
        return ""


def _can_be_typed(value: object) -> bool:
    if isinstance(value, str):
        return value != "" and value == value.strip() and "," not in value
    return isinstance(value, int | float)
