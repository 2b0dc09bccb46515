"""The OpenAPI document tells the truth: schemathesis sends what it allows and what it forbids."""

from collections import defaultdict
from collections.abc import Iterator

import httpx
import pytest
import schemathesis
from app_server import PATIENCE, Api
from fixtures_app import offline_settings
from pydantic import SecretStr
from schemathesis.engine import events, from_schema

from rag_nodes.operations import OPERATIONS
from rag_nodes.server.gate import Access

TOKEN = "a-token-for-tests-only"
SERVED = [f"POST /{operation.name}" for operation in OPERATIONS if "rest" in operation.surfaces]
ADDRESSES = ("POST /upload", *SERVED, "GET /status", "POST /clear")
SIGNED_IN = {"Authorization": f"Bearer {TOKEN}"}
REFUSALS = [400, 401, 403, 404, 405, 413, 415, 422, 429]
"""Of these 413 is not among what schemathesis takes for a refusal: a text may be longer than any
body."""


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    access = Access(token=SecretStr(TOKEN), local=False)
    with Api(offline_settings(), access=access).opened(SIGNED_IN) as opened:
        yield opened


@pytest.fixture(scope="module")
def phases(client: httpx.Client) -> dict[str, tuple[str, list[str]]]:
    """By phase how it ended, and what was found: a row for each broken promise."""
    config = schemathesis.Config.from_dict(
        {
            "base-url": str(client.base_url).rstrip("/"),
            "request-timeout": PATIENCE,  # how fast it is depends on who else uses the machine
            "continue-on-failure": True,
            "headers": SIGNED_IN,
            "generation": {"deterministic": True, "max-examples": 5, "database": "none"},
            "checks": {
                # Which options go with which parser is not in the document; refusing them is right.
                "positive_data_acceptance": {"enabled": False},
                "negative_data_rejection": {"expected-statuses": REFUSALS},
            },
        }
    )
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json(), config=config)
    ended: dict[str, str] = {}
    failures: defaultdict[str, list[str]] = defaultdict(list)
    for event in from_schema(schema).execute():
        if isinstance(event, events.PhaseFinished):
            ended[event.phase.name.value] = event.status.value
        elif isinstance(event, events.ScenarioFinished):
            checks = (failure for case in event.recorder.checks.values() for failure in case)
            failures[event.phase.value] += [
                f"{event.recorder.label}: {check.name}: {check.failure_info}"
                for check in checks
                if check.failure_info
            ]
        elif isinstance(event, events.NonFatalError):
            failures[event.phase.value].append(f"{event.label}: {event.value}")
    return {name: (status, failures[name]) for name, status in ended.items()}


@pytest.mark.parametrize("phase", ["coverage", "fuzzing", "stateful"])
def test_every_answer_is_one_that_the_document_promises(
    phase: str, phases: dict[str, tuple[str, list[str]]]
) -> None:
    assert phases[phase] == ("success", [])


@pytest.mark.parametrize("sent", [{"first": "1"}, {"limit": True}, {"parser": 1}])
def test_a_value_of_another_type_than_described_is_refused(
    sent: dict[str, object], client: httpx.Client
) -> None:
    refused = client.post("/chunk", json={"text": "The machine is red.", **sent})
    assert (refused.status_code, next(iter(sent)) in refused.text) == (422, True)


def test_the_document_describes_all_addresses_fields_and_refusals(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    assert set(document["paths"]) == {address.partition(" ")[2] for address in ADDRESSES}
    ids = []
    for path in document["paths"].values():
        for operation in path.values():
            assert operation["summary"]
            assert operation["description"]
            assert operation["tags"]
            assert {"401", "413", "422", "503"} <= set(operation["responses"])
            assert operation["security"] == [{"HTTPBearer": []}]
            ids.append(operation["operationId"])
    assert set(ids) == {address.partition(" ")[2][1:] for address in ADDRESSES}
    schemes = document["components"]["securitySchemes"]
    assert schemes == {"HTTPBearer": {"type": "http", "scheme": "bearer"}}
    for name, model in document["components"]["schemas"].items():
        for field, schema in model.get("properties", {}).items():
            assert schema.get("description"), f"{name}.{field}"
    problem = document["components"]["schemas"]["Problem"]
    assert set(problem["required"]) == {"error", "remedy"}


def test_the_document_is_a_page_as_well_which_loads_nothing(client: httpx.Client) -> None:
    page = client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert all(f"/api{address.partition(' ')[2]}" in page.text for address in ADDRESSES)
    assert "<script" not in page.text
    assert "http" not in page.text.replace("https://", "").partition("<body>")[0]
