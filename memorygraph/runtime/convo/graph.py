"""The graph in a conversation: its nodes, their children, and their routes in the order of the source. Pure.

A node reaches to the next `node`, `nodeEnd`, `goto` or `exitGraph`. What stands in no node is the conversation
around the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from memorygraph.errors import Span
from memorygraph.languages.convo.syntax import (
    CodeMessage,
    Conversation,
    FunctionMessage,
    Message,
    Statement,
    Tag,
    Template,
    TextMessage,
)

OUTSIDE = "main"
"""The id that means: in no node."""

AUTO, NEXT = "auto", "next"

_ENDS = frozenset({"node", "nodeEnd", "goto", "exitGraph"})
_ROUTING = frozenset({"to", "from", "exit"})


@dataclass(frozen=True)
class Always:
    """No condition."""


@dataclass(frozen=True)
class Asked:
    """A condition in natural language, which a model judges."""

    text: Template


@dataclass(frozen=True)
class Computed:
    """A condition in code: the last value decides. Without statements it does not hold."""

    statements: tuple[Statement, ...]


Condition: TypeAlias = Always | Asked | Computed


@dataclass(frozen=True)
class Route:
    """A way out of a node. `target` is the id of a node, `auto` or `next`, or None where the route is an exit.

    `candidates` are the nodes among which `auto` chooses, where the source names them; `model` judges the condition
    in place of the run's own; `written` is the route as messages and errors name it.
    """

    target: str | None
    condition: Condition
    candidates: tuple[str, ...] = ()
    model: str | None = None
    written: str = ""
    span: Span = field(default=Span(0, 0), compare=False, repr=False)


@dataclass(frozen=True)
class Node:
    """A step of the graph: what its messages are, and where it leads."""

    message: TextMessage
    children: tuple[Message, ...]
    routes: tuple[Route, ...] = ()

    @property
    def id(self) -> str:
        """The id by which routes name it."""
        return id_in(self.message.head)

    @property
    def functions(self) -> tuple[FunctionMessage, ...]:
        """The functions that are tools while this node is the current one."""
        return functions_of(self.children)

    def tag(self, name: str) -> str | None:
        """The text of a tag of the node; an empty one where the tag has none, and None where there is no such tag."""
        return tag_of(self.message, name)


@dataclass(frozen=True)
class Graph:
    """The nodes by their ids, in the order of the source, and the messages that belong to none."""

    nodes: dict[str, Node]
    outside: tuple[Message, ...]

    def following(self, id_: str) -> str | None:
        """The node behind another in the source."""
        return _behind(list(self.nodes), id_)


def graph_of(conversation: Conversation) -> Graph:
    r"""The graph in a conversation.

    >>> from memorygraph.languages import parse
    >>> program = parse("@to b\n> node a\n  > user\n  {{input}}\n> node b\n> nodeEnd\n> goto a", "convo")
    >>> graph = graph_of(program.conversation)
    >>> [(node.id, len(node.children), [route.target for route in node.routes]) for node in graph.nodes.values()]
    [('a', 1, ['b']), ('b', 0, [])]
    """
    parts = list(_parts(conversation.messages))
    heads = {id_in(head.head): (head, children) for head, children in reversed(parts) if head is not None}
    ids = [id_in(head.head) for head, _ in parts if head is not None]
    order = list(dict.fromkeys(ids))
    routes: dict[str, list[Route]] = {id_: [] for id_ in order}
    for id_ in order:
        for source, route in _routes(*heads[id_], order):
            routes.setdefault(source, []).append(route)
    nodes = {}
    for id_ in order:
        head, children = heads[id_]
        found = tuple(sorted(routes[id_], key=lambda route: route.span.start))
        nodes[id_] = Node(head, tuple(m for m in children if role_of(m) not in _ROUTING), found)
    return Graph(nodes, tuple(message for head, messages in parts if head is None for message in messages))


def id_in(head: str) -> str:
    """The id in the head of a `node` or a `goto`."""
    return head.strip() or OUTSIDE


def role_of(message: Message) -> str:
    """The role of a message; a function has none."""
    return "" if isinstance(message, FunctionMessage) else message.role.removesuffix("!")


def tag_of(message: Message, name: str) -> str | None:
    """The text of the last tag of a name, an empty one where it has none; None where there is no such tag."""
    return next((tag.text or "" for tag in reversed(message.tags) if tag.name == name), None)


def functions_of(messages: Iterable[Message]) -> tuple[FunctionMessage, ...]:
    """The functions that messages declare; recorded calls are none."""
    return tuple(m for m in messages if isinstance(m, FunctionMessage) and m.modifier != "call")


def _parts(messages: Iterable[Message]) -> Iterator[tuple[TextMessage | None, list[Message]]]:
    """The messages in parts: each node with what belongs to it, and what stands between nodes."""
    head: TextMessage | None = None
    inside: list[Message] = []
    for message in messages:
        if role_of(message) not in _ENDS:
            inside.append(message)
            continue
        yield head, inside
        head, inside = None, []
        if isinstance(message, TextMessage) and message.role == "node":
            head = message
        elif role_of(message) != "nodeEnd":
            inside.append(message)
    yield head, inside


@dataclass(frozen=True)
class _Declared:
    """A route as a tag or a message declares it, at its beginning or at its end."""

    kind: str
    target: str
    condition: Condition
    model: str | None
    written: str
    span: Span

    def route(self, target: str | None, candidates: tuple[str, ...] = ()) -> Route:
        """It as a route to a node."""
        return Route(target, self.condition, candidates, self.model, self.written, self.span)


def _routes(head: TextMessage, children: list[Message], order: list[str]) -> Iterator[tuple[str, Route]]:
    """The routes that a node declares, each with the node that it leads out of."""
    id_, model = id_in(head.head), tag_of(head, "routingModel")
    for tag in head.tags:
        if tag.name in _ROUTING:
            yield from _directed(_of_tag(tag, model), id_, order)
    for message in children:
        if isinstance(message, (TextMessage, CodeMessage)) and role_of(message) in _ROUTING:
            yield from _directed(_of_message(message, model), id_, order)


def _of_tag(tag: Tag, model: str | None) -> _Declared:
    target, text = _target(tag)
    if tag.expression is not None:
        condition: Condition = Computed((Statement(tag.expression, span=tag.span),))
    else:
        condition = _asked(Template((text,) if text else ()))
    return _Declared(tag.name, target, condition, model, _written(tag), tag.span)


def _of_message(message: TextMessage | CodeMessage, model: str | None) -> _Declared:
    code = isinstance(message, CodeMessage)
    return _Declared(
        role_of(message),
        message.head.strip(),
        Computed(message.statements) if isinstance(message, CodeMessage) else _asked(message.content),
        tag_of(message, "routingModel") or model,
        f"> {role_of(message)}{'!' if code else ''} {message.head}".rstrip(),
        message.span,
    )


def _directed(declared: _Declared, id_: str, order: list[str]) -> Iterator[tuple[str, Route]]:
    """A declared route out of its node or, where it is declared at its end, out of others."""
    if declared.kind == "exit":
        yield id_, declared.route(None)
        return
    target, _, rest = declared.target.partition(" ")
    if declared.kind == "from":
        for source in _sources(target, id_, order):
            yield source, declared.route(id_)
        return
    names = tuple(rest.replace(",", " ").split())
    if target == AUTO and not names and isinstance(declared.condition, Asked):
        names, condition = _restricted(declared.condition, order)
        declared = replace(declared, condition=condition)
    yield id_, declared.route(target, names)


def _sources(name: str, id_: str, order: list[str]) -> list[str]:
    """The nodes that a `from` names: `next` is the one behind, and `auto` any other."""
    if name == AUTO:
        return [source for source in order if source != id_]
    source = _behind(order, id_) if name == NEXT else name
    return [] if source is None else [source]


def _restricted(condition: Asked, order: list[str]) -> tuple[tuple[str, ...], Condition]:
    """The nodes that `auto b c` names; where a word of it is no node, all of it is a condition."""
    words = "".join(part for part in condition.text.parts if isinstance(part, str)).replace(",", " ").split()
    return (tuple(words), Always()) if words and set(words) <= set(order) else ((), condition)


def _behind(order: list[str], id_: str) -> str | None:
    index = order.index(id_) + 1 if id_ in order else len(order)
    return order[index] if index < len(order) else None


def _target(tag: Tag) -> tuple[str, str]:
    """The target of a routing tag, and the text of its condition."""
    text = (tag.text or "").strip()
    if tag.name == "exit" or tag.target is not None:
        return tag.target or "", text
    target, _, rest = text.partition(" ")
    return target, rest.strip()


def _asked(text: Template) -> Condition:
    """A condition in words; none at all, or `else`, always holds."""
    plain = "".join(part if isinstance(part, str) else "{{" for part in text.parts).strip()
    return Always() if plain in {"", "else"} else Asked(text)


def _written(tag: Tag) -> str:
    target = f" {tag.target}" if tag.target else ""
    text = f" {tag.text}" if tag.text else ""
    return f"@{tag.name}{target}{text}{' = …' if tag.expression is not None else ''}"
