"""OCR functions of a module that worker processes can import."""

from rag_nodes.readers import OcrWord


def words(text: str) -> list[OcrWord]:
    return [OcrWord(text, 10, 10, 200, 40)]


def green(*_: object) -> list[OcrWord]:
    return words("Green")


def black(*_: object) -> list[OcrWord]:
    return words("Black")
