"""REST as a client sees it: documents in, cited answers and chunks out, nothing shared."""

import json
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from app_server import PATIENCE, Api, events_of, listening
from crawls import SHORT, SITE, write_crawl
from fixtures_app import offline_settings
from openai_server import Fault, OpenAIServer
from pydantic import SecretStr
from splitters import Given

from rag_nodes.core.errors import NoTextLayerError, StoreLockedError
from rag_nodes.core.settings import Settings
from rag_nodes.parsers import PRESETS, offered
from rag_nodes.server.events import MEDIA_TYPE
from rag_nodes.server.gate import Access
from rag_nodes.server.messages import public, public_words
from rag_nodes.store.edge import shards

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUESTION = {"question": "When must the sand filter be rinsed backwards?"}
KEY = "sk-canary-9d1f-rest"


@pytest.fixture(scope="module")
def manual(client: httpx.Client) -> dict[str, str]:
    """The header of a session with the manual, which no test changes."""
    return _upload_document(client)


@pytest.fixture
def asking(openai_server: OpenAIServer) -> Iterator[Api]:
    """A server whose models are asked over a network."""
    yield Api(
        Settings(
            embedding="openai",
            llm="openai",
            api_base=openai_server.base,
            api_key=SecretStr(KEY),
            retry_seconds=0,
        )
    )
    openai_server.reset()


def _upload_document(client: httpx.Client, text: str = "", name: str = "note.md") -> dict[str, str]:
    """The header of a new session with one document."""
    content = text.encode() or (CORPUS / "handbook.pdf").read_bytes()
    reply = client.post("/upload", files=[("files", (name if text else "handbook.pdf", content))])
    assert reply.status_code == 200, reply.text
    return {"X-Session": reply.json()["session"]}


# --- answers -------------------------------------------------------------------------------------


def test_a_question_is_answered_with_its_page_and_no_path_of_the_server(
    client: httpx.Client, manual: dict[str, str]
) -> None:
    reply = client.post("/ask", json=QUESTION, headers=manual)
    answer = reply.json()
    citation = answer["citations"][0]
    assert "2.4 bar" in answer["text"]
    assert (citation["file_name"], citation["page"]) == ("handbook.pdf", 2)
    assert "/tmp" not in reply.text  # noqa: S108 - where uploads were
    assert "rag_nodes_" not in reply.text


def test_citations_of_files_with_the_same_name_have_the_ids_of_their_uploads(
    client: httpx.Client,
) -> None:
    texts = [b"Guests may smoke on deck seven.\n", b"Crew may smoke on deck nine only.\n"]
    parts = [("files", ("policy.md", text)) for text in texts]
    uploaded = client.post("/upload", files=parts).json()
    ids = {file["document_id"] for file in uploaded["files"]}
    session = {"X-Session": uploaded["session"]}
    body = {"question": "Who may smoke on deck?"}
    events = events_of(client.post("/ask", json=body, headers={**session, "Accept": MEDIA_TYPE}))
    cited = dict(events)["result"]["citations"]
    assert len(ids) == 2
    assert {citation["document_id"] for citation in cited} == ids
    assert {data["document_id"] for name, data in events if name == "citation"} == ids
    body = {"document_id": cited[0]["document_id"], "parser": "page"}
    [chunk] = client.post("/chunk", json=body, headers=session).json()["chunks"]
    assert cited[0]["quote"] in chunk["text"]


def test_a_page_of_a_crawl_is_chosen_by_its_url(client: httpx.Client, tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "crawl.json")
    session = _upload_document(client, crawl.read_text("utf-8"), "crawl.json")
    texts = {}
    for name in ("guide", "long", "short", "copy", "elsewhere"):
        body = {"question": "What page is short?", "filter": {"source": f"{SITE}/{name}"}}
        answer = client.post("/ask", json=body, headers=session).json()
        texts[name] = {hit["text"] for hit in answer["hits"]}
    assert texts["short"] == texts["copy"] == {SHORT}, "both addresses lead to the same text"
    assert all("draws water" in text for text in texts["guide"] | texts["long"])
    assert not texts["guide"] & texts["long"]
    assert texts["elsewhere"] == set()


def test_a_similarity_cutoff_holds_and_nonsense_is_refused(
    client: httpx.Client, manual: dict[str, str]
) -> None:
    every = client.post("/ask", json=QUESTION, headers=manual).json()["hits"]
    kept = client.post("/ask", json={**QUESTION, "similarity_cutoff": 0.1}, headers=manual)
    similar = [hit["similarity"] for hit in kept.json()["hits"]]
    assert 0 < len(similar) < len(every)
    assert min(similar) >= 0.1
    for wrong in ("NaN", "1.5", '"much"'):
        body = f'{{"question": "Why?", "similarity_cutoff": {wrong}}}'
        headers = {**manual, "Content-Type": "application/json"}
        reply = client.post("/ask", content=body, headers=headers)
        assert reply.status_code == 422
        assert reply.json()["remedy"]


def test_only_one_parser_alone_reads_more_for_steps_and_says_so(
    client: httpx.Client, manual: dict[str, str]
) -> None:
    steps = {"question": "How do I rinse the sand filter?"}
    answer = client.post("/ask", json=steps, headers=manual).json()
    assert answer["widening"] == "budget 3000 instead of 1500: asks for steps"
    limited = client.post("/ask", json={**steps, "budget": 1500}, headers=manual).json()
    assert (limited["widened"], limited["widening"]) == (False, "")
    columns = client.post("/compare", json=steps, headers=manual).json()["columns"]
    assert not any(column["answer"]["widened"] for column in columns)


def test_an_answer_grows_as_events_and_ends_in_the_reply(
    client: httpx.Client, manual: dict[str, str]
) -> None:
    reply = client.post("/ask", json=QUESTION, headers={**manual, "Accept": MEDIA_TYPE})
    assert reply.headers["content-type"].startswith(MEDIA_TYPE)
    events = events_of(reply)
    names = [name for name, _ in events]
    assert names[-3:] == ["finished", "result", "end"]
    assert {"retrieved", "citation"} <= set(names)
    text = "".join(data["text"] for name, data in events if name == "delta")
    whole = client.post("/ask", json=QUESTION, headers=manual).json()
    assert text.strip() == dict(events)["result"]["text"] == whole["text"]


def test_a_comparison_reports_its_progress_before_the_result(client: httpx.Client) -> None:
    body = {"question": "What?", "text": "The machine is red.", "parsers": ["fixed", "heading"]}
    events = events_of(client.post("/compare", json=body, headers={"Accept": MEDIA_TYPE}))
    names = [name for name, _ in events]
    assert names[-2:] == ["result", "end"]
    steps = [data for name, data in events if name == "progress"]
    assert {step["name"] for step in steps} >= {"fixed", "heading"}
    assert [column["name"] for column in events[-2][1]["columns"]] == ["fixed", "heading"]


# --- chunks --------------------------------------------------------------------------------------


def test_a_text_is_split_into_exact_slices_page_by_page_of_the_list(client: httpx.Client) -> None:
    text = "# One\n\n" + "Rain fell. " * 60 + "\n\n# Two\n\nSun shone.\n"
    body = {"text": text, "parser": "fixed:chunk_size=100,chunk_overlap=0"}
    whole = client.post("/chunk", json=body).json()
    part = client.post("/chunk", json={**body, "first": 2, "limit": 3}).json()
    assert whole["total"] == len(whole["chunks"]) == part["total"]
    assert part["chunks"] == whole["chunks"][2:5]
    for chunk in whole["chunks"]:
        assert text[chunk["start"] : chunk["end"]] == chunk["text"]


def test_an_uploaded_document_is_split_by_its_id(
    client: httpx.Client, manual: dict[str, str]
) -> None:
    (document,) = client.get("/status", headers=manual).json()["documents"]
    body = {"document_id": document["document_id"], "parser": "page"}
    reply = client.post("/chunk", json=body, headers=manual).json()
    assert document["pages"] == 6
    assert client.get("/status").json()["mode"] == "sparse"
    assert [chunk["page_start"] for chunk in reply["chunks"]] == [1, 2, 3, 4, 5, 6]
    unknown = client.post("/chunk", json={**body, "document_id": "guessed"}, headers=manual)
    assert unknown.status_code == 404


def test_a_refusal_says_that_a_text_is_blank_and_how_a_document_is_named(
    client: httpx.Client, manual: dict[str, str]
) -> None:
    blank = client.post("/chunk", json={"text": " \n"})
    assert (blank.status_code, blank.json()["error"]) == (422, "text: must not be blank")
    lost = client.post("/chunk", json={"document_id": "report.pdf"}, headers=manual)
    assert lost.status_code == 404
    assert lost.json()["remedy"] == "use the `document_id` from the response to its upload"


@pytest.mark.parametrize(
    ("path", "body", "error", "remedy"),
    [
        (
            "/compare",
            '{"question": "a", "text": "b", "parsers": ["a", "b", "c", "d", "e"]}',
            "parsers: must have at most 4 items",
            "correct the request and send it again",
        ),
        (
            "/compare",
            '{"question": "a", "text": "b", "parsers": ["heading", "heading"]}',
            "parser 'heading' is named twice",
            "give one of them other options, for example heading:chunk_size=500",
        ),
        (
            "/ask",
            '{"question": "a", "text": "b", "filter": {"where": {"dept": "hr"}}}',
            "the filter: no chunk has the key 'dept'",
            (
                "the documents have no keys of your own: a file gets such keys from its front "
                "matter, or from whoever ingests it"
            ),
        ),
        (
            "/ask",
            '{"text": "b"}',
            "question: must be given",
            "correct the request and send it again",
        ),
        (
            "/ask",
            '{"question": ',
            "body: must be valid JSON",
            "correct the request and send it again",
        ),
    ],
)
def test_a_refusal_uses_the_words_of_a_request(
    client: httpx.Client, path: str, body: str, error: str, remedy: str
) -> None:
    reply = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code == 422
    assert reply.json() == {"error": error, "remedy": remedy}


@pytest.mark.parametrize(
    ("parser", "words"),
    [
        ("sentence-window:window=51", "at most 50"),
        ("os:system", "unknown parser"),
        ("SentenceSplitter", "unknown parser"),
        ("splitters:Given(pieces=[])", "unknown parser"),
        ({"name": "semantic", "options": {"embedding": "openai:any"}}, "embedding"),
        ({"name": "semantic", "options": {"path": "os:system"}}, "path"),
    ],
)
def test_a_parser_or_option_that_is_not_offered_or_costs_too_much_is_refused(
    parser: Any, words: str, client: httpx.Client
) -> None:
    reply = client.post("/chunk", json={"text": "Tea. " * 200, "parser": parser})
    assert reply.status_code == 422
    assert words in reply.json()["error"]
    assert reply.json()["remedy"]
    assert not re.search("module:Class|-p ", reply.json()["remedy"]), "forbidden over REST"


def test_a_splitter_that_is_offered_is_named_and_says_what_has_no_place() -> None:
    offer = offered({"lossy": Given(["The pump draws water.", "Words of its own."])})
    with Api(Settings(embedding="lexical", llm="extractive"), offer=offer).opened() as client:
        models = client.get("/openapi.json").json()["components"]["schemas"]
        assert models["ParserSpec"]["properties"]["name"]["enum"] == [*PRESETS, "lossy"]
        assert client.get("/status").json()["parsers"][-1]["name"] == "lossy"
        text = "The pump draws water. It hums."
        cut = client.post("/chunk", json={"text": text, "parser": "lossy"}).json()
        assert (cut["total"], cut["not_located"]) == (2, 1)
        assert [chunk["start"] for chunk in cut["chunks"]] == [0, None]
        body = {"question": "What draws water?", "parsers": ["lossy", "fixed"], "text": text}
        columns = client.post("/compare", json=body).json()["columns"]
        assert [column["statistics"]["not_located"] for column in columns] == [1, 0]


# --- sessions ------------------------------------------------------------------------------------


def test_documents_add_up_and_other_sessions_do_not_see_them(client: httpx.Client) -> None:
    red = _upload_document(client, "The machine is red.", "red.md")
    client.post("/upload", files=[("files", ("b.md", b"The roof is green."))], headers=red)
    blue = _upload_document(client, "The machine is blue.", "blue.md")
    names = [
        document["name"] for document in client.get("/status", headers=red).json()["documents"]
    ]
    assert names == ["red.md", "b.md"]
    for colour, session in (("red", red), ("blue", blue)):
        question = {"question": "What colour is the machine?"}
        answer = client.post("/ask", json=question, headers=session).json()
        assert colour in answer["text"]
        assert {"red": "blue", "blue": "red"}[colour] not in json.dumps(answer)


def test_a_session_that_was_cleared_or_never_given_out_is_not_found(
    client: httpx.Client, api: Api
) -> None:
    before = len(api.sessions)
    session = _upload_document(client, "The machine is red.")
    assert client.post("/clear", headers=session).json() == {"cleared": True}
    for headers in (session, {"X-Session": "guessed"}, {}):
        reply = client.post("/ask", json=QUESTION, headers=headers)
        assert reply.status_code == 404
        assert "upload" in reply.json()["remedy"]
    assert len(api.sessions) == before


def test_clients_do_not_wait_for_another_ones_model_and_leave_nothing(
    asking: Api, openai_server: OpenAIServer
) -> None:
    def visit(number: int) -> str:
        session = _upload_document(client, f"The machine has number {number}00.", f"{number}.md")
        body = {"question": "What?", "parsers": ["fixed", "heading"], "retrieval_only": True}
        reply = client.post("/compare", json=body, headers=session).json()
        client.post("/clear", headers=session)
        return " ".join(column["answer"]["hits"][0]["text"] for column in reply["columns"])

    with asking.opened() as client, ThreadPoolExecutor(5) as threads:
        slow = _upload_document(client, "The machine is slow.", "slow.md")
        client.post("/ask", json=QUESTION, headers=slow)  # from now on only the chat is asked
        asked = len(openai_server.asked("chat/completions"))
        openai_server.fail(Fault(body="slow"))
        waiting = threads.submit(client.post, "/ask", json=QUESTION, headers=slow)
        openai_server.wait_for("chat/completions", asked + 1)
        for number, text in enumerate(threads.map(visit, range(1, 5), timeout=PATIENCE), start=1):
            assert f"number {number}00" in text
        assert not waiting.done()  # its model still has not answered
        openai_server.reset()
        assert waiting.result(PATIENCE).status_code == 200
        client.post("/clear", headers=slow)
        assert len(asking.sessions) == 0
        assert asking.at_rest


# --- refusals ------------------------------------------------------------------------------------


def test_a_key_is_in_no_answer_refusal_or_status(asking: Api, openai_server: OpenAIServer) -> None:
    with asking.opened() as client:
        session = _upload_document(client, "The machine is red.")
        good = client.post("/ask", json=QUESTION, headers=session)
        assert good.json()["kind"] == "generated", good.text
        openai_server.fail(Fault(401, "invalid_api_key", f"no {KEY}"), times=9)
        refused = client.post("/ask", json=QUESTION, headers=session)
        assert refused.status_code == 503
        status = client.get("/status", headers=session)
    assert KEY not in "".join(node.text for node in (good, refused, status))


def test_a_body_without_its_type_is_refused_with_the_header_to_send(client: httpx.Client) -> None:
    reply = client.post("/chunk", content='{"text": "Tea."}')
    assert reply.status_code == 422
    assert reply.json() == {
        "error": "body: must be a JSON object",
        "remedy": "send JSON with the header Content-Type: application/json",
    }


def test_advice_on_scanned_pages_names_no_option_of_the_command_line() -> None:
    _, _, remedy = public(NoTextLayerError(Path("scan.pdf")))
    assert "--ocr" not in remedy
    assert "RAG_NODES_OCR" in remedy


def test_a_locked_store_is_said_without_its_folder() -> None:
    error = StoreLockedError("/srv/data/store: another process uses it; choose another folder")
    assert public(error) == (503, "store: another process uses it", "choose another folder")


def test_a_message_keeps_addresses_and_of_paths_the_last_part() -> None:
    for message, seen in (
        ("/home/op/My Docs/private/st: locked", "st: locked"),
        ("cannot open file:///home/op/x.db", "cannot open x.db"),
        ("error:/home/op/x.db", "error:x.db"),
        ("~/private/store: gone", "store: gone"),
        ("./private/store: gone", "store: gone"),
        ("/data/x, '/srv/My Docs/y.md'", "x, 'y.md'"),
        ("see /api/openapi.json", "see /api/openapi.json"),
        ("http://host:80/a/b of 24/7", "http://host:80/a/b of 24/7"),
        (r"at C:\Users\ann\x.pdf now", "at x.pdf now"),
        ("https://api.openai.com/v1: no key", "https://api.openai.com/v1: no key"),
    ):
        assert public_words(message) == seen


def test_without_the_token_nothing_is_answered() -> None:
    api = Api(offline_settings(), access=Access(token=SecretStr("right"), local=False))
    with listening(api.app) as address, httpx.Client(base_url=address, timeout=PATIENCE) as client:
        for shown in (None, "Basic wrong", "Bearer é"):
            headers = {"Authorization": shown.encode()} if shown else {}
            reply = client.post("/api/chunk", json={"text": "a"}, headers=headers)
            assert reply.status_code == 401
            assert set(reply.json()) == {"error", "remedy"}
            assert reply.headers["www-authenticate"].startswith("Bearer")
        right = {"Authorization": "bearer right"}
        assert client.get("/api/status", headers=right).status_code == 200


def test_the_pages_of_other_sites_cannot_use_a_local_server(client: httpx.Client) -> None:
    for headers, status in (
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Host": "["}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Host": "localhost:7860", "Origin": "http://localhost:7860"}, 200),
    ):
        reply = client.post("/chunk", json={"text": "a"}, headers=headers)
        assert reply.status_code == status, headers


def test_a_full_disk_is_told_in_place_of_an_answer_and_asked_about_again(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = _upload_document(client)
    full = shutil.disk_usage("/")._replace(free=1 << 20)
    with monkeypatch.context() as patch:
        patch.setattr(shards.shutil, "disk_usage", lambda _: full)
        refused = client.post("/ask", json=QUESTION, headers=session)
    assert refused.status_code == 503, refused.text
    assert "1 MB are free" in refused.json()["error"]
    assert "free some space" in refused.json()["remedy"]
    answered = client.post("/ask", json=QUESTION, headers=session)
    assert "2.4 bar" in answered.json()["text"]
    assert answered.json()["incomplete"] is None


# --- follow-up questions -------------------------------------------------------------------------


def test_a_question_of_a_session_stands_alone_unless_it_is_a_follow_up(
    client: httpx.Client,
) -> None:
    session = _upload_document(client, "The pump is red.\n\nThe red pump runs at night.\n")
    refused = client.post("/ask", json={"question": "Why?", "follow_up": True}, headers=session)
    assert refused.status_code == 422
    assert "no earlier question" in refused.json()["error"]
    first = {"question": "Which pump is red?"}
    client.post("/ask", json=first, headers=session)
    alone = client.post("/ask", json={"question": "When does it run?"}, headers=session)
    assert alone.json()["question"] == "When does it run?"
    client.post("/compare", json={**first, "parsers": ["fixed"]}, headers=session)
    follow_up = {"question": "When does it run?", "follow_up": True}
    for path in ("/ask", "/compare"):
        reply = client.post(path, json=follow_up, headers=session).json()
        assert reply["question"].startswith("Which pump is red?")
        assert reply["question"].endswith("When does it run?")


def test_a_follow_up_to_a_sent_text_brings_the_earlier_question(client: httpx.Client) -> None:
    body = {"question": "When?", "text": "The red pump runs at night."}
    reply = client.post("/ask", json={**body, "follow_up": "Which pump is red?"})
    assert reply.json()["question"] == "Which pump is red? When?"
    assert client.post("/ask", json={**body, "follow_up": True}).status_code == 422
