import pytest

from rag_nodes.documentation import MEASURES, Statistics, Threshold, parse_thresholds
from rag_nodes.errors import ConfigurationError


def test_thresholds_are_named_with_or_without_a_number() -> None:
    assert parse_thresholds("lost-headings, coverage=99.9 ,duplicates=3") == (
        Threshold("lost-headings", 0),
        Threshold("coverage", 99.9),
        Threshold("duplicates", 3),
    )
    assert parse_thresholds("coverage") == (Threshold("coverage", 100),)
    assert parse_thresholds("") == ()


@pytest.mark.parametrize(
    "text", ["headings", "coverage=", "coverage=much", "tokens=-1", "tokens=nan"]
)
def test_what_is_no_threshold_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="--fail-on"):
        parse_thresholds(text)


@pytest.mark.parametrize("name", MEASURES)
def test_a_run_without_faults_crosses_nothing(name: str) -> None:
    assert parse_thresholds(name)[0].crossed(Statistics()) is None


@pytest.mark.parametrize(
    ("text", "statistics"),
    [
        (
            "lost-headings=1",
            Statistics(headings=[3, 2, 0, 0, 0, 0], headings_kept=[2, 1, 0, 0, 0, 0]),
        ),
        ("split-code", Statistics(findings={"split-code": 1})),
        ("coverage=99.9", Statistics(visible=10**7, covered=9_989_999)),
        ("coverage", Statistics(visible=10**8, covered=10**8 - 1)),
        ("tokens", Statistics(findings={"wrong-tokens": 1})),
        ("tokens", Statistics(findings={"misplaced": 1})),
        ("duplicates=4", Statistics(findings={"duplicate": 5})),
        ("outside-range=2", Statistics(findings={"too-large": 1, "too-small": 2})),
        ("too-large", Statistics(findings={"too-large": 1})),
        ("too-small", Statistics(findings={"too-small": 1})),
        ("failed-pages", Statistics(pages_failed=1)),
        ("failed-summaries", Statistics(summaries={"failed": 1})),
    ],
)
def test_each_threshold_is_crossed_by_what_it_measures_and_by_nothing_else(
    text: str, statistics: Statistics
) -> None:
    [wanted] = parse_thresholds(text)
    assert wanted.name in str(wanted.crossed(statistics))
    related = {"too-large", "too-small", "outside-range", wanted.name}
    for name in MEASURES.keys() - related:
        assert parse_thresholds(name)[0].crossed(statistics) is None


def test_the_message_names_figure_and_threshold() -> None:
    message = Threshold("duplicates", 4).crossed(Statistics(findings={"duplicate": 5}))
    assert message == "duplicates: 5, over 4 (chunks whose text came before)"
