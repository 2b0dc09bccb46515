"""Qdrant's REST interface on a loopback port, as far as this project uses it.

Behind it is an in-memory client, so what is tested is our side of the wire: which requests are
sent, that they are valid, and that their answers are understood. Like Qdrant Cloud it is strict: it
refuses to filter by a payload key without an index of the right kind.
"""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from pydantic import BaseModel, TypeAdapter
from qdrant_client import QdrantClient
from qdrant_client.http import models as rest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


INDEXED: WeakKeyDictionary[QdrantClient, dict[str, dict[str, str]]] = WeakKeyDictionary()
"""Kind of index by payload key, by collection, by server."""


def _index(client: QdrantClient, name: str, body: Any) -> Any:
    INDEXED.setdefault(client, {}).setdefault(name, {})[body["field_name"]] = body["field_schema"]
    return rest.UpdateResult(operation_id=0, status=rest.UpdateStatus.COMPLETED)


def _check_indexes(client: QdrantClient, name: str, scope: rest.Filter | None) -> None:
    indexed = INDEXED.get(client, {}).get(name, {})
    for condition in _conditions(scope):
        enough = _kinds(condition)
        if indexed.get(condition.key) not in enough:
            raise ValueError(
                f'Index required but not found for "{condition.key}" of one of the following '
                f"types: [{', '.join(enough)}]"
            )


def _kinds(condition: rest.FieldCondition) -> tuple[str, ...]:
    """Kinds of index that serve a condition."""
    match = condition.match
    if condition.range:
        return "integer", "float"
    if isinstance(match, rest.MatchText):
        return ("text",)
    values = getattr(match, "any", None) or getattr(match, "except_", None)
    value = values[0] if values else getattr(match, "value", None)
    return ("integer",) if isinstance(value, int) else ("keyword",)


def _conditions(scope: Any) -> Iterator[rest.FieldCondition]:
    """The conditions on payload keys, in filters within filters too."""
    if isinstance(scope, rest.FieldCondition):
        yield scope
    if isinstance(scope, rest.Filter):
        for parts in (scope.must, scope.should, scope.must_not):
            for part in parts if isinstance(parts, list) else [parts]:
                yield from _conditions(part)


def _describe(client: QdrantClient, name: str, _body: Any) -> Any:
    described = client.get_collection(name).model_dump(mode="json")
    kinds = INDEXED.get(client, {}).get(name, {}).items()
    return {**described, "payload_schema": {k: {"data_type": v, "points": 0} for k, v in kinds}}


def _drop(client: QdrantClient, name: str, _body: Any) -> Any:
    INDEXED.get(client, {}).pop(name, None)
    return client.delete_collection(name)


def _create(client: QdrantClient, name: str, body: Any) -> Any:
    wanted = rest.CreateCollection.model_validate(body)
    return client.create_collection(
        name, vectors_config=wanted.vectors, sparse_vectors_config=wanted.sparse_vectors
    )


def _query(client: QdrantClient, name: str, body: Any) -> Any:
    wanted = rest.QueryRequest.model_validate(body)
    prefetch = wanted.prefetch if isinstance(wanted.prefetch, rest.Prefetch) else None
    for scope in (wanted.filter, prefetch.filter if prefetch else None):
        _check_indexes(client, name, scope)
    return client.query_points(
        name,
        prefetch=prefetch,
        query=wanted.query,
        using=wanted.using,
        query_filter=wanted.filter,
        limit=wanted.limit,
        with_payload=wanted.with_payload,
        with_vectors=wanted.with_vector,
    )


def _batch(client: QdrantClient, name: str, body: Any) -> Any:
    return [_query(client, name, search) for search in body["searches"]]


def _upsert(client: QdrantClient, name: str, body: Any) -> Any:
    points = TypeAdapter(rest.PointInsertOperations).validate_python(body)
    return client.upsert(name, getattr(points, "points", None) or points.batch)


def _retrieve(client: QdrantClient, name: str, body: Any) -> Any:
    return client.retrieve(
        name,
        body["ids"],
        with_payload=body.get("with_payload", True),
        with_vectors=body.get("with_vector", False),
    )


def _scroll(client: QdrantClient, name: str, body: Any) -> Any:
    wanted = rest.ScrollRequest.model_validate(body)
    _check_indexes(client, name, wanted.filter)
    points, offset = client.scroll(
        name,
        scroll_filter=wanted.filter,
        limit=wanted.limit or 10,
        offset=wanted.offset,
        with_payload=wanted.with_payload,
        with_vectors=wanted.with_vector or False,
    )
    return {
        "points": [point.model_dump(mode="json") for point in points],
        "next_page_offset": offset,
    }


def _count(client: QdrantClient, name: str, body: Any) -> Any:
    wanted = rest.CountRequest.model_validate(body)
    _check_indexes(client, name, wanted.filter)
    return client.count(name, wanted.filter)


def _delete(client: QdrantClient, name: str, body: Any) -> Any:
    selector = TypeAdapter(rest.PointsSelector).validate_python(body)
    _check_indexes(client, name, getattr(selector, "filter", None))
    return client.delete(name, selector)


ROUTES: dict[tuple[str, str], Callable[[QdrantClient, str, Any], Any]] = {
    ("GET", ""): lambda client, _name, _body: client.get_collections(),
    ("GET", "/"): _describe,
    ("GET", "/exists"): lambda client, name, _body: {"exists": client.collection_exists(name)},
    ("PUT", "/"): _create,
    ("DELETE", "/"): _drop,
    ("PUT", "/index"): _index,
    ("PUT", "/points"): _upsert,
    ("POST", "/points"): _retrieve,
    ("POST", "/points/count"): _count,
    ("POST", "/points/delete"): _delete,
    ("POST", "/points/query"): _query,
    ("POST", "/points/query/batch"): _batch,
    ("POST", "/points/scroll"): _scroll,
}


class _Handler(BaseHTTPRequestHandler):
    client: ClassVar[QdrantClient]
    lock: ClassVar[threading.Lock]
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"null")
        match = re.fullmatch(r"/collections(?:/([^/?]+)(/[^?]*)?)?(?:\?.*)?", self.path)
        name = (match[1] if match else None) or ""
        place = "" if not name else (match[2] if match else None) or "/"
        route = ROUTES.get((self.command, place))
        if route is None or (name and self._lacks(name)):
            self._answer(404, {"status": {"error": f"Not found: {self.command} {self.path}"}})
            return
        try:
            with self.lock:
                result = route(self.client, name, body)
        except ValueError as error:
            status = 409 if "already exists" in str(error) else 400
            self._answer(status, {"status": {"error": f"Wrong input: {error}"}})
            return
        self._answer(200, {"result": _plain(result), "status": "ok", "time": 0.0})

    def _lacks(self, name: str) -> bool:
        makes_or_asks = self.command == "PUT" or self.path.split("?")[0].endswith("/exists")
        return not makes_or_asks and not self.client.collection_exists(name)

    def _answer(self, status: int, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 - the names http.server wants

    def log_message(self, *_: object) -> None:
        """Stay silent."""


def _plain(result: Any) -> Any:
    if isinstance(result, BaseModel):
        return result.model_dump(mode="json")
    return [_plain(one) for one in result] if isinstance(result, list) else result


@contextmanager
def serve() -> Iterator[str]:
    """Run a server; gives its URL."""
    client = QdrantClient(":memory:", force_disable_check_same_thread=True)
    handler = type("Handler", (_Handler,), {"client": client, "lock": threading.Lock()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            client.close()
