"""A recorded call of a model: what was asked and answered, and the messages that these are.

A call is plain JSON, so that it can wait in a file; it holds no secret from the beginning. What is a message
here, and in which form, decides on which version a call lands: a caller may send an answer back as the object
that came, as a dict of it, or as its text, and it must be the same message each time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from memorygraph.messages.items import messages_of_input, messages_of_items
from memorygraph.messages.message import Message

CHAT, RESPONSES = "chat", "responses"
APIS = {"/chat/completions": CHAT, "/responses": RESPONSES}
"""The recorded paths of an endpoint, and the format of each."""

REMOVED = "[removed]"

_PROMPT_KEYS = frozenset({"messages", "input"})
_SECRET_KEYS = frozenset(
    {"authorization", "api_key", "apikey", "api-key", "x-api-key", "proxy-authorization", "cookie"}
)
# What a client notes on an answer for the program's convenience, and no model reads.
_NOTES = frozenset({"annotations", "parsed"})
# The parameters with which an endpoint puts messages before the given ones that only itself knows.
_HELD_BY_ENDPOINT = ("conversation", "prompt")


@dataclass(frozen=True)
class Call:
    """One call: `request` is the body that was sent, `response` the document that came back.

    `complete` says that the document came whole; of a stream, each answer says itself whether it ended.
    `database` is the identity of the database that it belongs to, where that is known. Recall finds what was said in
    it if it is `recalled`; the prompts that memorygraph writes itself are not.
    """

    id: str
    namespace: str
    conversation: str
    api: str
    request: Mapping[str, Any]
    response: Mapping[str, Any]
    complete: bool
    latency_s: float
    at: str
    database: str | None = None
    recalled: bool = True

    def as_dict(self) -> dict[str, Any]:
        """The call as a record that can wait."""
        return asdict(self)


@dataclass(frozen=True)
class Answer:
    """One answer: its messages, none where a stream was cut, and what is known of it."""

    messages: tuple[Message, ...]
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class Exchange:
    """A call as messages: what was sent, behind a `previous` response if there is one, and each of the answers.

    `whole` is false where the endpoint put something before it that is not known here; so many `instructions`
    come first, which hold only for this call, and are not carried over to the next.
    """

    prompt: tuple[Message, ...]
    answers: tuple[Answer, ...]
    previous: str | None = None
    whole: bool = True
    instructions: int = 0


def exchange_of(call: Call) -> Exchange:
    """The messages of a call.

    Raises:
        TypeError, ValueError: something in it is no message.
    """
    answers = _chat_answers(call) if call.api == CHAT else _response_answers(call)
    request = call.request
    if call.api == CHAT:
        return Exchange(tuple(message_of(given) for given in request.get("messages") or ()), answers)
    given = messages_of_input(request.get("input"), request.get("instructions"))
    return Exchange(
        tuple(map(message_of, given)),
        answers,
        previous=request.get("previous_response_id"),
        whole=not any(request.get(name) for name in _HELD_BY_ENDPOINT),
        instructions=len(messages_of_input(None, request.get("instructions"))),
    )


def message_of(given: Any) -> Message:
    """The message in the one form in which it is recorded.

    An answer is the same one whether it comes from an endpoint, or back from a caller in any of its forms.

    >>> message_of({"role": "assistant", "content": "Hi", "refusal": None, "annotations": []})
    Message.of({'role': 'assistant', 'content': 'Hi'})
    """
    if not isinstance(given, Mapping) or given.get("role") != "assistant":
        return Message.of(given)
    message = {key: value for key, value in given.items() if value is not None and key not in _NOTES}
    calls = message.pop("tool_calls", None)
    if calls:
        message["tool_calls"] = [_tool_call(call) for call in calls]
        if message.get("content") in ("", []):
            del message["content"]
    if isinstance(message.get("audio"), Mapping):
        # The sound itself is in the response's document, and is sent back by its id.
        message["audio"] = {"id": message["audio"].get("id")}
    return Message.of(message)


def _tool_call(call: Any) -> Any:
    if not isinstance(call, Mapping):
        return call
    kept = {key: value for key, value in call.items() if value is not None and key != "index"}
    if isinstance(kept.get("function"), Mapping):
        kept["function"] = {key: value for key, value in kept["function"].items() if key != "parsed_arguments"}
    return kept


def _chat_answers(call: Call) -> tuple[Answer, ...]:
    answers = []
    for choice in call.response.get("choices") or [{}]:
        finished = bool(choice) and (call.complete or bool(choice.get("finish_reason")))
        document = {**call.response, "choices": [choice] if choice else []}
        metadata = _metadata(call, document, finished=finished) | {
            "index": choice.get("index") or 0,
            "finish_reason": choice.get("finish_reason"),
        }
        said = {**(choice.get("message") or {}), "role": "assistant"}
        answers.append(Answer((message_of(said),) if finished else (), metadata))
    return tuple(answers)


def _response_answers(call: Call) -> tuple[Answer, ...]:
    status = call.response.get("status")
    finished = status in ("completed", "incomplete") or (status is None and call.complete)
    details = call.response.get("incomplete_details") or {}
    metadata = _metadata(call, call.response, finished=finished) | {
        "finish_reason": details.get("reason") or ("stop" if status == "completed" else status),
    }
    said = messages_of_items(call.response.get("output") or ()) if finished else ()
    return (Answer(tuple(map(message_of, said)), metadata),)


def _metadata(call: Call, document: Mapping[str, Any], *, finished: bool) -> dict[str, Any]:
    parameters = {key: value for key, value in call.request.items() if key not in _PROMPT_KEYS}
    return {
        "call": call.id,
        "api": call.api,
        "at": call.at,
        "parameters": parameters,
        "model": document.get("model") or parameters.get("model"),
        "temperature": parameters.get("temperature", document.get("temperature")),
        "usage": document.get("usage"),
        "latency_s": call.latency_s,
        "response_id": document.get("id"),
        "created": document.get("created", document.get("created_at")),
        "finished": finished,
        "response": document,
    }


def plain_json(value: Any) -> Any:
    """A copy of a value as JSON knows it: models of a client as dicts, and what was not given left out."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return plain_json(dump(mode="json", exclude_unset=True, warnings=False))
    if isinstance(value, Mapping):
        return {str(key): plain_json(item) for key, item in value.items() if not _is_left_out(item)}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain_json(item) for item in value]
    return str(value)


def _is_left_out(value: Any) -> bool:
    """The marks that clients use for arguments that were not given."""
    return type(value).__name__ in {"Omit", "NotGiven"}


def without_secrets(value: Any, secrets: Iterable[str]) -> Any:
    """A copy in which the known secrets, and whatever stands under the name of one, are removed.

    >>> without_secrets({"api_key": "k", "text": "my key is sk-123", "n": 1}, ["sk-123"])
    {'api_key': '[removed]', 'text': 'my key is [removed]', 'n': 1}
    """
    known = tuple(secrets)

    def cleaned(item: Any) -> Any:
        if isinstance(item, str):
            for secret in known:
                item = item.replace(secret, REMOVED)
            return item
        if isinstance(item, list):
            return [cleaned(part) for part in item]
        return _without_secret_keys(item, cleaned) if isinstance(item, dict) else item

    return cleaned(value)


def _without_secret_keys(fields: dict[str, Any], cleaned: Callable[[Any], Any]) -> dict[str, Any]:
    # The schema of a tool may also have a property `headers`, which says nothing of anyone's headers.
    remote = "server_url" in fields or fields.get("type") == "mcp"
    return {
        key: REMOVED
        if (isinstance(item, str) and key.lower() in _SECRET_KEYS) or (remote and key.lower() == "headers")
        else cleaned(item)
        for key, item in fields.items()
    }
