"""The OpenAPI document tells the truth: schemathesis sends what it allows and what it forbids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
import requests
import schemathesis
from app_server import PATIENCE, Api
from fixtures_app import offline_settings
from hypothesis import HealthCheck, Phase, given, settings
from pydantic import SecretStr
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from rag_nodes.operations import OPERATIONS
from rag_nodes.server.gate import Access

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemathesis import Case

TOKEN = "a-token-for-tests-only"
SERVED = [f"POST /{one.name.replace(' ', '/')}" for one in OPERATIONS if "rest" in one.surfaces]
ADDRESSES = ("POST /upload", "POST /questions", *SERVED, "GET /status", "POST /clear")
SIGNED_IN = {"Authorization": f"Bearer {TOKEN}"}
REFUSALS = [400, 401, 403, 404, 405, 413, 415, 422, 429]
"""Of these 413 is not among what schemathesis takes for a refusal: a text may be longer than any
body."""
BOUNDED = settings(
    max_examples=20,
    phases=(Phase.explicit, Phase.generate),
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
"""The same requests in every run, and not many."""


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    access = Access(token=SecretStr(TOKEN), local=False)
    with Api(offline_settings(), access=access).opened(SIGNED_IN) as opened:
        yield opened


@pytest.fixture(scope="module")
def described(client: httpx.Client) -> schemathesis.BaseSchema:
    config = schemathesis.Config.from_dict(
        {"checks": {"negative_data_rejection": {"expected-statuses": REFUSALS}}}
    )
    return schemathesis.openapi.from_dict(client.get("/openapi.json").json(), config=config)


@pytest.fixture(scope="module")
def session(client: httpx.Client) -> str:
    files = [("files", ("colour.md", b"# Colour\n\nThe machine is red.\n"))]
    return str(client.post("/upload", files=files).json()["session"])


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("address", ADDRESSES)
def test_every_request_gets_an_answer_that_the_document_promises(
    address: str, mode: GenerationMode, described: schemathesis.BaseSchema, client: httpx.Client
) -> None:
    _send(described, address, mode, client, {})


@pytest.mark.parametrize("address", SERVED)
def test_every_request_of_a_session_gets_an_answer_that_the_document_promises(
    address: str, described: schemathesis.BaseSchema, client: httpx.Client, session: str
) -> None:
    _send(described, address, GenerationMode.POSITIVE, client, {"X-Session": session})


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
    assert set(ids) == {one.partition(" ")[2][1:].replace("/", "_") for one in ADDRESSES}
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
    assert all(f"/api{one.partition(' ')[2]}" in page.text for one in ADDRESSES)
    assert "<script" not in page.text
    assert "http" not in page.text.replace("https://", "").partition("<body>")[0]


def _send(
    described: schemathesis.BaseSchema,
    address: str,
    mode: GenerationMode,
    client: httpx.Client,
    headers: dict[str, str],
) -> None:
    """Send generated requests, and hold each answer against the document."""
    method, path = address.split()

    @BOUNDED
    @given(case=described[path][method].as_strategy(generation_mode=mode))
    def send(case: Case) -> None:
        case.call_and_validate(
            base_url=str(client.base_url),
            session=sender,
            timeout=PATIENCE,  # how fast it is depends on who else uses the machine
            headers={**SIGNED_IN, **headers},
            # Which options go with which parser is not in the document; refusing them is right.
            excluded_checks=[positive_data_acceptance],
        )

    with requests.Session() as sender:
        send()
