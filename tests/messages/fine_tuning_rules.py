"""The published rules of OpenAI's fine-tuning of chat models, as a validator that shares no code with the export.

From the schema `FineTuneChatRequestInput` of the API's OpenAPI document (messages, parts, tools, weights), the checks
of the OpenAI cookbook's "Data preparation and analysis for chat model fine-tuning" (a message has a known role, known
keys, and a content that is not empty unless it calls; its `function_call` and role `function`, which the schema calls
deprecated, are no valid form here), and the guides to fine-tuning: at most 10 pictures in a line, by http or as data,
of the user only; the model's answer last; each tool call followed by its result, unless it is the last message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

MESSAGE_KEYS = {
    "system": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "refusal", "tool_calls", "weight"},
    "tool": {"role", "content", "tool_call_id"},
}
PART_KINDS = {
    "system": {"text"},
    "user": {"text", "image_url"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
}
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def faults_of_lines(text: str) -> list[str]:
    """What is wrong with each line of a file of the format `openai`; empty for a valid file."""
    lines = text.splitlines()
    return [f"line {number}: {fault}" for number, line in enumerate(lines, 1) for fault in faults_of(json.loads(line))]


def faults_of(line: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a line."""
    if extra := line.keys() - {"messages", "tools", "parallel_tool_calls"}:
        yield f"unknown keys {extra}"
    messages = line.get("messages") or []
    if not messages or messages[-1].get("role") != "assistant":
        yield "the last message is not the model's"
    if not any(message.get("weight", 1) for message in messages if message.get("role") == "assistant"):
        yield "nothing to train on"
    for message in messages:
        yield from faults_of_message(message)
    yield from faults_of_calls(messages)
    parts = [part for message in messages if isinstance(message.get("content"), list) for part in message["content"]]
    if sum(part.get("type") == "image_url" for part in parts) > 10:
        yield "more than 10 pictures"
    tools = line.get("tools", [])
    if len(tools) > 128 or ("tools" in line and not tools):
        yield "a line has 1 to 128 tools"
    for tool in tools:
        yield from faults_of_tool(tool)


def faults_of_calls(messages: list[dict[str, Any]]) -> Iterator[str]:
    """What is wrong with the order of tool calls and results, and with the calls."""
    open_calls: set[str] = set()
    for message in messages:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_calls:
                yield "a result without its call"
            open_calls.discard(str(message.get("tool_call_id")))
        elif open_calls:
            yield f"calls without results: {open_calls}"
        open_calls |= {call["id"] for call in message.get("tool_calls", ())}
        for call in message.get("tool_calls", ()):
            function = call.get("function", {})
            if call.keys() != {"id", "type", "function"} or function.keys() != {"name", "arguments"}:
                yield f"a call of another form: {call}"
            elif not isinstance(call["id"], str) or not isinstance(function["arguments"], str):
                yield f"a call without texts: {call}"


def faults_of_message(message: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a message by itself."""
    role = message.get("role")
    if role not in MESSAGE_KEYS:
        yield f"role {role}"
        return
    if extra := message.keys() - MESSAGE_KEYS[role]:
        yield f"unknown keys {extra} of a message of the {role}"
    if message.get("weight", 0) not in (0, 1):
        yield "a weight is 0 or 1"
    yield from faults_of_content(role, message)
    if role == "tool" and not isinstance(message.get("tool_call_id"), str):
        yield "a result without tool_call_id"


def faults_of_content(role: str, message: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the content of a message."""
    content = message.get("content")
    if not content and not message.get("tool_calls"):
        yield f"a message of the {role} without a content"
    if isinstance(content, list):
        kinds = [part.get("type") for part in content]
        if not kinds or set(kinds) - PART_KINDS[role]:
            yield f"parts {kinds} in a message of the {role}"
        if "refusal" in kinds and len(kinds) > 1:
            yield "a refusal is the only part"
        for part in content:
            yield from faults_of_part(part)
    elif not isinstance(content, str | None):
        yield "a content is a text or parts"


def faults_of_part(part: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a part of a content."""
    if part.get("type") == "image_url":
        picture = part.get("image_url")
        if not isinstance(picture, dict) or picture.keys() - {"url", "detail"} or "url" not in picture:
            yield f"a picture of another form: {part}"
        elif not re.match(r"https?://|data:image/", picture["url"]):
            yield f"a picture without an address: {part}"
        elif picture.get("detail", "auto") not in {"auto", "low", "high"}:
            yield f"a picture of another detail: {part}"
    elif part.keys() != {"type", str(part.get("type"))} or not isinstance(part[part["type"]], str):
        yield f"a part of another form: {part}"


def faults_of_tool(tool: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a tool."""
    function = tool.get("function")
    if tool.keys() != {"type", "function"} or tool["type"] != "function" or not isinstance(function, dict):
        yield f"a tool of another form: {tool}"
    elif function.keys() - {"name", "description", "parameters", "strict"} or not NAME.fullmatch(function["name"]):
        yield f"a function of another form: {tool}"
