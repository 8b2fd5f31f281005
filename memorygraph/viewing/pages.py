"""HTML pages that need nothing but themselves: no server, no network, and no script but their own.

Every value is escaped by the template engine. The policy of a page names its script and its style by their hashes, so
that a browser runs and applies nothing else, whatever a message holds.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, NamedTuple, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from memorygraph.context.rendering import compact
from memorygraph.sentences import count_of

CONTROL_PICTURES = 0x2400  # U+0000 is drawn by U+2400, and so on
BIDI_CONTROLS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
VISIBLE = {
    **{code: chr(CONTROL_PICTURES + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "\u2421",
    **{code: f"⟦U+{code:04X}⟧" for code in (*range(0x80, 0xA0), *BIDI_CONTROLS)},
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}
UNSEEN = re.compile("[^\t\n\x20-\x7e\xa0-\u061b\u061d-\u200d\u2010-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\U0010ffff]")


class PageRow(NamedTuple):
    """A part of a page in its order. Nested parts stand between a row that begins them and one that ends them."""

    kind: str
    value: Any = None


NestedRows: TypeAlias = Iterator["PageRow | NestedRows"]


def flatten_rows(rows: NestedRows) -> Iterator[PageRow]:
    """The rows in their order, those of an inner iterator at its place; not recursive, however deep they nest."""
    waiting = [rows]
    while waiting:
        row = next(waiting[-1], None)
        if row is None:
            waiting.pop()
        elif isinstance(row, PageRow):
            yield row
        else:
            waiting.append(row)


def show_controls(value: Any) -> Any:
    r"""Replace control characters of a text by visible ones, so that none can reorder or hide what is read.

    >>> show_controls("a\u202eb\x00")
    'a⟦U+202E⟧b␀'
    """
    if not isinstance(value, str) or isinstance(value, Markup) or not UNSEEN.search(value):
        return value
    return value.replace("\r\n", "\n").translate(VISIBLE)


def pretty_json(value: Any) -> str:
    r"""A value as indented JSON text; what is nested too deep for that, on one line.

    >>> pretty_json({"a": 1})
    '{\n  "a": 1\n}'
    """
    try:
        return json.dumps(value, indent=2, ensure_ascii=False, default=str)
    except RecursionError:
        return compact(value)


@cache
def page_environment() -> Environment:
    """The template engine, which escapes every value and knows no undefined one."""
    environment = Environment(
        loader=PackageLoader("memorygraph.viewing"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=show_controls,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["pretty"] = pretty_json
    environment.filters["count_of"] = count_of
    return environment


@cache
def read_asset(name: str) -> tuple[Markup, str]:
    """The style or the script of every page, and its source expression for the policy."""
    text = files("memorygraph.viewing").joinpath("templates", name).read_text("utf-8").replace("\r\n", "\n")
    hashed = b64encode(sha256(text.encode()).digest()).decode()
    return Markup(text), f"'sha256-{hashed}'"  # noqa: S704 - it is a file of the package


def render_page(template: str, **values: Any) -> str:
    """Render a template as a whole page."""
    style, style_hash = read_asset("page.css")
    script, script_hash = read_asset("page.js")
    policy = (
        f"default-src 'none'; style-src {style_hash}; script-src {script_hash}; base-uri 'none'; form-action 'none'"
    )
    return (
        page_environment().get_template(template).render(style=style, script=script, policy=Markup(policy), **values)  # noqa: S704 - made of hashes
    )
