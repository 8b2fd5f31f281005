"""Templates, variables, functions, and errors with their place."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.errors import ModelError, ScriptError, Source
from memorygraph.languages.convo.syntax import Template
from memorygraph.runtime.convo.evaluator import Evaluator
from memorygraph.runtime.convo.scope import Environment
from memorygraph.runtime.convo.types import BASIC, Enum
from memorygraph.runtime.convo.values import UNDEFINED
from tests.runtime.convo.expressions import Script, evaluate, failure

# Templates


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hi {{name}}!", "Hi Ada!"),
        ("{{missing}} {{missing.a.b}} {{name.a}}", "undefined undefined undefined"),
        ("{{null}} {{true}} {{1.50}}", "null true 1.5"),
        ("{{list}}", "- a\n- 2"),
        ("{{empty}}.", "."),
        ("{{map}}", '{\n    "k": "v"\n}'),
        ("{{map.k}} {{list.0}} {{list.length}}", "v a 2"),
        ("{{ x=1 add(x 1) }}", "12"),
        ("{{ if(eq(name 'Ada')) then('yes') else('no') }}", "yes"),
        ("{{ 'a {{ 'b {{ 'c {{name}}' }}' }}' }}", "a b c Ada"),
        ("{{ '}}' }}", "}}"),
        ("\\{{name}}", "{{name}}"),
        ('{{ enum("a" "b") }}', '{"type":"string","enum":["a","b"]}'),
        ("{{greet(name)}}", "Hello Ada"),
        ("{{return(1)}}{{2}}", "12"),
    ],
)
def test_templates(text: str, shown: str) -> None:
    variables = {"name": "Ada", "list": ["a", 2], "empty": [], "map": {"k": "v"}}
    assert Script(f"> greet(who: string) -> ('Hello {{{{who}}}}')\n\n> user\n{text}\n", variables).text() == shown


@pytest.mark.parametrize(
    "data",
    ["{{graphInput}}", "> goto evil", "@exit", "---\nx\n---", "'}}' \"", "\\{{a}}", "{{{{a}}}}", "# x\n// y", "???"],
)
def test_what_is_inserted_stays_data(data: str) -> None:
    script = Script("> user\n<INPUT>{{input}}</INPUT>\n", {"input": data, "graphInput": "secret", "a": "secret"})
    assert script.text() == f"<INPUT>{data}</INPUT>"
    nested = Script("> user\n{{ 'a {{ '{{input}}' }} b' }}\n", {"input": data, "graphInput": "secret"})
    assert nested.text() == f"a {data} b"


@given(st.lists(st.text()))
def test_a_text_without_insertions_is_itself(parts: list[str]) -> None:
    assert Evaluator(Environment(), Source("")).template(Template(tuple(parts))) == "".join(parts)


# Variables


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("a = 1 b=a b", 1),
        ("a.b.c = 1 a", {"b": {"c": 1}}),
        ("a = {b: [1 2]} a.b.1 = 5 a.b", [1, 5]),
        ("a = {b: null} a.b.c = 1 a.b", {"c": 1}),
        ("a = {} b = a b.x = 1 a", {"x": 1}),
        ("-5", -5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ('"{{name}}"', "{{name}}"),
        ("'{{name}}'", "Ada"),
        ("string = 5 string", 5),
        ('{"a b": 1, c: 2;}', {"a b": 1, "c": 2}),
        ("[]", []),
        ("__class__", UNDEFINED),
        ("name.__class__.__mro__", UNDEFINED),
        ("greet", UNDEFINED),
    ],
)
def test_expressions(code: str, value: Any) -> None:
    assert evaluate(code, name="Ada") == value


def test_a_body_changes_the_variables_that_are_shared_and_no_others() -> None:
    script = Script(
        "> change(n: int) -> (\n    x = n\n    y = 5\n    shared.z = n\n    setVar('w' n)\n    x\n)\n\n"
        "> do\nx = 1 shared = {} r = change(7) [x y shared w r n]\n"
    )
    assert script.run() == [7, UNDEFINED, {"z": 7}, 7, 7, UNDEFINED]


def test_a_parameter_without_a_value_hides_a_variable() -> None:
    assert Script("> f(a?: string b?: int) -> ([a b])\n\n> do\na = 1 b = 2 f('x')\n").run() == ["x", UNDEFINED]


def test_a_copied_environment_shares_nothing() -> None:
    environment = Environment({"a": {"b": [1]}, "t": Enum(("x",)), "u": UNDEFINED})
    other = environment.copy()
    other.variables["a"]["b"].append(2)
    other.variables["c"] = 1
    assert environment.variables == {"a": {"b": [1]}, "t": Enum(("x",)), "u": UNDEFINED}
    assert other.variables["u"] is UNDEFINED


# Functions


FUNCTIONS = """
> define
Person = map(name: string age?: int)

> one(a: string)
> two(a: string b?: number);
> none()
> typed() Person -> (add(name ":" age))
> text(n: any) -> string (n)
> nothing() -> void (null)
> person(name: string) -> Person ({name: name age: "36" more: 1})
> early(n: int) -> (
    while(true) do(
        n = add(n 1)
        if(gt(n 5)) then(return(n))
    )
    "never"
)
> early2(flag: enum("none" "bad") message: string) -> (
    if(eq(flag "none")) then(
        return(input)
    )
    return('{{message}}!')
)
> factorial(n: int) -> ( if(lt(n 2)) 1 else(mul(n factorial(sub(n 1)))) )
> down(n: int) -> ( if(eq(n 0)) then("end") else(down(sub(n 1))) )
> forever() -> ( forever() )
> double(n: int) -> ( double(n) double(n) )
"""


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("one(5)", "5"),
        ("one(a: 5)", "5"),
        ("two('x' '1.5')", {"a": "x", "b": 1.5}),
        ("two(b: 1 a: 'x')", {"a": "x", "b": 1}),
        ("two(b: 1 'x')", {"a": "x", "b": 1}),
        ("two('x')", {"a": "x"}),
        ("none()", {}),
        ("typed(name: 'Ada' age: '36')", "Ada:36"),
        ("text(5)", "5"),
        ("nothing()", UNDEFINED),
        ("person('Ada')", {"name": "Ada", "age": 36}),
        ("early(1)", 6),
        ("early2('none' 'x')", "the input"),
        ("early2('bad' 'x')", "x!"),
        ("factorial(20)", 2432902008176640000),
        ("down(499)", "end"),
        ("one(if(true) then('a') else('b'))", "a"),
    ],
)
def test_calls(code: str, value: Any) -> None:
    assert Script(f"{FUNCTIONS}\n> do\n{code}\n", {"input": "the input"}).run() == value


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("one()", "`one`.a is missing; it must be a text"),
        ("one(null)", "`one`.a must be a text, and is null"),
        ("one('a' 'b')", "`one` takes 1 arguments at most, and was given 2"),
        ("two('a' 1 b: 2)", "`two` takes 2 arguments at most, and was given 3"),
        ("two(a: 'a' c: 2)", "`two` has no parameter `c`; it has `a`, `b`"),
        ("two('a' 'b')", '`two`.b must be a number, and is a text: "b"'),
        ("early2('other' 'x')", '`early2`.flag must be one of "none", "bad", and is a text: "other"'),
        ("text([])", "what `text` returns must be a text, and is a list: []"),
        ("fator(1)", "there is no function `fator`"),
        ("factorail(1)", "there is no function `factorail`; did you mean `factorial`?"),
        ("a.b.eq(1)", "there is no function `a.b.eq`"),
        ("eval('1')", "there is no function `eval`"),
        ("__import__('os')", "there is no function `__import__`"),
    ],
)
def test_wrong_calls(code: str, message: str) -> None:
    problem = failure(f"{FUNCTIONS}\n> do\nx = 1\n   {code}\n")
    assert message in problem.message
    assert problem.column == 4
    assert problem.source_line.strip() == code


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("forever()", "functions call each other more than 500 levels deep"),
        ("down(500)", "functions call each other more than 500 levels deep"),
        ("double(1)", "functions call each other more than 500 levels deep"),
    ],
)
def test_deep_calls_are_errors(code: str, message: str) -> None:
    assert message in failure(f"{FUNCTIONS}\n> do\n{code}\n").message


@pytest.mark.slow
def test_many_calls_are_an_error() -> None:
    text = "> many(n: int) -> ( if(gt(n 0)) then(many(sub(n 1)) many(sub(n 1))) )\n\n> do\nmany(100)\n"
    assert "more than 1,000,000 calls" in failure(text).message


@pytest.mark.parametrize(("depth", "outcome"), [(120, 0), (499, "the expressions nest too deep")])
def test_deep_calls_of_deep_expressions_in_a_thread(depth: int, outcome: Any) -> None:
    inner = "add(" * 90 + "down(sub(n 1))" + ")" * 90
    script = Script(f"> down(n: int) -> ( if(eq(n 0)) then(0) else({inner}) )\n\n> do\ndown({depth})\n")
    outcomes: list[Any] = []

    def run() -> None:
        try:
            outcomes.append(script.run())
        except ScriptError as error:
            outcomes.append(error.problems[0].message)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert outcomes == [outcome]


def test_a_function_is_called_from_outside() -> None:
    script = Script(FUNCTIONS, {"input": "x"})
    script.run()
    functions = script.environment.functions
    assert script.evaluator.call_function(functions["two"], {"a": 1}) == {"a": "1"}
    assert script.evaluator.call_function(functions["early2"], ["bad", "no"]) == "no!"
    with pytest.raises(ScriptError) as caught:
        script.evaluator.call_function(functions["one"], {})
    assert "`one`.a is missing" in caught.value.problems[0].message
    assert caught.value.problems[0].source_line.startswith("> one")


def test_errors_in_a_body_say_where() -> None:
    problem = failure("> f(a: int) -> (\n    b = a\n    div(b 0)\n)\n\n> do\nf(1)\n")
    assert (problem.line, problem.column, problem.length, problem.code) == (3, 5, 8, "division-by-zero")
    problem = failure("> f(a: missing) -> (a)\n\n> do\nf(1)\n")
    assert (problem.line, problem.column) == (1, 8)
    assert problem.message.startswith("expected a type, not undefined")


# Hooks, and what a define may call


def test_hooks_are_functions_of_the_engine() -> None:
    hooks = {
        "getNodeInfo": lambda given: {"nodeId": "a", "given": given},
        "now": lambda _: 5,
    }
    script = Script("> do\n[getNodeInfo(-1) now()]\n", None, hooks)
    assert script.run() == [{"nodeId": "a", "given": [-1]}, 5]


def test_errors_of_services_stay_what_they_are() -> None:
    def fail(_: list[Any]) -> Any:
        raise ModelError("no model")

    with pytest.raises(ModelError, match="no model"):
        Script("> do\ngetNodeInfo()\n", None, {"getNodeInfo": fail}).run()


@pytest.mark.parametrize(
    "code",
    ["httpGet('http://x')", "f()", "setVar('a' 1)", "print(1)", "now()", "rand()", "if(true) 1", "while(false) 1",
     "foreach(x=in([])) x", "do(1)", "return(1)", "'{{ now() }}'", "[{a: uuid()}]", "switch(1 2 3)"],
)  # fmt: skip
def test_define_calls_only_what_is_pure(code: str) -> None:
    script = f"> f() -> (1)\n\n> define\nx = {code}\n" if "if(" not in code else f"> define\n{code}\n"
    problem = failure(script)
    assert problem.code == "not-in-define"
    assert "write it in a `do`" in problem.message or "call it in a `do`" in problem.message


def test_define_makes_values_and_types() -> None:
    script = Script(
        "> define\nT = array(enum('a' 'b')) n = add(1 2) m = {a: [1] b: and(true eq(n 3))} t = 'n is {{n}}'\n"
    )
    script.run()
    variables = script.environment.variables
    assert (variables["n"], variables["m"], variables["t"]) == (3, {"a": [1], "b": True}, "n is 3")


def test_the_type_of_an_expression() -> None:
    script = Script('> do\nenum("a" "b")\n> do\n5\n> do\nmissing\n')
    values = [message.statements[0].value for message in script.messages if hasattr(message, "statements")]
    assert script.evaluator.type(values[0]) == Enum(("a", "b"))
    assert script.evaluator.type(values[1]) == Enum((5,))
    assert script.evaluator.type("int") == BASIC["int"]
    with pytest.raises(ScriptError) as caught:
        script.evaluator.type(values[2])
    assert caught.value.problems[0].line == 6
