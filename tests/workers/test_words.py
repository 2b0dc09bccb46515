from __future__ import annotations

import io
import logging
import warnings

import pytest
from pydantic import SecretStr

from rag_nodes.workers.words import MOST, Hearing, LastWords, Logged, LoggedWords, packed

KEYS = {
    "store": SecretStr("key-of-the-store"),
    "model 0 api_key": SecretStr('"key-of-the-model"'),
    "model 0 headers": SecretStr('{"Authorization": "Bearer key-in-a-header"}'),
}


def test_what_is_logged_while_a_worker_works_is_logged_by_the_driver_without_keys(
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = LoggedWords(KEYS)
    with words.listening():
        for key in KEYS.values():
            logging.getLogger("some.library").warning("refused: %s", key.get_secret_value())
        logging.getLogger("some.library").info("nobody asked")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("an odd\nfont", stacklevel=1)
    logging.getLogger("some.library").warning("not of a task")
    sent = [one.pack() for one in words.taken()]
    caplog.clear()
    hearing = Hearing(bytes.decode)
    assert [hearing.message(one) for one in sent] == [None] * 4
    texts = [record.getMessage() for record in caplog.records]
    assert texts[0] == "refused: ****"
    assert texts[1] == 'refused: "****"'
    assert "key-in-a-header" not in texts[2]
    assert "UserWarning: an odd font" in texts[3]
    assert {record.name for record in caplog.records} == {"some.library", "py.warnings"}


def test_a_worker_says_a_thing_once_and_not_too_many() -> None:
    words = LoggedWords({})
    for _ in range(2):
        with words.listening():
            for number in range(MOST + 5):
                logging.getLogger("x").warning("warning %s", number)
    assert len([*words.taken()]) == MOST + 5


def test_an_error_is_logged_with_its_cause() -> None:
    words = LoggedWords({})
    with words.listening():
        try:
            int("seven")
        except ValueError:
            logging.getLogger("x").exception("it failed")
    (one,) = words.taken()
    assert one == Logged("x", logging.ERROR, one.text)
    assert one.text.startswith("it failed (ValueError: invalid literal")


def test_what_is_for_the_driver_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    hearing = Hearing(bytes.decode)
    assert hearing.message(packed(b'["x", 30, "y"]')) == '["x", 30, "y"]'
    assert caplog.records == []
    with pytest.raises(ValueError, match="no message"):
        hearing.message(b"")


def test_what_several_workers_say_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    hearing = Hearing(bytes.decode)
    for one in ("an odd font", "an odd font", "another", "an odd font"):
        hearing.message(Logged("x", logging.WARNING, one).pack())
    assert [record.getMessage() for record in caplog.records] == ["an odd font", "another"]


def test_a_library_that_logs_what_does_not_fit_its_words_is_not_ended_by_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    words = LoggedWords({})
    with words.listening():
        words.handle(logging.makeLogRecord({"msg": "%d pages", "args": ("many",), "levelno": 30}))
    assert [*words.taken()] == []


@pytest.mark.parametrize(
    ("said", "quoted"),
    [
        (b"", "SIGKILL"),
        (b"of another file\n\x1ethis one\n", "SIGKILL: this one"),
        (b"of another file\n\x1e", "SIGKILL"),
        (b"x" * 5000 + b"\x1ethis one\n", "SIGKILL: this one"),
        (b"one\n\ntwo\nthree\nfour\n", "SIGKILL: two | three | four"),
        (b"x" * 5000 + b"key-of-the-store\n", "SIGKILL"),
        (b"x" * 5000 + b"\nkey-of-the-store\xff\n", "SIGKILL: ****\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_last_words_are_few_and_without_keys(said: bytes, quoted: str) -> None:
    assert LastWords(io.BytesIO(said), KEYS).after("SIGKILL") == quoted
