"""What questions are made with, by language; without an entry here nothing is asked.

Headings that say nothing, or lead to other places, are known in many languages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from rag_nodes.text.languages import FUNCTION_WORDS
from rag_nodes.text.words import words

_OF_ANY_TEXT = (
    "|abstract|about|background|concepts|conclusion|conclusions|discussion|example|examples|"
    "foreword|general|introduction|miscellaneous|notes|overview|preface|purpose|scope|summary|"
    "summary and conclusions|allgemeines|begriffe|einführung|einleitung|fazit|konzepte|sonstiges|"
    "überblick|übersicht|verschiedenes|vorwort|zusammenfassung|aperçu|avant-propos|"
    "conclusión|conclusiones|introducción|resumen|résumé|introduzione|conclusioni|riassunto|"
    "introdução|conclusão|resumo|inleiding|samenvatting|概要|はじめに|まとめ|概述|引言|总结|简介|摘要|"
)
"""Headings that say nothing about what stands below them: nobody asks for these alone."""
_APPARATUS = (
    "|acknowledgements|acknowledgments|bibliography|contents|further reading|index|"
    "list of figures|list of tables|literature|references|see also|table of contents|works cited|"
    "abbildungsverzeichnis|danksagung|inhalt|inhaltsverzeichnis|literatur|literaturverzeichnis|"
    "quellen|tabellenverzeichnis|bibliographie|références|table des matières|índice|referencias|"
    "bibliografía|riferimenti|bibliografia|indice|referências|inhoud|inhoudsopgave|literatuur|"
    "参考文献|目录|目次|参考资料|"
)
"""Headings of what leads to other places: nothing below them is asked about."""


class Grammar(NamedTuple):
    """How one language asks: templates, what they are filled from, and heads of columns.

    `howto` has of a heading the words to ask how to do it with, "" where it says no such thing;
    `defines` is a sentence that says what its `term` is, `number` one that says within how many
    days something must be done.
    """

    howto: Callable[[str], str]
    defines: re.Pattern[str]
    how: str
    what_is: str
    meaning: str
    default: str
    meanings: frozenset[str]
    defaults: frozenset[str]
    number: re.Pattern[str] | None = None


_ALSO_NOUNS = frozenset(
    words(
        "access back backup block boot build call change check clone close copy debug display "
        "download edit export extend file filter fix format handle import insert launch link "
        "list load log login map measure mount move open order override pass print process "
        "query read release report request reset restart return scale schedule search select "
        "set setup share show sign start stop store switch test track train transfer trigger "
        "turn update upgrade upload use view write"
    )
)
"""Verbs of headings that are verbs for sure only before what follows a verb."""
_VERBS = _ALSO_NOUNS | frozenset(
    words(
        "activate add adjust allow apply assign attach authenticate avoid cancel choose clean "
        "clear compile configure connect convert create customise customize define delete "
        "deploy detect disable disconnect enable encrypt enforce ensure find generate get "
        "implement improve include initialize inspect install integrate invite join manage "
        "merge migrate modify monitor obtain optimize prepare prevent protect provide publish "
        "reboot rebuild recover redirect reduce register remove rename replace resolve restore "
        "restrict retrieve revoke rotate run save secure send simulate submit sync synchronize "
        "troubleshoot uninstall unlink validate verify visualize"
    )
)
"""Verbs of headings that say what is done."""
_AFTER_A_VERB = frozenset(words("a all an for in into my out the to up your"))
_PLAIN = re.compile(r"[^,/\[\](){}:;`=<>|.!?\u201c\u201d\"]{4,80}")
_YOURS = {
    "en": {"your": "my", "yourself": "myself", "you": "I"},
    "de": {"Ihr": "mein", "Ihre": "meine", "Ihren": "meinen", "Ihrem": "meinem", "Ihrer": "meiner",
           "Ihres": "meines", "sich": "mich"},
}  # fmt: skip
_GENERIC = frozenset(
    words(
        "abbildung above abschnitt art beispiel below case chapter day default document "
        "dokument ergebnis example examples fall figure first following goal input jahr "
        "kapitel line list method most name note number nummer option options other others "
        "output part person point process program punkt purpose result results schritt second "
        "section step steps system tabelle table tag teil third time type use value values "
        "way wert year zeit ziel"
    )
)
"""Last words of what is no term."""
_DE_NOT_DONE = re.compile(
    r"(?:\w*(?:an|auf|aus|ein|vor|zu|ab|bei|mit|nach|her|hin|um)?ge(?!stalt|nehmig|währ|winn|nieß|hen"
    r"|ben|nerier)\w+en|\w*(?:neben|oben|unten|außen|innen|gegen|wegen|zwischen)|werden|worden|sein|"
    r"haben|können|müssen|sollen|dürfen|wollen|\w+ien|\w+ischen|\w+lichen|\w+igen(?<!leinigen)"
    r"(?<!tigen)(?<!ledigen)(?<!zeigen))"
)
"""Last words in -en that are no infinitive: participles, adjectives and verbs beside one."""
_DE_ASKS = frozenset(words("um wann warum was welche welcher welches wer wie wo"))


def plain(heading: str) -> bool:
    """Whether a heading is several words and nothing else."""
    return _PLAIN.fullmatch(heading) is not None and " " in heading


def mine(text: str, language: str) -> str:
    """What is said to somebody, as that person says it."""
    return " ".join(_YOURS[language].get(word, word) for word in text.split(" "))


def _howto_en(heading: str) -> str:
    """A heading with an imperative or a gerund in front, as after "How do I"."""
    first, _, rest = heading.partition(" ")
    base, second = first.casefold(), rest.partition(" ")[0].casefold()
    nothing = FUNCTION_WORDS.issuperset(words(rest)) or rest.casefold() in ("started", "options")
    if nothing or second in ("and", "or", "of", "is"):
        return ""  # "Save as", "Getting started", "Debugging options"
    if base in _VERBS:
        sure = base not in _ALSO_NOUNS or second in _AFTER_A_VERB
        return f"{base} {rest}" if sure else ""
    stem = base.removesuffix("ing")
    tried = (stem, f"{stem}e", stem[:-1]) if stem != base else ()
    verb = next((one for one in tried if one in _VERBS), "")
    return f"{verb} {rest}" if verb else ""


def _howto_de(heading: str) -> str:
    """A heading with an infinitive at its end, as after "Wie kann ich"."""
    *before, last = heading.split(" ")
    infinitive = last[:1].islower() and re.fullmatch(r"\w{2,}(?:en|ern|eln)", last)
    asks = before and before[0].casefold() in _DE_ASKS
    told = not asks and infinitive and not _DE_NOT_DONE.fullmatch(last) and "Sie" not in before
    return heading if told and before[-1:] != ["zu"] else ""


_TERM = r"(?P<term>[^\W_][^,.;:!?()\n|]{1,48}?)(?P<short>\s*\([A-Z][\w-]{1,9}\))?"
GRAMMARS: dict[str, Grammar] = {
    "en": Grammar(
        howto=_howto_en,
        defines=re.compile(
            rf"(?:(?P<article>An?|The)\s+)?{_TERM}\s+(?P<is>is|are)\s+(?:an?|one\s+of)\s+"
        ),
        how="How do I {}?",
        what_is="What {}?",
        meaning="What does {} mean?",
        default="What is the default of {}?",
        meanings=frozenset(["description", "meaning", "definition", "what it does"]),
        defaults=frozenset(["default", "default value"]),
        number=re.compile(
            r"(?P<subject>[A-Z][^,.;:()]{2,80}?)\s+(?P<modal>must|shall|should|will)\s+"
            r"(?P<done>[^,.;:()]{3,120}?)\s+(?:approximately\s+|at\s+least\s+)?(?P<how>within|for|every)\s+(?:approximately\s+|at\s+least\s+|about\s+)?"
            r"(?P<count>\d+|one|two|three|four|five|six|seven|ten|twelve|thirty|sixty|ninety)\s+"
            r"(?:\w+\s+)?(?P<unit>minutes|hours|days|weeks|months|years)\b"
        ),
    ),
    "de": Grammar(
        howto=_howto_de,
        defines=re.compile(
            rf"(?:(?P<article>Eine?|Der|Die|Das)\s+)?{_TERM}\s+(?P<is>ist)\s+eine?s?\s+"
        ),
        how="Wie kann ich {}?",
        what_is="Was {}?",
        meaning="Was bedeutet {}?",
        default="Was ist der Standardwert von {}?",
        meanings=frozenset(["beschreibung", "bedeutung", "erklärung", "erläuterung"]),
        defaults=frozenset(["standard", "standardwert", "vorgabe", "voreinstellung"]),
    ),
}


def is_term(term: str) -> bool:
    """Whether some words can be the name of something."""
    own = words(term)
    return (
        0 < len(own) <= 4  # noqa: PLR2004 -- more are half a sentence
        and FUNCTION_WORDS.isdisjoint(own)
        and not any(one.isdigit() for one in own)
        and own[-1] not in _GENERIC
        and not own[0].endswith("ly")
    )


def tells(heading: str) -> bool:
    """Whether a heading says what stands below it; "Overview" does not."""
    return f"|{heading.casefold().strip(' .:')}|" not in _OF_ANY_TEXT


def leads_elsewhere(heading: str) -> bool:
    """Whether what stands below a heading leads to other places, as a table of contents does."""
    return f"|{heading.casefold().strip(' .:')}|" in _APPARATUS
