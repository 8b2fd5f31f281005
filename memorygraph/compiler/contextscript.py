"""ContextScript: statements to batches of parameterized Cypher, nodes before edges.

A declaration of a known id is an update. A deletion takes a node's edges along and frees the ids: what stands before
it is written before it. An edge goes alone, so it may also go before declarations of other ids. At the end,
observations go that are no longer joined to anything.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatchmethod
from typing import Any, NamedTuple

from memorygraph.collection import without_collection
from memorygraph.compiler.symbols import Kind, Stored, Symbol, SymbolTable
from memorygraph.errors import MAX_PROBLEMS, Problem, cut_problems
from memorygraph.languages.contextscript import syntax
from memorygraph.library import CYPHER
from memorygraph.query import Query
from memorygraph.word_parts import parts_of_properties

ROWS_PER_BATCH = 10_000
CHARACTERS_PER_BATCH = 8_000_000


@dataclass(frozen=True)
class Compiled:
    """What a program compiles to; `queries` may only be run where there are no `problems`.

    `unknown` holds the ids that the problems name and that were looked for in vain, so that the caller can look for
    what was meant.
    """

    queries: tuple[Query, ...]
    problems: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    unknown: frozenset[str] = frozenset()


def compile_program(
    program: syntax.ContextScriptProgram,
    stored: Stored | None,
    *,
    namespace: str = "default",
    token: str = "",
    suggest: bool = True,
) -> Compiled:
    """Compile a program against what is stored, or, to check it without a database, against None.

    The problems say what may have been meant by an unknown id. That takes longer than the rest: without `suggest` they
    do not.
    """
    compiler = _Compiler(program, stored, namespace, token, suggest=suggest)
    add = compiler.add  # looked up once: the dispatcher is made anew at each look-up
    with without_collection():
        for statement in program.statements:
            add(statement)
        return compiler.finish()


def compile_in_parts(
    program: syntax.ContextScriptProgram, stored: Stored, *, namespace: str, token: str
) -> Generator[Query, None, Compiled]:
    """Compile a program that `declares_each_once` as it is asked for queries.

    What is wrong, and the queries that end the program, are in what it returns. From the first problem on there are no
    queries.
    """
    compiler = _Compiler(program, stored, namespace, token, suggest=False)
    add = compiler.add
    for start in range(0, len(program.statements), ROWS_PER_BATCH):
        with without_collection():
            for statement in program.statements[start : start + ROWS_PER_BATCH]:
                add(statement)
            queries = compiler.take_queries()
        yield from queries
    return compiler.finish()


def declares_each_once(program: syntax.ContextScriptProgram) -> bool:
    """Whether a program only declares, and each id once: any part of it can be written before the next is compiled."""
    ids: set[str] = set()
    for statement in program.statements:
        match statement:
            case syntax.NodeDeclaration():
                ids.add(statement.node_id)
            case syntax.EdgeDeclaration():
                ids.add(statement.edge_id)
    return len(ids) == len(program.statements)


def find_problems(program: syntax.ContextScriptProgram) -> Sequence[Problem]:
    """What is wrong with a program, as far as that can be told without a database."""
    declared = find_declarations(program)
    if declared is not None and all(map(syntax.is_identifier, declared.ends)):
        return program.problems
    return compile_program(program, None).problems


def find_warnings(program: syntax.ContextScriptProgram) -> Sequence[Problem]:
    """What a program deletes where it has deleted it before."""
    deletions = sum(isinstance(statement, syntax.Deletion) for statement in program.statements)
    return compile_program(program, None).warnings if deletions > 1 else ()


class NewElements(NamedTuple):
    """The queries of a program for a graph that has no id that it declares, and all nodes that its edges need."""

    queries: tuple[Query, ...]
    nodes: list[str]
    edges: list[str]
    needed: list[str]


def compile_new(program: syntax.ContextScriptProgram, *, namespace: str, token: str) -> NewElements | None:
    """Compile a program as one whose ids are all new, without looking for them; None where it does more than declare.

    It may be stored so if no edge has the id of one of its `nodes` or of those `needed`, no node that of one of its
    `edges`, and the queries create as many elements as it declares. They leave out an edge whose ends are not there,
    and the constraints refuse a second node or edge of one id.
    """
    declared = find_declarations(program)
    if declared is None or program.problems or program.unread:
        return None
    batch = _Batch()
    for node, statement in declared.nodes.items():
        batch.new_nodes[node] = {"id": node, "name": statement.name, "data": statement.data}
    for edge, declaration in declared.edges.items():
        batch.new_edges[edge] = {
            "id": edge,
            "from_node": declaration.from_node,
            "to_node": declaration.to_node,
            "verb": declaration.verb,
            "weight": declaration.weight,
        }
    queries = tuple(batch.queries(namespace, token))
    return NewElements(queries, [*declared.nodes], [*declared.edges], [*declared.ends])


class Declarations(NamedTuple):
    """The declarations of a program by their ids, and the nodes that edges need and the program does not declare."""

    nodes: dict[str, syntax.NodeDeclaration]
    edges: dict[str, syntax.EdgeDeclaration]
    ends: set[str]


def find_declarations(program: syntax.ContextScriptProgram) -> Declarations | None:
    """Find what a program declares, if it does nothing else and agrees with itself.

    Each id is declared once, with all its arguments, and a node before the edges that use it.
    """
    declared = Declarations({}, {}, set())
    nodes, edges, ends = declared
    for statement in program.statements:
        if isinstance(statement, syntax.EdgeDeclaration):
            source, target = statement.from_node, statement.to_node
            if source is None or target is None or statement.verb is None or statement.weight is None:
                return None
            edges[statement.edge_id] = statement
            if source not in nodes:
                ends.add(source)
            if target not in nodes:
                ends.add(target)
        elif isinstance(statement, syntax.NodeDeclaration) and not (statement.name is None or statement.data is None):
            nodes[statement.node_id] = statement
        else:
            return None
    each_once = len(nodes) + len(edges) == len(program.statements) and nodes.keys().isdisjoint(edges)
    return declared if each_once and ends.isdisjoint(nodes) and ends.isdisjoint(edges) else None


def mentioned(program: syntax.ContextScriptProgram) -> list[str]:
    """Every id that a program declares, uses or deletes, sorted: what the compiler must know about."""
    ids: set[str | None] = set()
    for statement in program.statements:
        match statement:
            case syntax.NodeDeclaration():
                ids.add(statement.node_id)
            case syntax.EdgeDeclaration():
                ids.update((statement.edge_id, statement.from_node, statement.to_node))
            case syntax.Deletion():
                ids.add(statement.id)
    return sorted(identifier for identifier in ids if identifier is not None)


@dataclass
class _EdgeChange:
    """An update of a stored edge, which had the ends `former` before this batch."""

    former: tuple[str | None, str | None]
    ends: tuple[str | None, str | None]
    set: dict[str, Any] = field(default_factory=dict)

    @property
    def is_moved(self) -> bool:
        return self.ends != self.former


@dataclass
class _Batch:
    """Edges that go first, the declarations between two barriers, then the deletions that follow them."""

    freed_edges: list[str] = field(default_factory=list)
    new_nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    changed_nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    new_edges: dict[str, dict[str, Any]] = field(default_factory=dict)
    changed_edges: dict[str, _EdgeChange] = field(default_factory=dict)
    deleted_edges: list[str] = field(default_factory=list)
    deleted_nodes: list[str] = field(default_factory=list)

    def queries(self, namespace: str, token: str) -> Iterator[Query]:
        """The batch as Cypher: edges that go first, nodes, edges, deletions."""
        yield from _deletions("delete-edges", self.freed_edges, namespace)
        stay = {edge: change.set for edge, change in self.changed_edges.items() if not change.is_moved}
        moves = [
            {"id": edge, "from_node": change.ends[0], "to_node": change.ends[1], "set": change.set}
            for edge, change in self.changed_edges.items()
            if change.is_moved
        ]
        for name, rows in (
            ("create-nodes", [row | _parts_of(row) for row in self.new_nodes.values()]),
            ("change-nodes", [row | _parts_of(row["set"]) for row in _changes(self.changed_nodes)]),
            ("create-edges", [*self.new_edges.values()]),
            ("change-edges", _changes(stay)),
            ("move-edges", moves),
        ):
            more = {"namespace_token": token} if name == "create-nodes" else {}
            for part in _parts(rows):
                yield CYPHER[f"contextscript/{name}"](namespace=namespace, rows=part, **more)
        yield from _deletions("delete-edges", self.deleted_edges, namespace)
        yield from _deletions("delete-nodes", self.deleted_nodes, namespace)

    def free_edges(self) -> bool:
        """Have the deletions go first, or return False: then a declaration that follows them needs another batch.

        An edge goes alone, and what is declared under other ids is the same before and after it. With a node goes more
        than the compiler knows of.
        """
        declared = any(edge in self.new_edges or edge in self.changed_edges for edge in self.deleted_edges)
        if declared or self.deleted_nodes:
            return False
        self.freed_edges += self.deleted_edges
        self.deleted_edges = []
        return True


def describe_ambiguity(identifier: str, node: str, edge: str) -> str:
    """Say that an id is that of a node and of an edge, with both named, and how that is mended."""
    return (
        f"`{identifier}` is the id of two things in the stored graph, the node {node} and the edge {edge}, and nothing "
        "says which of them is meant; `memorygraph doctor --graph` says how one gets another id"
    )


def _deletions(name: str, ids: Sequence[str], namespace: str) -> Iterator[Query]:
    for part in _parts(ids):
        yield CYPHER[f"contextscript/{name}"](namespace=namespace, ids=part)


def _changes(changes: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"id": identifier, "set": given} for identifier, given in changes.items() if given]


def _parts_of(texts: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    parts = parts_of_properties({name: texts.get(name) for name in ("name", "data")})
    return {"parts": parts} if parts else {}


def _parts(rows: Sequence[Any]) -> Iterator[list[Any]]:
    """Split rows into parts that fit one message to the server, by their number and their characters."""
    part: list[Any] = []
    characters = 0
    for row in rows:
        texts = row.get("set", row) if isinstance(row, dict) else {}
        size = len(texts.get("data") or "") + len(texts.get("name") or "")
        if part and (len(part) == ROWS_PER_BATCH or characters + size > CHARACTERS_PER_BATCH):
            yield part
            part, characters = [], 0
        part.append(row)
        characters += size
    if part:
        yield part


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


class _Compiler:
    def __init__(
        self, program: syntax.ContextScriptProgram, stored: Stored | None, namespace: str, token: str, *, suggest: bool
    ) -> None:
        self._program = program
        self._namespace = namespace
        self._token = token
        self._suggests = suggest
        self._only_checks = stored is None  # what is compiled for no database is never run
        self._symbols = SymbolTable(program, stored)
        self._batch = _Batch()
        self._queries: list[Query] = []
        self._declared_nodes: set[str] = set()
        self._abandoned: dict[str, None] = {}  # ends of edges that are gone, or are elsewhere
        self._problems: list[Problem] = []
        self._warnings: list[Problem] = []
        self._unknown: set[str] = set()

    def take_queries(self) -> list[Query]:
        """Close the batch, and return the queries that were not taken before."""
        self._close_batch()
        taken, self._queries = self._queries, []
        return taken

    def finish(self) -> Compiled:
        self._close_batch()
        if not self._problems:
            abandoned = [node for node in self._abandoned if node not in self._declared_nodes]
            for part in _parts(abandoned):
                self._queries.append(CYPHER["contextscript/delete-unobserved"](namespace=self._namespace, ids=part))
        problems = sorted((*self._program.problems, *cut_problems(self._problems)), key=lambda p: (p.line, p.column))
        return Compiled(
            tuple(self._queries), tuple(problems), tuple(cut_problems(self._warnings)), frozenset(self._unknown)
        )

    @singledispatchmethod
    def add(self, statement: syntax.GraphStatement) -> None:
        """Compile one statement; there is one method for each class of statements."""
        raise TypeError(f"no compiler for {type(statement).__name__}")

    @add.register
    def node_declaration(self, statement: syntax.NodeDeclaration) -> None:
        symbol = self._declared_here(statement.node_id)
        given = _given(name=statement.name, data=statement.data)
        if symbol.kind is Kind.BOTH:
            self._report_both(statement, "node_id", symbol)
            return
        if symbol.kind is Kind.EDGE:
            self._conflict(statement, "node_id", symbol)
            return
        if symbol.kind is Kind.ABSENT:
            self._require(statement, "node_id", given, "name", "data")
            self._batch.new_nodes[statement.node_id] = {"id": statement.node_id, **given}
        elif statement.node_id in self._batch.new_nodes:
            self._batch.new_nodes[statement.node_id].update(given)
        else:
            self._batch.changed_nodes.setdefault(statement.node_id, {}).update(given)
        self._declared_nodes.add(statement.node_id)
        self._symbols.declare_node(statement)

    @add.register
    def edge_declaration(self, statement: syntax.EdgeDeclaration) -> None:
        former = self._declared_here(statement.edge_id)
        if former.kind is Kind.BOTH:
            self._report_both(statement, "edge_id", former)
            return
        if former.kind is Kind.NODE:
            self._conflict(statement, "edge_id", former)
            return
        self._check_end(statement, "from_node")
        self._check_end(statement, "to_node")
        given = _given(verb=statement.verb, weight=statement.weight)
        if former.kind is Kind.ABSENT:
            row = {"id": statement.edge_id, "from_node": statement.from_node, "to_node": statement.to_node, **given}
            self._require(statement, "edge_id", _given(**row), "from_node", "to_node", "verb", "weight")
            self._batch.new_edges[statement.edge_id] = row
            self._symbols.declare_edge(statement)
        else:
            self._change_edge(former, self._symbols.declare_edge(statement), statement.edge_id, given)

    def _change_edge(self, former: Symbol, symbol: Symbol, edge: str, given: dict[str, Any]) -> None:
        ends = {"from_node": symbol.from_node, "to_node": symbol.to_node}
        if edge in self._batch.new_edges:
            self._batch.new_edges[edge].update(ends, **given)
            return
        before, after = (former.from_node, former.to_node), (symbol.from_node, symbol.to_node)
        change = self._batch.changed_edges.setdefault(edge, _EdgeChange(before, before))
        if former.from_node != symbol.from_node:
            self._abandon(former.from_node)
        if former.to_node != symbol.to_node:
            self._abandon(former.to_node)
        change.ends = after
        change.set.update(given)

    @add.register
    def deletion(self, statement: syntax.Deletion) -> None:
        symbol = self._symbols[statement.id]
        if symbol.kind is Kind.ABSENT:
            self._delete_absent(statement, symbol)
            return
        if symbol.kind is Kind.BOTH:
            self._report_both(statement, "id", symbol)
            return
        if symbol.kind is Kind.EDGE:
            self._batch.deleted_edges.append(statement.id)
            self._abandon(symbol.from_node)
            self._abandon(symbol.to_node)
        elif symbol.kind is Kind.NODE:
            self._batch.deleted_nodes.append(statement.id)
        self._symbols.delete(statement)

    def _abandon(self, node: str | None) -> None:
        if node is not None:
            self._abandoned[node] = None

    def _delete_absent(self, statement: syntax.Deletion, symbol: Symbol) -> None:
        if symbol.deleted_by is None:
            message = f"`{statement.id}` is no known id, so there is nothing to delete"
            self._report(message + self._suggest(statement.id), "unknown-id", statement, "id")
            return
        line = self._symbols.line(symbol.deleted_by)
        how = f"went with its node `{symbol.deleted_with}`" if symbol.deleted_with else "was already deleted"
        span = self._program.argument_span(statement, "id")
        text = f"`{statement.id}` {how} at line {line}; nothing is left to delete"
        if len(self._warnings) <= MAX_PROBLEMS:
            self._warnings.append(self._program.source.problem(text, "already-deleted", span))

    def _declared_here(self, identifier: str) -> Symbol:
        """The symbol that a declaration meets; after most deletions it opens a new batch."""
        if (self._batch.deleted_edges or self._batch.deleted_nodes) and not self._batch.free_edges():
            self._close_batch()
        return self._symbols[identifier]

    def _close_batch(self) -> None:
        if not self._problems and not self._only_checks:
            self._queries.extend(self._batch.queries(self._namespace, self._token))
        self._batch = _Batch()

    def _check_end(self, statement: syntax.EdgeDeclaration, argument: str) -> None:
        identifier: str | None = getattr(statement, argument)
        if identifier is None:
            return
        symbol = self._symbols[identifier]
        if symbol.kind is Kind.NODE:
            return
        if symbol.kind is Kind.EDGE:
            where = self._symbols.place(symbol)
            message = f"`{identifier}` is an edge, declared {where}; `{argument}` takes the id of a node"
            self._report(message, "kind-conflict", statement, argument)
        elif symbol.kind is Kind.BOTH:
            self._report_both(statement, argument, symbol)
        elif symbol.kind is Kind.ABSENT:
            message = f"`{identifier}` is no known node"
            if symbol.deleted_by is not None:
                message += f": it was deleted at line {self._symbols.line(symbol.deleted_by)}"
            else:
                message += self._suggest(identifier)
            self._report(message, "unknown-node", statement, argument)

    def _require(self, statement: syntax.GraphStatement, argument: str, given: Mapping[str, Any], *needed: str) -> None:
        missing = [f"`{name}`" for name in needed if name not in given]
        if missing:
            kind = "node" if argument == "node_id" else "edge"
            new = getattr(statement, argument)
            message = f"`{new}` does not exist yet, and a new {kind} needs {' and '.join(missing)}"
            self._report(message, "missing-argument", statement, argument)

    def _conflict(self, statement: syntax.GraphStatement, argument: str, symbol: Symbol) -> None:
        kind, wanted = ("an edge", "node") if symbol.kind is Kind.EDGE else ("a node", "edge")
        known = f"`{getattr(statement, argument)}` is already the id of {kind}, declared {self._symbols.place(symbol)}"
        message = f"{known}; choose another id for this {wanted}"
        self._report(message, "kind-conflict", statement, argument)

    def _report_both(self, statement: syntax.GraphStatement, argument: str, symbol: Symbol) -> None:
        identifier = getattr(statement, argument)
        message = describe_ambiguity(identifier, f"`{identifier}`", f"from `{symbol.from_node}` to `{symbol.to_node}`")
        self._report(message, "ambiguous-id", statement, argument)

    def _suggest(self, identifier: str) -> str:
        """Say what may have been meant by an unknown id, if a problem with it is still shown."""
        if len(self._problems) >= MAX_PROBLEMS:
            return ""
        self._unknown.add(identifier)
        return self._symbols.suggestion(identifier) if self._suggests else ""

    def _report(self, message: str, code: str, statement: syntax.GraphStatement, argument: str) -> None:
        if len(self._problems) <= MAX_PROBLEMS:  # one more than is shown, to know whether there are more
            span = self._program.argument_span(statement, argument)
            self._problems.append(self._program.source.problem(message, code, span))
