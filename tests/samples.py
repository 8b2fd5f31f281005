"""A value for each parameter of the Cypher library and of the saved queries, with which a query can be planned."""

from __future__ import annotations

from typing import Any

from memorygraph.library import NamedQuery
from memorygraph.query import Query

_SAMPLES: list[tuple[Any, str]] = [
    (
        "a",
        """
        addresses after alias_terms all_terms arrival at before begin body checkpoint containing content conversation
        conversation_token database edges element end entity_arrival entity_id file first forgetting from graph home id
        into invariant key keys kind labels last length load log mark message model name named namespace namespace_token
        named_id needed new_prefix new_tip new_version node nodes operation order parent place prefix program
        relation_arrival relation_id response role routes run said said_parts sample sampled scripts seal shared_token
        shelf speaker step target terms text thread tip value verb version
        """,
    ),
    ("Entity", "label"),
    ("EDGE", "facts"),
    (False, "again dated"),
    (True, "nodes_created edges_created"),
    (None, "present since time"),
    (
        1,
        """
        a b context depth fan joined lead limit max_named message_depth milliseconds most most_ends most_found most_hits
        most_nodes owners revision seconds skip statements until verb_depth
        """,
    ),
    (2, "constant"),
    (0.1, "edge far learnt least near"),
    (1.5, "wish"),
    ([], "entities files groups holds homes items left messages observations passages recalled relations rows"),
    ([], "running times values vectors"),
    (["a"], "conversations folded formers ids names programs searches texts transcripts"),
    (["a", "a"], "role_range speaker_range"),
    (["Node"], "kinds"),
    (["none"], "vector_filters"),
    ([1], "revisions"),
    ([["a", "b"]], "pairs"),
    ([{"name": "a", "spellings": ["a"], "terms": "a"}], "spelled"),
    ([{"conversation": None, "searches": [{"terms": "a", "shared": False}]}], "message_searches"),
    ([{"best": "a", "terms": "a", "options": {}, "kind": None, "verb": None}], "node_searches"),
    ({}, "ends expected filters lemmas properties record roles wanted"),
    ({"nodes": [], "edges": []}, "absent"),
    ({"a": "1"}, "tokens"),
]
_VALUES = {parameter: value for value, parameters in _SAMPLES for parameter in parameters.split()}


def sampled(block: NamedQuery, **given: Any) -> Query:
    """A block with a value for each of its parameters; one that has none here is an error, never a text by chance."""
    return block(**({parameter: _VALUES[parameter] for parameter in block.parameters} | given))
