"""One evaluation of a small corpus, which most tests of this folder look at."""

import pytest
from tests.evaluation.labelled import PLAN, columns, corpus

from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.run import evaluate


@pytest.fixture(scope="session")
def dataset() -> Dataset:
    return corpus(2)


@pytest.fixture(scope="session")
def report(dataset: Dataset) -> EvaluationReport:
    return evaluate(dataset, columns(), plan=PLAN)
