"""Placeholders in a source, `${name}`, which values replace when its syntax is known already: they are always data."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from memorygraph.errors import Problem, ScriptError, Source, Span
from memorygraph.languages.convo.syntax import Program, Syntax
from memorygraph.runtime.convo.values import render_value

_PLACEHOLDER = re.compile(r"\$\{\s*([A-Za-z_]\w*)\s*\}")


def filled(program: Program, values: Mapping[str, Any]) -> Program:
    """The program with values in the place of its placeholders.

    Raises:
        ScriptError: a placeholder has no value.
    """
    source = program.source
    missing = [match for match in _PLACEHOLDER.finditer(source.text) if match[1] not in values]
    if missing:
        raise ScriptError([_problem(source, match) for match in missing])
    texts = {name: value if isinstance(value, str) else render_value(value) for name, value in values.items()}
    return dataclasses.replace(program, conversation=_filled(program.conversation, texts))


def _filled(part: Any, texts: Mapping[str, str]) -> Any:
    """A part of the syntax, and all that is in it, with its texts filled."""
    if isinstance(part, str):
        return _PLACEHOLDER.sub(lambda match: texts[match[1]], part)
    if isinstance(part, Syntax):
        fields = (field.name for field in dataclasses.fields(part) if field.name != "span")
        return dataclasses.replace(part, **{name: _filled(getattr(part, name), texts) for name in fields})
    if isinstance(part, tuple):
        return tuple(_filled(item, texts) for item in part)
    return part


def _problem(source: Source, match: re.Match[str]) -> Problem:
    return source.problem(f"`{match[0]}` has no value: give {match[1]}=…", "missing-value", Span(*match.span()))
