"""A file that crashes, hangs or eats memory costs one file, and nothing else."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.readers.conftest import file

from rag_nodes.core import errors
from rag_nodes.core.processes import BackgroundThread, Interrupt, interruptible, shares_told_to
from rag_nodes.readers import Limits, Reading, isolation, kinds, read, read_all, readings
from rag_nodes.readers.isolation import ReaderPool
from rag_nodes.readers.kinds import needs_child

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
LIMITS = Limits()

linux = pytest.mark.skipif(sys.platform != "linux", reason="held by the Linux kernel")


def text_of(pool: ReaderPool, path: Path) -> str:
    (reading,) = pool.read(path, LIMITS)
    assert isinstance(reading, Reading)
    return reading.text


# --- one failed file ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("exits", errors.ReaderCrashedError, "exit code 7"),
        ("faults", errors.ReaderCrashedError, "SIGSEGV"),
        ("hangs", errors.ReadTimeoutError, r"longer than 0\.3 s; split it or raise"),
        ("dawdles", errors.ReadTimeoutError, r"longer than 0\.3 s"),
        ("lies", errors.ReaderCrashedError, "process that read it died"),
        pytest.param("grows", errors.ReadMemoryError, "more memory than the limit", marks=linux),
    ],
)
def test_a_crash_a_hang_and_a_bomb_are_an_error_of_that_file_and_the_next_one_is_read(
    pool: ReaderPool, tmp_path: Path, kind: str, error: type[errors.ReadError], words: str
) -> None:
    path = file(tmp_path, f"a.{kind}")
    with pytest.raises(error, match=words) as caught:
        pool.read(path, Limits(seconds=0.3, memory_bytes=256 * 1024**2))
    assert caught.value.path == path
    assert text_of(pool, file(tmp_path, "b.answers")).startswith("process")


@pytest.mark.parametrize("isolate", [True, False])
def test_a_pdf_tells_page_by_page_how_much_of_it_is_read(isolate: bool) -> None:
    shares: list[float] = []
    with shares_told_to(shares.append):
        read(CORPUS / "handbook.pdf", isolate=isolate)
    assert shares == sorted(set(shares))
    assert shares[0] == 0.0 < shares[-1] < 1.0


def test_a_file_is_not_blamed_for_what_another_broke(pool: ReaderPool, tmp_path: Path) -> None:
    text_of(pool, file(tmp_path, "a.answers"))
    assert text_of(pool, file(tmp_path, "b.tires")) == "read by a fresh process"


def test_output_of_a_library_does_not_disturb_reading(
    pool: ReaderPool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert text_of(pool, file(tmp_path, "a.babbles")) == "heard"
    assert capfd.readouterr() == ("", "")


def test_a_process_that_cannot_start_is_an_error_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(errors.ReaderCrashedError, match="isolate=False"):
        ReaderPool().read(file(tmp_path, "a.pdf"), LIMITS)


# --- processes ----------------------------------------------------------------------------------


def test_a_relative_name_is_one_of_where_the_program_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = ReaderPool()
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.html").write_text("<p>Tea.</p>", encoding="utf-8")
        monkeypatch.chdir(folder)
        assert len(pool.read(Path(f"{name}.html"), Limits())) == 1
    pool.close()


def test_one_process_reads_many_files_and_one_that_is_refused_costs_none(
    pool: ReaderPool, tmp_path: Path
) -> None:
    texts = {text_of(pool, file(tmp_path, f"{number}.answers")) for number in range(3)}
    with pytest.raises(errors.CorruptFileError):
        pool.read(file(tmp_path, "a.refuses"), LIMITS)
    assert {text_of(pool, file(tmp_path, "a.answers"))} == texts


def test_threads_read_side_by_side_and_each_gets_its_own(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.html" for number in range(40)]
    for number, path in enumerate(paths):
        path.write_text(f"<p>This is page number {number}.</p>", encoding="utf-8")
    with ThreadPoolExecutor(8) as threads:
        texts = list(threads.map(lambda path: read(path).text, paths))
    assert texts == [f"This is page number {number}." for number in range(40)]


def test_an_interruption_ends_the_process(pool: ReaderPool, tmp_path: Path) -> None:
    process = pid_of(pool, tmp_path)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    class Alarming(Interrupt):
        """Interrupts us soon after there is a process to end."""

        @contextmanager
        def killing(self, kill: Callable[[], None]) -> Iterator[None]:
            with super().killing(kill):
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                yield

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt), interruptible(Alarming()):
            pool.read(file(tmp_path, "a.hangs"), LIMITS)
    finally:
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(ProcessLookupError):  # neither running nor a zombie
        os.kill(process, 0)


@linux
@pytest.mark.parametrize("doing", ["nothing", "reading"])
def test_no_process_outlives_its_parent(tmp_path: Path, doing: str) -> None:
    path, hanging = file(tmp_path, "a.answers"), file(tmp_path, "a.hangs")
    script = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from pathlib import Path\n"
        "from rag_nodes.readers.base import Limits\n"
        "from rag_nodes.readers.isolation import ReaderPool\n"
        "pool = ReaderPool('hostile_reader_child')\n"
        f"print(pool.read(Path({str(path)!r}), Limits())[0].text, flush=True)\n"
        f"if {doing == 'reading'}: pool.read(Path({str(hanging)!r}), Limits())\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        handle = os.pidfd_open(int(parent.stdout.readline().split()[1]))
        parent.kill()
    ended, _, _ = select.select([handle], [], [], 30)
    os.close(handle)
    assert ended


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_starts_processes_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>Tea.</p>", encoding="utf-8")
    isolation.pool.read(tmp_path / "page.html", LIMITS)
    pid = os.fork()
    if pid == 0:
        os._exit(len(isolation.pool._children._idle))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert isolation.pool.read(tmp_path / "page.html", LIMITS)


def pid_of(pool: ReaderPool, folder: Path) -> int:
    return int(text_of(pool, file(folder, "pid.answers")).split()[1])


# --- many documents in one file -----------------------------------------------------------------


def test_documents_are_given_as_they_are_found(pool: ReaderPool, tmp_path: Path) -> None:
    stream = pool.stream(file(tmp_path, "broken.many"), LIMITS)
    texts = [next(stream).text[:10] for _ in range(3)]  # type: ignore[union-attr]
    assert texts == ["document 0", "document 1", "document 2"]
    with pytest.raises(errors.ReaderCrashedError, match="exit code 9"):
        next(stream)


def test_a_caller_may_take_its_time_with_a_document(
    pool: ReaderPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[BackgroundThread] = []
    running: set[BackgroundThread] = set()

    class Noted(BackgroundThread):
        def start(self) -> None:
            started.append(self)
            running.add(self)
            super().start()

        def cancel(self) -> None:
            running.discard(self)
            super().cancel()

    monkeypatch.setattr("rag_nodes.core.processes.children.BackgroundThread", Noted)
    first, second = (pool.stream(file(tmp_path, f"{name}.many"), LIMITS) for name in ("a", "b"))
    pairs = []
    for node, two in zip(first, second, strict=True):
        pairs.append((node.text, two.text))  # type: ignore[union-attr]
        assert started
        assert not running, "no time limit runs meanwhile"
    assert len(pairs) == 3
    assert pairs[0][0] != pairs[0][1]


def test_a_stream_that_is_given_up_leaves_no_process(pool: ReaderPool, tmp_path: Path) -> None:
    stream = pool.stream(file(tmp_path, "a.many"), LIMITS)
    process = int(next(stream).text.split()[-1])  # type: ignore[union-attr]
    stream.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


# --- the same documents -------------------------------------------------------------------------


def test_isolation_changes_no_document() -> None:
    files = [CORPUS / "handbook.pdf", CORPUS / "manual.md"]
    inside = [result.document for result in read_all(files, isolate=False)]
    outside = [result.document for result in read_all(files)]
    assert len(inside) == 2
    assert [document and document.to_dict() for document in outside] == [
        document and document.to_dict() for document in inside
    ]


def test_isolation_changes_no_error(tmp_path: Path) -> None:
    for name in ("a.pdf", "b.docx", "c.html", "d.json", "e.txt"):
        (tmp_path / name).write_bytes(b"\x00\x01\x02 broken \xff" * 9)
    both = [
        [(type(row.error), str(row.error)) for row in read_all([tmp_path], isolate=isolate)]
        for isolate in (True, False)
    ]
    assert both[0] == both[1]


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.csv", "a.tsv"])
def test_small_files_of_our_own_parsers_start_no_process(tmp_path: Path, name: str) -> None:
    path = file(tmp_path, name)
    assert not needs_child(path, path.stat().st_size, Limits())


def test_large_files_are_read_under_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "LARGE", 4)
    path = file(tmp_path, "a.txt")
    assert needs_child(path, path.stat().st_size, Limits())
    assert [reading.text for reading in readings(path) if isinstance(reading, Reading)] == [
        "anything"
    ]


def test_a_name_that_is_no_unicode_reaches_the_reader(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.html"))
    path.write_text("<p>Tea.</p>", encoding="utf-8")
    assert read(path).text == "Tea."


def test_a_script_without_a_main_guard_can_read(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<p>Tea.</p>", encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from rag_nodes.readers import read\n"
        f"print(read({str(path)!r}).text, 'lxml' in sys.modules)\n",
        encoding="utf-8",
    )
    ended = subprocess.run(
        [sys.executable, script], capture_output=True, check=True, text=True, timeout=120
    )
    assert ended.stdout == "Tea. False\n"
