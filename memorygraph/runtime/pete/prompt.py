"""What a model is told so that it continues a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memorygraph.errors import Problem
from memorygraph.runtime.pete.faculties import Faculty

_RULES = """\
You are the mind of an agent. Its running thought is a log in the language PETE, and you write what comes next in it. \
The log is the agent's inner monologue and its memory: nobody else reads it. Answer with PETE only, without Markdown \
and without repeating what stands there: your text is put behind the end of the log as it is.

A log is made of contexts, `context name(&a, &b) { … }`, and in each context of these statements:
// a thought, up to the end of the line
&heat = /* the heat in the lab */        names a concept: the same text is the same concept
&old = memory:42                         names what is stored at an address
&travis likes &heat.                     a fact: argument, predicate, argument, full stop
&travis doesn't like &heat.              what is not so: doesn't, don't, not, !
&I knows that &travis likes &heat.       `that …` speaks of something without saying that it is so
_who likes &heat?                        a question: the system answers it, and binds &who
_a likes _b if _b cools _a and _a is 3.  a rule, with variables
@[time: 12:30]                           a note on this context
tl;dr /* what came of it */              the result of this context; write it before the closing }
context cool(&heat) { … }                a context of its own for a part of the work; only the handles in brackets
                                         are known inside, and behind it &cool means the whole of it
@fan, set {"speed": 2}                   a command to a faculty: stop there, and the system writes `>> {…}` behind it

Arguments are handles (&name), addresses (memory:42), JSON values ("text", 3.5, true) or `that …`. Every handle needs \
a meaning before it is used. &I is you. Never write `>>` or `!!`: only the system does. Lines `!! name {…}` are what \
sensors report. A context whose text is out of view stands as `context name(&a) = memory:42 /* its result */`.
When the work of a context is done, write its tl;dr and close it with }."""

_CONTINUE = "This is the log. Write what comes next, from its end on."
_AGAIN = (
    "What you wrote could not be read from this place on, and was thrown away from there; what stood before it is in "
    "the log above, if it was complete. Write on from the end of the log, without this mistake:"
)


def messages_for(view: str, faculties: Mapping[str, Faculty], problems: Iterable[Problem] = ()) -> list[dict[str, Any]]:
    """The messages with which a model is asked to continue what it sees of a log.

    >>> messages_for("context main() {", {})[1]["content"].splitlines()[-1]
    'context main() {'
    """
    parts = [_CONTINUE]
    told = [*map(str, problems)]
    if told:
        parts = [_AGAIN, *told, _CONTINUE]
    user = "\n\n".join([*parts, view])
    return [{"role": "system", "content": _system(faculties)}, {"role": "user", "content": user}]


def _system(faculties: Mapping[str, Faculty]) -> str:
    if not faculties:
        return f"{_RULES}\n\nThere are no faculties: no command does anything."
    lines = [f"@{name}, {described}" for name, faculty in faculties.items() for described in faculty.describe()]
    return "\n".join([_RULES, "", "The faculties and their procedures:", *lines])
