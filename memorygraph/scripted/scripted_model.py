"""A scripted model: a real HTTP server that speaks the OpenAI API and says what it is told to say."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from memorygraph.errors import ModelError
from memorygraph.scripted.replies import DIMENSIONS, OWNER, Replies, ReplyScript, Request

if TYPE_CHECKING:
    from memorygraph.scripted.socket_server import ScriptedServer

SCRIPTED_HOST = "127.0.0.1"
MAX_BODY_BYTES = 32 * 1024 * 1024


class ScriptedModel:
    """An OpenAI-compatible endpoint on this machine that answers by a script, while the context is open.

    `replies` are the answers in their order, one answer for every request, or a function from the request to its
    answer (None: it has none). An answer is a text, a `Reply`, or a way to fail: `Failure`, `Stall`, `CutStream`,
    `BadJson`. A request without an answer is refused; when `strict`, the end of the context raises for it too.
    `embedding_failures` are given to the first requests for embeddings, before those are answered.

    With `api_key` only requests that carry it are answered; with `models` only these are known; `owner` is
    whose server the list of models says it is. `largest_body` is in bytes.

    Chat completions and responses, plain and streamed, follow the script; embeddings depend on the text alone.

    >>> import json, urllib.request
    >>> with ScriptedModel(lambda request: f"You said {request.prompt!r}") as model:
    ...     body = json.dumps({"model": "any", "messages": [{"role": "user", "content": "Hi"}]}).encode()
    ...     with urllib.request.urlopen(model.base_url + "/chat/completions", body) as response:
    ...         json.load(response)["choices"][0]["message"]["content"]
    "You said 'Hi'"
    >>> model.requests[0].prompt
    'Hi'

    Raises:
        ModelError: at the end of a strict context, when a request had no scripted reply. What a function given as
            `replies` raised is raised again there, strict or not.
        OSError: the port is taken.
    """

    def __init__(
        self,
        replies: Replies = (),
        *,
        strict: bool = False,
        api_key: str | None = None,
        models: Iterable[str] | None = None,
        owner: str = OWNER,
        embedding_failures: Replies = (),
        dimensions: int = DIMENSIONS,
        largest_body: int = MAX_BODY_BYTES,
        port: int = 0,
    ) -> None:
        # Its documents are those of `openai`, whose import takes half a second.
        from memorygraph.scripted.endpoint import Endpoint

        known = None if models is None else tuple(models)
        script, failures = ReplyScript(replies), ReplyScript(embedding_failures)
        self._endpoint = Endpoint(script, failures, api_key, known, owner, dimensions)
        self._strict = strict
        self._port = port
        self._base_url: str | None = None
        self._max_body_bytes = largest_body
        self._server: ScriptedServer | None = None

    @property
    def requests(self) -> list[Request]:
        """Every request so far, in the order in which they came, refused ones too."""
        return self._endpoint.requests

    @property
    def base_url(self) -> str:
        """Where it listens: the value for OPENAI_BASE_URL. It stays known after the end."""
        if self._base_url is None:
            raise ModelError("this scripted model has not been started: use it in a `with` statement")
        return self._base_url

    def start(self) -> Self:
        """Listen; `close` ends it."""
        from memorygraph.scripted.socket_server import ScriptedServer

        self._server = ScriptedServer(self._endpoint.respond, (SCRIPTED_HOST, self._port), self._max_body_bytes)
        self._port = self._server.server_port
        self._base_url = f"http://{SCRIPTED_HOST}:{self._port}/v1"
        return self

    def close(self) -> None:
        """Stop listening, and break the connections that are still open."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()
        problem: Exception | None = None
        if self._endpoint.raised:
            problem = self._endpoint.raised[0]
        elif self._strict and (unmatched := self._endpoint.unmatched):
            first = unmatched[0]
            problem = ModelError(
                f"{len(unmatched)} of {len(self.requests)} requests had no scripted reply; "
                f"the first was {first.method} {first.path} with {first.prompt[:200]!r}"
            )
        if problem is not None:
            if error is None:
                raise problem
            error.add_note(f"the scripted model: {problem!r}")
