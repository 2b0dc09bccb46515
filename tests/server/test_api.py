"""REST as a client sees it: documents in, cited answers and chunks out, nothing shared."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from app_server import PATIENCE, Api, listening
from crawls import SHORT, SITE, write_crawl
from openai_server import Fault
from pydantic import SecretStr

from rag_nodes.errors import StoreLockedError
from rag_nodes.pipeline import driver
from rag_nodes.server.failures import public, without_paths
from rag_nodes.server.gate import Access
from rag_nodes.server.limits import ServerLimits
from rag_nodes.server.rest.events import MEDIA_TYPE
from rag_nodes.server.workers import Workers
from rag_nodes.settings import Settings
from rag_nodes.store.edge import shards

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openai_server import OpenAIServer

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUESTION = {"question": "When must the sand filter be rinsed backwards?"}


@pytest.fixture
def api(settings: Settings) -> Api:
    return Api(settings, local_models=True)


@pytest.fixture
def client(api: Api) -> Iterator[httpx.Client]:
    with api.opened() as opened:
        yield opened


def _uploaded(client: httpx.Client, text: str = "", name: str = "note.md") -> dict[str, str]:
    """The header of a new session with one document."""
    content = text.encode() or (CORPUS / "handbook.pdf").read_bytes()
    reply = client.post("/upload", files=[("files", (name if text else "handbook.pdf", content))])
    assert reply.status_code == 200, reply.text
    return {"X-Session": reply.json()["session"]}


def _events(body: str) -> list[tuple[str, dict[str, Any]]]:
    blocks = [block.split("\n", 1) for block in body.strip().split("\n\n")]
    return [
        (name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for name, data in blocks
    ]


def test_a_question_is_answered_with_its_page_and_no_path_of_the_server(
    client: httpx.Client,
) -> None:
    reply = client.post("/ask", json=QUESTION, headers=_uploaded(client))
    answer = reply.json()
    assert "2.4 bar" in answer["text"]
    assert (answer["citations"][0]["file_name"], answer["citations"][0]["page"]) == (
        "handbook.pdf",
        2,
    )
    assert "/tmp" not in reply.text  # noqa: S108 - where uploads were
    assert "rag_nodes_" not in reply.text


def test_a_page_of_a_crawl_is_chosen_by_its_url(client: httpx.Client, tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl.json")
    session = _uploaded(client, crawl.read_text("utf-8"), "crawl.json")
    found = {}
    for name in ("guide", "long", "short", "copy", "elsewhere"):
        body = {"question": "What page is short?", "filter": {"source": f"{SITE}/{name}"}}
        answer = client.post("/ask", json=body, headers=session).json()
        found[name] = {one["text"] for one in answer["chunks"]}
    assert found["short"] == found["copy"] == {SHORT}, "both addresses lead to the same text"
    assert all("draws water" in text for text in found["guide"] | found["long"])
    assert not found["guide"] & found["long"]
    assert found["elsewhere"] == set()


def test_columns_have_one_size_where_that_is_asked_for_and_keep_it(client: httpx.Client) -> None:
    session = _uploaded(client)
    body = {**QUESTION, "parsers": ["fixed", "page"], "equal_size": 60}
    for _ in range(2):  # the second time nothing is cut
        reply = client.post("/compare", json=body, headers=session).json()
        assert reply["equal_size"] == 60
        fixed, page = reply["columns"]
        assert fixed["mean_tokens"] == pytest.approx(60, rel=0.05)
        assert fixed["size_remark"] == ""
        assert fixed["options"]["unit"] == "tokens"
        assert page["title"] == "Pages"
    own = client.post("/compare", json={**body, "equal_size": None}, headers=session).json()
    assert own["equal_size"] is None
    assert own["columns"][0]["options"]["unit"] == "characters"
    refused = client.post("/compare", json={**body, "equal_size": 5}, headers=session)
    assert refused.status_code == 422


def test_a_question_is_asked_by_another_embedding_which_no_llm_is_paid_for(
    client: httpx.Client,
) -> None:
    session = _uploaded(client, "# Pump\n\n## Rinsing\n\nOnce a week, with clear water.\n")
    body = {"question": "When is the pump rinsed?", "mode": "dense", "parser": "heading"}
    found = {
        name: client.post("/ask", json={**body, "vector": name}, headers=session).json()
        for name in ("heading", "plain", "summary", "heading")
    }
    similarities = {name: one["chunks"][0]["similarity"] for name, one in found.items()}
    assert len({*similarities.values()}) > 1
    compared = {"question": body["question"], "parsers": ["heading"], "vector": "plain"}
    (column,) = client.post("/compare", json=compared, headers=session).json()["columns"]
    assert column["error"] is None
    refused = client.post("/ask", json={**body, "vector": "context"}, headers=session)
    assert refused.status_code == 422


def test_a_similarity_cutoff_holds_and_nonsense_is_refused(client: httpx.Client) -> None:
    session = _uploaded(client)
    every = client.post("/ask", json=QUESTION, headers=session).json()["chunks"]
    kept = client.post("/ask", json={**QUESTION, "similarity_cutoff": 0.1}, headers=session)
    similar = [one["similarity"] for one in kept.json()["chunks"]]
    assert 0 < len(similar) < len(every)
    assert min(similar) >= 0.1
    for wrong in ("NaN", "1.5", '"much"'):
        body = f'{{"question": "Why?", "similarity_cutoff": {wrong}}}'
        headers = {**session, "Content-Type": "application/json"}
        reply = client.post("/ask", content=body, headers=headers)
        assert reply.status_code == 422
        assert reply.json()["remedy"]


def test_a_request_answers_as_a_source_document_says_or_as_it_names_itself(
    client: httpx.Client, openai_server: OpenAIServer
) -> None:
    session = _uploaded(client)
    models = {"api_base": openai_server.base, "api_key": "sk-any"}
    like = {**QUESTION, "answer_preset": "pdf-qa", "models": models}
    answer = client.post("/ask", json=like, headers=session).json()
    body = openai_server.asked("chat/completions")[-1]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("gpt-3.5-turbo", 0.7, 1000)
    assert len(answer["chunks"]) <= 10
    own = {**models, "llm_model": "mine", "temperature": 0.1, "max_output_tokens": 5000}
    client.post("/ask", json={**like, "models": own}, headers=session)
    body = openai_server.asked("chat/completions")[-1]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("mine", 0.1, 5000)


@pytest.mark.parametrize("field", ["embedding", "embedding_options", "llm", "llm_options"])
def test_a_class_can_not_be_named_over_rest(client: httpx.Client, field: str) -> None:
    value = {"a": 1} if field.endswith("options") else "this:Model"
    for body in ({**QUESTION, "models": {field: value}}, {**QUESTION, field: value}):
        reply = client.post("/ask", json=body, headers=_uploaded(client))
        assert reply.status_code == 422
        assert field in reply.json()["error"]
        assert reply.json()["remedy"]
    assert "this" not in sys.modules


def test_an_answer_the_server_pays_for_is_no_longer_than_it_allows(client: httpx.Client) -> None:
    body = {**QUESTION, "models": {"max_output_tokens": 5000}}
    reply = client.post("/ask", json=body, headers=_uploaded(client))
    assert reply.status_code == 422
    assert "at most 1024" in reply.json()["error"]


def test_only_one_parser_alone_reads_more_for_steps_and_says_so(client: httpx.Client) -> None:
    steps, session = {"question": "How do I rinse the sand filter?"}, _uploaded(client)
    answer = client.post("/ask", json=steps, headers=session).json()
    assert answer["widening"] == "budget 3000 instead of 1500: asks for steps"
    limited = client.post("/ask", json={**steps, "budget": 1500}, headers=session).json()
    assert (limited["widened"], limited["widening"]) == (False, "")
    columns = client.post("/compare", json=steps, headers=session).json()["columns"]
    assert not any(column["answer"]["widened"] for column in columns)


def test_several_parsers_answer_side_by_side(client: httpx.Client) -> None:
    options = {"fixed": {"chunk_size": 300, "chunk_overlap": 0}}
    body = {**QUESTION, "parsers": ["heading", "fixed"], "options": options}
    heading, fixed = client.post("/compare", json=body, headers=_uploaded(client)).json()["columns"]
    assert (heading["parser"], fixed["parser"]) == ("heading", "fixed")
    assert fixed["options"]["chunk_size"] == 300
    assert all("2.4 bar" in column["answer"]["text"] for column in (heading, fixed))


def test_an_answer_grows_as_events_and_adds_up_to_the_whole(client: httpx.Client) -> None:
    session = {**_uploaded(client), "Accept": "text/event-stream"}
    reply = client.post("/ask", json=QUESTION, headers=session)
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = _events(reply.text)
    names = [name for name, _ in events]
    assert (names[0], names[-2:]) == ("retrieved", ["finished", "end"])
    text = "".join(data["text"] for name, data in events if name == "delta")
    answer = next(data["answer"] for name, data in events if name == "finished")
    assert text.strip() == answer["text"]
    assert any(name == "citation" for name, _ in events)


def test_a_text_is_cut_into_exact_slices_page_by_page_of_the_list(client: httpx.Client) -> None:
    text = "# One\n\n" + "Rain fell. " * 60 + "\n\n# Two\n\nSun shone.\n"
    body = {"text": text, "parser": "fixed", "options": {"chunk_size": 100, "chunk_overlap": 0}}
    whole = client.post("/chunk", json=body).json()
    part = client.post("/chunk", json={**body, "first": 2, "limit": 3}).json()
    assert whole["total"] == len(whole["chunks"]) == part["total"]
    assert part["chunks"] == whole["chunks"][2:5]
    for chunk in whole["chunks"]:
        assert text[chunk["start"] : chunk["end"]] == chunk["text"]


def test_an_uploaded_document_is_cut_by_its_id(client: httpx.Client) -> None:
    session = _uploaded(client)
    (document,) = client.get("/status", headers=session).json()["documents"]
    body = {"document": document["document"], "parser": "page"}
    reply = client.post("/chunk", json=body, headers=session).json()
    assert document["pages"] == 6
    assert [chunk["page_start"] for chunk in reply["chunks"]] == [1, 2, 3, 4, 5, 6]


def test_documents_add_up_and_other_sessions_do_not_see_them(client: httpx.Client) -> None:
    red = _uploaded(client, "The machine is red.", "red.md")
    client.post("/upload", files=[("files", ("b.md", b"The roof is green."))], headers=red)
    blue = _uploaded(client, "The machine is blue.", "blue.md")
    names = [one["name"] for one in client.get("/status", headers=red).json()["documents"]]
    assert names == ["red.md", "b.md"]
    for colour, session in (("red", red), ("blue", blue)):
        question = {"question": "What colour is the machine?"}
        answer = client.post("/ask", json=question, headers=session).json()
        assert colour in answer["text"]
        assert {"red": "blue", "blue": "red"}[colour] not in json.dumps(answer)


def test_a_session_that_was_cleared_or_never_given_out_is_not_found(
    client: httpx.Client, api: Api
) -> None:
    session = _uploaded(client, "The machine is red.")
    assert client.post("/clear", headers=session).json() == {"cleared": True}
    assert len(api.clients) == 0
    for headers in (session, {"X-Session": "guessed"}, {}):
        reply = client.post("/ask", json=QUESTION, headers=headers)
        assert reply.status_code == 404
        assert "upload" in reply.json()["remedy"]
    assert len(api.clients) == 0


def test_options_that_cost_too_much_are_refused(client: httpx.Client) -> None:
    for options in ({"chunk_size": 1, "chunk_overlap": 0}, {"chunk_size": 250}):
        body = {"text": "a" * 1000, "parser": "fixed", "options": options}
        reply = client.post("/chunk", json=body)
        assert reply.status_code == 422
        assert "fixed" in reply.json()["error"]


def test_a_typed_key_is_in_no_answer_refusal_or_later_request(
    client: httpx.Client, openai_server: OpenAIServer
) -> None:
    session = _uploaded(client, "The machine is red.")
    models = {"api_key": "sk-canary-9d1f-rest", "api_base": openai_server.base}
    good = client.post("/ask", json={**QUESTION, "models": models}, headers=session)
    assert good.json()["kind"] == "generated", good.text
    openai_server.fail(Fault(401, "invalid_api_key", "no sk-canary-9d1f-rest"), times=9)
    refused = client.post("/ask", json={**QUESTION, "models": models}, headers=session)
    broken = client.post("/ask", json={**QUESTION, "models": {**models, "x": 1}}, headers=session)
    assert [refused.status_code, broken.status_code] == [503, 422]
    status = client.get("/status", headers=session)
    assert "canary" not in "".join(one.text for one in (good, refused, broken, status))


def test_a_model_server_in_this_network_is_refused_unless_it_was_allowed(
    settings: Settings,
) -> None:
    models = {"api_base": "http://127.0.0.1:9/v1", "api_key": "sk-any"}
    with Api(settings).opened() as client:
        session = _uploaded(client, "The machine is red.")
        reply = client.post("/ask", json={**QUESTION, "models": models}, headers=session)
    assert reply.status_code == 422
    assert "--local-models" in reply.json()["remedy"]


def test_a_client_that_leaves_lets_its_session_go(
    client: httpx.Client, api: Api, openai_server: OpenAIServer
) -> None:
    session = _uploaded(client, "The machine is red.")
    models = {"api_key": "sk-any", "api_base": openai_server.base}
    body = {**QUESTION, "models": models}
    client.post("/ask", json=body, headers=session)  # embedded: from now on only chat is asked
    openai_server.fail(Fault(body="slow"), times=3)
    streaming = {**session, "Accept": "text/event-stream"}
    with client.stream("POST", "/ask", json=body, headers=streaming) as reply:
        assert next(reply.iter_lines()) == "event: retrieved"
    _wait_until(lambda: api.at_rest)
    offline = client.post("/ask", json=QUESTION, headers=session)
    assert offline.status_code == 200
    openai_server.reset()


def test_nobody_gets_more_than_their_share_of_the_work() -> None:
    workers = Workers(ServerLimits(at_once=3, per_session=2))
    a, b, c = (workers.session(key) for key in "abc")
    with workers.place(a), workers.place(a):
        with pytest.raises(Exception, match="too much"):
            workers.hold(a)
        with workers.place(b), pytest.raises(Exception, match="too much"):
            workers.hold(c)
    assert not workers._running


def test_ten_clients_do_not_wait_for_another_ones_model_and_leave_nothing(
    client: httpx.Client, api: Api, openai_server: OpenAIServer
) -> None:
    slow = _uploaded(client, "The machine is slow.", "slow.md")
    before = set(threading.enumerate())
    models = {"api_key": "sk-any", "api_base": openai_server.base}
    openai_server.fail(Fault(body="slow"), times=9)
    outcomes: dict[int, str] = {}

    def wait_for_the_model() -> None:
        body = {**QUESTION, "models": models}
        outcomes[0] = str(client.post("/ask", json=body, headers=slow).status_code)

    def visit(number: int) -> None:
        session = _uploaded(client, f"The machine has number {number}00.", f"{number}.md")
        body = {"question": "What number has the machine?", "parsers": ["fixed", "heading"]}
        reply = client.post("/compare", json=body, headers=session).json()
        outcomes[number] = " ".join(one["answer"]["text"] for one in reply["columns"])
        client.post("/clear", headers=session)

    waiting = threading.Thread(target=wait_for_the_model)
    waiting.start()
    visitors = [threading.Thread(target=visit, args=(number,)) for number in range(1, 10)]
    for one in visitors:
        one.start()
    for one in visitors:
        one.join(timeout=PATIENCE)
    assert 0 not in outcomes  # its model still has not answered
    assert sorted(outcomes) == list(range(1, 10))
    assert all(f"number {number}00" in text for number, text in outcomes.items())
    openai_server.reset()
    waiting.join(timeout=PATIENCE)
    assert outcomes[0] == "200"
    client.post("/clear", headers=slow)
    assert len(api.clients) == 0
    assert api.at_rest
    _wait_until(lambda: not [t for t in set(threading.enumerate()) - before if "ask" in t.name])


def test_a_locked_store_is_said_without_its_folder() -> None:
    error = StoreLockedError("/srv/data/store: another process uses it; choose another folder")
    assert public(error) == (503, "store: another process uses it", "choose another folder")
    assert without_paths(r"at C:\Users\ann\x.pdf now") == "at x.pdf now"
    assert without_paths("https://api.openai.com/v1: no key") == "https://api.openai.com/v1: no key"


@pytest.mark.parametrize("shown", [None, "Bearer wrong", "Basic wrong", "Bearer", "Bearer é"])
def test_without_the_token_nothing_is_answered(shown: str | None, settings: Settings) -> None:
    api = Api(settings, access=Access(token=SecretStr("right"), local=False))
    headers = {"Authorization": shown.encode()} if shown else {}
    with listening(api.app) as address:
        given = {"json": {"text": "a"}, "headers": headers, "timeout": PATIENCE}
        reply = httpx.post(f"{address}/api/chunk", **given)
        right = {"Authorization": "bearer right"}
        status = httpx.get(f"{address}/api/status", headers=right, timeout=PATIENCE)
        assert status.status_code == 200
    assert reply.status_code == 401
    assert set(reply.json()) == {"error", "remedy"}
    assert reply.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "["}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Host": "localhost:7860", "Origin": "http://localhost:7860"}, 200),
    ],
)
def test_the_pages_of_other_sites_cannot_use_a_local_server(
    headers: dict[str, str], status: int, client: httpx.Client
) -> None:
    assert client.post("/chunk", json={"text": "a"}, headers=headers).status_code == status


def _wait_until(reached: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_full_disk_is_told_in_place_of_an_answer_and_asked_about_again(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = _uploaded(client)
    full = shutil.disk_usage("/")._replace(free=1 << 20)
    with monkeypatch.context() as patch:
        patch.setattr(shards.shutil, "disk_usage", lambda _: full)
        refused = client.post("/ask", json=QUESTION, headers=session)
        compared = client.post("/compare", json=QUESTION, headers=session).json()
    assert refused.status_code == 503, refused.text
    assert "1 MB are free" in refused.json()["error"]
    assert "free some space" in refused.json()["remedy"]
    assert all("1 MB are free" in one["error"] for one in compared["columns"])
    answered = client.post("/ask", json=QUESTION, headers=session)
    assert "2.4 bar" in answered.json()["text"]
    assert answered.json()["incomplete"] is None


def test_an_answer_of_a_part_of_the_documents_says_why(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = _uploaded(client)
    more = [("files", ("note.md", b"# Note\n\nThe pump has a filter."))]
    assert client.post("/upload", files=more, headers=session).status_code == 200
    free = shutil.disk_usage("/")
    left = iter([free] * 2)
    full = free._replace(free=1 << 20)
    monkeypatch.setattr(driver, "MOST_FILES", 1)
    monkeypatch.setattr(shards.shutil, "disk_usage", lambda _: next(left, full))
    answer = client.post("/ask", json=QUESTION, headers=session).json()
    assert answer["chunks"]
    assert "1 MB are free" in answer["incomplete"]
    streamed = client.post("/ask", json=QUESTION, headers={**session, "Accept": MEDIA_TYPE})
    name, end = _events(streamed.text)[-1]
    assert name == "end"
    assert "1 MB are free" in end["incomplete"]["retrieval"]
