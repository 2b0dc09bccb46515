from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from rag_nodes.errors import ConfigurationError, CredentialsError, EmptyFileError
from rag_nodes.ledger import DepositRow
from rag_nodes.pipeline import FileColumn, FileOutcome, IngestReport, ParserOutcome, Progress
from rag_nodes.pipeline.found import FoundDocument
from rag_nodes.store import StoredNode
from rag_nodes.store.points import Point
from rag_nodes.workers.messages import (
    Batch,
    BatchFinished,
    Began,
    Deleted,
    FileNote,
    Message,
    Progressed,
    Settled,
    Unsettled,
    pack,
    pack_batch,
    unpack,
    unpack_batch,
)
from rag_nodes.workers.packing import PackedPoints
from rag_nodes.workers.transport import CannotWork

POINTS = [
    Point("p", {"parent": True, "text": "half a pair \ud800, and ünïcode"}),
    Point("a", {"n": 1, "deep": [{"x": None}]}, [0.1, -0.25, 3e-9], ([7, 4_000_000_000], [1.1, 2])),
    Point("b", {"n": 2.5}, [1.0, 0.0, 0.0]),
]
REPORT = IngestReport(
    files=(
        FileOutcome(
            "a.md", "read", 2, 100, None, 0.5, columns={"x": FileColumn("stored", 3, 3)}, name="a"
        ),
        FileOutcome("b.md", "failed", None, 0, "empty", 0.1, missing_extra="pdf"),
    ),
    columns=(ParserOutcome("x", "default.x", chunks=3, seconds={"parse": 1.0}),),
    seconds=2.0,
    models="lexical",
)


@pytest.mark.parametrize(
    "message",
    [
        Began(3),
        Progressed(Progress("embed", "x", 200, 400)),
        Deleted("c", ("1", "2")),
        FileNote(1, FoundDocument("id", "hash", "a.md", "/a.md", None, 9, None), None),
        FileNote(1, None, None),
        Unsettled("c", {"a": ("1", "2"), "b": ()}, 1024),
        Settled("c", (DepositRow("c", "a", "hash", chunks=3, tokens=40),), 7),
        BatchFinished(REPORT, (0, 1), {"x": ("one", "two")}, {"x": "two"}),
    ],
)
def test_a_message_comes_out_as_it_went_in(message: Message) -> None:
    assert unpack(pack(message)) == message


def test_an_error_keeps_its_type_and_words() -> None:
    found = unpack(pack(CannotWork(CredentialsError("the key was refused"))))
    assert isinstance(found, CannotWork)
    assert isinstance(found.error, CredentialsError)
    assert str(found.error) == "the key was refused"


def test_a_note_keeps_the_kind_of_its_error() -> None:
    found = unpack(pack(FileNote(2, None, EmptyFileError("a.md"))))
    assert isinstance(found, FileNote)
    assert isinstance(found.error, EmptyFileError)


def test_points_come_out_with_vectors_and_weights_of_32_bits() -> None:
    sent = PackedPoints.of("c", POINTS, ["d", "d", "e"])
    found = unpack(pack(sent))
    assert isinstance(found, PackedPoints)
    assert (found.collection, found.documents) == ("c", ("d", "d", "e"))
    for point, given in zip(found.points(), POINTS, strict=True):
        assert (point.node_id, point.payload) == (given.node_id, given.payload)
        if given.vector is None:
            assert point.vector is None
            continue
        assert list(point.vector) == np.array(given.vector, dtype=np.float32).tolist()
        assert point.words[0] == given.words[0]
        assert point.words[1] == np.array(given.words[1], dtype=np.float32).tolist()


def test_parents_alone_have_no_vectors() -> None:
    found = unpack(pack(PackedPoints.of("c", POINTS[:1], ["d"])))
    assert isinstance(found, PackedPoints)
    assert found.points() == POINTS[:1]


def test_metadata_that_no_store_takes_is_refused_where_it_is_packed() -> None:
    with pytest.raises(ConfigurationError, match="cannot be stored"):
        PackedPoints.of("c", [Point("a", {"when": object()}, [1.0])], ["d"])


@pytest.mark.parametrize("data", [b"", b"\0\0\0\2[]", b'\0\0\0\x0d["No",{},[]]\n', b"\xff" * 40])
def test_what_is_no_message_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        unpack(data)


@pytest.mark.parametrize(
    "content",
    [
        ["Began", {"file": "first"}],
        ["Progressed", {"progress": {"stage": "read", "name": 7, "done": "half"}}],
        ["Progressed", {"progress": {"stage": "stolen", "name": "a", "done": 1}}],
        ["Deleted", {"collection": ["c"], "node_ids": []}],
        ["FileNote", ["first", None, None]],
        ["FileNote", [0, ["id", {}, "a.md", None, None, "many", None], None]],
        ["FileNote", [0, None, {"error": ["ReadError"], "arguments": []}]],
        ["Unsettled", {"collection": "c", "documents": {"a": "12"}, "dimension": None}],
        ["Settled", {"collection": "c", "rows": [["c", "a", {}]], "deleted": "some"}],
        ["BatchFinished", {"report": {"files": [7]}, "rows": [], "errors": {}, "stopped": {}}],
        ["CannotWork", {"error": "ConfigurationError", "arguments": 7}],
        [["Began"], {"file": 1}],
    ],
)
def test_what_has_the_shape_of_a_message_and_other_types_is_a_value_error(
    content: list[object],
) -> None:
    head = json.dumps([*content, []]).encode()
    with pytest.raises(ValueError, match=r"."):
        unpack(len(head).to_bytes(4, "big") + head)


@pytest.mark.parametrize(
    "wrong",
    [
        {"collection": ["c"]},
        {"node_ids": [["a"], ["b"]]},
        {"documents": [{}, {}]},
        {"further": {"heading": ["first"]}},
        {"further": {"heading": [2]}},
        {"further": {"heading": [-1]}},
        {"shape": ["many"]},
        {"shape": [1, 6]},
        {"node_ids": ["a"]},
        {"documents": ["d"]},
    ],
)
def test_points_of_other_types_or_numbers_are_a_value_error(wrong: dict[str, object]) -> None:
    sent = PackedPoints.of("c", POINTS[1:], ["d", "d"])
    parts = [*sent.parts(), *([bytes(4)] if "further" in wrong else [])]
    with pytest.raises(ValueError, match=r"."):
        unpack(framed({**sent.header(), **wrong}, parts))


@pytest.mark.parametrize(
    "wrong",
    [
        {"words": np.array([2], dtype=np.int32)},
        {"words": np.array([2, -1], dtype=np.int32)},
        {"words": np.array([4, -2], dtype=np.int32)},
        {"indices": np.array([7], dtype=np.uint32)},
        {"weights": np.zeros(0, dtype=np.float32)},
    ],
)
def test_points_that_lack_a_part_are_a_value_error(wrong: dict[str, Any]) -> None:
    sent = PackedPoints.of("c", POINTS[1:], ["d", "d"])
    with pytest.raises(ValueError, match="not as many"):
        unpack(pack(dataclasses.replace(sent, **wrong)))


def framed(header: dict[str, object], parts: list[bytes]) -> bytes:
    head = json.dumps(["PackedPoints", header, [*map(len, parts)]]).encode()
    return b"".join((len(head).to_bytes(4, "big"), head, *parts))


def test_a_batch_comes_out_as_it_went_in() -> None:
    batch = Batch(
        7,
        ("a.md", "odd \udcff name.md"),
        {"c": {"d": {"n": StoredNode("hash", 2, 30, parent="p")}}},
        {"c": {"heading": {"n": ("text", [0.5, 0.25])}, "plain": {}}},
        {"c": "the disk is full"},
        (("t",), ()),
    )
    assert unpack_batch(pack_batch(batch)) == batch
