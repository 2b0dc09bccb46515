import pytest

from rag_nodes.store.catalogue import collection_name, described, parser_collection

BASE = ("manuals", "0123456789ab", "HeadingHierarchyNodeParser", "openai:text-embedding-3-small")


@pytest.mark.parametrize("position", range(4))
def test_everything_that_decides_the_content_is_in_the_name(position: int) -> None:
    other = list(BASE)
    other[position] += "x"
    assert collection_name(*other) != collection_name(*BASE)


def test_the_name_says_what_is_in_the_collection() -> None:
    info = described(collection_name(*BASE), points=7)
    assert info is not None
    assert info.corpus == "manuals"
    assert info.parser == "HeadingHierarchyNodeParser"
    assert info.embedding == "openai-text-embedding-3-small"
    assert info.points == 7


@pytest.mark.parametrize(
    "corpus", ["", "../../etc", "a.b.c", "Ä ü/日本", "x" * 500, "\ud800", "CON "]
)
def test_any_corpus_name_becomes_a_safe_folder_name(corpus: str) -> None:
    name = collection_name(corpus, *BASE[1:])
    assert described(name, 0) is not None
    assert name.isascii()
    assert not set(name) & set("/\\: ")
    assert len(name) < 200


def test_corpora_that_read_the_same_stay_apart() -> None:
    assert collection_name("a b", *BASE[1:]) != collection_name("a-b", *BASE[1:])


@pytest.mark.parametrize("name", ["other", "a.b.c", "a.b.c.nothexnothex", "a.b.c.d.0123456789ab"])
def test_foreign_collections_are_not_taken_for_ours(name: str) -> None:
    assert described(name, 0) is None


def test_a_parser_names_its_own_collection() -> None:
    class Parser:
        fingerprint = BASE[1]

        @classmethod
        def class_name(cls) -> str:
            return BASE[2]

    assert parser_collection(BASE[0], Parser(), BASE[3]) == collection_name(*BASE)
