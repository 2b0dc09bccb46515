"""Hand-written sentences that careless rules cut or join, one named test each.

A `‖` stands where one sentence ends and the next begins; it is not part of the text.
"""
# ruff: noqa: RUF001, E501 -- full-width marks and look-alike letters are meant; cases stay whole

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from rag_nodes.text import sentences
from rag_nodes.text.sentences import sentence_spans
from rag_nodes.text.spans import Span

ENGLISH = {
    "doctor": "Dr. Smith came in.‖ He sat down.",
    "mister and missis": "Mr. Jones and Mrs. Jones left.‖ Nobody saw them.",
    "professor": "Prof. Curie won twice.‖ Few did.",
    "saint": "We met at St. Peter's church.‖ It rained.",
    "junior": "Martin Luther King Jr. spoke first.‖ Then we sang.",
    "general": "Gen. Grant and Col. Mustard agreed.‖ Others did not.",
    "representative": "Rep. Adams and Sen. Brown voted no.‖ It failed.",
    "doctor with initials": "Dr. J. R. Watson wrote it.‖ Holmes read it.",
    "initials": "J. R. R. Tolkien wrote books.‖ They sold well.",
    "one initial": "John F. Kennedy was elected.‖ He was young.",
    "initials without spaces": "J.K. Rowling wrote it.‖ We read it.",
    "example": "Take a fruit, e.g. an apple.‖ Eat it.",
    "example with comma": "Take a fruit, e.g., an apple.‖ Eat it.",
    "example before a name": "Some cities, e.g. Paris, are old.‖ Others are new.",
    "that is": "The last one, i.e. the third, fell.‖ It broke.",
    "that is before a name": "The capital, i.e. Paris, is large.‖ It is old.",
    "et cetera inside": "Apples, pears, etc. are fruit.‖ Eat them.",
    "et cetera at the end": "We sell apples, pears, etc.‖ They are fresh.",
    "et alii": "Smith et al. showed this.‖ Others agreed.",
    "et alii with a year": "As Smith et al. (2019) show, it works.‖ We agree.",
    "versus": "It was Smith vs. Jones.‖ Jones won.",
    "compare": "This is known (cf. Smith 2001).‖ We repeat it.",
    "compare before a name": "See the proof, cf. Euler.‖ It is short.",
    "figure": "Fig. 3 shows the curve.‖ It rises.",
    "figure inside": "The curve in Fig. 3 rises.‖ Then it falls.",
    "section": "As Sec. 2 says, stop.‖ Then go.",
    "number": "Take bus No. 5 to town.‖ Get off there.",
    "number starts": "No. 5 is alive.‖ No. 6 is not.",
    "no is an answer": "Did he go?‖ No.‖ He stayed.",
    "page": "The proof is on p. 12 of it.‖ Read it.",
    "pages": "The proof is on pp. 12-15 there.‖ Read it.",
    "article": "By Art. 5 this is legal.‖ So be it.",
    "company": "Apple Inc. makes phones.‖ They sell.",
    "company at the end": "He works for Apple Inc.‖ She does not.",
    "limited": "Foo Ltd. was sold.‖ Nobody cared.",
    "corporation": "The Foo Corp. building burned.‖ It was old.",
    "brothers": "Warner Bros. made it.‖ We saw it.",
    "state as adjective": "The U.S. economy grew.‖ Prices fell.",
    "state at the end": "She lives in the U.S.‖ He does not.",
    "kingdom": "The U.K. government fell.‖ Another rose.",
    "capital": "He moved to Washington, D.C. last year.‖ He likes it.",
    "doctorate": "She holds a Ph.D. in physics.‖ He does not.",
    "street": "It is on Main St. near the park.‖ Come by.",
    "avenue": "She lives on 5th Ave. in town.‖ He does too.",
    "mount": "Mt. Everest is high.‖ Few climb it.",
    "month": "On Jan. 5 it snowed.‖ On Feb. 6 it did not.",
    "department": "The Dept. of State knows.‖ We do not.",
    "government": "Gov. Brown signed it.‖ It is law.",
    "time": "We met at 5 p.m. in the hall.‖ Then we left.",
    "time at the end": "We met at 5 p.m.‖ Then we left.",
    "time in the morning": "It starts at 9 a.m. sharp.‖ Be there.",
    "time with colon": "It starts at 9:30.‖ Be there.",
    "era": "Rome fell in 476 A.D. and rose.‖ It fell again.",
    "decimal": "It costs 3.50 today.‖ It was 2.75 before.",
    "decimal ends": "Pi is about 3.14.‖ It goes on.",
    "thousands": "They sold 1,000.50 units.‖ We sold none.",
    "leading point": "The chance is .5 at best.‖ Try it.",
    "percent": "It grew by 3.5%.‖ Then it fell.",
    "price": "It costs $5.99.‖ Buy it.",
    "version": "Use v2.0 or later.‖ Older ones fail.",
    "version of three parts": "Python 3.11.4 is out.‖ Get it.",
    "address": "See https://example.org/a.b?c=d for more.‖ It helps.",
    "address at the end": "See https://example.org.‖ It helps.",
    "domain": "Go to example.com today.‖ Buy things.",
    "mail": "Write to a.b@example.co.uk now.‖ We answer.",
    "file": "Open config.yaml first.‖ Then save it.",
    "file in capitals": "Open README.TXT, or COPY.MP3.‖ Then save report.PDF.",
    "function": "It reads with read.DIF(file).‖ So does read.table().",
    "file at the end": "See read.DIF.‖ It helps.",
    "capitals after a stop": "We flew.‖NASAL tones.‖She left.",
    "path": "Look in /etc/foo.d/bar.conf there.‖ Edit it.",
    "attribute": "Call os.path.join here.‖ It works.",
    "network address": "Ping 192.168.0.1 first.‖ Then go.",
    "dot file": "Edit .env and run.‖ It works.",
    "framework": "We use .NET and Node.js here.‖ Both work.",
    "quote inside": "“Stop!” he said.‖ She stopped.",
    "straight quote inside": '"Stop!" he said.‖ She stopped.',
    "quote with question": '"Why?" she asked.‖ Nobody knew.',
    "quote ends": 'He said, "Stop."‖ She stopped.',
    "curly quote ends": "He said, “Stop.”‖ She stopped.",
    "single quote": "‘Go,’ he said.‖ We went.",
    "parenthesis inside": "It works (see below).‖ Try it.",
    "parenthesis after": "It works.‖ (See below.)‖ Try it.",
    "abbreviation in parentheses": "It works (e.g. here).‖ Try it.",
    "question in parentheses": "It works (why?) and runs.‖ Try it.",
    "brackets": "It works [1].‖ Try it.",
    "citation after": "It works.[1]‖ Try it.",
    "question": "Is it?‖ It is.",
    "exclamation": "Wow!‖ It is.",
    "both": "Really?!‖ It is.",
    "many": "No!!!‖ It is not.",
    "interrobang": "What‽‖ It is.",
    "ellipsis inside": "Well... maybe not.‖ We see.",
    "ellipsis ends": "He waited...‖ She came.",
    "ellipsis character inside": "Well… maybe not.‖ We see.",
    "spaced ellipsis": "He came . . . and went.‖ She stayed.",
    "lower case writing": "i came.‖ he left.‖ we stayed.",
    "name with exclamation": "Yahoo! is a company.‖ It was large.",
    "colon": "He had one wish: peace.‖ It came.",
    "semicolon": "He came; she left.‖ It ended.",
    "dash": "He came – she left.‖ It ended.",
    "lower case product": "We use macOS.‖ It runs.",
    "roman numeral": "World War II.‖ It ended in 1945.",
    "one letter ends": "This is plan B.‖ It works.",
    "vitamin": "Take vitamin C.‖ It helps.",
    "no space after a stop": "He came.‖She left.",
    "two spaces": "He came.‖  She left.",
    "tab": "He came.‖\tShe left.",
    "line end": "He came.‖\nShe left.",
    "line end inside": "He came\nand left.‖ She stayed.",
    "windows line end": "He came.‖\r\nShe left.",
    "windows line end inside": "He came\r\nand left.‖ She stayed.",
    "old mac line end": "He came.‖\rShe left.",
    "blank line": "no stop‖\n\nnext one",
    "windows blank line": "no stop‖\r\n\r\nnext one",
    "blank line of spaces": "no stop‖\n \t\nnext one",
    "no break space": "He came.‖\u00a0She left.",
    "no stop at all": "just some words",
    "one word": "Word",
    "one stop": ".",
    "emoji": "It works 🎉.‖ Great 👍.",
    "number at the end": "He was born in 1990.‖ She was not.",
    "number starts the next": "He came.‖ 5 others left.",
    "markdown emphasis": "It is **bold.**‖ It is not.",
    "markdown code": "Call `a.b()` here.‖ It works.",
    "markdown link": "See [this. one](http://a.b/c.d).‖ It helps.",
}
LINES = {
    "list with dashes": "- one‖\n- two‖\n- three",
    "list with stops": "- One.‖\n- Two.‖\n- Three.",
    "list with two sentences": "- One.‖ More.‖\n- Two.",
    "list with stars": "* one‖\n* two",
    "list with plus": "+ one‖\n+ two",
    "list with bullets": "• one‖\n• two",
    "list with numbers": "1. one‖\n2. two‖\n3. three",
    "list with brackets": "1) one‖\n2) two",
    "list of capital words": "1. One‖\n2. Two‖\n10. Ten",
    "nested list": "- one‖\n  - two‖\n    - three",
    "list item over two lines": "- one goes\n  on here‖\n- two",
    "list below a line": "We need:‖\n- one‖\n- two",
    "task list": "- [ ] open‖\n- [x] done",
    "list with windows ends": "- one‖\r\n- two",
    "dash inside": "one\ntwo - three",
    "number in running text": "It was in\n1990.‖ It rained.",
    "heading": "# Title‖\nText goes on.",
    "headings": "# One‖\n## Two‖\nText.",
    "heading after text": "Text.‖\n## Two‖\nMore.",
    "ordinal at the start of a line": "Das ist nicht am\n3. Mai und nicht der Tag.‖ Die Zeit ist um.",
    "hash in text": "Use C#\nor #tags here.",
}
OTHERS = {
    "Chinese": "今天天气很好。‖我们去公园吧！‖你呢？",
    "Chinese quote": "他说：“你好。”‖然后他走了。",
    "Chinese ellipsis": "他等了……她来了。‖结束。",
    "Chinese semicolon": "他来了；她走了。‖结束。",
    "Chinese full-width point": "他来了．‖她走了．",
    "Japanese": "今日は天気がいい。‖公園に行こう！",
    "Japanese quote": "「行こう。」と彼は言った。‖彼女は来た。",
    "Japanese without a stop": "今日は天気がいい",
    "Korean": "오늘은 날씨가 좋다.‖ 공원에 가자!‖ 너는?",
    "Hindi": "यह एक वाक्य है।‖ यह दूसरा है।",
    "Hindi question": "तुम कौन हो?‖ मैं राम हूँ।",
    "Hindi double danda": "यह एक श्लोक है॥‖ यह दूसरा है।",
    "Arabic": "هل هذا صحيح؟‖ نعم.",
    "Arabic stops": "هذا كتاب.‖ هذا قلم.",
    "Urdu": "یہ ایک جملہ ہے۔‖ یہ دوسرا ہے۔",
    "Armenian": "Սա առաջինն է։‖ Սա երկրորդն է։",
    "Burmese": "ဒါက ပထမ။‖ ဒါက ဒုတိယ။",
    "Ethiopic": "ይህ አንድ ነው።‖ ይህ ሁለት ነው።",
    "Greek question": "Τι είναι αυτό;‖ Είναι βιβλίο.",
    "German ordinal": "Er kam am 3. Mai nach Berlin und das war gut.‖ Sie kam nicht mit dem Zug.",
    "German ordinal of a century": "Das ist aus dem 19. Jahrhundert und die Farbe ist alt.‖ Sie hält.",
    "German for example": "Das gilt z. B. für die Stadt und das Land.‖ Es ist nicht neu.",
    "German for example unspaced": "Das gilt z.B. für die Stadt und das Land.‖ Es ist nicht neu.",
    "German that is": "Das ist die Stadt, d. h. der Kern und das Land.‖ Es ist nicht neu.",
    "German circa": "Das sind ca. 5 Meter und das ist nicht viel.‖ Die Wand ist hoch.",
    "German paragraph": "Das steht in Art. 5 Abs. 2 und ist nicht neu.‖ Die Regel ist alt.",
    "German number": "Das ist die Nr. 5 und nicht die Nr. 6.‖ Der Rest fehlt.",
    "German doctor": "Das ist Dr. Müller und der ist nicht da.‖ Die Tür ist zu.",
    "German and so on": "Das sind Äpfel, Birnen usw. und die sind nicht alt.‖ Der Rest fehlt.",
    "German street": "Das ist die Hauptstr. 5 und nicht der Markt.‖ Die Tür ist zu.",
    "German date": "Das ist vom 3.5.2020 und nicht von heute.‖ Die Zeit ist um.",
    "German quote": "„Das ist nicht gut“, sagt der Mann.‖ Die Frau schweigt.",
    "German emperor": "Das ist Wilhelm II. von der Linie und nicht der andere.‖ Die Zeit ist um.",
    "French spaces": "Est-ce que la table est dans le salon ?‖ Oui, elle est dans le salon !‖ Bien.",
    "French quotes": "« Le chat est dans le jardin », dit-il.‖ Elle ne dit pas que c'est vrai.",
    "French mister": "M. Dupont est dans le jardin avec les enfants.‖ Il ne part pas.",
    "French etc": "Les pommes, les poires, etc. sont dans le panier.‖ Il est plein.",
    "Spanish question": "¿Qué es lo que se dice en la casa?‖ No lo sé.‖ ¡Es una fiesta!",
    "Spanish titles": "El Sr. García y la Sra. López no están en la casa.‖ Es una pena.",
    "Spanish you": "¿Es Ud. el que vive en la casa de la esquina?‖ No, no lo soy.",
    "Italian": "Il Sig. Rossi non è nella casa che è del nonno.‖ La porta è chiusa.",
    "Dutch": "De heer is bijv. niet op het feest en dat is jammer.‖ Hij is ziek.",
    "Portuguese": "O Sr. Silva não está em casa e a porta é do vizinho.‖ Que pena.",
    "Polish": "To jest np. dom i nie jest to w mieście.‖ Tak jest od lat.",
    "Russian": "Он не был на г. Москва и не знал это.‖ Как это так?",
    "Russian and so on": "Это стол, стул и т. д. и все это не так.‖ Как это?",
    "Russian initials": "А. С. Пушкин это не то, что я думал.‖ Как это?",
}
CASES = {**ENGLISH, **LINES, **OTHERS}


@pytest.mark.parametrize("name", CASES)
def test_sentences_of(name: str) -> None:
    marked = CASES[name]
    text = marked.replace("‖", "")
    sentences = [span.of(text) for span in sentence_spans(text)]
    assert sentences == [piece.strip() for piece in marked.split("‖")]


def test_there_are_cases_enough() -> None:
    assert len(CASES) == len(ENGLISH) + len(LINES) + len(OTHERS) >= 120


PATTERNS = [
    *(
        ".",
        "!?",
        ". ",
        ".\n",
        "…",
        "… A",
        "a",
        "a.",
        "A. ",
        "word ",
        "Mr. ",
        "1. ",
        "1.\n",
        "3. Mai ",
    ),
    *(
        "(",
        ".) A",
        "(a.) B ",
        '"',
        "”",
        "「。」と",
        "- a\n",
        "# a\n",
        "* ",
        "** ",
        "1) ",
        "\r\n",
        "🎉",
        "A\u00a0. ",
        "A \u3000.\n",
        "\u2028",
    ),
    *("。", "। ", "¿", "http://a.b/", "e.g. ", "5 p.m. EST "),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_long_repetitions_are_split_into_sentences_that_hold_everything(pattern: str) -> None:
    holds_everything(pattern * (10_000 // len(pattern)))


@given(
    pieces=st.lists(st.sampled_from([*PATTERNS, *CASES.values(), " ", "\n", "\n\n"]), max_size=9)
)
def test_mixtures_are_split_into_sentences_that_hold_everything(pieces: list[str]) -> None:
    holds_everything("".join(pieces))


@given(text=TEXTS)
def test_any_text_is_split_into_sentences_that_hold_everything(text: str) -> None:
    holds_everything(text)


def holds_everything(text: str) -> None:
    end = 0
    for span in sentence_spans(text):
        assert not text[end : span.start].strip()
        assert span.of(text) == span.of(text).strip() != ""
        end = span.end
    assert not text[end:].strip()


def test_text_that_the_sentence_library_panics_on_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class PanicException(BaseException):
        """Like that of Rust code, which cannot be imported."""

    def panicking(_language: str, _text: str) -> list[str]:
        raise PanicException

    monkeypatch.setattr(sentences.sentencex, "segment", panicking)
    assert sentence_spans("One. Two.\n\nThree.", "en") == [Span(0, 9), Span(11, 17)]


def test_the_end_of_the_program_is_no_panic(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt_split(_language: str, _text: str) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(sentences.sentencex, "segment", interrupt_split)
    with pytest.raises(KeyboardInterrupt):
        sentence_spans("One. Two.", "en")


def test_a_sentence_that_ends_where_a_long_paragraph_is_looked_at_in_parts_is_found() -> None:
    sentence = f"{'The pump starts when the soil is dry at noon':.<49} "
    text = sentence.replace("..", "!!") * 200
    spans = sentence_spans(text, "en")
    assert [span.start for span in spans] == list(range(0, len(text), 50))


@pytest.mark.parametrize("bullet", "-*•▪◦●○■□")
def test_a_list_item_has_its_sentences_whatever_its_bullet(bullet: str) -> None:
    text = f"{bullet} The pump is red. It stands in the hall."
    assert [span.of(text) for span in sentence_spans(text, "en")] == [
        f"{bullet} The pump is red.",
        "It stands in the hall.",
    ]
