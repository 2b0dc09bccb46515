"""A preset as a file: a parser with its options, and how to search what it cut.

    schema_version = 1
    name = "manuals"
    preset = "recursive"
    output_version = 2

    [options]
    unit = "tokens"
    chunk_size = 200

    [query]
    mode = "hybrid"

A file names a preset of ours, never a module, and no model:
it may come from anybody, and whoever loads it runs nothing that is not installed, and sends no
text anywhere.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from llama_index.core.node_parser import NodeParser
from llama_index.core.node_parser.loading import load_parser as load_stock_parser
from llama_index.core.node_parser.node_utils import default_id_func

from rag_nodes.errors import ConfigurationError
from rag_nodes.files import write_text
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.presets import FILE_SUFFIX, PRESETS, Preset, preset_named

SCHEMA = 1
"""Version of the file; raised when a key changes its meaning."""
QUERY_KEYS = (
    "budget", "top_k", "granularity", "mode", "fusion", "similarity_cutoff", "expand"
)  # fmt: skip
"""Options of `rag_nodes.query.QueryOptions` that a file may have."""
LARGEST = 64_000
"""Bytes of a file; ours have a few hundred."""
_KEYS = {
    "schema_version": int,
    "name": str,
    "summary": str,
    "preset": str,
    "output_version": int,
    "options": dict,
    "query": dict,
}
_NEEDED = ("schema_version", "name", "preset")
_LONGEST_NAME = 80
_MODELS = ("embedding", "sentence_model")
"""Options that name a model; whoever uses the preset chooses it."""
_WRITTEN = frozenset({"class_name", "output_version", *_MODELS})
"""What a parser serialises that is no option of the preset."""


def load_preset(path: Path | str) -> Preset:
    """The preset in a file; `make` gives its parser, `query` says how to search.

    Raises:
        ConfigurationError: the file cannot be read, has an unknown key, preset or option, a value
            that is out of range, or names a model or a module; or its parser cut differently when
            it was written.
    """
    path = Path(path)
    try:
        return _preset(_read(path))
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def preset_for(parser: SpanNodeParser, name: str, **facts: Any) -> Preset:
    """Return a preset that makes such a parser, to be written to a file.

    `facts` are other attributes of it, such as `summary` and `query`.

    Raises:
        ConfigurationError: it is a splitter of another package, which a file must not name.
    """
    base = base_of(parser)
    usual = base.make().to_dict()
    options = {
        key: value
        for key, value in parser.to_dict().items()
        if key not in _WRITTEN and (key in base.options or usual.get(key) != value)
    }
    return _like(base, name, options=options, **facts)


def _like(base: Preset, name: str, **facts: Any) -> Preset:
    return replace(base, **{"name": name, "title": name, "ranges": (), "sizes": None, **facts})


def name_of_preset(path: Path) -> str:
    """What a preset in such a file is called; refused where that is taken, or it is no .toml."""
    _check_suffix(path)
    _check_name(path.stem)
    return path.stem


def _check_suffix(path: Path) -> None:
    if path.suffix.lower() != FILE_SUFFIX:
        raise ConfigurationError(f"{path}: name a file that ends in {FILE_SUFFIX}")


def save_preset(path: Path | str, preset: Preset) -> None:
    """Write a preset as a file that `load_preset` reads.

    Raises:
        ConfigurationError: the suffix is not .toml, the name is that of a preset of ours, or it
            cannot be written.
    """
    path = Path(path)
    _check_suffix(path)
    write_text(path, preset_text(preset))


def preset_text(preset: Preset) -> str:
    """What `save_preset` writes, as TOML; the name of a preset of ours is refused."""
    plain = _plain(preset)
    _check_keys(plain)
    return _toml(plain)


def preset_in(text: str) -> Preset:
    """The preset that `preset_text` wrote; raises what `load_preset` does."""
    return _preset(tomllib.loads(text))


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ConfigurationError(f"over {LARGEST:,} bytes, which is no preset; name another")
        return tomllib.loads(content.decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"cannot be read as a preset ({error}); `rag-nodes recommend --save` writes one"
        ) from error


def _preset(plain: Mapping[str, Any]) -> Preset:
    _check_keys(plain)
    base = preset_named(plain["preset"])
    options, query = dict(plain.get("options", {})), dict(plain.get("query", {}))
    if any(name in _MODELS for name in _names(options)):
        raise ConfigurationError(
            "options name a model, which a file must not; choose it with --embedding"
        )
    fields = base.parser.model_fields.items()
    _refuse_unknown("options", options, [name for name, one in fields if not one.exclude])
    _refuse_unknown("query", query, QUERY_KEYS)
    version = base.make().output_version
    if plain.get("output_version", version) != version:
        raise ConfigurationError(
            f"{base.name} cut differently when this was written (version "
            f"{plain['output_version']}, now {version}); run `rag-nodes recommend` again"
        )
    summary = plain.get("summary") or base.summary
    made = _like(base, plain["name"], summary=summary, options=options, query=query)
    made.make()
    return made


def _check_keys(plain: Mapping[str, Any]) -> None:
    _refuse_unknown("", plain, _KEYS)
    if missing := [name for name in _NEEDED if name not in plain]:
        raise ConfigurationError(f"has no {missing[0]!r}; `rag-nodes recommend --save` writes it")
    for name, value in plain.items():
        if not isinstance(value, _KEYS[name]) or isinstance(value, bool):
            raise ConfigurationError(f"{name} must be a {_KEYS[name].__name__}, not {value!r:.40}")
    if plain["schema_version"] != SCHEMA:
        raise ConfigurationError(
            f"is of schema version {plain['schema_version']}, and {SCHEMA} is read; write it again"
        )
    _check_name(plain["name"])


def _check_name(name: str) -> None:
    if not name.isprintable() or not 0 < len(name.strip()) <= _LONGEST_NAME:
        raise ConfigurationError(f"name must have 1 to {_LONGEST_NAME} letters that can be shown")
    if name in PRESETS:
        raise ConfigurationError(f"the name {name!r} is that of a preset; choose another")


def _names(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        yield name
        if isinstance(value, Mapping):
            yield from _names(value)


def _refuse_unknown(table: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    if unknown := sorted(set(given) - set(known)):
        where = f"{table}." if table else ""
        raise ConfigurationError(
            f"unknown key {where}{unknown[0]}; known are {', '.join(sorted(known))}"
        )


def base_of(parser: SpanNodeParser) -> Preset:
    """Return the preset whose parser has the same class.

    Raises:
        ConfigurationError: no preset has that class.
    """
    for preset in PRESETS.values():
        if preset.parser is type(parser):
            return preset
    raise ConfigurationError(
        f"{getattr(parser, 'splitter_class', '') or parser.class_name()} is of another package, "
        "which no preset file names: whoever loaded the file would run it; write a script instead"
    )


def _plain(preset: Preset) -> dict[str, Any]:
    base = base_of(preset.make())
    return {
        "schema_version": SCHEMA,
        "name": preset.name,
        "summary": preset.summary,
        "preset": base.name,
        "output_version": preset.make().output_version,
        "options": dict(preset.options),
        "query": {name: value for name, value in preset.query.items() if value is not None},
    }


def _toml(plain: Mapping[str, Any]) -> str:
    lines = [f"{name} = {_value(one)}" for name, one in plain.items() if not isinstance(one, dict)]
    for name, table in plain.items():
        if isinstance(table, dict):
            lines += ["", f"[{name}]", *(f"{key} = {_value(one)}" for key, one in table.items())]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    """As TOML writes it; texts, numbers and lists are written as in JSON."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{name} = {_value(one)}" for name, one in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    # TOML wants letters as they are, and DEL escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def load_parser(data: Mapping[str, Any] | NodeParser | str | Path, **overrides: Any) -> NodeParser:
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

    Examples:
        >>> from rag_nodes import load_parser
        >>> from rag_nodes.parsers import get_parser
        >>> load_parser(get_parser("fixed", chunk_size=500).to_dict()).chunk_size
        500
    """
    if isinstance(data, NodeParser):
        return data
    if isinstance(data, str | Path):
        return load_preset(data).make(**overrides)
    name = str(data.get("class_name"))
    built_in = {preset.parser.class_name(): preset.parser for preset in PRESETS.values()}
    own = built_in.get(name)
    if own is None:
        return _stock(name, {**data, **overrides}, known=sorted(built_in))
    return own.from_dict(dict(data), **overrides)


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
