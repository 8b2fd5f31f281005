"""A recorded call of a model: its request, its response, and both as messages.

A call is plain JSON without secrets, so that it can wait in a file. The form of its messages decides on which
version a call lands: a caller may send an answer back as the object that came, as a dict of it, or as its text,
and it must be the same message each time. One turn of a model in the responses format is one assistant message, as
in the chat format; an item that the chat format has no word for stays whole among the parts of the content.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from memorygraph.hosts import LOGIN
from memorygraph.masking import names_secret
from memorygraph.messages.message import Message

CHAT, RESPONSES = "chat", "responses"
APIS = {"/chat/completions": CHAT, "/responses": RESPONSES}  # the recorded paths, and the format of each
REMOVED = "[removed]"
CALLS_SUFFIX = "-calls"
"""The prompts and replies of a chat are in the conversation of its name with this behind it; forget.cypher knows it."""

_PROMPT_KEYS = frozenset({"messages", "input"})
_SECRET_KEYS = frozenset(
    {"authorization", "api_key", "apikey", "api-key", "x-api-key", "proxy-authorization", "cookie"}
)
_CREDENTIALS_IN_URL = re.compile(r"(?<=://)[^/?#]*(?=@)|(?<=[?#]).+", re.DOTALL)
# Keys of an answer that a caller may send back or not: what a client adds for convenience, and what a model thought.
_NOTES = frozenset({"annotations", "parsed", "reasoning", "reasoning_content", "reasoning_details"})
# With these parameters an endpoint puts messages before the given ones that only it knows.
_HELD_BY_ENDPOINT = ("conversation", "prompt")
# What an endpoint gives to an item of its own, and a caller may send back or not.
_LABELS = frozenset({"id", "status", "type", "created_by"})
_NOTES_ON_TEXT = frozenset({"annotations", "logprobs", "parsed"})  # the response's own document keeps them
_OUTPUT_SUFFIX = "_output"
# Items that are no message and that no model says, with the role of those who do. The first is what says nothing of
# itself, such as an item that a session of the Agents SDK has encrypted.
_ROLES_OF_ITEMS = {
    "": "developer",
    "additional_tools": "developer",
    "compaction_trigger": "developer",
    "configuration_update": "developer",
    "item_reference": "developer",
    "mcp_approval_response": "user",
}
_SAID = frozenset({"text", "output_text", "refusal"})  # the parts of what a model says
NOT_A_MESSAGE = (TypeError, ValueError, AttributeError, KeyError)
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})


@dataclass(frozen=True)
class RecordedCall:
    """One call: `request` is the body that was sent, `response` the document that came back.

    Without a `conversation` it belongs to the one that its prompt continues, or else to a new one.
    """

    id: str
    namespace: str
    conversation: str
    api: str
    request: Mapping[str, Any]
    response: Mapping[str, Any]
    complete: bool  # the document came whole; of a stream, each answer says itself whether it ended
    latency_s: float
    at: str
    database: str | None = None  # the identity of its database, where that is known
    recalled: bool = True  # recall does not search the prompts that memorygraph writes itself

    def as_dict(self) -> dict[str, Any]:
        """The call as a record that can wait."""
        return asdict(self)

    @property
    def new_conversation(self) -> str:
        """The name of the conversation that the call begins where it continues none; the same at each attempt."""
        return f"recorded-{self.at[:10]}-{self.id[:8]}"

    def metadata(self, document: Mapping[str, Any], finished: bool, **others: Any) -> dict[str, Any]:  # noqa: FBT001
        """What is kept beside an answer of the call with this document."""
        parameters = {key: value for key, value in self.request.items() if key not in _PROMPT_KEYS}
        return {
            "call": self.id,
            "api": self.api,
            "at": self.at,
            "parameters": parameters,
            "model": document.get("model") or parameters.get("model"),
            "temperature": parameters.get("temperature", document.get("temperature")),
            "usage": document.get("usage"),
            "latency_s": self.latency_s,
            "response_id": document.get("id"),
            "created": document.get("created", document.get("created_at")),
            "finished": finished,
            "response": document,
            **others,
        }


@dataclass(frozen=True)
class RecordedAnswer:
    """One answer: its messages, or none of a stream that was cut, and the metadata beside it."""

    messages: tuple[Message, ...]
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class Exchange:
    """A call as messages: the prompt, after that of a `previous` response if there is one, and each answer."""

    prompt: tuple[Message, ...]
    answers: tuple[RecordedAnswer, ...]
    previous: str | None = None
    whole: bool = True  # not where the endpoint put messages before the prompt that are not known here
    instructions: int = 0  # the number of first messages that hold for this call alone


def exchange_of(call: RecordedCall) -> Exchange:
    """The messages of a call; an error of `NOT_A_MESSAGE` says that a part of it is not a message."""
    request = call.request
    if call.api == CHAT:
        return Exchange(tuple(map(message_of, request.get("messages") or ())), chat_answers(call))
    return Exchange(
        tuple(map(message_of, messages_of_input(request.get("input"), request.get("instructions")))),
        (response_answer(call),),
        previous=request.get("previous_response_id"),
        whole=not any(request.get(name) for name in _HELD_BY_ENDPOINT),
        instructions=len(messages_of_input(None, request.get("instructions"))),
    )


def find_exchange(call: RecordedCall) -> Exchange:
    """The messages of a call, and none where a part of it is not a message, which the recorder refuses."""
    try:
        return exchange_of(call)
    except NOT_A_MESSAGE:
        return Exchange((), ())


def chat_answers(call: RecordedCall) -> tuple[RecordedAnswer, ...]:
    """The answers of a chat completion, one for each choice."""
    answers = []
    for choice in call.response.get("choices") or [{}]:
        finished = bool(choice) and (call.complete or bool(choice.get("finish_reason")))
        document = {**call.response, "choices": [choice] if choice else []}
        index, reason = choice.get("index") or 0, choice.get("finish_reason")
        message = {**(choice.get("message") or {}), "role": "assistant"}
        metadata = call.metadata(document, finished, index=index, finish_reason=reason)
        answers.append(RecordedAnswer((message_of(message),) if finished else (), metadata))
    return tuple(answers)


def response_answer(call: RecordedCall) -> RecordedAnswer:
    """The answer of a call in the responses format."""
    status = call.response.get("status")
    finished = status in ("completed", "incomplete") or (status is None and call.complete)
    details = call.response.get("incomplete_details") or {}
    reason = details.get("reason") or ("stop" if status == "completed" else status)
    messages = messages_of_items(call.response.get("output") or ()) if finished else ()
    return RecordedAnswer(
        tuple(map(message_of, messages)), call.metadata(call.response, finished, finish_reason=reason)
    )


def message_of(given: Any) -> Message:
    """The message in the one form in which it is recorded, whether it comes from an endpoint or back from a caller."""
    if not isinstance(given, Mapping) or given.get("role") != "assistant":
        return Message.of(given)
    message = {key: value for key, value in given.items() if value is not None and key not in _NOTES}
    if calls := message.pop("tool_calls", None):
        message["tool_calls"] = [normalize_tool_call(call) for call in calls]
        # Some endpoints answer a call with an empty text, and others with none.
        if message.get("content") in ("", []):
            del message["content"]
    if isinstance(message.get("audio"), Mapping):
        # The sound itself is in the response's document, and is sent back by its id.
        message["audio"] = {"id": message["audio"].get("id")}
    return Message.of(message)


def normalize_tool_call(call: Any) -> Any:
    """A tool call without the keys that a client or a stream adds to it."""
    if not isinstance(call, Mapping):
        return call
    kept = {key: value for key, value in call.items() if value is not None and key != "index"}
    if isinstance(kept.get("function"), Mapping):
        kept["function"] = {key: value for key, value in kept["function"].items() if key != "parsed_arguments"}
    return kept


def plain_json(value: Any) -> Any:
    """A copy of a value as JSON knows it: models of a client as dicts, without arguments that were not given."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return plain_json(dump(mode="json", exclude_unset=True, warnings=False))
    if isinstance(value, Mapping):
        # Clients mark an argument that was not given by a value of these types.
        return {
            str(key): plain_json(item) for key, item in value.items() if type(item).__name__ not in {"Omit", "NotGiven"}
        }
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain_json(item) for item in value]
    return str(value)


def bodies_without_secrets(request: Mapping[str, Any], response: Any, secrets: Iterable[str]) -> dict[str, Any]:
    """Both bodies of a call without secrets. A parameter of the request has none under any name such as `password`.

    In a prompt and an answer such a name may mean something else, as the `token` of a log-probability does.
    """
    secrets = tuple(secrets)
    cleaned: dict[str, Any] = {}
    for key, item in request.items():
        names = names_known_key if key in _PROMPT_KEYS else names_secret
        cleaned |= without_secrets({key: item}, secrets, names)
    return {"request": cleaned, "response": without_secrets(response, secrets)}


def names_known_key(name: str) -> bool:
    """Whether a name is one under which the services of models expect a key."""
    return name.lower() in _SECRET_KEYS


def names_part_of_authentication(name: str) -> bool:
    """Whether a name says so within an `authentication`, as of Azure's sources of data."""
    return name in {"key", "connection_string"} or names_secret(name)


def without_secrets(value: Any, secrets: Iterable[str], names: Callable[[str], bool] = names_known_key) -> Any:
    """A copy without the known secrets, the text under any key that `names` a secret, and what opens a remote tool.

    >>> without_secrets({"server_url": "https://ada:pw@example.org/mcp?key=pw"}, ())
    {'server_url': 'https://[removed]@example.org/mcp?[removed]'}
    >>> without_secrets({"server_url": "https://ada:p/w@example.org/mcp"}, ())
    {'server_url': 'https://[removed]@example.org/mcp'}
    """
    secrets = tuple(secrets)
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, REMOVED)
        return value
    if isinstance(value, list):
        return [without_secrets(part, secrets, names) for part in value]
    if not isinstance(value, dict):
        return value
    # The schema of a tool may have a property `headers` too, which holds no headers.
    remote = "server_url" in value or value.get("type") == "mcp"
    cleaned: dict[str, Any] = {}
    for key, item in value.items():
        if (isinstance(item, str) and names(key)) or (remote and key.lower() == "headers"):
            cleaned[key] = REMOVED
        elif isinstance(item, str) and key == "server_url":
            cleaned[key] = without_secrets(_CREDENTIALS_IN_URL.sub(REMOVED, LOGIN.sub(f"{REMOVED}@", item)), secrets)
        else:
            cleaned[key] = without_secrets(
                item, secrets, names_part_of_authentication if key == "authentication" else names
            )
    return cleaned


def messages_of_input(given: Any, instructions: Any = None) -> list[dict[str, Any]]:
    """The messages in the `instructions` and the `input` of a request."""
    if isinstance(instructions, str):
        instructions = [{"role": "system", "content": instructions}]
    first = messages_of_items(instructions) if isinstance(instructions, list) else []
    if isinstance(given, str):
        return [*first, {"role": "user", "content": given}]
    return [*first, *messages_of_items(given or ())]


def messages_of_items(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages in the items of an input or an output.

    >>> messages_of_items([
    ...     {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "See:"}]},
    ...     {"type": "function_call", "id": "f", "call_id": "c", "name": "clock", "arguments": "{}"},
    ...     {"type": "function_call_output", "call_id": "c", "output": "12:34"},
    ... ])  # doctest: +NORMALIZE_WHITESPACE
    [{'role': 'assistant', 'content': 'See:', 'tool_calls':
      [{'id': 'c', 'type': 'function', 'function': {'name': 'clock', 'arguments': '{}'}}]},
     {'role': 'tool', 'tool_call_id': 'c', 'content': '12:34'}]
    """
    return [turn.message for turn in turns_of_items(items)]


@dataclass(frozen=True)
class ItemTurn:
    """A message, and the items of an input or an output that it was made of."""

    message: dict[str, Any]
    items: tuple[Mapping[str, Any], ...]


def turns_of_items(items: Iterable[Mapping[str, Any]]) -> list[ItemTurn]:
    """Divide items into those that are one message: each of others, and all that a model said in one turn."""
    turns: list[ItemTurn] = []
    turn = AssistantTurn()
    for item in items:
        kind = kind_of_item(item)
        of_others = kind in _ROLES_OF_ITEMS or kind.endswith(_OUTPUT_SUFFIX)
        by_model = item.get("role") == "assistant" if kind == "message" else not of_others
        # Two messages of a model in a row are two turns; its calls and reasoning belong to the message before.
        if not by_model or (kind == "message" and turn.has_message):
            turns += turn.finish()
            turn = AssistantTurn()
        if by_model:
            turn.add(kind, item)
        else:
            turns.append(ItemTurn(message_of_item(kind, item), (item,)))
    return turns + turn.finish()


def kind_of_item(item: Mapping[str, Any]) -> str:
    """The type of an item, which a message and a reference to another item may leave out; empty of what is neither."""
    if kind := item.get("type"):
        return str(kind)
    if "role" in item:
        return "message"
    return "item_reference" if without(item, ()).keys() == {"id"} else ""


def items_of_message(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The items of the responses format that are a message; `messages_of_items` gives the message back.

    >>> items_of_message({"role": "tool", "tool_call_id": "c", "content": "12:34"})
    [{'type': 'function_call_output', 'call_id': 'c', 'output': '12:34'}]
    >>> call = {"id": "c", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    >>> for item in items_of_message({"role": "assistant", "content": "See:", "tool_calls": [call]}):
    ...     item
    {'role': 'assistant', 'content': 'See:'}
    {'type': 'function_call', 'call_id': 'c', 'name': 'clock', 'arguments': '{}'}
    """
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    if len(parts) == 1 and message["role"] == _ROLES_OF_ITEMS.get(str(parts[0].get("type") or "")):
        return [dict(parts[0])]
    if message["role"] == "tool":
        others = without(message, {"role", "tool_call_id", "content"})
        if len(parts) == 1 and str(parts[0].get("type")).endswith(_OUTPUT_SUFFIX):
            return [dict(parts[0])]
        output = parts_of_input(parts) if parts else content
        return [{"type": "function_call_output", "call_id": message.get("tool_call_id"), "output": output, **others}]
    others = without(message, {"role", "content", "tool_calls"})
    if message["role"] != "assistant":
        return [{"role": message["role"], "content": parts_of_input(content or ""), **others}]
    items = [*assistant_items(content, others), *map(item_of_call, message.get("tool_calls") or ())]
    return items or [{"role": "assistant", "content": ""}]


def assistant_items(content: Any, others: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The items of an assistant message but for its calls; what it said is one of them, where its other parts end."""
    if not isinstance(content, list):
        return [{"role": "assistant", "content": content, **others}] if content or others else []
    said = [part for part in content if part.get("type") in _SAID]
    rest = [dict(part) for part in content if part.get("type") not in _SAID]
    if not said and not others:
        return rest
    parts = [{**part, "type": "output_text"} if part.get("type") == "text" else dict(part) for part in said]
    return [*rest, {"type": "message", "role": "assistant", "content": parts, **others}]


def item_of_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """A tool call as an item; one that is not of a function stays whole."""
    function = call.get("function")
    if not isinstance(function, Mapping):
        return {**call, "type": str(call.get("type") or "function") + "_call", "call_id": call.get("id")}
    others = without(call, {"id", "type", "function"})
    said = {"call_id": call.get("id"), "name": function.get("name"), "arguments": function.get("arguments")}
    return {"type": "function_call", **said, **others}


def parts_of_input(content: Any) -> Any:
    """A content that is sent, with the names that the responses format has for the parts of the chat format."""
    if not isinstance(content, list):
        return content
    return [part_of_input(part) for part in content]


def part_of_input(part: Mapping[str, Any]) -> dict[str, Any]:
    """One part of a content that is sent."""
    kind = part.get("type")
    named = part.get(kind) if isinstance(kind, str) else None
    if kind == "text":
        return {**part, "type": "input_text"}
    if kind == "image_url" and isinstance(named, Mapping):
        return {"type": "input_image", "image_url": named.get("url"), **without(named, {"url"})}
    if kind == "file" and isinstance(named, Mapping):
        return {"type": "input_file", **named}
    return dict(part)


class AssistantTurn:
    """The items of a model between two messages of others, to become one message."""

    def __init__(self) -> None:
        self._items: list[Mapping[str, Any]] = []
        self._parts: list[dict[str, Any]] = []
        self._calls: list[dict[str, Any]] = []
        self._others: dict[str, Any] = {}
        self.has_message = False

    def add(self, kind: str, item: Mapping[str, Any]) -> None:
        """Take one item of the turn."""
        self._items.append(item)
        if kind == "function_call":
            others = without(item, {*_LABELS, "call_id", "name", "arguments", "parsed_arguments"})
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            self._calls.append({"id": item.get("call_id"), "type": "function", "function": function, **others})
        elif kind == "message":
            self.has_message = True
            content = item.get("content")
            if isinstance(content, str):
                content = [{"type": "output_text", "text": content}]
            for part in content or ():
                is_text = part.get("type") == "output_text"
                self._parts.append(without(part, _NOTES_ON_TEXT) if is_text else dict(part))
            self._others |= without(item, {*_LABELS, "role", "content"})
        else:
            self._parts.append(without(item, {"status"}))

    def finish(self) -> list[ItemTurn]:
        """The message of the turn with its items; empty without items."""
        if not self._items:
            return []
        message: dict[str, Any] = {"role": "assistant"}
        if len(self._parts) == 1 and self._parts[0].keys() == {"type", "text"}:
            message["content"] = self._parts[0]["text"]
        elif self._parts:
            message["content"] = self._parts
        if self._calls:
            message["tool_calls"] = self._calls
        return [ItemTurn(message | self._others, tuple(self._items))]


def message_of_item(kind: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """The message that an item of others than a model is."""
    if kind == "message":
        return without(item, _LABELS)
    if kind in _ROLES_OF_ITEMS:
        typed = {"type": kind} if kind else {}
        return {"role": _ROLES_OF_ITEMS[kind], "content": [{**typed, **without(item, {"status"})}]}
    return tool_message(kind, item)


def tool_message(kind: str, item: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a function as a message; another tool's result stays whole as a part of the content."""
    content: Any = [without(item, {"status"})]
    others: dict[str, Any] = {}
    if kind == "function_call_output":
        content = item.get("output")
        others = without(item, {*_LABELS, "call_id", "output"})
    return {"role": "tool", "tool_call_id": item.get("call_id"), "content": content, **others}


def without(item: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """A copy without some keys, and without the keys that have no value."""
    return {key: value for key, value in item.items() if key not in keys and value is not None}


def response_document(events: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The response in the last event of a stream, or in the events before the stream was cut."""
    document: dict[str, Any] = {}
    items: dict[int, dict[str, Any]] = {}
    texts: list[str] = []
    for event in events:
        kind = event.get("type") or ""
        if event.get("response"):
            document = dict(event["response"])
        if kind in _ENDS:
            return document
        if kind == "response.output_item.done":
            # A finished item repeats its text as a whole.
            items[event.get("output_index") or 0] = event["item"]
            texts.clear()
        elif kind.endswith(".delta") and isinstance(event.get("delta"), str):
            texts.append(event["delta"])
    return document | {"output": [items[index] for index in sorted(items)], "partial_text": "".join(texts)}
