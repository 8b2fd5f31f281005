"""Import of the notes of basic-memory, a folder of Markdown: each becomes an entity with observations and relations.

    ---
    title: Ada
    type: person
    ---
    Prose, which may link to [[Another note]].
    - [category] an observation #tag (context)
    - knows [[Another note]]

Source: the format as basic-memory 0.24 writes and reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from memorygraph.errors import NotFoundError, Problem, ScriptError, cut_problems
from memorygraph.graph.loads import LoadReport
from memorygraph.graph.namespace import Namespace
from memorygraph.memory.transfer import ForeignFile, Transfer
from memorygraph.memory.values import Entity, Relation, explain_validation_error
from memorygraph.memory.writes import Writer
from memorygraph.scripts import storable_path
from memorygraph.sentences import list_some

MAX_NAMED = 20
IGNORED = {"node_modules", "__pycache__", "venv", "env", "build", "dist"}  # some of what basic-memory passes over
BARE_RELATION, PROSE_RELATION = "relates_to", "links_to"  # as basic-memory calls what has no name

_ITEM = re.compile(r"\s*[-*+]\s+(?P<text>.*\S)\s*")
_LINK = re.compile(r"\[\[(?P<target>[^\[\]|]+)(?:\|[^\[\]]*)?\]\]")
# Neither a task, such as `[x]`, nor the clock of a transcript, such as `[0:12]`.
_OBSERVATION = re.compile(r"\[(?![xX\W]\])(?!\d+:\d\d)[^\[\]()]+\]\s+\S.*")
# Three signs with a text and three more are code within a line, and open nothing.
_FENCE = re.compile(r"\s*(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)")


@dataclass
class Note:
    """What a note says."""

    file: ForeignFile
    title: str
    type: str
    permalink: str
    observations: list[str] = field(default_factory=list)
    relations: list[tuple[str, str]] = field(default_factory=list)  # the name of each, and the target as it is written
    unread: set[str] = field(default_factory=set)  # fields of the front matter
    contexts: list[str] = field(default_factory=list)  # what stands behind the links of relations

    @classmethod
    def read(cls, path: Path) -> Note:
        """Read a note.

        Raises:
            ScriptError: its front matter is wrong.
        """
        file = ForeignFile.read(path)
        front, body = read_front_matter(file)
        title, kind = (str(front.get(name) or default) for name, default in (("title", path.stem), ("type", "note")))
        note = cls(file, title, kind, str(front.get("permalink") or ""))
        note.unread = set(front) - {"title", "type", "permalink"}
        note.read_body(body)
        return note

    def read_body(self, lines: list[str]) -> None:
        """Read the observations, the relations, and the paragraphs of prose."""
        paragraph: list[str] = []
        fenced = ""  # the signs that opened the code
        for line in [*lines, ""]:
            if fence := _FENCE.fullmatch(line):
                if not fenced:
                    fenced = fence["fence"]
                elif fence["fence"].startswith(fenced) and not fence["info"].strip():
                    fenced = ""
            if not fenced and (item := _ITEM.fullmatch(line)) and self.read_item(item["text"]):
                continue
            if line.strip() and not (not fenced and re.match(r"#+ ", line)):
                paragraph.append(line)
                self.relations += () if fenced else ((PROSE_RELATION, target) for target in link_targets(line))
            elif paragraph and not fenced:
                self.observations.append("\n".join(paragraph))
                paragraph.clear()
        if paragraph:  # code that is not closed goes on to the end
            self.observations.append("\n".join(paragraph))

    def read_item(self, text: str) -> bool:
        """Read an item of a list as an observation or a relation; whether it is one."""
        if _OBSERVATION.fullmatch(text):
            self.observations.append(text)
            return True
        if (link := _LINK.search(text)) and link["target"].strip() and not _LINK.search(text, link.end()):
            self.relations.append((text[: link.start()].strip() or BARE_RELATION, link["target"].strip()))
            self.contexts += filter(None, [text[link.end() :].strip()])
            return True
        return False


def link_targets(line: str) -> list[str]:
    """What the links of a line lead to.

    >>> link_targets("See [[ Ada ]], [[Bob|him]] and [[ ]].")
    ['Ada', 'Bob']
    """
    targets = (link["target"].strip() for link in _LINK.finditer(line))
    return [target for target in targets if target]


def is_looked_at(path: Path) -> bool:
    """Whether basic-memory looks at a file of its folder: at none that is hidden, or that a tool has put there."""
    return not any(part.startswith(".") or part in IGNORED for part in path.parts)


def import_notes(namespace: Namespace, path: str | Path) -> LoadReport:
    """Read a folder of notes, and those in folders inside it, in one transaction.

    Raises:
        NotFoundError: there is no such folder, or no note in it.
        ScriptError: the front matter of a note is wrong, or a name is too long; nothing was stored.
    """
    folder = Path(path)
    found = (path for path in folder.rglob("*.md") if path.is_file() and is_looked_at(path.relative_to(folder)))
    files = sorted(found) if folder.is_dir() else []
    if not files:
        raise NotFoundError(f"{folder} is no folder with notes: files that end with .md")
    notes, problems = list[Note](), list[Problem]()
    for file in files:
        try:
            notes.append(Note.read(file))
        except ScriptError as error:
            problems += error.problems
    if problems:
        raise ScriptError(cut_problems(problems))
    return transfer_of(notes).store(Writer(namespace), storable_path(str(path)))


def transfer_of(notes: list[Note]) -> Transfer:
    """The entities and relations of notes; a target that no note is becomes an entity without observations.

    Raises:
        ScriptError: a note has a name that no entity can have.
    """
    transfer = Transfer()
    names = {note.permalink: note.title for note in notes if note.permalink}
    shortened = {link.partition("/")[2]: title for link, title in names.items() if "/" in link}  # without the project
    names = shortened | names
    names |= {note.title: note.title for note in notes}
    absent: dict[str, None] = {}
    for note in notes:
        absent |= dict.fromkeys(target for _, target in note.relations if target not in names)
        try:
            entity = Entity(name=note.title, entity_type=note.type, observations=note.observations)
            relations = [
                Relation.model_validate({"from": note.title, "to": names.get(target, target), "relationType": verb})
                for verb, target in note.relations
            ]
        except ValidationError as error:
            raise ScriptError([note.file.problem(1, explain_validation_error(error), "invalid-value")]) from None
        transfer.entities.append((1, entity))
        transfer.relations += ((1, relation) for relation in relations)
    transfer.entities += ((1, Entity(name=target, entity_type="note", observations=[])) for target in absent)
    if absent:
        named = list_some(list(absent), MAX_NAMED)
        message = f"no note is named {named}; what leads there leads to an entity without observations"
        transfer.warnings.append(transfer.problem(1, message, "unknown-entity"))
    if unread := sorted(set().union(*(note.unread for note in notes))):
        transfer.leave_out(f"these fields of the front matter were left out: {list_some(unread, MAX_NAMED)}")
    if contexts := [context for note in notes for context in note.contexts]:
        named = list_some(contexts, MAX_NAMED)
        transfer.leave_out(f"what stands behind the link of a relation was left out: {named}")
    return transfer


def read_front_matter(file: ForeignFile) -> tuple[Mapping[str, Any], list[str]]:
    """The fields above a note, and the lines below them."""
    lines = list(file.lines)
    end = next((place for place, line in enumerate(lines[1:], start=1) if line.rstrip() == "---"), None)
    if lines[0].rstrip() != "---" or end is None:
        return {}, lines
    try:
        fields = yaml.safe_load("\n".join(lines[1:end]))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = (mark.line + 2, mark.column + 1) if mark else (1, 1)
        said = getattr(error, "problem", None) or str(error)
        raise ScriptError([file.problem(place[0], f"invalid YAML: {said}", "invalid-value", place[1])]) from None
    except (ValueError, LookupError, AttributeError, RecursionError) as error:
        # PyYAML fails so at a day that does not exist, a number of thousands of digits, `!!bool tea`, deep brackets.
        said = str(error) if isinstance(error, ValueError) else "a value is not what its tag says, or nests too deeply"
        raise ScriptError([file.problem(1, f"invalid YAML: {said}", "invalid-value")]) from None
    if fields is not None and not isinstance(fields, dict):
        raise ScriptError([file.problem(2, "the front matter of a note is fields with values", "invalid-value")])
    return {str(name): value for name, value in (fields or {}).items()}, lines[end + 1 :]
