"""Which headings a question can be made of, by what they are called in many languages."""

_OF_ANY_TEXT = frozenset(
    [
        *("abstract", "about", "background", "conclusion", "conclusions", "discussion", "example"),
        *("examples", "foreword", "general", "introduction", "notes", "overview", "preface"),
        *("purpose", "scope", "summary", "summary and conclusions", "einführung", "einleitung"),
        *(
            "fazit",
            "überblick",
            "übersicht",
            "vorwort",
            "zusammenfassung",
            "aperçu",
            "avant-propos",
        ),
        *("conclusión", "conclusiones", "introducción", "resumen", "résumé", "introduzione"),
        *("conclusioni", "riassunto", "introdução", "conclusão", "resumo", "inleiding"),
        *("samenvatting", "概要", "はじめに", "まとめ", "概述", "引言", "总结", "简介", "摘要"),
    ]
)
"""Headings that say nothing about what stands below them: nobody asks for these alone."""
_APPARATUS = frozenset(
    [
        *("acknowledgements", "acknowledgments", "bibliography", "contents", "further reading"),
        *("index", "list of figures", "list of tables", "literature", "references", "see also"),
        *("table of contents", "works cited", "abbildungsverzeichnis", "danksagung"),
        *("inhalt", "inhaltsverzeichnis", "literatur", "literaturverzeichnis", "quellen"),
        *("tabellenverzeichnis", "bibliographie", "références", "table des matières", "índice"),
        *("referencias", "bibliografía", "riferimenti", "bibliografia", "indice", "referências"),
        *("inhoud", "inhoudsopgave", "literatuur", "参考文献", "目录", "目次", "参考资料"),
    ]
)
"""Headings of what leads to other places: nothing below them is asked about."""


def tells(heading: str) -> bool:
    """Whether a heading says what stands below it; "Overview" does not."""
    return _plain(heading) not in _OF_ANY_TEXT


def leads_elsewhere(heading: str) -> bool:
    """Whether what stands below a heading leads to other places, as a table of contents does."""
    return _plain(heading) in _APPARATUS


def _plain(heading: str) -> str:
    return heading.casefold().strip(" .:")
