"""What a run of the documentation workflow did."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from rag_nodes.documentation.statistics import PageFinding, Statistics
    from rag_nodes.documentation.thresholds import Threshold

_MINIMA = {"summary_tokens": 16, "concurrency": 1, "workers": 1}
"""Of options that are numbers; the parser checks its own."""


@dataclass(frozen=True, slots=True)
class DocsStep:
    """One step of a running workflow, for progress bars.

    "pages" are cut and checked, by the URL of the page just done; "summaries" are written, by the
    model. `total` is None while it is not known.
    """

    stage: Literal["pages", "summaries"]
    name: str
    done: int
    total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsOptions:
    """How a crawl becomes chunks.

    Attributes:
        parser: cuts the pages: any of ours, or a splitter of another package (see `as_parser`);
            None for one that cuts at headings.
        summaries: whether chunks get a summary.
        summary_tokens: tokens of a summary.
        knowledge_base: what the documentation is about, for the prompt.
        concurrency: requests for summaries under way at the same time.
        resume: use the summaries that an interrupted run left beside the output.
        format: key of `FORMATS`.
        workers: processes that cut; None for one, or all cores where the crawl is large and the
            parser asks no model.
        fail_on: thresholds whose crossing is reported.
        keep_duplicates: cut a page again where its text is found under a second URL.

    Raises:
        ConfigurationError: a value is out of range or unknown.
    """

    parser: object = None
    summaries: bool = True
    summary_tokens: int = 150
    knowledge_base: str = ""
    concurrency: int = 4
    resume: bool = False
    format: str = "documentation"
    workers: int | None = None
    fail_on: tuple[Threshold, ...] = ()
    keep_duplicates: bool = False

    def __post_init__(self) -> None:
        from rag_nodes.documentation.export import FORMATS

        if self.format not in FORMATS:
            raise ConfigurationError(
                f"format {self.format!r} is unknown; choose one of: {', '.join(FORMATS)}"
            )
        for name, minimum in _MINIMA.items():
            value = getattr(self, name)
            if value is not None and value < minimum:
                raise ConfigurationError(f"{name} is {value}; at least {minimum} is needed")


@dataclass(frozen=True, slots=True)
class Repeated:
    """A page that stands under several URLs: the one that was kept, and the others."""

    page: str
    also_at: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsReport:
    """Everything one run did.

    `parser` is what cut the pages, as `load_parser` takes it; `model` wrote the summaries, None
    where there are none; `reused` counts those that came from the journal of an interrupted run,
    and `journal` is where paid ones were kept because others failed. `findings` are up to 10,000,
    in the order of the pages; `failed_pages` and `crossed` thresholds are told in words.
    """

    input: str
    output: str
    format: str
    parser: dict[str, Any]
    model: str | None
    reused: int
    statistics: Statistics
    findings: tuple[PageFinding, ...]
    failed_pages: tuple[str, ...]
    repeated: tuple[Repeated, ...]
    crossed: tuple[str, ...]
    journal: str | None
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether no page failed and no summary is missing that a model was to write."""
        return not self.failed_pages and not self.statistics.summaries.get("failed")

    def as_dict(self) -> dict[str, Any]:
        """Plain data for `--json` and the report beside the output."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return plain | {
            "statistics": self.statistics.as_dict(),
            "findings": [asdict(finding) for finding in self.findings],
            "failed_pages": list(self.failed_pages),
            "repeated": [asdict(page) for page in self.repeated],
            "crossed": list(self.crossed),
            "seconds": round(self.seconds, 3),
        }
