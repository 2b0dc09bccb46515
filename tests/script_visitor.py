"""A visitor of the served app without a page: any event, with anything in it."""

import json
from collections.abc import Iterator
from typing import Any

import httpx


class Script:
    """A visitor without a page.

    Args:
        address: of the server.
        name: stands for the visitor.
    """

    def __init__(self, address: str, name: str) -> None:
        self._client = httpx.Client(base_url=address, timeout=60)
        self._name = name
        self._config = self._client.get("/config").json()
        self._events = {
            one["api_name"]: index
            for index, one in enumerate(self._config["dependencies"])
            if one["backend_fn"]
        }

    @property
    def events(self) -> tuple[str, ...]:
        """Names of all events that the server answers."""
        return tuple(self._events)

    def begin(self, event: str, *data: Any, click: Any = None) -> str:
        """Put an event into the queue, which gives it an id.

        Args:
            event: its name.
            data: values of its inputs.
            click: what the page tells of a click.
        """
        index = self._events[event]
        body = {"data": data, "fn_index": index, "session_hash": self._name, "event_data": click}
        # Not as `json`: that would refuse numbers that are none.
        joined = self._client.post(
            "/gradio_api/queue/join",
            content=json.dumps(body),
            headers={"content-type": "application/json"},
        )
        assert joined.status_code == 200
        return str(joined.json()["event_id"])

    def messages(self) -> Iterator[dict[str, Any]]:
        """What comes of all its events, until there is no more."""
        where, who = "/gradio_api/queue/data", {"session_hash": self._name}
        with self._client.stream("GET", where, params=who) as answer:
            for line in answer.iter_lines():
                if line.startswith("data:"):
                    yield json.loads(line[5:])
                if "close_stream" in line:
                    return

    def outcome(self, event: str, *data: Any, click: Any = None) -> dict[str, Any]:
        """What an event ends with; see `begin`."""
        number = self.begin(event, *data, click=click)
        return self.ended()[number]

    def ended(self) -> dict[str, dict[str, Any]]:
        """What all events end with that have begun, by their ids."""
        completed = (one for one in self.messages() if one["msg"] == "process_completed")
        return {one["event_id"]: dict(one["output"]) for one in completed}

    def defaults(self, event: str) -> list[Any]:
        """What the page sends with an event at first."""
        values = {one["id"]: one["props"].get("value") for one in self._config["components"]}
        inputs = self._config["dependencies"][self._events[event]]["inputs"]
        return [values[one] for one in inputs]

    def load(self) -> None:
        """Load the example document."""
        event = "process_example"
        assert "error" not in self.outcome(event, *self.defaults(event))

    def post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        """Past the queue."""
        return self._client.post(path, json={**body, "session_hash": self._name})

    def close(self) -> None:
        """Leave."""
        self._client.close()
