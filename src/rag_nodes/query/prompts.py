"""Prompts of an engine, and the template filled with sources and question.

Sources are quoted as data. What would let a document step out of its quotation is made harmless
here and nowhere else: hits, citations and offsets keep the text as it is.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.base.llms.types import MessageRole
from llama_index.core.prompts import BasePromptTemplate, PromptTemplate
from llama_index.core.prompts.mixin import PromptMixin

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keys import kind_of
from rag_nodes.core.spelling import quoted
from rag_nodes.query.citations import without_marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType

    from rag_nodes.models import Models
    from rag_nodes.query.types import Source

MODULE = "response_synthesizer"
"""Under which stock engines have their prompts, and ours has its own."""
TEXT_QA = "text_qa_template"
"""Name of the prompt with excerpts and question."""
SYSTEM = "system_prompt"
"""Name of the system prompt."""
NAMES = (f"{MODULE}:{TEXT_QA}", f"{MODULE}:{SYSTEM}")
"""All of them, as an engine names them."""
_CONTEXT, _QUESTION = "\ue000context\ue000", "\ue000question\ue000"
"""Stand for the variables while LlamaIndex fills in its template; from a range for private use."""
_MIN_MARK = 3
"""Characters a line needs to count as a mark worth protecting."""
_INVISIBLE = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
"""Characters nobody sees: they hide text from people, reorder it, or break up a mark."""
_JOINERS = re.compile("[\u200c\u200d]")
"""Not seen either, but Persian and emoji are spelled with them."""
_LINE_START = "(?:^|(?<=[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]))"


class EnginePrompts(PromptMixin):
    """The prompts of one engine, which `update_prompts` replaces for the answers that follow.

    `text_qa_template` is any template of LlamaIndex with `{context_str}` and `{query_str}`, or with
    our `{context}` and `{question}`; the system messages of one for chats become the
    `system_prompt`. What has been asked already keeps the prompts it began with.
    """

    def __init__(self, models: Models) -> None:
        self.models = models

    def _get_prompts(self) -> PromptDictType:
        # As LlamaIndex writes it: with its own names, doubled braces made single.
        text = _formatted(self.models.prompt, context="{context_str}", question="{query_str}")
        return {
            TEXT_QA: PromptTemplate(text, prompt_type="text_qa"),
            SYSTEM: PromptTemplate(self.models.system_prompt),
        }

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        check_names(prompts_dict, (TEXT_QA, SYSTEM))
        models = self.models
        if TEXT_QA in prompts_dict:
            prompt, system = self._text_qa(prompts_dict[TEXT_QA])
            models = replace(models, prompt=prompt, system_prompt=system or models.system_prompt)
        if SYSTEM in prompts_dict:
            models = replace(models, system_prompt=self._system(prompts_dict[SYSTEM]))
        self.models = models

    def _text_qa(self, template: BasePromptTemplate) -> tuple[str, str]:
        parts = self._parts(TEXT_QA, template)
        if missing := [
            name
            for name, mark in (("{context_str}", _CONTEXT), ("{query_str}", _QUESTION))
            if mark not in parts.user
        ]:
            raise ConfigurationError(
                f"{TEXT_QA} lacks {' and '.join(missing)} in its user message; without them, the "
                f"model would see no excerpts or no question"
            )
        escaped = parts.user.replace("{", "{{").replace("}", "}}")
        return escaped.replace(_CONTEXT, "{context}").replace(_QUESTION, "{question}"), parts.system

    def _system(self, template: BasePromptTemplate) -> str:
        parts = self._parts(SYSTEM, template)
        if _CONTEXT in parts.user or _QUESTION in parts.user:
            raise _misplaced(SYSTEM)
        return parts.system or parts.user

    def _parts(self, name: str, template: BasePromptTemplate) -> _Parts:
        """Split a template into the system message and the user's message."""
        if not isinstance(template, BasePromptTemplate):
            raise ConfigurationError(
                f"{name} must be a prompt template of LlamaIndex, such as PromptTemplate(...), "
                f"not {quoted(template)}"
            )
        if template.function_mappings:
            raise ConfigurationError(
                f"{name} has function_mappings, which would be called once and not per question; "
                "write the text into the template"
            )
        values = {"context_str": _CONTEXT, "context": _CONTEXT}
        values |= {"query_str": _QUESTION, "question": _QUESTION}
        try:
            messages = template.format_messages(llm=self.models.llm, **values)
        except Exception as error:  # any template class, and what it is made with
            raise ConfigurationError(
                f"{name} cannot be filled in ({kind_of(error)}); its variables are "
                "{context_str} and {query_str}"
            ) from error
        return _by_role(name, messages)


def check_names(prompts: Mapping[str, object], names: Iterable[str]) -> None:
    """Refuse prompts that do not exist, which would otherwise change nothing without a word.

    Raises:
        ConfigurationError: a name is not known.
    """
    names = list(names)
    for name in prompts:
        if name not in names:
            raise ConfigurationError(
                f"there is no prompt '{name}' to replace; choose {' or '.join(names)}"
            )


def fill(template: str, sources: Sequence[Source], question: str) -> str:
    """The prompt: sources as `[Source 1 - Page 5]: text`, then the question.

    A document cannot step out of the quotation with the template's closing mark, the label of a
    source or the words that introduce the question; numbers it has in brackets, which a model
    would copy and so cite, are put in parentheses.

    Raises:
        ConfigurationError: the template has other placeholders or single braces.
    """
    marks = _marks(template)
    context = "\n\n".join(
        f"[{_as_data(source.label, marks)}]: {_as_data(source.text, marks)}" for source in sources
    )
    return _formatted(template, context=context, question=without_marks(question))


class _Parts(NamedTuple):
    system: str
    user: str


def _by_role(name: str, messages: Iterable[ChatMessage]) -> _Parts:
    texts: dict[MessageRole, list[str]] = {MessageRole.SYSTEM: [], MessageRole.USER: []}
    for message in messages:
        if message.role not in texts:
            raise ConfigurationError(
                f"{name} has a message of role '{message.role.value}'; put examples of answers "
                "into the system message"
            )
        texts[message.role].append(message.content or "")
    system, user = ("\n\n".join(parts) for parts in texts.values())
    if _CONTEXT in system or _QUESTION in system:
        raise _misplaced(name)
    return _Parts(system, user)


def _misplaced(name: str) -> ConfigurationError:
    return ConfigurationError(
        f"{name} puts excerpts or question into the system message, where text of documents would "
        "be followed as instructions; put them into the user's"
    )


class _Marks(NamedTuple):
    """Parts of the template that a document must not repeat; None if there is no such part."""

    closing: re.Pattern[str] | None
    question: re.Pattern[str] | None


def _as_data(text: str, marks: _Marks) -> str:
    """Document text that reads the same and cannot be taken for a part of the prompt around it."""
    if not text.isascii():
        text = _INVISIBLE.sub("", text)
        plain = unicodedata.normalize("NFKC", _JOINERS.sub("", text))
        if without_marks(plain) != plain or any(mark and mark.search(plain) for mark in marks):
            # Full-width brackets and the like read as the plain ones, to a model too.
            text = plain
    if marks.closing:
        text = marks.closing.sub(lambda match: " ".join(match[0]), text)
    if marks.question:
        text = marks.question.sub(r"> \g<0>", text)
    return without_marks(text)


def _marks(template: str) -> _Marks:
    """The line that ends the quotation, and what stands before the question on its line."""
    lines = template.partition("{context}")[2].strip().splitlines()
    closing = lines[0].strip() if lines else ""
    before = template.partition("{question}")[0].rpartition("\n")[2].strip()
    return _Marks(
        re.compile(re.escape(closing), re.IGNORECASE) if _is_mark(closing) else None,
        re.compile(rf"{_LINE_START}[ \t]*{re.escape(before)}", re.IGNORECASE | re.MULTILINE)
        if _is_mark(before)
        else None,
    )


def _is_mark(line: str) -> bool:
    return len(line) >= _MIN_MARK and "{" not in line


def _formatted(template: str, *, context: str, question: str) -> str:
    """A template of ours with both filled in."""
    try:
        return template.format(context=context, question=question)
    except (AttributeError, IndexError, KeyError, ValueError) as error:
        raise ConfigurationError(
            "the prompt template cannot be filled in; it may hold {context} and {question}, and "
            "every other brace must be doubled"
        ) from error
