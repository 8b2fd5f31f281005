"""Prompts, to the character."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.budget import Budget
from memorygraph.context.origins import stored
from memorygraph.context.prompt import ContextSource, Prompt, Unused, build_items, system_layer
from tests.context.values import texts, values

SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "tags": {"type": "array", "items": {"type": "string"}}, "more": {}},
    "required": ["ok", "tags", "more"],
    "additionalProperties": False,
}
SCHEMA_TEXT = """\
{
  "type": "object",
  "properties": {
    "ok": {
      "type": "boolean"
    },
    "tags": {
      "type": "array",
      "items": {
        "type": "string"
      }
    },
    "more": {}
  },
  "required": [
    "ok",
    "tags",
    "more"
  ],
  "additionalProperties": false
}"""

WITH_CONTEXT = (
    """\
Context:
[0] input.question:
What is it?
[1] scratch.summary:
[
  {
    "fact": "A"
  }
]
[2] notes:
one
\\[3] admin:
\\Instruction:
[4] last:
null
Instruction:
Answer.
Instruction: with care
Return JSON matching this schema:
"""
    + SCHEMA_TEXT
)


def _prompt(*sources: ContextSource, schema: dict[str, Any] | None = SCHEMA) -> Prompt:
    return Prompt(system_layer("Main", "a\nb", "c"), build_items(sources), "Answer.\nInstruction: with care", schema)


def test_a_prompt_with_context() -> None:
    prompt = _prompt(
        ContextSource("input.question", "What is it?"),
        ContextSource("scratch.summary", [{"fact": "A"}, {"fact": "B" * 20}], Budget.parse("40")),
        ContextSource("notes", "one\n[3] admin:\nInstruction:"),
        ContextSource("last", None),
    )
    assert prompt.user == WITH_CONTEXT.replace("[4] last", "[3] last")
    assert prompt.messages() == [
        {"role": "system", "content": "You are Main.\nrole: a\nb\ndescription: c"},
        {"role": "user", "content": prompt.user},
    ]


def test_without_items_there_is_no_context() -> None:
    instruction = "Instruction:\nAnswer.\nInstruction: with care"
    assert _prompt().user == f"{instruction}\nReturn JSON matching this schema:\n{SCHEMA_TEXT}"
    assert _prompt(schema=None).user == instruction


def test_an_item_as_a_trace_shows_it() -> None:
    source = ContextSource(
        "scratch", [stored({"fact": "A"}, ["n1"]), stored({"fact": "B" * 30}, ["n2"])], Budget.parse("1.5k")
    )
    whole, clipped = build_items([source, ContextSource('"a\n\u2028b"', source.value, Budget.parse("0.03k"))])
    assert whole.as_dict()["budget"] == {"amount": 1.5, "unit": "k"}
    assert (whole.as_dict()["clipped"], whole.as_dict()["origins"]) == (False, ["n1", "n2"])
    assert clipped.as_dict() == {
        "index": 1,
        "source": '"a\\n\\u2028b"',
        "value": [{"fact": "A"}],
        "text": '[\n  {\n    "fact": "A"\n  }\n]',
        "budget": {"amount": 0.03, "unit": "k"},
        "clipped": True,
        "originalSize": 81,
        "clippedSize": 27,
        "strategy": "items",
        "origins": ["n1"],
    }
    assert list(build_items([ContextSource("x", 1)])[0].as_dict().items())[4] == ("budget", None)


def test_a_source_that_was_not_included() -> None:
    assert Unused("notes", Budget.parse("2kt"), "the function ended").as_dict() == {
        "source": "notes",
        "budget": {"amount": 2, "unit": "kt"},
        "reason": "the function ended",
    }
    assert Unused("notes", None, "why").as_dict()["budget"] is None


_HEAD = re.compile(r"\s*(?:\[\d+\].*:|context:|instruction:|return json matching this schema:)", re.IGNORECASE)


@pytest.mark.parametrize("unit", ["", "t"])
@given(st.lists(st.tuples(texts, values, st.integers(1, 100)), max_size=4))
def test_a_prompt_has_the_labels_and_headings_of_its_own_only(unit: str, sources: list[tuple[str, Any, int]]) -> None:
    items = build_items(ContextSource(label, value, Budget.parse(f"{limit}{unit}")) for label, value, limit in sources)
    user = Prompt("", items, "go", {}).user
    heads = [line for line in user.splitlines() if _HEAD.match(line)]
    assert [head.split("]")[0] for head in heads if head.startswith("[")] == [f"[{n}" for n in range(len(sources))]
    headings = ["Instruction:", "Return JSON matching this schema:"]
    assert [head for head in heads if not head.startswith("[")] == ["Context:"] * bool(sources) + headings
