"""The built-in functions, as tables of expressions and their values."""

from __future__ import annotations

import math
import re
import time
import warnings
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.languages import parse
from memorygraph.languages.convo.reading import BUILT_IN
from memorygraph.runtime.convo.builtins import FUNCTIONS, texts
from memorygraph.runtime.convo.builtins.texts import star_match
from memorygraph.runtime.convo.evaluator import CALLABLE
from memorygraph.runtime.convo.scope import WorkBudget
from memorygraph.runtime.convo.values import MAX_ITEMS, UNDEFINED
from tests.examples import every_nth
from tests.runtime.convo.expressions import evaluate, failure

LOGIC = [
    ("eq()", False),
    ("eq(1)", False),
    ("eq(1 1)", True),
    ("eq(1 1.0)", True),
    ("eq(1 1 1)", True),
    ("eq(1 1 2)", False),
    ('eq(1 "1")', False),
    ("eq(1 true)", False),
    ("eq(null undefined)", False),
    ("eq(missing undefined)", True),
    ("eq([] [])", False),
    ("a=[] b=a eq(a b)", True),
    ("neq()", False),
    ("neq(1)", False),
    ("neq(1 2)", True),
    ("neq(1 1)", False),
    ("gt(2)", False),
    ("gt(3 2 1)", True),
    ("gt(3 3)", False),
    ("gte(3 3 2)", True),
    ("lt(1 2 3)", True),
    ("lt(1 3 2)", False),
    ("lte(1 1)", True),
    ('lt("a" "b")', True),
    ('lt(1 "2")', True),
    ('lt(1 "x")', False),
    ('[gt("8" 5) gte(8 "8") lte("8" 5) gt("10" "9")]', [True, True, False, False]),
    ("lt(null 1)", False),
    ("lt(false true)", False),
    ("gt(missing 1)", False),
    ("and()", False),
    ("and(1)", True),
    ('and(1 "a" [])', True),
    ('and(1 "" 2)', False),
    ("n=0 and(false inc(n)) n", 0),
    ("or()", UNDEFINED),
    ('or(0 "" "x" 5)', "x"),
    ('or(0 "")', ""),
    ("or(0 null)", None),
    ("n=0 or(1 inc(n)) n", 0),
    ("not()", True),
    ('not(0 "" null undefined)', True),
    ("not(0 1)", False),
    ('no(0 "")', True),
    ("no(0 1)", False),
    ("isUndefined()", True),
    ("isUndefined(missing missing.a.b)", True),
    ("isUndefined(null)", False),
    ("deepCompare({a: [1]} {a: [1]})", True),
    ("deepCompare({a: 1 b: 2} {b: 2 a: 1})", True),
    ('deepCompare([1] ["1"])', False),
    ("deepCompare([1] [1 2])", False),
    ("deepCompare(array(string) array(string))", True),
]
ARITHMETIC = [
    ("add()", UNDEFINED),
    ("add(1 2 3)", 6),
    ("add(undefined 1 missing 2)", 3),
    ("add(missing)", UNDEFINED),
    ('add("a" 1 true null 1.50)', "a1truenull1.5"),
    ('add(1 "a")', "1a"),
    ('add("n: " [1 2])', "n: - 1\n- 2"),
    ("add([])", []),
    ("sub(10 2 3)", 5),
    ("mul(2 3 4)", 24),
    ("div(10 4)", 2.5),
    ("div(10 5)", 2),
    ("mod(7 3)", 1),
    ("mod(-7 3)", -1),
    ("mod(7 -3)", 1),
    ("mod(5.5 2)", 1.5),
    ("pow(2 10)", 1024),
    ("pow(2 -1)", 0.5),
    ("pow(2 0.5)", 2**0.5),
    ("[pow(2 2000) pow(-10 1001) pow(-10 1000)]", [math.inf, -math.inf, math.inf]),
    ("pow(10.5 1000000000)", math.inf),
    ("mul(1e308 -10)", -math.inf),
    ("mod(3 pow(2 2000))", 3.0),
    ('md(pow(2 2000) " " pow(-1 0.5) " " sub(0 pow(2 2000)))', "Infinity NaN -Infinity"),
    ("toJson([pow(2 2000) pow(-1 0.5)])", "[\n    null,\n    null\n]"),
    ("pow(1 1000000000)", 1),
    ("pow(-1 999999999)", -1),
    ("pow(2 -999999999)", 0),
    ("[secondMs(1) minuteMs(1) hourMs(1) dayMs(0.5)]", [1000, 60_000, 3_600_000, 43_200_000]),
    ("secondMs()", 0),
    ('[sub("8" 2) mul("2" " 3 ") div("8" 4) mod("8" 3)]', [6, 6, 2, 2]),
    ("n=1 inc(n)", 2),
    ("n=1 inc(n 5) n", 6),
    ("n=1 dec(n) n", 0),
    ("inc(n) n", 1),
    ("dec(n)", -1),
    ("m={a: 1} inc(m.a) m.a", 2),
    ('s="a" inc(s "b") s', "ab"),
    ('s="5" inc(s) s', 6),
    ('s="5" dec(s) s', 4),
    ('s="5" inc(s "1") s', "51"),
    ('s="a" inc(s) s', "a1"),
]
LISTS = [
    ('contains("ell" "hello")', True),
    ('contains("hello" "ell")', False),
    ('contains("hello" 1)', False),
    ("contains([1 2] 2)", True),
    ('contains([1 2] "2")', False),
    ("contains(2 [1 2])", True),
    ('contains({a: 1} "a")', True),
    ('contains({a: 1} "keys")', False),
    ("contains(missing 1)", False),
    ('isIn("hello" "ell")', True),
    ('isIn("ell" "hello")', False),
    ("isIn(2 [1 2])", True),
    ("isIn([1 2] 2)", True),
    ("isIn(1 null)", False),
    ("merge()", {}),
    ("merge({a: 1 b: 1} null {b: 2 c: missing})", {"a": 1, "b": 2}),
    ("getObjKeys({b: 1 a: 2})", ["b", "a"]),
    ("getObjKeys(5)", []),
    ("getObjKeys([5 6])", ["0", "1"]),
    ("getObjKeyValues({b: 1 a: 2})", [1, 2]),
    ("[getObjKeyCount({b: 1 a: 2}) getObjKeyCount(5)]", [2, 0]),
    ("l=[{n: 7}] i=0 idx(l 'i' 'n')", 7),
    ('idx({a: 1} "b")', UNDEFINED),
    ("m={a: 1} setObjDefaults(m {a: 2 b: 3}) m", {"a": 1, "b": 3}),
    ('setObjDefaults("m" {a: 2}) m', {"a": 2}),
    ("setDefault(x: 1) setDefault(x: 2 y: 3) [x y]", [1, 3]),
    ("a=[1] b=aryAdd(a 2 3) [a b]", [[1], [1, 2, 3]]),
    ("aryAdd(missing 1)", [1]),
    ("aryRemove([1 2 1 3] 1 3)", [2]),
    ("aryConcat([1] 2 [3 [4]] missing)", [1, 2, 3, [4]]),
    ("aryDistinct([3 1 3] 1 true [2])", [3, 1, True, 2]),
    ("aryJoin([1 true null missing])", "1, true, , "),
    ('aryJoin(["a" "b" "c"] "-" "+")', "a-b+c"),
    ('aryJoin(["a" "b"] "-")', "a-b"),
    ('aryJoin([] "-")', ""),
    ("aryFindMatch([{a: 1} {a: 2 b: 1} {a: 2}] {a: 2})", {"a": 2, "b": 1}),
    ("aryFindMatch([{a: 1} {b: 2}] {b: missing})", UNDEFINED),
    ("aryFindMatch([1] 2)", UNDEFINED),
    ("aryFindIndex([{a: 1} {a: 2 b: 3}] {a: 2})", 1),
    ("aryFindIndex([1] 2)", -1),
    ("aryInsert([1 2] 0 8 9)", [1, 8, 9, 2]),
    ("aryInsert([1 2] -1 0)", [0, 1, 2]),
    ("aryInsert(missing 5 1)", [1]),
    ("a=[1 2 1] aryRemoveMatch(a 1) a", [2, 1]),
    ("a=[{k: 1 n: 1} {k: 2}] aryRemoveMatch(a {k: 1}) a", [{"k": 2}]),
    ("aryRemoveMatch([] 1)", False),
    ("aryAdd(aryRandomize([7]) 8)", [7, 8]),
]
SCHEMA = (
    '{"type":"object","required":["a"],"properties":{"a":{"type":"string"},'
    '"b":{"type":"array","items":{"type":"integer"}}}}'
)
TEXTS = [
    ("toJson({a: [1 missing] b: missing})", '{\n    "a": [\n        1,\n        null\n    ]\n}'),
    ('toJson("a")', '"a"'),
    ("toJson(missing)", "undefined"),
    ("toJson(string)", '{\n    "type": "string"\n}'),
    ("toJsonScheme(map(a: string b?: array(int)))", SCHEMA),
    ("toMarkdown(3 {a: 1 b: [1 2]})", "- a: 1\n- b: \n  - 1\n  - 2"),
    ("toMarkdown(1 [1 2])", "- \n- "),
    ('toCsv([{a: 1 b: "x,y"} {a: {c: 2} }])', ["a,b,a_c", '1,"x,y",', ",,2"]),
    ('md("a" 1 null)', "a1null"),
    ('__md={t: "text"} [tmpl("t") tmpl("u")]', ["text", ""]),
    ('encodeURI("a b/ü?x=1&y=#")', "a%20b/%C3%BC?x=1&y=#"),
    ('encodeURIComponent("a b/ü?x=1")', "a%20b%2F%C3%BC%3Fx%3D1"),
    ('regexMatch("order 42" "[0-9]+$")', True),
    ('regexMatch("order" "^x")', False),
    ('regexMatch(42 "^4")', True),
    ('regexMatch(missing "undefined")', False),
    ('regexMatch("ab" "(?<first>a)b")', True),
    ('regexMatch("ab" "(?<=a)b")', True),
    ('regexMatch("ba" "(?<=a)b")', False),
    ('regexMatch("<a" "^\\\\(?<a")', True),
    ('regexMatch("a b" "^(a|b| )*$")', True),
    ('regexMatch("a" 5)', False),
    ('starMatch("photo.jpeg" "*.jp*g")', True),
    ('starMatch("photo.png" "*.jpg")', False),
    ('starMatch("a.c" "a?c")', False),
    ("starMatch(5 5)", False),
]
CONTROL = [
    ("if(true) 1", 1),
    ("if(false) 1", UNDEFINED),
    ("x=0 if(false) x=1 x", 0),
    ("x=0 if(true) x=1 x", 1),
    ("x=0 if(false) x=1 x=2 x", 2),
    ("if(true) then(1 2)", 2),
    ("if(false) then(1) else(2 3)", 3),
    ("if(true) then(1) else(2)", 1),
    ("if(false) 1 else(2)", 2),
    ("if(false) then(1) elif(false) then(2) else(3)", 3),
    ("if(false) then(1) elif(true) then(2) else(3)", 2),
    ("if(true) then(1) elif(true) then(2) else(3)", 1),
    ("if(false) then(1) elif(true) 2 elif(true) 3 else(4)", 2),
    ("n=0 if(true) then(1) elif(inc(n)) then(2) n", 0),
    ("if(false) then(1) then(2)", UNDEFINED),
    ("if(true) then(1) then(2)", 2),
    ("if(false) if(true) 1 2", 2),
    ("if(true) if(false) then(1) else(2)", 2),
    ("n=0 if(false) while(lt(n 3)) inc(n) n", 0),
    ("if(1 0) 1", UNDEFINED),
    ("if() 1", UNDEFINED),
    ("if(true)", True),
    ("if(false)", False),
    ("x=if(false) then(1) else(2) x", 2),
    ("add(if(true) then(1) else(2) 10)", 11),
    ("[if(false) 1 2]", [UNDEFINED, 2]),
    ("do(1 2)", 2),
    ("do()", UNDEFINED),
    ("n=0 while(lt(n 5)) do(inc(n)) n", 5),
    ("n=0 while(lt(n 5)) then(inc(n) inc(n)) n", 6),
    ("n=0 while(true) do(inc(n) if(gt(n 3)) break() ) n", 4),
    ("n=0 while(true) do(inc(n) break(gt(n 7))) n", 8),
    ("n=0 while(lt(n 3)) do(inc(n) m=0 while(true) do(inc(m) break())) [n m]", [3, 1]),
    ("s=0 foreach(x=in([1 2 3])) s=add(s x) s", 6),
    ("s='' foreach(e=in({a: 1 b: 2})) s='{{s}}{{e.key}}{{e.value}}' s", "a1b2"),
    ("foreach(x=in([])) 1", UNDEFINED),
    ("foreach(x=in(missing)) 1", UNDEFINED),
    ("foreach(x=in([1 2 3])) do(if(eq(x 2)) break() x) x", 2),
    ("l=[1 2] foreach(x=in(l)) aryRemoveMatch(l x) l", []),
    ("switch(2 case(1) 10 case(2 3) 20 default() 30)", 20),
    ("switch(3 case(1) 10 case(2 3) do(5 20) default() 30)", 20),
    ("switch(9 case(1) 10 default() 30)", 30),
    ("switch(9 case(1) 10 default(30))", 30),
    ("switch(9 case(1) 10)", UNDEFINED),
    ("switch(5 test(gt(1 2)) 10 test(true) 20)", 20),
    ('switch("a" case("a") if(false) 1 default() 2)', UNDEFINED),
    ("switch(true 1 2)", 1),
    ("switch(false 1 2)", 2),
    ("switch(false 1)", UNDEFINED),
    ("switch()", UNDEFINED),
    ("fn(return(1) 2)", 1),
    ("add(fn(1 return(2)) 1)", 3),
    ("fn()", UNDEFINED),
    ("1 return(2) 3", 2),
    ("return()", UNDEFINED),
    ("if(true) then(return(1)) 2", 1),
    ("while(true) return(5)", 5),
]
VARIABLES = [
    ('setVar("a" 5) a', 5),
    ('setVar("a" "b.c" 5) a', {"b": {"c": 5}}),
    ('a={b: 1} getVar("a.b")', 1),
    ('getVar("missing" "other")', "other"),
    ('getVar("missing")', UNDEFINED),
]
TABLE = [*LOGIC, *ARITHMETIC, *LISTS, *TEXTS, *CONTROL, *VARIABLES]


@pytest.mark.parametrize(("code", "value"), TABLE, ids=[code for code, _ in TABLE])
def test_values(code: str, value: Any) -> None:
    found = evaluate(code)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sub(1 null)", "`sub` takes numbers, and this is null: null"),
        ("add(1 true)", "`add` takes numbers, and this is a boolean: true"),
        ("mul([] 2)", "`mul` takes numbers, and this is a list: []"),
        ("div(1 0)", "`div` cannot divide by 0"),
        ("div(1.5 0)", "`div` cannot divide by 0"),
        ("mod(1 0)", "`mod` cannot divide by 0"),
        ("mod(1.5 0.0)", "`mod` cannot divide by 0"),
        ("pow(0 -1)", "`pow` cannot divide by 0"),
        ("rand(-1)", "`rand` takes a number from 0 on, and not -1"),
        ("inc(5)", "`inc` takes a variable, and by how much"),
        ("dec()", "`dec` takes a variable, and by how much"),
        ("n=null inc(n)", "`add` takes numbers, and this is null: null"),
        ("aryAdd(5 1)", "`aryAdd` takes a list, and this is a number"),
        ("aryJoin()", "`aryJoin` takes at least 1 argument, and was given 0"),
        ("aryJoin(1 2 3)", "`aryJoin` takes a list, and this is a number"),
        ("toCsv(5)", "`toCsv` takes a list of maps, and this is a number"),
        ('toMarkdown("x" 1)', "`toMarkdown` takes its depth first, and this is a text"),
        ('aryInsert([] "x")', "`aryInsert` takes an index, and this is a text"),
        ("sleep(60001)", "`sleep` waits for at most 60,000 milliseconds"),
        ("missing << 'a'", "this pipe leads into what is undefined"),
        ("deepCompare(1)", "`deepCompare` takes 2 arguments, and was given 1"),
        ("setVar(1)", "`setVar` takes at least 2 arguments, and was given 1"),
        ("now(1)", "`now` takes no arguments, and was given 1"),
        ("setVar(1 2)", "the name of a variable is a text, and this is a number"),
        ('setVar("a.b" 1) setVar("a.b.c" 1)', "a number has no `c` that could be set"),
        ('regexMatch("a" "(")', "invalid pattern: missing ), unterminated subpattern"),
        ('regexMatch("a" "*")', "invalid pattern: nothing to repeat"),
        ('regexMatch("a" "a{99999999999}")', "invalid pattern: the repetition number is too large"),
        ('regexMatch("a" "(a){99999999999}")', "invalid pattern: the repetition number is too large"),
        ("then(1)", "`then` follows `if(…)`"),
        ("else(1)", "`else` follows `if(…)`"),
        ("elif(1)", "`elif` follows `if(…)`"),
        ("if(true) 1 2 else(3)", "`else` follows `if(…)`"),
        ("in([1])", "`in` stands in `foreach(item=in(list))`"),
        ("case(1)", "`case` stands in `switch(…)`"),
        ("switch(1 case(2) 2 3)", "one statement follows each `case`"),
        ("break()", "`break` stands in no loop here"),
        ("while(true)", "after `while(…)`, the statement that it repeats is missing"),
        ("while(true) 1", "`while` does not end: it has gone more than 100,000 rounds"),
        ("foreach(x=in([1]))", "after `foreach(…)`, the statement"),
        ("foreach(x=5) 1", "`foreach` is written as"),
        ("foreach(in([1])) 1", "`foreach` is written as"),
        ("foreach(x=in(5)) 1", "`foreach` goes through a list or a map, and this is a number"),
        ("while(true) fn(break())", "`break` stands in no loop here"),
        ('dateTime("yyyy" "yesterday")', "a time is in milliseconds or as in ISO 8601, and this is a text"),
        ('dateTime("yyyy" 1e300)', "a time is in milliseconds"),
    ],
)
def test_errors_say_what_is_wrong(code: str, message: str) -> None:
    assert message in failure(f"> do\n{code}\n").message


@pytest.mark.parametrize("name", ["encodeURI", "encodeURIComponent"])
def test_half_a_character_has_no_place_in_an_address(name: str) -> None:
    problem = failure(f"> do\n{name}(said)\n", {"said": "x\ud83d"})
    assert (problem.line, problem.code) == (2, "encoding")
    assert f"`{name}` takes a text of whole characters" in problem.message


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        'x="xxxxxxxxxx" while(true) x=add(x x)',
        "x='xxxxxxxxxx' while(true) x='{{x}}{{x}}'",
        "x=[1] while(true) x=aryConcat(x x)",
        "x=[1] while(true) x=array(x x)",
        "x=2 while(true) x=mul(x x)",
        "x=[] while(true) x=aryAdd(x x)",
        "while(true) foreach(x=in([1 2 3 4 5 6 7 8 9])) foreach(y=in([1 2 3 4 5 6 7 8 9])) eq(x y)",
        'x="xxxxxxxxxx" n=0 while(lt(n 19)) do(x=add(x x) inc(n)) l=[] while(true) l=aryAdd(l add(x n))',
        "x=[x] n=0 while(lt(n 60)) do(x=[x x] inc(n)) toJson(x)",
        "x={} x.x=x toJson(x)",
    ],
)
def test_nothing_grows_without_bounds(code: str) -> None:
    started = time.process_time()
    assert failure(f"> do\n{code}\n").code in {"value-too-large", "endless-loop", "too-much-work"}
    assert time.process_time() - started < 10


@pytest.mark.slow
def test_much_data_counts_as_much_work() -> None:
    work = WorkBudget()
    work.spend_reading([[0] * 100_000, "x" * 100_000, 5])
    assert work.done == 1500
    message = failure("> do\nwhile(true) getObjKeys(list)\n", {"list": [0] * MAX_ITEMS}).message
    assert "more than 1,000,000 calls" in message


@pytest.mark.parametrize(
    "pattern",
    every_nth(["(a+)+$", "(a|aa)+$", "(a|a)*[bc]", "a*a*a*a*a*a*a*[bc]", "(.*)*[xy]", "((a?){30}){30}[bc]"], 3),
)
def test_a_pattern_cannot_hang(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MAX_SEARCH_S", 0.5)
    started = time.process_time()
    message = failure(f'> do\nregexMatch(text "{pattern}")\n', {"text": "a" * 2000 + "!"}).message
    assert message == "the search for a pattern took more than 0.5 seconds"
    assert time.process_time() - started < 10


@pytest.mark.parametrize("pattern", ["(a|a)*b", "a*a*a*a*a*a*a*b", "(.*)*x", "((a?){30}){30}b", "(a{0,900}){0,900}b"])
def test_a_pattern_that_needs_a_missing_character_fails_at_once(pattern: str) -> None:
    started = time.monotonic()
    assert evaluate(f'regexMatch(text "{pattern}")', text="a" * 2000 + "!") is False
    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    "pattern",
    ["(((a{100}){100}){100}){100}", "(?:(?:a{900}){900}){9}", "(?x)((a{99}) {99}) #{\n{99}", "((a{500,}){500,}){500,}"],
)
def test_a_pattern_cannot_repeat_without_bounds(pattern: str) -> None:
    started = time.monotonic()
    problem = failure("> do\nregexMatch(text pattern)\n", {"text": "a", "pattern": pattern})
    assert (problem.code, "all counts multiplied" in problem.message) == ("value-too-large", True)
    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a{e}", "b", False),
        ("a{e}", "a{e}", True),
        ("[{]a", "{a", True),
        (r"\{1}", "{1}", True),
        (r"\N{DIGIT ONE}", "1", True),
        ("x{1,2}y", "xxy", True),
        ("x{,2}y", "y", True),
        ("[[a]b]", "[b]", True),
        ("[a||b]", "|", True),
        ("(?i)STRASSE", "straße", False),
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "123e4567-e89b-12d3-a456-426614174000", True),
    ],
)
def test_a_pattern_means_what_it_means_in_python(pattern: str, text: str, found: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        assert (re.search(pattern, text) is not None) is found
    assert evaluate("regexMatch(text pattern)", text=text, pattern=pattern) is found


@pytest.mark.parametrize("pattern", [r"a\Kb", "(?R)", r"\p{L}", "x(?i)a", r"(?<!a+)b", "(" * 5000])
def test_what_is_no_pattern_in_python_is_invalid(pattern: str) -> None:
    problem = failure("> do\nregexMatch(text pattern)\n", {"text": "ab", "pattern": pattern[:1000]})
    assert (problem.code, problem.message.startswith("invalid pattern: ")) == ("invalid-pattern", True)


def test_patterns_and_texts_are_bounded() -> None:
    for text, pattern in (("a", "a" * 1001), ("a" * 100_001, "a")):
        message = failure("> do\nregexMatch(text pattern)\n", {"text": text, "pattern": pattern}).message
        assert "a pattern of at most 1,000 characters and a text of at most 100,000" in message


@given(st.text("ab*", max_size=8), st.text("ab", max_size=8))
def test_stars(pattern: str, text: str) -> None:
    assert star_match(text, pattern) is (re.fullmatch(pattern.replace("*", ".*"), text) is not None)


def test_now_uuid_rand_and_print(capsys: pytest.CaptureFixture[str]) -> None:
    assert abs(evaluate("now()") - time.time() * 1000) < 5000
    assert UUID(evaluate("uuid()")) != UUID(evaluate("uuid()"))
    assert 0 <= evaluate("rand()") < 1
    assert {evaluate("rand(1)") for _ in range(100)} == {0, 1}
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", evaluate("shortUuid()"))
    assert evaluate("sleep(1)") >= 1
    assert evaluate('print("a\u001b[31m" [1] 5)') is UNDEFINED
    assert capsys.readouterr() == ("", "a[31m - 1 5\n")


def test_date_time() -> None:
    moment = datetime.fromisoformat(evaluate("dateTime()"))
    assert abs(moment - datetime.now().astimezone()) < timedelta(seconds=5)
    assert evaluate('dateTime("yyyy-MM-dd HH:mm:ss.SSS" "2024-03-01T09:05:07.123")') == "2024-03-01 09:05:07.123"
    assert evaluate('dateTime("EEEE, MMMM d, h:mm a" "2024-03-01T15:05:07")') == "Friday, March 1, 3:05 PM"
    assert evaluate('dateTime("MMMM do, y" "2024-03-14")') == "March 14th, 2024"
    before = evaluate('dateTime("yyyy-MM-dd")')
    assert evaluate("today()") in {before, evaluate('dateTime("yyyy-MM-dd")')}  # midnight may lie between
    assert evaluate("dateTime(\"yyyy'T'yy''\" \"2024-03-01\")") == "2024T24'"
    assert evaluate("dateTime(\"h 'o''clock'\" \"2024-03-01T09:05:00\")") == "9 o'clock"
    assert evaluate("dateTime(\"''yy 'of ''24'\" \"2024-03-01\")") == "'24 of '24"
    assert evaluate('dateTime("yyyy \'at" "2024-03-01")') == "2024 at"
    assert evaluate('dateTime("dd.MM.yy \'at\' H:mm" "2024-03-01T09:05:00")') == "01.03.24 at 9:05"
    local = datetime.fromtimestamp(1_700_000_000).astimezone()
    assert evaluate("dateTime(undefined 1700000000000)") == local.isoformat(timespec="seconds")


def test_every_function_has_a_value_in_a_table() -> None:
    tested = "\n".join(code for code, _ in TABLE)
    elsewhere = {"now", "uuid", "rand", "print", "dateTime", "new", "is", "today", "shortUuid", "sleep"}
    elsewhere |= {"httpGet", "httpGetString", "httpPost", "httpPut", "httpPatch", "httpDelete"}  # in test_http.py
    assert [name for name in FUNCTIONS if f"{name}(" not in tested and name not in elsewhere] == []


@pytest.mark.parametrize("name", ["eq", "if", "map", "httpGet", "getNodeInfo", "case"])
def test_no_built_in_function_can_be_defined(name: str) -> None:
    [problem] = parse(f"> user\nhi\n\n> {name}(a: string)\n", "convo").problems
    assert (problem.code, problem.line, f"`{name}`" in problem.message) == ("redefined-builtin", 4, True)


def test_the_language_knows_exactly_the_names_that_are_built_in() -> None:
    assert CALLABLE | {"getNodeInfo", "getNodeInput"} == BUILT_IN
