"""Messages and tools in the form that fine-tuning takes, or the reason why they have none.

The rules are the published ones: the schema `FineTuneChatRequestInput` of OpenAI's API, and its guide to pictures in
fine-tuning. Messages are stored as they were sent, which in the Responses format has other parts and flat tools.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from memorygraph.messages.message import Message

MAX_PICTURES = 10  # in one line
MAX_TOOLS = 128  # in one line

_TEXTS = frozenset({"text", "input_text", "output_text"})
_PICTURES = frozenset({"image_url", "input_image"})
# No trainer takes what a model thought, and no endpoint reads it in the messages before an answer.
# What is compared with these may be anything, also what has no hash.
_REASONING = ("reasoning", "thinking", "redacted_thinking", "reasoning_content", "reasoning_details")
_DETAILS = ("auto", "low", "high")
_ROLES = {"developer": "system"}  # the schema knows no `developer`, which is the later name of `system`
_PICTURE_URL = re.compile(r"https?://|data:image/", re.IGNORECASE)
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class NoFormError(ValueError):
    """A message or a tool that fine-tuning has no form for; the text says what it is."""


class LineCheck:
    """Follows the messages of a line, and remembers the first reason why the line is invalid from there on."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._open_calls: set[str] = set()
        self._pictures = 0

    def add(self, message: Message) -> str | None:
        """Take the next message; returns why a line that holds it is invalid, or None."""
        if self.reason is None:
            try:
                self._follow(form_of_message(message))
            except NoFormError as error:
                self.reason = str(error)
        return self.reason

    def _follow(self, form: Mapping[str, Any]) -> None:
        if form["role"] == "tool":
            if form["tool_call_id"] not in self._open_calls:
                raise NoFormError("tool result without its call")
            self._open_calls.remove(form["tool_call_id"])
        elif self._open_calls:
            raise NoFormError("tool call without a result")
        self._open_calls.update(call["id"] for call in form.get("tool_calls", ()))
        if isinstance(form.get("content"), list):
            self._pictures += sum(part["type"] == "image_url" for part in form["content"])
        if self._pictures > MAX_PICTURES:
            raise NoFormError(f"more than {MAX_PICTURES} pictures")


def form_of_message(message: Message) -> dict[str, Any]:
    """A message in the form of fine-tuning.

    >>> form_of_message(Message.of({"role": "developer", "content": [{"type": "input_text", "text": "Be brief"}]}))
    {'role': 'system', 'content': [{'type': 'text', 'text': 'Be brief'}]}

    Raises:
        NoFormError: it has none.
    """
    given = message.as_dict()
    role = _ROLES.get(message.role, message.role)
    forms = {"system": _text_form, "user": _user_form, "assistant": _assistant_form, "tool": _tool_form}
    if role not in forms:
        raise NoFormError(f"role `{role}`")
    form = {"role": role, **forms[role](given)}
    if message.name and role != "tool":
        form["name"] = message.name
    return form


def count_omitted(messages: Iterable[Message]) -> Counter[str]:
    """Count what is left out of messages that do have a form."""
    counted: Counter[str] = Counter()
    for message in messages:
        given = message.as_dict()
        content = given.get("content")
        kinds = [part.get("type") for part in content] if isinstance(content, list) else []
        counted["reasoning"] += sum(kind in _REASONING for kind in [*kinds, *given])
    return +counted


def form_of_tools(tools: Sequence[Any]) -> list[dict[str, Any]]:
    """The tools that were offered to a model in the form of fine-tuning.

    >>> form_of_tools([{"type": "function", "name": "clock", "parameters": {"type": "object"}, "strict": None}])
    [{'type': 'function', 'function': {'name': 'clock', 'parameters': {'type': 'object'}}}]

    Raises:
        NoFormError: one of them has none.
    """
    if len(tools) > MAX_TOOLS:
        raise NoFormError(f"more than {MAX_TOOLS} tools")
    return list(map(_form_of_tool, tools))


def _form_of_tool(tool: Any) -> dict[str, Any]:
    if not isinstance(tool, Mapping) or tool.get("type", "function") != "function":
        raise NoFormError(f"tool `{tool.get('type') if isinstance(tool, Mapping) else tool}`")
    function = tool.get("function") or tool
    if not isinstance(function, Mapping):
        raise NoFormError(f"tool `{function}`")
    kept = {key: function.get(key) for key in ("name", "description", "parameters", "strict")}
    _check_name(kept["name"])
    return {"type": "function", "function": {key: value for key, value in kept.items() if value is not None}}


def _text_form(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": _content_form(given.get("content"), _TEXTS)}


def _user_form(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": _content_form(given.get("content"), _TEXTS | _PICTURES)}


def _tool_form(given: Mapping[str, Any]) -> dict[str, Any]:
    if not given.get("tool_call_id"):
        raise NoFormError("tool result without its call")
    return {"tool_call_id": given["tool_call_id"], **_text_form(given)}


def _assistant_form(given: Mapping[str, Any]) -> dict[str, Any]:
    for key in ("audio", "function_call"):
        if given.get(key):
            raise NoFormError(key)
    content = given.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
    parts = [part for part in parts if part.get("type") not in _REASONING]
    if given.get("refusal"):
        parts = [part for part in parts if part.get("text") != ""] + [{"type": "refusal", "refusal": given["refusal"]}]
    form: dict[str, Any] = {}
    if isinstance(content, str) and not given.get("refusal"):
        form["content"] = content
    elif parts:
        form["content"] = _content_form(parts, _TEXTS | {"refusal"})
    if len(parts) > 1 and any(part["type"] == "refusal" for part in parts):
        raise NoFormError("text beside a refusal")
    if calls := given.get("tool_calls"):
        form["tool_calls"] = [_form_of_call(call) for call in calls]
    if not any(form.values()):
        raise NoFormError("answer without a text")
    return form


def _form_of_call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    if call.get("type", "function") != "function" or not isinstance(function, Mapping):
        raise NoFormError(f"call of a tool `{call.get('type')}`")
    if not isinstance(call.get("id"), str) or not isinstance(function.get("arguments"), str):
        raise NoFormError("tool call without an id or arguments")
    _check_name(function.get("name"))
    function = {"name": function["name"], "arguments": function["arguments"]}
    return {"id": call["id"], "type": "function", "function": function}


def _content_form(content: Any, allowed: Set[str]) -> str | list[dict[str, Any]]:
    if not content:
        raise NoFormError("message without a content")
    if isinstance(content, str):
        return content
    return [_part_form(part, allowed) for part in content]


def _part_form(part: Mapping[str, Any], allowed: Set[str]) -> dict[str, Any]:
    kind: Any = part.get("type")
    if not isinstance(kind, str) or kind not in allowed:
        raise NoFormError(f"part `{kind}`")
    if kind in _PICTURES:
        given = part.get("image_url")
        picture: dict[str, Any] = (
            dict(given) if isinstance(given, Mapping) else {"url": given, "detail": part.get("detail")}
        )
        if not isinstance(picture.get("url"), str) or not _PICTURE_URL.match(picture["url"]):
            raise NoFormError("picture without an address")
        detail = {"detail": picture["detail"]} if picture.get("detail") in _DETAILS else {}
        return {"type": "image_url", "image_url": {"url": picture["url"], **detail}}
    key = "refusal" if kind == "refusal" else "text"
    if not isinstance(part.get(key), str):
        raise NoFormError(f"part `{kind}` without a text")
    return {"type": key, key: part[key]}


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
        raise NoFormError(f"tool name `{name}`")
