"""YAML of strangers as plain data, without what a few lines of it can cost."""

from __future__ import annotations

from typing import Any

DEEPEST = 20
"""Brackets within each other; PyYAML searches all that are open at every further one."""


def plain_yaml(text: str) -> tuple[Any, str]:
    """The data of a YAML text, and why it was not read, "" where it was.

    Aliases are refused, because a few lines of them can stand for gigabytes.
    """
    import yaml  # comes with llama-index-core

    deep = 0
    try:
        for token in yaml.scan(text):
            deep += isinstance(token, yaml.FlowSequenceStartToken | yaml.FlowMappingStartToken)
            deep -= isinstance(token, yaml.FlowSequenceEndToken | yaml.FlowMappingEndToken)
            if isinstance(token, yaml.AliasToken):
                return None, "it holds YAML aliases"
            if deep > DEEPEST:
                return None, "its brackets nest too deeply"
        data = yaml.safe_load(text)
        repr(data)  # raises for an integer of more digits than Python writes, as JSON would
    except (
        yaml.YAMLError,
        ValueError,
        LookupError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:  # PyYAML lets through what goes wrong where a tag does not fit its value
        mark = getattr(error, "problem_mark", None)
        return None, f"invalid YAML in its line {mark.line + 1}" if mark else "invalid YAML"
    return data, ""
