"""Filters of a recall: which messages and nodes it may find, as terms of the indexes.

A filter of messages leaves messages only, and one of nodes leaves nodes only, because the others have no such thing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, Self, TypedDict, cast

from memorygraph.errors import MemoryGraphError, NotFoundError
from memorygraph.graph.namespace import Namespace
from memorygraph.graph.search import SHARED_TOKEN, conversation_token, quote_phrase, require_token
from memorygraph.messages.indexing import day_token, in_utc, role_token, speaker_of, speaker_token, time_token

Time = str | date | datetime
Kind = Literal["node", "message"]
"""Of hits: what a recall may be limited to by `kinds`."""
MESSAGE_ROLES = ("assistant", "developer", "function", "system", "tool", "user")
LAST_TEXT = "\U0010ffff"
VERB_LOOKED_AT = 10  # how many times as many nodes are looked at for a verb
FIRST_TIME = datetime(1, 1, 1, tzinfo=UTC)
LAST_TIME = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
ANY_TEXT = ("", LAST_TEXT)
SHOWN_WITHOUT_KIND = "node"  # as what the queries of `entities` show nodes without a kind
NODE_FILTERS = "`kind` and `verb` are of nodes"
MESSAGE_FILTERS = "`since`, `until`, `role`, `speaker` and `conversation` are of messages"
SHARED = ""
"""The home of a message that several conversations have."""


class FilterOptions(TypedDict, total=False):
    """What a recall may be limited to."""

    since: Time | None
    until: Time | None
    role: str | None
    speaker: str | None
    conversation: str | None
    kind: str | None
    verb: str | None


@dataclass(frozen=True)
class RecallFilter:
    """What a recall is limited to.

    Messages that were said from `since` on and before `until`, by a `role`, by a `speaker` (a name in any case, or else
    the role), or in a `conversation`; nodes of a `kind`, or with an edge of a `verb`.
    """

    since: datetime | None = None
    until: datetime | None = None
    role: str | None = None
    speaker: str | None = None
    conversation: str | None = None
    kind: str | None = None
    verb: str | None = None

    @classmethod
    def of(cls, options: FilterOptions) -> Self:
        """Read the options of a recall.

        Raises:
            MemoryGraphError: a value is invalid, or no hit can be what the filters ask for.
        """
        given: dict[str, Any] = {**options}
        for name in ("since", "until"):
            given[name] = parse_bound(name, given.get(name))
        filtered = cls(**given)
        for field in fields(cls):
            if getattr(filtered, field.name) == "":
                raise MemoryGraphError(f"`{field.name}` is empty: leave it out, or name what to look for")
        if filtered.role is not None and filtered.role not in MESSAGE_ROLES:
            raise MemoryGraphError(f"no role `{filtered.role}`: a role is one of {', '.join(MESSAGE_ROLES)}")
        if filtered.since and filtered.until and filtered.since >= filtered.until:
            raise MemoryGraphError("nothing was said after `since` and before `until`: `since` is the earlier time")
        if filtered.of_messages and filtered.of_nodes:
            raise MemoryGraphError(f"nothing can fit: {NODE_FILTERS}; {MESSAGE_FILTERS}")
        return filtered

    @property
    def of_messages(self) -> bool:
        """Whether only messages fit."""
        message = (self.since, self.until, self.role, self.speaker, self.conversation)
        return any(value is not None for value in message)

    @property
    def of_nodes(self) -> bool:
        """Whether only nodes fit."""
        return self.kind is not None or self.verb is not None

    @property
    def vector_filter(self) -> str:
        """The search of the vector index that has the conditions of these filters, and no others."""
        given = {
            "time": self.since is not None or self.until is not None,
            "role": self.role is not None,
            "speaker": self.speaker is not None,
            "conversation": self.conversation is not None,
            "verb": self.verb is not None,
        }
        named = [name for name, is_given in given.items() if is_given]
        if len(named) > 1:
            return "messages"
        return named[0] if named else "kind"

    @property
    def leaves_all(self) -> bool:
        """Whether there is no filter."""
        return not (self.of_messages or self.of_nodes)

    def leaves(self, kind: str) -> bool:
        """Whether any hit of a kind, `node` or `message`, can fit."""
        return not (self.of_messages if kind == "node" else self.of_nodes)

    def kinds_left(self, kinds: Sequence[Kind]) -> list[Kind]:
        """Those of these kinds of which a hit can fit.

        Raises:
            MemoryGraphError: kinds are given, and no hit of them can fit.
        """
        left = [kind for kind in kinds if self.leaves(kind)]
        if kinds and not left:
            filters, only = (NODE_FILTERS, "messages") if self.of_nodes else (MESSAGE_FILTERS, "nodes")
            raise MemoryGraphError(f"nothing can fit: {filters}, and `kinds` leaves {only} only")
        return left

    def searches(
        self, namespace: str, messages: str, nodes: str, all_nodes: str, depth: int, *, leads: bool
    ) -> dict[str, Any]:
        """What each index is asked, as parameters: for what fits and, with `leads`, for what can lead on to it.

        `messages` and `nodes` are the terms without a filter, and `all_nodes` those that find all nodes with a word;
        `depth` is how many nodes count.
        """
        best, of_kind = (" ".join([*self.kind_clauses(), terms]) for terms in (nodes, all_nodes))
        # What words cannot say exactly is looked at hit by hit, as far as it takes; else the index counts.
        fitting: dict[str, list[Any]] = {
            "message_searches": [
                {"conversation": self.conversation, "searches": self.message_searches(namespace, messages)}
            ]
            if self.of_messages
            else [],
            "node_searches": [{"best": best, "terms": of_kind, "options": {}, "kind": self.kind, "verb": self.verb}]
            if self.of_nodes
            else [],
        }
        every: dict[str, list[Any]] = {
            "message_searches": [{"conversation": None, "searches": [{"terms": messages, "shared": False}]}],
            "node_searches": [{"best": None, "terms": nodes, "options": {"limit": depth}, "kind": None, "verb": None}],
        }
        if self.leaves_all:
            return every
        fitting["vector_filters"], every["vector_filters"] = [self.vector_filter], ["none"]
        found = {name: [*fitting[name], *(each if leads or not fitting[name] else [])] for name, each in every.items()}
        return {**found, **self.ranges(depth)}

    def message_searches(self, namespace: str, messages: str) -> list[dict[str, Any]]:
        """What the index of messages is asked for `messages` that fit; what a filter asks adds nothing to a score.

        A message that very many conversations share has no word for each of them: those are looked at hit by hit.
        """
        if self.conversation is None:
            return [{"terms": self._message_terms(messages), "shared": False}]
        own = conversation_token(namespace, self.conversation)
        return [
            {"terms": self._message_terms(messages, token), "shared": token is SHARED_TOKEN}
            for token in (own, SHARED_TOKEN)
        ]

    def _message_terms(self, messages: str, *tokens: str) -> str:
        required = map(require_token, (*tokens, *self.facets()))
        return " ".join([*self.time_clauses(), *required, messages])

    def facets(self) -> list[str]:
        """The words of the index that a message must have for the role and the speaker."""
        tokens = []
        if self.role is not None:
            tokens.append(role_token(self.role))
        if self.speaker is not None:
            tokens.append(speaker_token(self.speaker))
        return tokens

    def time_clauses(self) -> list[str]:
        """The times that fit, as a clause for Lucene: whole days by their words, and parts of a day by times."""
        if self.since is None and self.until is None:
            return []
        ranges = " ".join(f"namespace_token:[{first} TO {last}]" for first, last in self._time_ranges())
        return [f"+({ranges})^0"]

    def _time_ranges(self) -> Iterator[tuple[str, str]]:
        since, until = self.since or FIRST_TIME, (self.until or LAST_TIME) - timedelta(microseconds=1)
        if since.date() == until.date():
            yield time_token(since), time_token(until)
            return
        yield time_token(since), time_token(datetime.combine(since, datetime.max.time(), UTC))
        yield time_token(datetime.combine(until, datetime.min.time(), UTC)), time_token(until)
        if until.date() - since.date() > timedelta(days=1):
            yield day_token(since + timedelta(days=1)), day_token(until - timedelta(days=1))

    def kind_clauses(self) -> list[str]:
        """The kind as a clause for Lucene, which knows its words by their stems: so each hit is looked at, too."""
        return [] if self.kind is None else [f"+kind:{quote_phrase(self.kind)}^0"]

    def conditions(self) -> dict[str, Any]:
        """What each hit is asked, as the parameter `filters` of the query."""
        return {
            "conversation": self.conversation,
            "since": self.since,
            "until": self.until,
            "facets": self.facets(),
            "kind": self.kind,
            "verb": self.verb,
        }

    def ranges(self, depth: int) -> dict[str, Any]:
        """What the searches by vectors are asked."""
        here = self.conversation
        return {
            "verb_depth": VERB_LOOKED_AT * depth,
            "times": [self.since or FIRST_TIME, self.until or LAST_TIME],
            "role_range": ANY_TEXT if self.role is None else (self.role, self.role),
            "speaker_range": ANY_TEXT if self.speaker is None else (speaker_of(self.speaker),) * 2,
            "homes": [ANY_TEXT] if here is None else [(here, here), (SHARED, SHARED)],
        }


def can_lead_on(namespace: Namespace, options: Mapping[str, Any]) -> bool:
    """Whether there is something to lead on to, where a recall has found nothing that fits its filters.

    One look into the full text says so of messages; of nodes it is taken as given.
    """
    given = {field.name: options.get(field.name) for field in fields(RecallFilter)}
    filtered = RecallFilter.of(cast("FilterOptions", given))
    if not filtered.of_messages:
        return True
    asked = filtered.message_searches(namespace.name, require_token(namespace.token))
    return bool(namespace.read("recall/any-message", searches=[each["terms"] for each in asked]))


def check_filter(namespace: Namespace, options: Mapping[str, Any]) -> None:
    """Say which conversation, kind or verb of a recall there is not.

    Raises:
        NotFoundError: the namespace has nothing of that name.
    """
    for name in ("conversation", "kind", "verb"):
        wanted: dict[str, Any] = {"conversation": None, "kind": None, "verb": None, name: options.get(name)}
        terms = [require_token(namespace.token), *RecallFilter(kind=wanted["kind"]).kind_clauses()]
        if wanted[name] is not None and not namespace.read("recall/filter-values", terms=" ".join(terms), **wanted):
            has = {"conversation": "conversation", "kind": "node of the kind", "verb": "edge with the verb"}[name]
            told = "names are matched exactly"
            if wanted["kind"] == SHOWN_WITHOUT_KIND:
                told = "entities that are shown as `node` have no kind, and are found without this filter"
            raise NotFoundError(f"no {has} `{wanted[name]}` in namespace `{namespace}`; {told}")


def parse_bound(name: str, value: Time | None) -> datetime | None:
    """Read a bound of the time: from a day on, or through all of it; a time without a zone is one of UTC.

    >>> parse_bound("since", "2024-05-01"), parse_bound("until", "2024-05-01").day
    (datetime.datetime(2024, 5, 1, 0, 0, tzinfo=datetime.timezone.utc), 2)
    """
    if value is None:
        return None
    whole_day = not isinstance(value, datetime)
    try:
        if isinstance(value, str):
            whole_day = len(value) <= len("2024-05-01")
            value = datetime.fromisoformat(value)
        at = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day, tzinfo=UTC)
        at = in_utc(at)
        if name == "until":  # the last day is often said for ever
            behind = timedelta(days=1) if whole_day else timedelta(microseconds=1)
            at = min(at, LAST_TIME - behind) + behind
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise MemoryGraphError(
            f"invalid `{name}`: {str(value)!r:.60} is no time such as 2024-05-01 or 2024-05-01T13:30:00+02:00"
        ) from error
    return at
