"""Languages: function words, stems, and recognition of the language of a text.

Function words carry grammar instead of meaning: they connect every text with every other. Without
a corpus at hand their weight cannot be measured, so the commonest are listed here for the languages
we see most; in others all words weigh the same, which costs a little precision. The lists apply to
every text, so a word that means something in another language (the German "war", the Italian "ai",
the Polish "pod") is in none of them.

Stems let `bicycles` in a question meet `bicycle` in a text. The algorithms are those of the
Snowball project (Porter, "Snowball: A language for stemming algorithms", 2001), one for each
language that has one.
"""
# ruff: noqa: RUF001 -- letters of other alphabets are meant

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import regex

from rag_nodes.text.words import UNSPACED_SCRIPTS, words

_FUNCTION_WORDS = {
    "en": (
        "a about above after again all also am an and any are as at be because been before "
        "being below between both but by can could did do does doing done down during each few "
        "for from further had has have having he her here hers him his how i if in into is it "
        "its just many may me might more most much must my no nor not of off on once only or "
        "other our out over own same shall she should so some such than that the their them "
        "then there these they this those through to too under until up us very was we were "
        "what when where which while who whom whose why will with would you your s t"
    ),
    "de": (
        "aber alle als am an auch auf aus bei beim bis da das dass dem den der des die dies "
        "diese dieser dieses doch durch ein eine einem einen einer eines er es für haben hatte "
        "ich ihr im in ist ja kann kein keine können muss müssen nach nicht noch nur ob oder "
        "sein seine sich sie sind so soll sollen über um und uns unter viele vom von vor wann "
        "waren warum was welche welcher welches wenn wer werden wie wieviel wir wird wo wurde "
        "wurden zu zum zur"
    ),
    "fr": (
        "à au aux avec ce ces cet cette comme dans de des donc du elle elles en est et été être "
        "eu fait faut il ils j je l la le les leur leurs lui mais même ne nous on ont ou où par "
        "pas pourquoi qu quand que quel quelle quelles quels qui quoi sa sans se ses si sont "
        "sous sur t tout toute très un une vous y"
    ),
    "es": (
        "a al algo como cómo con cuál cuáles cuándo cuánto cuántos de del desde donde dónde el "
        "él ella en entre es esa ese eso esta está están este esto fue ha han hasta hay la las "
        "le les lo los más me mi muy no o para pero por porque puede que qué quién se ser si sí "
        "sin sobre su sus también un una uno y ya"
    ),
    "it": (
        "a al alla alle anche che chi come con cosa cui da dal dalla dei del della delle di e è "
        "ed gli ha hanno i il in io la le lo loro ma mi nei nel nella non o per perché più può "
        "quale quali quando quanto quanti questa questo se si sono su sul sulla tra un una uno"
    ),
    "pt": (
        "a ao aos as às com como da das de do e é ela ele em entre essa esse esta está este foi "
        "há isso já lhe mais mas me muito na não nas no nos o onde ou para pela pelo por porque "
        "pode qual quais quando quanto quantos que quem se ser seu sua são também tem um uma"
    ),
    "nl": (
        "aan al als bij dan dat de den der deze die dit door een en er haar had hebben heeft "
        "het hij hoe hun ik in is kan kunnen maar met moet na naar niet nog of om onder ook op "
        "over te tot uit van veel voor waar waarom was wat we welke wel wie wordt worden zal ze "
        "zich zijn zij zo"
    ),
    "sv": (
        "är att av blev bli blir då där de dem det då eller efter ett finns från för "
        "före hade hur här i inte jag kan mellan när och också om på samt sedan sig sin "
        "sitt ska skulle som till under upp utan vad vid vilka vilken vilket"
    ),
    "pl": (
        "albo bardzo był była było były być czy dla do gdy gdzie i ich ile jak jaka jaki "
        "jakie jako jego jej jest już która które którego której który których kto lub między "
        "może na nie niż oraz po przed przez przy się są ta tak także tego tej też "
        "to tym tylko w we więc z za ze że"
    ),
    "ro": (
        "al am asupra au că câte câți când ce cel cele de despre după este "
        "fost în între la lor lui o pentru prin sa să sau se și sunt un unde unei "
        "unor unui"
    ),
    "tr": (
        "ancak bir bu çok da daha de değil diye en gibi göre hangi her için ile ise kaç "
        "kadar mı mi nasıl ne neden nedir nerede olan olarak oldu olduğu sonra şu tarafından "
        "ve veya ya"
    ),
    "ru": (
        "а без более бы был была были было быть в вам вас ведь во вот все всех вы где да для до "
        "его ее её если есть еще ещё же за и из или им их к как какая какие какой когда который "
        "которая которые которых кто ли между меня мне мы на над не него нет ни но ну о об один "
        "он она они оно от по под при с сам свою себя сколько со так такой там то того тоже той "
        "только том ты у уже чего чем что чтобы эта эти это этого этой этом этот я"
    ),
    "el": (
        "αλλά αν από αυτά αυτή αυτό αυτός για δεν εδώ είναι είχε ένα έναν ένας εκεί έχει έχουν ή "
        "ήταν η θα και κάθε κατά με μετά μέσα μια μία μας μόνο μπορεί να ο οι όπου όπως όταν ότι "
        "που πού ποια ποιά ποιο ποιοι ποιος πόσα πόσο πόσοι πότε πριν προς πώς σας σε στη στην "
        "στης στις στο στον στους στα τα τη την της τι τις το τον του τους των ως"
    ),
    "ar": (
        "أن إن أو أي إلى أين الذي التي الذين أم أما بعد بين ثم حتى حول حيث خلال ذلك سوف عن عند "
        "على غير في قد قبل كان كانت كل كم كما كيف لا لم لماذا لن له لها ما ماذا متى مع من منذ "
        "هذا هذه هل هم هو هي هناك و وقد وهو وهي يكون تم"
    ),
    "hi": (
        "अपना अपनी अपने इन इस इसके इसे उन उस उसके उसे एक एवं और कब कर करता करते करना करने कहाँ का "
        "कि कितना कितनी कितने किन किया किस किसने किसे की के कैसे को कौन क्या क्यों गई गए गया जिन जिस "
        "जिसे जो तक तथा तो था थी थे दिया द्वारा ने नहीं पर बाद भी में यह या ये रहा रही रहे लिए वह वे "
        "सकता सकते से साथ ही है हैं हो होता होती होते"
    ),
    "zh": "什么 怎么 如何 哪些 哪个 多少 为什么 是否 可以 以及 这个 那个 我们 他们 的是",
    "ja": "です ます した して する いる ある こと から まで この その どの 何で ですか ません",
    "ko": "무엇 어떻게 어떤 언제 어디 누가 입니다 합니다 있습 습니다 니까",
}

FUNCTION_WORDS = frozenset(word for text in _FUNCTION_WORDS.values() for word in words(text))
"""Folded as `rag_nodes.text.words.words` folds."""


def content_words(text: str) -> list[str]:
    """The words of a text that carry meaning; all its words where none seems to."""
    all_words = words(text)
    return [word for word in all_words if word not in FUNCTION_WORDS] or all_words


_CODES = "ar ca cs da de el en es et eu fa fi fr hi hu id it lt ne nl no pl pt ro ru sr sv ta tr"
_STEMMED = frozenset(_CODES.split())
"""Languages with an algorithm."""
_LONGEST_WORD = 100
"""Letters of the longest word that is stemmed; what is longer is none."""


def stemmed(word: str, language: str) -> str:
    """The stem of a word of `words`; the word itself in a language without an algorithm."""
    stemmer = _stemmer(language)
    if stemmer is None or len(word) > _LONGEST_WORD:
        return word
    stem: str = stemmer.stemWord(word)
    return stem


_UNSPACED = regex.compile(rf"[{UNSPACED_SCRIPTS}]")


def stem_of(word: str, language: str) -> str | None:
    """Return the stem that a word is indexed as, too; None in a script without spaces.

    Those are pairs of letters, and no words. A language without an algorithm takes that of English,
    so that `iPhones` in a Chinese text meets `iPhone`, and weighs as it does in an English one.
    """
    if not word.isascii() and _UNSPACED.match(word):
        return None
    return stemmed(word, language if language in _STEMMED else "en")


@lru_cache(maxsize=2 * len(_STEMMED))
def _stemmer(language: str) -> Any:
    """Return the stemmer of a language, without its cache, which would make it slower."""
    import Stemmer

    return Stemmer.Stemmer(language, 0) if language in _STEMMED else None


_SAMPLE = 8_000
"""Characters the language is guessed from."""
_GLANCE = 500
"""Characters that are enough where one language stands out."""
_LEAST_EVIDENCE = 3
"""Small words that must be seen before a language other than English is believed."""
_SMALL_WORDS = {
    "en": "the of and to in is that it was for on are with as at be this by from or an not",
    "de": "der die das und ist nicht ein eine den dem mit von zu auf für im des sich auch wird am",
    "fr": "le la les des et est une du dans que qui pour pas sur au avec ce il sont par plus",
    "es": "el la los las de que y en un una es por con para del se no al lo como más su",
    "it": "il lo la gli di che è un una per non con del della sono dei nel alla si da più",
    "nl": "de het een en van is dat niet op te zijn voor met die aan er ook om door naar",
    "pt": "o a os as de que e do da em um uma é não para com por dos das no na se mais",
    "pl": "w i na z nie się do to jest że od o po jak za dla są przez ale czy",
    "sv": "och att det som en på är av för med den till har inte om ett jag var men från",
    "da": "og at det som en på er af for med den til har ikke et blev også efter kun hvor",
    "no": "og å det som en på er av for med den til har ikke et ble også etter bare hvor",
    "fi": "ja on ei että oli se hän ovat mutta myös kun joka tai niin kuin ole sekä sen mukaan",
    "cs": "na se je že to do ve jsou pro jako za byl od které při nebo jeho bylo až než",
    "hu": "az és hogy nem is egy meg volt csak már mint ki van azt kell még ez ha vagy lehet",
    "ro": "și de în la cu pe care nu este din un se pentru sunt mai ce au fost să ca",
    "tr": "ve bir bu için ile çok ne daha olarak gibi kadar olan sonra ise değil da de var",
    "uk": "і в на з не що до та у як за це від для але його є або про які",
    "ru": "и в не на я что с по как это он но из за то все от так для же",
}
_SCRIPTS = {
    "ja": re.compile("[\u3040-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7a3]"),
    "zh": re.compile("[\u4e00-\u9fff]"),
    "hi": re.compile("[\u0900-\u097f]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
    "ar": re.compile("[\u0600-\u06ff]"),
    "el": re.compile("[\u0370-\u03ff]"),
}


@lru_cache(maxsize=1)
def _languages_of_words() -> dict[str, tuple[str, ...]]:
    languages: dict[str, tuple[str, ...]] = {}
    for language, own in _SMALL_WORDS.items():
        for word in own.split():
            languages[word] = (*languages.get(word, ()), language)
    return languages


def guess_language(text: str) -> str:
    """ISO 639-1 code of the language the text most likely is in; "en" without evidence.

    Scripts that one sentence rule set serves are recognized by their characters, languages written
    in Latin or Cyrillic letters by their smallest words. Good enough to choose abbreviation lists.
    """
    sample = text[:_SAMPLE]
    # Each of the letters looked for takes more than one byte.
    if len(sample.encode("utf-8", "surrogatepass")) * 5 > len(sample) * 6:
        for language, letter in _SCRIPTS.items():
            if len(letter.findall(sample)) * 5 > len(sample):
                return language
    seen = _small_words(sample[:_GLANCE])
    most = max(seen.values())
    if most < _LEAST_EVIDENCE + 2 * sorted(seen.values())[-2]:
        seen = _small_words(sample)
        most = max(seen.values())
    if most < _LEAST_EVIDENCE or seen["en"] == most:
        return "en"
    return max(language for language, count in seen.items() if count == most)


def question_languages(question: str) -> tuple[str, ...]:
    """ISO 639-1 codes of the languages that a question may be in, at least one.

    Questions are too short for `guess_language`. The language whose function words it has most of
    is taken, all of them where several have as many; where it has none, every language that a text
    may be in and that has stems.
    """
    asked = set(words(question))
    seen = {language: len(asked & vocabulary) for language, vocabulary in _told_by().items()}
    most = max(seen.values())
    return tuple(language for language, count in seen.items() if count == most)


@lru_cache(maxsize=1)
def _told_by() -> dict[str, frozenset[str]]:
    """Function words of each language with stems; where none are listed its smallest words."""
    listed = {language: frozenset(words(text)) for language, text in _FUNCTION_WORDS.items()}
    small = {language: frozenset(words(text)) for language, text in _SMALL_WORDS.items()}
    return {language: own for language, own in (small | listed).items() if language in _STEMMED}


def _small_words(sample: str) -> dict[str, int]:
    seen = dict.fromkeys(_SMALL_WORDS, 0)
    languages = _languages_of_words()
    # Small words hardly ever touch a mark, and splitting at blanks is ten times as fast.
    for word in filter(languages.__contains__, sample.lower().split()):
        for language in languages[word]:
            seen[language] += 1
    return seen
