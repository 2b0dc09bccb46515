"""DOCX files made for tests, part by part, so that each holds exactly what its test is about."""

import zipfile
from pathlib import Path

NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"'
)
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PARTS = ("styles", "numbering", "footnotes", "endnotes")

HEADINGS = "".join(
    f'<w:style w:type="paragraph" w:styleId="berschrift{level}"><w:name w:val="heading {level}"/>'
    f'<w:pPr><w:outlineLvl w:val="{level - 1}"/></w:pPr></w:style>'
    for level in range(1, 10)
)


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{run(text)}</w:p>"


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def styled_paragraph(text: str, style: str) -> str:
    return paragraph(text, f'<w:pStyle w:val="{style}"/>')


def item(text: str, level: int = 0, list_id: int = 1) -> str:
    numbers = f'<w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/>'
    return paragraph(text, f"<w:numPr>{numbers}</w:numPr>")


def table(*rows: list[str]) -> str:
    cells = ("".join(f"<w:tc>{cell}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def members(body: str, links: dict[str, str] | None = None, **parts: str) -> dict[str, str | bytes]:
    """The parts of a file: `body` is XML, `parts` XML of styles, numbering and so on."""
    relations = "".join(
        f'<Relationship Id="{name}" Type="{_KINDS}/{name}" Target="{name}.xml"/>'
        for name in _PARTS
        if name in parts
    ) + "".join(
        f'<Relationship Id="{name}" Type="{_KINDS}/hyperlink" Target="{target}" '
        'TargetMode="External"/>'
        for name, target in (links or {}).items()
    )
    return {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": (
            f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="a" '
            f'Type="{_KINDS}/officeDocument" Target="word/document.xml"/></Relationships>'
        ),
        "word/document.xml": f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>",
        "word/_rels/document.xml.rels": (
            f'<Relationships xmlns="{_RELATIONS}">{relations}</Relationships>'
        ),
        **{
            f"word/{name}.xml": f"<w:{name} {NAMESPACES}>{xml}</w:{name}>"
            for name, xml in parts.items()
        },
    }


def write_docx(path: Path, contents: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path
