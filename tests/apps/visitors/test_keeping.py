"""Sessions on disk: a server that starts again goes on where the one before ended."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from openai_server import OpenAIServer
from pydantic import SecretStr
from visits import QUESTION, answers, ignore, written

from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.kept import Kept
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.errors import BusyError, ConfigurationError, StoreError
from rag_nodes.evaluation.dataset import Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.settings import Settings
from rag_nodes.text.spans import Span

TOKEN, OTHER = "ab" * 24, "cd" * 24
CHOICE = Choice(("fixed", "parent-child"), options={"fixed": {"chunk_size": 500}})
KEY = "sk-canary0123456789"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def serve(settings: Settings, data: Path) -> Iterator[Callable[[], PageSessions]]:
    """Begin to serve; what was served before ends as by SIGTERM."""
    running: list[PageSessions] = []

    def serve() -> PageSessions:
        for one in running:
            one.close()
        running[:] = [PageSessions(settings, data=data, local_models=True)]
        return running[0]

    yield serve
    running[0].close()


@pytest.fixture
def upload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write a text where Gradio puts uploads."""
    monkeypatch.setattr("rag_nodes.apps.inside_gradio.get_upload_folder", lambda: str(tmp_path))

    def upload(colour: str) -> Path:
        text = f"# Colour\n\nThe machine is {colour}.\n"
        return written(tmp_path / f"{colour}.md", text)

    return upload


def test_documents_choice_answers_verdicts_and_questions_outlive_the_server(
    serve: Callable[[], PageSessions], upload: Callable[[str], Path]
) -> None:
    session = serve().attach("page", TOKEN)
    red = upload("red")
    session.load([red], CHOICE, ignore)
    before = session.ask(QUESTION)
    document = session.documents[0]
    gold = ((Passage(document.id_, Span(10, 30)),),)
    session.questions.add([Question("q", QUESTION, gold)], session.documents)
    session.shown |= {"place": {"page": 3}, "tab": "document"}
    session.name = "Machines"
    red.unlink()  # uploads are deleted after an hour

    again = serve().attach("page after the restart", TOKEN)
    again.shown["tab"] = "compare"  # which the page has open at first, and tells at once
    _loaded(again)
    assert again is not session
    assert (again.choice, again.name) == (CHOICE, "Machines")
    assert again.shown == {"place": {"page": 3}, "tab": "document", "left": "document"}
    (turn,) = again.turns
    assert turn.report == before.report
    assert turn.edges == before.edges
    assert again.questions.dataset is not None
    assert again.questions.dataset.questions[0].gold == gold
    assert "red" in answers(again)
    assert again.turns[-1].number == before.number + 1


def test_no_key_is_on_disk_and_other_tabs_get_nothing(
    serve: Callable[[], PageSessions],
    upload: Callable[[str], Path],
    openai_server: OpenAIServer,
    data: Path,
) -> None:
    sessions = serve()
    session = sessions.attach("page", TOKEN)
    choice = Choice(("fixed",), api_base=openai_server.base, api_key=SecretStr(KEY))
    session.load([upload("red")], choice, ignore)
    session.chosen = choice
    session.ask(QUESTION)
    sessions = serve()
    everything = [path for path in data.rglob("*") if path.is_file()]
    assert len(everything) >= 3
    for path in everything:
        assert KEY.encode() not in path.read_bytes()
        assert TOKEN not in str(path)
        assert path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0
    assert not sessions.attach("stranger", OTHER).uploads


def test_what_a_newer_program_wrote_is_refused_in_words_and_left_alone(
    serve: Callable[[], PageSessions], upload: Callable[[str], Path], data: Path
) -> None:
    serve().attach("page", TOKEN).load([upload("red")], CHOICE, ignore)
    sessions = serve()
    (path,) = data.glob("*/workspace.json")
    newer = path.read_text().replace('"format": 1', '"format": 2', 1)
    path.write_text(newer)
    session = sessions.attach("page", TOKEN)
    assert "has format 2, and this version of rag_nodes reads 1" in session.trouble
    session.load([upload("blue")], CHOICE, ignore)
    serve()
    assert path.read_text() == newer
    assert len(list(data.glob("*/workspace.json"))) == 2


def test_other_documents_take_the_place_of_those_before_on_disk_too(
    serve: Callable[[], PageSessions], upload: Callable[[str], Path], data: Path
) -> None:
    session = serve().attach("page", TOKEN)
    session.load([upload("red")], CHOICE, ignore)
    session.load([upload("blue")], CHOICE, ignore)
    serve()
    assert [path.name for path in data.glob("*/files/*/*")] == ["blue.md"]


def test_it_is_deleted_when_asked_to_or_when_nobody_opened_it_for_thirty_days(
    serve: Callable[[], PageSessions], upload: Callable[[str], Path], data: Path
) -> None:
    sessions = serve()
    for token, colour in ((TOKEN, "red"), (OTHER, "blue")):
        sessions.attach(token, token).load([upload(colour)], CHOICE, ignore)
    sessions = serve()
    old, new = sorted(sessions.kept(), key=lambda one: one.name)
    sessions.discard(new.key)
    assert not (data / new.key).exists()
    with pytest.raises(ConfigurationError, match="not there"):
        sessions.discard("../" + new.key)
    main = data / old.key / "workspace.json"
    head = main.read_text().partition("\n")[0]
    main.write_text(f"{head}\n{{")  # whole documents: a list reads none
    assert [one.name for one in sessions.kept()] == ["blue.md"]
    month = time.time() - 31 * 24 * 3600
    os.utime(main, (month, month))
    assert sessions.kept() == []
    assert not (data / old.key).exists()


@pytest.mark.parametrize("damage", ["", "{", "[1]", '{"format": 2}', "[" * 100_000])
def test_work_that_cannot_be_read_is_listed_as_that_and_left_alone(
    serve: Callable[[], PageSessions], upload: Callable[[str], Path], data: Path, damage: str
) -> None:
    serve().attach("page", TOKEN).load([upload("red")], CHOICE, ignore)
    sessions = serve()
    (path,) = data.glob("*/workspace.json")
    path.write_text(damage)
    assert [one.name for one in sessions.kept()] == ["cannot be opened: StoreError"]
    assert "delete" in sessions.attach("page", TOKEN).trouble
    assert path.read_text() == damage


@pytest.mark.parametrize("rest", ["", "null", "[1]", '{"turns": ['])
def test_work_that_was_torn_behind_its_name_is_refused_with_a_remedy(data: Path, rest: str) -> None:
    Kept(data).write({"name": "Machines"})
    path = data / "workspace.json"
    path.write_text(path.read_text().partition("\n")[0] + f"\n{rest}")
    with pytest.raises(StoreError, match=r"workspace\.json cannot be read .*; delete its folder"):
        Kept(data).read()


def test_half_a_character_is_kept_like_any_other(data: Path) -> None:
    work = {"name": "caf\ud800", "choice": {"prompt": "Größe \udc00"}}

    Kept(data).write(work)

    assert Kept(data).read().items() >= work.items()


def test_a_disk_that_is_full_leaves_the_work_of_before(
    tmp_path: Path,
) -> None:
    kept = Kept(tmp_path / "one")
    kept.write({"name": "before"})
    (kept.folder / "workspace.json.part").mkdir()  # cannot be written
    with pytest.raises(OSError, match=r"workspace\.json"):
        kept.write({"name": "after"})
    assert kept.read()["name"] == "before"


def test_what_is_being_loaded_is_neither_opened_elsewhere_nor_deleted(
    serve: Callable[[], PageSessions],
    upload: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sessions = serve()
    session = sessions.attach("page", TOKEN)
    session.load([upload("red")], CHOICE, ignore)
    assert session.kept is not None
    sessions.attach("other", OTHER)
    with monkeypatch.context() as patch:
        patch.setattr(type(session), "working", True)
        with pytest.raises(BusyError, match="wait"):
            sessions.reopen("other", session.kept.folder.name)
    assert sessions.of("page") is session


def test_a_tab_that_opens_other_work_leaves_its_own_to_be_opened(
    serve: Callable[[], PageSessions], upload: Callable[[str], Path]
) -> None:
    sessions = serve()
    for token, colour in ((TOKEN, "red"), (OTHER, "blue")):
        sessions.attach(token, token).load([upload(colour)], CHOICE, ignore)
    sessions = serve()
    (blue,) = [one for one in sessions.kept() if one.name == "blue.md"]
    _loaded(sessions.attach("page", TOKEN))
    sessions.reopen("page", blue.key)
    assert sorted(one.name for one in sessions.kept()) == ["blue.md", "red.md"]
    sessions = serve()
    assert not sessions.attach("page of the other tab", OTHER).uploads


def _loaded(session: PageSession) -> None:
    assert session.last_loading is not None
    session.last_loading.result()
