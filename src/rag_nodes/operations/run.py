"""`Run`: what the functions of operations work with, whoever asked and however it is shown."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rag_nodes.core.errors import ConfigurationError, DatasetError
from rag_nodes.core.processes import current_interrupt, unless_interrupted
from rag_nodes.operations.fields import Searching
from rag_nodes.operations.parsers import make_offered, make_parsers
from rag_nodes.operations.places import check_there
from rag_nodes.operations.workspace.limits import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.core.settings import Settings
    from rag_nodes.embedding.report import Progress
    from rag_nodes.models import Models
    from rag_nodes.operations.base import Request
    from rag_nodes.operations.fields import ParserSpec
    from rag_nodes.operations.workspace.session import Session
    from rag_nodes.parsers import Preset, SpanNodeParser
    from rag_nodes.query import Answer, QueryOptions, RagNodesQueryEngine
    from rag_nodes.readers import Limits, ReadResult

_ASKED = ("granularity", "mode", "expand", "retrieval_only")
"""Fields of a request that have the same name in `QueryOptions`."""


class Doing(NamedTuple):
    """Work begins that takes seconds and has no steps to count."""

    what: str


class Said(NamedTuple):
    """A word beside the result; a warning says that something is not as it was asked for."""

    words: str
    level: Literal["note", "warning"] = "note"


class QuestionAsked(NamedTuple):
    """A question is asked now, and pieces of its answer follow.

    `searched` is the standalone question that a follow-up was condensed to, or the same question.
    """

    question: str
    models: str
    searched: str


class Run:
    """One operation under way.

    Progress, pieces of answers and words beside the result all go to `emit`, which ends the work
    where somebody has set its interrupt.

    Args:
        settings: models, limits and store.
        emit: hears of every event: `Doing`, `Said`, steps of the library (with `stage`, `done`,
            `total`), and where answers are streamed, `QuestionAsked` and pairs of a column and an
            event.
        streams: answers are sent piece by piece.
        typed: names of the settings that were typed for this run, and not configured before.
        session: what a stranger has sent; None where the owner of the computer asks.
        offer: parsers that a stranger may name; None for the owner, who may name any.
        waits: whether the work waits for a folder that another process uses, see `open_when_free`.

    Raises:
        ConfigurationError: a stranger, who leaves nothing behind, has a store that is kept.
    """

    def __init__(
        self,
        settings: Settings,
        emit: Callable[[object], None] = lambda _: None,
        *,
        streams: bool = False,
        typed: Collection[str] = (),
        session: Session | None = None,
        offer: Mapping[str, Preset] | None = None,
        waits: bool = True,
    ) -> None:
        if offer is not None and (session is None or session.location != MEMORY):
            raise ConfigurationError(
                "documents of visitors must not be stored; use a store in memory"
            )
        self.settings = settings
        self._emit = emit
        self._interrupt = current_interrupt()
        self.streams = streams
        self.typed = typed
        self.documents = session.documents if session else ()
        self.offer = offer
        self.unread: list[str] = []
        self.skipped: dict[str, int] = {}
        self.excluded = 0
        self.cleanup = ExitStack()
        self._session = session
        self._waits = waits

    @property
    def is_trusted(self) -> bool:
        """True if the owner of the computer asks."""
        return self.offer is None

    def close(self) -> None:
        """Free everything that was opened on the way."""
        self.cleanup.close()

    def check(self) -> None:
        """Do nothing, unless the work is to end.

        Raises:
            CancelledError: it is, see `rag_nodes.core.processes.interruptible`.
        """
        self._interrupt.check("this")

    def emit(self, event: object) -> None:
        """Tell of an event, unless the work is to end (see `check`); safe from any thread."""
        self.check()
        self._emit(event)
        self.check()

    def note(self, words: str) -> None:
        """Say something beside the result."""
        self.emit(Said(words))

    def warn(self, words: str) -> None:
        """Say that something is not as it was asked for."""
        self.emit(Said(words, "warning"))

    def tell(self, request: Request) -> None:
        """Have what the request says about settings win over them; before anything is opened."""
        self.check()
        settings = {name: getattr(request, name) for name in request.configures}
        self.configure({name: value for name, value in settings.items() if value is not None})

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Have these settings instead.

        Raises:
            ConfigurationError: a value is out of range.
        """
        if settings:
            kept = self.settings.model_dump(exclude_unset=True)
            self.settings = type(self.settings)(**{**kept, **settings})

    @property
    def session(self) -> Session:
        """A stranger's; of the owner the one over the store, see `stored`."""
        self.check()
        return self._session or self.stored

    @cached_property
    def stored(self) -> Session:
        """Models and store of the settings, also where a stranger asks: what is there is read."""
        from rag_nodes.operations.workspace.session import Session

        note = self.note if self._waits else None
        session = Session(self.settings, store=self.settings.store, note=note)
        return self.cleanup.enter_context(session)

    def models(self, *, answers: bool = True, check: bool = True) -> Models:
        """The models that will run, known to answer; see `Session.models`."""
        return self.session.models(answers=answers, check=check, settings=self.settings)

    def writing(
        self, tokens: int, requests_per_minute: int | None = None, **settings: Any
    ) -> Models:
        """The LLM that writes texts of so many tokens; nothing is embedded, so nothing need answer.

        Args:
            tokens: of a text, at most.
            requests_per_minute: repeated ones included; None for no limit.
            settings: others that hold for it.
        """
        from rag_nodes.models import choose_models
        from rag_nodes.models.pacing import RequestWindow

        own = {"embedding": "lexical", "max_output_tokens": tokens, "temperature": 0.0}
        models = choose_models(self.settings.model_copy(update=own | settings))
        if models.llm and requests_per_minute:
            models.llm.rate_limiter = RequestWindow(requests_per_minute)
        return models

    def parsers(
        self,
        specs: Sequence[ParserSpec],
        models: Models | None = None,
    ) -> dict[str, SpanNodeParser]:
        """The parsers that a request names, by label; models are loaded for one that embeds.

        Raises:
            ConfigurationError: see `make_parsers` and `make_offered`.
        """

        def embedding() -> Any:
            return (models or self.models(answers=False)).sentence_model

        if self.offer is not None:
            return make_offered(specs, self.offer, embedding)
        return make_parsers(specs, embedding)

    def options(self, request: Request, **defaults: Any) -> QueryOptions:
        """Return the options of an answer: from the request, else the settings, else `defaults`.

        A limit that was asked for holds as it is, also for questions about steps.

        Args:
            request: may have a `filter` and options of a search, and be silent about all.
            defaults: options where neither says anything.

        Raises:
            ConfigurationError: they contradict each other.
        """
        from rag_nodes.query import QueryOptions

        settings = self.settings
        limits = {"budget": context_budget(settings), "top_k": settings.top_k}
        chosen = defaults | {k: v for k, v in settings.answering().items() if v is not None}
        asked = {name: getattr(request, name, None) for name in _ASKED}
        if isinstance(request, Searching) and (request.budget or request.top_k):
            chosen["step_factor"] = 1.0
        request_options = {
            name: value for name, value in asked.items() if value is not None and value is not False
        }
        if (conditions := getattr(request, "filter", None)) is not None:
            if not self.is_trusted:
                conditions.check_no_path()
            request_options["filter"] = conditions.condition()
        return QueryOptions(**chosen | limits | request_options)

    def answer(
        self,
        engine: RagNodesQueryEngine,
        question: str,
        column: str,
        *,
        follow_up: bool | str = False,
    ) -> Answer:
        """The answer of one engine, sent piece by piece where somebody listens.

        Args:
            engine: answers.
            question: as typed.
            column: name of the engine in the events.
            follow_up: the earlier question that this one follows; False if it stands alone.

        Raises:
            RagNodesError: there is none, or it broke off; what had arrived was sent.
        """
        from rag_nodes.query.follow_ups import standalone

        models, prices = engine.models, engine.options.prices
        condense = partial(standalone, question, follow_up, (), models, prices)
        condensed = unless_interrupted(condense, "the question") if follow_up else condense()
        searched = condensed.question
        if not self.streams:
            answer = unless_interrupted(lambda: engine.answer(searched), "the question")
            return condensed.counted_in(answer)
        from rag_nodes.query import Failed, Finished

        self.emit(QuestionAsked(question, models.describe(), searched))
        for event in engine.stream(searched):
            self.emit((column, event))
            if isinstance(event, Finished):
                return condensed.counted_in(event.answer)
            if isinstance(event, Failed):
                raise event.error
        raise AssertionError("a stream ends with Finished or Failed")

    def limits(self) -> Limits:
        """Return the limits of reading one file."""
        from rag_nodes.readers import Limits

        return Limits(**self.settings.reading())

    def read(self, paths: Sequence[Path]) -> list[Document]:
        """The documents of files; errors of the others are said and kept in `unread`.

        Raises:
            FileMissingError: there is none of these files.
            DatasetError: none can be read.
        """
        check_there(paths)
        documents = []
        for result in self.results(paths):
            if result.document is not None:
                documents.append(result.document)
            if result.error is not None:
                self.unread.append(str(result.error))
                self.warn(self.unread[-1])
        if paths and not documents:
            raise DatasetError("none of the documents could be read; see above")
        return documents

    def results(
        self, paths: Sequence[Path], progress: Callable[[Progress], None] = lambda _: None
    ) -> Iterator[ReadResult]:
        """Read files and folders; what is left out is said and added to `skipped`.

        Args:
            paths: files and folders.
            progress: hears of every file that was read.

        Raises:
            ConfigurationError: a pattern of `exclude` is wrong.
            CancelledError: the run was ended.
        """
        from rag_nodes.embedding.report import Progress
        from rag_nodes.readers import Exclusion, Skipped, listed, read_listed

        skipped, limits = Skipped(), self.limits()
        files = [*listed(paths, exclude=Exclusion(self.settings.exclude), skipped=skipped)]
        for number, file in enumerate(files, 1):
            for result in read_listed(file, limits=limits):
                self.check()
                yield result
            progress(Progress("read", file.path.name, number, len(files)))
        self.tell_skipped(skipped.by_type(), skipped.excluded)

    def tell_skipped(self, skipped: Mapping[str, int], excluded: int) -> None:
        """Say which files were left out, and keep their numbers."""
        from rag_nodes.readers import Skipped

        self.skipped, self.excluded = dict(skipped), excluded
        if words := str(Skipped(Counter(skipped), excluded)):
            self.note(f"{words[0].upper()}{words[1:]}.")


def context_budget(settings: Settings) -> int | None:
    """Tokens of context; asking for a number of chunks alone lifts the default limit."""
    if settings.top_k is not None and "budget" not in settings.model_fields_set:
        return None
    return settings.budget
