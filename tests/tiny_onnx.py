"""A model of two numbers a word, in the file format that fastembed loads, written byte by byte.

Protocol buffers are written by hand: `onnx`, which writes them otherwise, is no dependency.
"""

import json
import struct
from pathlib import Path

WORDS = {"[PAD]": (0.0, 0.0), "[UNK]": (1.0, 1.0), "tank": (3.0, 4.0), "pump": (4.0, -3.0)}
"""The words it knows and their vectors."""
_INT64, _FLOAT = 7, 1


def write_model(folder: Path) -> Path:
    """The folder, filled with all that fastembed reads of a model."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(_model())
    files = {
        "config.json": {"pad_token_id": 0},
        "tokenizer_config.json": {"model_max_length": 64, "pad_token": "[PAD]"},
        "special_tokens_map.json": {"pad_token": "[PAD]", "unk_token": "[UNK]"},
        "tokenizer.json": {
            "version": "1.0",
            "added_tokens": [],
            "pre_tokenizer": {"type": "Whitespace"},
            "model": {
                "type": "WordLevel",
                "vocab": {word: index for index, word in enumerate(WORDS)},
                "unk_token": "[UNK]",
            },
        },
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def _model() -> bytes:
    """`Gather(vectors, input_ids)`, to which fastembed adds the mean and the length."""
    raw = b"".join(struct.pack("<ff", *vector) for vector in WORDS.values())
    vectors = _number(1, len(WORDS)) + _number(1, 2) + _number(2, _FLOAT)
    vectors += _text(8, "vectors") + _bytes(9, raw)
    node = _text(1, "vectors") + _text(1, "input_ids") + _text(2, "output") + _text(4, "Gather")
    inputs = [_value(name, _INT64, "batch", "words") for name in ("input_ids", "attention_mask")]
    graph = _bytes(1, node) + _text(2, "tiny") + _bytes(5, vectors)
    graph += b"".join(_bytes(11, given) for given in inputs)
    graph += _bytes(12, _value("output", _FLOAT, "batch", "words", 2))
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _text(1, "") + _number(2, 13))


def _value(name: str, kind: int, *sizes: int | str) -> bytes:
    dimensions = [_text(2, size) if isinstance(size, str) else _number(1, size) for size in sizes]
    shape = b"".join(_bytes(1, dimension) for dimension in dimensions)
    tensor = _number(1, kind) + _bytes(2, shape)
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())
