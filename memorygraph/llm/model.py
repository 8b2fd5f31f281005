"""The one door to language models: an OpenAI-compatible endpoint.

Any endpoint that speaks the format works, by its URL alone. openai is imported when a model
is first called: the import takes half a second, which `memorygraph --help` should not.
"""

from __future__ import annotations

import json
import math
import os
import re
import socket
import time
import traceback
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from memorygraph.errors import MemoryGraphError, ModelError
from memorygraph.hosts import host_in_url
from memorygraph.json_text import MAX_JSON_DEPTH, nests_deeper
from memorygraph.llm.addresses import PinnedAddresses, is_loopback, show_endpoint
from memorygraph.llm.certificates import check_proxies, trusted_certificates
from memorygraph.llm.completion import (
    Completion,
    WireMessage,
    error_text,
    read_completion,
    read_document,
    read_models,
    read_vectors,
)
from memorygraph.messages.chunks import Chunks

if TYPE_CHECKING:
    import openai

TIMEOUT_S = 120.0
TIMEOUT_VARIABLE = "AGENTSCRIPT_LLM_TIMEOUT_MS"
RETRIES = 2
PROBE_S = 3.0
MAX_TEXTS_PER_REQUEST = 256
REFUSED = frozenset({400, 413, 422})  # how endpoints answer to more texts, or longer ones, than they take
SHORT_CHARACTERS = 128  # a text that every model of vectors takes
REDIRECT, REDIRECTS = "Redirect", range(300, 400)
BROKEN, BREAKS = "BrokenConnection", frozenset({"ReadError", "WriteError", "RemoteProtocolError"})  # those of httpx
NOT_FOUND = 404
SERVER_ERROR = 500

# Local servers need no key, and the client wants one.
NO_KEY = "none"
OPENAI_HOST = "api.openai.com"
MIN_KEY_CHARACTERS = 8  # a shorter one is a placeholder, such as `none`, and a part of many a text
HEADER_NAME = re.compile(r"[!#$%&'*+.^`|~\w-]+", re.ASCII)

# Where the key and the URL come from, for the messages that say what to check.
CONFIGURED_BY = ("OPENAI_API_KEY", "OPENAI_BASE_URL")

FOLDER_HINT = "; where MEMORYGRAPH_EMBEDDING_MODEL is to be a folder, a folder begins with `/`, `./`, `../` or `~`"

# What each error of the client means, and what to do; `key` and `url` name where those come from, and `more_time` says
# how to allow more. The most specific class of an error decides; a test compares this table with the client's tree.
MEANINGS = {
    "AuthenticationError": "the model endpoint refused the API key: check {key}",
    "PermissionDeniedError": "the API key may not use this model: check MEMORYGRAPH_MODEL and the key's rights",
    "NotFoundError": "the model endpoint knows no such model or path: check the model's name and {url}",
    "BadRequestError": "the model endpoint refused the request",
    "UnprocessableEntityError": "the model endpoint refused the request",
    "ConflictError": "the model endpoint is busy with a conflicting request; try again",
    "RateLimitError": "the model endpoint's rate limit or quota is exhausted: wait, or check the account",
    "InternalServerError": "the model endpoint failed; try again later",
    "APIStatusError": "the model endpoint refused the request",
    "APITimeoutError": "the model endpoint did not answer in time: try again, or {more_time}",
    "APIConnectionError": "the model endpoint cannot be reached: is it running, and is {url} right?",
    "APIResponseValidationError": "the model endpoint's answer is not in the OpenAI format; does its URL end in /v1?",
    BROKEN: "the connection to the model endpoint broke before its answer had come; try again",
    REDIRECT: "the model endpoint redirects to another address, and no redirect is followed: check {url}",
    "APIError": "the model endpoint failed in the middle of its answer",
    "LengthFinishReasonError": "the model's answer was cut at its length limit: allow more tokens",
    "ContentFilterFinishReasonError": "the model endpoint's content filter stopped the answer",
    "SubjectTokenProviderError": "the login to the model endpoint failed",
    "InvalidWebhookSignatureError": "a webhook's signature is wrong",
    "WebSocketConnectionClosedError": "the connection to the model endpoint was lost; try again",
    "WebSocketQueueFullError": "the connection to the model endpoint is overloaded; try again",
    "StreamAlreadyConsumed": "the model's answer was read twice",
    "MutuallyExclusiveAuthError": "two ways to log in to the model endpoint are configured: keep one",
    "OpenAIError": "the model client is not configured right: check {key} and {url}",
}


class CompletionOptions(TypedDict, total=False):
    """The options of a request for a completion."""

    tools: Sequence[Mapping[str, Any]] | None
    response_format: Mapping[str, Any] | None
    extra: Mapping[str, Any] | None  # further fields, such as a temperature, or a grammar that only some endpoints take
    max_tokens: int | None


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint. Safe to share between threads; `close` ends its connections.

    What is not given comes from MEMORYGRAPH_MODEL, MEMORYGRAPH_EMBEDDING_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY;
    an endpoint with a URL of its own needs no key. An empty `api_key` sends none, also where the environment has one.
    `timeout` is in seconds and for each attempt, of which there are 1 + `retries`; by default it is that of
    AGENTSCRIPT_LLM_TIMEOUT_MS, or two minutes. `timeout_from` names the variable that a given `timeout` came from, and
    `configured_by` where the key and the URL come from, for messages; where that is not OPENAI_*, nothing of OPENAI_*
    is sent. With `pinned` the name of a host without TLS leads where it led when it was first looked up there. Its
    errors are `ModelError`.

    >>> from memorygraph.scripted.scripted_model import ScriptedModel
    >>> with ScriptedModel(["Paris"]) as server, OpenAIModel("any", server.base_url, api_key="") as model:
    ...     model.complete([{"role": "user", "content": "The capital of France?"}]).content
    'Paris'
    """

    def __init__(
        self,
        name: str | None = None,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        embedding_name: str | None = None,
        timeout: float | None = None,
        timeout_from: str | None = None,
        retries: int = RETRIES,
        configured_by: tuple[str, str] = CONFIGURED_BY,
        pinned: PinnedAddresses | None = None,
    ) -> None:
        self._name = name or os.environ.get("MEMORYGRAPH_MODEL")
        self._embedding_name = embedding_name or os.environ.get("MEMORYGRAPH_EMBEDDING_MODEL")
        self.base_url = check_url(base_url or os.environ.get("OPENAI_BASE_URL"), configured_by[1])
        key = os.environ.get("OPENAI_API_KEY") if api_key is None else api_key
        self._api_key = check_key(key, configured_by[0])
        self._timeout = read_timeout(TIMEOUT_S) if timeout is None else timeout
        self._timeout_from = TIMEOUT_VARIABLE if timeout is None else timeout_from
        self._retries = retries
        self._configured_by = configured_by
        self._pinned = pinned
        self._lock = Lock()
        self._client: openai.OpenAI | None = None

    def __repr__(self) -> str:
        return f"OpenAIModel({self._name!r}, {show_endpoint(self.base_url) if self.base_url else None!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the endpoint; a later call opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    @property
    def name(self) -> str:
        """The model that is asked."""
        if not self._name:
            raise ModelError(
                "no model is configured: name one with --model (in Python: model), or set MEMORYGRAPH_MODEL"
            )
        return self._name

    @property
    def embedding_name(self) -> str:
        """The model that makes vectors."""
        if not self._embedding_name:
            raise ModelError("no embedding model is configured: set MEMORYGRAPH_EMBEDDING_MODEL")
        return self._embedding_name

    def complete(self, messages: Sequence[WireMessage], **options: Unpack[CompletionOptions]) -> Completion:
        """Return the model's answer to a conversation; a `ModelError` says that there is none."""
        request = self._request(messages, **options)
        started = time.perf_counter()
        with self._translated():
            raw = self._connect().chat.completions.with_raw_response.create(**request)
            document = read_document(raw.content)
        return read_completion(document, time.perf_counter() - started, request["extra_body"])

    @contextmanager
    def stream(
        self, messages: Sequence[WireMessage], **options: Unpack[CompletionOptions]
    ) -> Iterator[CompletionStream]:
        """Return the model's answer as it comes. Leaving the context before its end stops the model."""
        import openai

        request = self._request(messages, **options)
        started = time.perf_counter()
        with self._translated():
            chunks = self._connect().chat.completions.create(
                stream=True, stream_options={"include_usage": True}, **request
            )

        def documents() -> Iterator[dict[str, Any]]:
            with self._translated():
                for chunk in chunks:
                    if not isinstance(chunk, openai.BaseModel):  # the client hands on whatever JSON an event has
                        raise ModelError("the model endpoint's stream has an event that is not an object")
                    document = chunk.to_dict(warnings=False)
                    if nests_deeper(document):
                        raise ModelError(f"the model endpoint's answer nests more than {MAX_JSON_DEPTH} levels deep")
                    yield document

        with chunks:
            yield CompletionStream(documents(), started, request["extra_body"])

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text, in their order; of a text that is too long for the model, of its beginning."""
        vectors: list[list[float]] = []
        for start in range(0, len(texts), MAX_TEXTS_PER_REQUEST):
            vectors += self._embed_batch(list(texts[start : start + MAX_TEXTS_PER_REQUEST]))
        return vectors

    def _embed_batch(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts; what is refused as a whole is asked for by halves, and of a text the first one.

        How many texts an endpoint takes at once, and how long ones, nothing says but its refusal.
        """
        try:
            return self._request_vectors(texts)
        except ModelError as error:
            if not is_too_much(error) or (len(texts) == 1 and len(texts[0]) <= SHORT_CHARACTERS):
                raise
        if len(texts) == 1:
            return self._embed_batch([texts[0][: len(texts[0]) // 2]])
        middle = len(texts) // 2
        return self._embed_batch(texts[:middle]) + self._embed_batch(texts[middle:])

    def _request_vectors(self, texts: list[str]) -> list[list[float]]:
        with self._translated():
            raw = self._connect(FOLDER_HINT).embeddings.with_raw_response.create(
                input=texts,
                model=self.embedding_name,
                encoding_format="float",  # the one that every endpoint knows
            )
            return read_vectors(read_document(raw.content), len(texts))

    def offered(self, seconds: float) -> list[str] | None:
        """List the models that the endpoint offers; None where it answers, and keeps no such list."""
        try:  # every endpoint answers this request, and it costs nothing
            with self._translated(seconds):
                client = self._connect().with_options(timeout=seconds, max_retries=0)
                return list(read_models(client.models.with_raw_response.list().content))
        except ModelError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    def owner(self) -> str:
        """Return the owner that the endpoint names for the model, such as `vllm`; empty where it names none."""
        try:
            with self._translated():
                owners = read_models(self._connect().models.with_raw_response.list().content)
        except ModelError:
            return ""
        return owners.get(self.name) or next(iter(owners.values()), "")

    def _request(
        self,
        messages: Sequence[WireMessage],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        response_format: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> dict[str, Any]:
        """Return the client's arguments for a completion; `extra_body` is what is recorded beside the messages."""
        # OpenAI's newer models refuse the old name, and many other endpoints know only that.
        is_openai = urlsplit(self.base_url or f"//{OPENAI_HOST}").hostname == OPENAI_HOST
        given = {
            "model": self.name,
            "tools": list(map(dict, tools or ())) or None,
            "response_format": dict(response_format) if response_format else None,
            "max_completion_tokens" if is_openai else "max_tokens": max_tokens,
        }
        body = {name: value for name, value in given.items() if value is not None} | dict(extra or {})
        # The client sends dictionaries alone, and no other mappings.
        said = [dict(message) for message in messages]
        return {"messages": said, "model": self.name, "extra_body": body}

    def _connect(self, hint: str = "") -> openai.OpenAI:
        """The client, made at the first call; `hint` is what else may be wrong where no endpoint is configured."""
        if not self._api_key and not self.base_url:
            raise ModelError(
                "no model endpoint is configured: set OPENAI_API_KEY, "
                f"or OPENAI_BASE_URL to an endpoint that is compatible with OpenAI's{hint}"
            )
        with self._lock:
            if self._client is None:
                import openai

                headers: Any = None
                if self._configured_by != CONFIGURED_BY:
                    # The client would add the headers that the environment has for OpenAI's own endpoint.
                    named = {name for name, _ in custom_headers() if name.lower() != "authorization"}
                    foreign = {"OpenAI-Organization", "OpenAI-Project"} | named
                    key = f"Bearer {self._api_key or NO_KEY}"
                    headers = {"Authorization": key} | dict.fromkeys(foreign, openai.Omit())
                else:
                    check_headers()
                url = self.base_url or f"https://{OPENAI_HOST}/v1"
                # The environment names hosts that are reached without its proxy, and not their addresses.
                direct = self._pinned is not None and bool(proxy_bypass(urlsplit(url).netloc))
                if self._pinned is not None:
                    headers = {**(headers or {}), "Host": urlsplit(url).netloc}
                    url = pin_host(url, self._pinned)
                # A proxy cannot reach this machine's own services.
                direct = direct or is_loopback(urlsplit(url).hostname or "")
                try:
                    certificates = trusted_certificates()
                    if not direct:
                        check_proxies()
                except MemoryGraphError as error:
                    raise ModelError(str(error)) from None
                # The prompt and the key go to this endpoint alone.
                self._client = openai.OpenAI(
                    api_key=self._api_key or NO_KEY,
                    base_url=url,
                    timeout=self._timeout,
                    max_retries=self._retries,
                    default_headers=headers,
                    http_client=openai.DefaultHttpxClient(
                        follow_redirects=False, trust_env=not direct, verify=certificates
                    ),
                )
                # What nobody closes is closed when it goes, as the client does with connections of its own.
                weakref.finalize(self, self._client.close)
            return self._client

    @contextmanager
    def _translated(self, timeout: float | None = None) -> Iterator[None]:
        """Raise the errors of the client as `ModelError`; `timeout` is that of a request with one of its own."""
        import openai

        try:
            yield
        except openai.OpenAIError as error:
            # An endpoint can repeat the key, and a traceback shows each cause.
            shown = "".join(traceback.format_exception(error))
            leaks = without_key(shown, self._api_key) != shown
            variable = None if timeout else self._timeout_from
            translated = translate_model_error(error, self._api_key, self._configured_by, variable)
            raise translated from (None if leaks else error)
        except ModelError as error:
            raise ModelError(without_key(str(error), self._api_key), error.brief, error.status) from error.__cause__
        except (json.JSONDecodeError, RecursionError) as error:  # an event of a stream
            raise ModelError("the model endpoint's answer is not JSON") from error
        except UnicodeDecodeError as error:  # of a stream
            raise ModelError(f"the model endpoint's answer is not in UTF-8: {error}") from error
        except UnicodeEncodeError as error:  # half of a surrogate pair
            raise ModelError(f"the request holds a character that cannot be sent: {error}") from error


GRAMMAR_FIELDS = {"llama": "grammar", "vllm": "guided_grammar"}  # both take GBNF
_KIND_OF_OWNER = {"llamacpp": "llama", "vllm": "vllm"}


def grammar_field(model: OpenAIModel, endpoint: str = "auto") -> str | None:
    """Return the field in which a model's endpoint takes a grammar that it holds the model to; None where it cannot.

    `endpoint` is `llama`, `vllm`, `none`, or `auto`: then the endpoint's list of models says which it is.
    """
    if endpoint == "none":
        return None
    if endpoint == "auto":
        return GRAMMAR_FIELDS.get(_KIND_OF_OWNER.get(model.owner(), ""))
    if endpoint not in GRAMMAR_FIELDS:
        known = ", ".join(GRAMMAR_FIELDS)
        raise ModelError(f"there is no kind of endpoint `{endpoint}`; there are auto, none, {known}")
    return GRAMMAR_FIELDS[endpoint]


class CompletionStream:
    """The pieces of an answer's text, as they come; `completion` is the answer so far."""

    def __init__(self, documents: Iterator[dict[str, Any]], started: float, parameters: Mapping[str, Any]) -> None:
        self._documents = documents
        self._started = started
        self._parameters = parameters
        self._chunks = Chunks()

    def __iter__(self) -> Iterator[str]:
        for document in self._documents:
            try:
                piece = self._chunks.add(document)
            except (AttributeError, TypeError) as error:
                raise ModelError(
                    "the model endpoint's stream has an event that is not one of the chat format"
                ) from error
            if piece:
                yield piece
        if self._chunks.finish_reason is None:
            raise ModelError("the model's answer broke off before its end; try again")

    @property
    def completion(self) -> Completion:
        """The answer so far; its `finish_reason` is None until the model has ended it."""
        return read_completion(self._chunks.document(), time.perf_counter() - self._started, self._parameters)


def is_too_much(error: ModelError) -> bool:
    """Whether an endpoint may have refused a request for its size; llama.cpp calls that a failure of its own."""
    return error.status in REFUSED or (error.status == SERVER_ERROR and "too large" in str(error))


def read_timeout(default: float, environ: Mapping[str, str] = os.environ) -> float:
    """Return for how many seconds a model may answer, by the milliseconds of AGENTSCRIPT_LLM_TIMEOUT_MS."""
    given = environ.get(TIMEOUT_VARIABLE)
    if not given:
        return default
    try:
        milliseconds = float(given)
    except ValueError:
        milliseconds = 0.0
    if not (milliseconds > 0 and math.isfinite(milliseconds)):
        raise MemoryGraphError(f"{TIMEOUT_VARIABLE} is {given!r}; it is a number of milliseconds above 0, like 30000")
    return milliseconds / 1000


def check_url(url: str | None, name: str) -> str | None:
    """Return the URL of an endpoint, if it can be one."""
    if not url:
        return None
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")  # as a name is looked up; one like `host..local` is none
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url:
        # It is not shown: what is no URL may be a key in the wrong place.
        raise ModelError(f"the model endpoint's URL cannot be used: check {name}, it is like http://localhost:8000/v1")
    return url


def pin_host(url: str, addresses: PinnedAddresses) -> str:
    """Write an address of the host in the place of its name: the first that takes a connection.

    A name that is not found here stays what it is, for a proxy may find it.
    """
    parts = urlsplit(url)
    port = parts.port or 80
    try:
        found = addresses.find(parts.hostname or "", port)
    except OSError:
        return url
    except MemoryGraphError as error:
        raise ModelError(str(error)) from None
    address = next((each for each in found if len(found) > 1 and takes_connections(each, port)), found[0])
    return parts._replace(netloc=f"{host_in_url(address)}:{port}").geturl()


def takes_connections(address: str, port: int) -> bool:
    """Whether something listens at an address."""
    with suppress(OSError), socket.create_connection((address, port), PROBE_S):
        return True
    return False


def fits_header(value: str) -> bool:
    """Whether a header can hold a value as it is."""
    return value.isascii() and value.isprintable() and value.strip() == value


def check_key(api_key: str | None, name: str) -> str | None:
    """Return the API key, if it can stand in a header: the client's own error would show it."""
    if api_key and not fits_header(api_key):
        raise ModelError(f"the API key has blanks or characters that no key has: check {name}")
    return api_key


def custom_headers() -> Iterator[tuple[str, str]]:
    """The names and values of the headers in OPENAI_CUSTOM_HEADERS, which the client adds to each request."""
    for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n"):
        name, colon, value = line.partition(":")
        if colon:
            yield name.strip(), value.strip()


def check_headers() -> None:
    """Refuse headers of the environment that cannot be sent: the client's own error would name no variable."""
    for name, value in custom_headers():
        if not (value.isascii() and value.replace("\t", " ").isprintable() and HEADER_NAME.fullmatch(name)):
            raise ModelError(
                "OPENAI_CUSTOM_HEADERS has a line that cannot be a header: expected `NAME: VALUE` in ASCII"
            )
    for variable in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        if not fits_header(os.environ.get(variable, "")):
            raise ModelError(f"{variable} has blanks or characters that no header can have: check it")


def translate_model_error(
    error: Exception,
    api_key: str | None = None,
    configured_by: tuple[str, str] = CONFIGURED_BY,
    timeout_from: str | None = None,
) -> ModelError:
    """Return the error of memorygraph that stands for one of the client's, without the API key in its text.

    `timeout_from` is the variable that sets the timeout, if one does.
    """
    key, url = configured_by
    kinds = [kind.__name__ for kind in type(error).__mro__]
    if getattr(error, "status_code", None) in REDIRECTS:
        kinds.insert(0, REDIRECT)
    if type(error.__cause__).__name__ in BREAKS:
        kinds.insert(0, BROKEN)
    meaning = next((MEANINGS[name] for name in kinds if name in MEANINGS), "the model endpoint failed")
    brief = meaning.format(key=key, url=url, more_time=f"raise {timeout_from}" if timeout_from else "allow more time")
    detail = error_text(getattr(error, "body", None) or str(error) or type(error).__name__)
    return ModelError(f"{brief} ({without_key(detail, api_key)})", brief, getattr(error, "status_code", None))


def without_key(text: str, api_key: str | None) -> str:
    """Take the API key out of a text, unless it is a placeholder that local servers are given."""
    return text.replace(api_key, "[API key]") if api_key and len(api_key) >= MIN_KEY_CHARACTERS else text
