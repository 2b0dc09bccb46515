"""The decision in a strip: one sentence, what it rests on, and how to use it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from rag_nodes.apps.markup import count, in_a_line, left, render
from rag_nodes.apps.panes.evidence import against, asked_of, details_html, place_of
from rag_nodes.apps.panes.top import READINGS
from rag_nodes.apps.visitors.deciding import column_of
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.evaluation.drafts.probes import ANSWER_LENGTHS, examples
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.run import standing
from rag_nodes.evaluation.wording import rounded
from rag_nodes.operations.scripts import script_name, script_of, script_to_use
from rag_nodes.parsers import ForeignNodeParser
from rag_nodes.parsers.loading import spec_of

if TYPE_CHECKING:
    from markupsafe import Markup

    from rag_nodes.apps.visitors.session import PageSession

__all__ = ["decision_html", "exported", "place_of", "show_decision", "show_use", "use_html"]
DECISION = ""
"""Name of the decision among the settings that a script is made of."""
_TOO_SHORT = (
    "These documents have too little text to compare settings: add more, or label questions."
)
_STAYS = "The previous decision stays."
_UNTIL_THEN = "The previous decision stays until the new one is made."
_TITLES = {"sentence": "a sentence or two", "paragraph": "a paragraph", "page": "a page"}
_FIRST_WORDS, _LAST_WORDS, _MORE = 26, 14, "[…]"
"""Words that are shown of the beginning and of the end of an example."""


def show_decision(session: PageSession) -> None:
    """Show the decision as it is now, and what it rests on if that is new."""
    session.screen.show("decision", partial(decision_html, session))
    key = f"{session.decider.revision} {session.decider.baseline} {id(session.comparison)}"
    if session.shown_decision != key:
        session.shown_decision = key
        session.screen.show("details", partial(details_html, session))
        show_use(session)


def show_use(session: PageSession) -> None:
    """Show the script of the setting that was chosen to use."""
    session.screen.show("use", partial(use_html, session))


def decision_html(session: PageSession) -> Markup:
    """Draw the sentence, progress, and buttons."""
    decider = session.decider
    if session.comparison is None:
        return render("decision_empty")
    verdict, running = decider.verdict, decider.running
    decision = verdict.decision if verdict else standing(decider.plan)
    first, reasons = decision.headline
    doing, share = _progress(session)
    has_new = not running and decider.has_new_questions
    lengths = _lengths(session)
    is_settled = running or (verdict is not None and not decider.is_previous)
    start = "" if is_settled else "Try again" if decider.error else "Test the settings"
    is_too_short = bool(lengths) and not any(length["example"] for length in lengths)
    return render(
        "decision",
        certainty=decision.certainty,
        first=first,
        others=[text for text in (reasons, decision.costs) if text],
        budget=_context(session),
        standard=f"{EvaluationPlan().budget:,}",
        reading=READINGS[session.context.granularity or "chunks"],
        measure=verdict.measure if verdict else "",
        asked=asked_of(verdict) if verdict else "",
        running=running,
        doing=doing,
        share=f"{share:.3f}",
        error=_TOO_SHORT if is_too_short else decider.error,
        kept="" if not decider.is_previous else _UNTIL_THEN if running else _STAYS,
        price="" if is_settled or is_too_short else decider.price,
        start="" if is_too_short else start,
        by_questions=count(session.questions.accepted, "question") if has_new else "",
        baseline=decider.baseline,
        taken=_against_taken(session),
        has_intervals=bool(verdict and verdict.contrasts),
        unmeasured=_unmeasured(session),
        lengths=lengths,
    )


def _against_taken(session: PageSession) -> Any:
    """Compare what the decision names with the baseline; None if they are not compared."""
    verdict = session.decider.verdict
    if verdict is None:
        return None
    rows = against(verdict, session.decider.baseline)
    return next((row for row in rows if row.name == verdict.decision.take), None)


def _unmeasured(session: PageSession) -> str:
    """Say why the baseline has no numbers; "" if it has some, or nothing was measured."""
    verdict, baseline = session.decider.verdict, session.decider.baseline
    rows = verdict.of_role("own") if verdict else ()
    return next((row.error for row in rows if row.column == baseline and row.error), "")


def _context(session: PageSession) -> str:
    """Return the context of questions, by which settings are measured as well, in words."""
    top_k, budget = session.context.top_k, session.context.budget
    return count(top_k, "chunk") if top_k else f"{budget or session.decider.plan.budget:,} tokens"


def _lengths(session: PageSession) -> list[dict[str, Any]]:
    """Lengths of answers to choose from; none if accepted questions decide."""
    verdict = session.decider.verdict
    if verdict and not verdict.dataset.probed:
        return []
    texts = {document.id_: document.text for document in session.documents}
    passages = examples(session.documents)
    lengths = []
    for name in ANSWER_LENGTHS:
        text = passages[name].span.of(texts[passages[name].document]) if name in passages else ""
        words = in_a_line(text).split()
        is_long = len(words) > _FIRST_WORDS + _LAST_WORDS
        short = [*words[:_FIRST_WORDS], _MORE, *words[-_LAST_WORDS:]] if is_long else words
        lengths.append({"name": name, "title": _TITLES[name], "words": f"{rounded(len(words)):,}",
                        "example": " ".join(short),
                        "chosen": name == session.decider.length})  # fmt: skip
    return lengths


def _progress(session: PageSession) -> tuple[str, float]:
    sweep = session.decider.sweep
    step = sweep.step if sweep else None
    if session.working:
        return "Paused while a question is being answered or documents are loaded", 0.0
    if sweep and sweep.waits:
        return "Waiting for tests of other visitors' documents", 0.0
    if step is None or not step.total:
        return "About to test settings on your documents", 0.0
    rest = left(step.seconds_left) if step.seconds_left else ""
    return f"Testing settings on your documents: {step.name}{rest}", step.done / step.total


def use_html(session: PageSession) -> Markup:
    """Draw the spec and the script of a setting, with a choice of settings."""
    comparison = session.comparison
    if comparison is None:
        return render("use", choices=[], using="", spec="", script="", error="", baseline="")
    choices = [(name, name) for name in comparison.names]
    if session.decider.verdict:
        choices.insert(0, (DECISION, "The decision"))
    spec, script, error = "", "", ""
    try:
        spec, script, _ = exported(session)
    except ConfigurationError as failure:
        error = str(failure)
    return render(
        "use",
        choices=choices,
        using=_using(session),
        spec=spec,
        script=script,
        error=error,
        baseline=session.columns.baseline,
    )


def _using(session: PageSession) -> str:
    """Return the setting to use: before a test there is no decision, so a column stands for it."""
    return session.using or (DECISION if session.decider.verdict else session.columns.chosen)


def exported(session: PageSession) -> tuple[str, str, str]:
    """Return spec, script and file name of the setting that the visitor chose to use.

    Raises:
        ConfigurationError: nothing is loaded, or no script can name the setting.
    """
    comparison, verdict = session.comparison, session.decider.verdict
    if comparison is None:
        raise ConfigurationError("No document yet: add one first.")
    name = _using(session)
    if verdict and name == DECISION:
        decision = verdict.decision
        if decision.parser:
            script = script_to_use(decision, comparison.models, "chosen.py", comparison.options)
            return decision.preset, script, "chosen.py"
        if decision.take is None:
            raise ConfigurationError("Nothing is decided: choose a column to use.")
        name = column_of(verdict.row(decision.take))
    if name in comparison.found:
        keep = "Keep " if session.using == DECISION else ""
        raise ConfigurationError(f"{keep}{name}: it is your own, so you have its code already.")
    parser = comparison.parsers.get(name)
    if isinstance(parser, ForeignNodeParser):
        spec = parser.path
    else:
        spec = spec_of(parser, name) if parser else ""
    return spec, script_of(comparison, name), script_name(name)
