"""Types: how they are written, what they let through, and the schema that a model is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.runtime.convo.types import (
    ANY,
    BASIC,
    ArrayOf,
    Enum,
    Struct,
    StructField,
    can_write_types,
    read_types,
    write_types,
)
from memorygraph.runtime.convo.values import UNDEFINED, ConvoType
from memorygraph.runtime.values import ValueProblem
from tests.runtime.convo.expressions import Script, evaluate, failure
from tests.runtime.convo.test_values import JSON

STRING, NUMBER, INT, BOOLEAN = (BASIC[name] for name in ("string", "number", "int", "boolean"))
PERSON = Struct(
    (
        StructField("name", STRING),
        StructField("age", INT, optional=True),
        StructField("tags", ArrayOf(STRING), optional=True),
    )
)


@pytest.mark.parametrize(
    ("code", "type_"),
    [
        ("string", STRING),
        ('enum("a" "b")', Enum(("a", "b"))),
        ("enum('a', 1 true null)", Enum(("a", 1, True, None))),
        ("array(string)", ArrayOf(STRING)),
        ("[int]", ArrayOf(INT)),
        ("array(array(int))", ArrayOf(ArrayOf(INT))),
        ("map(a: string b?: number)", Struct((StructField("a", STRING), StructField("b", NUMBER, optional=True)))),
        ("{a: string}", Struct((StructField("a", STRING),))),
        ("struct(a: string)", Struct((StructField("a", STRING),))),
        ("struct()", Struct()),
        ('map(kind: "a" n: int)', Struct((StructField("kind", Enum(("a",))), StructField("n", INT)))),
        ("map(a: map(b: int))", Struct((StructField("a", Struct((StructField("b", INT),))),))),
        ("map(\n# The name\na: string)", Struct((StructField("a", STRING, description="The name"),))),
        ("Name = map(a: string) array(Name)", ArrayOf(Struct((StructField("a", STRING),)))),
        ('map(a: 1 b: "x")', {"a": 1, "b": "x"}),
        ("array(1 2)", [1, 2]),
        ("array()", []),
        ("map()", {}),
    ],
)
def test_calls_give_types_or_data(code: str, type_: Any) -> None:
    assert evaluate(code) == type_


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("enum()", "`enum` takes at least one value"),
        ("enum([1])", "`enum` takes texts, numbers and constants, and this is a list"),
        ("enum(missing)", "and this is undefined"),
        ("map(1)", "write `name: value` in place of 1"),
        ("struct(a: missing)", "expected a type, not undefined"),
        ("new(string)", "`new` makes a map of a type with names"),
    ],
)
def test_wrong_types_are_errors(code: str, message: str) -> None:
    problem = failure(f"> do\n{code}\n")
    assert message in problem.message
    assert (problem.line, problem.column) == (2, 1)


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("Person", PERSON),
        (" Person[] ", ArrayOf(PERSON)),
        ("array(Person)", ArrayOf(PERSON)),
        ("string[][]", ArrayOf(ArrayOf(STRING))),
        ("any", ANY),
    ],
)
def test_types_by_name(name: str, type_: ConvoType) -> None:
    script = Script("> define\nPerson = map(name: string age?: int tags?: array(string))\n")
    script.run()
    assert script.evaluator.type(name) == type_


def test_an_unknown_name_is_no_type() -> None:
    script = Script("> define\nPerson = map(name: string) n = 1\n")
    script.run()
    with pytest.raises(ValueProblem, match=r"there is no type `Persn`; there are string, .*, Person"):
        script.evaluator.type("Persn")


@pytest.mark.parametrize(
    ("type_", "schema"),
    [
        (STRING, {"type": "string"}),
        (INT, {"type": "integer"}),
        (ANY, {}),
        (BASIC["time"], {"type": "integer"}),
        (BASIC["object"], {"type": "object"}),
        (Enum(("a", "b")), {"type": "string", "enum": ["a", "b"]}),
        (Enum((1, 2.5)), {"type": "number", "enum": [1, 2.5]}),
        (Enum((True,)), {"type": "boolean", "enum": [True]}),
        (Enum(("a", None)), {"enum": ["a", None]}),
        (
            Struct((StructField("a", STRING, description="An a"), StructField("b", ArrayOf(INT), optional=True))),
            {
                "type": "object",
                "properties": {
                    "a": {"type": "string", "description": "An a"},
                    "b": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["a"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_schemas(type_: ConvoType, schema: dict[str, Any]) -> None:
    assert type_.schema == schema


@pytest.mark.parametrize(
    ("type_", "given", "value"),
    [
        (STRING, "5", "5"),
        (STRING, 5, "5"),
        (STRING, 1.5, "1.5"),
        (STRING, True, "true"),
        (NUMBER, "5", 5),
        (NUMBER, " -1.5 ", -1.5),
        (NUMBER, ".5", 0.5),
        (NUMBER, "1e3", 1000.0),
        (INT, 5.0, 5),
        (INT, "5", 5),
        (INT, "5.0", 5),
        (BASIC["time"], 1700000000000, 1700000000000),
        (BOOLEAN, "true", True),
        (BOOLEAN, " False ", False),
        (ANY, None, None),
        (ANY, [1], [1]),
        (BASIC["object"], {"a": 1}, {"a": 1}),
        (BASIC["void"], None, UNDEFINED),
        (Enum(("a", 5)), "a", "a"),
        (Enum(("a", 5)), "5", 5),
        (Enum(("a", "5")), 5, "5"),
        (Enum(("a",)), " a\n", "a"),
        (Enum((1, "1")), "1", "1"),
        (ArrayOf(INT), ["1", 2], [1, 2]),
        (PERSON, {"name": 5, "more": 1}, {"name": "5"}),
        (PERSON, {"name": "Ada", "age": None}, {"name": "Ada"}),
        (PERSON, {"name": "Ada", "age": UNDEFINED}, {"name": "Ada"}),
        (PERSON, {"age": "36", "name": "Ada", "tags": [1]}, {"name": "Ada", "age": 36, "tags": ["1"]}),
    ],
)
def test_coercion(type_: ConvoType, given: Any, value: Any) -> None:
    found = type_.coerce(given)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("type_", "given", "message"),
    [
        (STRING, None, "x must be a text, and is null"),
        (STRING, [1], "x must be a text, and is a list: [1]"),
        (NUMBER, "five", 'x must be a number, and is a text: "five"'),
        (NUMBER, True, "x must be a number, and is a boolean: true"),
        (NUMBER, "1" * 400, "x must be a number, and is a text: "),
        (NUMBER, "1e999", "x must be a number"),
        (NUMBER, 10**400, "x must be a number, and is a number: 1000"),
        (INT, -(10**400), "x must be a whole number, and is a number: -1000"),
        (NUMBER, "", "x must be a number"),
        (NUMBER, "0x10", "x must be a number"),
        (NUMBER, "٣", "x must be a number"),
        (INT, 5.5, "x must be a whole number, and is a number: 5.5"),
        (BOOLEAN, 1, "x must be true or false, and is a number: 1"),
        (BASIC["object"], [], "x must be a map, and is a list: []"),
        (BASIC["void"], 1, "x must be nothing, and is a number: 1"),
        (Enum(("a", "b")), "c", 'x must be one of "a", "b", and is a text: "c"'),
        (Enum(("a",)), "A", 'x must be "a", and is a text: "A"'),
        (ArrayOf(INT), {}, "x must be a list, and is a map: {}"),
        (ArrayOf(ArrayOf(INT)), [[1], [2, "b"]], 'x[1][1] must be a whole number, and is a text: "b"'),
        (PERSON, {}, "x.name is missing; it must be a text"),
        (PERSON, {"name": "a", "tags": [1, {}]}, "x.tags[1] must be a text, and is a map: {}"),
        (PERSON, "Ada", 'x must be a map, and is a text: "Ada"'),
    ],
)
def test_what_does_not_fit_says_where_and_why(type_: ConvoType, given: Any, message: str) -> None:
    with pytest.raises(ValueProblem) as caught:
        type_.coerce(given, "x")
    assert str(caught.value).startswith(message)
    assert caught.value.code == "type-mismatch"


LITERALS = st.text() | st.integers() | st.booleans() | st.none()
TYPES = st.recursive(
    st.sampled_from([BASIC[name] for name in BASIC if name != "void"])
    | st.lists(LITERALS, min_size=1, max_size=3).map(lambda values: Enum(tuple(values))),
    lambda inner: (
        inner.map(ArrayOf)
        | st.dictionaries(st.sampled_from("ab"), st.tuples(inner, st.booleans())).map(
            lambda fields: Struct(
                tuple(StructField(name, type_, optional) for name, (type_, optional) in fields.items())
            )
        )
    ),
    max_leaves=4,
)


@given(TYPES, JSON | st.dictionaries(st.sampled_from("ab"), JSON) | st.lists(LITERALS))
def test_coercion_is_idempotent(type_: ConvoType, value: Any) -> None:
    try:
        once = type_.coerce(value)
    except ValueProblem:
        return
    assert type_.coerce(once) == once
    assert type_.accepts(once)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("is(1 number)", True),
        ('is("1" number)', False),
        ('is(1 2 "3" number)', False),
        ("is(5.5 int)", False),
        ('is("a" enum("a" "b"))', True),
        ("is([1 2] array(int))", True),
        ("is({a: 1} map(a: int b?: int))", True),
        ("is({} map(a: int))", False),
        ("is(null any)", True),
        ("is([] object)", False),
        ('new(map(a: int b?: string) {a: "5"})', {"a": 5}),
        ("new(map(a?: int))", {}),
    ],
)
def test_is_and_new(code: str, value: Any) -> None:
    assert evaluate(code) == value


@given(TYPES)
def test_a_type_that_json_has_kept_says_and_takes_the_same(type_: ConvoType) -> None:
    value = {"map": [type_, {"type": type_}], "list": None}
    kept = read_types(json.loads(json.dumps(write_types(value))))
    assert (kept["map"][0].schema, kept["map"][1]["type"].schema, kept["list"]) == (type_.schema, type_.schema, None)


def test_no_type_is_kept_that_is_very_large_or_holds_itself() -> None:
    shared, deep, circle = INT, INT, dict[str, Any]()
    circle["a"] = circle
    for _ in range(60):
        shared = Struct((StructField("a", shared), StructField("b", shared)))
    for _ in range(60 * 2):
        deep = ArrayOf(deep)
    assert not any(can_write_types(value) for value in (shared, deep, circle, [PERSON, UNDEFINED]))
    assert can_write_types({"types": [PERSON, Enum(("a",))], "count": 1})
