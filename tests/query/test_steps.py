"""Which questions ask for steps: those that say so, not those that hold a word like "how"."""

import pytest

from rag_nodes.query.options import STEP_WORDS, asks_for_steps

STEPS = {
    "en": (
        "How do I reset the pump?",
        "How to change the filter",
        "The lamp is red: how can I clear the alarm?",
        "What is the procedure for shutting down the reactor?",
        "What are the steps to rinse the sand filter?",
        "List the parts that have to be ordered.",
        "Please explain how to calibrate the probe.",
    ),
    "de": (
        "Wie installiere ich das Paket?",
        "Wie kann man das Filter wechseln?",
        "Welche Schritte sind nötig?",
        "Gibt es eine Anleitung zum Wechseln der Lampe?",
        "Wie gehe ich bei einem Ausfall vor?",
    ),
    "fr": (
        "Comment installer le paquet ?",
        "Comment puis-je changer le filtre ?",
        "Quelles sont les étapes de la mise en service ?",
    ),
    "es": ("¿Cómo instalar el paquete?", "¿Cómo puedo cambiar el filtro?", "Pasos para empezar"),
    "it": ("Come installare il pacchetto?", "Come posso cambiare il filtro?"),
    "pt": ("Como instalar o pacote?", "Quais são os passos para começar?"),
    "nl": ("Hoe installeer ik het pakket?", "Wat zijn de stappen voor het wisselen?"),
    "zh": ("如何更换过滤器?", "请问更换过滤器有哪些步骤?", "我该如何安装?"),
    "ja": (
        "フィルターを交換する方法を教えてください。",
        "交換の手順は?",
        "どうすれば起動できますか",
    ),
    "ko": ("필터를 교체하는 방법은?", "어떻게 하나요?", "설치 절차는?"),
}
FACTS = {
    "en": (
        "How many pages has the report?",
        "How old is the pump?",
        "How much did the company pay for its list of customers?",
        "How was the cutoff determined?",
        "What methods were used in the analysis?",
        "Which cellular processes were looked into?",
        "What steps has the council proposed?",
        "Who said that there has got to be a way?",
        "What did they think of the whole production process?",
        "Summarise the discussion about how to select channels.",
        "Is the pump on the list?",
    ),
    "de": (
        "Wie viele Pumpen gibt es?",
        "Wie heißt der Betreiber?",
        "Wie nennt man diesen Vorgang?",
        "Welche Methode wurde verwendet?",
        "Was steht auf der Liste?",
    ),
    "fr": ("Comment s'appelle la pompe ?", "Quelle méthode fut choisie ?", "Où est la liste ?"),
    "es": ("¿Cómo se llama la bomba?", "¿Qué método usaron?", "¿Cuál es la lista?"),
    "it": ("Come si chiama la pompa?", "Quale metodo fu usato?"),
    "pt": ("Como se chama a bomba?", "Que método usaram?"),
    "nl": ("Hoe heet de pomp?", "Hoe oud is de pomp?", "Welke methode is gebruikt?"),
    "zh": ("它的声誉如何?", "这个花园用波兰语怎么说?", "采用了什么方法?"),
    "ja": ("ポンプの名前は何ですか?", "どの方法が使われましたか?"),
    "ko": ("펌프의 이름은 무엇입니까?", "어떤 방법이 사용되었습니까?"),
}
_EACH = [(language, text) for language, texts in STEPS.items() for text in texts]
_OTHER = [(language, text) for language, texts in FACTS.items() for text in texts]


@pytest.mark.parametrize(("language", "question"), _EACH)
def test_a_question_that_asks_for_steps_is_known(language: str, question: str) -> None:
    assert asks_for_steps(question), language


@pytest.mark.parametrize(("language", "question"), _OTHER)
def test_a_question_for_a_fact_gets_no_more_because_of_one_word(
    language: str, question: str
) -> None:
    assert not asks_for_steps(question), language


def test_every_language_of_the_list_has_examples_of_both() -> None:
    assert STEPS.keys() == FACTS.keys()
    asked = {phrase for phrase in STEP_WORDS for _, text in _EACH if asks_for_steps(text, [phrase])}
    assert len(asked) >= len(STEPS)
