"""Evaluations over REST: a client's questions about its documents, measured, streamed, ended."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from app_server import PATIENCE, Api, events_of

from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.operations.replies import EvaluationReply
from rag_nodes.server.limits import ServerLimits
from rag_nodes.settings import Settings
from rag_nodes.workspace import limits as bounds

TEXT = (
    "# Pump\n\nRinse the pump weekly with clear water.\n\n"
    "# Filter\n\nThe filter is changed in March, when the river is high.\n"
)
QUESTIONS = [
    {"question": "How often is it cleaned?", "gold": [{"text": "Rinse the pump weekly"}]},
    {"question": "When is a new one put in?", "gold": [{"text": "changed in March"}]},
]
SMALL: dict[str, Any] = {
    "questions": QUESTIONS,
    "parsers": ["fixed", "heading"],
    "budgets": [10, 20],
    "sizes": [],
    "equal_size": 0,
}
EVENTS = {"Accept": "text/event-stream"}


@pytest.fixture(scope="module")
def address(api: Api) -> Iterator[str]:
    with api.opened() as opened:
        yield str(opened.base_url)


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    """A client with a session of its own."""
    with httpx.Client(base_url=address, timeout=PATIENCE) as opened:
        _upload(opened)
        yield opened
        opened.post("/clear")


def _upload(client: httpx.Client, text: str = TEXT) -> None:
    reply = client.post("/upload", files=[("files", ("manual.md", text.encode()))])
    client.headers["X-Session"] = reply.json()["session"]


def _refused(reply: httpx.Response, status: int, *words: str) -> None:
    assert reply.status_code == status, reply.text
    said = reply.json()
    assert said["remedy"]
    for word in words:
        assert word in said["error"] + said["remedy"]


def test_the_reply_is_the_report_as_the_document_describes_it(client: httpx.Client) -> None:
    reply = client.post("/evaluate", json=SMALL)
    assert reply.status_code == 200, reply.text
    EvaluationReply.model_validate_json(reply.text, strict=True)
    report = EvaluationReport.from_dict(reply.json())
    assert [row.name for row in report.rows] == ["fixed", "heading"]
    assert {len(row.outcomes) for row in report.rows} == {2}
    assert report.verdict
    assert "rag_nodes_" not in reply.text  # where uploads were


def test_the_documented_request_is_taken_and_has_what_it_shows(client: httpx.Client) -> None:
    page = (Path(__file__).parents[2] / "docs" / "guides" / "rest-mcp.md").read_text("utf-8")
    (body, shown) = re.findall(r"-d '(.*?)' \\\n.*/evaluate \| jq '{(.*?)}'", page)[0]
    sheet = ("q.csv", b"question,quote\nHow often?,Rinse the pump weekly\n")
    client.post("/questions", files={"questions": sheet})
    report = client.post("/evaluate", json=json.loads(body)).json()
    assert shown == "decision: .decision.words, verdict"
    assert report["decision"]["words"]
    assert report["verdict"]


def test_progress_is_streamed_up_to_the_same_report(client: httpx.Client) -> None:
    events = events_of(client.post("/evaluate", json=SMALL, headers=EVENTS))
    names = [name for name, _ in events]
    assert names[-2:] == ["result", "end"]
    assert "progress" in names
    steps = [data for name, data in events if name == "progress"]
    assert (steps[-1]["done"], steps[-1]["total"]) == (4, 4)
    assert events[-2][1] == client.post("/evaluate", json=SMALL).json()


def test_of_many_questions_only_every_hundredth_of_the_way_is_told(client: httpx.Client) -> None:
    many = [{**QUESTIONS[0], "question": f"How often, asked {n} times?"} for n in range(150)]
    events = events_of(client.post("/evaluate", json={**SMALL, "questions": many}, headers=EVENTS))
    assert 100 < len(events) < 125


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("q.json", json.dumps({"questions": QUESTIONS}), "own JSON"),
        ("q.csv", "question,quote\nHow often?,Rinse the pump weekly\n", "sheet"),
        (
            "q.yaml",
            (
                "tests:\n- vars: {query: How often}\n"
                "  assert: [{type: contains, value: Rinse the pump weekly}]\n"
            ),
            "promptfoo",
        ),
    ],
)
def test_questions_come_as_a_file_too_and_stay_for_later_requests(
    name: str, content: str, form: str, client: httpx.Client
) -> None:
    reply = client.post("/questions", files={"questions": (name, content.encode())}).json()
    assert (reply["session"], reply["format"]) == (client.headers["X-Session"], form)
    report = client.post("/evaluate", json={**SMALL, "questions": None}).json()
    assert report["dataset"]["questions"] == reply["questions"]
    check = client.post("/questions/check", json={}).json()
    assert (check["sound"], check["questions"]) == (True, reply["questions"])


def test_texts_that_come_with_questions_are_the_documents_of_a_new_session(
    client: httpx.Client,
) -> None:
    answer = {"text": "Rinse the pump weekly", "answer_start": TEXT.index("Rinse the pump")}
    asked = {"id": "a", "question": "How often?", "answers": [answer]}
    squad = {"data": [{"title": "Manual", "paragraphs": [{"context": TEXT, "qas": [asked]}]}]}
    file = ("squad.json", json.dumps(squad).encode())
    del client.headers["X-Session"]
    reply = client.post("/questions", files={"questions": file}).json()
    assert (reply["documents"], reply["questions"]) == (1, 1)
    client.headers["X-Session"] = reply["session"]
    report = client.post("/evaluate", json={**SMALL, "questions": None}).json()
    assert [one["name"] for one in report["documents"]] == ["Manual"]


@pytest.mark.parametrize("headers", [{}, EVENTS])
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"questions": None}, "/api/questions"),
        ({"parsers": ["nonsense"]}, "unknown parser"),
        ({"parsers": ["fixed", "fixed"]}, "twice"),
        ({"parsers": [{"name": "fixed", "options": {"embed_model": "x"}}]}, "embed_model"),
        ({"parsers": ["fixed:chunk_size=50,chunk_overlap=50"]}, "overlap"),
        ({"questions": [{"question": "Who?", "gold": []}]}, "gold"),
        ({"questions": [{"question": "Who?", "gold": [{"text": "nobody"}]}]}, "no question has"),
        ({"questions": [{"question": "Who?", "gold": [{"start": 1}]}]}, "start and end"),
        ({"questions": [{**one, "id": "same"} for one in QUESTIONS]}, "same"),
        ({"budgets": []}, "budgets"),
        ({"budget": 500}, "budget"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_remedy_before_anything_is_streamed(
    changed: dict[str, Any], words: str, headers: dict[str, str], client: httpx.Client
) -> None:
    _refused(client.post("/evaluate", json={**SMALL, **changed}, headers=headers), 422, words)


def test_more_than_somebody_can_wait_for_is_refused_with_the_numbers(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "MOST_ANSWERS", 3)
    _refused(client.post("/evaluate", json=SMALL), 413, "2 questions in 2 rows are 4")
    monkeypatch.setattr(bounds, "MOST_ANSWERS", 4)
    monkeypatch.setattr(bounds, "MOST_CHARACTERS", 2 * len(TEXT) - 1)
    _refused(client.post("/evaluate", json=SMALL), 413, "characters")
    monkeypatch.setattr(bounds, "MOST_CHARACTERS", 2 * len(TEXT))
    assert client.post("/evaluate", json=SMALL).status_code == 200


@pytest.mark.parametrize(
    ("name", "content", "status", "words"),
    [
        (
            "q.csv",
            "question,quote\n" + "How often?,Rinse\nWhen?,March\n" * 501,
            413,
            "1,002 questions, over the 1,000",
        ),
        ("q.csv", "question,quote\nHow often?," + "Rinse " * 1000, 413, "5,999"),
        ("q.csv", "question,quote\n" + "How often?,Rinse\n" * 5001, 413, "5,001 quotes"),
        ("q.yaml", "#" * 500_001, 413, "over 0.5 MB"),
        ("q.json", "{", 422, "q.json"),
        ("q.exe", "MZ", 422, "CSV"),
        ("../../etc/passwd", "root", 422, "passwd"),
    ],
)
def test_a_file_that_is_too_much_or_no_questions_is_refused(
    name: str, content: str, status: int, words: str, client: httpx.Client
) -> None:
    reply = client.post("/questions", files={"questions": (name, content.encode())})
    _refused(reply, status, words)
    assert "rag_nodes_" not in reply.text


def test_quotes_that_would_take_minutes_to_look_up_are_refused(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    quoted = sum(len(one["gold"][0]["text"]) for one in QUESTIONS)  # type: ignore[index]
    monkeypatch.setattr(bounds, "MOST_COMPARED", quoted * len(TEXT) - 1)
    _refused(client.post("/questions/check", json={"questions": QUESTIONS}), 413, "quotes")


def test_without_documents_or_a_session_there_is_nothing_to_evaluate(client: httpx.Client) -> None:
    file = ("q.csv", b"question,quote\nHow often?,Rinse\n")
    reply = client.post("/questions", files={"questions": file}, headers={"X-Session": "unknown"})
    _refused(reply, 404, "no such session")
    _refused(client.post("/evaluate", json=SMALL, headers={"X-Session": "unknown"}), 404)
    del client.headers["X-Session"]
    _refused(client.post("/evaluate", json=SMALL), 404)
    new = client.post("/questions", files={"questions": file}).json()
    assert (new["documents"], new["questions"]) == (0, 1)
    reply = client.post("/evaluate", json=SMALL, headers={"X-Session": new["session"]})
    _refused(reply, 422, "upload one first")


def test_an_evaluation_takes_a_place_of_its_session(settings: Settings) -> None:
    with Api(settings, ServerLimits(per_session=0)).opened() as client:
        _upload(client)
        _refused(client.post("/evaluate", json=SMALL), 503, "too much")
