"""Node graphs and their runs in Neo4j, written as they happen, so that a run that was killed can go on.

The database is written behind the run's back; until it is, a journal on this machine holds what was done. So no
completed call of a model or a function is ever made again, and no step waits for the database.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from memorygraph.errors import MemoryGraphError, NotFoundError, ScriptError, Source
from memorygraph.graph.namespace import Namespace
from memorygraph.languages.convo.syntax import Program
from memorygraph.llm.recording import answers_of, call_of
from memorygraph.messages.recorder import Recorder
from memorygraph.query import Query
from memorygraph.runtime.convo.conditions import EXIT, condition_of, kind_of, targets_of
from memorygraph.runtime.convo.engine import RunListener
from memorygraph.runtime.convo.graph import Graph, Node, graph_of
from memorygraph.runtime.convo.journal import Journal
from memorygraph.runtime.convo.steps import ConvoGraphResult, ModelCall, Step
from memorygraph.runtime.convo.values import to_plain
from memorygraph.runtime.runs import RunWriter, stored_properties

PAGE = 5000


def graph_identity(source: Source) -> str:
    """The id of a definition: the hash of its source.

    >>> graph_identity(Source("> user"))[:8]
    '19b0720e'
    """
    return hashlib.sha256(source.text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def graph_query(program: Program, namespace: Namespace) -> Query:
    """The query that stores a definition.

    Raises:
        ScriptError: the conversation is wrong.
    """
    if program.problems:
        raise ScriptError(list(program.problems))
    graph, source = graph_of(program.conversation), program.source
    id_ = graph_identity(source)
    name = Path(source.file).stem if source.file else id_[:8]
    nodes = [
        {
            "id": f"{id_}/{node.id}",
            "order": order,
            "exit": False,
            "properties": {"name": node.id, "description": _described(node)},
        }
        for order, node in enumerate(graph.nodes.values())
    ]
    routes = [
        {
            "source": f"{id_}/{node.id}",
            "target": f"{id_}/{target}",
            "order": order,
            "kind": kind_of(route),
            "condition": condition_of(route, source),
        }
        for node in graph.nodes.values()
        for order, route in enumerate(node.routes)
        for target in targets_of(graph, node, route)
    ]
    if any(route["target"] == f"{id_}/{EXIT}" for route in routes) and EXIT not in graph.nodes:
        properties = {"name": EXIT, "description": "the way out of the graph"}
        nodes.append({"id": f"{id_}/{EXIT}", "order": len(nodes), "exit": True, "properties": properties})
    return namespace.query(
        "convo/write-graph",
        id=id_,
        properties={"name": name, "file": source.file, "source": source.text},
        nodes=nodes,
        routes=routes,
    )


def _described(node: Node) -> str:
    return "".join(part for part in node.message.content.parts if isinstance(part, str)).strip()


@dataclass(eq=False)
class ConvoRunStore(RunListener):
    """Writes one run of a graph into a namespace.

    `told` is told of each step that is done, `resumed` are the steps that it goes on from.
    """

    namespace: Namespace
    program: Program
    properties: dict[str, Any] = field(default_factory=dict)
    told: Callable[[Step], None] = lambda _step: None
    id: str = field(default_factory=lambda: uuid4().hex)
    resumed: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.conversation = f"run-{self.id}"
        self.graph = graph_identity(self.program.source)
        self._journal = Journal(self.id)
        self._writer = RunWriter(f"the run {self.id}")
        self._recorder = Recorder(self.namespace, self.conversation)
        self._orders = {(step.branch, step.index): order for order, step in enumerate(self.resumed)}
        self._answers: dict[tuple[str, int], list[str]] = {}
        self._latest: dict[tuple[str, int], Query] = {}

    def started(self, graph: Graph) -> None:  # noqa: ARG002
        """Write the definition and the run, before anything of it happens."""
        begin = self.namespace.query("runs/begin-run", id=self.id, properties=stored_properties(self.properties))
        join = self.namespace.query("convo/join-graph", run=self.id, graph=self.graph)
        self._write(graph_query(self.program, self.namespace), begin, join)
        for step in self.resumed:
            self._keep(step)

    def called(self, step: Step, call: ModelCall) -> None:
        """Keep a step with a call of a model, and record the call."""
        at = datetime.now(UTC).isoformat()
        record = call_of(self.namespace.name, self.conversation, call.messages, call.completion, at)
        self._answers.setdefault((step.branch, step.index), []).extend(answers_of(record))
        self._writer.put(lambda: self._recorder.record(record))
        self._keep(step)

    def tool_called(self, step: Step, name: str, arguments: dict[str, Any], result: Any) -> None:  # noqa: ARG002
        """Keep a step with what a function gave."""
        self._keep(step)

    def step_completed(self, step: Step) -> None:
        """Keep a step that is done, with its route."""
        self._keep(step)
        self.told(step)

    def ended(self, result: ConvoGraphResult) -> None:
        """Write how the run ended, and wait until everything is written."""
        if not result.success and result.steps:
            self._keep(result.steps[-1])
        end = {
            "status": "done" if result.success else "failed",
            "value": to_plain(result.value),
            "error": result.error,
            "code": result.code,
        }
        query = self.namespace.query("runs/end-run", id=self.id, properties=stored_properties(end))
        self._writer.put(lambda: self._write(query))
        self._writer.close()
        self._journal.close(remove=not self._writer.failed)

    def _keep(self, step: Step) -> None:
        """Keep a step as far as it has come: in the journal now, and in Neo4j soon, where only the latest counts."""
        key = (step.branch, step.index)
        state = json.dumps(to_plain(step.as_dict()))
        self._journal.append(state)
        self._latest[key] = self._step(step, state)
        self._writer.put(lambda: self._write_latest(key))

    def _write_latest(self, key: tuple[str, int]) -> None:
        query = self._latest.pop(key, None)
        if query is not None:
            self._write(query)

    def _write(self, *queries: Query) -> None:
        self.namespace.write(lambda transaction: [transaction.run(query) for query in queries])

    def _step(self, step: Step, state: str) -> Query:
        key = (step.branch, step.index)
        order = self._orders.setdefault(key, len(self._orders))
        route = step.route
        properties = {
            "node": step.node,
            "branch": step.branch,
            "input": to_plain(step.input),
            "output": to_plain(step.output),
            "route": (route.target or EXIT) if route else None,
            "why": route.why if route else None,
            "error": step.error,
            "completed": step.completed,
            "state": state,
        }
        return self.namespace.query(
            "convo/write-step",
            run=self.id,
            id=self._step_id(step.branch, step.index),
            order=order,
            before=self._step_id(_branch_before(step), step.index - 1),
            node=f"{self.graph}/{step.node}",
            properties=stored_properties(properties),
            messages=list(self._answers.get(key, ())),
            conversation=self.conversation,
        )

    def _step_id(self, branch: str, index: int) -> str:
        return f"{self.id}/{branch or 'main'}/{index}"


def _branch_before(step: Step) -> str:
    """The branch of the step before: its own, or that which a fork left, whose id is `PARENT/INDEX.NUMBER`."""
    parent, _, fork = step.branch.rpartition("/")
    return parent if fork and int(fork.partition(".")[0]) == step.index - 1 else step.branch


@dataclass(frozen=True)
class KeptRun:
    """A run as it is stored: how far it came, and what it was given."""

    id: str
    status: str
    program_hash: str
    input: Any
    steps: list[Step]


def find_run(namespace: Namespace, id_: str) -> KeptRun:
    """A run of a graph, to go on from.

    Raises:
        NotFoundError: there is no such run.
    """
    rows = namespace.read("convo/find-run", id=id_)
    if not rows:
        raise NotFoundError(f"no run `{id_}` in namespace `{namespace}`")
    [row] = rows
    if row["language"] != "convo":
        raise MemoryGraphError(f"the run `{id_}` is one of {row['language']}, and cannot be resumed")
    states = [*(json.loads(state) for state in row["states"]), *Journal(id_).read()]
    latest = {(state["branch"], state["index"]): state for state in states}
    steps = [Step.from_dict(state) for state in latest.values()]
    given = json.loads(row["input"]) if row["input"] is not None else None
    return KeptRun(id_, row["status"], row["program_hash"], given, steps)


def broken_run(namespace: Namespace, source: Source) -> str:
    """The id of the latest run of a program that has not come to its end.

    Raises:
        NotFoundError: there is none.
    """
    rows = namespace.read("convo/broken-run", graph=graph_identity(source))
    if not rows:
        raise NotFoundError(f"no run of this program in namespace `{namespace}` was broken off")
    return str(rows[0]["id"])


def drop_graphs(namespace: Namespace) -> None:
    """Delete every graph and every step of a namespace, in several transactions."""
    page = namespace.query("convo/drop-graphs", limit=PAGE)
    while namespace.write(lambda transaction: int(transaction.run(page)[0]["deleted"])):
        pass
