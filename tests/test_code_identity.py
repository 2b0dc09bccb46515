"""The digest of the user's code changes with its sources and packages, and with nothing else."""

import functools
import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import MockEmbedding
from llama_index.core.node_parser import SentenceSplitter

from rag_nodes.core import code_identity
from rag_nodes.core.code_identity import Code, code_of
from rag_nodes.models.openai import OpenAIServerLLM
from rag_nodes.parsers import get_parser

Files = dict[str, str]
SPLITTER = """
import own_helper
CALLS = 0
KNOWN = {}
class Mine:
    def __init__(self, join=None):
        self._join, self._memory, self._client = join, {}, None
    def split_text(self, text):
        global CALLS
        CALLS += 1
        KNOWN[text] = self._memory[text] = CALLS
        self._client = self._client or own_helper.Client()
        from own_late import late
        return [own_helper.cut(text), late(text)]
def made(size):
    def splits(text, step=size):
        return [text[at : at + size] for at in range(0, len(text), step)]
    return splits
def classes(size):
    class Inner:
        def split_text(self, text):
            return [text[:size]]
    return Inner
closed = made(300)
lambdas = {"a": lambda text: [text], "b": lambda text: text.split()}
"""
FILES = {
    "own_splitter": SPLITTER,
    "own_helper": "from own_deep import WIDTH\nclass Client: pass\ndef cut(t): return t[:WIDTH]\n",
    "own_deep": "WIDTH = 80\n",
    "own_late": "def late(text): return text\n",
    "own_other": "UNUSED = 1\n",
}


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Writes modules and imports the first of them, as a new process does."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    written: set[str] = set()

    def load_module(files: Files) -> Any:
        written.update(files)
        for name, text in files.items():
            sys.modules.pop(name, None)
            (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        return importlib.import_module(next(iter(files)))

    yield load_module
    for name in written:
        sys.modules.pop(name, None)


def popping(values: list[str]) -> Callable[[str], str]:
    def cut(text: str) -> str:
        return values.pop() + text

    return cut


def digest(thing: object) -> str:
    """Return the digest of code that is hashable and the user's own."""
    code = code_of(thing)
    assert (code.unhashable, code.is_own) == ("", True)
    assert len(code.digest) == 16
    return code.digest


@pytest.mark.parametrize("module", ["own_splitter", "own_helper", "own_deep", "own_late"])
def test_an_edit_of_a_module_that_the_class_imports_changes_the_digest(
    load: Callable[..., Any], module: str
) -> None:
    before = digest(load(FILES).Mine())
    assert digest(load(FILES).Mine()) == before
    assert digest(load({**FILES, module: FILES[module] + "# edited\n"}).Mine()) != before


def test_an_edit_of_a_module_that_nothing_imports_changes_no_digest(
    load: Callable[..., Any],
) -> None:
    before = digest(load(FILES).Mine())
    assert digest(load({**FILES, "own_other": "UNUSED = 2\n"}).Mine()) == before


def test_state_that_changes_at_run_time_changes_no_digest(load: Callable[..., Any]) -> None:
    module = load(FILES)
    splitter = module.Mine()
    before = digest(splitter)
    splitter.split_text("tea")
    assert (module.CALLS, module.KNOWN) == (1, {"tea": 1})
    assert splitter._client
    assert digest(splitter) == before


def test_a_file_that_is_edited_after_its_import_changes_no_digest(
    load: Callable[..., Any], tmp_path: Path
) -> None:
    module = load(FILES)
    before = digest(module.Mine())
    (tmp_path / "own_splitter.py").write_text(SPLITTER + "# edited\n")
    assert digest(module.Mine()) == before
    assert digest(importlib.reload(module).Mine()) != before


def test_a_package_is_searched_with_the_modules_that_it_takes_from_itself(
    load: Callable[..., Any], tmp_path: Path
) -> None:
    package = tmp_path / "own_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "rules.py").write_text("SIZE = 3\n")
    splitter = "from . import rules\ndef cut(text): return [text[: rules.SIZE]]\n"
    (package / "splitter.py").write_text(splitter)
    files = {"own_user": "from own_package.splitter import cut\n"}
    before = digest(load(files).cut)
    for name in ("own_package", "own_package.rules", "own_package.splitter"):
        del sys.modules[name]
    (package / "rules.py").write_text("SIZE = 4\n")
    assert digest(load(files).cut) != before
    for name in ("own_package", "own_package.rules", "own_package.splitter"):
        del sys.modules[name]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda m: m.made(300), lambda m: m.made(301)),
        (lambda m: m.classes(3)(), lambda m: m.classes(4)()),
        (lambda m: m.lambdas["a"], lambda m: m.lambdas["b"]),
        (lambda m: functools.partial(m.made, 3), lambda m: functools.partial(m.made, 4)),
        (lambda m: m.Mine(m.made), lambda m: m.Mine(m.classes)),
        (lambda m: m.Mine().split_text, lambda m: m.made),
        (
            lambda m: SentenceSplitter(tokenizer=m.made(3)),
            lambda m: SentenceSplitter(tokenizer=m.made(4)),
        ),
    ],
    ids=["closure", "local class", "lambda", "partial", "callable option", "method", "stock"],
)
def test_functions_of_the_same_file_have_digests_of_their_own(
    load: Callable[..., Any], first: Callable[..., Any], second: Callable[..., Any]
) -> None:
    module = load(FILES)
    assert digest(first(module)) == digest(first(module))
    assert digest(first(module)) != digest(second(module))


@pytest.mark.parametrize("seed", ["1", "2"])
def test_every_process_finds_the_same_digest(
    load: Callable[..., Any], tmp_path: Path, seed: str
) -> None:
    module = load(FILES)
    here = [digest(thing) for thing in (module.Mine(), module.closed, module.lambdas["a"])]
    script = (
        "import own_splitter as o; from rag_nodes.core.code_identity import code_of\n"
        "print(*(code_of(one).digest for one in (o.Mine(), o.closed, o.lambdas['a'])))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ended.stdout.split() == here


def test_a_script_is_known_by_its_file(load: Callable[..., Any], tmp_path: Path) -> None:
    load(FILES)
    script = (
        "from own_helper import cut\nfrom rag_nodes.core.code_identity import code_of\n"
        "class Mine:\n    def split_text(self, text): return [cut(text)]\n"
        "print(code_of(Mine()).digest or code_of(Mine()).unhashable)\n"
    )
    file = tmp_path / "script.py"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    digests = []
    for text in (script, script, script + "# edited\n"):
        file.write_text(text)
        ended = subprocess.run(
            [sys.executable, str(file)],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        digests.append(ended.stdout.strip())
    assert digests[0] == digests[1] != digests[2]
    assert {len(each) for each in digests} == {16}


TYPED: dict[str, Any] = {"__name__": "__typed__"}
exec("class Typed: pass\ndef typed(text): return [text]", TYPED)  # noqa: S102 -- as in a notebook


@pytest.mark.parametrize(
    ("thing", "reason"),
    [
        (TYPED["Typed"](), "Typed has no source file"),
        (TYPED["typed"], "typed has no source file"),
        (SentenceSplitter(tokenizer=TYPED["typed"]), "typed has no source file"),
        (popping(["a"]), "uses a list of the function around it"),
    ],
    ids=["class", "function", "callable option", "closure over state"],
)
def test_code_whose_changes_cannot_be_detected_says_why(thing: object, reason: str) -> None:
    code = code_of(thing)
    assert (code.digest, code.is_own) == ("", True)
    assert reason in code.unhashable


def test_a_splitter_of_a_package_is_known_by_name_and_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = code_of(SentenceSplitter(chunk_size=300))
    assert before.digest
    assert not before.is_own
    assert code_of(SentenceSplitter(chunk_size=500)) == before
    monkeypatch.setattr(code_identity, "_distribution_of", lambda _: "llama-index-core 99")
    assert code_of(SentenceSplitter(chunk_size=300)).digest != before.digest


def test_a_package_that_a_module_imports_counts_by_its_version(
    load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"own_thing": "import tiktoken\ndef cut(text): return [text]\n"}
    before = digest(load(files).cut)
    named = code_identity._named
    code_identity._distribution_of.cache_clear()
    monkeypatch.setattr(code_identity, "_named", lambda name: f"{named(name)}+1")
    assert digest(load(files).cut) != before
    code_identity._distribution_of.cache_clear()


def test_a_module_that_is_imported_late_changes_no_digest(load: Callable[..., Any]) -> None:
    files = {"own_thing": "def cut(text):\n import wave, sndhdr_missing\n return [text]\n"}
    cut = load(files).cut
    before = digest(cut)
    importlib.import_module("wave")
    assert digest(cut) == before


def test_a_model_below_a_stock_class_is_the_users_own() -> None:
    class Mine(MockEmbedding):
        pass

    assert code_of(MockEmbedding(embed_dim=3)).is_own is False
    assert code_of(Mine(embed_dim=3)).is_own is True


def test_a_client_that_a_model_opens_is_no_part_of_its_code() -> None:
    model = OpenAIServerLLM(model="gpt-4o-mini", api_key="sk-none")
    before = code_of(model)
    model._get_client().mine = lambda text: text  # type: ignore[attr-defined]
    assert code_of(model) == before


def test_this_package_and_python_need_no_digest_beside_their_version() -> None:
    assert code_of(get_parser("heading")) == Code("")
    assert code_of(str.splitlines) == Code("")
