"""Encodings of tiktoken: text to the numbers of its tokens, as fast as this machine can.

Two libraries give the same tokens. gigatoken (extra `fast`) takes a tenth of tiktoken's time on a
megabyte it sees first and a thirtieth on words it knows (`benchmarks/encoding_speed.py`). It knows
the encodings named in `_SCHEMES` and reads the same vocabulary files. tiktoken does the rest: other
encodings, vocabularies that have to be fetched, and where gigatoken is not installed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from rag_nodes.errors import ConfigurationError

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


class _Scheme(NamedTuple):
    """What gigatoken has to know of an encoding.

    Attributes:
        name: how gigatoken calls the way it takes words apart.
        url: where the vocabulary comes from; tiktoken names its copy after it.
        sha256: of the vocabulary's file.
    """

    name: str
    url: str
    sha256: str


_ORIGIN = "https://openaipublic.blob.core.windows.net/encodings/"
_SCHEMES = {
    "cl100k_base": _Scheme(
        "cl100k",
        f"{_ORIGIN}cl100k_base.tiktoken",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": _Scheme(
        "o200k",
        f"{_ORIGIN}o200k_base.tiktoken",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
}


class Encoder(Protocol):
    """One encoding, ready for use from any thread. Special tokens in a text are plain text."""

    def encode(self, text: str) -> NDArray[np.uint32]:
        """The tokens of a text without lone surrogates."""
        ...

    @property
    def characters(self) -> NDArray[np.uint16]:
        """How many characters begin in each token, indexed by token.

        A token may hold parts of characters: what it begins counts, what it goes on with does not.
        """
        ...

    @property
    def quick(self) -> int:
        """Characters that are encoded anew in less time than it takes to look up their count."""
        ...


@lru_cache(maxsize=8)
def load_encoder(name: str) -> Encoder:
    """The fastest encoder there is for an encoding of tiktoken.

    Raises:
        ConfigurationError: no such encoding, or its vocabulary is not on this machine and cannot
            be fetched.
    """
    scheme = _SCHEMES.get(name)
    path = _vocabulary(scheme) if scheme and find_spec("gigatoken") else None
    if scheme is None or path is None:
        return TiktokenEncoder(load_encoding(name))
    return GigatokenEncoder(path, scheme.name)


@lru_cache(maxsize=8)
def load_encoding(name: str) -> tiktoken.Encoding:
    """The tiktoken encoding `name`, from LlamaIndex's bundled vocabularies where they have it.

    Raises:
        ConfigurationError: no such encoding, or its vocabulary is not on this machine and cannot
            be fetched.
    """
    import tiktoken

    if name not in tiktoken.list_encoding_names():
        known = ", ".join(sorted(tiktoken.list_encoding_names()))
        raise ConfigurationError(f"unknown tokenizer {name!r}; choose one of: {known}")
    with _vocabulary_within_reach(name):
        try:
            return tiktoken.get_encoding(name)
        except Exception as error:
            raise ConfigurationError(
                f"the vocabulary of tokenizer {name!r} is not on this machine and could not be "
                f"fetched ({type(error).__name__}); use {DEFAULT_ENCODING!r}, which ships with "
                f"LlamaIndex, or put the file into the folder named by {_FOLDER}"
            ) from error


class TiktokenEncoder:
    """Any encoding, by tiktoken.

    Args:
        encoding: the encoding.
    """

    quick = 0

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self._encoding = encoding
        values = encoding.token_byte_values()
        self.characters = _characters({encoding.encode_single_token(one): one for one in values})

    def encode(self, text: str) -> NDArray[np.uint32]:
        """The tokens of a text without lone surrogates."""
        return self._encoding.encode_to_numpy(text, disallowed_special=())


class GigatokenEncoder:
    """An encoding by gigatoken, which remembers the words it has seen; for any number of threads.

    Args:
        vocabulary: file of the tokens, in tiktoken's form.
        scheme: how words are taken apart, by gigatoken's name for it.
    """

    quick = 1000

    def __init__(self, vocabulary: Path, scheme: str) -> None:
        self._vocabulary = vocabulary
        self._scheme = scheme
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


def _characters(tokens: dict[int, bytes]) -> NDArray[np.uint16]:
    """How many characters begin in each token, by its bytes."""
    everything = np.frombuffer(b"".join(tokens.values()), dtype=np.uint8)
    begun = np.concatenate([[0], np.cumsum((everything & 0xC0) != _CONTINUATION)])
    ends = np.cumsum([0, *map(len, tokens.values())])
    characters = np.zeros(max(tokens) + 1, dtype=np.uint16)
    characters[list(tokens)] = np.diff(begun[ends])
    return characters


@contextmanager
def _vocabulary_within_reach(name: str) -> Iterator[None]:
    """Point tiktoken at the vocabulary of an encoding, if it is on this machine."""
    scheme = _SCHEMES.get(name)
    with _LOADING:
        path = _vocabulary(scheme) if scheme else None
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


def _vocabulary(scheme: _Scheme) -> Path | None:
    """The file of an encoding's tokens, if it is on this machine and whole."""
    name = hashlib.sha1(scheme.url.encode(), usedforsecurity=False).hexdigest()
    for folder in (_own_folder(), _bundled_folder()):
        if folder and _is_whole(folder / name, scheme.sha256):
            return folder / name
    return None


def _is_whole(path: Path, sha256: str) -> bool:
    """Whether there is such a file, it can be read, and it holds what it should."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == sha256
    except OSError:
        return False


def _own_folder() -> Path | None:
    """The user's folder of vocabularies."""
    folder = os.environ.get(_FOLDER)
    return Path(folder) if folder else None


def _bundled_folder() -> Path | None:
    """LlamaIndex's folder of vocabularies, found without importing LlamaIndex."""
    found = find_spec("llama_index")
    for root in (found.submodule_search_locations or []) if found else []:
        folder = Path(root) / "core" / "_static" / "tiktoken_cache"
        if folder.is_dir():
            return folder
    return None
