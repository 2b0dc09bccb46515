"""Guessing passwords and tokens: each wrong one after the fifth costs time, by address."""

import asyncio
import base64
from collections.abc import Sequence
from dataclasses import replace

import httpx
import pytest
from app_server import listening
from pydantic import SecretStr
from starlette.responses import PlainTextResponse

from rag_nodes.server.gate import ADDRESSES, FORGOTTEN, FREE, LONGEST, Access, Gate, Throttle
from rag_nodes.server.serve import forwarding

HOME, AWAY = "198.51.100.7", "203.0.113.9"
ACCESS = Access(
    token=SecretStr("the-right-token"),
    user="ann",
    password=SecretStr("the-right-word"),
    local=False,
)


class Clock:
    """Time that passes when it is told to."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def throttle(clock: Clock) -> Throttle:
    return Throttle(clock)


def _guess(throttle: Throttle, address: str, times: int) -> None:
    for _ in range(times):
        throttle.failed(address)


def test_each_further_one_costs_twice_the_time_up_to_half_a_minute(
    throttle: Throttle, clock: Clock
) -> None:
    _guess(throttle, HOME, FREE - 1)
    waits = []
    for _ in range(9):
        throttle.failed(HOME)
        waits.append(throttle.seconds(HOME))
        clock.now += waits[-1]
        assert throttle.seconds(HOME) == 0
    assert waits == [1, 2, 4, 8, 16, LONGEST, LONGEST, LONGEST, LONGEST]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        (f"::ffff:{HOME}", HOME, True),
        ("fe80::1%eth0", "fe80::1", True),
    ],
)
def test_a_visitor_gets_no_new_count_by_another_address_of_the_same_network(
    first: str, second: str, same: bool, throttle: Throttle
) -> None:
    _guess(throttle, first, FREE)
    assert bool(throttle.seconds(second)) is same


def test_wrong_ones_are_forgotten_after_a_quiet_time(throttle: Throttle, clock: Clock) -> None:
    _guess(throttle, HOME, FREE)
    clock.now += FORGOTTEN
    throttle.failed(HOME)
    assert throttle.seconds(HOME) == 0


def test_memory_is_bounded_and_who_guesses_stays_in_it(throttle: Throttle) -> None:
    for number in range(3 * ADDRESSES):
        throttle.failed(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
        if number % 1000 == 0:
            throttle.failed(HOME)
    assert len(throttle) == ADDRESSES
    assert throttle.seconds(HOME) > 0


def _basic(word: str) -> str:
    return "Basic " + base64.b64encode(f"ann:{word}".encode()).decode()


def _codes(
    gate: Gate, shown: Sequence[str | None], *, path: str = "/", client: str = HOME
) -> list[httpx.Response]:
    """What each Authorization header in turn is answered."""

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(gate, client=(client, 5000))
        async with httpx.AsyncClient(transport=transport, base_url="http://app.test") as asking:
            return [
                await asking.get(path, headers={"Authorization": header} if header else {})
                for header in shown
            ]

    return asyncio.run(ask())


@pytest.fixture
def gate(throttle: Throttle) -> Gate:
    return Gate(PlainTextResponse("in"), ACCESS, throttle)


@pytest.mark.parametrize(
    ("path", "wrong", "right"),
    [
        ("/", _basic("wrong"), _basic("the-right-word")),
        ("/api/status", "Bearer wrong", "Bearer the-right-token"),
        ("/mcp", "Bearer wrong", "Bearer the-right-token"),
        ("/api/status", _basic("wrong"), _basic("the-right-word")),
    ],
)
def test_guessing_is_answered_429_even_with_the_right_one_until_the_time_is_over(
    path: str, wrong: str, right: str, gate: Gate, clock: Clock
) -> None:
    replies = _codes(gate, [wrong] * FREE + [wrong, right], path=path)
    assert [reply.status_code for reply in replies] == [401] * FREE + [429, 429]
    assert replies[-1].headers["retry-after"] == "1"
    assert set(replies[-1].json()) == {"error", "remedy"}
    clock.now += 1
    (after,) = _codes(gate, [right], path=path)
    assert after.text == "in"


def test_the_right_one_ends_the_count(gate: Gate) -> None:
    wrong, right = _basic("wrong"), _basic("the-right-word")
    shown = ([wrong] * (FREE - 1) + [right]) * 3
    assert 429 not in {reply.status_code for reply in _codes(gate, shown)}


def test_a_request_without_credentials_is_challenged_and_counts_as_no_guess(gate: Gate) -> None:
    replies = _codes(gate, [None] * 20)
    assert {reply.status_code for reply in replies} == {401}
    (reply,) = _codes(gate, [_basic("the-right-word")])
    assert reply.status_code == 200


def test_somebody_elses_guesses_leave_visitors_alone(gate: Gate) -> None:
    _codes(gate, [_basic("wrong")] * 20)
    (reply,) = _codes(gate, [_basic("the-right-word")], client=AWAY)
    assert reply.status_code == 200


def test_a_page_without_a_password_asks_nobody_to_wait(throttle: Throttle) -> None:
    gate = Gate(PlainTextResponse("in"), Access(local=False), throttle)
    assert {reply.status_code for reply in _codes(gate, ["Bearer x"] * 20)} == {200}
    assert len(throttle) == 0


# --- where a request comes from -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proxy", "environment", "believed"),
    [
        (None, None, False),
        ("127.0.0.1", None, True),
        (None, "127.0.0.1", True),
        ("192.0.2.7", None, False),
    ],
)
def test_only_a_proxy_that_was_named_says_where_a_request_comes_from(
    proxy: str | None,
    environment: str | None,
    believed: bool,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    if environment is not None:
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", environment)
    access = replace(ACCESS, proxy=proxy)
    gate = Gate(PlainTextResponse("in"), access, Throttle(clock))
    with listening(gate, **forwarding(access)) as address:
        codes = [
            httpx.get(
                address,
                headers={"Authorization": _basic("wrong"), "X-Forwarded-For": f"198.51.100.{n}"},
                timeout=60,
            ).status_code
            for n in range(2 * FREE)
        ]
    assert codes == [401] * 2 * FREE if believed else codes == [401] * FREE + [429] * FREE
