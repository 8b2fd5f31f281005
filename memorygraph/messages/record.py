"""`record`: a copy of a model client whose every call is recorded.

The copy overrides two methods: every call of an `openai` client ends in a `post` of its body to a path. Streams
are watched while the caller reads them. Nothing here knows the library: any client with its `post` and `copy`
will do.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from threading import Lock
from typing import Any, Protocol, TypeVar, runtime_checkable
from urllib.parse import urlsplit
from weakref import WeakSet

from memorygraph.json_text import join_halves_within, parse_json
from memorygraph.messages.calls import APIS, CHAT, RecordedCall, bodies_without_secrets, plain_json, response_document
from memorygraph.messages.chunks import chat_document
from memorygraph.messages.recorder import Recorder

Client = TypeVar("Client")

MIN_SECRET_CHARACTERS = 12  # a shorter key is a stand-in such as `EMPTY`, which texts may well contain

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
        TypeError: it is not a client like `openai.OpenAI` or `openai.AsyncOpenAI`.
    """
    if isinstance(getattr(client, "recorder", None), Recorder):
        raise TypeError("this client is recorded already: record the client that it was made from")
    # Of the class: a wrapper such as instructor's hands on what its client has, and its copy would be that client.
    if not (callable(getattr(type(client), "post", None)) and callable(getattr(type(client), "copy", None))):
        kind = type(client).__name__
        raise TypeError(
            f"record takes a client such as openai.OpenAI() or openai.AsyncOpenAI(), and not a {kind}: record the "
            "client that it is made from. Each framework takes one in its own way: docs/recording.md"
        )
    original: Any = client
    recorded = original.copy()
    # A subclass keeps `isinstance` and every attribute; a wrapper would keep neither.
    recorded.__class__ = make_recorded_class(original.__class__)
    recorded.recorder = recorder
    result: Client = recorded
    return result


@cache
def make_recorded_class(base: Any) -> Any:
    """Derive a class of clients whose `post` is recorded."""

    def copy(self: Any, **options: Any) -> Any:
        # `with_options` and the clients that derive from this one are recorded, too.
        copied = base.copy(self, **options)
        copied.recorder = self.recorder
        return copied

    def post(self: Any, path: str, **arguments: Any) -> Any:
        watch = CallWatch.begin(self, path, arguments)
        answer = base.post(self, path, **(watch.arguments if watch else arguments))
        if watch:
            watch.finish(answer)
        return answer

    async def async_post(self: Any, path: str, **arguments: Any) -> Any:
        watch = CallWatch.begin(self, path, arguments)
        answer = await base.post(self, path, **(watch.arguments if watch else arguments))
        if watch:
            await run_off_loop(watch.finish, answer)
        return answer

    methods = {"copy": copy, "with_options": copy, "__doc__": base.__doc__, "__module__": base.__module__}
    methods["post"] = async_post if inspect.iscoroutinefunction(base.post) else post
    return type(f"Recorded{base.__name__}", (base,), methods)


class CallWatch:
    """Follows one call from its request to the end of its answer, and then has it recorded, once."""

    def __init__(self, client: Any, api: str, arguments: Mapping[str, Any]) -> None:
        options = dict(arguments.get("options") or {})
        body = dict(arguments.get("body") or {})
        for key in ("messages", "input"):
            # A sequence that is not a `list`, such as a MessageGraph, is sent as one.
            if isinstance(body.get(key), Sequence) and not isinstance(body[key], str | bytes | list):
                body[key] = plain_json(body[key])
        self._client = client
        self._api = api
        # The library merges `extra_body` into the body as late as this.
        self._request = plain_json({**body, **dict(options.get("extra_json") or {})})
        self._headers = dict(options.get("headers") or {})
        self._client_parser = options.get("post_parser")
        self._answer: Any = None
        self._pieces: list[Any] = []
        self._streams = False
        self._closed = False
        self._at = datetime.now(UTC).isoformat()
        self._started = time.perf_counter()
        self._last_piece: float | None = None
        self._lock = Lock()
        self._recorded = False
        self.reading = False
        self.arguments = {**arguments, "body": body, "options": {**options, "post_parser": self.parse}}

    @classmethod
    def begin(cls, client: Any, path: str, arguments: Mapping[str, Any]) -> CallWatch | None:
        """Watch a call, if it is one to record."""
        api = APIS.get("/" + urlsplit(path).path.strip("/"))
        if api is None or not isinstance(arguments.get("body"), Mapping):
            return None
        try:
            return cls(client, api, arguments)
        except Exception as error:  # noqa: BLE001 - a record never breaks a call
            client.recorder.give_up(error)
            return None

    def parse(self, answer: Any) -> Any:
        """Look at an answer, in place of the client's own parser, and then call that parser."""
        if hasattr(answer, "response") and (hasattr(answer, "__next__") or hasattr(answer, "__anext__")):
            try:
                self._streams = True
                OPEN_WATCHES.add(self)
                answer.__class__ = make_watched_class(answer.__class__)
                answer.watch = self
                watch_closing(answer.response, self)
            except Exception as error:  # noqa: BLE001 - a record never breaks a call
                self._client.recorder.give_up(error)
        elif self._answer is None:
            self._answer = answer
        return self._client_parser(answer) if callable(self._client_parser) else answer

    def add(self, piece: Any) -> None:
        """Take the next piece of a stream."""
        self._pieces.append(piece)
        self._last_piece = time.perf_counter()  # a stream that its reader leaves may be closed much later

    def finish(self, answer: Any) -> None:
        """Record an answer that came whole; one that streams is recorded at its end."""
        if self._streams:
            return
        http = getattr(answer, "http_response", None)
        if http is None:
            self.record(lambda: plain_json(answer if self._answer is None else self._answer), complete=True)
        # A raw response: its body is read either by now, or later by the caller.
        elif not getattr(http, "is_closed", True):
            watch_closing(http, self)
        elif not self._request.get("stream"):
            self.record(lambda: plain_json(parse_json(http.content)), complete=True)

    def finish_response(self, response: Any) -> None:
        """Record what a closed HTTP response brought: a stream, or an answer that the caller read by itself."""
        if self._streams:
            self.finish_stream()
            return
        content = find_content(response)
        if content is not None or self._closed:  # reading a response closes it before its content is there
            self.record(lambda: plain_json(parse_content(content)), complete=True)
        self._closed = True

    def finish_stream(self) -> None:
        """Record a stream as far as it came."""
        build = chat_document if self._api == CHAT else response_document
        self.record(lambda: build(map(plain_json, self._pieces)), complete=False)

    def record(self, document: Callable[[], Any], *, complete: bool) -> None:
        """Hand the call to the recorder, unless that is done."""
        with self._lock:
            if self._recorded:
                return
            self._recorded = True
        OPEN_WATCHES.discard(self)
        recorder: Recorder = self._client.recorder
        try:
            response = join_halves_within(document())  # two chunks of a stream may have half a character each
            call = RecordedCall(
                id=uuid.uuid4().hex,
                namespace=recorder.namespace.name,
                conversation=recorder.conversation,
                api=self._api,
                complete=complete,
                latency_s=round((self._last_piece or time.perf_counter()) - self._started, 6),
                at=self._at,
                **bodies_without_secrets(self._request, response, self.secrets()),
            )
        except Exception as error:  # noqa: BLE001 - a record never breaks a call
            recorder.give_up(error)
        else:
            recorder.record(call)

    def secrets(self) -> Iterator[str]:
        """The keys and passwords of the client and of this call."""
        headers = {**getattr(self._client, "default_headers", {}), **self._headers}
        found = [getattr(self._client, name, None) for name in _KEY_ATTRIBUTES]
        found += [value for name, value in headers.items() if name.lower() in _KEY_HEADERS]
        for secret in found:
            if isinstance(secret, str):
                yield from (word for word in secret.split() if len(word) >= MIN_SECRET_CHARACTERS)


def find_content(response: Any) -> Any:
    """The body of a closed HTTP response; None where the caller took its bytes, or is about to have it."""
    try:
        return response.content
    except Exception:  # noqa: BLE001 - each HTTP library has an error of its own for it
        return None


def parse_content(content: Any) -> Any:
    """Parse the body of an answer.

    Raises:
        ValueError: it is not JSON, or not there.
    """
    if content is None:
        raise ValueError(
            "its answer was read as bytes, or not at all: what `parse()` of the response reads is recorded"
        )
    return parse_json(content)


OPEN_WATCHES: WeakSet[CallWatch] = WeakSet()
"""The streams that were begun and have not ended."""


@atexit.register
def finish_open_streams() -> None:
    """Record the streams that the program has left and not closed."""
    for watch in list(OPEN_WATCHES):
        watch.finish_stream()


async def run_off_loop(work: Callable[..., None], *arguments: Any) -> None:
    """Run `work` once: in a thread, so that the event loop goes on, or right here without a loop."""
    try:
        await asyncio.to_thread(work, *arguments)
    except RuntimeError:
        work(*arguments)


def watch_closing(response: Any, watch: CallWatch) -> None:
    """Tell a watch when an HTTP response is closed, which every reader does at the end."""
    close, aclose = response.close, response.aclose

    # While the caller waits for the next piece, a close is not the end: a buffer may still hold pieces.
    def closing() -> None:
        close()
        if not watch.reading:
            watch.finish_response(response)

    async def async_closing() -> None:
        try:
            await aclose()
        except GeneratorExit:  # the stream is collected: nothing can be waited for any more
            if not watch.reading:
                watch.finish_response(response)
            raise
        if not watch.reading:
            await run_off_loop(watch.finish_response, response)

    response.close, response.aclose = closing, async_closing


@cache
def make_watched_class(base: Any) -> Any:
    """Derive a class of streams that a watch follows; each is still an instance of `base`."""

    def following(self: Any) -> Any:
        watch = self.watch
        watch.reading = True
        try:
            piece = base.__next__(self)
        except BaseException:
            watch.finish_stream()
            raise
        finally:
            watch.reading = False
        watch.add(piece)
        return piece

    async def async_following(self: Any) -> Any:
        watch = self.watch
        watch.reading = True
        try:
            piece = await base.__anext__(self)
        except BaseException:
            await run_off_loop(watch.finish_stream)
            raise
        finally:
            watch.reading = False
        watch.add(piece)
        return piece

    methods: dict[str, Any] = {"__module__": base.__module__, "__doc__": base.__doc__}
    if hasattr(base, "__anext__"):
        methods |= {"__aiter__": lambda self: self, "__anext__": async_following}
    else:
        methods |= {"__iter__": lambda self: self, "__next__": following}
    return type(f"Recorded{base.__name__}", (base,), methods)
