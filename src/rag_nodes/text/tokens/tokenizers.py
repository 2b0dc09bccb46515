"""Tokenizers by name, and exact token counts for the spans of a text with any of them.

    cl100k_base, o200k_base, …   an encoding of tiktoken
    hf:PATH, hf:OWNER/MODEL      a Hugging Face tokenizer: a `tokenizer.json`, a folder that holds
                                 one, or a model that is in the local Hugging Face cache
    chars                        one token for each character
    estimate                     one token for every three characters begun: for
                                 models without a public vocabulary, and never chosen automatically

Nothing is downloaded. Special tokens in a text count as plain text, and those a model puts around
it (`[CLS]`, `</s>`) are not counted: leave it room for them.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.core.errors import ConfigurationError, MissingExtraError
from rag_nodes.text.tokens.encodings import DEFAULT_ENCODING, encodable, load_encoder
from rag_nodes.text.tokens.index import TokenEnds, TokenIndex

if TYPE_CHECKING:
    import tokenizers
    from numpy.typing import NDArray

HUGGING_FACE = "hf:"
"""Prefix of the name of a Hugging Face tokenizer."""
CHARACTERS = "chars"
ESTIMATE = "estimate"
_CHARACTERS_PER_TOKEN = {CHARACTERS: 1, ESTIMATE: 3}
_FILE = "tokenizer.json"
_BLOCK = 1 << 16
"""Characters encoded at a time where only the approximate places of tokens are asked for."""


def token_index(text: str, name: str = DEFAULT_ENCODING) -> TokenIndex | LengthIndex | SliceIndex:
    """The tokens of a text, for a tokenizer of any kind.

    Raises:
        ConfigurationError: no such tokenizer, or its vocabulary is not on this machine.
        MissingExtraError: it needs a package that is not installed.
    """
    if name in _CHARACTERS_PER_TOKEN:
        return LengthIndex(text, _CHARACTERS_PER_TOKEN[name])
    if name.startswith(HUGGING_FACE):
        return SliceIndex(text, load_hugging_face(name))
    return TokenIndex(text, name)


def count_tokens(text: str, name: str = DEFAULT_ENCODING) -> int:
    """Tokens of a text on its own, by a tokenizer of any kind.

    Special tokens such as `<|endoftext|>` count as plain text.

    Raises:
        ConfigurationError: no such tokenizer, or its vocabulary is not on this machine.
        MissingExtraError: it needs a package that is not installed.
    """
    if name in _CHARACTERS_PER_TOKEN:
        return LengthIndex(text, _CHARACTERS_PER_TOKEN[name]).count()
    if name.startswith(HUGGING_FACE):
        return load_hugging_face(name).count(text)
    return len(load_encoder(name).encode(encodable(text)))


def check_tokenizer(name: str) -> None:
    """Load a tokenizer, so that a wrong name is refused before any work starts.

    Raises:
        ConfigurationError: no such tokenizer, or its vocabulary is not on this machine.
        MissingExtraError: it needs a package that is not installed.
    """
    try:
        count_tokens("", name)
    except ConfigurationError as error:
        if name.startswith(HUGGING_FACE):
            raise
        more = f"{HUGGING_FACE}<model or path>, '{CHARACTERS}', or '{ESTIMATE}' (inexact)"
        raise ConfigurationError(f"{error}; or {more}") from error


def is_estimate(name: str) -> bool:
    """Return True if a tokenizer estimates its counts, which every node has to say."""
    return name == ESTIMATE


class LengthIndex(TokenEnds):
    """Counts spans by their length alone; a rest of characters counts as one more token."""

    __slots__ = ("_length", "_per_token")

    def __init__(self, text: str, per_token: int) -> None:
        super().__init__(np.arange(per_token, len(text) + per_token, per_token, dtype=np.int64))
        self._length = len(text)
        self._per_token = per_token

    def count(self, start: int = 0, end: int | None = None) -> int:
        """Tokens of a span."""
        stop = self._length if end is None else end
        return -(min(0, start - stop) // self._per_token)

    def fit(self, start: int, limit: int, end: int | None = None) -> int:
        """The furthest offset up to `end` within `limit` tokens of `start`."""
        return min(start + limit * self._per_token, self._length if end is None else end)


class SliceIndex(TokenEnds):
    """Counts spans by encoding them: right for any tokenizer, whatever it looks at.

    Where tokens end in the text as a whole only guides the search; every answer but `estimate` is
    counted on the span itself.
    """

    __slots__ = ("_text", "_tokenizer")

    def __init__(self, text: str, tokenizer: HuggingFaceTokenizer) -> None:
        self._text = text
        self._tokenizer = tokenizer
        super().__init__(_ends_by_block(text, tokenizer))

    def count(self, start: int = 0, end: int | None = None) -> int:
        """Tokens of a span, exact."""
        stop = len(self._text) if end is None else end
        return self._tokenizer.count(self._text[start:stop]) if start < stop else 0

    def fit(self, start: int, limit: int, end: int | None = None) -> int:
        """An offset up to `end` within `limit` tokens of `start`; `start` when nothing fits."""
        stop = len(self._text) if end is None else end
        wanted = self._tokens_before(start) + limit
        offset = start
        while wanted > 0:
            offset = stop if wanted >= len(self) else min(self._view[wanted - 1], stop)
            if offset <= start:
                break
            excess = self.count(start, offset) - limit
            if excess <= 0:
                return offset
            wanted = min(wanted, self._tokens_before(offset)) - excess
        # A tokenizer may give one token for a long unknown word and many for a part of it, so that
        # tokens of the span and of the text have nothing in common: shorter until it fits.
        offset = min(stop, max(offset, start + limit))
        while offset > start and self.count(start, offset) > limit:
            offset = start + (offset - start) // 2
        return offset


def _ends_by_block(text: str, tokenizer: HuggingFaceTokenizer) -> NDArray[np.int64]:
    """Ends of tokens, with blocks split at spaces so that memory stays flat."""
    pieces = [np.empty(0, dtype=np.int64)]
    start = 0
    while start < len(text):
        end = min(start + _BLOCK, len(text))
        if end < len(text):
            space = text.rfind(" ", start + 1, end)
            end = space if space > start else end
        pieces.append(tokenizer.encode_ends(text[start:end]) + start)
        start = end
    return np.concatenate(pieces)


class HuggingFaceTokenizer:
    """A tokenizer of the `tokenizers` library, without what a model would add or truncate.

    It is changed in place: it no longer truncates or pads, and special tokens are plain text.
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer

    def count(self, text: str) -> int:
        """Tokens of a text on its own."""
        return len(self._tokenizer.encode(encodable(text), add_special_tokens=False))

    def encode_ends(self, text: str) -> NDArray[np.int64]:
        """Offset at which each token's last character ends; these never decrease."""
        offsets = self._tokenizer.encode(encodable(text), add_special_tokens=False).offsets
        ends = np.fromiter((end for _, end in offsets), dtype=np.int64, count=len(offsets))
        # Parts of one character, and what a normalizer inserts, may point anywhere inside it.
        return np.maximum.accumulate(ends)


@lru_cache(maxsize=8)
def load_hugging_face(name: str) -> HuggingFaceTokenizer:
    """The tokenizer `hf:<model or path>`, from this machine alone.

    Raises:
        ConfigurationError: there is none at that path or of that name in the local cache, or its
            file is damaged.
        MissingExtraError: the `tokenizers` library is not installed.
    """
    try:
        import tokenizers
    except ImportError as error:
        raise MissingExtraError("tokenizers", "hf") from error
    path = _file_of(name.removeprefix(HUGGING_FACE))
    try:
        return HuggingFaceTokenizer(tokenizers.Tokenizer.from_file(str(path)))
    except Exception as error:
        # The library raises bare `Exception` for a file it cannot make sense of.
        raise ConfigurationError(
            f"tokenizer '{name}': {path} cannot be read ({error}); "
            f"it must be a {_FILE} of the tokenizers library"
        ) from error


def _file_of(model: str) -> Path:
    """The `tokenizer.json` of a path, or of a model in the local Hugging Face cache."""
    path = Path(model).expanduser()
    if path.is_dir():
        path /= _FILE
    if path.is_file():
        return path
    cached = _cached_file(model)
    if cached is None:
        raise ConfigurationError(
            f"tokenizer '{HUGGING_FACE}{model}': there is no file or folder '{model}' with a "
            f"{_FILE}, and no model of that name in the local Hugging Face cache; fetch it with "
            f"`hf download {model} {_FILE}`, or name the path of a {_FILE}"
        )
    return cached


def _cached_file(model: str) -> Path | None:
    try:
        import huggingface_hub
    except ImportError as error:
        raise MissingExtraError("huggingface-hub", "hf") from error
    try:
        path = huggingface_hub.try_to_load_from_cache(model, _FILE)
    except ValueError:
        # Not even the form of a model's name.
        return None
    return Path(path) if isinstance(path, str) else None
