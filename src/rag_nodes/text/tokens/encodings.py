"""Encodings of tiktoken: text to the numbers of its tokens, as fast as this machine can.

Two libraries give the same tokens. gigatoken (extra `fast`) takes a tenth of tiktoken's time on a
megabyte it sees first and a thirtieth on words it knows (`benchmarks/encoding_speed.py`). It knows
the encodings named in `_SHA256` and reads the same vocabulary files. tiktoken does the rest: other
encodings, vocabularies that have to be fetched, and where gigatoken is not installed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.core.errors import ConfigurationError

if TYPE_CHECKING:
    import gigatoken
    import tiktoken
    from numpy.typing import NDArray

DEFAULT_ENCODING = "cl100k_base"
"""Encoding of OpenAI's embedding models; its vocabulary ships with LlamaIndex."""

_FOLDER = "TIKTOKEN_CACHE_DIR"
"""Environment variable that names the user's folder of vocabularies."""
_LOADING = Lock()
"""Held while `_FOLDER` is changed for tiktoken: the environment is every thread's."""
_CONTINUATION = 0x80
"""Top bits of a UTF-8 byte that continues a character."""
_SURROGATES = re.compile("[\ud800-\udfff]")
_RENEWED = 1 << 26
"""Characters after which what was remembered is let go: ten bytes for each, if no word recurs."""


def encodable(text: str) -> str:
    """`text` with each lone surrogate replaced by U+FFFD: same length, and UTF-8 can hold it."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text


_ORIGIN = "https://openaipublic.blob.core.windows.net/encodings/"
"""Address of the vocabularies; tiktoken names its copies after it."""
_SHA256 = {
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}
"""Checksums of the vocabularies of the encodings that gigatoken knows."""


@lru_cache(maxsize=8)
def load_encoder(name: str) -> Encoder:
    """The fastest encoder there is for an encoding of tiktoken.

    Raises:
        ConfigurationError: no such encoding, or its vocabulary is not on this machine and cannot
            be fetched.
    """
    path = _vocabulary(name) if find_spec("gigatoken") else None
    if path is None:
        return TiktokenEncoder(load_encoding(name))
    return GigatokenEncoder(path, name.removesuffix("_base"))


@lru_cache(maxsize=8)
def load_encoding(name: str) -> tiktoken.Encoding:
    """The tiktoken encoding `name`, from LlamaIndex's bundled vocabularies where they have it.

    Raises:
        ConfigurationError: no such encoding, or its vocabulary is not on this machine and cannot
            be fetched.
    """
    import tiktoken

    if name not in tiktoken.list_encoding_names():
        names = ", ".join(sorted(tiktoken.list_encoding_names()))
        raise ConfigurationError(f"unknown tokenizer '{name}'; choose one of: {names}")
    with _vocabulary_within_reach(name):
        try:
            return tiktoken.get_encoding(name)
        except Exception as error:
            raise ConfigurationError(
                f"the vocabulary of tokenizer '{name}' is not on this machine and could not be "
                f"fetched ({type(error).__name__}); use '{DEFAULT_ENCODING}', which ships with "
                f"LlamaIndex, or put the file into the folder named by {_FOLDER}"
            ) from error


class TiktokenEncoder:
    """Any encoding, by tiktoken; for any number of threads. Special tokens are plain text.

    `characters` says how many begin in each token: of those that a token holds in part, what it
    begins counts, what it goes on with does not. Texts up to `quick` characters are encoded again
    in less time than it takes to look up their count.
    """

    quick = 0

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self._encoding = encoding
        values = encoding.token_byte_values()
        self.characters = _characters(
            {encoding.encode_single_token(value): value for value in values}
        )

    def encode(self, text: str) -> NDArray[np.uint32]:
        """The tokens of a text without lone surrogates."""
        return self._encoding.encode_to_numpy(text, disallowed_special=())


class GigatokenEncoder:
    """The same by gigatoken, which remembers words it has seen, from tiktoken's vocabularies."""

    quick = 1000

    def __init__(self, vocabulary: Path, scheme: str) -> None:
        self._vocabulary = vocabulary
        self._scheme = scheme  # how words are taken apart
        # What remembers is changed by every call, and refuses a second one at the same time.
        self._alone = RLock()
        self.characters = _characters(self._renew().vocab)

    def encode(self, text: str) -> NDArray[np.uint32]:
        """The tokens of a text without lone surrogates."""
        with self._alone:
            self._room -= len(text)
            if self._room < 0:
                self._renew()
            return self._encode(text)

    def _renew(self) -> gigatoken.Tokenizer:
        import gigatoken

        self.__dict__.pop("_encode", None)  # two at a time would take twice the memory
        tokenizer = gigatoken.Tokenizer.from_tiktoken(self._vocabulary, self._scheme, {})
        self._encode: Callable[[str], NDArray[np.uint32]] = tokenizer.backend.encode
        self._room = _RENEWED
        return tokenizer


Encoder = TiktokenEncoder | GigatokenEncoder


def _characters(tokens: dict[int, bytes]) -> NDArray[np.uint16]:
    everything = np.frombuffer(b"".join(tokens.values()), dtype=np.uint8)
    begun = np.concatenate([[0], np.cumsum((everything & 0xC0) != _CONTINUATION)])
    ends = np.cumsum([0, *map(len, tokens.values())])
    characters = np.zeros(max(tokens) + 1, dtype=np.uint16)
    characters[list(tokens)] = np.diff(begun[ends])
    return characters


@contextmanager
def _vocabulary_within_reach(name: str) -> Iterator[None]:
    """Point tiktoken at the vocabulary of an encoding, if it is on this machine."""
    with _LOADING:
        path = _vocabulary(name)
        before = os.environ.get(_FOLDER)
        if path:
            os.environ[_FOLDER] = str(path.parent)
        try:
            yield
        finally:
            if before is not None:
                os.environ[_FOLDER] = before
            elif path:
                del os.environ[_FOLDER]


def _vocabulary(name: str) -> Path | None:
    """The file of an encoding's tokens, if it is on this machine and whole."""
    url = f"{_ORIGIN}{name}.tiktoken"
    file = hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    own = os.environ.get(_FOLDER)
    for folder in (Path(own) if own else None, _bundled_folder()):
        with suppress(OSError):
            if folder and name in _SHA256:
                content = (folder / file).read_bytes()
                if hashlib.sha256(content).hexdigest() == _SHA256[name]:
                    return folder / file
    return None


def _bundled_folder() -> Path | None:
    """LlamaIndex's folder of vocabularies, found without importing LlamaIndex."""
    spec = find_spec("llama_index")
    for root in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(root) / "core" / "_static" / "tiktoken_cache"
        if folder.is_dir():
            return folder
    return None
