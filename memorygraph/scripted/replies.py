"""The script of a scripted model: the requests that it receives, and what it can be told to answer.

Everything here is a value. A reply says what a model would say; the failures say how an endpoint fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, TypeAlias

from memorygraph.json_text import parse_json
from memorygraph.llm.completion import ToolCall, Usage

DIMENSIONS = 256
OWNER = "memorygraph"


@dataclass(frozen=True)
class Request:
    r"""A request as it was received: `headers` have lower-case names, `body` is the bytes of the wire.

    >>> Request("POST", "/v1/responses", {}, b'{"model": "m", "input": "Hi"}').prompt
    'Hi'
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""

    @cached_property
    def json(self) -> Any:
        """The body as a document; None where it is empty or not JSON."""
        try:
            return parse_json(self.body)
        except ValueError:
            return None

    @property
    def streamed(self) -> bool:
        """Whether the client asks for a stream."""
        return bool(self.json.get("stream")) if isinstance(self.json, dict) else False

    @property
    def prompt(self) -> str:
        """The text of the last message, on which a reply usually depends."""
        said = self.json.get("messages", self.json.get("input")) if isinstance(self.json, dict) else None
        last = said[-1] if isinstance(said, list) and said else said
        content = last.get("content", last.get("output")) if isinstance(last, dict) else last
        if isinstance(content, list):
            return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
        return content if isinstance(content, str) else ""


@dataclass(frozen=True)
class Reply:
    """What the model says.

    Without `usage` about four characters are a token; without `model` the one that was asked answers. A stream sends
    the text in pieces of `piece_length` characters, with `pause` seconds before each event. Where several choices are
    asked for (`n`), the others are the `alternatives`, and then the reply again.

    >>> Reply("Hello").reason, Reply(tool_calls=(ToolCall("clock"),)).reason
    ('stop', 'tool_calls')
    """

    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    model: str | None = None
    alternatives: tuple[Reply | str, ...] = ()
    piece_length: int = 4
    pause: float = 0.0

    def __post_init__(self) -> None:
        if self.piece_length < 1:
            raise ValueError(f"piece_length is {self.piece_length}; expected 1 or more characters")

    @property
    def reason(self) -> str:
        """Why the model stopped: as scripted, or what follows from the reply."""
        return self.finish_reason or ("tool_calls" if self.tool_calls else "stop")

    def pieces(self, text: str) -> list[str]:
        """Split a text as a stream sends it."""
        return [text[start : start + self.piece_length] for start in range(0, len(text), self.piece_length)]

    def choices(self, count: int) -> list[Reply]:
        """Return the replies for `count` choices."""
        others = [Reply(other) if isinstance(other, str) else other for other in self.alternatives]
        return [self, *others, *[self] * count][:count]


@dataclass(frozen=True)
class Failure:
    """The endpoint answers with an error. `body` is a document or a text in place of an error in OpenAI's shape."""

    status: int = 500
    message: str = "The server had an error while processing your request."
    retry_after: float | None = None
    body: Mapping[str, Any] | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Stall:
    """Nothing comes for `seconds`, and then a reply; `after` events of a stream are sent before."""

    seconds: float
    reply: Reply | str = ""
    after: int = 0


@dataclass(frozen=True)
class CutStream:
    """The connection breaks after `after` events of a stream, or in the middle of a plain answer."""

    after: int = 1
    reply: Reply | str = "This text is never heard to its end."


@dataclass(frozen=True)
class BadJson:
    """The answer is well-formed HTTP, and its body is not JSON."""

    body: str = '{"choices": [{"message": {"content": "never clo'


ScriptedAnswer: TypeAlias = Reply | str | Failure | Stall | CutStream | BadJson
Replies: TypeAlias = ScriptedAnswer | Iterable[ScriptedAnswer] | Callable[[Request], ScriptedAnswer | None]


class ReplyScript:
    """Gives each request its answer; None where the script has none.

    A list gives its answers in the order in which requests come; a single answer is given to each. A callable may
    be called from several threads at once, so that it can also hold one request back until another has come.

    >>> script = ReplyScript(["one", "two"])
    >>> [script.answer(Request("POST", "/", {})) for _ in range(3)]
    ['one', 'two', None]
    >>> ReplyScript(lambda request: request.method).answer(Request("POST", "/", {}))
    'POST'
    """

    def __init__(self, replies: Replies) -> None:
        self._choose: Callable[[Request], ScriptedAnswer | None]
        if isinstance(replies, ScriptedAnswer):
            self._choose = lambda _request: replies
        elif callable(replies):
            self._choose = replies
        else:
            rest, lock = iter(replies), Lock()

            def following(_request: Request) -> ScriptedAnswer | None:
                with lock:
                    return next(rest, None)

            self._choose = following

    def answer(self, request: Request) -> ScriptedAnswer | None:
        """Return what is scripted for this request.

        Raises:
            TypeError: the script gives something else than an answer.
        """
        answer = self._choose(request)
        if answer is not None and not isinstance(answer, ScriptedAnswer):
            raise TypeError(f"{answer!r} is not an answer: give a text, a Reply, or a way to fail")
        return answer
