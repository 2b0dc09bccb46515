"""Versions of a document in a collection: what it is made of, and by what code.

A version is the hash of the document, as files have it, behind the code of the column where that is
not of this package alone: `parser:hash`, or `parser-model:hash` with an embedding model of the
user's own.
"""

from __future__ import annotations


def version_of(source_hash: str, code: str) -> str:
    """The version of a document that some code makes.

    >>> version_of("41ce", "9a-07"), version_of("41ce", "")
    ('9a-07:41ce', '41ce')
    """
    return f"{code}:{source_hash}" if code else source_hash


def source_hash_of(version: str) -> str:
    """The hash of the document, by whatever code.

    >>> source_hash_of("9a-07:41ce")
    '41ce'
    """
    return version.rpartition(":")[2]


def model_of(version: str) -> str:
    """The code of the embedding model that made its vectors; "" for one that is installed.

    >>> model_of("9a-07:41ce"), model_of("9a:41ce"), model_of("41ce")
    ('07', '', '')
    """
    return version.rpartition(":")[0].partition("-")[2]
