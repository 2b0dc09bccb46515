"""Questions where there are none yet: drafts, which are material to accept and choose nothing.

`draft_questions` takes the headings that are questions, `write_questions` lets an LLM write them
and tries each. How long answers are decides which setting a ranking puts first, so a person says it
of each question that is accepted; before that, `rag_nodes.evaluation.drafts.probes` rank.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rag_nodes.core.errors import ConfigurationError, DatasetError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several_nodes
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.drafts.probes import Place, copies, drafted, evenly
from rag_nodes.evaluation.drafts.sections import MIN_WORDS, Page
from rag_nodes.evaluation.drafts.written import write_questions
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.languages import FUNCTION_WORDS, content_words
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.text.spans import Span

__all__ = ["COUNT", "draft_questions", "fewer", "write_questions"]

COUNT = 40
"""Questions that are drafted by default."""
_MANY = 3
"""Documents with all words of a heading, from which it says too little of which is meant."""
_LONGEST, _LEAST_CONTENT = 160, 2
"""Characters and content words of a heading that is asked; "How does it work?" has one."""
_REMEDY = "write questions yourself, or let an LLM draft"


@checks_keywords
def draft_questions(
    documents: Document | Sequence[Document], *, count: int = COUNT, seed: int = 0
) -> Dataset:
    r"""The headings of documents that are questions, in any language, each with its section.

    What has two answers is not asked, and copies of an answer are alternatives. For documents
    without such headings, `write_questions` has an LLM write questions.

    Args:
        documents: what is asked about, each with an id of its own; or a single one.
        count: questions at most; see `fewer`.
        seed: other questions for another number, where there are more than `count`.

    Returns:
        A dataset of drafts (`Question.draft`), in the order of the documents.

    Raises:
        ConfigurationError: nothing is asked for.
        DatasetError: no heading is a question that its section alone answers.

    Examples:
        >>> from rag_nodes.evaluation.drafts import draft_questions
        >>> from llama_index.core import Document
        >>> text = "## How do I rinse the pump?\n\nOpen the tap and let it run for a full minute."
        >>> [question] = draft_questions([Document(text=text)]).questions
        >>> question.text, question.gold[0][0].span
        ('How do I rinse the pump?', Span(start=29, end=75))
    """
    given: Sequence[Document] = list(several_nodes(documents))
    if count < 1:
        raise ConfigurationError(f"count={count}: at least 1 question must be drafted")
    questions = _asked(given)
    if not questions:
        raise DatasetError(
            f"no heading in {len(given)} document(s) is a question whose section has an answer "
            f"of at least {MIN_WORDS} words, and without an LLM only such headings become "
            f"drafts: {_REMEDY}"
        )
    chosen = sorted(evenly(len(questions), seed)[:count])
    return Dataset("drafts", tuple(given), tuple(questions[at] for at in chosen))


def fewer(drafts: Dataset, count: int) -> str:
    """Describe why there are fewer drafts than requested, and the remedy; "" if none is missing."""
    number = len(drafts.questions)
    if number >= count:
        return ""
    headings = "1 heading is a question" if number == 1 else f"{number} headings are questions"
    return (
        f"{number:,} of {count:,} questions found. Only {headings} that one section answers, and "
        f"without a model nothing else is drafted: {_REMEDY}"
    )


def _asked(documents: Sequence[Document]) -> list[Question]:
    """Each heading that is a question once, in order, where one section answers it."""
    texts = [document.text for document in documents]
    contents = [set(content_words(text)) for text in texts] if len(texts) >= _MANY else []
    groups: dict[str, list[tuple[str, Place]]] = defaultdict(list)
    for number, document in enumerate(documents):
        for heading, body in _headings(Page(document)):
            groups[heading.casefold()].append((heading, Place(number, body)))
    kept, taken = list[tuple[Place, Question]](), set[Place]()
    for group in groups.values():
        heading, first = group[0]
        own = set(content_words(heading))
        is_vague = own and sum(own <= content for content in contents) >= _MANY
        answers = {" ".join(span.of(texts[at]).split()) for _, (at, span) in group}
        if is_vague or len(answers) > 1:
            continue  # which one is meant?
        places = copies(first, texts)
        if places and taken.isdisjoint(places):
            taken.update(places)
            gold = tuple((Passage(documents[at].id_, span),) for at, span in places)
            quote = first.span.of(texts[first.document])
            kept.append((first, drafted(heading, quote, gold, "asked")))
    return [question for _, question in sorted(kept, key=lambda pair: pair[0])]


def _headings(page: Page) -> Iterator[tuple[str, Span]]:
    """Headings that are questions, and what stands below each."""
    for heading, body in page.sections:
        ends = heading.endswith(("?", "？", "؟"))  # noqa: RUF001 -- of several scripts
        content = [word for word in words(heading) if word not in FUNCTION_WORDS]
        if ends and len(content) >= _LEAST_CONTENT and len(heading) <= _LONGEST:
            yield heading, body
