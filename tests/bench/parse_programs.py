"""How long programs in the nested languages take to parse, with all checks, and textX with the same grammars.

`python tests/bench/parse_programs.py [LINES …]`
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from textx import metamodel_from_file

import memorygraph.languages
from memorygraph.languages import parse

HEAD = """import llm Model from "openai://gpt"
import tool Search from "https://example.org"
import memory Facts from "neo4j://"
"""
AGENT = """
// Answers questions of kind NUMBER.
NUMBER_MAINagent Answerer-NUMBER {
  model Model
  role "A careful helper"
  description "Answers questions from what was found"

  main func(input { question string tags list[string] }) {
    scratch = []
    done = false
    use input.question
    use scratch.summary < 2k

    loop until done == true or scratch.length == 5 < 5 {
      found = Search.get({ text: input.question, page: scratch.length })
      for one in found.items < 10 {
        if one.score != "low" and not one.seen {
          scratch.add({ fact: one.text, source: [one.url, one.page] })
        } else {
          Facts.add({ kind: "skipped", text: one.text })
        }
      }
      done = check(scratch, found.items[0])
    }
    return generate({ input: "Answer the question from the facts" limit: 800, attempts: 2 }) {
      return { ok boolean text string sources list[string] }
    }
  }

  func check(facts, first) {
    return facts.length == 3 and first != none
  }
}
"""
NODE = """
// Sorts what somebody says.
@to step{next} = not(eq(output.kind "other"))
@exit If {{{{output}}}} is rude
> node step{number}
Sorts and rates the input

    > rate(
        # from 1 to 10
        score: number
        kind: enum("happy" 'sad' "other")
    ) -> (
        log = httpPost("https://example.org/log" {{ score: score, tags: ['{{{{kind}}}} today' 1.5] }})
        if(gt(score 5)) then( return({{ kind: kind }}) )
        return({{ kind: "other" }})
    )

    @call
    > user
    Rate the following input:

    <INPUT>{{{{input}}}}</INPUT> with {{{{join(getNodeInput(-1) 'of {{{{name}}}}')}}}}
"""
THOUGHT = """  @[time: 12:30]
  !! thermometer {{ "temperature": {number} }}
  // It is hot; somebody should do something about it.
  &heat{number} = /* the heat in the lab, as it was measured there */
  &travis doesn't like &heat{number}.
  context cool(&heat{number}, &fan) {{
    @fan, set {{"speed": {number}, "for": [1, 2.5]}} >> {{"ok": true}}
    tl;dr /* turned the fan on */
  }}
  &old = memory:{number}
  &pete knows that &travis likes &fan and &fan cools &heat{number}.
  _who likes &fan?
  _x likes _y if _y cools &old and _x knows _y.
"""


def program(lines: int) -> str:
    """A program of at least so many lines."""
    text = HEAD
    number = 0
    while text.count("\n") < lines:
        text += AGENT.replace("NUMBER_MAIN", "" if number else "main ").replace("NUMBER", str(number))
        number += 1
    return text


def conversation(lines: int) -> str:
    """A conversation of at least so many lines."""
    text, number = "", 0
    while text.count("\n") < lines:
        text += NODE.format(number=number, next=number + 1)
        number += 1
    return f"{text}\n> node step{number}\n> nodeEnd\n> goto step0\n"


def log(lines: int) -> str:
    """A log of at least so many lines, whose outermost context is open."""
    text, number = "context main(&pete, &travis, &fan) {\n", 0
    while text.count("\n") < lines:
        text += THOUGHT.format(number=number)
        number += 1
    return text


def seconds(work: Callable[[], object], rounds: int = 5) -> float:
    """The best of some rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(language: str, make: Callable[[int], str], sizes: list[int]) -> None:
    """Measure programs of these sizes."""
    path = Path(memorygraph.languages.__file__).parent / language / "grammar.tx"
    metamodel = metamodel_from_file(str(path), auto_init_attributes=False, autokwd=True)
    for size in sizes:
        text = make(size)
        parsed = parse(text, language)
        assert not parsed.problems, parsed.problems[0]
        ours = seconds(lambda text=text: parse(text, language))  # type: ignore[misc]
        plain = seconds(lambda text=text: metamodel.model_from_str(text), 1)  # type: ignore[misc]
        print(
            f"{language}, {text.count(chr(10)):,} lines: parse and check {ours:.3f} s; textX alone {plain:.3f} s, "
            f"so {plain / ours:.1f} times; {len(text) / ours / 1000:,.0f} thousand characters a second"
        )


if __name__ == "__main__":
    lines = [int(argument) for argument in sys.argv[1:]] or [1000, 5000]
    measure("agentscript", program, lines)
    measure("convo", conversation, lines)
    measure("pete", log, lines)
