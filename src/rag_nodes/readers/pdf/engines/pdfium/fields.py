"""Form fields of a document of PDFium."""

from __future__ import annotations

import ctypes
from functools import cached_property
from typing import TYPE_CHECKING

from pypdfium2 import raw

from rag_nodes.readers.pdf.engines.pdfium.native import pdfium, rectangle_from, text_from
from rag_nodes.readers.pdf.engines.protocol import HIDDEN, MAX_FIELDS, FormField

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_OPTIONS = 1_000
"""Options of a list that are looked at."""

_BOXES = {raw.FPDF_FORMFIELD_CHECKBOX, raw.FPDF_FORMFIELD_RADIOBUTTON}
_CHOICES = {raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX}
_PASSWORD = 1 << 13  # a flag of fields


class FormFields:
    """The form of a document; PDFium loads all of its fields when the first is asked for."""

    def __init__(self, document: int) -> None:
        self._document = document
        self._callbacks = raw.FPDF_FORMFILLINFO(version=2)

    @cached_property
    def _handle(self) -> int:
        address = ctypes.addressof(self._callbacks)
        return int(pdfium.FPDFDOC_InitFormFillEnvironment(self._document, address) or 0)

    def close(self) -> None:
        """Free what PDFium keeps of the form, if it was asked for."""
        if self.__dict__.get("_handle"):
            pdfium.FPDFDOC_ExitFormFillEnvironment(self._handle)

    def fields(self, page: int) -> Iterator[FormField]:
        """Yield the fields of a page; y of their boxes grows upwards."""
        for number in range(min(MAX_FIELDS, pdfium.FPDFPage_GetAnnotCount(page))):
            annotation = pdfium.FPDFPage_GetAnnot(page, number)
            if not annotation:
                continue
            try:
                if pdfium.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_WIDGET:
                    yield from self._field(annotation)
            finally:
                pdfium.FPDFPage_CloseAnnot(annotation)

    def _field(self, annotation: int) -> Iterator[FormField]:
        box = rectangle_from(pdfium.FPDFAnnot_GetRect, annotation)
        if not box or not self._handle:
            return
        item = self._handle, annotation
        kind = pdfium.FPDFAnnot_GetFormFieldType(*item)
        if kind in _BOXES:
            state = text_from(pdfium.FPDFAnnot_GetStringValue, annotation, b"AS")
            value = "[ ]" if state in {"", "Off"} else "[x]"
        elif kind in _CHOICES:
            value = self._chosen(item)
        elif kind == raw.FPDF_FORMFIELD_TEXTFIELD:
            is_password = pdfium.FPDFAnnot_GetFormFieldFlags(*item) & _PASSWORD
            value = HIDDEN if is_password else text_from(pdfium.FPDFAnnot_GetFormFieldValue, *item)
        else:
            return
        label = text_from(pdfium.FPDFAnnot_GetFormFieldAlternateName, *item)
        yield FormField(box, value, label, kind in _BOXES)

    def _chosen(self, item: tuple[int, int]) -> str:
        """Return the chosen options as they are shown; what is typed into a list is its value."""
        count = min(MAX_OPTIONS, max(0, pdfium.FPDFAnnot_GetOptionCount(*item)))
        chosen = [
            text_from(pdfium.FPDFAnnot_GetOptionLabel, *item, at)
            for at in range(count)
            if pdfium.FPDFAnnot_IsOptionSelected(*item, at)
        ]
        return ", ".join(chosen) or text_from(pdfium.FPDFAnnot_GetFormFieldValue, *item)
