"""The commands put together: a help text lists words alone, and what is used is imported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from rag_nodes import IDENTITY
from rag_nodes.cli.invocation import Invocation, show_settings
from rag_nodes.cli.program import PROGRAM
from rag_nodes.operations import ANSWERS, GROUPS, MODELS, OPERATIONS, STORE, Operation

_OTHER_FORMATS = frozenset({"--csv", "--xlsx", "--pdf", "--md", "--markdown"})
"""Options that people try for formats which no report has."""
APP = Operation(
    "app",
    "app:app",
    "Open the comparison in a browser; REST is at /api, with the token in RAG_NODES_API_TOKEN.",
    examples=("app", "app report.pdf --port 8080", "app --auth ann --mcp"),
    main=("host", "port", "auth", "mcp", "parser"),
    settings=(*STORE, "corpus", *MODELS),
    interrupted="The app has ended.",
    package="rag_nodes.cli",
)
"""The command that serves the page and REST; no operation, as it shows them all."""
MCP = Operation(
    "mcp",
    "agents:mcp",
    "Give an agent tools to search, ask and quote your stored documents (MCP over stdio).",
    examples=("mcp --store rag_nodes_data", "mcp --store http://localhost:6333 --corpus contracts"),
    main=("store", "corpus", "parser"),
    settings=(*STORE, "ledger", "corpus", *ANSWERS, *MODELS),
    interrupted="The agent has no tools any more.",
    package="rag_nodes.cli",
)
"""The command that serves the tools of agents, which show the store in another way."""
COMMANDS = {operation.name: operation for operation in (*OPERATIONS, APP, MCP)}
"""All commands by name, in the order in which help lists them."""

_MODELS = (
    "Without a key everything runs offline; with OPENAI_API_KEY set, OpenAI embeds and answers."
)
_EXIT_CODES = (
    "Exit codes: 0 done, 1 failure, 2 usage or configuration, 3 partly done, "
    "4 a threshold was crossed or a check failed, 5 a dependency or service is missing, "
    "130 interrupted."
)


def command() -> Any:
    """The program with the two options of shell completion, which help does not list."""
    program = typer.Typer(
        cls=Commands,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
        epilog=_EXIT_CODES,
    )
    program.callback(invoke_without_command=True, help=f"{IDENTITY}\n\n{_MODELS}")(_root)
    command = typer.main.get_command(program)
    for option in command.params:
        if option.name in {"install_completion", "show_completion"}:
            option.hidden = True  # type: ignore[attr-defined] # both are options
    return command


class Command(TyperCommand):
    """A command whose help names no types of Python.

    Attributes:
        surplus: what to type where more arguments were typed than it takes; "" for no advice.
    """

    surplus = ""

    def get_params(self, context: Any) -> list[Any]:
        """Its options and arguments."""
        return _without_types(super().get_params(context))

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        """Read what was typed, and say of too many arguments what to type instead."""
        writes_reports = any("--html" in option.opts for option in self.get_params(context))
        if writes_reports and (named := _OTHER_FORMATS.intersection(arguments)):
            context.fail(
                f"No such option: {min(named)}. A report is written as HTML (--html FILE) or as "
                "JSON (--output FILE, or --json to stdout)."
            )
        context.allow_extra_args = bool(self.surplus)
        rest: list[str] = super().parse_args(context, arguments)
        if rest and self.surplus and not context.resilient_parsing:
            context.fail(f"Too many arguments: {' '.join(rest)}. {self.surplus}")
        return rest


def _without_types(parameters: list[Any]) -> list[Any]:
    """Have help say nothing of the type of a flag, which has none, and of what has a name."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) or parameter.param_type_name == "argument":
            parameter.display_type = lambda _context: ""
    return parameters


class Commands(TyperGroup):
    """Commands that are imported when one of them is used; a help text lists words alone.

    Attributes:
        group: their first word; "" for those without one.
    """

    group = ""

    def get_params(self, context: Any) -> list[Any]:
        """Their options."""
        return _without_types(super().get_params(context))

    def list_commands(self, _context: Any) -> list[str]:
        """Their names, in order."""
        return [module.removeprefix(self._prefix) for module in _listed() if self._is_here(module)]

    def get_command(self, _context: Any, name: str) -> Any:
        """The command or group of that name, with its name and summary only; None for none."""
        summary = _listed().get(f"{self._prefix}{name}")
        return None if summary is None else TyperCommand(name, help=summary)

    def resolve_command(self, context: Any, arguments: list[str]) -> Any:
        """The command that is used, whole."""
        self.commands = {name: TyperCommand(name) for name in self.list_commands(context)}
        name, command, others = super().resolve_command(context, arguments)
        return name, command and _imported(f"{self._prefix}{name}"), others

    @property
    def _prefix(self) -> str:
        return f"{self.group} " if self.group else ""

    def _is_here(self, name: str) -> bool:
        return name.startswith(self._prefix) and " " not in name.removeprefix(self._prefix)


def _listed() -> dict[str, str]:
    """All commands and groups in the order in which they are listed, each with a sentence."""
    return {**{name: command.summary for name, command in COMMANDS.items()}, **GROUPS}


def _imported(name: str) -> Any:
    """A command, or a group of them."""
    program = typer.Typer(
        rich_markup_mode="rich", no_args_is_help=name in GROUPS, add_completion=False
    )
    if name in GROUPS:
        group = type("Group", (Commands,), {"group": name})
        program.callback(cls=group, help=GROUPS[name])(lambda: None)
        return typer.main.get_command(program)
    from rag_nodes.cli.derive import command_of

    operation = COMMANDS[name]
    examples = [f"{PROGRAM} {example}" for example in operation.examples]
    name = name.rpartition(" ")[2]
    command = type("Command", (Command,), {"surplus": operation.surplus})
    program.command(name, cls=command, epilog=_epilog(examples))(command_of(operation))
    return typer.main.get_command(program)


def _root(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,  # noqa: ARG001 - shown before this is imported
    print_config: Annotated[
        bool,
        typer.Option("--print-config", help="Show the settings in effect, keys masked."),
    ] = False,
) -> None:
    """Run no command: show the version, the settings or the help."""
    cli = context.ensure_object(Invocation)
    if print_config:
        show_settings(cli)
        raise typer.Exit
    if context.invoked_subcommand is None:
        cli.output.file.write(context.get_help())


def _epilog(examples: Sequence[str]) -> str:
    """The examples as rich markup: brackets are escaped, every example has its own line."""
    lines = "\n".join(f"  {example}" for example in examples).replace("[", r"\[")
    return f"[bold]Examples[/bold]\n{lines}"
