"""What an object runs decides its code, and nothing else does."""

import functools
import importlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import MockEmbedding
from llama_index.core.node_parser import SentenceSplitter

from rag_nodes.code_identity import Code, code_of
from rag_nodes.models.openai import OpenAIServerLLM
from rag_nodes.parsers import get_parser

Files = dict[str, str]
_MINE = """
import own_helper
from own_helper import cut
SIZE = 300
RULES = {"join": ["\\n", "\\n\\n"], "seen": {1, 2}}
def middle(text):
    return text[: len(text) // 2]
class Base:
    overlap = 0
    def tidy(self, text):
        return text.strip()
class Mine(Base):
    def __init__(self, size=SIZE):
        self.size = size
        self._memory = {}
    def split_text(self, text):
        self._memory[text] = 1
        return [self.tidy(middle(text)), *cut(text), own_helper.last(text), RULES["join"][0]]
def made(size, join="\\n"):
    def splits(text):
        return [text[at : at + size] for at in range(0, len(text), size)]
    return splits
closed = made(300)
"""
_TWICE = """
import functools
def twice(f):
    @functools.wraps(f)
    def g(text):
        return f(text) * 2
    return g
@twice
def thing(text):
    return [text]
"""
_HELPER = """
WIDTH = 80
UNREAD = 1
def cut(text):
    return [text[:WIDTH]]
def last(text):
    return text[-1:]
"""


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Writes modules and imports the first of them, as a process would that is started anew."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    written: set[str] = set()

    def load(files: Files) -> Any:
        written.update(files)
        for name, text in files.items():
            sys.modules.pop(name, None)
            (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        return importlib.import_module(next(iter(files)))

    yield load
    for name in written:
        sys.modules.pop(name, None)


def told(thing: object) -> str:
    """The digest of what can be told."""
    code = code_of(thing)
    assert (code.untold, code.is_own) == ("", True)
    assert len(code.digest) == 16
    return code.digest


@pytest.mark.parametrize(
    ("module", "former", "now"),
    [
        ("own_splitter", "// 2", "// 3"),
        ("own_splitter", "text.strip()", "text.rstrip()"),
        ("own_splitter", "overlap = 0", "overlap = 1"),
        ("own_splitter", '["\\n", "\\n\\n"]', '["\\n", "\\n\\n\\n"]'),
        ("own_splitter", "{1, 2}", "{1, 3}"),
        ("own_helper", "WIDTH = 80", "WIDTH = 81"),
        ("own_helper", "text[:WIDTH]", "text[1:WIDTH]"),
        ("own_helper", "text[-1:]", "text[-2:]"),
    ],
    ids=str,
)
def test_an_edit_of_whatever_a_splitter_runs_or_reads_is_another_code(
    loaded: Callable[..., Any], module: str, former: str, now: str
) -> None:
    files = {"own_splitter": _MINE, "own_helper": _HELPER}
    before = told(loaded(files).Mine())
    edited = {**files, module: files[module].replace(former, now)}
    assert edited != files
    assert told(loaded(files).Mine()) == before
    assert told(loaded(edited).Mine()) != before


@pytest.mark.parametrize(
    ("module", "former", "now"),
    [
        ("own_splitter", "return text.strip()", "return text.strip()  # without blanks"),
        ("own_splitter", "closed = made(300)", "closed = made(400)"),
        ("own_helper", "UNREAD = 1", "UNREAD = 2"),
    ],
    ids=str,
)
def test_an_edit_of_what_it_neither_runs_nor_reads_is_none(
    loaded: Callable[..., Any], module: str, former: str, now: str
) -> None:
    files = {"own_splitter": _MINE, "own_helper": _HELPER}
    before = told(loaded(files).Mine())
    assert told(loaded({**files, module: files[module].replace(former, now)}).Mine()) == before


@pytest.mark.parametrize(
    ("former", "now"), [("made(300)", "made(301)"), ("size]", "size + 1]"), ("range(0", "range(1")]
)
def test_a_closure_is_what_it_was_given_and_what_it_does(
    loaded: Callable[..., Any], former: str, now: str
) -> None:
    files = {"own_splitter": _MINE, "own_helper": _HELPER}
    before = told(loaded(files).closed)
    assert told(loaded({**files, "own_splitter": _MINE.replace(former, now)}).closed) != before


@pytest.mark.parametrize(
    ("text", "former", "now"),
    [
        ("def f(text, size=3):\n return text[:size]\nthing = f", "size=3", "size=4"),
        ("def f(text, *, size=3):\n return text[:size]\nthing = f", "size=3", "size=4"),
        ("def f(text):\n return text[: f.size]\nf.size = 3\nthing = f", "size = 3", "size = 4"),
        ("thing = lambda text: [text[:3]]", "3", "4"),
        ("thing = lambda text: [text[:1]]", "[:1]", "[:True]"),
        ("thing = lambda text: text in {'a', 'b'}", "'b'", "'c'"),
        (
            (
                "import functools\ndef f(size, text): return text[:size]\n"
                "thing = functools.partial(f, 3)"
            ),
            "f, 3",
            "f, 4",
        ),
        (
            _TWICE,
            "[text]",
            "[text[1:]]",
        ),
        (
            _TWICE,
            "* 2",
            "* 3",
        ),
        (
            "import functools\n@functools.cache\ndef thing(text): return [text]",
            "[text]",
            "[text, 1]",
        ),
        (
            (
                "class A:\n def f(self, t): return self.g(t)\n def g(self, text): return [text]\n"
                "thing = A().f"
            ),
            "[text]",
            "[text[1:]]",
        ),
        ("class A:\n @property\n def f(self): return 1\nthing = A()", "return 1", "return 2"),
        ("class A:\n @staticmethod\n def f(): return 1\nthing = A()", "return 1", "return 2"),
        ("class A:\n class B:\n  size = 1\nthing = A()", "size = 1", "size = 2"),
        (
            "class M(type):\n def f(cls): return 1\nclass A(metaclass=M): pass\nthing = A()",
            "return 1",
            "return 2",
        ),
        (
            (
                "from pydantic import BaseModel\nclass C(BaseModel):\n size: int = 3\n"
                "thing = lambda text: text[: C().size]"
            ),
            "= 3",
            "= 4",
        ),
        (
            (
                "from dataclasses import dataclass, field\n@dataclass\nclass C:\n"
                " sizes: list = field(default_factory=lambda: [3])\n"
                "thing = lambda text: text[: C().sizes[0]]"
            ),
            "[3]",
            "[4]",
        ),
        (
            "from enum import Enum\nclass C(Enum):\n SIZE = 3\nthing = lambda text: C.SIZE.value",
            "= 3",
            "= 4",
        ),
        (
            "import re\nJOINT = re.compile('a')\nthing = lambda text: JOINT.split(text)",
            "'a'",
            "'b'",
        ),
        (
            (
                "from llama_index.core.node_parser import SentenceSplitter\n"
                "INNER = SentenceSplitter(chunk_size=300)\n"
                "thing = lambda text: INNER.split_text(text)"
            ),
            "300",
            "301",
        ),
        (
            "class A: pass\nthing = A()\nthing.rule = lambda text: text[:3]",
            "3",
            "4",
        ),
        (
            (
                "def inner(text): return text[:3]\n"
                "def thing(text):\n class C:\n  cut = inner\n return C.cut(text)"
            ),
            "3",
            "4",
        ),
        (
            (
                "from pydantic import BaseModel, PrivateAttr\nclass C(BaseModel):\n"
                " _size: int = PrivateAttr(default=3)\nthing = C()"
            ),
            "=3",
            "=4",
        ),
        (
            "def even(n): return n and odd(n - 1)\ndef odd(n): return even(n - 1)\nthing = even",
            "return even",
            "return not even",
        ),
    ],
    ids=lambda text: text.replace("\n", ";")[-40:],
)
def test_whatever_form_code_has_an_edit_of_it_is_seen(
    loaded: Callable[..., Any], text: str, former: str, now: str
) -> None:
    before = told(loaded({"own_thing": text}).thing)
    assert former in text
    assert told(loaded({"own_thing": text.replace(former, now)}).thing) != before
    assert told(loaded({"own_thing": text}).thing) == before


@pytest.mark.parametrize(
    "inside",
    [
        "import own_helper\n return own_helper.cut(text)",
        "from own_helper import cut\n return cut(text)",
    ],
)
def test_a_module_that_is_imported_only_when_a_function_runs_is_looked_into(
    loaded: Callable[..., Any], inside: str
) -> None:
    files = {"own_thing": f"def thing(text):\n {inside}\n", "own_helper": _HELPER}
    before = told(loaded(files).thing)
    files["own_helper"] = _HELPER.replace("WIDTH = 80", "WIDTH = 81")
    assert told(loaded(files).thing) != before


def test_data_that_an_object_holds_do_not_count_as_they_change_while_it_works(
    loaded: Callable[..., Any],
) -> None:
    splitter = loaded({"own_splitter": _MINE, "own_helper": _HELPER}).Mine()
    before = told(splitter)
    splitter.split_text("tea")
    assert splitter._memory
    assert told(splitter) == before


def test_the_code_that_runs_counts_and_not_the_file_that_was_edited_since(
    loaded: Callable[..., Any], tmp_path: Path
) -> None:
    module = loaded({"own_splitter": _MINE, "own_helper": _HELPER})
    before = told(module.Mine())
    (tmp_path / "own_splitter.py").write_text(_MINE.replace("// 2", "// 3"))
    assert told(module.Mine()) == before


@pytest.mark.parametrize("seed", ["1", "2"])
def test_every_process_finds_the_same(
    loaded: Callable[..., Any], tmp_path: Path, seed: str
) -> None:
    module = loaded({"own_splitter": _MINE, "own_helper": _HELPER})
    here = [told(module.Mine()), told(module.closed)]
    script = (
        "import own_splitter as o; from rag_nodes.code_identity import code_of\n"
        "print(code_of(o.Mine()).digest, code_of(o.closed).digest)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONHASHSEED": seed}
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ended.stdout.split() == here


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("import sys\nFILE = sys.__stdout__\ndef thing(text): return FILE.read()", "FILE"),
        ("thing = (lambda it: lambda text: next(it))(x for x in 'ab')", "generator"),
        ("def thing(text): return eval(text)", "thing"),
        ("import importlib\ndef thing(text): return importlib.import_module('a').f(text)", "thing"),
        (("class A:\n def __reduce_ex__(self, _): raise OSError\nA.held = A()\n"
         "def thing(text): return A.held"), "A"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_from_one_run_to_the_next_is_said_to_be_untold(
    loaded: Callable[..., Any], text: str, named: str
) -> None:
    code = code_of(loaded({"own_thing": text}).thing)
    assert (code.digest, code.is_own) == ("", True)
    assert named in code.untold


def test_a_key_is_neither_part_of_the_code_nor_of_what_is_said(
    loaded: Callable[..., Any],
) -> None:
    text = (
        "API_KEY = 'sk-1'\nclass A:\n api_key = 'sk-1'\n def f(self): return API_KEY\nthing = A()"
    )
    before = told(loaded({"own_thing": text}).thing)
    assert told(loaded({"own_thing": text.replace("sk-1", "sk-2")}).thing) == before


def test_a_splitter_of_a_distribution_is_known_by_name_and_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = code_of(SentenceSplitter(chunk_size=300))
    assert before.digest
    assert not before.is_own
    assert code_of(SentenceSplitter(chunk_size=500)) == before
    monkeypatch.setattr(
        "rag_nodes.code_identity.walk.distribution_of", lambda _: "llama-index-core 99"
    )
    assert code_of(SentenceSplitter(chunk_size=300)).digest != before.digest


def test_a_function_of_ones_own_within_a_stock_splitter_counts(loaded: Callable[..., Any]) -> None:
    text = "def words(text): return text.split()"
    digests = [
        told(SentenceSplitter(tokenizer=loaded({"own_thing": one}).words))
        for one in (text, text.replace("split()", "split(',')"))
    ]
    assert digests[0] != digests[1]


def test_a_model_of_ones_own_below_a_stock_class_is_ones_own() -> None:
    class Mine(MockEmbedding):
        pass

    assert code_of(MockEmbedding(embed_dim=3)).is_own is False
    assert code_of(Mine(embed_dim=3)).is_own is True


def test_a_client_that_a_model_opened_is_no_part_of_its_code() -> None:
    model = OpenAIServerLLM(model="gpt-4o-mini", api_key="sk-none")
    before, read = code_of(model), code_of(lambda: model)
    model._get_client().mine = lambda text: text  # type: ignore[attr-defined]
    assert code_of(model) == before
    assert code_of(lambda: model).untold == read.untold == ""


def test_a_client_that_ones_own_splitter_was_given_is_part_of_its_code() -> None:
    class Mine:
        def __init__(self, client: Callable[[str], str]) -> None:
            self._client = client

    assert told(Mine(lambda text: text)) != told(Mine(lambda text: text * 2))


def test_what_is_of_this_package_needs_no_code_beside_its_version() -> None:
    assert code_of(get_parser("heading")) == Code("")
    assert code_of(str.splitlines) == Code("")


def test_code_without_a_file_is_told_too() -> None:
    spaces: list[dict[str, Any]] = [{}, {}, {}]
    for space, size in zip(spaces, (3, 3, 4), strict=True):
        exec(f"def thing(text): return text[:{size}]", space)  # noqa: S102 -- as at a prompt
    first, same, other = (told(space["thing"]) for space in spaces)
    assert first == same != other


def test_a_set_of_anything_has_no_order() -> None:
    def of(*things: object) -> Callable[[], object]:
        held = set(things)
        return lambda: held

    assert told(of("a", ("b", 1), None)) == told(of(None, ("b", 1), "a"))
    assert told(of("a")) != told(of("b"))


def test_what_only_caches_and_locks_does_not_stand_in_the_way() -> None:
    @functools.singledispatch
    def cut(text: object) -> object:
        return text

    assert told(cut)
    assert code_of(lambda: io.StringIO("a")).untold == ""
