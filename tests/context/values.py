"""Values and texts that properties are tried with."""

# ruff: noqa: RUF001 - characters that look like others are what is tried

from __future__ import annotations

from hypothesis import strategies as st

# Characters that decide something: line breaks, parts of labels, blanks, invisible ones, several bytes, half pairs.
CHARACTERS = '\n\r\x85\u2028\v [](){}":0١１【】［：꞉∶\\\t\u200b\u0301a\u00e9漢😀\ud800\x00\x7f'
FRAGMENTS = [
    "Context:",
    "instruction:",
    "Return JSON matching this schema:",
    "[0] a:",
    "\\",
    "\n",
    "\r\n",
    "С\u200bontext:",
]

texts = st.lists(st.text(CHARACTERS, max_size=6) | st.sampled_from(FRAGMENTS) | st.text(max_size=4), max_size=8).map(
    "".join
)
keys = st.sampled_from(["a", "b", "10", "9", "01", "0", "4294967295"]) | st.text(max_size=3)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5), max_leaves=20
)
