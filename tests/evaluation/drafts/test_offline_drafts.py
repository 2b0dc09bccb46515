"""Drafts made of a document's own words: exact questions, exact places, and nothing made up."""

import re

import pytest
from llama_index.core.schema import Document

from rag_nodes.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.drafts import DRAFT_KINDS, QUESTIONS, draft_questions, fewer
from rag_nodes.evaluation.drafts.sections import Page

HANDBOOK = """\
# Harbour handbook

The harbour handbook is for those who work on the quay, and it is read once a year by everybody.

## 1. Introduction

This part says what the handbook is for, whom it is for and how it is arranged, and nothing else.

## 2.1 Loading a ferry

Two lines are thrown ashore before the engine stops. Nobody stands in the bight of a line.

The ferry is only left when both lines are fast and the ramp has been lowered onto the quay.

## 2.2 Log entries

The log is kept for two years. A **bollard** is a short post on a quay to which lines are made fast.
Stale entries must be countersigned and archived within 30 days of the voyage they belong to.

## 2.3 How is the ramp lowered?

The ramp is lowered from the bridge while the deck hand looks whether anybody stands below it.

## Report a fault to your engineer

Whoever sees that something is broken calls the engineer, who decides whether the ferry may sail.

## Report archive

Reports of the last ten years are kept in the cellar, ordered by ferry and by the day of the fault.

## Options

| Option | Default | Description |
|---|---|---|
| `--berth` | 4 | Number of the berth that the ferry leaves from |
| `--quiet` | `false` | no |
| `--tide` | `high` | see above |
| Speed | 12 | How fast the ferry goes when nothing is in its way |

## References

Manual of harbours, second edition. A crane is a machine of harbours that lifts what is heavy.
"""
ANLEITUNG = """\
# Anleitung für das Lager

Diese Anleitung ist für alle, die im Lager arbeiten, und sie wird einmal im Jahr gelesen.

## Kapitel 1 Den Stapler starten

Man dreht den Schlüssel nach rechts und wartet, bis der Stapler bereit ist und die Lampe leuchtet.

## 2 Ihr Fahrzeug abstellen

Das Fahrzeug wird dort abgestellt, wo es niemandem im Weg ist, und die Gabel wird gesenkt.

## 3 Wie Paletten gelagert werden

Paletten werden so gelagert, dass der Stapler sie erreichen kann und dass keine im Weg steht.

## 4 Gesperrte Regale und Informationen

Ein Regal ist ein Gestell mit Böden, auf denen Paletten und Kisten stehen und gelagert werden.
Ein Regal mit rotem Band ist gesperrt. Das Regal bleibt leer, bis jemand das Regal prüft.

## 5 Was ist bei Feuer zu tun?

Alle verlassen das Lager durch die nächste Tür und treffen sich auf dem Platz vor der Halle.
"""


def drafted(text: str, **given: object) -> Dataset:
    return draft_questions([Document(text=text, id_="one")], **given)  # type: ignore[arg-type]


def asked(dataset: Dataset) -> dict[str, str]:
    return {one.text: dataset.quote(one.gold[0][0]) for one in dataset.questions}


def test_an_english_handbook_is_asked_what_a_person_would_ask_and_nothing_else() -> None:
    dataset = drafted(HANDBOOK)
    found = asked(dataset)
    assert {one.text: one.kind for one in dataset.questions} == {
        "How do I load a ferry?": "howto",
        "What is a bollard?": "definition",
        "Within how many days must stale entries be countersigned and archived?": "number",
        "How is the ramp lowered?": "asked",
        "How do I report a fault to my engineer?": "howto",
        "What does --berth do?": "table",
        "What is the default of --tide?": "table",
    }
    assert found["How do I load a ferry?"].startswith("Two lines are thrown")
    assert found["How do I load a ferry?"].endswith("lowered onto the quay.")
    assert found["What is a bollard?"].endswith("made fast.")
    assert found["What does --berth do?"].startswith("| `--berth`")


def test_getting_started_is_asked_about_only_where_a_heading_says_with_what() -> None:
    text = "Install it from its page, then run it once to see that all of its parts are there."
    guide = f"# Guide\n\n## Getting started\n\n{text}\n\n## Getting started with Docker\n\n{text}\n"
    assert [*asked(drafted(guide))] == ["How do I get started with Docker?"]


def test_a_german_guide_is_asked_in_german() -> None:
    dataset = drafted(ANLEITUNG)
    assert {one.text: one.kind for one in dataset.questions} == {
        "Wie kann ich den Stapler starten?": "howto",
        "Wie kann ich mein Fahrzeug abstellen?": "howto",
        "Was ist ein Regal?": "definition",
        "Was ist bei Feuer zu tun?": "asked",
    }


CLEANING = (
    "## Cleaning the pump\n\nOpen the tap for a minute, until the water that leaves it is clear. "
    "The pump is then shut again.\n\n"
)
LONG = "The next step is the same as the one before it, and it is done in the same way. " * 40


@pytest.mark.parametrize(
    "text",
    [
        (
            "## Installing the printer\n\nThe printer is installed in these steps, one by one.\n\n"
            "### The driver\n\nThe driver is on the disk that comes with it, and is copied first."
        ),
        f"## Cleaning the tank\n\nThe tank is cleaned once a week, by these steps.\n\n{LONG}",
        (
            "## Memory\n\nA part of the memory is set apart. The **secure heap** is a fixed size "
            "of it, which is set at the start."
        ),
        "## Debugging options\n\nThese are of use for those who look for faults in the program.",
    ],
    ids=["lead-in", "cut", "the", "options"],
)
def test_what_the_passage_does_not_answer_is_not_asked(text: str) -> None:
    assert [*asked(drafted(f"# Manual\n\n{CLEANING}{text}\n"))] == ["How do I clean the pump?"]


@pytest.mark.parametrize(
    ("above", "heading"),
    [
        ("Telling about the document", "Comment"),
        ("Concepts", "Placeholders"),
        ("Konzepte", "Platzhalter"),
        ("Office manual", "Miscellaneous"),
    ],
)
def test_a_search_phrase_is_not_put_together_of_what_says_nothing(above: str, heading: str) -> None:
    text = f"# {above}\n\n## {heading}\n\nA few words on it stand here, for those who look for it."
    found = drafted(
        f"{text}\n\n# Pump rinsing\n\n{CLEANING.partition(chr(10))[2]}", kinds=["phrase"]
    )
    assert heading not in " ".join(asked(found))


def test_search_phrases_are_headings_without_number_and_are_made_only_when_asked_for() -> None:
    assert "phrase" not in QUESTIONS
    dataset = drafted(HANDBOOK, kinds=["phrase"])
    assert {one.text for one in dataset.questions} == {
        "Harbour handbook", "Loading a ferry", "Log entries", "Report a fault to your engineer",
        "Report archive", "Harbour handbook Options",
    }  # fmt: skip
    assert all(one.kind == "phrase" and one.draft for one in dataset.questions)


@pytest.mark.parametrize("text", [HANDBOOK, ANLEITUNG])
def test_every_draft_reads_as_a_question_and_its_answer_is_whole(text: str) -> None:
    dataset = drafted(text, kinds=DRAFT_KINDS)
    edges = {0, len(text), *(at for one in re.finditer(r"\n", text) for at in one.span())}
    sentences = {at for one in re.finditer(r"(?<=[.?!])\s", text) for at in one.span()}
    for one in dataset.questions:
        start, end = one.gold[0][0].span
        assert start in edges | sentences
        assert end in edges | sentences
        assert one.kind == "phrase" or one.text.count("?") == 1
        assert one.text[0].isupper() or one.kind == "phrase"
        assert len(one.text) <= 160
        assert one.draft


def test_a_document_that_holds_its_text_twice_gives_the_same_questions_with_two_answers() -> None:
    once, twice = drafted(HANDBOOK), drafted(f"{HANDBOOK}\n{HANDBOOK}")
    assert asked(twice) == asked(once)
    assert {len(one.gold) for one in twice.questions} == {2}


def test_what_has_two_answers_is_not_asked() -> None:
    other = HANDBOOK.replace("Two lines are thrown ashore", "Three lines are thrown ashore")
    found = draft_questions([Document(text=HANDBOOK, id_="a"), Document(text=other, id_="b")])
    said = {one.text for one in found.questions}
    assert "How do I load a ferry?" not in said
    assert "How is the ramp lowered?" in said


def test_the_order_of_documents_changes_nothing() -> None:
    documents = [Document(text=HANDBOOK, id_="a"), Document(text=ANLEITUNG, id_="b")]
    one, other = draft_questions(documents), draft_questions(documents[::-1])
    assert {each.id for each in one.questions} == {each.id for each in other.questions}


def test_few_are_spread_over_kinds_and_another_seed_takes_others() -> None:
    few = drafted(HANDBOOK, count=5)
    assert {one.kind for one in few.questions} == set(QUESTIONS)
    seeds = [frozenset(asked(drafted(HANDBOOK, count=5, seed=seed))) for seed in range(4)]
    assert len(set(seeds)) > 1
    assert drafted(HANDBOOK, count=5) == few


def test_a_table_gives_five_drafts_at_most() -> None:
    rows = "".join(
        f"| `code_{number}` | What went wrong in case number {number} |\n" for number in range(9)
    )
    table = f"# Errors\n\n| Code | Meaning |\n|---|---|\n{rows}\nThe table of what can go wrong.\n"
    assert len(drafted(f"{table}\nIt is for those of us who read it in the office.").questions) == 5


NETZ = "Man muss den Dienst kennen, und wer den Dienst kennt, lädt die Kernel-Module."
SITE = "This is for managing users of large systems, and to open a file is as easy as the Database."


@pytest.mark.parametrize(
    ("heading", "text", "cased"),
    [
        ("Den TFTP-Server starten", NETZ, "den TFTP-Server starten"),
        ("Kernel-Module laden", NETZ, "Kernel-Module laden"),
        ("Managing Users", SITE, "managing users"),
        ("HPC Systems", SITE, "HPC systems"),
        ("Open Database Connectivity", SITE, "Open Database Connectivity"),
    ],
)
def test_whether_a_word_keeps_its_capital_is_asked_of_the_document(
    heading: str, text: str, cased: str
) -> None:
    assert Page(Document(text=f"# {heading}\n\n{text}")).cased(heading) == cased


@pytest.mark.parametrize(
    "text",
    [
        "Ann: Well, I think we should open a window.\nBob: Yes, me too, as it is nice.\n" * 9,
        "# Getting Started\n\nA basic build compiles and tests what somebody has written so far.",
        "# インストール方法\n\nこの章では、システムのインストール方法を説明します。簡単です。",
    ],
)
def test_where_nothing_reads_as_a_question_it_is_said_with_what_to_do(text: str) -> None:
    with pytest.raises(DatasetError, match=r"few headings .* label passages"):
        drafted(text)


def test_a_language_without_grammar_gives_question_headings_and_phrases_alone() -> None:
    text = (
        "# ¿Cómo se abre la puerta grande?\n\nLa puerta se abre con la llave que está en la caja "
        "de la entrada.\n\n# Abrir la ventana\n\nLa ventana es una abertura que se abre con la "
        "mano, y la ventana se cierra con la mano.\n"
    )
    assert {one.kind for one in drafted(text, kinds=DRAFT_KINDS).questions} == {"asked", "phrase"}


def test_that_there_are_fewer_than_asked_for_is_said() -> None:
    dataset = drafted(HANDBOOK)
    assert "Only 7 places" in fewer(dataset, 40)
    assert fewer(dataset, 7) == ""
    assert fewer(drafted(CLEANING), 2).startswith("Only 1 place can be asked about")


def test_a_refusal_names_the_kinds_that_were_asked_for() -> None:
    with pytest.raises(
        DatasetError, match="few places are of the kind number, table: label"
    ) as told:
        drafted(CLEANING, kinds=["table", "number"])
    assert "heading" not in str(told.value)
    assert "of the kind phrase:" in fewer(drafted(HANDBOOK, kinds=["phrase"]), 99, ["phrase"])


@pytest.mark.parametrize(
    "given", [{"kinds": ["poem"]}, {"kinds": []}, {"count": 0}], ids=["poem", "none", "zero"]
)
def test_what_cannot_be_drafted_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        drafted(HANDBOOK, **given)
