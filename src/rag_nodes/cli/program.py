"""The commands put together, and the one place where a run starts and ends.

A command is imported when it is asked for by name, all of them where the help lists them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_nodes import IDENTITY
from rag_nodes.cli.failures import ExitCode, report_failure, report_interruption
from rag_nodes.cli.invocation import Invocation, show_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "rag-nodes"

_EXAMPLES: dict[str, tuple[str, ...]] = {
    "compare": (
        'rag-nodes compare report.pdf --ask "Who approves a change?"',
        'rag-nodes compare a.md --ask "How?" -p heading -p fixed:chunk_size=500',
        'rag-nodes compare report.pdf --ask "Who approves?" --filter page=3-9 --mode sparse',
        'rag-nodes compare docs/ --ask "What does it cost?" --json > result.json',
    ),
    "evaluate": (
        "rag-nodes evaluate docs/ --questions questions.csv --html report.html",
        "rag-nodes evaluate docs/ --questions q.csv -p recursive -p 'my.module:Splitter(size=9)'",
        "rag-nodes evaluate report.pdf --html report.html",
        "rag-nodes evaluate docs/ --questions q.json -o run.json --fail-under recall@1000=0.85",
        "rag-nodes evaluate docs/ --questions q.json --baseline run.json",
    ),
    "recommend": (
        "rag-nodes recommend docs/ --questions questions.csv",
        "rag-nodes recommend docs/ --questions q.csv -p heading -p recursive --sizes 150,300,600",
        "rag-nodes recommend docs/ --questions q.csv --save best.toml --export pipeline.py",
        "rag-nodes recommend manual.pdf --cache .recommend",
    ),
    "ingest": (
        "rag-nodes ingest report.pdf manual.md --parser heading",
        "rag-nodes ingest docs/ -p semantic -p fixed --store http://localhost:6333",
        "rag-nodes ingest docs/ -p recursive --alias handbook",
        "rag-nodes ingest docs/ -p heading --vector plain --vector summary",
        "rag-nodes ingest docs/ --store http://localhost:6333 --shard 3/8",
        "rag-nodes ingest docs/ --embedding openai --dry-run",
    ),
    "ask": (
        'rag-nodes ask "Who approves a change?" --parser heading',
        'rag-nodes ask "Who approves?" --filter file=report.pdf --filter heading=Approval',
        'rag-nodes ask "Who approves a change?" --retrieval-only --top-k 5',
        'rag-nodes ask "Who approves a change?" -p heading --corpus contracts --json',
        'rag-nodes ask "Who approves a change?" --alias handbook',
    ),
    "status": ("rag-nodes status", "rag-nodes status --store http://localhost:6333 --json"),
    "list_": ("rag-nodes list --corpus contracts", "rag-nodes list --state incomplete,expired"),
    "remove": ("rag-nodes remove docs/old.pdf", "rag-nodes remove old.pdf --dry-run"),
    "clear": (
        "rag-nodes clear --corpus contracts --yes",
        "rag-nodes clear --parser fixed:chunk_size=500 --yes",
    ),
    "doctor": ("rag-nodes doctor", "rag-nodes doctor --repair --store http://localhost:6333"),
    "read": ("rag-nodes read report.pdf", "rag-nodes read report.pdf --markdown --pages 3-5"),
    "chunk": (
        "rag-nodes chunk manual.md --parser heading",
        "rag-nodes chunk report.pdf -p fixed --set chunk_size=500 --full",
        "rag-nodes chunk report.pdf -p semantic --jsonl | jq .tokens",
    ),
    "docs": (
        "rag-nodes docs crawl.json chunks.json",
        "rag-nodes docs crawl.json chunks.jsonl --format jsonl --no-summaries",
        "rag-nodes docs crawl.json chunks.json --fail-on lost-headings,coverage=99.9,duplicates=0",
    ),
    "parsers": ("rag-nodes parsers", "rag-nodes parsers --json"),
    "app": (
        "rag-nodes app",
        "rag-nodes app report.pdf --port 8080",
        "rag-nodes app --auth ann --mcp",
    ),
}
"""The commands in the order `--help` lists them, by function, each with its examples."""
_STORED = frozenset({"status", "list_", "remove", "clear"})
"""Commands of one module; every other has its own, and every group."""
_QUESTIONS: dict[str, tuple[str, ...]] = {
    "draft": (
        "rag-nodes questions draft docs/ --output drafts.json",
        "rag-nodes questions draft manual.pdf --count 100 --kinds table,howto -o drafts.json",
        "rag-nodes questions draft docs/ --llm openai --answers paragraph -o drafts.json",
    ),
    "check": ("rag-nodes questions check questions.csv docs/",),
    "convert": ("rag-nodes questions convert questions.csv docs/ --output questions.json",),
}
"""The commands about questions, each with its examples."""
_STORES: dict[str, tuple[str, ...]] = {
    "push": (
        "rag-nodes store push https://qdrant.example.com:6333 --store rag_nodes_data",
        "rag-nodes store push http://localhost:6333 --corpus contracts --json",
    ),
    "pull": ("rag-nodes store pull https://qdrant.example.com:6333 --store copy",),
    "import_": ("rag-nodes store import qdrant_data --store rag_nodes_data",),
    "alias": (
        "rag-nodes store alias",
        "rag-nodes store alias handbook --corpus contracts --parser heading",
        "rag-nodes store alias handbook --remove",
    ),
}
"""The commands about whole stores, each with its examples."""
_GROUPS = {
    "questions": (
        "Labelled questions: drafts, what is wrong with them, other formats.",
        _QUESTIONS,
    ),
    "store": (
        "Whole stores: copied to a server and back, imported, and other names of what is there.",
        _STORES,
    ),
}
"""Commands that share a first word, and what that is about."""

_MODELS = (
    "Without a key everything runs offline; with OPENAI_API_KEY set, OpenAI embeds and answers."
)
_EXIT_CODES = (
    "Exit codes: 0 done, 1 failure, 2 usage or configuration, 3 partly done, "
    "4 a threshold was crossed or a check failed, 5 a dependency or service is missing, "
    "130 interrupted."
)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line.

    Args:
        arguments: what follows the program's name; None for those of this process.

    Returns:
        The exit code, see `ExitCode`.
    """
    for stream in (sys.stdout, sys.stderr):
        # A file name may hold bytes that are no text; showing it must not fail.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    cli = Invocation()
    try:
        typed = sys.argv[1:] if arguments is None else arguments
        command = _command(next((one for one in typed if not one.startswith("-")), ""))
        command.main(args=arguments, prog_name=PROGRAM, obj=cli)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last place where a message can be made of it
        code = report_failure(error, cli)
    else:
        code = ExitCode.DONE
    if code == ExitCode.INTERRUPTED:
        # Worker threads may still be ending and must not be heard, so nothing is undone here.
        return report_interruption(cli)
    cli.cleanup.close()
    return code


def _command(asked: str) -> Any:
    """The program with the two options of shell completion, which help does not list."""
    command = typer.main.get_command(_program(asked))
    for option in command.params:
        if option.name in {"install_completion", "show_completion"}:
            option.hidden = True  # type: ignore[attr-defined] # both are options
    return command


def _program(asked: str) -> typer.Typer:
    """All commands, or the one that is asked for, where there is one of that name."""
    names = {_name(one): one for one in _EXAMPLES}
    commands = [names[asked]] if asked in names else [] if asked in _GROUPS else [*_EXAMPLES]
    groups = [asked] if asked in _GROUPS else [] if asked in names else [*_GROUPS]
    program = typer.Typer(
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
        epilog=_EXIT_CODES,
    )
    program.callback(invoke_without_command=True, help=f"{IDENTITY}\n\n{_MODELS}")(_root)
    for name in commands:
        _add(program, "stored" if name in _STORED else name, name, _EXAMPLES[name])
    for group in groups:
        about, own = _GROUPS[group]
        below = typer.Typer(rich_markup_mode="rich", help=about)
        for name, examples in own.items():
            _add(below, group, name, examples)
        program.add_typer(below, name=group, no_args_is_help=True)
    return program


def _add(program: typer.Typer, module: str, name: str, examples: Sequence[str]) -> None:
    command = getattr(import_module(f"rag_nodes.cli.commands.{module}"), name)
    program.command(_name(name), epilog=_epilog(examples))(command)


def _root(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    print_config: Annotated[
        bool,
        typer.Option("--print-config", help="Show the settings in effect, keys masked."),
    ] = False,
) -> None:
    """Run no command: show the version, the settings or the help."""
    cli = context.ensure_object(Invocation)
    cli.print_config = print_config
    if version:
        from importlib.metadata import version as version_of

        cli.show(f"{PROGRAM} {version_of(PROGRAM)}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        if print_config:
            show_settings(cli)
        else:
            cli.output.file.write(context.get_help())


def _name(function: str) -> str:
    """What is typed: a word that is Python's own has a bar behind it in the function's name."""
    return function.rstrip("_").replace("_", "-")


def _epilog(examples: Sequence[str]) -> str:
    """The examples as rich markup: brackets are escaped, every example has its own line."""
    lines = "\n".join(f"  {example}" for example in examples).replace("[", r"\[")
    return f"[bold]Examples[/bold]\n{lines}"
