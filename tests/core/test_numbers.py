"""Untrusted text is read as a number without errors."""

import pytest

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.numbers import number_in
from rag_nodes.models.executors.ray import Ray
from rag_nodes.store.server.models import point_ids

MANY = "9" * 5000


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", " 1", "1_000", "²", "٣", MANY, None, 3])
def test_other_text_is_no_number(text: object) -> None:
    assert number_in(text) is None


def test_digits_are_a_number_up_to_a_length() -> None:
    assert (number_in("007"), number_in("999", 3), number_in("1000", 3)) == (7, 999, None)


def test_an_id_of_too_many_digits_is_sent_as_it_is() -> None:
    assert point_ids(["7", str(2**64 - 1), MANY]) == [7, 2**64 - 1, MANY]


def test_a_port_of_too_many_digits_is_no_address() -> None:
    with pytest.raises(ConfigurationError, match="is not the address of a Ray cluster"):
        next(iter(Ray(1, address=f"localhost:{MANY}").run(print, None, [])), None)
