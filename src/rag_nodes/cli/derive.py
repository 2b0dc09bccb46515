"""A command from an operation: options from the fields of its request, help from their docstrings.

Only what was typed reaches the request, so that it can tell a default from a choice.
"""

from __future__ import annotations

import inspect
import re
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel, ValidationError
from rich.markup import escape

from rag_nodes.cli.invocation import OUTPUT, Invocation
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.settings import OPTION_TABLES, Settings, refuse_secrets, typed_option
from rag_nodes.operations import ANSWERS, MODELS
from rag_nodes.operations.base import Flag, flag_of, has, misfit, panel_of
from rag_nodes.operations.fields import ASSIGNMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic.fields import FieldInfo

    from rag_nodes.operations import Operation
    from rag_nodes.operations.base import Request

MORE = "More options"
"""Heading of options that belong to no group and are not shown first."""
_PANELS = {
    **dict.fromkeys((*MODELS, *ANSWERS), "Models"),
    **dict.fromkeys(("store_options", "ledger"), "Store"),
}
"""Headings of settings."""
_TYPED_AS = {int: "N", float: "X", str: "TEXT", Path: "PATH"}
_TYPED_SETTINGS = {"exclude": "PATTERN", "encoding": "[PATTERN=]NAME", "ocr": "COMMAND"}
"""Words for a value in help; typer would name Python's types."""
_STDIN = Path("-")
_LINE_END = re.compile(r"(?<!\n)\n(?!\n|\s*[-*] )")


def command_of(operation: Operation) -> Callable[..., None]:
    """Return the function that typer makes a command of."""
    request = operation.request
    parameters = [_CONTEXT, *_options(operation), *_output_options()]

    def run(context: typer.Context, **values: Any) -> None:
        cli = context.ensure_object(Invocation)
        for flag in OUTPUT:
            setattr(cli, flag, values.pop(flag) or getattr(cli, flag))
        typed = {
            name: value
            for name, value in values.items()
            if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
            and value is not None  # click before 8.3 says so of arguments that nobody typed
        }
        flags = {name: typed.pop(name) for name in operation.settings if name in typed}
        cli.configure_logging()
        # Splitters of other packages print; only what we say is data.
        with redirect_stdout(sys.stderr):
            taken = _taken(cli, request, typed)
            cli.perform(operation, taken, settings_of(operation, flags), flags)

    run.__name__ = operation.name.rpartition(" ")[2]
    run.__doc__ = unwrapped(request.__doc__ or operation.summary)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def unwrapped(text: str) -> str:
    """Paragraphs without the line ends of the source, which a narrow terminal would add to."""
    return _LINE_END.sub(" ", inspect.cleandoc(text))


def described(error: ValidationError, request: type[BaseModel]) -> str:
    """Return the faults of a request in words, each with the option that it was typed as."""
    faults = []
    for problem in error.errors(include_input=False, include_url=False):
        words = misfit(problem)
        name, *inside = map(str, problem["loc"] or [""])
        if field := request.model_fields.get(name):
            parts = (part for part in inside if not part.isdecimal())
            where = " ".join([_typed_name(name, flag_of(field)), *parts])
            words = words if words.startswith(where) else f"{where}: {words}"
        faults.append(words)
    return "; ".join(dict.fromkeys(faults))


def _taken(cli: Invocation, request: type[Request], typed: dict[str, Any]) -> Request:
    """The request, checked as a whole before any work begins."""
    for name, value in typed.items():
        flag = flag_of(request.model_fields[name])
        if value == "-" and flag.stdin:
            typed[name] = sys.stdin.read().strip()
        elif value == _STDIN:
            typed[name] = _sent(cli, name, flag)
        elif isinstance(value, list) and _STDIN in value:
            typed[name] = [_sent(cli, name, flag) if text == _STDIN else text for text in value]
    try:
        return request.model_validate(typed)
    except ValidationError as error:
        raise ConfigurationError(described(error, request)) from None


def _sent(cli: Invocation, name: str, flag: Flag) -> Path:
    """Return a file with the standard input, if a field may be read from there."""
    if not flag.stdin:
        raise ConfigurationError(f"{_typed_name(name, flag)} needs the name of a file instead of -")
    return cli.standard_input(flag.stdin)


def settings_of(operation: Operation, flags: Mapping[str, Any]) -> Settings:
    """Flag, environment, `.env`, `rag_nodes.toml`, the operation's default, default.

    Raises:
        ConfigurationError: a value is out of range or a file cannot be read.
    """
    given = {
        name: table_of(name, value) if name in OPTION_TABLES else value
        for name, value in flags.items()
    }
    settings = Settings(**given)
    unset = {k: v for k, v in operation.defaults if k not in settings.model_fields_set}
    return Settings(**{**given, **unset}) if unset else settings


def table_of(setting: str, texts: list[str]) -> dict[str, Any]:
    """Options by name, typed as OPTION=VALUE.

    Raises:
        ConfigurationError: one is written otherwise, or may be a key.
    """
    from rag_nodes.operations.fields import assignments

    flag = _table_flag(setting)
    options = {name: typed_option(value) for name, value in assignments(texts, flag).items()}
    refuse_secrets(options, flag, setting)
    return options


def _table_flag(setting: str) -> str:
    return f"--{setting.removesuffix('s').replace('_', '-')}"


# --- options ------------------------------------------------------------------------------------

_CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)


def _options(operation: Operation) -> list[inspect.Parameter]:
    """A parameter for each field that a command line has, and each setting, the main ones first.

    Without an option for a setting the settings hold.
    """
    request = operation.request
    parameters = {
        name: _parameter(name, field, flag_of(field), panel_of(request, name), operation)
        for name, field in request.model_fields.items()
        if has(field, "cli")
    }
    for name in operation.settings:
        field, panel = Settings.model_fields[name], _PANELS.get(name, "")
        flag = Flag(metavar=_TYPED_SETTINGS.get(name, ""))
        if name in OPTION_TABLES:
            flag = Flag(_table_flag(name), metavar=ASSIGNMENT, many=True)
        parameters[name] = _parameter(name, field, flag, panel, operation, is_setting=True)
    return [parameters[name] for name in dict.fromkeys([*operation.main, *parameters])]


def _parameter(
    name: str,
    field: FieldInfo,
    flag: Flag,
    panel: str,
    operation: Operation,
    *,
    is_setting: bool = False,
) -> inspect.Parameter:
    kind, many = _typed_kind(field, flag)
    required = flag.required or (field.is_required() and not is_setting)
    words = escape(unwrapped(flag.help or field.description or name.replace("_", " ")))
    if not is_setting and (default := _default_in_words(field)):
        words += rf" [dim]\[default: {escape(default)}][/dim]"
    if many and not flag.argument and "epeatable" not in words:
        words += r" [dim]\[repeatable][/dim]"
    attributes: dict[str, Any] = {
        "help": words,
        "metavar": flag.metavar or (name.upper() if flag.argument else _TYPED_AS.get(kind)),
        "show_default": False,
        **_range(field, kind),
    }
    if flag.argument:
        option = typer.Argument(**attributes)
    else:
        usual = name in operation.main or required
        group = None if usual else panel or MORE
        long = _typed_name(name, flag)
        off = f"/--no-{long[2:]}" if kind is bool and field.default is True else ""
        names = [f"{long}{off}", *([flag.short] if flag.short else [])]
        option = typer.Option(*names, rich_help_panel=group, **attributes)
    annotation: Any = list[kind] if many else kind  # type: ignore[valid-type]
    initial: Any = inspect.Parameter.empty
    if not required:
        initial = field.default is True if kind is bool else None
        annotation = annotation if kind is bool else annotation | None
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=initial,
        annotation=Annotated[annotation, option],
    )


def _typed_name(name: str, flag: Flag) -> str:
    if flag.argument:
        return flag.metavar or name.upper()
    return flag.name or f"--{name.replace('_', '-')}"


def _typed_kind(field: FieldInfo, flag: Flag) -> tuple[Any, bool]:
    """The type of one value as it is typed, and whether there may be several."""
    kind = _without_none(field.annotation)
    many = flag.many
    if get_origin(kind) in {list, tuple} and not flag.joined:
        (kind, *_), many = get_args(kind), True
        kind = str if get_origin(kind) is Literal else _without_none(kind)
    elif flag.many:
        kind = str
    is_plain = kind in {str, int, float, bool, Path} or get_origin(kind) is Literal
    return (kind if is_plain else str), many


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) is Annotated:
        return _without_none(get_args(annotation)[0])
    if get_origin(annotation) in {Union, UnionType}:
        kinds = [part for part in get_args(annotation) if part is not type(None)]
        return _without_none(kinds[0]) if len(kinds) == 1 else str
    return annotation


def _default_in_words(field: FieldInfo) -> str | None:
    """The default in words, where it tells something."""
    default = field.get_default(call_default_factory=True)
    if default is None or isinstance(default, bool) or default in ({}, (), [], ""):
        return None
    if isinstance(default, BaseModel):
        return str(getattr(default, "label", None) or default)
    if isinstance(default, tuple | list):
        # A description says which parsers are meant.
        return None if isinstance(default[0], BaseModel) else ", ".join(map(str, default))
    return str(default) if not field.is_required() else None


def _range(field: FieldInfo, kind: Any) -> dict[str, Any]:
    if kind not in {int, float}:
        return {}
    bounds: dict[str, Any] = {}
    for constraint in field.metadata:
        bounds["min"] = getattr(constraint, "ge", bounds.get("min"))
        bounds["max"] = getattr(constraint, "le", bounds.get("max"))
    return bounds


def _output_options() -> Iterator[inspect.Parameter]:
    for name, (flags, text) in OUTPUT.items():
        option = typer.Option(*flags, help=text, rich_help_panel="Output")
        yield inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False,
            annotation=Annotated[bool, option],
        )
