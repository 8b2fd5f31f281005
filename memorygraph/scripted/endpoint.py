"""An endpoint that answers by a script: from a request to what is sent back, without a network.

The paths, the checks and the documents are those of an OpenAI-compatible endpoint; only what the model says, and how
it fails, comes from the script.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any
from urllib.parse import unquote

from memorygraph.scripted.replies import (
    BadJson,
    CutStream,
    Failure,
    Reply,
    ReplyScript,
    Request,
    ScriptedAnswer,
    Stall,
)
from memorygraph.scripted.request_checks import (
    ChatRequest,
    EmbeddingsRequest,
    LimitedRequest,
    RefusedRequest,
    ResponsesRequest,
    check_request,
)
from memorygraph.scripted.wire import (
    ChatAnswer,
    EmbeddingsAnswer,
    ModelAnswer,
    ResponsesAnswer,
    StreamEvent,
    WireAnswer,
)

MODEL = "scripted"


@dataclass(frozen=True)
class Wait:
    """Send nothing for a number of seconds."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """Break the connection."""


WireStep = bytes | Wait | Cut


@dataclass(frozen=True)
class WireResponse:
    """What is sent back, step by step. `length` is that of a whole body; a stream has none."""

    steps: Iterable[WireStep]
    length: int | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class Endpoint:
    """Answers requests by a script, and keeps all of them in `requests`."""

    script: ReplyScript
    embedding_failures: ReplyScript
    api_key: str | None
    models: tuple[str, ...] | None
    owner: str
    dimensions: int
    requests: list[Request] = field(default_factory=list)
    unmatched: list[Request] = field(default_factory=list)  # those that the script has no reply for
    raised: list[Exception] = field(default_factory=list)  # by the script's own code

    def __post_init__(self) -> None:
        self._numbers = count(1)
        self._routes: dict[str, tuple[str, Callable[[Request, int], WireResponse]]] = {
            "/v1/chat/completions": ("POST", partial(self.converse, ChatRequest, ChatAnswer)),
            "/v1/responses": ("POST", partial(self.converse, ResponsesRequest, ResponsesAnswer)),
            "/v1/embeddings": ("POST", self.embed),
            "/v1/models": ("GET", self.list_models),
        }

    def respond(self, request: Request) -> WireResponse:
        """Answer a request, and record it whether it is refused or not."""
        self.requests.append(request)
        number = next(self._numbers)
        try:
            self.check_key(request)
            response = self.route(request)(request, number)
        except RefusedRequest as refused:
            response = whole(refused.document(), refused.status)
        return replace(response, headers={"x-request-id": f"req_{number:08}", **response.headers})

    def check_key(self, request: Request) -> None:
        """Refuse a request without the key that this endpoint wants, if it wants one."""
        if self.api_key is None:
            return
        given = request.headers.get("authorization")
        if given is None:
            raise RefusedRequest(401, "You didn't provide an API key.")
        if not hmac.compare_digest(given.encode("latin-1", "replace"), f"Bearer {self.api_key}".encode()):
            raise RefusedRequest(401, "Incorrect API key provided.", code="invalid_api_key")

    def check_model(self, name: str) -> None:
        """Refuse a request for a model that this endpoint does not have."""
        if self.models is not None and name not in self.models:
            raise RefusedRequest(404, f"The model '{name}' does not exist.", "model", "model_not_found")

    def route(self, request: Request) -> Callable[[Request, int], WireResponse]:
        """Find what answers the path and the method of a request."""
        path = request.path.partition("?")[0]
        known = ("GET", self.show_model) if path.startswith("/v1/models/") else self._routes.get(path)
        if known is None:
            raise RefusedRequest(404, f"Invalid URL ({request.method} {path})")
        method, respond = known
        if method != request.method:
            raise RefusedRequest(405, f"Not allowed to {request.method} on {path}.")
        return respond

    def list_models(self, _request: Request, _number: int) -> WireResponse:
        """Answer with the models that this endpoint has."""
        listed = (MODEL,) if self.models is None else self.models
        return whole({"object": "list", "data": [self.describe_model(name) for name in listed]})

    def show_model(self, request: Request, _number: int) -> WireResponse:
        """Answer with one model."""
        name = unquote(request.path.partition("?")[0].removeprefix("/v1/models/"))
        self.check_model(name)
        return whole(self.describe_model(name))

    def describe_model(self, name: str) -> dict[str, Any]:
        """Describe a model as the list of models does."""
        return {"id": name, "object": "model", "created": 0, "owned_by": self.owner}

    def converse(
        self,
        limits: type[LimitedRequest],
        answer_in: Callable[[Request, Reply, int], ModelAnswer],
        request: Request,
        number: int,
    ) -> WireResponse:
        """Answer a request for a chat completion or a response, by the script."""
        self.check_model(check_request(limits, request.json).model)
        answer = self.ask_script(self.script, request)
        if answer is None:
            self.unmatched.append(request)
            # Not a 5xx: a client would ask repeatedly for a reply that does not exist.
            raise RefusedRequest(400, "The script has no reply for this request.", code="no_scripted_reply")
        return deliver(answer, lambda reply: answer_in(request, reply, number), streamed=request.streamed)

    def embed(self, request: Request, _number: int) -> WireResponse:
        """Answer a request for embeddings, or fail as scripted."""
        checked = check_request(EmbeddingsRequest, request.json)
        self.check_model(checked.model)
        answer = self.ask_script(self.embedding_failures, request) or ""
        return deliver(answer, lambda _reply: EmbeddingsAnswer(checked, self.dimensions), streamed=False)

    def ask_script(self, script: ReplyScript, request: Request) -> ScriptedAnswer | None:
        """Ask a script, which is the user's code: what it raises is shown to the user."""
        try:
            return script.answer(request)
        except Exception as error:
            self.raised.append(error)
            raise RefusedRequest(400, f"The script failed: {error!r}", code="script_failed") from error


def deliver(answer: ScriptedAnswer, answer_in: Callable[[Reply], WireAnswer], *, streamed: bool) -> WireResponse:
    """Turn an answer of the script into a response, whole or as a stream."""
    if isinstance(answer, Failure):
        return fail(answer)
    if isinstance(answer, BadJson):
        return stream([encode_event(answer.body)]) if streamed else whole(answer.body)
    reply = answer.reply if isinstance(answer, Stall | CutStream) else answer
    wire_answer = answer_in(Reply(reply) if isinstance(reply, str) else reply)
    if streamed:
        pause = 0.0 if isinstance(reply, str) else reply.pause
        return stream(disturb(answer, map(encode_event, wire_answer.events()), pause))
    body = json_bytes(wire_answer.document())
    steps: list[WireStep] = [body]
    if isinstance(answer, Stall):
        steps = [Wait(answer.seconds), body]
    elif isinstance(answer, CutStream):
        steps = [body[: len(body) // 2], Cut()]
    return WireResponse(steps, len(body), headers={"content-type": "application/json"})


def disturb(answer: ScriptedAnswer, events: Iterable[bytes], pause: float) -> Iterator[WireStep]:
    """Yield the events of a stream with their pauses, and what the answer does after a number of events."""
    disturbance: WireStep | None = None
    if isinstance(answer, Stall):
        disturbance = Wait(answer.seconds)
    elif isinstance(answer, CutStream):
        disturbance = Cut()
    after = answer.after if isinstance(answer, Stall | CutStream) else 0
    for sent, event in enumerate(events):
        if pause:
            yield Wait(pause)
        if disturbance and sent == after:
            yield disturbance
            disturbance = None
        yield event
    if disturbance:
        yield disturbance


def fail(failure: Failure) -> WireResponse:
    """Return the error that a scripted failure describes."""
    body = RefusedRequest(failure.status, failure.message).document() if failure.body is None else failure.body
    headers = {"content-type": "text/html; charset=utf-8"} if isinstance(body, str) else {}
    headers |= failure.headers
    if failure.retry_after is not None:
        headers["retry-after"] = f"{failure.retry_after:g}"
    return whole(body, failure.status, headers)


def whole(body: Mapping[str, Any] | str, status: int = 200, headers: Mapping[str, str] | None = None) -> WireResponse:
    """Return a response whose body is sent at once."""
    encoded = body.encode() if isinstance(body, str) else json_bytes(body)
    return WireResponse([encoded], len(encoded), status, {"content-type": "application/json"} | dict(headers or {}))


def stream(steps: Iterable[WireStep]) -> WireResponse:
    """Return a response whose body is a stream of server-sent events."""
    return WireResponse(
        steps, headers={"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
    )


def encode_event(event: StreamEvent) -> bytes:
    """Encode one server-sent event; it is named where its document says its type."""
    if isinstance(event, str):
        return f"data: {event}\n\n".encode()
    name = f"event: {event['type']}\n".encode() if "type" in event else b""
    return name + b"data: " + json_bytes(event) + b"\n\n"


def json_bytes(document: Mapping[str, Any]) -> bytes:
    """Encode a document in ASCII: half of a surrogate pair, which a real model can also say, has no other encoding."""
    return json.dumps(document).encode()
