"""The symbol table of a ContextScript program: what each id is at each point of the text.

It starts from what is stored, follows the statements in their order, and never guesses: an id is a node,
an edge, absent, or, where the database was not asked, unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from memorygraph.languages.contextscript import syntax
from memorygraph.languages.engine.findings import suggestion


@dataclass(frozen=True)
class Stored:
    """The stored elements among the ids of one program, read under the namespace's lock.

    `names` maps names in lower case to a node's id and name; it is only read when an id is unknown, to suggest one.
    """

    nodes: frozenset[str] = frozenset()
    edges: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class Kind(Enum):
    """What an id stands for. `BOTH` refuses every statement, because none says which of the two is meant."""

    NODE = "node"
    EDGE = "edge"
    BOTH = "both"  # raw Cypher can make an edge with the id of a node
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class Symbol:
    """One id at one point of the program; `statement` is None for what only the store declares."""

    kind: Kind
    statement: syntax.GraphStatement | None = None
    from_node: str | None = None
    to_node: str | None = None
    deleted_by: syntax.Deletion | None = None
    deleted_with: str | None = None


_ABSENT = Symbol(Kind.ABSENT)
_UNKNOWN = Symbol(Kind.UNKNOWN)


class SymbolTable:
    """The ids that a program knows so far. `stored` is None where no database was asked."""

    def __init__(self, program: syntax.ContextScriptProgram, stored: Stored | None) -> None:
        self._program = program
        self._stored = stored
        self._symbols: dict[str, Symbol] = {}
        self._incident: defaultdict[str, set[str]] = defaultdict(set)
        if stored is not None:
            self._symbols = {node: Symbol(Kind.NODE) for node in stored.nodes}
            for edge, (from_node, to_node) in stored.edges.items():
                kind = Kind.BOTH if edge in stored.nodes else Kind.EDGE
                self._put_edge(edge, Symbol(kind, None, from_node, to_node))

    def __getitem__(self, identifier: str) -> Symbol:
        symbol = self._symbols.get(identifier)
        if symbol is not None:
            return symbol
        # An id in a statement that could not be read may well be declared there: no error on top of that one.
        unknown = self._stored is None or identifier in self._program.unread
        return _UNKNOWN if unknown and syntax.is_identifier(identifier) else _ABSENT

    def declare_node(self, statement: syntax.NodeDeclaration) -> None:
        """From here on the id is a node."""
        self._symbols[statement.node_id] = Symbol(Kind.NODE, statement)

    def declare_edge(self, statement: syntax.EdgeDeclaration) -> Symbol:
        """From here on the id is an edge; ends that the statement omits stay as they were."""
        former = self[statement.edge_id]
        self._unlink(statement.edge_id, former)
        symbol = Symbol(
            Kind.EDGE,
            statement,
            statement.from_node or former.from_node,
            statement.to_node or former.to_node,
        )
        self._put_edge(statement.edge_id, symbol)
        return symbol

    def delete(self, deletion: syntax.Deletion) -> None:
        """From here on the id is free, and so are the ids of the edges at it, if it is a node."""
        self._unlink(deletion.id, self[deletion.id])
        self._symbols[deletion.id] = Symbol(Kind.ABSENT, deleted_by=deletion)
        for edge in self._incident.pop(deletion.id, set()):
            symbol = self._symbols[edge]
            other = symbol.to_node if symbol.from_node == deletion.id else symbol.from_node
            if other is not None and other != deletion.id:
                self._incident[other].discard(edge)
            if symbol.kind is Kind.BOTH:  # the node of this id stays
                self._symbols[edge] = Symbol(Kind.NODE)
            else:
                self._symbols[edge] = Symbol(Kind.ABSENT, deleted_by=deletion, deleted_with=deletion.id)

    def place(self, symbol: Symbol) -> str:
        """Where a symbol was declared, for a message."""
        if symbol.statement is None:
            return "in the stored graph"
        return f"at line {self.line(symbol.statement)}"

    def line(self, statement: syntax.GraphStatement) -> int:
        """The line on which a statement starts."""
        return self._program.source.position(statement.span.start)[0]

    def suggestion(self, text: str) -> str:
        """What may have been meant by an id that is not there; empty where nothing comes near."""
        for statement in self._program.statements:
            if isinstance(statement, syntax.NodeDeclaration) and statement.node_id == text:
                line = self.line(statement)
                return f"; it is declared only at line {line}: a node comes before the edges that use it"
        if found := self._node_named(text):
            identifier, name = found
            return f'; did you mean node id `{identifier}`? `{identifier}` is the id of the node named "{name}"'
        if near := suggestion(text, (name for name, symbol in self._symbols.items() if symbol.kind is Kind.NODE)):
            return near
        return "" if syntax.is_identifier(text) else "; an id has only letters, digits, `_` and `-`: is this a name?"

    def _node_named(self, name: str) -> tuple[str, str] | None:
        """The id and the name of a node at this point of the program whose name is this, whatever the case."""
        wanted = name.lower()
        for identifier, symbol in self._symbols.items():
            statement = symbol.statement
            if isinstance(statement, syntax.NodeDeclaration) and (statement.name or "").lower() == wanted:
                return identifier, statement.name or ""
        return self._stored.names.get(wanted) if self._stored else None

    def _put_edge(self, edge: str, symbol: Symbol) -> None:
        self._symbols[edge] = symbol
        for end in (symbol.from_node, symbol.to_node):
            if end is not None:
                self._incident[end].add(edge)

    def _unlink(self, identifier: str, symbol: Symbol) -> None:
        for end in (symbol.from_node, symbol.to_node):
            if end is not None and symbol.kind is Kind.EDGE:
                self._incident[end].discard(identifier)
