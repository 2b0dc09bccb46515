"""A model that answers and judges by counting words: what the tests of judging share."""

import re
from collections.abc import Callable
from typing import Any

from scripted_llm import ScriptedLLM

_FAITHFUL = re.compile(r"Information: (?P<said>.*?)\nContext: (?P<read>.*)\nAnswer: ?\Z", re.DOTALL)
_GRADED = re.compile(
    r"## User Query\n(?P<asked>.*?)\n+## Reference Answer\n(?P<gold>.*?)\n+"
    r"## Generated Answer\n(?P<said>.*)",
    re.DOTALL,
)
_ANSWERED = re.compile(r"(\[Source 1\]: .*)\n(?:Question|Wanted): (.*)", re.DOTALL)
_SENTENCE = re.compile(r"[^.\n]+\.")


def kind_of(prompt: str) -> str:
    """What a prompt asks for: "faithful", "correct" or "answer"."""
    if "support" in prompt and "Information:" in prompt:
        return "faithful"
    return "correct" if "## Generated Answer" in prompt else "answer"


def share(answer: str, gold: str) -> float:
    """How many words of a text are in another."""
    words = re.findall(r"\w+", answer.lower())
    return sum(word in gold.lower() for word in words) / max(1, len(words))


def good(prompt: str) -> str:
    """What a model says that answers and judges well."""
    kind = kind_of(prompt)
    if kind == "faithful":
        examples, _, last = prompt.rpartition("Information: ")
        match = _FAITHFUL.search(f"Information: {last}")
        assert examples, "the prompt has no examples before"
        assert match
        return "YES" if share(match["said"], match["read"]) == 1 else "NO"
    if kind == "correct":
        match = _GRADED.search(prompt)
        assert match
        grade = round(1 + 4 * share(match["said"].partition("assistant:")[0], match["gold"]), 1)
        return f"{grade}\nBecause of its words."
    match = _ANSWERED.search(prompt)
    if not match:
        return "ready"
    read, question = match.groups()
    asked = set(re.findall(r"\w{4,}", question.lower()))
    sentences = [match_.partition("]: ")[2] or match_ for match_ in _SENTENCE.findall(read)]
    best = max(sentences, key=lambda line: len(asked & set(re.findall(r"\w+", line.lower()))))
    return f"{best.strip()} [Source 1]"


def scripted_llm(script: Callable[[str], str] = good, **given: Any) -> ScriptedLLM:
    return ScriptedLLM(lines=[script], window=16_000, **given)


def but(**replies: Callable[[str], str]) -> Callable[[str], str]:
    """The good model, but for some kinds of prompts."""
    return lambda prompt: replies.get(kind_of(prompt), good)(prompt)
