"""Neo4j Browser on this graph: its style, the saved queries of `cypher/browser`, and the address that opens one.

Browser runs the commands of `browser.post_connect_cmd` after a login. They set the style, and `$namespace`, so that a
saved query can be pasted as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from memorygraph.library import PARAMETER, NamedQuery, cypher_folder, read_blocks

# A caption is quoted, and has braces of its own: "{name}".
_RULE = re.compile(r'(?P<selector>\S+)\s*\{(?P<body>(?:"[^"]*"|[^"}])*)\}')
_PROPERTY = re.compile(r'(?P<name>[\w-]+)\s*:\s*"?(?P<value>[^";]*)"?\s*;')


def style() -> dict[str, dict[str, str]]:
    """Read the style of nodes and relationships from `memorygraph.grass`, by their selectors.

    >>> style()["relationship.EDGE"]["caption"]
    '{verb}'
    """
    grass = (cypher_folder() / "browser" / "memorygraph.grass").read_text("utf-8")
    return {
        rule["selector"]: {found["name"]: found["value"].strip() for found in _PROPERTY.finditer(rule["body"])}
        for rule in _RULE.finditer(grass)
    }


def connect_commands() -> str:
    """Return the value of `browser.post_connect_cmd`."""
    # Browser reads a style as JSON too. GRASS is full of semicolons, which separate the commands.
    return f'style {json.dumps(style())}; param namespace: "default"'


@dataclass(frozen=True)
class SavedQuery:
    """A query of `cypher/browser`."""

    block: NamedQuery

    @property
    def about(self) -> str:
        """A description in a sentence or two."""
        return self.block.documentation.partition(" Parameters: ")[0]

    @property
    def needs(self) -> frozenset[str]:
        """The parameters that the user gives values."""
        return self.block.parameters - {"namespace"}

    def address(self, parameters: Mapping[str, Any]) -> str:
        """Return what Browser's address needs to open this query in the editor, with values for all parameters."""
        # Not with `:param`: that is a second statement, and of several statements Browser hides the results.
        written = PARAMETER.sub(lambda found: _literal(parameters[found[1]]), self.block.text)
        return "&cmd=edit&arg=" + quote(f"// {self.block.name}\n{written}", safe="")


def saved_queries() -> dict[str, SavedQuery]:
    """Read the saved queries, by their names."""
    files = sorted((cypher_folder() / "browser").glob("*.cypher"))
    return {block.name: SavedQuery(block) for file in files for block in read_blocks(file)}


def _literal(value: Any) -> str:
    r"""Format a value as Cypher; `&` and `#` would end the query in Browser's address.

    >>> _literal({"a b": ["R&D", 1, None]})
    '{`a b`: ["R\\u0026D", 1, null]}'
    """
    if isinstance(value, dict):
        items = (f"`{key.replace('`', '``')}`: {_literal(item)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("&", "\\u0026").replace("#", "\\u0023")
