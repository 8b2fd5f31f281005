"""Convo: a conversation to the graph of its nodes and routes, and to the queries that store it.

A node reaches to the next `node`, `nodeEnd`, `goto` or `exitGraph`. Messages outside of the nodes are the conversation
around the graph. Source: seeds/convo-node-graphs.txt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from memorygraph.compiler.identity import offered_program, program_id, program_properties
from memorygraph.errors import ScriptError, Source, Span
from memorygraph.languages.convo import syntax
from memorygraph.languages.convo.syntax import NODE_ENDS, ROUTE_ROLES, message_role
from memorygraph.languages.convo.unsupported import is_file_import
from memorygraph.library import CYPHER
from memorygraph.query import Query

OUTSIDE = "main"  # the id of a `goto` without an id: no node
EXIT = "\nexit"  # the way out of a graph, where the id of a node may stand: no id holds a line break
EXIT_NAME = "exit"
AUTO, NEXT = "auto", "next"

# None; in words, which a model judges; or in code, whose last value decides: without statements it does not hold.
Condition: TypeAlias = syntax.Template | tuple[syntax.Statement, ...] | None


@dataclass(frozen=True)
class Route:
    """A way out of a node."""

    target: str | None  # the id of a node, `auto`, `next`, or None for an exit
    condition: Condition
    candidates: tuple[str, ...] = ()  # the nodes among which `auto` chooses, where the source names them
    model: str | None = None  # judges the condition in place of the run's own model
    written: str = ""  # the route as messages and errors name it
    tags: tuple[syntax.Tag, ...] = ()  # of its message, whose `@condition` and `@disabled` may leave it out
    span: Span = field(default=Span(0, 0), compare=False, repr=False)

    @property
    def kind(self) -> str:
        """`always`, `auto`, `natural language` or `code`."""
        if self.target == AUTO:
            return "auto"
        if self.condition is None:
            return "always"
        return "natural language" if isinstance(self.condition, syntax.Template) else "code"

    def condition_text(self, source: Source) -> str:
        """The condition on one line; empty where the route has no condition."""
        if self.condition is None:
            return ""
        written = source.text[self.span.start : self.span.end]
        if isinstance(self.condition, syntax.Template):
            written = "".join(part if isinstance(part, str) else "{{…}}" for part in self.condition.parts)
        else:
            written = written.partition("=" if written.lstrip().startswith("@") else "\n")[2]
        return " ".join(written.split())


@dataclass(frozen=True)
class GraphNode:
    """A node of the graph: its messages, and its routes."""

    message: syntax.TextMessage
    children: tuple[syntax.Message, ...]
    routes: tuple[Route, ...] = ()

    @property
    def id(self) -> str:
        """The id by which routes name it."""
        return id_in(self.message.head)

    @property
    def description(self) -> str:
        """The description as the source has it, without its insertions."""
        return "".join(part for part in self.message.content.parts if isinstance(part, str)).strip()

    @property
    def functions(self) -> tuple[syntax.FunctionMessage, ...]:
        """The functions that are tools while this node is the current one."""
        return functions_of(self.children)


@dataclass(frozen=True)
class NodeGraph:
    """The nodes by their ids, in the order of the source, and the messages outside of them."""

    nodes: dict[str, GraphNode]
    outside: tuple[syntax.Message, ...]

    def following(self, id_: str) -> str | None:
        """The id of the node after another in the source."""
        return id_after(list(self.nodes), id_)

    @property
    def exit_name(self) -> str:
        """The name of the way out where it is stored; no node has it as its id."""
        name = EXIT_NAME
        while name in self.nodes:
            name += "!"
        return name

    def targets(self, node: GraphNode, route: Route) -> list[str]:
        """The nodes to which a route of a node can lead, or EXIT."""
        if route.target is None:
            return [EXIT]
        if route.target == AUTO:
            return list(route.candidates or (id_ for id_ in self.nodes if id_ != node.id))
        return [self.following(node.id) or EXIT] if route.target == NEXT else [route.target]


def graph_of(conversation: syntax.ParsedConversation) -> NodeGraph:
    r"""Find the graph in a conversation.

    >>> from memorygraph.languages import parse
    >>> program = parse("@to b\n> node a\n  > user\n  {{input}}\n> node b\n> nodeEnd\n> goto a", "convo")
    >>> graph = graph_of(program.conversation)
    >>> [(node.id, len(node.children), [route.target for route in node.routes]) for node in graph.nodes.values()]
    [('a', 1, ['b']), ('b', 0, [])]
    """
    parts = list(split_parts(conversation.messages))
    heads = {id_in(head.head): (head, children) for head, children in reversed(parts) if head is not None}
    order = list(dict.fromkeys(id_in(head.head) for head, _ in parts if head is not None))
    routes: dict[str, list[Route]] = {id_: [] for id_ in order}
    for id_ in order:
        for source, route in declared_routes(*heads[id_], order):
            routes.setdefault(source, []).append(route)
    nodes = {}
    for id_ in order:
        head, children = heads[id_]
        in_order = tuple(sorted(routes[id_], key=lambda route: route.span.start))
        nodes[id_] = GraphNode(head, tuple(m for m in children if message_role(m) not in ROUTE_ROLES), in_order)
    return NodeGraph(nodes, tuple(message for head, messages in parts if head is None for message in messages))


def split_parts(
    messages: Iterable[syntax.Message],
) -> Iterator[tuple[syntax.TextMessage | None, list[syntax.Message]]]:
    """Split messages into nodes, each a head and what belongs to it, and parts without a head between them."""
    head: syntax.TextMessage | None = None
    inside: list[syntax.Message] = []
    for message in messages:
        if message_role(message) not in NODE_ENDS:
            inside.append(message)
            continue
        yield head, inside
        head, inside = None, []
        if isinstance(message, syntax.TextMessage) and message.role == "node":
            head = message
        elif message_role(message) != "nodeEnd":
            inside.append(message)
    yield head, inside


def id_in(head: str) -> str:
    """The id in the head of a `node` or a `goto`."""
    return head.strip() or OUTSIDE


def id_after(order: list[str], id_: str) -> str | None:
    """The id after another one; None after the last, and for an unknown one."""
    index = order.index(id_) + 1 if id_ in order else len(order)
    return order[index] if index < len(order) else None


def tag_of(message: syntax.Message, name: str) -> str | None:
    """The text of the last tag of a name: empty for a tag without text, None for a tag that is missing."""
    return next((tag.text or "" for tag in reversed(message.tags) if tag.name == name), None)


def is_disabled(message: syntax.Message) -> bool:
    """Whether a message takes no part, whatever the variables are."""
    return any(
        tag.name == "disabled" and tag.expression is None and tag.text in {None, "", "true"} for tag in message.tags
    )


def functions_of(messages: Iterable[syntax.Message]) -> tuple[syntax.FunctionMessage, ...]:
    """The functions that messages declare, without recorded calls."""
    return tuple(m for m in messages if isinstance(m, syntax.FunctionMessage) and m.modifier != "call")


# Routes as tags and messages declare them


def declared_routes(
    head: syntax.TextMessage, children: list[syntax.Message], order: list[str]
) -> Iterator[tuple[str, Route]]:
    """Read the routes that a node declares, each with the id of the node that it leads out of."""
    id_, model = id_in(head.head), tag_of(head, "routingModel")
    for tag in head.tags:
        if tag.name in ROUTE_ROLES:
            name, route = read_tag(tag)
            yield from direct_route(tag.name, name, replace(route, model=model), id_, order)
    for message in children:
        role = message_role(message)
        if isinstance(message, syntax.FunctionMessage) or role not in ROUTE_ROLES or is_disabled(message):
            continue
        name, route = read_message(message, order)
        model_named = tag_of(message, "routingModel") or model
        yield from direct_route(role, name, replace(route, model=model_named), id_, order)


def read_message(message: syntax.TextMessage | syntax.CodeMessage, order: list[str]) -> tuple[str, Route]:
    """Read a routing message: the name of its other end, and the route without its ends.

    An id may hold blanks. After `auto` or `next`, the head goes on as a tag does: with nodes, or with a condition.
    """
    name, rest = split_target(message.head)
    candidates = split_candidates(rest) if name == AUTO and message_role(message) == "to" else ()
    if isinstance(message, syntax.CodeMessage):
        condition: Condition = message.statements
    elif candidates and set(candidates) <= set(order):
        condition = in_words(message.content)
    else:
        candidates, condition = (), in_words(begin_condition(rest, message.content))
    written = f"> {message.role} {message.head}".rstrip()
    return name, Route(None, condition, candidates, written=written, tags=message.tags, span=message.span)


def split_target(head: str) -> tuple[str, str]:
    """Split the head of a routing message: what it leads to, and what follows `auto` or `next`.

    >>> split_target("auto b c"), split_target("my node")
    (('auto', 'b c'), ('my node', ''))
    """
    words = head.split(maxsplit=1)
    return (words[0], " ".join(words[1:])) if words and words[0] in {AUTO, NEXT} else (head.strip(), "")


def split_candidates(words: str) -> tuple[str, ...]:
    """The names in a list of nodes, with blanks or commas between them.

    >>> split_candidates("b, c d")
    ('b', 'c', 'd')
    """
    return tuple(words.replace(",", " ").split())


def begin_condition(first: str, content: syntax.Template) -> syntax.Template:
    """A condition that begins in a head, and goes on in the content of the message."""
    return replace(content, parts=(f"{first}\n" if content.parts else first, *content.parts)) if first else content


def read_tag(tag: syntax.Tag) -> tuple[str, Route]:
    """Read a routing tag: the name of its other end, and the route without its ends."""
    name, text = tag.target or "", (tag.text or "").strip()
    if tag.name != "exit" and tag.target is None:
        name, _, text = text.partition(" ")
    if tag.expression is not None:
        condition: Condition = (syntax.Statement(tag.expression, span=tag.span),)
    else:
        condition = in_words(syntax.Template((text.strip(),) if text.strip() else ()))
    written = [f"@{tag.name}", tag.target, tag.text, "= …" if tag.expression is not None else None]
    return name, Route(None, condition, written=" ".join(filter(None, written)), span=tag.span)


def in_words(text: syntax.Template) -> Condition:
    """Read a condition in words; an empty one, or `else`, always holds."""
    plain = "".join(part if isinstance(part, str) else "{{" for part in text.parts).strip()
    return None if plain in {"", "else"} else text


def direct_route(kind: str, name: str, route: Route, id_: str, order: list[str]) -> Iterator[tuple[str, Route]]:
    """Give a route its ends: out of the node that declares it or, with `from`, into it out of others."""
    if kind == "exit":
        yield id_, route
        return
    if kind == "from":
        sources = [source for source in order if source != id_]
        if name != AUTO:
            sources = [source for source in [id_after(order, id_) if name == NEXT else name] if source is not None]
        for source in sources:
            yield source, replace(route, target=id_)
        return
    if name == AUTO and not route.candidates and isinstance(route.condition, syntax.Template):
        # `auto b c` names its candidates; where a word is not a node, all of them are a condition.
        words = split_candidates("".join(part for part in route.condition.parts if isinstance(part, str)))
        if words and set(words) <= set(order):
            route = replace(route, condition=None, candidates=words)
    yield id_, replace(route, target=name)


# Queries


def compile_convo(program: syntax.ConvoProgram, namespace: str) -> list[Query]:
    """The queries that store a graph, and offer it by the name of its file; one that needs files is refused."""
    source = program.source
    needed = [
        source.problem(
            "a stored graph stands alone, and this imports a file beside it; `memorygraph run FILE` finds it",
            "needs-files",
            tag.span,
        )
        for message in program.statements
        for tag in message.tags
        if is_file_import(tag)
    ]
    if needed:
        raise ScriptError(needed)
    offered = offered_program(source, language=program.language)
    offer = CYPHER["programs/offer-graph"](namespace=namespace, **offered)
    return [compile_graph(program, namespace), offer]


def compile_graph(program: syntax.ConvoProgram, namespace: str) -> Query:
    """Compile a conversation to the query that stores its nodes and routes."""
    if program.problems:
        raise ScriptError(list(program.problems))
    graph, source = graph_of(program.conversation), program.source
    id_ = program_id(source)

    def node_row(name: str, description: str, order: int, *, leaves: bool = False) -> dict[str, object]:
        properties = {"name": name, "description": description}
        return {"id": f"{id_}/{name}", "order": order, "exit": leaves, "properties": properties}

    nodes = [node_row(node.id, node.description, order) for order, node in enumerate(graph.nodes.values())]
    routes = [
        {
            "source": f"{id_}/{node.id}",
            "target": f"{id_}/{graph.exit_name if target == EXIT else target}",
            "order": order,
            "kind": route.kind,
            "condition": route.condition_text(source),
        }
        for node in graph.nodes.values()
        for order, route in enumerate(node.routes)
        for target in graph.targets(node, route)
    ]
    if any(route["target"] == f"{id_}/{graph.exit_name}" for route in routes):
        nodes.append(node_row(graph.exit_name, "the way out of the graph", len(nodes), leaves=True))
    properties = program_properties(source, source=source.text)
    return CYPHER["convo/write-graph"](namespace=namespace, id=id_, properties=properties, nodes=nodes, routes=routes)
