"""The prompts of an engine under LlamaIndex's names: to read, and to replace between answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.base.llms.types import MessageRole
from llama_index.core.prompts import BasePromptTemplate, PromptTemplate
from llama_index.core.prompts.mixin import PromptMixin

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType

    from rag_nodes.models import Models

MODULE = "response_synthesizer"
"""Under which stock engines have their prompts, and ours has its own."""
TEXT_QA = "text_qa_template"
"""What the LLM reads: excerpts and question."""
SYSTEM = "system_prompt"
"""What it is told before."""
NAMES = (f"{MODULE}:{TEXT_QA}", f"{MODULE}:{SYSTEM}")
"""All of them, as an engine names them."""
_CONTEXT, _QUESTION = "\ue000context\ue000", "\ue000question\ue000"
"""Stand for the variables while LlamaIndex fills in its template; from a range for private use."""


class EnginePrompts(PromptMixin):
    """The prompts of one engine, which `update_prompts` replaces for the answers that follow.

    `text_qa_template` is any template of LlamaIndex with `{context_str}` and `{query_str}`, or with
    our `{context}` and `{question}`; the system messages of one for chats become the
    `system_prompt`. What has been asked already keeps the prompts it began with.

    Args:
        models: with the prompts to begin with.
    """

    def __init__(self, models: Models) -> None:
        self.models = models

    def _get_prompts(self) -> PromptDictType:
        text = _as_llama_index_writes_it(self.models.prompt)
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
                f"{TEXT_QA} lacks {' and '.join(missing)} in its user message; without, the model "
                "would see no excerpts or no question"
            )
        escaped = parts.user.replace("{", "{{").replace("}", "}}")
        return escaped.replace(_CONTEXT, "{context}").replace(_QUESTION, "{question}"), parts.system

    def _system(self, template: BasePromptTemplate) -> str:
        parts = self._parts(SYSTEM, template)
        if _CONTEXT in parts.user or _QUESTION in parts.user:
            raise _misplaced(SYSTEM)
        return parts.system or parts.user

    def _parts(self, name: str, template: BasePromptTemplate) -> _Parts:
        """What a template says in the system message and in the user's."""
        if not isinstance(template, BasePromptTemplate):
            raise ConfigurationError(
                f"{name} must be a prompt template of LlamaIndex, such as PromptTemplate(...), "
                f"not {template!r}"
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
            raise ConfigurationError(f"{name} cannot be filled in ({error!r})") from error
        return _by_role(name, messages)


class _Parts(NamedTuple):
    system: str
    user: str


def _by_role(name: str, messages: Iterable[ChatMessage]) -> _Parts:
    texts: dict[MessageRole, list[str]] = {MessageRole.SYSTEM: [], MessageRole.USER: []}
    for message in messages:
        if message.role not in texts:
            raise ConfigurationError(
                f"{name} has a message of role {message.role.value!r}; put examples of answers "
                "into the system message"
            )
        texts[message.role].append(message.content or "")
    system, user = ("\n\n".join(parts) for parts in texts.values())
    if _CONTEXT in system or _QUESTION in system:
        raise _misplaced(name)
    return _Parts(system, user)


def _as_llama_index_writes_it(prompt: str) -> str:
    """With its names of the variables; braces that mean themselves are not doubled there."""
    try:
        return prompt.format(context="{context_str}", question="{query_str}")
    except (AttributeError, IndexError, KeyError, ValueError) as error:
        raise ConfigurationError(
            f"the prompt template cannot be filled in ({error!r}); it may hold {{context}} and "
            "{question}, and every other brace must be doubled"
        ) from error


def _misplaced(name: str) -> ConfigurationError:
    return ConfigurationError(
        f"{name} puts excerpts or question into the system message, where text of documents would "
        "be followed as instructions; put them into the user's"
    )


def check_names(prompts: Mapping[str, object], known: Iterable[str]) -> None:
    """Refuse prompts that do not exist, which would otherwise change nothing without a word.

    Raises:
        ConfigurationError: a name is not known.
    """
    known = list(known)
    for name in prompts:
        if name not in known:
            raise ConfigurationError(
                f"there is no prompt {name!r} to replace; choose {' or '.join(known)}"
            )
