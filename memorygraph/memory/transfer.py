"""Import and export of the memories of other servers.

The reference server keeps lines of JSON, `{"type": "entity", …}` and `{"type": "relation", …}`; mcp-neo4j-memory keeps
nodes with the label Memory in the same database. An import is one write, and a second import changes nothing.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import ValidationError

from memorygraph.errors import (
    MAX_PROBLEMS,
    MemoryGraphError,
    NotFoundError,
    Problem,
    ScriptError,
    Source,
    Span,
    cut_problems,
)
from memorygraph.graph.bundles import FORMAT
from memorygraph.graph.exports import ALL_SECONDS, read_at_rest
from memorygraph.graph.loads import LoadReport
from memorygraph.graph.losses import MAX_EXAMPLES, Losses
from memorygraph.graph.namespace import Namespace
from memorygraph.json_text import HALF_CHARACTER, parse_json
from memorygraph.library import CYPHER
from memorygraph.memory.entities import Entities, EntityPlan, StoredWrite, store_plan
from memorygraph.memory.values import Entity, Relation, explain_validation_error
from memorygraph.memory.writes import LANGUAGE, Writer
from memorygraph.scripts import read_script, storable_path
from memorygraph.sentences import count_of

_KINDS: dict[Any, type[Entity] | type[Relation]] = {"entity": Entity, "relation": Relation}
UNKNOWN = "unknown"  # the type of an entity of which a file says nothing but that something leads there
# Of what `read/beyond-nodes-and-edges` counts, what no entity, observation or relation says.
_NO_ENTITIES = (
    "nodes whose id is no text, or an empty one",
    "edges whose id is no text, or an empty one",
    "aliases: what merged entities were called",
    "times at which nodes expire",
    "conversations",
    "messages",
    "runs",
    "programs",
    "node graphs",
)


class ForeignWarning(NamedTuple):
    """A warning of the record at a line."""

    line: int
    message: str
    code: str


@dataclass
class ForeignFile:
    """The lines of a file of another memory, if it is a file, and what was not taken over from it.

    `of_records` are warnings of single records, which may be many; `warnings` say in all what was left out.
    """

    lines: Sequence[str] = ()
    file: str | None = None
    of_records: list[ForeignWarning] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file.

        Raises:
            NotFoundError: there is none.
            MemoryGraphError: it is a folder, or cannot be read.
            ScriptError: it is not UTF-8, or a bundle.
        """
        if Path(path).is_dir():
            told = f"{path} is a folder; one of basic-memory's notes is imported with --format basic-memory"
            raise MemoryGraphError(f'{told} (in Python: import_memory(path, "basic-memory"))')
        file = cls(read_script(path).removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), storable_path(str(path)))
        file.refuse_bytes()
        if file.lines[0].startswith(f'{{"format":"{FORMAT}"'):
            message = "this is a bundle, which is imported with --format bundle (in Python: import_bundle)"
            raise ScriptError([file.problem(1, message, "invalid-value")])
        return file

    def refuse_bytes(self) -> None:
        """Refuse what is not UTF-8; a byte of it was read as half a character.

        Raises:
            ScriptError: the text has such a byte.
        """
        for number, line in enumerate(self.lines, start=1):
            if half := HALF_CHARACTER.search(line):
                message = f"the byte 0x{ord(half[0]) - 0xDC00:02X} is not UTF-8; save the file as UTF-8"
                raise ScriptError([self.problem(number, message, "encoding", half.start() + 1)])

    def problem(self, line: int, message: str, code: str, column: int = 1) -> Problem:
        """A problem at a line of the file."""
        if self.file is None:
            return Problem(message, code, None, 1, 1)
        text = self.lines[line - 1]
        return Source(text, self.file, line).problem(message, code, Span(column - 1, max(column, len(text))))

    def problem_of(self, error: ValueError, line: int = 1) -> Problem:
        """What is wrong with the JSON that begins at a line."""
        if isinstance(error, json.JSONDecodeError):
            return self.problem(line + error.lineno - 1, f"invalid JSON: {error.msg}", "invalid-json", error.colno)
        return self.problem(line, str(error), "invalid-value")

    def leave_out(self, message: str) -> None:
        """Say what is not taken over."""
        self.warnings.append(Problem(message, "left-out", self.file, 1, 1))  # of the whole file, so it shows no line

    def all_warnings(self, others: Sequence[ForeignWarning] = ()) -> tuple[Problem, ...]:
        """The first warnings of single records, these `others` too, how many more there are, and all that sum up."""
        found = [*self.of_records, *others]
        shown = [self.problem(*each) for each in found[:MAX_PROBLEMS]]
        if more := len(found) - len(shown):
            message = f"{count_of(more, 'more warning')} of single records"
            shown.append(self.problem(found[MAX_PROBLEMS].line, message, "too-many-problems"))
        return (*shown, *self.warnings)


@dataclass
class Transfer(ForeignFile):
    """Entities and relations with the numbers of their lines."""

    entities: list[tuple[int, Entity]] = field(default_factory=list)
    relations: list[tuple[int, Relation]] = field(default_factory=list)

    def store(self, writer: Writer, file: str | None = None) -> LoadReport:
        """Store all of it in one write, recorded as of the file, or of a folder that is named here."""
        started = time.monotonic()
        file = file or self.file
        ends = [name for _, relation in self.relations for name in (relation.source, relation.target)]
        names = [entity.name for _, entity in self.entities] + ends
        statements = len(self.entities) + len(self.relations)

        def build(plan: EntityPlan) -> Callable[[StoredWrite], LoadReport]:
            warnings = list[ForeignWarning]()
            new, observed = self.plan_entities(plan, warnings)
            new += self.plan_relations(plan, warnings)

            def report(stored: StoredWrite) -> LoadReport:
                nodes = new + len(stored.indexes & observed) if stored.revision else 0
                return LoadReport(
                    file=file,
                    language=LANGUAGE,
                    statements=statements,
                    nodes_created=nodes,
                    edges_created=len(stored.indexes),
                    warnings=self.all_warnings(warnings),
                    namespace=writer.namespace.name,
                    revision=stored.revision,
                    load_id=stored.load,
                )

            return report

        report = store_plan(writer, names, build, statements=statements, file=file)
        return replace(report, elapsed_s=round(time.monotonic() - started, 4))

    def plan_entities(self, plan: EntityPlan, warnings: list[ForeignWarning]) -> tuple[int, frozenset[int]]:
        """Plan the entities; returns the number of new ones, and the indexes of their observations."""
        kinds: dict[str, str] = {}
        indexes: set[int] = set()
        new = 0
        for line, entity in self.entities:
            if entity.name not in kinds:
                kinds[entity.name] = entity.entity_type
                new += plan.add_entity(entity.name, entity.entity_type)
            else:
                kind = kinds[entity.name]
                lost = f", and its type stays {kind!r}" if entity.entity_type != kind else ""
                merged = f"an entity with name {entity.name} came before; their observations are put together{lost}"
                warnings.append(ForeignWarning(line, merged, "merged"))
            # A file may repeat an observation of an entity: the repetitions are numbered, and kept.
            repeats: Counter[str] = Counter()
            for text in entity.observations:
                indexes.add(plan.observe(entity.name, text, repeats[text]))
                repeats[text] += 1
        return new, frozenset(indexes)

    def plan_relations(self, plan: EntityPlan, warnings: list[ForeignWarning]) -> int:
        """Plan the relations; returns the number of new entities, which stand for the ends that are missing.

        The reference server has stored relations without looking at their ends.
        """
        new = 0
        for line, relation in self.relations:
            for name in plan.missing((relation.source, relation.target)):
                new += plan.add_entity(name, UNKNOWN)
                led = f"no entity is named {name}; what leads there leads to an entity without observations"
                warnings.append(ForeignWarning(line, led, "unknown-entity"))
            plan.relate(relation)
        return new


def import_server_memory(namespace: Namespace, path: str | Path) -> LoadReport:
    """Read a file of the reference memory server into a namespace, in one transaction."""
    transfer = Transfer.read(path)
    if problems := parse_lines(transfer):
        if other := recognize_format(transfer):
            message = f'it looks like what --format {other} imports (in Python: import_memory(path, "{other}"))'
            raise ScriptError([transfer.problem(1, message, "invalid-value")])
        raise ScriptError(cut_problems(problems))
    return transfer.store(Writer(namespace))


def export_server_memory(namespace: Namespace, left_out: Losses | None = None) -> Iterator[str]:
    """The lines of a file for the reference memory server: all entities of a namespace, then all relations.

    `left_out` is told which entities have a name that is another's.
    """
    graph = read_at_rest(namespace, lambda: Entities(namespace).read_graph())
    if left_out is not None:
        for name, count in Counter(entity.name for entity in graph.entities).items():
            if count > 1:
                left_out.add("entities of one name: they come back as one", name, count=count)
    for kind, values in (("entity", graph.entities), ("relation", graph.relations)):
        for value in values:
            line = {"type": kind, **value.as_dict()}
            yield json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"


def find_server_memory_losses(namespace: Namespace) -> Losses:
    """What a namespace holds that a file of the reference memory server cannot say."""
    left_out = Losses()
    for row in namespace.read("read/beyond-nodes-and-edges", limit=MAX_EXAMPLES, seconds=ALL_SECONDS):
        if row["what"] in _NO_ENTITIES:
            left_out.add_counted(row["what"], row["count"], row["examples"])
    [weights] = namespace.read("read/weights-of-their-own", limit=MAX_EXAMPLES, seconds=ALL_SECONDS)
    left_out.add_counted("weights of edges other than 1", weights["count"], weights["examples"])
    return left_out


def adopt_neo4j_memory(namespace: Namespace) -> LoadReport:
    """Read the graph of an mcp-neo4j-memory server in the same database into a namespace; the old one stays."""
    nodes = namespace.read(CYPHER["entities/neo4j-memory-entities"]())
    if not nodes:
        raise NotFoundError("this database has no node with the label Memory, as mcp-neo4j-memory makes them")
    edges = namespace.read(CYPHER["entities/neo4j-memory-relations"]())
    transfer = Transfer()
    for row in nodes:
        # Nodes without a name cannot be entities; relations at them go with them.
        if row["name"] not in {None, ""}:
            texts = row["observations"] if isinstance(row["observations"], list) else [row["observations"]]
            transfer.entities.append((1, adopt_row(Entity, row, observations=[str(text) for text in texts])))
    for row in edges:
        if not {row["source"], row["target"]} & {None, ""}:
            transfer.relations.append((1, adopt_row(Relation, row, relationType=row["relation_type"])))
    others = sorted({key for row in (*nodes, *edges) for key in row["others"]})
    nameless, endless = len(nodes) - len(transfer.entities), len(edges) - len(transfer.relations)
    for count, message in (
        (nameless, f"{nameless} nodes have no name and were left out"),
        (endless, f"{endless} of their relations too"),
        (len(others), f"these properties were left out: {', '.join(others)}"),
    ):
        if count:
            transfer.leave_out(message)
    return transfer.store(Writer(namespace))


def recognize_format(file: ForeignFile) -> str | None:
    """The name of the format, other than that of the reference server, in which a file seems to be."""
    value: Any = None
    for text in ("\n".join(file.lines), next(filter(str.strip, file.lines), "")):
        with suppress(ValueError):
            value = parse_json(text)
            break
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("results"), list) or {"id", "memory"} <= value.keys():
        return "mem0"
    return "langgraph-store" if {"namespace", "key", "value"} <= value.keys() else None


def parse_lines(transfer: Transfer) -> list[Problem]:
    """Read the entities and relations in the lines of a transfer, and return the problems."""
    problems: list[Problem] = []
    for number, line in enumerate(transfer.lines, start=1):
        if not line.strip() or len(problems) > MAX_PROBLEMS:
            continue
        try:
            item = parse_item(line)
        except ValueError as error:
            problems.append(transfer.problem_of(error, number))
        else:
            if isinstance(item, Entity):
                transfer.entities.append((number, item))
            else:
                transfer.relations.append((number, item))
    return problems


def parse_item(line: str) -> Entity | Relation:
    """The entity or relation in a line; a `ValueError` says that it is neither."""
    value = parse_json(line)
    kind = _KINDS.get(value.get("type")) if isinstance(value, dict) and isinstance(value.get("type"), str) else None
    if kind is None:
        exported = "; an export as jsonl is for other programs: ContextScript or a bundle is read again"
        more = exported if isinstance(value, dict) and value.get("type") in ("node", "edge") else ""
        raise ValueError(f'a line is an object with the "type" "entity" or "relation"{more}')
    try:
        # The type of an entity is only `entityType` here: `type` tells entities from relations.
        return kind.model_validate({key: inner for key, inner in value.items() if key != "type"})
    except ValidationError as error:
        raise ValueError(explain_validation_error(error)) from None


def adopt_row(kind: type[Any], row: dict[str, Any], **values: Any) -> Any:
    """The entity or relation in a row of another server's graph, with some values in place of the row's own."""
    try:
        return kind.model_validate({**{key: str(value) for key, value in row.items()}, **values})
    except ValidationError as error:
        name = row.get("name") or row.get("source")
        raise MemoryGraphError(f"{name!r} cannot be stored: {explain_validation_error(error)}") from None
