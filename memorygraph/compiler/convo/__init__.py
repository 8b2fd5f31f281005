"""Convo: a conversation to the graph of its nodes and routes, and to the queries that store it."""

from __future__ import annotations

from memorygraph.compiler.convo.graph import EXIT, graph_of
from memorygraph.compiler.identity import program_id, program_properties
from memorygraph.errors import ScriptError
from memorygraph.languages.convo.syntax import ConvoProgram
from memorygraph.library import CYPHER
from memorygraph.query import Query


def compile_convo(program: ConvoProgram, namespace: str) -> list[Query]:
    """The queries that store a graph, and offer it by the name of its file.

    Raises:
        ScriptError: the conversation is wrong.
    """
    source = program.source
    properties = program_properties(source, language=program.language)
    offer = CYPHER["programs/offer-graph"](namespace=namespace, id=program_id(source), properties=properties)
    return [compile_graph(program, namespace), offer]


def compile_graph(program: ConvoProgram, namespace: str) -> Query:
    """Compile a conversation to the query that stores its nodes and routes.

    Raises:
        ScriptError: the conversation is wrong.
    """
    if program.problems:
        raise ScriptError(list(program.problems))
    graph, source = graph_of(program.conversation), program.source
    id_ = program_id(source)
    nodes = [
        {
            "id": f"{id_}/{node.id}",
            "order": order,
            "exit": False,
            "properties": {"name": node.id, "description": node.description},
        }
        for order, node in enumerate(graph.nodes.values())
    ]
    routes = [
        {
            "source": f"{id_}/{node.id}",
            "target": f"{id_}/{target}",
            "order": order,
            "kind": route.kind,
            "condition": route.condition_text(source),
        }
        for node in graph.nodes.values()
        for order, route in enumerate(node.routes)
        for target in graph.targets(node, route)
    ]
    if any(route["target"] == f"{id_}/{EXIT}" for route in routes) and EXIT not in graph.nodes:
        properties = {"name": EXIT, "description": "the way out of the graph"}
        nodes.append({"id": f"{id_}/{EXIT}", "order": len(nodes), "exit": True, "properties": properties})
    return CYPHER["convo/write-graph"](
        namespace=namespace,
        id=id_,
        properties=program_properties(source, source=source.text),
        nodes=nodes,
        routes=routes,
    )
