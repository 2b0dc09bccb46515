"""Excluded documents are pruned from the folders that are ingested, and nowhere else."""

from pathlib import Path

import pytest
from folder_ingests import FolderIngests, states, stored_files

from rag_nodes.core.errors import FileMissingError
from rag_nodes.pipeline.report import Pruned


def test_an_excluded_file_stays_until_it_is_pruned_and_comes_back_without_the_pattern(
    corpus: FolderIngests,
) -> None:
    corpus.ingest()
    report = corpus.ingest(exclude="1.*")
    assert (report.gone, report.excluded, report.pruned) == (1, 1, None)
    assert states(report) == ["unchanged"] * 2
    assert stored_files(corpus) == {"0.md", "1.md", "2.md"}

    pruned = corpus.ingest(exclude="1.*", prune=True).pruned
    assert pruned
    assert [Path(document).name for document in pruned.documents] == ["1.md"]
    assert stored_files(corpus) == {"0.md", "2.md"}
    assert corpus.ingest(exclude="1.*").gone == 0

    assert corpus.ingest().gone == 0
    assert stored_files(corpus) == {"0.md", "1.md", "2.md"}


def test_an_excluded_folder_is_pruned_unless_it_is_named_itself(corpus: FolderIngests) -> None:
    (corpus.folder / "sub").mkdir()
    corpus.write("sub/a.md", "# Tea\n\nGreen tea is not black.")
    corpus.ingest()
    both = (corpus.folder, corpus.folder / "sub")
    assert corpus.ingest(*both, exclude="sub", prune=True).pruned == Pruned((), 0)
    assert corpus.ingest(exclude="sub", prune=True).pruned == Pruned(
        (str(corpus.folder / "sub/a.md"),), 1
    )
    assert stored_files(corpus) == {"0.md", "1.md", "2.md"}


def test_a_folder_of_which_all_is_excluded_is_not_pruned(corpus: FolderIngests) -> None:
    corpus.ingest()
    with pytest.raises(FileMissingError, match="no document in this folder"):
        corpus.ingest(exclude="*", prune=True)
    assert stored_files(corpus) == {"0.md", "1.md", "2.md"}


def test_exclusions_of_another_ingest_prune_nothing(corpus: FolderIngests) -> None:
    corpus.ingest()
    other = corpus.folder.with_name("other")
    other.mkdir()
    (other / "b.md").write_text("# Tea\n\nAnother text.", encoding="utf-8")
    report = corpus.ingest(other, exclude="1.md", prune=True)
    assert (report.gone, report.pruned) == (0, Pruned((), 0))
