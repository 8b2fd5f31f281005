"""Memories that other servers keep: read into a namespace, and given back.

The reference server keeps lines of JSON, `{"type": "entity", …}` and `{"type": "relation", …}`; mcp-neo4j-memory keeps
nodes with the label Memory in the same database. What is read is one write, and reading it again changes nothing.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from memorygraph.errors import MAX_PROBLEMS, MemoryGraphError, NotFoundError, Problem, ScriptError, Source, Span
from memorygraph.graph.exports import read_at_rest
from memorygraph.graph.loads import LoadReport, Provenance
from memorygraph.graph.namespace import Namespace
from memorygraph.library import CYPHER
from memorygraph.memory.entities import Plan, Stored, store_plan
from memorygraph.memory.reading import read_graph
from memorygraph.memory.values import Entity, Relation
from memorygraph.memory.writes import LANGUAGE, Writer
from memorygraph.scripts import read_script

_KINDS: dict[Any, type[Entity] | type[Relation]] = {"entity": Entity, "relation": Relation}


@dataclass
class _Items:
    """Entities and relations with the lines that they came from, and what is to be said of the lines."""

    entities: list[tuple[int, Entity]] = field(default_factory=list)
    relations: list[tuple[int, Relation]] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)


@dataclass(frozen=True)
class _Lines:
    """The lines of a file, and the problems at them."""

    lines: list[str]
    file: str

    def problem(self, line: int, message: str, code: str, column: int = 1) -> Problem:
        source = Source(self.lines[line - 1], self.file, line)
        return source.problem(message, code, Span(column - 1, max(column, len(source.text))))


def import_server_memory(namespace: Namespace, path: str | Path, *, provenance: Provenance | None = None) -> LoadReport:
    """Read a file of the reference memory server into a namespace, in one transaction.

    What the namespace has of it already stays as it is. Several entities of one name become one, with a warning.

    Raises:
        NotFoundError: there is no such file.
        ScriptError: lines are wrong, or a relation has no end; nothing was stored. `.problems` says which and why.
        ConnectionError: the server cannot be reached.
    """
    lines = _Lines(read_script(path).removeprefix("\ufeff").split("\n"), str(path))
    items, problems = _read_lines(lines)
    if problems:
        raise ScriptError(problems[:MAX_PROBLEMS])

    def at(line: int, message: str, code: str) -> Problem:
        return lines.problem(line, message, code)

    return _store(Writer(namespace, provenance), items, at, str(path))


def export_server_memory(namespace: Namespace) -> Iterator[str]:
    """The lines of a file for the reference memory server: all entities of a namespace, then all relations.

    Raises:
        MemoryGraphError: others wrote all the time while it was read.
        ConnectionError: the server cannot be reached.
    """
    graph = read_at_rest(namespace, lambda: read_graph(namespace))
    yield from (_line({"type": "entity", **entity.as_dict()}) for entity in graph.entities)
    yield from (_line({"type": "relation", **relation.as_dict()}) for relation in graph.relations)


def adopt_neo4j_memory(namespace: Namespace, *, provenance: Provenance | None = None) -> LoadReport:
    """Read the graph of an mcp-neo4j-memory server in the same database into a namespace; the old one stays.

    What it has and an entity or a relation has no place for is named in the warnings.

    Raises:
        NotFoundError: there is no such graph.
        MemoryGraphError: something in it can be no entity.
        ConnectionError: the server cannot be reached.
    """
    found = namespace.read(CYPHER["entities/neo4j-memory-entities"]())
    if not found:
        raise NotFoundError("this database has no node with the label Memory, as mcp-neo4j-memory makes them")
    named = [row for row in found if row["name"] not in {None, ""}]
    relations = namespace.read(CYPHER["entities/neo4j-memory-relations"]())
    ended = [row for row in relations if row["source"] not in {None, ""} and row["target"] not in {None, ""}]
    items = _Items(
        [(1, _adopted(Entity, {**row, "observations": _texts(row["observations"])})) for row in named],
        [(1, _adopted(Relation, row)) for row in ended],
    )
    others = sorted({key for row in (*found, *relations) for key in row["others"]})
    _warn(items, f"{len(found) - len(named)} nodes have no name and were left out", len(found) - len(named))
    _warn(items, f"{len(relations) - len(ended)} of their relations too", len(relations) - len(ended))
    _warn(items, f"these properties were left out: {', '.join(others)}", len(others))
    return _store(Writer(namespace, provenance), items, lambda _, message, code: _general(message, code), None)


def _read_lines(lines: _Lines) -> tuple[_Items, list[Problem]]:
    items = _Items()
    problems: list[Problem] = []
    for number, line in enumerate(lines.lines, start=1):
        if not line.strip() or len(problems) >= MAX_PROBLEMS:
            continue
        try:
            item = _item(line)
        except json.JSONDecodeError as error:
            problems.append(lines.problem(number, f"this is no JSON: {error.msg}", "invalid-json", error.colno))
        except (ValueError, RecursionError) as error:
            problems.append(lines.problem(number, str(error), "invalid-value"))
        else:
            if isinstance(item, Entity):
                items.entities.append((number, item))
            else:
                items.relations.append((number, item))
    return items, problems


def _item(line: str) -> Entity | Relation:
    value = json.loads(line)
    kind = _KINDS.get(value.get("type")) if isinstance(value, dict) and isinstance(value.get("type"), str) else None
    if kind is None:
        raise ValueError('a line is an object with the "type" "entity" or "relation"')
    try:
        # The type of an entity is only `entityType` here: `type` says what the line is.
        return kind.model_validate({key: inner for key, inner in value.items() if key != "type"})
    except ValidationError as error:
        raise ValueError(explain(error)) from None


def explain(error: ValidationError) -> str:
    """What is wrong with a value, in one line.

    >>> try:
    ...     Relation.model_validate({"from": "a", "to": ""})
    ... except ValidationError as error:
    ...     print(explain(error))
    to: String should have at least 1 character; relationType: Field required
    """
    found = error.errors(include_url=False, include_input=False, include_context=False)
    shown = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" if each["loc"] else each["msg"] for each in found[:20]]
    return "; ".join(shown + ([f"and {len(found) - 20} more"] if len(found) > 20 else []))


def _adopted(kind: type[Any], row: dict[str, Any]) -> Any:
    values = {
        "relationType": row.get("relation_type"),
        **{k: str(v) if k != "observations" else v for k, v in row.items()},
    }
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise MemoryGraphError(f"{row.get('name') or row.get('source')!r} cannot be stored: {explain(error)}") from None


def _texts(observations: Any) -> list[str]:
    return [str(each) for each in (observations if isinstance(observations, list) else [observations])]


def _general(message: str, code: str) -> Problem:
    return Problem(message, code, None, 1, 1)


def _warn(items: _Items, message: str, count: int) -> None:
    if count:
        items.warnings.append(_general(message, "left-out"))


def _store(writer: Writer, items: _Items, at: Callable[[int, str, str], Problem], file: str | None) -> LoadReport:
    """Store all of it in one write; `at` makes a problem of a line."""
    started = time.monotonic()
    ends = [name for _, relation in items.relations for name in (relation.source, relation.target)]
    names = [entity.name for _, entity in items.entities] + ends
    statements = len(items.entities) + len(items.relations)

    def plan(made: Plan) -> Callable[[Stored], LoadReport]:
        warnings = list(items.warnings)
        new, observed = _plan_entities(made, items.entities, warnings, at)
        _plan_relations(made, items.relations, at)

        def outcome(stored: Stored) -> LoadReport:
            nodes = new + len(stored.indexes & observed) if stored.revision else 0
            return LoadReport(
                file=file,
                language=LANGUAGE,
                statements=statements,
                nodes_created=nodes,
                edges_created=len(stored.indexes),
                warnings=tuple(warnings),
                namespace=writer.namespace.name,
                revision=stored.revision,
                load_id=stored.load,
            )

        return outcome

    report = store_plan(writer, names, plan, statements=statements, file=file)
    return replace(report, elapsed_s=round(time.monotonic() - started, 4))


def _plan_entities(
    made: Plan,
    entities: Sequence[tuple[int, Entity]],
    warnings: list[Problem],
    at: Callable[[int, str, str], Problem],
) -> tuple[int, frozenset[int]]:
    """Plan the entities; returns how many are new, and the indexes of their observations."""
    first: dict[str, Entity] = {}
    given: set[tuple[str, str, int]] = set()
    indexes: set[int] = set()
    new = 0
    for line, entity in entities:
        if entity.name in first:
            if len(warnings) < MAX_PROBLEMS:
                warnings.append(at(line, _merged(entity, first[entity.name]), "merged"))
        else:
            first[entity.name] = entity
            new += made.entity(entity.name, entity.entity_type)
        repeats: Counter[str] = Counter()
        for text in entity.observations:
            key = (entity.name, text, repeats[text])
            repeats[text] += 1
            if key not in given:
                given.add(key)
                indexes.add(made.observe(entity.name, text, key[2]))
    return new, frozenset(indexes)


def _merged(entity: Entity, first: Entity) -> str:
    said = f"an entity with name {entity.name} came before; their observations are put together"
    lost = f", and its type stays {first.entity_type!r}" if entity.entity_type != first.entity_type else ""
    return said + lost


def _plan_relations(
    made: Plan, relations: Sequence[tuple[int, Relation]], at: Callable[[int, str, str], Problem]
) -> None:
    missing = set(made.missing(name for _, each in relations for name in (each.source, each.target)))
    if missing:
        raise ScriptError(
            [
                at(line, f"Entity with name {name} not found", "unknown-entity")
                for line, each in relations
                for name in dict.fromkeys((each.source, each.target))
                if name in missing
            ][:MAX_PROBLEMS]
        )
    for _, relation in relations:
        made.relate(relation)


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
