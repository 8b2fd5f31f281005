"""The engine's own requests to a model: to reply with JSON, to judge and choose routes, and to sum up a run.

An endpoint in JSON mode answers with an object, so that any other value is asked for inside of one. Source:
seeds/convo-node-graphs.txt.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from memorygraph.errors import MemoryGraphError
from memorygraph.llm.completion import Completion
from memorygraph.llm.structured import documents, without_thoughts
from memorygraph.runtime.convo.steps import GraphFailure
from memorygraph.runtime.convo.transcript import TranscriptEntry
from memorygraph.runtime.convo.values import ConvoType

JSON_MODE = {"type": "json_object"}
WRAPPER_KEY = "value"  # of the object that holds a value which is not an object
MAX_SHOWN_REPLY_CHARACTERS = 200

MODERATOR = """\
<moderator>
Give the user a brief summary of what happened in node graph. Give the summary from a first person perspective
as if you executed all the actions avoid technical terms when possible.

Start your response with a sentence that connects the user input to the graph result followed by
bullet points of what was done.
</moderator>"""

HIDDEN = ("@hidden",)


# Replies in JSON


def object_with(key: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with one key."""
    return {"type": "object", "properties": {key: dict(schema)}, "required": [key]}


def ask_for_json(messages: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Add the schema of the reply to the last message of the user, or as a message of its own."""
    asked = [dict(message) for message in messages]
    last = next((message for message in reversed(asked) if message["role"] == "user"), None)
    if last is None:
        return [*asked, {"role": "user", "content": reply_instruction(schema)}]
    last["content"] = f"{last['content']}\n\n{reply_instruction(schema)}"
    return asked


def reply_instruction(schema: Mapping[str, Any]) -> str:
    """Ask for a reply in JSON; a value that is not an object is asked for inside of one."""
    wanted = json.dumps(reply_schema(schema), indent=4, ensure_ascii=False)
    return f"<response-format>\nReply only with JSON that conforms to this JSON Schema:\n{wanted}\n</response-format>"


def reply_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of the whole reply: that of an object."""
    return object_with(WRAPPER_KEY, schema) if schema and schema.get("type") != "object" else schema


def read_typed_reply(completion: Completion, type_: ConvoType) -> Any:
    """Read the value in a reply: as JSON, fenced or in prose, in an object with one key, or as a bare word."""
    reply, schema = completion.content or "", type_.schema
    readings: list[Any] = []
    # The likeliest reading comes first; text of several documents is read as the first of them.
    for document in islice(documents(reply, lists=True), 1):
        if isinstance(document, dict) and len(document) == 1 and schema and schema.get("type") != "object":
            readings += document.values()
        readings.append(document)
    if (schema and not readings) or schema.get("type") == "string" or "enum" in schema:
        readings.append(without_thoughts(reply).strip())
    problem: Exception | None = None
    for reading in readings:
        try:
            return type_.coerce(reading, "the reply")
        except MemoryGraphError as error:
            problem = problem or error
    shown = reply.strip()
    shown = shown if len(shown) <= MAX_SHOWN_REPLY_CHARACTERS else shown[:MAX_SHOWN_REPLY_CHARACTERS] + "…"
    cut = " was cut at its limit of tokens, and" if completion.was_cut else ""
    raise GraphFailure(
        f"the model's reply{cut} does not have the wanted type: {problem or 'it is not JSON'} ({shown!r})",
        "json-output",
    )


def read_object(reply: str) -> dict[str, Any]:
    """Read the object in a reply; an empty one where the reply has no object."""
    value = next(documents(reply, lists=True), None)
    return value if isinstance(value, dict) else {}


# Routes

JUDGEMENT = object_with("isTrue", {"type": "boolean", "description": "Whether the condition is true"})
CHOICE = object_with("nodeId", {"type": "string", "description": "The id of the node to go to"})


def judge_prompt(condition: str, output: str) -> str:
    """Ask whether a condition is true of the output of a step."""
    return f"{condition.strip()}\n\n<OUTPUT_RESULT>\n{output}\n</OUTPUT_RESULT>\n\n{reply_instruction(JUDGEMENT)}"


def choice_prompt(nodes: Mapping[str, str], given: str, output: str) -> str:
    """Ask which of the nodes comes next; `nodes` are their descriptions by their ids."""
    listed = "\n".join(json.dumps({"id": id_, "description": text}, ensure_ascii=False) for id_, text in nodes.items())
    return (
        "Choose the node that should process the output next, based on the descriptions of the nodes.\n\n"
        f"<NODE_INPUT>\n{given}\n</NODE_INPUT>\n\n<OUTPUT_RESULT>\n{output}\n</OUTPUT_RESULT>\n\n"
        f"<NODES>\n{listed}\n</NODES>\n\n{reply_instruction(CHOICE)}"
    )


# The summary


def summary_request(actions: Iterable[tuple[str, str, str]]) -> list[TranscriptEntry]:
    """Ask for a summary of a run; an action is a node's id, its description and its output."""
    told = "\n\n".join(
        f'<ACTION name="{name}">\n'
        + (f"    {description}\n" if description else "")
        + f"    <RESULT>\n    {output}\n    </RESULT>\n</ACTION>"
        for name, description, output in actions
    )
    return [
        TranscriptEntry("assistant", f"The following actions have been taken:\n\n{told}", HIDDEN),
        TranscriptEntry("user", MODERATOR, HIDDEN),
    ]
