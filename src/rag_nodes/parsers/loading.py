"""What `to_dict` of a parser gave, or a preset file in; the parser out: ours or LlamaIndex's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llama_index.core.node_parser import NodeParser
from llama_index.core.node_parser.loading import load_parser as load_stock_parser
from llama_index.core.node_parser.node_utils import default_id_func

from rag_nodes.errors import ConfigurationError
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.plugins import plugin_of
from rag_nodes.parsers.preset_files import load_preset
from rag_nodes.parsers.presets import PRESETS, preset_named


def load_parser(data: Mapping[str, Any] | NodeParser | Path, **overrides: Any) -> NodeParser:
    """The parser that `to_dict` or a file described: ours, a package's, or LlamaIndex's own.

    `llama_index.core.node_parser.loading.load_parser` knows a fixed list of classes, to which
    none can be added, so it refuses ours. This one takes both.

    Args:
        data: what `to_dict` gave, also from JSON; the path of a preset file, see `load_preset`; a
            parser comes back as it is.
        overrides: options to change, and what is never in the data, such as `embed_model`.

    Raises:
        ConfigurationError: there is no such class, or its options are wrong, or were written by a
            version that cut differently.

    Example:
        >>> from rag_nodes.parsers import get_parser
        >>> load_parser(get_parser("fixed", chunk_size=500).to_dict()).chunk_size
        500
    """
    if isinstance(data, NodeParser):
        return data
    if isinstance(data, Path):
        return load_preset(data).make(**overrides)
    name = str(data.get("class_name"))
    built_in = _built_in()
    own = built_in.get(name)
    if own is None and (plugin := plugin_of(name)):
        own = preset_named(plugin).parser
    if own is None:
        return _stock(name, {**data, **overrides}, known=sorted(built_in))
    return own.from_dict(dict(data), **overrides)


def _built_in() -> dict[str, type[SpanNodeParser]]:
    """Our own classes by name."""
    return {preset.parser.class_name(): preset.parser for preset in PRESETS.values()}


def _stock(name: str, options: dict[str, Any], known: list[str]) -> NodeParser:
    """One of LlamaIndex's own parsers, which refuse the `id_func` that they wrote themselves."""
    id_func = options.get("id_func")
    if isinstance(id_func, Mapping) and id_func.get("id_func_name") == default_id_func.__name__:
        del options["id_func"]
    try:
        return load_stock_parser(options)
    except ValueError as error:
        raise ConfigurationError(
            f"no parser can be made from data of class {name!r}: {error}; it must be what to_dict "
            f"of one of LlamaIndex's parsers or of one of these gave: {', '.join(known)}"
        ) from error
