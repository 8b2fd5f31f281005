"""A scripted model: a real HTTP server that speaks the OpenAI API and says what it is told to say.

It is for tests, and for trying a program without a model:

>>> import json, urllib.request
>>> with ScriptedModel(["Hello"]) as model:
...     body = json.dumps({"model": "any", "messages": [{"role": "user", "content": "Hi"}]}).encode()
...     with urllib.request.urlopen(model.base_url + "/chat/completions", body) as response:
...         json.load(response)["choices"][0]["message"]["content"]
'Hello'
>>> model.requests[0].prompt
'Hi'

Chat completions and responses, plain and streamed, follow the script; embeddings depend on the text alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from memorygraph.errors import ModelError
from memorygraph.scripted.embeddings_wire import DIMENSIONS
from memorygraph.scripted.endpoint import OWNER, Endpoint
from memorygraph.scripted.replies import Replies, Request
from memorygraph.scripted.socket_server import HOST, MAX_BODY, Server


class ScriptedModel:
    """An OpenAI-compatible endpoint on this machine that answers by a script, while the context is open.

    `replies` are the answers in their order, one answer for every request, or a function from the request to its
    answer (None: it has none). An answer is a text, a `Reply`, or a way to fail: `Failure`, `Stall`, `CutStream`,
    `BadJson`. A request without an answer is refused; when `strict`, the end of the context raises for it too.
    `embedding_failures` are given to the first requests for embeddings, before those are answered.

    With `api_key` only requests that carry it are answered; with `models` only these are known; `owner` is
    whose server the list of models says it is.

    >>> with ScriptedModel(lambda request: f"You said {request.prompt!r}") as model:
    ...     model.base_url.startswith("http://127.0.0.1:")
    True

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
        largest_body: int = MAX_BODY,
        port: int = 0,
    ) -> None:
        self._endpoint = Endpoint(
            replies,
            embedding_failures=embedding_failures,
            api_key=api_key,
            models=models,
            owner=owner,
            dimensions=dimensions,
        )
        self._strict = strict
        self._port = port
        self._largest_body = largest_body
        self._server: Server | None = None

    @property
    def requests(self) -> list[Request]:
        """Every request so far, in the order in which they came, refused ones too."""
        return self._endpoint.requests

    @property
    def base_url(self) -> str:
        """Where it listens: what OPENAI_BASE_URL is set to. It stays known after the end."""
        if not self._port:
            raise ModelError("this scripted model has not been started: use it in a `with` statement")
        return f"http://{HOST}:{self._port}/v1"

    def start(self) -> Self:
        """Listen; `close` ends it."""
        self._server = Server(self._endpoint.respond, self._port, self._largest_body)
        self._port = self._server.server_port
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
        problem = self._problem()
        if error is None and problem is not None:
            raise problem
        if error is not None and problem is not None:
            error.add_note(f"the scripted model: {problem!r}")

    def _problem(self) -> Exception | None:
        if self._endpoint.raised:
            return self._endpoint.raised[0]
        unmatched = self._endpoint.unmatched
        if not self._strict or not unmatched:
            return None
        first = unmatched[0]
        return ModelError(
            f"{len(unmatched)} of {len(self.requests)} requests had no scripted reply; "
            f"the first was {first.method} {first.path} with {first.prompt[:200]!r}"
        )
