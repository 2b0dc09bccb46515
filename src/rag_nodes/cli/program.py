"""The commands put together, and the one place where a run starts and ends.

A command is imported when it is asked for by name, all of them where the help lists them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from rag_nodes import IDENTITY
from rag_nodes.cli.failures import ExitCode, report_failure, report_interruption
from rag_nodes.cli.invocation import Invocation, show_settings
from rag_nodes.operations import GROUPS, OPERATIONS

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
    "list_": ("rag-nodes list --corpus contracts", "rag-nodes list --state incomplete,expired"),
    "remove": ("rag-nodes remove docs/old.pdf", "rag-nodes remove old.pdf --dry-run"),
    "clear": (
        "rag-nodes clear --corpus contracts --yes",
        "rag-nodes clear --parser fixed:chunk_size=500 --yes",
    ),
    "doctor": ("rag-nodes doctor", "rag-nodes doctor --repair --store http://localhost:6333"),
    "read": ("rag-nodes read report.pdf", "rag-nodes read report.pdf --markdown --pages 3-5"),
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
_STORED = frozenset({"list_", "remove", "clear"})
"""Commands of one module; every other has its own, and every group."""
_QUESTIONS: dict[str, tuple[str, ...]] = {
    "draft": (
        "rag-nodes questions draft docs/ --output drafts.json",
        "rag-nodes questions draft manual.pdf --count 100 --kinds table,howto -o drafts.json",
        "rag-nodes questions draft docs/ --llm openai --answers paragraph -o drafts.json",
    ),
    "review": ("rag-nodes questions review drafts.json docs/",),
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
_OWN = {
    "compare": "Ask the same question of the same documents cut in different ways.",
    "evaluate": "Find out which way of cutting finds the answers to your questions, and by how "
    "much.",
    "recommend": "Find the parser and size to take for your documents, or hear that nothing can "
    "tell.",
    "ingest": "Read documents, cut them, and store the chunks.",
    "ask": "Answer a question from stored documents, with citations.",
    "list": "List the documents of a corpus, with what is stored of each.",
    "remove": "Take documents out of every collection of the corpus.",
    "clear": "Delete all that is stored of a corpus, or what one parser cut of it.",
    "doctor": "Look for what is torn, foreign, orphaned or about to fail in a store, with the "
    "remedy.",
    "read": "Show what was understood of documents: pages, headings, tables, links, warnings.",
    "docs": "Cut a crawled documentation, at its headings or by any parser, check and summarise "
    "it.",
    "parsers": "List the parsers with their options and defaults.",
    "app": "Open the comparison in a browser; REST is at /api, with the token in "
    "RAG_NODES_API_TOKEN.",
    "questions draft": "Draft questions about documents that have none, each with the exact place "
    "of its answer.",
    "questions review": "Accept, reject and reword questions one at a time, each beside what "
    "answers it.",
    "questions check": "Look for what is wrong with questions before anything is measured with "
    "them.",
    "questions convert": "Write questions of any format as our own JSON, every answer with text "
    "and offsets.",
    "store push": "Copy what is stored to a server, as it is: nothing is cut or embedded again.",
    "store pull": "Copy what a server has into the store, as `push` does the other way.",
    "store import": "Copy the collections of a folder of qdrant-client's local mode into the "
    "store.",
    "store alias": "Give a collection another name, or show the names there are.",
}
"""Commands that are not derived yet."""

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
        _command().main(args=arguments, prog_name=PROGRAM, obj=cli)
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


def _command() -> Any:
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


class Commands(TyperGroup):
    """Commands that are imported when one of them is used; a help text lists words alone.

    Attributes:
        group: their first word; "" for those without one.
    """

    group = ""

    def list_commands(self, _context: Any) -> list[str]:
        """Their names, in order."""
        return [one.removeprefix(self._prefix) for one in _listed() if self._is_here(one)]

    def get_command(self, _context: Any, name: str) -> Any:
        """The command or group of that name, with its name and summary only; None for none."""
        summary = _listed().get(f"{self._prefix}{name}")
        return None if summary is None else TyperCommand(name, help=summary)

    def resolve_command(self, context: Any, arguments: list[str]) -> Any:
        """The command that is used, whole."""
        name, command, others = super().resolve_command(context, arguments)
        return name, command and _imported(f"{self._prefix}{name}"), others

    @property
    def _prefix(self) -> str:
        return f"{self.group} " if self.group else ""

    def _is_here(self, name: str) -> bool:
        return name.startswith(self._prefix) and " " not in name.removeprefix(self._prefix)


def _listed() -> dict[str, str]:
    """All commands and groups in the order in which they are listed, each with a sentence."""
    return {**{one.name: one.summary for one in OPERATIONS}, **_OWN, **GROUPS}


def _imported(name: str) -> Any:
    """A command, or a group of them."""
    program = typer.Typer(
        rich_markup_mode="rich", no_args_is_help=name in GROUPS, add_completion=False
    )
    if name in GROUPS:
        group = type("Group", (Commands,), {"group": name})
        program.callback(cls=group, help=GROUPS[name])(lambda: None)
        return typer.main.get_command(program)
    if found := next((one for one in OPERATIONS if one.name == name), None):
        from rag_nodes.cli.derive import command_of

        command, examples = command_of(found), [f"rag-nodes {one}" for one in found.examples]
    else:
        command, examples = _old(name)
    program.command(name.rpartition(" ")[2], epilog=_epilog(examples))(command)
    return typer.main.get_command(program)


def _old(name: str) -> Any:
    """A command that is not derived yet, and its examples."""
    group, _, last = name.rpartition(" ")
    function = {"list": "list_", "import": "import_"}.get(last, last.replace("-", "_"))
    module = "stored" if function in _STORED else group or function
    examples = {**_EXAMPLES, **_QUESTIONS, **_STORES}[function]
    return getattr(import_module(f"rag_nodes.cli.commands.{module}"), function), examples


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
    if version:
        from importlib.metadata import version as version_of

        cli.show(f"{PROGRAM} {version_of(PROGRAM)}")
        raise typer.Exit
    if print_config:
        show_settings(cli)
        raise typer.Exit
    if context.invoked_subcommand is None:
        cli.output.file.write(context.get_help())


def _epilog(examples: Sequence[str]) -> str:
    """The examples as rich markup: brackets are escaped, every example has its own line."""
    lines = "\n".join(f"  {example}" for example in examples).replace("[", r"\[")
    return f"[bold]Examples[/bold]\n{lines}"
