"""Neo4j Browser on this graph: its style, the saved queries of `cypher/browser`, and the address that opens one.

Neo4j tells Browser to run commands when somebody has connected (`browser.post_connect_cmd`). The style goes with
them, so that nothing needs to be loaded by hand; and `$namespace`, so that a saved query can be pasted as it is.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from memorygraph.library import PARAMETER, NamedQuery, cypher_folder, read_blocks

if TYPE_CHECKING:
    from collections.abc import Mapping

# A caption stands in quotes, and has braces of its own: "{name}".
_RULE = re.compile(r'(?P<selector>\S+)\s*\{(?P<body>(?:"[^"]*"|[^"}])*)\}')
_PROPERTY = re.compile(r'(?P<name>[\w-]+)\s*:\s*"?(?P<value>[^";]*)"?\s*;')


def style() -> dict[str, dict[str, str]]:
    """What `memorygraph.grass` says of nodes and relationships, by their selectors.

    >>> style()["relationship.EDGE"]["caption"]
    '{verb}'
    """
    grass = (cypher_folder() / "browser" / "memorygraph.grass").read_text("utf-8")
    return {
        rule["selector"]: {found["name"]: found["value"].strip() for found in _PROPERTY.finditer(rule["body"])}
        for rule in _RULE.finditer(grass)
    }


def connect_commands() -> str:
    """The value of `browser.post_connect_cmd`.

    The style is written as JSON, which Browser reads as well as GRASS: commands are parted by semicolons, and GRASS
    is full of them.
    """
    return f'style {json.dumps(style())}; param namespace: "default"'


@dataclass(frozen=True)
class SavedQuery:
    """A query of `cypher/browser`."""

    block: NamedQuery

    @property
    def about(self) -> str:
        """What it shows, in a sentence or two."""
        return self.block.documentation.partition(" Parameters: ")[0]

    @property
    def needs(self) -> frozenset[str]:
        """The parameters that have no value by themselves."""
        return self.block.parameters - {"namespace"}

    def address(self, parameters: Mapping[str, Any]) -> str:
        """What is added to Browser's address to have this query in its editor, with values for all parameters.

        The values stand in the query. (A `:param` before it would be a second statement, and Browser shows
        only a list of several statements, and hides their results.)
        """
        written = PARAMETER.sub(lambda found: _literal(parameters[found[1]]), self.block.text)
        return "&cmd=edit&arg=" + quote(f"// {self.block.name}\n{written}", safe="")


def saved_queries() -> dict[str, SavedQuery]:
    """The saved queries by their names."""
    files = sorted((cypher_folder() / "browser").glob("*.cypher"))
    return {block.name: SavedQuery(block) for file in files for block in read_blocks(file)}


def _literal(value: Any) -> str:
    r"""A value as Cypher; `&` and `#` are escaped, because they would end the query in Browser's address.

    >>> _literal({"a b": ["R&D", 1, None]})
    '{`a b`: ["R\\u0026D", 1, null]}'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_name(key)}: {_literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("&", "\\u0026").replace("#", "\\u0023")


def _name(key: str) -> str:
    return "`" + key.replace("`", "``") + "`"
