"""A recorded call of a model: its request, its response, and both as messages.

A call is plain JSON without secrets, so that it can wait in a file. The form of its messages decides on which
version a call lands: a caller may send an answer back as the object that came, as a dict of it, or as its text,
and it must be the same message each time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from memorygraph.messages.message import Message
from memorygraph.messages.responses import messages_of_input, messages_of_items

CHAT, RESPONSES = "chat", "responses"
APIS = {"/chat/completions": CHAT, "/responses": RESPONSES}  # the recorded paths, and the format of each
REMOVED = "[removed]"

_PROMPT_KEYS = frozenset({"messages", "input"})
_SECRET_KEYS = frozenset(
    {"authorization", "api_key", "apikey", "api-key", "x-api-key", "proxy-authorization", "cookie"}
)
# Keys that a client adds to an answer for the program's convenience; no model reads them.
_NOTES = frozenset({"annotations", "parsed"})
# With these parameters an endpoint puts messages before the given ones that only it knows.
_HELD_BY_ENDPOINT = ("conversation", "prompt")


@dataclass(frozen=True)
class RecordedCall:
    """One call: `request` is the body that was sent, `response` the document that came back."""

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
    """The messages of a call; a TypeError or ValueError says that a part of it is not a message."""
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
    """The message in the one form in which it is recorded, whether it comes from an endpoint or back from a caller.

    >>> message_of({"role": "assistant", "content": "Hi", "refusal": None, "annotations": []})
    Message.of({'role': 'assistant', 'content': 'Hi'})
    """
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


def without_secrets(value: Any, secrets: Iterable[str]) -> Any:
    """A copy without the known secrets, and without the text under any key that names a secret.

    >>> without_secrets({"api_key": "k", "text": "my key is sk-123", "n": 1}, ["sk-123"])
    {'api_key': '[removed]', 'text': 'my key is [removed]', 'n': 1}
    """
    secrets = tuple(secrets)
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, REMOVED)
        return value
    if isinstance(value, list):
        return [without_secrets(part, secrets) for part in value]
    if not isinstance(value, dict):
        return value
    # The schema of a tool may have a property `headers` too, which holds no headers.
    remote = "server_url" in value or value.get("type") == "mcp"
    return {
        key: REMOVED
        if (isinstance(item, str) and key.lower() in _SECRET_KEYS) or (remote and key.lower() == "headers")
        else without_secrets(item, secrets)
        for key, item in value.items()
    }
