"""A Cypher query as a value: what the compiler makes, and what a connection runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Query:
    """A Cypher text and the parameters that it is run with.

    `text` always comes from a file in `cypher/`; a value is never written into it.

    >>> print(Query("RETURN $name AS name", {"name": "Ada"}))
    :params {"name": "Ada"}
    RETURN $name AS name;
    """

    text: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """The query as it can be pasted into Neo4j Browser."""
        parameters = json.dumps(dict(self.parameters), ensure_ascii=False)
        return f":params {parameters}\n{self.text};"
