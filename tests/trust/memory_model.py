"""What a namespace holds by the writes that it has acknowledged: a plain dict that knows nothing of Cypher.

The model is told the arguments of each call that succeeded, and says what its entities and relations are then. It does
not foresee which calls are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from memorygraph.languages.contextscript import Deletion, EdgeDeclaration, GraphStatement, NodeDeclaration
from memorygraph.memory.writes import entity_ids, hashed_id

Key = tuple[str, ...]
Elements = dict[Key, tuple[Any, ...]]


class View(NamedTuple):
    """Entities (name, type, observations) and relations (source, target, type), whatever their order."""

    entities: Counter[tuple[str, str, tuple[str, ...]]]
    relations: Counter[tuple[str, str, str]]

    @classmethod
    def of(cls, *answers: Mapping[str, Any]) -> View:
        """What answers show, in either dialect."""
        return cls(
            Counter(
                (each["name"], each.get("entityType", each.get("type")), tuple(sorted(each["observations"])))
                for answer in answers
                for each in answer["entities"]
            ),
            Counter(
                (each.get("from", each.get("source")), each.get("to", each.get("target")), each["relationType"])
                for answer in answers
                for each in answer["relations"]
            ),
        )

    def plus(self, other: View) -> View:
        """Both together."""
        return View(self.entities + other.entities, self.relations + other.relations)

    def holds(self, other: View) -> bool:
        """Whether all that another one shows is here."""
        return self.entities >= other.entities and self.relations >= other.relations

    def in_parts(self) -> View:
        """The same with an entity for each observation: pages may show one entity in parts."""
        entities: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
        entities.update({(name, kind, ()) for name, kind, _ in self.entities})
        for name, kind, texts in self.entities.elements():
            entities.update((name, kind, (text,)) for text in texts)
        return View(entities, self.relations)


class MemoryModel:
    """The elements of a namespace, and what each of its revisions changed.

    A node is under `("node", id)` with its name, type and data, an observation of it under `("observation", id, text)`,
    and an edge under `("edge", id)` with its ends and its verb.
    """

    def __init__(self, revision: int) -> None:
        self.elements: Elements = {}
        self.revision = revision
        self._changes: dict[int, dict[Key, tuple[Any, ...] | None]] = {}
        """What was under each key that a revision has changed, before it did."""

    def view(self, names: Iterable[str] | None = None) -> View:
        """What is shown of all, or of the entities of these names with the relations at them."""
        chosen = None if names is None else {id_ for name in names for id_ in self.ids_of(name)}
        texts: dict[str, list[str]] = {}
        for key in self.elements:
            if key[0] == "observation":
                texts.setdefault(key[1], []).append(key[2])
        entities: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
        relations: Counter[tuple[str, str, str]] = Counter()
        for key, values in self.elements.items():
            if key[0] == "node" and (chosen is None or key[1] in chosen):
                _, kind, data = values
                observations = [*([data] if data else []), *texts.get(key[1], ())]
                entities[self._shown(key[1]), "node" if kind is None else kind, tuple(sorted(observations))] += 1
            if key[0] == "edge" and (chosen is None or chosen & {*values[:2]}):
                relations[self._shown(values[0]), self._shown(values[1]), values[2]] += 1
        return View(entities, relations)

    def ids_of(self, name: str) -> list[str]:
        """The nodes of a name, or without one and of this id."""
        nodes = ((key[1], values[0]) for key, values in self.elements.items() if key[0] == "node")
        return sorted(id_ for id_, own in nodes if name and (own or id_) == name)

    def apply(self, tool: str, given: Mapping[str, Any], programs: Mapping[str, Sequence[GraphStatement]]) -> bool:
        """Do what an acknowledged call asked for; returns whether a revision says so."""
        before = dict(self.elements)
        if tool == "load_contextscript" and given.get("dry_run") is not True:
            for statement in programs[given["program"]]:
                self._run(statement)
            self._close(before)
            return True
        if tool == "undo" and given.get("dry_run") is not True:
            # What was there before the first call is no part of the model.
            for key, values in self._changes.get(given["revision"], {}).items():
                self._put(key, values)
            self._close(before)
            return True
        write = getattr(self, f"_{tool}", None)
        if write is not None:
            write(given)
        if self.elements != before:
            self._close(before)
            return True
        return False

    def _close(self, before: Elements) -> None:
        self.revision += 1
        keys = self.elements.keys() | before.keys()
        changed = {key: before.get(key) for key in keys if before.get(key) != self.elements.get(key)}
        self._changes[self.revision] = changed

    def _put(self, key: Key, values: tuple[Any, ...] | None) -> None:
        if values is None:
            self.elements.pop(key, None)
        else:
            self.elements[key] = values

    def _shown(self, id_: str) -> str:
        return str(self.elements["node", id_][0] or id_)

    # The tools that write.

    def _create_entities(self, given: Mapping[str, Any]) -> None:
        for entity in given["entities"]:
            name = entity["name"]
            if not self.ids_of(name):
                taken = {key[1] for key in self.elements if key[0] != "observation"}
                id_ = next(each for each in entity_ids(name) if each not in taken)
                self.elements["node", id_] = (name, entity.get("entityType", entity.get("type")), "")
        for entity in given["entities"]:
            self._observe(entity["name"], entity.get("observations") or ())

    def _add_observations(self, given: Mapping[str, Any]) -> None:
        for each in given["observations"]:
            self._observe(each["entityName"], each["contents"])

    def _observe(self, name: str, texts: Iterable[str]) -> None:
        id_ = self.ids_of(name)[0]
        for text in texts:
            if not text or text != self.elements["node", id_][2]:
                self.elements["observation", id_, text] = ()

    def _create_relations(self, given: Mapping[str, Any]) -> None:
        for each in given["relations"]:
            source, target, verb = self.ids_of(each["from"])[0], self.ids_of(each["to"])[0], each["relationType"]
            if (source, target, verb) not in self._edges():
                self.elements["edge", hashed_id("relation", source, verb, target)] = (source, target, verb)

    def _edges(self) -> set[tuple[Any, ...]]:
        return {values for key, values in self.elements.items() if key[0] == "edge"}

    def _delete_entities(self, given: Mapping[str, Any]) -> None:
        for id_ in [id_ for name in given["entityNames"] for id_ in self.ids_of(name)]:
            self._delete(id_)

    def _delete_observations(self, given: Mapping[str, Any]) -> None:
        for each in given["deletions"]:
            for id_ in self.ids_of(each["entityName"]):
                for text in each["observations"]:
                    self.elements.pop(("observation", id_, text), None)
                    name, kind, data = self.elements["node", id_]
                    self.elements["node", id_] = (name, kind, "" if data == text else data)

    def _delete_relations(self, given: Mapping[str, Any]) -> None:
        gone = {
            (source, target, each["relationType"])
            for each in given["relations"]
            for source in self.ids_of(each["from"])
            for target in self.ids_of(each["to"])
        }
        self.elements = {key: values for key, values in self.elements.items() if key[0] != "edge" or values not in gone}

    def _run(self, statement: GraphStatement) -> None:
        match statement:
            case NodeDeclaration(node_id=id_):
                name, kind, data = self.elements.get(("node", id_), (None, None, None))
                given = {"name": name, "data": data, **statement.given()}
                self.elements["node", id_] = (given["name"], kind, given["data"])
            case EdgeDeclaration(edge_id=id_):
                source, target, verb = self.elements.get(("edge", id_), (None, None, None))
                given = {"from_node": source, "to_node": target, "verb": verb, **statement.given()}
                self.elements["edge", id_] = (given["from_node"], given["to_node"], given["verb"])
            case Deletion(id=id_):
                self._delete(id_)

    def _delete(self, id_: str) -> None:
        """Delete a node with its edges and observations, or an edge."""
        self.elements.pop(("edge", id_), None)
        if self.elements.pop(("node", id_), None) is not None:
            self.elements = {
                key: values
                for key, values in self.elements.items()
                if (key[0] != "observation" or key[1] != id_) and (key[0] != "edge" or id_ not in values[:2])
            }
