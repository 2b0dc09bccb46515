"""Qdrant's REST interface on a loopback port, as far as this project uses it, and its bad days.

Behind it is an in-memory client, so what is tested is our side of the wire: which requests are
sent, that they are valid, and that their answers are understood. Like Qdrant Cloud it is strict: it
refuses to filter by a payload key without an index of the right kind.
"""

import json
import os
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, TypeAdapter
from qdrant_client import QdrantClient
from qdrant_client.http import models as rest

Fault = Literal["500", "503", "429", "reset", "lost", "cut", "garbled", "late"]
"""What happens to a request: an error of the server; a connection that is reset before anything is
done, or after; half an answer; an answer of some other program; none while the client waits."""


class QdrantDouble:
    """A server.

    Attributes:
        url: where it listens.
        client: what it holds.
        api_key: what it asks for; None for nothing.
        faults: fault by what the next request it happens to has in its method and path; each
            happens once, in order.
        requests: method and path of all there were.
        indexed: kind of index by payload key, by collection.
        wanted: what collections were made with and changed to, by name.
    """

    def __init__(self, api_key: str | None = None) -> None:
        self.url = ""
        self.client = QdrantClient(":memory:", force_disable_check_same_thread=True)
        self.api_key = api_key
        self.faults: list[tuple[str, Fault]] = []
        self.requests: list[str] = []
        self.indexed: dict[str, dict[str, str]] = {}
        self.wanted: dict[str, dict[str, Any]] = {}
        self.lock = threading.Lock()
        self.over = threading.Event()

    def noted(self, request: str) -> Fault | None:
        """Note a request; the fault that happens to it."""
        with self.lock:
            self.requests.append(request)
            for place, (where, fault) in enumerate(self.faults):
                if where in request:
                    del self.faults[place]
                    return fault
        return None

    def resolved(self, name: str) -> str:
        """The collection that a name or alias means."""
        return self.aliases().get(name, name)

    def aliases(self) -> dict[str, str]:
        """Collection by alias."""
        return {
            alias.alias_name: alias.collection_name for alias in self.client.get_aliases().aliases
        }

    def check_indexes(self, name: str, scope: rest.Filter | None) -> None:
        """Refuse what `unindexed_filtering_retrieve=false` of Qdrant's strict mode refuses."""
        indexed = self.indexed.get(self.resolved(name), {})
        for condition in _conditions(scope):
            is_absence = isinstance(condition, rest.IsEmptyCondition)
            key = condition.is_empty.key if is_absence else condition.key
            enough = tuple(rest.PayloadSchemaType) if is_absence else _kinds(condition)
            if indexed.get(key) not in enough:
                raise ValueError(
                    f'Index required but not found for "{key}" of one of the following '
                    f"types: [{', '.join(enough)}]"
                )


def _index(double: QdrantDouble, name: str, body: Any) -> Any:
    double.indexed.setdefault(name, {})[body["field_name"]] = body["field_schema"]
    return rest.UpdateResult(operation_id=0, status=rest.UpdateStatus.COMPLETED)


def _kinds(condition: rest.FieldCondition) -> tuple[str, ...]:
    """Kinds of index that serve a condition."""
    match = condition.match
    if isinstance(condition.range, rest.DatetimeRange):
        return ("datetime",)
    if condition.range:
        return "integer", "float"
    if isinstance(match, rest.MatchText):
        return ("text",)
    values = getattr(match, "any", None) or getattr(match, "except_", None)
    value = values[0] if values else getattr(match, "value", None)
    if isinstance(value, bool):
        return ("bool",)
    return ("integer",) if isinstance(value, int) else ("keyword",)


def _conditions(scope: Any) -> Iterator[Any]:
    """The conditions on payload keys, in filters within filters too."""
    if isinstance(scope, rest.FieldCondition | rest.IsEmptyCondition):
        yield scope
    if isinstance(scope, rest.Filter):
        for parts in (scope.must, scope.should, scope.must_not):
            for part in parts if isinstance(parts, list) else [parts]:
                yield from _conditions(part)


def _describe(double: QdrantDouble, name: str, _body: Any) -> Any:
    described = double.client.get_collection(name).model_dump(mode="json")
    own = double.resolved(name)
    kinds = double.indexed.get(own, {}).items()
    wanted, config = double.wanted.get(own, {}), described["config"]
    for key in ("shard_number", "replication_factor", "write_consistency_factor"):
        config["params"][key] = wanted.get(key, 1)
    config["params"]["on_disk_payload"] = wanted.get("on_disk_payload", True)
    config["quantization_config"] = wanted.get("quantization_config")
    config["metadata"] = {k: v for k, v in (wanted.get("metadata") or {}).items() if v is not None}
    config["hnsw_config"] |= wanted.get("hnsw_config") or {}
    for vector, about in (wanted.get("vectors") or {}).items():
        if isinstance(about, dict):
            config["params"]["vectors"][vector] |= about
    return {**described, "payload_schema": {k: {"data_type": v, "points": 0} for k, v in kinds}}


def _drop(double: QdrantDouble, name: str, _body: Any) -> Any:
    double.indexed.pop(name, None)
    double.wanted.pop(name, None)
    for alias, target in double.aliases().items():
        if target == name:
            gone = rest.DeleteAliasOperation(delete_alias=rest.DeleteAlias(alias_name=alias))
            double.client.update_collection_aliases([gone])
    return double.client.delete_collection(name)


def _create(double: QdrantDouble, name: str, body: Any) -> Any:
    wanted = rest.CreateCollection.model_validate(body)
    if double.resolved(name) != name:
        raise ValueError(f"Can't create collection with name {name}. Alias already exists")
    is_created = double.client.create_collection(
        name, vectors_config=wanted.vectors, sparse_vectors_config=wanted.sparse_vectors
    )
    double.wanted[name] = {k: v for k, v in body.items() if v is not None}
    return is_created


def _change(double: QdrantDouble, name: str, body: Any) -> Any:
    rest.UpdateCollection.model_validate(body)
    settings = double.wanted[double.resolved(name)]
    settings["metadata"] = {
        **(settings.get("metadata") or {}),
        **body["metadata"],
    }  # null removes a key
    return True


def _aliases(double: QdrantDouble, _name: str, _body: Any) -> Any:
    return double.client.get_aliases()


def _change_aliases(double: QdrantDouble, _name: str, body: Any) -> Any:
    actions = rest.ChangeAliasesOperation.model_validate(body).actions
    for action in actions:
        alias = getattr(action, "create_alias", None)
        if (
            alias
            and double.client.collection_exists(alias.alias_name)
            and (double.resolved(alias.alias_name) == alias.alias_name)
        ):
            raise ValueError(f"Collection {alias.alias_name} already exists")
    return double.client.update_collection_aliases(actions)


def _query(double: QdrantDouble, name: str, body: Any) -> Any:
    wanted = rest.QueryRequest.model_validate(body)
    given = wanted.prefetch
    prefetch = next(iter(given), None) if isinstance(given, list) else given
    for scope in (wanted.filter, prefetch.filter if prefetch else None):
        double.check_indexes(name, scope)
    return double.client.query_points(
        name,
        prefetch=prefetch,
        query=wanted.query,
        using=wanted.using,
        query_filter=wanted.filter,
        limit=wanted.limit,
        with_payload=wanted.with_payload,
        with_vectors=wanted.with_vector,
    )


def _batch(double: QdrantDouble, name: str, body: Any) -> Any:
    return [_query(double, name, search) for search in body["searches"]]


def _upsert(double: QdrantDouble, name: str, body: Any) -> Any:
    points = TypeAdapter(rest.PointInsertOperations).validate_python(body)
    return double.client.upsert(name, getattr(points, "points", None) or points.batch)


def _retrieve(double: QdrantDouble, name: str, body: Any) -> Any:
    return double.client.retrieve(
        name,
        body["ids"],
        with_payload=body.get("with_payload", True),
        with_vectors=body.get("with_vector", False),
    )


def _scroll(double: QdrantDouble, name: str, body: Any) -> Any:
    wanted = rest.ScrollRequest.model_validate(body)
    double.check_indexes(name, wanted.filter)
    points, offset = double.client.scroll(
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


def _count(double: QdrantDouble, name: str, body: Any) -> Any:
    wanted = rest.CountRequest.model_validate(body)
    double.check_indexes(name, wanted.filter)
    return double.client.count(name, wanted.filter)


def _delete(double: QdrantDouble, name: str, body: Any) -> Any:
    selector = TypeAdapter(rest.PointsSelector).validate_python(body)
    double.check_indexes(name, getattr(selector, "filter", None))
    return double.client.delete(name, selector)


ROUTES: dict[tuple[str, str], Callable[[QdrantDouble, str, Any], Any]] = {
    ("GET", ""): lambda double, _name, _body: double.client.get_collections(),
    ("GET", "/"): _describe,
    ("GET", "/exists"): lambda d, name, _: {"exists": d.client.collection_exists(name)},
    ("PUT", "/"): _create,
    ("PATCH", "/"): _change,
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
ENDS_WITHIN = 0.02
"""Seconds after which a server notices that it is over: every test waits for that."""
WITHOUT_COLLECTION = {
    ("GET", "/aliases"): _aliases,
    ("POST", "/collections/aliases"): _change_aliases,
}


class _Handler(BaseHTTPRequestHandler):
    double: ClassVar[QdrantDouble]
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"null")
        path = self.path.split("?")[0]
        fault = self.double.noted(f"{self.command} {path}")
        if self.double.api_key not in {None, self.headers.get("api-key")}:
            self._answer(401, {"status": {"error": "Must provide an API key"}})
        elif fault in {None, "lost", "cut"}:
            self._misbehave(fault, *self._done(path, body))
        else:
            self._misbehave(fault, 200, {})

    def _done(self, path: str, body: Any) -> tuple[int, dict[str, Any]]:
        """Status and answer of a request that comes through."""
        match = re.fullmatch(r"/collections(?:/([^/]+)(/.*)?)?", path)
        name = (match[1] if match else None) or ""
        place = "" if not name else (match[2] if match else None) or "/"
        if place.startswith("/vectors/"):
            body, place = {"name": place.removeprefix("/vectors/"), "config": body}, "/vectors"
        route = WITHOUT_COLLECTION.get((self.command, path)) or ROUTES.get((self.command, place))
        with self.double.lock:
            if route is None or (name and route in ROUTES.values() and self._lacks(name, path)):
                return 404, {"status": {"error": f"Not found: {self.command} {path}"}}
            try:
                result = route(self.double, name, body)
            except ValueError as error:
                status = 409 if "already exists" in str(error) else 400
                return status, {"status": {"error": f"Wrong input: {error}"}}
        return 200, {"result": _plain(result), "status": "ok", "time": 0.0}

    def _lacks(self, name: str, path: str) -> bool:
        makes_or_asks = self.command == "PUT" or path.endswith("/exists")
        return not makes_or_asks and not self.double.client.collection_exists(name)

    def _misbehave(self, fault: Fault | None, status: int, content: dict[str, Any]) -> None:
        if fault in {"500", "503"}:
            self._answer(int(fault), {"status": {"error": "Service internal error: no luck"}})
        elif fault == "429":
            self._answer(429, {"status": {"error": "Too many"}}, {"Retry-After": "0"})
        elif fault in {"reset", "lost"}:
            self._reset()
        elif fault == "late":
            self.double.over.wait()
            self.close_connection = True
        elif fault == "garbled":
            self._answer(200, {"result": "<html>", "status": "ok", "time": 0.0})
        else:
            self._answer(status, content, cut=fault == "cut")

    def _reset(self) -> None:
        """End the connection as a process that dies does."""
        self.close_connection = True
        with socket.socket(fileno=os.dup(self.connection.fileno())) as wire:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wire.shutdown(socket.SHUT_RDWR)

    def _answer(
        self,
        status: int,
        content: dict[str, Any],
        headers: dict[str, str] | None = None,
        *,
        cut: bool = False,
    ) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        self.close_connection = self.close_connection or cut

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815 - http.server's names

    def log_message(self, *_: object) -> None:
        """Stay silent."""


def _plain(result: Any) -> Any:
    if isinstance(result, BaseModel):
        return result.model_dump(mode="json")
    return [_plain(point) for point in result] if isinstance(result, list) else result


@contextmanager
def serve(api_key: str | None = None, certificate: Path | None = None) -> Iterator[QdrantDouble]:
    """Run a server.

    Args:
        api_key: what it asks for.
        certificate: its own, with its key, in one file; it speaks https then.
    """
    double = QdrantDouble(api_key)
    handler = type("Handler", (_Handler,), {"double": double})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        double.url = f"http://127.0.0.1:{server.server_port}"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
            double.url = double.url.replace("http:", "https:")
        thread = threading.Thread(target=server.serve_forever, args=(ENDS_WITHIN,))
        thread.start()
        try:
            yield double
        finally:
            double.over.set()
            server.shutdown()
            thread.join()
            double.client.close()
