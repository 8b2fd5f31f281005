"""The URIs by which programs name a model, and the endpoint and the key that each stands for.

A key goes to its own service only: an `ollama://` host is named by the program, and gets none.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from memorygraph.errors import MemoryGraphError, ModelError
from memorygraph.llm.model import OpenAIModel

TIMEOUT_MS = 30_000
TIMEOUT_VARIABLE = "AGENTSCRIPT_LLM_TIMEOUT_MS"
FORMS = "openai://model, anthropic://model or ollama://host:port/model"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+-]*(?:/[A-Za-z0-9._:+-]+)*")
_HOST = re.compile(r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True)
class ModelUri:
    """A model as a program names it; `host` is that of an Ollama server, with its port.

    >>> ModelUri.parse("ollama://localhost:11434/library/qwen:7b")
    ModelUri(provider='ollama', name='library/qwen:7b', host='localhost:11434')
    """

    provider: str
    name: str
    host: str | None = None

    @classmethod
    def parse(cls, uri: str) -> ModelUri:
        """Read a URI.

        Raises:
            MemoryGraphError: it is none of the forms.
        """
        provider, separator, rest = uri.partition("://")
        if not separator or provider not in {"openai", "anthropic", "ollama"}:
            raise MemoryGraphError(f"{_shown(uri)} names no model; a model's URI is {FORMS}")
        if reason := _refusal(rest):
            raise MemoryGraphError(f"{_shown(uri)} {reason}; a model's URI is {FORMS}")
        host, name = None, rest
        if provider == "ollama":
            host, _, name = rest.partition("/")
            match = _HOST.fullmatch(host)
            if match is None or not 0 < int(match["port"]) < 65536:
                raise MemoryGraphError(f"{_shown(uri)} has no host and port; it is like ollama://localhost:11434/qwen3")
        if not _NAME.fullmatch(name):
            raise MemoryGraphError(f"{_shown(uri)} has no usable name of a model; a model's URI is {FORMS}")
        return cls(provider, name, host)


def model_of(uri: str, environ: Mapping[str, str] = os.environ) -> OpenAIModel:
    """The model that a URI names, with the key of its service. It fails at once, without a second try.

    >>> model_of("ollama://localhost:11434/qwen3", {})
    OpenAIModel('qwen3', 'http://localhost:11434/v1')

    Raises:
        MemoryGraphError: the URI is none.
        ModelError: its service has no key.
    """
    named = ModelUri.parse(uri)
    if named.provider == "ollama":
        return _model(named, f"http://{named.host}/v1", "", environ, (uri, uri))
    service = named.provider.upper()
    key_name, url_name = f"{service}_API_KEY", f"{service}_BASE_URL"
    key, url = environ.get(key_name, ""), environ.get(url_name, "")
    if not key and not url:
        raise ModelError(f"{uri} needs a key: set {key_name}, or {url_name} to a compatible endpoint")
    return _model(named, url or _SERVICES[named.provider], key, environ, (key_name, url_name))


_SERVICES = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com/v1/"}


@contextmanager
def opened(model: str | None = None) -> Iterator[OpenAIModel]:
    """The model of a name or a URI, by default that of MEMORYGRAPH_MODEL; its connections are closed at the end.

    >>> with opened("small") as model:
    ...     model.name
    'small'

    Raises:
        MemoryGraphError: the URI is none.
        ModelError: its service has no key.
        ModelError: the endpoint's URL or key cannot be one.
    """
    with model_of(model) if model and "://" in model else OpenAIModel(model) as found:
        yield found


def timeout_of(environ: Mapping[str, str] = os.environ) -> float:
    """For how many seconds a model may answer: 30, or what AGENTSCRIPT_LLM_TIMEOUT_MS says.

    >>> timeout_of({"AGENTSCRIPT_LLM_TIMEOUT_MS": "1500"})
    1.5

    Raises:
        MemoryGraphError: it says no number of milliseconds.
    """
    given = environ.get(TIMEOUT_VARIABLE) or str(TIMEOUT_MS)
    try:
        milliseconds = float(given)
    except ValueError:
        milliseconds = 0.0
    if not (milliseconds > 0 and math.isfinite(milliseconds)):
        raise MemoryGraphError(f"{TIMEOUT_VARIABLE} is {given!r}; it is a number of milliseconds above 0, like 30000")
    return milliseconds / 1000


def _model(
    named: ModelUri, base_url: str, api_key: str, environ: Mapping[str, str], configured_by: tuple[str, str]
) -> OpenAIModel:
    return OpenAIModel(
        named.name, base_url, api_key, timeout=timeout_of(environ), retries=0, configured_by=configured_by
    )


def _refusal(rest: str) -> str | None:
    """What a URI must not have, because it would be read otherwise than it looks."""
    if "@" in rest.partition("/")[0]:
        return "has credentials in it, which a program must not hold"
    if "?" in rest or "#" in rest:
        return "has a query or a fragment, which no model has"
    if "%" in rest:
        return "has percent-encoded characters, which no model's name needs"
    return None


def _shown(uri: str) -> str:
    """A URI in a message: without what may be a password, and cut."""
    shown = re.sub(r"//[^/@]*@", "//…@", uri)
    return repr(shown if len(shown) <= 100 else shown[:100] + "…")
