"""An endpoint that answers by a script: from a request to what is sent back, without a network.

The paths, the checks and the documents are those of an OpenAI-compatible endpoint; only what the model says, and how
it fails, comes from the script.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from memorygraph.scripted import chat_wire, embeddings_wire, responses_wire
from memorygraph.scripted.replies import (
    Answer,
    BadJson,
    CutStream,
    Failure,
    Replies,
    Reply,
    Request,
    Script,
    Stall,
)
from memorygraph.scripted.request_checks import (
    ChatRequest,
    EmbeddingsRequest,
    RefusedRequest,
    ResponsesRequest,
    check,
)
from memorygraph.scripted.wire import Event

MODEL = "scripted"
OWNER = "memorygraph"


@dataclass(frozen=True)
class Wait:
    """Send nothing for so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """Break the connection."""


Step = bytes | Wait | Cut


@dataclass(frozen=True)
class Response:
    """What is sent back, step by step. `length` is that of a whole body; a stream has none."""

    steps: Iterable[Step]
    length: int | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Endpoint:
    """Answers requests by a script, and keeps all of them in `requests`.

    `unmatched` are the requests that the script has no reply for, and `raised` is what the script's own code raised.

    >>> endpoint = Endpoint("Hello")
    >>> endpoint.respond(Request("GET", "/v1/models", {})).status
    200
    >>> endpoint.respond(Request("POST", "/v1/chat/completions", {}, b"{}")).status
    400
    """

    def __init__(
        self,
        replies: Replies,
        *,
        embedding_failures: Replies = (),
        api_key: str | None = None,
        models: Iterable[str] | None = None,
        owner: str = OWNER,
        dimensions: int = embeddings_wire.DIMENSIONS,
    ) -> None:
        self.requests: list[Request] = []
        self.unmatched: list[Request] = []
        self.raised: list[Exception] = []
        self._script = Script(replies)
        self._embedding_failures = Script(embedding_failures)
        self._api_key = api_key
        self._models = None if models is None else tuple(models)
        self._owner = owner
        self._dimensions = dimensions
        self._numbers = count(1)
        self._routes: dict[str, tuple[str, Callable[[Request, int], Response]]] = {
            "/v1/chat/completions": ("POST", self._chat),
            "/v1/responses": ("POST", self._responses),
            "/v1/embeddings": ("POST", self._embeddings),
            "/v1/models": ("GET", self._list_models),
        }

    def respond(self, request: Request) -> Response:
        """The response to a request, which is recorded whatever becomes of it."""
        self.requests.append(request)
        number = next(self._numbers)
        try:
            self._check_key(request)
            response = self._route(request)(request, number)
        except RefusedRequest as refused:
            response = refusal(refused)
        return Response(
            response.steps,
            response.length,
            response.status,
            {"x-request-id": f"req_{number:08}", **response.headers},
        )

    def _check_key(self, request: Request) -> None:
        if self._api_key is None:
            return
        given = request.headers.get("authorization")
        if given is None:
            raise RefusedRequest(401, "You didn't provide an API key.")
        if not hmac.compare_digest(given.encode("latin-1", "replace"), f"Bearer {self._api_key}".encode()):
            raise RefusedRequest(401, "Incorrect API key provided.", code="invalid_api_key")

    def _route(self, request: Request) -> Callable[[Request, int], Response]:
        path = request.path.partition("?")[0]
        known = ("GET", self._show_model) if path.startswith("/v1/models/") else self._routes.get(path)
        if known is None:
            raise RefusedRequest(404, f"Invalid URL ({request.method} {path})")
        method, respond = known
        if method != request.method:
            raise RefusedRequest(405, f"Not allowed to {request.method} on {path}.")
        return respond

    def _list_models(self, _request: Request, _number: int) -> Response:
        listed = self._models if self._models is not None else (MODEL,)
        return _plain({"object": "list", "data": [_model(name, self._owner) for name in listed]})

    def _show_model(self, request: Request, _number: int) -> Response:
        name = request.path.partition("?")[0].removeprefix("/v1/models/")
        self._check_model(name)
        return _plain(_model(name, self._owner))

    def _check_model(self, name: str) -> None:
        if self._models is not None and name not in self._models:
            raise RefusedRequest(404, f"The model '{name}' does not exist.", "model", "model_not_found")

    def _chat(self, request: Request, number: int) -> Response:
        self._check_model(check(ChatRequest, request.json).model)
        answer = self._scripted(request)
        return _answered(
            answer,
            request,
            lambda reply: chat_wire.document(request, reply, number),
            lambda reply: chat_wire.events(request, reply, number),
        )

    def _responses(self, request: Request, number: int) -> Response:
        self._check_model(check(ResponsesRequest, request.json).model)
        answer = self._scripted(request)
        return _answered(
            answer,
            request,
            lambda reply: responses_wire.document(request, reply, number),
            lambda reply: responses_wire.events(request, reply, number),
        )

    def _embeddings(self, request: Request, _number: int) -> Response:
        checked = check(EmbeddingsRequest, request.json)
        self._check_model(checked.model)
        failure = self._embedding_failures.answer(request)
        return _answered(
            failure if failure is not None else "",
            request,
            lambda _reply: embeddings_wire.document(checked, self._dimensions),
        )

    def _scripted(self, request: Request) -> Answer:
        try:
            answer = self._script.answer(request)
        except Exception as error:  # the script is the user's code: what it raises is shown to the user
            self.raised.append(error)
            raise RefusedRequest(400, f"The script failed: {error!r}", code="script_failed") from error
        if answer is None:
            self.unmatched.append(request)
            # Not a 5xx: a client would ask again and again for a reply that does not exist.
            raise RefusedRequest(400, "The script has no reply for this request.", code="no_scripted_reply")
        return answer


def refusal(refused: RefusedRequest) -> Response:
    """An error of the endpoint's own, in OpenAI's shape."""
    return _plain(refused.document(), refused.status)


def _answered(
    answer: Answer,
    request: Request,
    document: Callable[[Reply], dict[str, Any]],
    events: Callable[[Reply], Iterator[Event]] | None = None,
) -> Response:
    """An answer of the script as a response, plain or streamed as the request wants it."""
    if isinstance(answer, Failure):
        return _failed(answer)
    if isinstance(answer, BadJson):
        return _stream([_sse((None, answer.body))]) if events and request.streamed else _plain(answer.body)
    said = answer.reply if isinstance(answer, Stall | CutStream) else answer
    reply = Reply(said) if isinstance(said, str) else said
    if events is not None and request.streamed:
        return _stream(_disturbed(answer, _paced(reply, map(_sse, events(reply)))))
    body = _encode(document(reply))
    parts: list[Step] = [body]
    if isinstance(answer, Stall):
        parts = [Wait(answer.seconds), body]
    elif isinstance(answer, CutStream):
        parts = [body[: len(body) // 2], Cut()]
    return Response(parts, len(body), headers={"content-type": "application/json"})


def _paced(reply: Reply, events: Iterable[bytes]) -> Iterator[Step]:
    """The events of a reply with its pauses before them; an event and its pause are one step to be counted."""
    for event in events:
        if reply.pause:
            yield Wait(reply.pause)
        yield event


def _disturbed(answer: Answer, steps: Iterable[Step]) -> Iterator[Step]:
    """The steps of a stream, with what the answer does to them after so many events."""
    disturbance = _disturbance(answer)
    sent = 0
    for step in steps:
        if disturbance and isinstance(step, bytes) and sent == disturbance[0]:
            yield disturbance[1]
            disturbance = None
        yield step
        sent += isinstance(step, bytes)
    if disturbance:
        yield disturbance[1]


def _disturbance(answer: Answer) -> tuple[int, Step] | None:
    if isinstance(answer, Stall):
        return answer.after, Wait(answer.seconds)
    if isinstance(answer, CutStream):
        return answer.after, Cut()
    return None


def _failed(failure: Failure) -> Response:
    body = failure.body
    if body is None:
        body = RefusedRequest(failure.status, failure.message).document()
    headers = {"content-type": "text/html; charset=utf-8"} if isinstance(body, str) else {}
    headers |= failure.headers
    if failure.retry_after is not None:
        headers["retry-after"] = f"{failure.retry_after:g}"
    return _plain(body, failure.status, headers)


def _plain(body: Mapping[str, Any] | str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    encoded = body.encode() if isinstance(body, str) else _encode(body)
    kind = {"content-type": "application/json"}
    return Response([encoded], len(encoded), status, kind | dict(headers or {}))


def _stream(steps: Iterable[Step]) -> Response:
    return Response(steps, headers={"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"})


def _sse(event: Event) -> bytes:
    name, data = event
    line = data.encode() if isinstance(data, str) else _encode(data)
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + line + b"\n\n"


def _encode(document: Mapping[str, Any]) -> bytes:
    # ASCII only: a text with half of a surrogate pair, which a real model can also say, has no other encoding.
    return json.dumps(document).encode()


def _model(name: str, owner: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": owner}
