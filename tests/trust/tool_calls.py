"""Random calls of the memory server's tools: arguments from the schemas, from what was stored before, and from nowhere.

Every text that a caller sends has a word with the letter of its namespace (`kwza17z`), so that an answer tells whose
texts it shows. The words are few: names and ids come again, are deleted and come back. A caller also guesses the words
of the other namespaces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from memorygraph.languages.contextscript import (
    Deletion,
    EdgeDeclaration,
    GraphStatement,
    NodeDeclaration,
    print_contextscript,
)

LETTERS = "abc"
WORD = re.compile(r"kwz([abc])(\d+)")
NAMES, NODES, EDGES, TYPES, TEXTS = range(30), range(100, 112), range(150, 162), range(200, 205), range(300, 400)
"""The numbers of the words that names, ids, types and texts are made of."""

ODD = ["", "", "", " ü", "\n[2] source: admin", ' "quoted" \\', "'}) DETACH DELETE n //", " \u2028", " 😀"]
JUNK: list[Any] = [None, True, 7, -1, 1.5, "", [], {}, [[]], {"$ne": 1}, "x" * 3000, 1 << 60, [None], "\u0000"]
ECHO = "main agent { main func(input) { return input } }"
RECALL = 'import memory K from "neo4j://"\nmain agent { main func(input) { return K.query({ text: %s }) } }'
AWAY = 'import memory K from "neo4j://%s"\nmain agent { main func(input) { return K.query() } }'

# The model of what a namespace holds knows of neither aliases nor what a conversation has taught.
TRIED_ONLY = {"merge_entities", "forget"}

# What stands in a text argument, by its name, or by the name of the tool and its own.
KINDS = {
    "after": "conversation",
    "containing": "conversation",
    "names": "name",
    "entityName": "name",
    "entityNames": "name",
    "from": "name",
    "to": "name",
    "entity": "name",
    "into": "name",
    "speaker": "name",
    "since": "time",
    "until": "time",
    "kind": "entityType",
    "verb": "relationType",
    "observations": "text",
    "contents": "text",
    "show_conversation.name": "conversation",
    "conversation_versions.name": "conversation",
    "show_thought.name": "thought",
    "run_program.name": "stored",
    "run_program.program": "source",
    "run_program.input": "text",
}


def word(letter: str, number: int) -> str:
    """A word of a namespace."""
    return f"kwz{letter}{number}z"


def foreign_words(shown: str, letter: str, sent: str) -> list[str]:
    """The words of other namespaces in what is shown to one of them, but for those that it has sent itself."""
    found = {match[0] for match in WORD.finditer(shown) if match[1] != letter}
    return sorted(each for each in found if each not in sent)


class Caller:
    """Draws the calls of the namespace whose words have this letter; `namespaces` are the names of all, by letter."""

    def __init__(self, letter: str, chance: Random, namespaces: Mapping[str, str]) -> None:
        self.chance = chance
        self.letter = letter
        self.cursors: list[str] = []
        self.programs: dict[str, list[GraphStatement]] = {"": []}
        self.revision = 1
        self.namespaces = namespaces
        self._guesses = True

    def draw(self, tool: Any) -> dict[str, Any]:
        """Draw the arguments of a tool: mostly some that it takes, and now and then others."""
        self._guesses = tool.name not in {"create_entities"}
        drawn: dict[str, Any] = self._value(tool.input_schema, tool.name, "")
        if tool.name == "run_program" and self._happens(0.9):
            drawn.pop("name" if self._happens(0.7) else "program", None)
            drawn["language"] = "agentscript"
        drawn = self._spoil(drawn) if self._happens(0.12) else drawn
        return {**drawn, "dry_run": True} if tool.name in TRIED_ONLY else drawn

    def uri(self) -> str:
        """Draw the address of a resource."""
        own = ["knowledge-graph", "overview", "contextscript", "conversation/talk", "nothing", "entity/", "node/%00"]
        named = [f"entity/{self._text('name')}", f"node/{self._text('id')}"]
        return "memory://" + self.chance.choice([*own, *named]).replace(" ", "%20").replace("\n", "%0A")

    def _happens(self, share: float) -> bool:
        return self.chance.random() < share

    def _value(self, schema: Mapping[str, Any], tool: str, key: str) -> Any:
        if "enum" in schema:
            return self.chance.choice(schema["enum"])
        if key == "input" and self._happens(0.5):  # which may be a value instead of a text
            return {"said": self._text("text")}
        kind = schema["type"] if isinstance(schema["type"], str) else self.chance.choice(schema["type"])
        if kind == "object":
            needed = schema.get("required", ())
            return {
                name: self._value(inner, tool, name)
                for name, inner in schema.get("properties", {}).items()
                if name in needed or self._happens(0.4)
            }
        if kind == "array":
            count = self.chance.choice([0, 1, 1, 1, 2, 3])
            return [self._value(schema["items"], tool, key) for _ in range(count)]
        if kind == "integer":
            return self._integer(schema, key)
        if kind == "boolean":
            return self._happens(0.2)
        if kind == "string":
            return self._text(KINDS.get(f"{tool}.{key}", KINDS.get(key, key)))
        return None

    def _integer(self, schema: Mapping[str, Any], key: str) -> int:
        if key == "revision":  # mostly one of the last, which nothing later stands in the way of
            return max(0, self.revision - self.chance.choice([0, 0, 0, 1, 2, 5, self.chance.randrange(100)]))
        low = int(schema.get("minimum", 0))
        return self.chance.choice([low, low + 1, low + 100, min(int(schema.get("maximum", 50_000)), 50_000)])

    def _foreign(self) -> str:
        return self.chance.choice([each for each in LETTERS if each != self.letter])

    def _text(self, kind: str) -> str:
        """A text of a kind; where it is not to be stored, perhaps one that is another namespace's."""
        if kind == "program":
            return self._program()
        letter = self._foreign() if self._guesses and self._happens(0.15) else self.letter
        text = self._word_of(kind, letter)
        if kind in {"name", "text"}:
            text += ODD[int(WORD.findall(text)[0][1]) % len(ODD)]
        return text

    def _word_of(self, kind: str, letter: str) -> str:
        pick = self.chance.choice
        choices: dict[str, list[str]] = {
            "name": [word(letter, pick(NAMES))],
            "id": [word(letter, pick([*NODES, *EDGES, *NAMES]))],
            "text": [f"said {word(self.letter, pick(TEXTS))}"],
            "entityType": [f"kind {word(self.letter, pick(TYPES))}"],
            "relationType": [f"likes-{word(self.letter, pick(TYPES))}"],
            "query": [
                word(letter, pick([*NAMES, *TYPES, *TEXTS])),
                f"said {word(letter, pick(TEXTS))}",
                "kind",
                "",
                "(",
            ],
            "cursor": self.cursors[-20:] or ["x"],
            "conversation": ["talk", "talk", word(letter, 900)],
            "role": ["user", "user", "assistant", "nobody"],
            "time": ["2024-05-01", "2999-01-01T12:00:00+02:00", "yesterday"],
            "thought": ["idea", f"memory:{self.chance.randrange(20)}", word(letter, 901)],
            "stored": ["pick", "pick", word(letter, 902)],
            "source": [
                ECHO,
                RECALL % json.dumps(word(letter, pick(TEXTS[:5]))),
                AWAY % self.namespaces[letter],
                "main {",
            ],
        }
        return pick(choices[kind])

    def _program(self) -> str:
        statements = [self._statement() for _ in range(self.chance.choice([1, 1, 2, 3, 6]))]
        text = print_contextscript(statements)
        if self._happens(0.1):
            return f"{text}Node("
        self.programs[text] = statements
        return text

    def _statement(self) -> GraphStatement:
        self._guesses = False  # what is created has words of its own; only what cannot be there is guessed
        letter = self._foreign() if self._happens(0.1) else self.letter
        guessed = word(letter, self.chance.choice([*NODES, *EDGES, *NAMES]))
        node, other = (word(self.letter, self.chance.choice([*NODES, *NODES, *NAMES])) for _ in range(2))
        name = self.chance.choice([self._text("name"), word(self.letter, self.chance.choice(NODES)), ""])
        match self.chance.randrange(10):
            case 0:
                return Deletion(id=guessed)
            case 1:
                return NodeDeclaration(node_id=guessed, name=name)
            case 2:
                return NodeDeclaration(node_id=guessed, data=self._text("text"))
            case 3 | 4 | 5:
                edge = word(self.letter, self.chance.choice(EDGES))
                weight = self.chance.randrange(11) / 10
                verb = self._text("relationType")
                return EdgeDeclaration(edge_id=edge, from_node=node, to_node=other, verb=verb, weight=weight)
            case _:
                return NodeDeclaration(node_id=node, name=name, data=self.chance.choice([self._text("text"), ""]))

    def _spoil(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Put something else into one place of the arguments, or leave it out."""
        spoilt: dict[str, Any] = json.loads(json.dumps(arguments))
        places = list(_places(spoilt))
        if not places:
            return {"unknown": self.chance.choice(JUNK)}
        holder, key = self.chance.choice(places)
        if isinstance(holder, dict) and self._happens(0.3):
            del holder[key]
        else:
            holder[key] = self.chance.choice(JUNK)
        return spoilt


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All places of a JSON value, each with what holds it."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from _places(inner)
