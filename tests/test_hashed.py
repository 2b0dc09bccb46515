"""What is remembered of very many keys."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rag_nodes import hashed
from rag_nodes.hashed import HashedKeys

NAMES = [f"{number}.md" for number in range(80)]


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 9))))
def test_each_key_has_the_number_that_was_put_last(pairs: list[tuple[str, int]]) -> None:
    keys, plain = HashedKeys(), dict[str, int]()
    for key, number in pairs:
        assert keys.put(key, number) == (key not in plain)
        plain[key] = number
    assert [keys.get(name) for name in NAMES] == [plain.get(name) for name in NAMES]


def test_many_keys_are_told_apart_and_none_is_lost() -> None:
    keys, many = HashedKeys(), 3 * hashed._FIRST
    assert all(keys.put(f"{number}.md", number) for number in range(many))
    assert [keys.get(f"{number}.md") for number in range(many)] == list(range(many))
    assert keys.get("other.md") is None


def test_keys_that_hash_alike_at_first_sight_are_told_apart() -> None:
    keys = HashedKeys()
    alike = [number * 2**40 for number in range(1, 30)]  # equal in their last bits
    assert all(keys.put(key, number) for number, key in enumerate(alike))
    assert [keys.get(key) for key in alike] == list(range(29))
