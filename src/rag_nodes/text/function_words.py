"""Words that carry grammar instead of meaning: they connect every text with every other.

Without a corpus at hand their weight cannot be measured, so the commonest are listed here for
the languages we see most; in others all words weigh the same, which costs a little precision.
The lists apply to every text, so a word that means something in another language (the German
"war", the Italian "ai") is in none of them.
"""

from __future__ import annotations

from rag_nodes.text.words import words

_LISTS = {
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
    "zh": "什么 怎么 如何 哪些 哪个 多少 为什么 是否 可以 以及 这个 那个 我们 他们 的是",
    "ja": "です ます した して する いる ある こと から まで この その どの 何で ですか ません",
    "ko": "무엇 어떻게 어떤 언제 어디 누가 입니다 합니다 있습 습니다 니까",
}

FUNCTION_WORDS = frozenset(word for text in _LISTS.values() for word in words(text))
"""Folded as `rag_nodes.text.words.words` folds."""


def content_words(text: str) -> list[str]:
    """The words of a text that carry meaning; all its words where none seems to."""
    found = words(text)
    return [word for word in found if word not in FUNCTION_WORDS] or found
