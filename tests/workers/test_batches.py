from __future__ import annotations

from pathlib import Path

from rag_nodes.readers import ListedFile
from rag_nodes.workers.batches import MOST_BYTES, MOST_FILES, DueFile, FileGroup, FileGroups


def due(count: int, *, size: int = 1, suffix: str = ".md") -> list[DueFile]:
    return [
        DueFile(number, ListedFile(Path(f"{number}{suffix}"), f"/{number}", size, 0))
        for number in range(count)
    ]


def positions(group: FileGroup | None) -> list[int]:
    assert group is not None
    return [one.position for one in group.files]


def culprit_found(culprit: int, count: int, *, while_embedding: bool) -> tuple[list[int], int]:
    """Files that are given up where one kills its worker, and how many workers that took."""
    groups, lost, deaths = FileGroups(due(count)), [], 0
    while group := groups.next():
        named = positions(group)
        if culprit in named:
            deaths += 1
            begun = len(named) if while_embedding else named.index(culprit)
            lost += groups.died(group, begun)
    return [one.position for one in lost], deaths


def test_a_batch_has_some_files_and_some_bytes() -> None:
    groups = FileGroups(due(MOST_FILES + 3))
    assert positions(groups.next()) == list(range(MOST_FILES))
    assert positions(groups.next()) == list(range(MOST_FILES, MOST_FILES + 3))
    assert groups.next() is None
    assert positions(FileGroups(due(3, size=MOST_BYTES // 2)).next()) == [0, 1]


def test_a_large_file_goes_alone() -> None:
    groups = FileGroups(due(2, size=MOST_BYTES * 2))
    assert [positions(groups.next()), positions(groups.next())] == [[0], [1]]


def test_files_are_listed_no_further_than_needed() -> None:
    listed = []

    def files() -> object:
        for one in due(1000):
            listed.append(one)
            yield one

    groups = FileGroups(files())  # type: ignore[arg-type]
    groups.next()
    assert len(listed) == MOST_FILES + 1


def test_files_of_many_documents_go_one_at_a_time_while_others_pass() -> None:
    files = [*due(2, suffix=".jsonl"), *(one._replace(position=9) for one in due(1))]
    groups = FileGroups(files)
    assert positions(groups.next()) == [0]
    assert positions(groups.next(collections=False)) == [9]
    assert groups.next(collections=False) is None
    assert positions(groups.next()) == [1]


def test_the_file_in_hand_is_tried_alone_after_the_others() -> None:
    groups = FileGroups(due(5))
    group = groups.next()
    assert group is not None
    assert groups.died(group, 2) == []
    assert positions(groups.next()) == [0, 1, 3, 4]
    assert positions(groups.next()) == [2]


def test_a_file_that_kills_two_workers_is_given_up_and_no_other() -> None:
    assert culprit_found(7, 20, while_embedding=False) == ([7], 2)


def test_a_file_that_kills_while_it_is_embedded_is_found_by_halves() -> None:
    lost, deaths = culprit_found(7, 32, while_embedding=True)
    assert lost == [7]
    assert deaths <= 7


def test_an_innocent_file_in_hand_survives_being_blamed_once() -> None:
    groups = FileGroups(due(2))
    first = groups.next()
    assert first is not None
    groups.died(first, 0)
    assert [positions(groups.next()), positions(groups.next())] == [[1], [0]]
    assert groups.next() is None


def test_a_worker_that_had_not_begun_leaves_its_files_as_they_were() -> None:
    groups = FileGroups(due(3))
    group = groups.next()
    assert group is not None
    assert groups.died(group, None) == []
    assert groups.next() == group


def test_what_is_left_can_be_given_up_as_a_whole() -> None:
    groups = FileGroups(due(MOST_FILES * 2))
    groups.next()
    assert [one.position for one in groups.rest()] == list(range(MOST_FILES, MOST_FILES * 2))
    assert groups.next() is None


def test_a_group_that_nobody_has_begun_comes_next_again() -> None:
    groups = FileGroups(due(MOST_FILES * 2))
    group = groups.next_to_wait()
    assert group is not None
    groups.put_back(group)
    assert groups.next() == group
