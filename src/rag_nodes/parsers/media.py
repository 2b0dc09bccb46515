"""Documents that hold more than text: the class of their nodes, and a node where text lacks."""

from __future__ import annotations

from typing import Any

from llama_index.core.schema import BaseNode, Document, ImageNode, IndexNode, TextNode

from rag_nodes.parsers.source import ChunkSpan

_IMAGE = ("image", "image_path", "image_url")
_WITHOUT_IMAGE = (Document, TextNode)
"""Classes that have no field of `_IMAGE`; pydantic takes long to say so of each field."""
_RESOURCES = ("image_resource", "audio_resource", "video_resource")
_TEXT = TextNode(text="")
_NO_TEXT = (ChunkSpan(0, 0),)


def blank_node(source: BaseNode) -> TextNode:
    """Return an empty node of the class that nodes split from `source` have.

    Those of an image carry that image. LlamaIndex's own splitters do so for an `ImageDocument` and
    drop the image of an `ImageNode`. Nodes split from anything else are text, as theirs are.
    """
    if image := _image_of(source):
        return ImageNode(text="", **image)
    return _TEXT


def span_without_text(source: BaseNode, text: str) -> tuple[ChunkSpan, ...]:
    """Return the empty span of a document that is an image, a sound or a film without a text.

    Its only node stands for it. Nothing is returned if there is a text to split, or if there is
    nothing else either.
    """
    if text and not text.isspace():  # most often; to look for what else there is costs more
        return ()
    is_more = isinstance(source, IndexNode) or has_media(source)
    return _NO_TEXT if is_more else ()


def has_media(source: BaseNode) -> bool:
    """Return whether a document holds an image, a sound or a film."""
    return bool(_image_of(source)) or any(getattr(source, name, None) for name in _RESOURCES)


def _image_of(source: BaseNode) -> dict[str, Any]:
    """Return the fields of an `ImageNode` that say which image; empty without an image."""
    resource = getattr(source, "image_resource", None)
    if resource is not None:
        data = resource.data.decode() if resource.data else None
        path, url = (str(address) if address else None for address in (resource.path, resource.url))
        fields = {"image": data, "image_path": path, "image_url": url}
        mimetype = resource.mimetype
    elif type(source) in _WITHOUT_IMAGE:
        return {}
    else:
        fields = {name: getattr(source, name, None) for name in _IMAGE}
        mimetype = getattr(source, "image_mimetype", None)
    return {**fields, "image_mimetype": mimetype} if any(fields.values()) else {}
