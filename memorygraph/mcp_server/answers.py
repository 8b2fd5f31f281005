"""What the tools that only this server has answer, for the schemas of their structured parts.

What the client's own values hold is said by them; here stand the forms that only an answer has. Stored values that raw
Cypher can have changed to another kind are of any kind, because clients refuse a whole answer that does not fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from memorygraph.errors import Problem
from memorygraph.graph.history import Change, Revision
from memorygraph.memory.duplicates import Duplicates
from memorygraph.memory.merging import MergeCounts
from memorygraph.messages.history import Version
from memorygraph.messages.neo4j_storage import ConversationInfo
from memorygraph.runtime.programs import ProgramInfo


class ShortenedAnswer(BaseModel):
    """An answer within a number of tokens."""

    left_out: dict[str, Any] = Field(
        default={},
        serialization_alias="leftOut",
        description="How many more there are, if not all fit; and the tokens left out of the first, if it does not",
    )


class ErrorsAnswer(BaseModel):
    """What is wrong in a program; nothing, if the list is empty."""

    errors: list[Problem]


class RecalledMemory(BaseModel):
    """A memory that was found; what there is nothing to say of is left out."""

    id: str
    kind: Literal["node", "message"]
    score: float
    source: str
    name: str = ""
    role: str = ""
    conversation: str = ""
    at: str = ""
    verb: Any = None
    about: list[str] = Field(default=[])
    relations: list[str] = Field(default=[])
    start: int = 0
    end: int = 0


class RecallAnswer(BaseModel):
    """The memories that fit, the best first, and the text that a prompt gets."""

    hits: list[RecalledMemory]
    text: str
    left_out: int = Field(serialization_alias="leftOut")


class ShownEdge(BaseModel):
    """An edge as it is stored."""

    id: Any
    from_node: Any
    to_node: Any
    verb: Any
    weight: Any


class ShownNeighbour(BaseModel):
    """A node near another: `distance` edges away, reached by `edges` from nodes that are nearer."""

    id: Any
    name: Any
    data: Any
    distance: int
    edges: list[ShownEdge]


class NeighboursAnswer(ShortenedAnswer):
    """The nodes near a node, the nearest first."""

    neighbours: list[ShownNeighbour]


class ElementAnswer(ShortenedAnswer):
    """A node with its name and its data, or an edge with its ends, its verb and its weight."""

    kind: Literal["node", "edge"]
    id: str
    name: Any = None
    data: Any = None
    from_node: str = ""
    to_node: str = ""
    verb: Any = None
    weight: Any = None


class ChangesAnswer(ShortenedAnswer):
    """What happened to a node or an edge, the oldest first."""

    changes: list[Change]


class RevisionsAnswer(ShortenedAnswer):
    """Writes, the newest first."""

    revisions: list[Revision]


class DuplicatesAnswer(ShortenedAnswer):
    """Entities that are likely one, the likeliest first."""

    duplicates: list[Duplicates]


class MergedEntity(BaseModel):
    """One of the two entities of a merge."""

    id: str
    name: str


@dataclass(frozen=True, kw_only=True)
class MergeAnswer(MergeCounts):
    """What a merge moved, joined and removed, and its revision, which a dry run has none of."""

    merged: MergedEntity
    into: MergedEntity
    aliases: list[str]
    revision: int
    namespace: str
    load_id: str
    dry_run: bool


class ConversationsAnswer(ShortenedAnswer):
    """Conversations by name; `leftOut` has the last name of this page as `after`."""

    conversations: list[ConversationInfo]


class ShownMessage(BaseModel):
    """A message with its place, its id, and all other keys that it came with."""

    model_config = ConfigDict(extra="allow")

    index: int
    id: str
    role: str
    content: Any = None


class ConversationAnswer(ShortenedAnswer):
    """Messages, the last one at the end; `leftOut` has the index of the first one as `before`."""

    messages: list[ShownMessage]


class VersionsAnswer(ShortenedAnswer):
    """The versions of a conversation, by number."""

    versions: list[Version]


class ShownThought(BaseModel):
    """The outermost context of a thought."""

    name: str
    address: int
    open: bool
    tldr: str | None


class ThoughtsAnswer(ShortenedAnswer):
    """Thoughts by name."""

    thoughts: list[ShownThought]


class ProgramsAnswer(ShortenedAnswer):
    """Stored programs."""

    programs: list[ProgramInfo]


class RunAnswer(BaseModel):
    """What a program returned, and where its record is."""

    value: Any
    steps: int
    conversation: str | None
    run: str | None
