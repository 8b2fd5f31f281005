"""Reading a bundle: line by line, each checked against its hash and for what it holds, before any of it is stored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TextIO

from memorygraph.errors import MAX_SHOWN_LINE, Problem, ScriptError, printable
from memorygraph.graph.bundles import (
    FORMAT,
    HASH_DIGITS,
    KEYLESS,
    VERSION,
    BundleNode,
    BundleRelationship,
    BundleReport,
    HashChain,
    decode_key,
    decode_properties,
    encode_key,
    end_line,
    hash_suffix,
    node_key_of,
    to_line,
)
from memorygraph.graph.namespace import Namespace, list_namespace_names
from memorygraph.graph.schema import find_unknown
from memorygraph.graph.search import namespace_token
from memorygraph.json_text import parse_stored_json


class BundleReader:
    """The lines of a bundle, checked one by one against their hashes.

    `read` yields the number of each line and its element; at its end `report` has the counts and the hash. The file is
    read from its beginning each time, and a line of it at a time is in memory.
    """

    def __init__(self, namespace: Namespace, file: TextIO, name: str) -> None:
        self.namespace = namespace
        self.file = file
        self.name = name
        self.schema: list[str] = []
        self.report = BundleReport(namespace.name)
        self._foreign_words: frozenset[str] = frozenset()

    def read(self) -> Iterator[tuple[int, BundleNode | BundleRelationship]]:
        """Yield each element with the number of its line.

        Raises:
            ScriptError: the file is no bundle, or was changed or cut; it says where.
        """
        self.file.seek(0)
        self.report = BundleReport(self.namespace.name)
        others = list_namespace_names(self.namespace.connection)
        self._foreign_words = frozenset(map(namespace_token, others)) - {self.namespace.token}
        chain = HashChain()
        number = 0
        for number, text in enumerate(self.file, start=1):
            if self.report.sha256:
                raise self._error(number, text, "changed-bundle", "nothing follows the closing line of a bundle")
            document = self._parse(number, text)
            if number == 1:
                self._check_header(text, document, chain)
            elif "end" in document:
                self._check_end(number, text, chain)
            else:
                line = text[: -len(hash_suffix(document))]
                if text != chain.line(line + "}"):
                    raise self._changed(number, text)
                yield number, self._element(number, text, document)
        if not self.report.sha256:
            message = "the bundle has no closing line: it was cut, or its export is not done; export it again"
            raise self._error(number + 1, "", "cut-bundle", message)

    def _parse(self, number: int, text: str) -> dict[str, Any]:
        if not text.endswith("\n") and number > 1:
            raise self._error(number, text, "cut-bundle", "the bundle ends inside this line; export it again")
        try:
            document = parse_stored_json(text)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            if number == 1:
                raise self._no_bundle(text)
            raise self._changed(number, text)
        return document

    def _check_header(self, text: str, document: dict[str, Any], chain: HashChain) -> None:
        if document.get("format") != FORMAT:
            raise self._no_bundle(text)
        if document.get("version") != VERSION:
            message = f"this is version {document.get('version')!r} of the format, and this memorygraph reads {VERSION}"
            raise self._error(1, text, "not-a-bundle", message)
        header = {key: value for key, value in document.items() if key not in ("hash", "namespace")}
        if chain.extend(to_line(header))[:HASH_DIGITS] != document.get("hash"):
            raise self._changed(1, text)
        schema = document.get("schema")
        if not isinstance(schema, list) or not all(isinstance(name, str) for name in schema):
            raise self._no_bundle(text)
        self.schema = schema
        if unknown := find_unknown(self.schema):
            message = f"the bundle is of a later memorygraph, with the schema {unknown[-1]}; update this one"
            raise self._error(1, text, "not-a-bundle", message)

    def _check_end(self, number: int, text: str, chain: HashChain) -> None:
        last, digest = end_line(self.report.nodes, self.report.relationships, chain)
        if text != last:
            raise self._changed(number, text)
        self.report.sha256 = digest

    def _element(self, number: int, text: str, document: dict[str, Any]) -> BundleNode | BundleRelationship:
        try:
            properties = decode_properties(self.namespace, document["properties"])
            self._check_words(properties.get("namespace_token"))
            if "node" in document:
                self.report.nodes += 1
                return self._node(BundleNode(decode_key(document["node"]), document["labels"], properties))
            self.report.relationships += 1
            ends = decode_key(document["from"]), decode_key(document["to"])
            return self._relationship(BundleRelationship(document["relationship"], *ends, properties))
        except (LookupError, TypeError, AttributeError) as error:
            raise self._error(number, text, "invalid-value", "neither a node nor a relationship") from error
        except ValueError as error:
            raise self._error(number, text, "invalid-value", str(error)) from error

    def _node(self, node: BundleNode) -> BundleNode:
        """Check that a node is one of this namespace: whoever made the file, no other is written to."""
        if not isinstance(node.labels, list) or not all(isinstance(label, str) and label for label in node.labels):
            raise ValueError("the labels are not a list of texts")
        keyless = node.key.kind == KEYLESS
        foreign = {"Migration", "Namespace", KEYLESS} & ({*node.labels} - {"" if keyless else node.key.kind})
        owned = not keyless or (node.properties["namespace"] == self.namespace.name and type(node.key.values[0]) is int)
        found = node_key_of(self.namespace, node.labels, node.properties)
        if foreign or not owned or found != (None if keyless else node.key):
            raise ValueError(f"the labels and properties are not those of {encode_key(node.key)!r:.100}")
        return node

    def _relationship(self, relationship: BundleRelationship) -> BundleRelationship:
        if relationship.properties.get("namespace", self.namespace.name) != self.namespace.name:
            raise ValueError("a relationship of another namespace")
        if not isinstance(relationship.type, str) or not relationship.type:
            raise ValueError("the type of the relationship is no text")
        return relationship

    def _check_words(self, words: Any) -> None:
        """Refuse what a search of another namespace would find, before that sees whose it is: it would find less."""
        if not self._foreign_words.isdisjoint(re.findall(r"\d+", str(words))):
            raise ValueError("a word that stands for another namespace in the full-text index")

    def _no_bundle(self, text: str) -> ScriptError:
        message = f"not a bundle: its first line is an object with the `format` {FORMAT}"
        return self._error(1, text, "not-a-bundle", message)

    def _changed(self, number: int, text: str) -> ScriptError:
        message = "this line, or the order of those before it, is not as it was exported; nothing was imported"
        return self._error(number, text, "changed-bundle", message)

    def _error(self, number: int, text: str, code: str, message: str) -> ScriptError:
        shown = printable(text[:MAX_SHOWN_LINE].rstrip("\n"))
        return ScriptError([Problem(printable(message), code, self.name, number, 1, max(1, len(shown)), shown)])
