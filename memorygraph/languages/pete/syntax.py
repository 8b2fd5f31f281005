"""PETE: contexts that a model continues, its running thought.

The classes are what the rules of grammar.tx read: frozen values that know their place (`span`, without the blanks
before), and are equal when they say the same. A log is flat: an `Opening` and a `Closing` stand where a context begins
and ends, so that a log that a model is still writing is the beginning of a whole one, and no depth of nesting matters.

Source: the grammar of PETE and its rulings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

from memorygraph.errors import Problem, Source
from memorygraph.json_text import parse_json
from memorygraph.languages.engine.syntax import SyntaxNode, walk
from memorygraph.languages.pete.lemmas import lemma_of, stem_of

BLANKS = " \t\r\n"
SELF = "I"  # the handle of the one who thinks; it is known in every context


class PeteSyntax(SyntaxNode):
    """A piece of a log and its place in the source."""


class Ref(PeteSyntax):
    """`&heat`: a handle to a concept."""

    name: str


class Variable(PeteSyntax):
    """`_meat`: what is asked for, which is bound to `&meat`; in a rule, a logic variable."""

    name: str


class Memory(PeteSyntax):
    """`memory:42`: the address of a node."""

    address: int


class Nlp(PeteSyntax):
    """`/* the heat in the lab */`: what is between the signs, to the character."""

    text: str

    @property
    def concept(self) -> str:
        r"""What it says, without outer and repeated blanks: the name of the concept.

        >>> Nlp("  the heat\n in the lab ").concept
        'the heat in the lab'
        """
        return " ".join(self.text.split())


class Value(PeteSyntax):
    """A JSON value, as its text: tokens as they were written, `, ` and `: ` between them.

    >>> Value('{"a": 3.50}').value
    {'a': 3.5}
    """

    text: str

    @property
    def value(self) -> Any:
        """The value itself."""
        return parse_json(self.text)


class Abstraction(PeteSyntax):
    """`that P and Q`: a concept of a predication, which does not assert it."""

    predications: tuple[Predication, ...]
    conjunctions: tuple[str, ...] = ()  # between the predications: `and`, `or` or `but`


Argument: TypeAlias = Value | Ref | Abstraction | Variable | Memory


class Predication(PeteSyntax):
    """`&travis doesn't like &heat`; `predicate` is the form as written, `negator` what negates it, or None."""

    subject: Argument
    predicate: str
    object: Argument
    negator: str | None = None

    @property
    def negated(self) -> bool:
        """Whether it says that something is not so."""
        return self.negator is not None

    @property
    def lemma(self) -> str:
        """The predicate in its ground form: `like` for `likes`; after doesn't and don't as it is."""
        return self.predicate if self.negator in {"doesn't", "don't"} else lemma_of(self.predicate)

    @property
    def stem(self) -> str:
        """What ids name the predicate by; after doesn't and don't as it is."""
        return self.predicate if self.negator in {"doesn't", "don't"} else stem_of(self.predicate)


class Feedback(PeteSyntax):
    """`>> {"ok": true}`: what the system answered; an object or an array."""

    data: Value


class Opening(PeteSyntax):
    """`context cool(&heat) {`: a context begins, which is passed these refs."""

    name: str
    refs: tuple[Ref, ...] = ()


class Closing(PeteSyntax):
    """`}`: the innermost open context ends."""


class Abbreviation(PeteSyntax):
    """`context cool(&heat) = memory:42 /* turned the fan on */`: a closed context, its body out of view."""

    name: str
    refs: tuple[Ref, ...]
    memory: Memory
    tldr: Nlp | None = None


class Tldr(PeteSyntax):
    """`tl;dr /* … */`: what abbreviates the context in its parent."""

    text: Nlp


class Comment(PeteSyntax):
    """`// …`: thinking aloud; the text is the rest of the line after the signs."""

    text: str


class SensorReport(PeteSyntax):
    """`!! thermometer {"temperature": 30}`: the text is the rest of the line after the signs."""

    text: str


class Annotation(PeteSyntax):
    """`@[time: 12:30]`: the text is what is between the brackets, without the blanks around it."""

    text: str


class Instantiation(PeteSyntax):
    """`&heat = /* the heat in the lab */`: a handle for a concept, an address or an abbreviated context."""

    ref: Ref
    value: Nlp | Memory | Abbreviation


class Fact(PeteSyntax):
    """A predication with a full stop: it is so. With a variable in it, it asks instead."""

    predication: Predication


class Question(PeteSyntax):
    """A predication with a question mark, and what the system answered."""

    predication: Predication
    feedback: Feedback | None = None


class Rule(PeteSyntax):
    """`_x eats _y if _x likes _y and _y is 3.`; `conjunctions` stand between the predications of the body."""

    head: Predication
    body: tuple[Predication, ...]
    conjunctions: tuple[str, ...] = ()


class Command(PeteSyntax):
    """`@fan, set {"speed": 2} >> {"ok": true}`: a procedure is called; without a faculty, any that has it answers."""

    procedure: str
    faculty: str | None = None
    arguments: Value | None = None
    feedback: Feedback | None = None


Statement: TypeAlias = (
    Abbreviation | Tldr | Comment | SensorReport | Annotation | Instantiation | Fact | Question | Rule | Command
)
Item: TypeAlias = Opening | Closing | Statement


def bound_handles(item: PeteSyntax) -> list[str]:
    """The handles that a statement gives a meaning in its context, in their order."""
    match item:
        case Fact() | Question():
            return [part.name for part in walk(item) if isinstance(part, Variable)]
        case Instantiation(ref, Abbreviation(name)):
            return [name, ref.name]
        case Instantiation(ref):
            return [ref.name]
        case Abbreviation(name):
            return [name]
    return []


class Piece(NamedTuple):
    """An item, and its text with the blanks before it; feedback, which only the system may say, is one of its own."""

    item: Item | Feedback
    text: str


@dataclass(frozen=True)
class PeteProgram:
    """A log: its source, its items in their order, and what is wrong with it.

    The verbatim text of an item, with the blanks before it, goes from the end of the item before to its own end.
    """

    language: ClassVar[str] = "pete"

    source: Source
    items: tuple[Item, ...]
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @property
    def statements(self) -> tuple[Item, ...]:
        """The items but for the beginnings and ends of contexts."""
        return tuple(item for item in self.items if not isinstance(item, Opening | Closing))
