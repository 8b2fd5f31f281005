"""`record`: a model client whose every call is recorded, and that is otherwise the client it was made from.

It is a copy of the client whose class has two methods more: every call of an `openai` client, in whichever way
it is made, is a `post` of its body to a path. Streams are watched while the caller reads them. Nothing here
knows the library: any client that has `post` and `copy` in its manner will do.
"""

from __future__ import annotations

import asyncio
import inspect
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from threading import Lock
from typing import Any, Protocol, TypeVar, runtime_checkable

from memorygraph.messages.calls import APIS, CHAT, Call, plain_json, without_secrets
from memorygraph.messages.chunks import chat_document, response_document
from memorygraph.messages.recorder import Recorder

Client = TypeVar("Client")

_MIN_SECRET = 12
"""A shorter key is a stand-in such as `EMPTY`, which texts may well contain."""

_KEY_ATTRIBUTES = ("api_key", "admin_api_key", "webhook_secret")
_KEY_HEADERS = frozenset({"authorization", "api-key", "x-api-key", "proxy-authorization", "cookie"})


@runtime_checkable
class Recorded(Protocol):
    """A client that `record` made: `isinstance(client, Recorded)` tells a type checker of its `recorder` too."""

    recorder: Recorder


def record(client: Client, recorder: Recorder) -> Client:
    """A copy of a client whose calls are recorded; the client itself stays as it is.

    The copy is an instance of the same class and shares its connections; it is also `Recorded`, and its
    `recorder` has `flush()`.

    Raises:
        TypeError: it is no client in the manner of `openai.OpenAI` or `openai.AsyncOpenAI`.
    """
    if isinstance(getattr(client, "recorder", None), Recorder):
        raise TypeError("this client is recorded already: record the client that it was made from")
    if not callable(getattr(client, "post", None)) or not callable(getattr(client, "copy", None)):
        kind = type(client).__name__
        raise TypeError(f"record takes a client such as openai.OpenAI() or openai.AsyncOpenAI(), and not a {kind}")
    original: Any = client
    recorded = original.copy()
    recorded.__class__ = _recorded_class(original.__class__)
    recorded.recorder = recorder
    result: Client = recorded
    return result


@cache
def _recorded_class(base: Any) -> Any:
    """The class of clients whose `post` is recorded."""

    def copy(self: Any, **options: Any) -> Any:
        copied = base.copy(self, **options)
        copied.recorder = self.recorder
        return copied

    def post(self: Any, path: str, **arguments: Any) -> Any:
        watch = _Watch.of(self, path, arguments)
        if watch is None:
            return base.post(self, path, **arguments)
        answer = base.post(self, path, **watch.arguments)
        watch.answered(answer)
        return answer

    async def async_post(self: Any, path: str, **arguments: Any) -> Any:
        watch = _Watch.of(self, path, arguments)
        if watch is None:
            return await base.post(self, path, **arguments)
        answer = await base.post(self, path, **watch.arguments)
        await _beside(watch.answered, answer)
        return answer

    methods: dict[str, Any] = {"copy": copy, "with_options": copy, "__doc__": base.__doc__}
    methods["post"] = async_post if inspect.iscoroutinefunction(base.post) else post
    methods["__module__"] = base.__module__
    return type(f"Recorded{base.__name__}", (base,), methods)


class _Watch:
    """Watches one call from its request to the end of its answer, and then has it recorded, once."""

    def __init__(self, client: Any, api: str, arguments: Mapping[str, Any]) -> None:
        options = dict(arguments.get("options") or {})
        body = dict(arguments.get("body") or {})
        # A sequence that is no `list`, such as a MessageGraph, is sent as one.
        body |= {key: plain_json(body[key]) for key in ("messages", "input") if _is_sequence(body.get(key))}
        self._client = client
        self._api = api
        self._request = plain_json({**body, **dict(options.get("extra_json") or {})})
        self._headers = dict(options.get("headers") or {})
        self._parse = options.get("post_parser")
        self._seen: Any = None
        self._pieces: list[Any] | None = None
        self._at = datetime.now(UTC).isoformat()
        self._started = time.perf_counter()
        self._lock = Lock()
        self._recorded = False
        self.reading = False
        self.arguments = {**arguments, "body": body, "options": {**options, "post_parser": self._parsed}}

    @classmethod
    def of(cls, client: Any, path: str, arguments: Mapping[str, Any]) -> _Watch | None:
        """A watch for a call that is to be recorded."""
        api = APIS.get("/" + path.strip("/"))
        if api is None or not isinstance(arguments.get("body"), Mapping):
            return None
        try:
            return cls(client, api, arguments)
        except Exception as error:  # noqa: BLE001 - a record never breaks a call
            client.recorder.give_up(error)
            return None

    def _parsed(self, answer: Any) -> Any:
        """Called by the client with its answer, before it makes of it what the caller wants."""
        if hasattr(answer, "response") and (hasattr(answer, "__next__") or hasattr(answer, "__anext__")):
            try:
                self._follow(answer)
            except Exception as error:  # noqa: BLE001 - a record never breaks a call
                self._client.recorder.give_up(error)
        elif self._seen is None:
            self._seen = answer
        return self._parse(answer) if callable(self._parse) else answer

    def _follow(self, stream: Any) -> None:
        """Watch a stream while the caller reads it, and the closing of it, by whomever."""
        self._pieces = []
        stream.__class__ = _watched_class(stream.__class__)
        stream.watch = self
        _after_closing(stream.response, self)

    def piece(self, piece: Any) -> None:
        """Take one piece of the stream."""
        if self._pieces is not None:
            self._pieces.append(piece)

    def answered(self, answer: Any) -> None:
        """Record an answer that came whole; one that streams is recorded at its end."""
        if self._pieces is not None:
            return  # it is recorded at its end
        http = getattr(answer, "http_response", None)
        if http is None:
            self._record(lambda: plain_json(answer if self._seen is None else self._seen), complete=True)
        elif not self._request.get("stream"):
            if getattr(http, "is_closed", True):
                self._record(lambda: plain_json(http.json()), complete=True)
            else:
                _after_closing(http, self)

    def closed(self, response: Any) -> None:
        """The response was closed: that is the end of a stream, or of an answer that the caller read by itself."""
        if self._pieces is not None:
            self.ended()
        elif _was_read(response):
            self._record(lambda: plain_json(response.json()), complete=True)

    def ended(self) -> None:
        """Record a stream as far as it came."""
        pieces = self._pieces or []
        build = chat_document if self._api == CHAT else response_document
        self._record(lambda: build(map(plain_json, pieces)), complete=False)

    def _record(self, document: Callable[[], Any], *, complete: bool) -> None:
        with self._lock:
            if self._recorded:
                return
            self._recorded = True
        recorder: Recorder = self._client.recorder
        try:
            call = Call(
                id=uuid.uuid4().hex,
                namespace=recorder.namespace.name,
                conversation=recorder.conversation,
                api=self._api,
                complete=complete,
                latency_s=round(time.perf_counter() - self._started, 6),
                at=self._at,
                **without_secrets({"request": self._request, "response": document()}, self._secrets()),
            )
        except Exception as error:  # noqa: BLE001 - a record never breaks a call
            recorder.give_up(error)
        else:
            recorder.record(call)

    def _secrets(self) -> Iterator[str]:
        headers = {**getattr(self._client, "default_headers", {}), **self._headers}
        found = [getattr(self._client, name, None) for name in _KEY_ATTRIBUTES]
        found += [value for name, value in headers.items() if name.lower() in _KEY_HEADERS]
        for secret in found:
            if isinstance(secret, str):
                yield from (word for word in secret.split() if len(word) >= _MIN_SECRET)


def _was_read(response: Any) -> bool:
    """Whether an HTTP response holds its body; one whose bytes the caller took one by one does not."""
    try:
        return response.content is not None
    except Exception:  # noqa: BLE001 - each HTTP library has an error of its own for this
        return False


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, list))


async def _beside(work: Callable[..., None], *arguments: Any) -> None:
    """Do it in a thread, so that the event loop goes on; it is done once, even where there is no such loop."""
    try:
        await asyncio.to_thread(work, *arguments)
    except RuntimeError:
        work(*arguments)


def _after_closing(response: Any, watch: _Watch) -> None:
    """Tell a watch when an HTTP response was closed, which any reader of it does in the end.

    While the caller waits for the next piece, the end is not here yet: pieces may still come out of a buffer.
    """
    close, aclose = response.close, response.aclose

    def closing() -> None:
        close()
        if not watch.reading:
            watch.closed(response)

    async def async_closing() -> None:
        await aclose()
        if not watch.reading:
            await _beside(watch.closed, response)

    response.close, response.aclose = closing, async_closing


@cache
def _watched_class(base: Any) -> Any:
    """The class of streams that a watch follows; each is still an instance of `base`."""

    def following(self: Any) -> Any:
        watch = self.watch
        watch.reading = True
        try:
            piece = base.__next__(self)
        except BaseException:
            watch.ended()
            raise
        finally:
            watch.reading = False
        watch.piece(piece)
        return piece

    async def async_following(self: Any) -> Any:
        watch = self.watch
        watch.reading = True
        try:
            piece = await base.__anext__(self)
        except BaseException:
            await _beside(watch.ended)
            raise
        finally:
            watch.reading = False
        watch.piece(piece)
        return piece

    methods: dict[str, Any] = {"__module__": base.__module__, "__doc__": base.__doc__}
    if hasattr(base, "__anext__"):
        methods |= {"__aiter__": lambda self: self, "__anext__": async_following}
    else:
        methods |= {"__iter__": lambda self: self, "__next__": following}
    return type(f"Recorded{base.__name__}", (base,), methods)
