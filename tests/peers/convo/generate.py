"""Seeded graphs, and calls of the built-in functions, which both implementations run.

Left out is what memorygraph does otherwise on purpose, since the original fails there: the value of an `if` with its
branches, a key or an index in place of a name in `idx`, and the last value of an `fn` without `return`; `else` after an
`if` in a text, which is never inserted; an `if` or an empty insertion, which doubles the text before the next one; `*`
in patterns, which matches no line breaks; and a graph whose nodes ask no model, which runs for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

REPLIES = ("yes", "no", " yes\n", "8", "3", "maybe", "10\n")


@dataclass(frozen=True)
class GeneratedGraph:
    """A graph with routes in code, and what the model answers, in order."""

    text: str
    replies: tuple[str, ...]


def make_graph(seed: int) -> GeneratedGraph:
    """A graph of two to five nodes with routes in code, prompts, functions, and shared variables.

    The unconditional route comes last, so that both take the first route that holds.
    """
    draw = Random(seed)
    count = draw.randint(2, 5)
    ids = [f"n{number}" for number in range(count)]
    parts = ["> define", "tries=0", 'word="none"', ""]
    for number, id_ in enumerate(ids):
        calls = draw.random() < 0.25
        # The original does not stop at a number of steps where it asks no model in between: such nodes go forward only.
        targets = ids[number + 1 :] if calls else ids
        routes = draw.randint(0, 2) if targets else 0
        parts += [route(draw, draw.choice(targets)) for _ in range(routes)]
        if draw.random() < 0.7 and number + 1 < count:
            parts.append(f"@to {draw.choice([ids[number + 1], 'next'])}")
        parts += [f"> node {id_}", f"Step {number}", ""]
        if draw.random() < 0.4:
            parts += ["    > do", f"    {draw.choice(STATEMENTS)}", ""]
        if calls:
            body = draw.choice(BODIES)
            parts += [f"    > f{number}(text: string) -> (", f"        {body}", "    )", ""]
        else:
            parts += ["    > user", f"    {draw.choice(PROMPTS)}", ""]
    parts += ["> nodeEnd", "", "> user", draw.choice(["Hello", "12", "two words", "yes"]), "", f"> goto {ids[0]}", ""]
    return GeneratedGraph("\n".join(parts), tuple(draw.choice(REPLIES) for _ in range(20)))


def route(draw: Random, target: str) -> str:
    """A route in code, or an exit."""
    condition = draw.choice(CONDITIONS)
    return f"@exit = {condition}" if draw.random() < 0.2 else f"@to {target} = {condition}"


CONDITIONS = (
    *('eq(output "yes")', 'neq(output "yes")', "gt(output 5)", "lte(output 5)", "gte(tries 3)", "lt(tries 2)"),
    *('and(eq(output "no") lt(tries 4))', 'or(eq(output "8") eq(output "3"))', "not(eq(input output))"),
    *('contains("e" output)', 'isIn(output "a")', 'starMatch(output "m*")', 'regexMatch(output "^y")'),
    *("gt(sub(tries 2) 0)", "eq(mod(tries 2) 1)", "isUndefined(output.x)", 'eq(word "seen")', "false"),
)
STATEMENTS = (
    *("tries=add(tries 1)", "inc(tries)", 'word="seen"', "tries=add(tries 2)", 'if(eq(input "yes")) word="seen"'),
)
BODIES = (
    *("return(text)", "add(text '!')", "tries=add(tries 1) return(tries)", "local=5 return(add(local tries))"),
    *('if(eq(text "yes")) return("was yes") return("other")', "word=text return(toJson({w:word n:tries} ))"),
    *("foreach(i=in([1 2 3])) inc(tries) return(tries)", "toJson(map(t: text n: tries))", "__args.text"),
)
PROMPTS = (
    *(
        "Say something about {{input}}.",
        "Tries {{tries}}, word {{word}}.",
        "It is {{if(gt(tries 1)) 'many'}}",
        "Of {{graphInput}}.",
    ),
    *("<INPUT>{{input}}</INPUT>", "{{tries word}} {{['a' input]}}", "Plain", "{{getNodeInput()}} now"),
)

# Calls

Maker = Callable[[Random], str]


def number(draw: Random) -> str:
    return draw.choice(["0", "1", "2", "-3", "7", "2.5", "10", "100", "0.5"])


def text(draw: Random) -> str:
    return draw.choice(
        ['""', '"a"', '"abc"', '"banana"', '"two words"', '"é ü"', '"A,b"', '"x/y?z=1&q"', '"line\\nbreak"']
    )


def numeral(draw: Random) -> str:
    return draw.choice(['"8"', '" 3 "', '"2.5"', '"-4"', '"10\\n"'])


def numeric(draw: Random) -> str:
    return draw.choice([number, number, numeral])(draw)


def constant(draw: Random) -> str:
    return draw.choice(["true", "false", "null"])


def simple(draw: Random) -> str:
    return draw.choice([number, text, constant])(draw)


def value(draw: Random) -> str:
    return draw.choice([simple, simple, items, mapping])(draw)


def items(draw: Random) -> str:
    return f"array({' '.join(simple(draw) for _ in range(draw.randint(0, 4)))})"


def numbers(draw: Random) -> str:
    return f"array({' '.join(number(draw) for _ in range(draw.randint(0, 4)))})"


def mapping(draw: Random) -> str:
    names = draw.sample(["a", "b", "c", "d"], draw.randint(0, 3))
    return f"map({' '.join(f'{name}: {simple(draw)}' for name in names)})"


def nested(draw: Random) -> str:
    return f"map(a: {simple(draw)} b: {items(draw)} c: {mapping(draw)})"


def mappings(draw: Random) -> str:
    return f"array({' '.join(mapping(draw) for _ in range(draw.randint(0, 3)))})"


def pattern(draw: Random) -> str:
    return draw.choice(['"a"', '"^b"', '"n+a$"', '"[a-c]{2}"', '"two|abc"', '"."'])


def stars(draw: Random) -> str:
    return draw.choice(['"*"', '"a*"', '"*a"', '"b*n*"', '"abc"'])


def type_(draw: Random) -> str:
    return draw.choice(["string", "number", "boolean", "int", "array(string)", "map(a: number)", 'enum("a" "abc")'])


def record(draw: Random) -> str:
    return draw.choice(["map(a: string)", "map(a: string b?: number)", "map(a: array(number))", "map(x: any y: time)"])


def layout(draw: Random) -> str:
    fields = draw.sample(
        ["yyyy", "yy", "MMMM", "MMM", "MM", "do", "dd", "d", "EEEE", "EEE", "HH", "h", "mm", "ss", "a"], 4
    )
    return f'"{draw.choice([" ", "-", "/"]).join(fields)}"'


def moment(draw: Random) -> str:
    return draw.choice(["1710410709000", "0", "1735689599999", '"2024-03-14T10:05:09Z"', '"2023-01-01T00:00:00Z"'])


ANY_NUMBER = (1, 4)
SHAPES: dict[str, tuple[tuple[Maker, ...], tuple[Maker, tuple[int, int]] | None]] = {
    **dict.fromkeys(("add",), ((), (numeric, ANY_NUMBER))),
    **dict.fromkeys(("sub", "mul", "div", "mod", "pow"), ((), (numeric, (1, 3)))),
    **dict.fromkeys(("gt", "gte", "lt", "lte"), ((), (numeric, ANY_NUMBER))),
    **dict.fromkeys(("eq", "neq", "and", "or", "not", "no"), ((), (simple, (0, 4)))),
    "isUndefined": ((value,), None),
    "deepCompare": (
        (lambda draw: draw.choice([f"{mapping(draw)} {mapping(draw)}", f"{items(draw)} {items(draw)}"]),),
        None,
    ),
    "is": ((simple, type_), None),
    "contains": ((text, text), None),
    "isIn": ((text, text), None),
    "regexMatch": ((text, pattern), None),
    "starMatch": ((lambda draw: text(draw).replace("\\n", ""), stars), None),
    "aryAdd": ((items,), (simple, ANY_NUMBER)),
    "aryRemove": ((items,), (simple, ANY_NUMBER)),
    "aryConcat": ((), (items, ANY_NUMBER)),
    "aryDistinct": ((), (items, ANY_NUMBER)),
    "aryJoin": ((items,), (text, (0, 3))),
    "aryInsert": ((items, lambda draw: draw.choice(["0", "1", "2", "5"])), (simple, ANY_NUMBER)),
    "aryFindMatch": ((mappings, mapping), None),
    "aryFindIndex": ((mappings, mapping), None),
    "aryRemoveMatch": ((mappings, mapping), None),
    **dict.fromkeys(("getObjKeys", "getObjKeyCount", "getObjKeyValues"), ((mapping,), None)),
    "merge": ((), (mapping, ANY_NUMBER)),
    "setObjDefaults": ((mapping, mapping), None),
    "toJson": ((nested,), None),
    "toMarkdown": ((lambda draw: draw.choice(["1", "2", "5"]), nested), None),
    "toCsv": ((mappings,), None),
    "md": ((), (value, ANY_NUMBER)),
    "toJsonScheme": ((record,), None),
    **dict.fromkeys(("encodeURI", "encodeURIComponent"), ((text,), None)),
    **dict.fromkeys(("secondMs", "minuteMs", "hourMs", "dayMs"), ((number,), None)),
    "dateTime": ((layout, moment), None),
    "new": ((lambda _: "map(a: string)", lambda draw: f"map(a: {text(draw)})"), None),
    "map": ((), None),
    "array": ((), (value, (2, 4))),
    "tmpl": ((text,), None),
    "getVar": ((lambda _: '"nothing"', simple), None),
    "fn": ((lambda draw: f"return({value(draw)})",), None),
    "do": ((), (value, ANY_NUMBER)),
    "switch": ((simple, lambda draw: f"case({simple(draw)}) {value(draw)} default() {value(draw)}"), None),
}
CALLS_EACH = 80


def make_calls(seed: int, names: set[str]) -> Iterator[str]:
    """Calls of the functions of these names, with arguments of the types that they take."""
    draw = Random(seed)
    for name in sorted(names & set(SHAPES)):
        first, rest = SHAPES[name]
        for _ in range(CALLS_EACH):
            arguments = [make(draw) for make in first]
            if rest is not None:
                make, (least, most) = rest
                arguments += [make(draw) for _ in range(draw.randint(least, most))]
            yield f"{name}({' '.join(arguments)})"
    yield from make_templates(draw)
    yield from make_bodies(draw)


def make_templates(draw: Random) -> Iterator[str]:
    """Texts with insertions, of values, of conditions and of loops."""
    for _ in range(400):
        inserted = draw.choice(
            [
                value(draw),
                f"{simple(draw)} {simple(draw)}",
                f"if({draw.choice(['true', 'false'])}) {simple(draw)}",
                f"foreach(x=in({items(draw)})) x",
                f"map(a: 1 b: {simple(draw)} )",
            ]
        )
        yield f"'a{{{{ {inserted} }}}}b'"
    for _ in range(200):
        target = draw.choice([mapping, text])(draw)
        yield f"array({target} << {text(draw)})"


def make_bodies(draw: Random) -> Iterator[str]:
    """Statements with conditions, loops, and variables that change."""
    for _ in range(500):
        held, other, some, many, rounds = simple(draw), simple(draw), number(draw), numbers(draw), draw.randint(0, 4)
        truth = draw.choice(["true", "false", "eq(1 1)", "0", '""', "gt(2 3)", '"a"'])
        yield draw.choice(
            [
                f"n={some} {draw.choice(['inc', 'dec'])}(n) n",
                f"n={some} {draw.choice(['inc', 'dec'])}(n {number(draw)}) n",
                f"t=0 foreach(x=in({many})) t=add(t x) t",
                f"t=0 foreach(x=in({many})) do(break(eq(x {some})) t=add(t 1)) t",
                f"t=0 foreach(e=in({mapping(draw)})) t='{{{{t}}}}{{{{e.key}}}}{{{{e.value}}}}' t",
                f"n=0 t=0 while(lt(n {rounds})) do(inc(n) t=add(t {some})) t",
                f"n=0 while(true) do(inc(n) if(gt(n {rounds})) break()) n",
                f"x=0 if({truth}) then(x={held}) else(x={other}) x",
                f"x=0 if({truth}) then(x={held}) elif(true) then(x={other}) x",
                f"x={held} if({truth}) x={other} x",
                f"m={mapping(draw)} k='a' idx(m 'k')",
                f"l=array({held} {other}) i={draw.randint(0, 2)} idx(l 'i')",
                f"setDefault(x: {held}) x",
                f"x={held} setDefault(x: {other} y: {some}) array(x y)",
                f"setVar('x' {some}) getVar('x')",
                f"is({held} enum({other} {held}))",
                f"fn(if({truth}) return({held}) return({other}))",
            ]
        )


def make_arguments(draw: Random, schema: dict[str, Any]) -> Any:
    """A value that fits a JSON Schema."""
    if "enum" in schema:
        return draw.choice(schema["enum"])
    kind = schema.get("type", "string")
    if kind == "object":
        return {name: make_arguments(draw, inner) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [make_arguments(draw, schema.get("items", {})) for _ in range(draw.randint(0, 3))]
    made: dict[str, Any] = {"number": draw.choice([0, 1, 2.5]), "integer": draw.choice([0, 1, 7])}
    return made.get(kind, draw.random() < 0.5 if kind == "boolean" else draw.choice(["a", "abc", "", "7"]))


def canonical(value: Any) -> str:
    """A value as text that is equal for equal values: numbers as JSON has them, whether whole or not."""
    return json.dumps(normal(value), sort_keys=True, ensure_ascii=False)


def normal(value: Any) -> Any:
    """A value with whole numbers as such, and what only a float holds to the digits that both print."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        whole = abs(value) < 2**53 and float(value).is_integer()
        return int(value) if whole else float(f"{float(value):.12g}")
    if isinstance(value, list):
        return [normal(item) for item in value]
    return {key: normal(item) for key, item in value.items()} if isinstance(value, dict) else value
