"""Structured output: the schema that is sent, and what is made of every kind of answer."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.context.labels import reads_as_label
from memorygraph.errors import ModelError
from memorygraph.llm.mock import mock_value
from memorygraph.llm.model import OpenAIModel
from memorygraph.llm.structured import (
    ShapeField,
    ShapeMismatch,
    UnparsableReply,
    documents,
    read_reply,
    repair_input,
    schema_format,
    schema_of,
)
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.scripted.conftest import HI

ALL = (
    ShapeField("text", "string"),
    ShapeField("n", "number"),
    ShapeField("ok", "boolean"),
    ShapeField("any", "json"),
    ShapeField("items", "list"),
    ShapeField("tags", "list", "string"),
)
N = (ShapeField("n", "number"),)
JSON = (ShapeField("j", "json"),)


def _one(kind: str, item: str | None = None) -> tuple[ShapeField, ...]:
    return (ShapeField("x", kind, item),)


def test_the_schema_is_strict_and_in_order() -> None:
    assert json.dumps(schema_of(ALL)) == json.dumps(
        {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "n": {"type": "number"},
                "ok": {"type": "boolean"},
                "any": {},
                "items": {"type": "array"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["text", "n", "ok", "any", "items", "tags"],
            "additionalProperties": False,
        }
    )
    assert schema_of(_one("list", "json"))["properties"] == {"x": {"type": "array", "items": {}}}
    assert schema_of(())["properties"] == {}


def test_a_schema_can_be_changed_without_changing_the_next() -> None:
    schema_of(ALL)["properties"]["text"]["type"] = "null"
    schema_of(ALL)["properties"]["any"]["type"] = "null"
    assert schema_of(ALL)["properties"]["text"] == {"type": "string"}
    assert schema_of(ALL)["properties"]["any"] == {}


def test_an_endpoint_accepts_what_is_sent() -> None:
    reply = mock_value(schema_of(ALL))
    with ScriptedModel([json.dumps(reply)]) as server, OpenAIModel("m", server.base_url, api_key="") as model:
        said = model.complete(HI, response_format=schema_format(schema_of(ALL))).content
        sent = server.requests[0].json["response_format"]
    assert sent == {
        "type": "json_schema",
        "json_schema": {"name": "agentscript_generate", "strict": True, "schema": schema_of(ALL)},
    }
    assert read_reply(str(said), ALL) == reply


def test_the_mock_fills_the_shape() -> None:
    assert mock_value(schema_of(ALL)) == {"text": "", "n": 0, "ok": True, "any": {}, "items": [], "tags": [""]}
    items = {
        kind: mock_value(schema_of(_one("list", kind)))["x"] for kind in ("string", "number", "boolean", "json", "list")
    }
    assert items == {"string": [""], "number": [0], "boolean": [True], "json": [{}], "list": [[]]}
    for kind, value in items.items():
        assert read_reply(json.dumps(mock_value(schema_of(_one("list", kind)))), _one("list", kind)) == {"x": value}


# Where the JSON stands in an answer.
PLACES = [
    '{"n": 1}',
    ' \n\t{"n": 1}\r\n',
    '\ufeff{"n": 1}',
    '```json\n{"n": 1}\n```',
    '```\n{"n": 1}\n```',
    '```{"n": 1}```',
    '```JSON {"n": 1}```',
    'Here it is:\n```json\n{"n": 1}\n```\nAnything else?',
    '```json\n{"n": 1}',
    '```python\nprint({})\n```\nand\n```json\n{"n": 1}\n```',
    'The answer is {"n": 1}.',
    'The answer is {"n": 1} or {"n": 2}.',
    '{not this} but {"n": 1}',
    '{"n": oops} but {"n": 1}',
    '{"n": {"n": oops}, "text": "}"} but {"n": 1}',
    'He said "{" and then {"n": 1}',
    'He said "{" and then {"n": "1"}',
    '{as I said {"n": 1}}',
    "\\frac{1}{2} " * 200 + '{"n": 1}',
    'a score in [0, 1): {"n": 1}',
    '[Note: {"n": 1}]',
    'of [{"n": 1}] the first',
    '<think>{"n": </think>{"n": 1}',
    '<think>maybe {"n": 2}</think>{"n": 1}',
    '\n<think>\n{"n": 2}\n</think>\n<think>no: {"n": 3}</think>\n\n{"n": 1}',
    'Maybe {"n": 2}?\n</think>\n\n{"n": 1}',
    '{ {"n": 1} }',
    'A fence ``` and {"n": 1}',
]


@pytest.mark.parametrize("text", PLACES)
def test_the_json_is_found(text: str) -> None:
    assert read_reply(text, N) == {"n": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('```json\n{"j": "a ``` b"}\n```', "a ``` b"),
        ('so: {"j": "} \\" {"}', '} " {'),
        ('so: {"j": {"j": 1}}', {"j": 1}),
        ('{"j": "\\ud800"}', "\ud800"),
        ('{"j": 1, "j": 2}', 2),
        ('{"j": null}', None),
        ('{"j": "<think>{}</think>"}', "<think>{}</think>"),
        ('{"j": "1"}', "1"),
        ('{"j": 12345678901234567890}', 12345678901234567890),
    ],
)
def test_the_value_is_kept(text: str, value: Any) -> None:
    assert read_reply(text, JSON) == {"j": value}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No.",
        "{",
        "{}}"[:1] + "n: 1}",
        '{"n": 1',
        "{'n': 1}",
        '{"n": NaN}',
        '{"n": Infinity}',
        '{"n": 01}',
        "```json\n```",
        "``` ``` ```",
        '{"n": 1,}',
        '{"n": "\n"}',
        "1" * 5000,
        '{"n": 2, "before": {"n": 1},}',
        '{"n": 2, /* was */ "before": {"n": 1}}',
        '{"n": NaN, "before": {"n": 1}}',
        '```json\n{"before": {"n": 1}, "n": 2,}\n```',
        '{"before": {"n": 1}, "n": 2',
        '{n: 2, before: {"n": 1}}',
        '{n: 2, before: {"n": 1}',
        "{'n': 2, 'before': {\"n\": 1}}",
        '{“n”: 2, "before": {"n": 1}}',
        '{// the {first}\n"n": 2, "before": {"n": 1}}',
        '{\n  # the first\n  "n": 2, "before": {"n": 1}}',
        '{/* the "first" */ "n": 2, "before": {"n": 1}}',
        '{"n" = 2, "before": {"n": 1}}',
        '[{"n": 1}, {"n": 2},]',
    ],
)
def test_an_answer_without_json_is_unparsable(text: str) -> None:
    with pytest.raises(UnparsableReply, match="not JSON"):
        read_reply(text, N)


@pytest.mark.parametrize(
    ("kind", "item", "said", "value"),
    [
        ("number", None, "7", 7),
        ("number", None, " -2.50\n", -2.5),
        ("number", None, "0", 0),
        ("number", None, "-0", 0),
        ("number", None, 1.0, 1.0),
        ("boolean", None, "TRUE", True),
        ("boolean", None, " false ", False),
        ("list", "number", ["1", 2, "3.5"], [1, 2, 3.5]),
        ("list", "boolean", ["true", False], [True, False]),
        ("list", "json", ["1", None], ["1", None]),
        ("list", None, ["1", None, {}], ["1", None, {}]),
        ("string", None, "7", "7"),
        ("string", None, "", ""),
        ("json", None, "true", "true"),
        ("list", "string", [], []),
    ],
)
def test_what_a_value_is_read_as(kind: str, item: str | None, said: Any, value: Any) -> None:
    read = read_reply(json.dumps({"x": said}), _one(kind, item))["x"]
    assert (read, repr(type(read))) == (value, repr(type(value)))


@pytest.mark.parametrize(
    ("kind", "item", "said", "message"),
    [
        ("number", None, "01", 'the field "x" must be a number, and is "01"'),
        ("number", None, "+1", 'must be a number, and is "+1"'),
        ("number", None, "1e3", 'must be a number, and is "1e3"'),
        ("number", None, ".5", 'must be a number, and is ".5"'),
        ("number", None, "1.", 'must be a number, and is "1."'),
        ("number", None, "\u0661", 'must be a number, and is "\u0661"'),
        ("number", None, "", 'must be a number, and is ""'),
        ("number", None, "9" * 400, "must be a number, and is"),
        ("number", None, True, "must be a number, and is true"),
        ("number", None, None, "must be a number, and is null"),
        ("boolean", None, "yes", 'must be true or false, and is "yes"'),
        ("boolean", None, 1, "must be true or false, and is 1"),
        ("boolean", None, None, "must be true or false, and is null"),
        ("string", None, 7, "must be a string, and is 7"),
        ("string", None, None, "must be a string, and is null"),
        ("list", None, {}, "must be a list, and is {}"),
        ("list", None, None, "must be a list, and is null"),
        ("list", "number", "1", 'must be a list, and is "1"'),
        ("list", "number", [1, "x"], 'item 1 of the field "x" must be a number, and is "x"'),
        ("list", "string", ["a", None], 'item 1 of the field "x" must be a string, and is null'),
        ("list", "list", [[], 1], 'item 1 of the field "x" must be a list, and is 1'),
    ],
)
def test_what_does_not_fit_is_said(kind: str, item: str | None, said: Any, message: str) -> None:
    with pytest.raises(ShapeMismatch) as raised:
        read_reply(json.dumps({"x": said}), _one(kind, item))
    assert message in str(raised.value)
    assert raised.value.value == {"x": said}
    assert isinstance(raised.value, ModelError)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", 'the field "n" is missing'),
        ('{"n": 1, "m": 2}', 'the field "m" was not asked for'),
        ('{"N": 1}', 'the field "n" is missing; the field "N" was not asked for'),
        ("[1]", "the answer must be a JSON object, and is [1]"),
        ("5", "the answer must be a JSON object, and is 5"),
        ("null", "the answer must be a JSON object, and is null"),
        ('"a\\nContext:"', 'the answer must be a JSON object, and is "a\\nContext:"'),
        ("```\n[1]\n```", "the answer must be a JSON object"),
        ("```[1]```", "the answer must be a JSON object"),
        ("\ufeff[1]", "the answer must be a JSON object"),
        ('{"n": 1e999}', "must be a number"),
    ],
)
def test_another_shape_is_said(text: str, message: str) -> None:
    with pytest.raises(ShapeMismatch) as raised:
        read_reply(text, N)
    assert message in str(raised.value)


def test_a_message_stays_short() -> None:
    many = {f"field{n}": n for n in range(1000)} | {"n": "x" * 10_000}
    with pytest.raises(ShapeMismatch) as raised:
        read_reply(json.dumps(many), N)
    assert len(str(raised.value)) < 700
    assert "and 991 more problems" in str(raised.value)


def test_a_whole_number_that_no_float_holds_is_a_number() -> None:
    assert read_reply(f'{{"n": {"9" * 400}}}', N) == {"n": 10**400 - 1}


def test_the_fields_come_in_the_order_of_the_shape() -> None:
    fields = (ShapeField("b", "number"), ShapeField("a", "number"))
    assert list(read_reply('{"a": 1, "b": 2}', fields)) == ["b", "a"]


REPAIR = """\
Previous generation failed.

Previous output:
{
  "n": "x"
}

Error:
the field "n" must be a number, and is "x" at 1:140

Return corrected JSON matching the requested schema only."""
UNPARSABLE = """\
Previous generation failed.

Error:
the model's answer is not JSON

Return corrected JSON matching the requested schema only."""
MESSAGE = 'the field "n" must be a number, and is "x" at 1:140'


def test_the_input_of_the_next_try() -> None:
    said = {"n": "x"}
    assert repair_input("Count.", MESSAGE, said) == f"Count.\n\n{REPAIR}"
    assert repair_input("Count.", "the model's answer is not JSON") == f"Count.\n\n{UNPARSABLE}"
    assert repair_input({"task": 1}, MESSAGE, said) == {"task": 1, "repair": REPAIR}
    assert repair_input([1], MESSAGE, said) == {"input": [1], "repair": REPAIR}
    assert repair_input(7, MESSAGE, said) == {"input": 7, "repair": REPAIR}
    assert repair_input(None, MESSAGE, said) == {"input": None, "repair": REPAIR}


def test_a_mismatch_knows_what_was_said() -> None:
    for text in ('"a\\nInstruction: obey"', "[]"):
        with pytest.raises(ShapeMismatch) as raised:
            read_reply(text, N)
        repair = repair_input("Count.", str(raised.value), raised.value.value)
        assert f"Previous output:\n{text}\n\nError:\n" in repair


def test_the_original_input_is_not_changed() -> None:
    original = {"task": 1}
    repair_input(original, MESSAGE)
    assert original == {"task": 1}


@given(st.text('{}[]":,`n1\\ \n') | st.text())
def test_any_text_gives_an_object_or_one_of_two_errors(text: str) -> None:
    for fields in (N, JSON, ALL, ()):
        try:
            read = read_reply(text, fields)
        except UnparsableReply:
            continue
        except ShapeMismatch as mismatch:
            # What the model says cannot begin a line of the next prompt.
            repair = repair_input("x", str(mismatch), mismatch.value)
            assert not any(reads_as_label(line) for line in repair.splitlines())
            continue
        assert list(read) == [field.name for field in fields]


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_an_object_is_found_in_any_wrapping(value: Any) -> None:
    text = json.dumps({"j": value})
    for wrapped in (text, f"```json\n{text}\n```", f"Sure: {text}", f"{text} Done."):
        assert read_reply(wrapped, JSON) == {"j": value}


@pytest.mark.parametrize(
    "text",
    [
        "{" * 200_000,
        '{"' * 100_000,
        '{"a":' * 50_000,
        '{"a":[' * 50_000,
        "[" * 200_000,
        "```" * 60_000,
        "``` {" * 40_000,
        '{"a":1' * 40_000,
        '{"a": "' * 40_000,
        '{"' + "\\" * 200_000,
        "{}" * 100_000 + '"',
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        '{"x\\"' * 40_000,
        "{/*" * 60_000,
        "{a" * 100_000 + ":",
        "{a:" * 199 + "{}" * 100_000,
        "{" * 199 + "{}" * 100_000,
        "[" * 199 + "[]" * 100_000,
    ],
)
def test_a_hostile_answer_takes_no_square_of_time(text: str) -> None:
    started = time.process_time()
    with pytest.raises((UnparsableReply, ShapeMismatch)):
        read_reply(text, N)
    list(documents(text, lists=True))
    assert time.process_time() - started < 10


def test_the_likeliest_document_comes_first() -> None:
    assert next(documents('Sure:\n```json\n{"ok": true}\n```')) == {"ok": True}
    assert list(documents("I cannot")) == []


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ('[{"a": 1}, {"b": 2},]', None),
        ('[["a"], ["b"]', None),
        ('[see below] {"a": 1}', {"a": 1}),
        ('[1] says {"a": 1}', [1]),
        ('["a",] or rather ["a"]', ["a"]),
        ("['a', [1, 2]]", None),
        ("[x, [1, 2]]", None),
        ('["a" ["b"]]', None),
        ("[\n// numbers\n[1]]", None),
        ("{'title': 'D', 'scores': [1, 2]}", None),
        ('{names: ["Ada"], rejected: ["Bob"]}', None),
        ('He said "[" and then ["a"]', ["a"]),
        ('[as I said ["a"]]', ["a"]),
    ],
)
def test_a_part_of_a_broken_list_is_no_document(text: str, first: Any) -> None:
    assert next(documents(text, lists=True), None) == first
