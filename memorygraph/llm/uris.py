"""The URIs by which programs name a model, and the endpoint and the key of each.

A key goes to its own service only: the program names an `ollama://` host, so that host gets none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from memorygraph.errors import MemoryGraphError, ModelError
from memorygraph.hosts import LOGIN
from memorygraph.llm.addresses import PinnedAddresses
from memorygraph.llm.model import TIMEOUT_VARIABLE, OpenAIModel, read_timeout

URI_TIMEOUT_S = 30.0
URI_FORMS = "openai://model, anthropic://model or ollama://host:port/model"

_VARIABLES = {
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
}
_SERVICES = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com/v1/"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:+-]*(?:/[A-Za-z0-9._:+-]+)*")
_HOST = re.compile(r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True)
class ModelUri:
    """A model as a program names it; `host` is that of an Ollama server, with its port."""

    provider: str
    name: str
    host: str | None = None

    @classmethod
    def parse(cls, uri: str) -> ModelUri:
        """Read a URI."""
        provider, separator, rest = uri.partition("://")
        if not separator or provider not in {"openai", "anthropic", "ollama"}:
            raise MemoryGraphError(f"{hide_credentials(uri)} names no model; a model's URI is {URI_FORMS}")
        if reason := forbidden_part(rest):
            raise MemoryGraphError(f"{hide_credentials(uri)} {reason}; a model's URI is {URI_FORMS}")
        host, name = None, rest
        if provider == "ollama":
            host, _, name = rest.partition("/")
            match = _HOST.fullmatch(host)
            if match is None or not 0 < int(match["port"]) < 65536:
                raise MemoryGraphError(
                    f"{hide_credentials(uri)} has no host and port; it is like ollama://localhost:11434/qwen3"
                )
        if not _NAME.fullmatch(name):
            raise MemoryGraphError(f"{hide_credentials(uri)} has no usable name; a model's URI is {URI_FORMS}")
        return cls(provider, name, host)


def model_of(
    uri: str, environ: Mapping[str, str] = os.environ, addresses: PinnedAddresses | None = None
) -> OpenAIModel:
    """Return the model that a URI names, with the key of its service. It fails at once, without a second attempt.

    `addresses` are where the names of hosts lead.
    """
    named = ModelUri.parse(uri)
    if named.provider == "ollama":
        names, url, key = (uri, uri), f"http://{named.host}/v1", ""
    else:
        names = _VARIABLES[named.provider]
        key, url = (environ.get(name, "") for name in names)
        if not key and not url:
            raise ModelError(f"{uri} needs a key: set {names[0]}, or {names[1]} to a compatible endpoint")
        url = url or _SERVICES[named.provider]
    return OpenAIModel(
        named.name,
        url,
        key,
        timeout=read_timeout(URI_TIMEOUT_S, environ),
        timeout_from=TIMEOUT_VARIABLE,
        retries=0,
        configured_by=names,
        pinned=(addresses or PinnedAddresses()) if named.provider == "ollama" else None,
    )


def find_model(model: str | None = None, addresses: PinnedAddresses | None = None) -> OpenAIModel:
    """Return the model of a name or a URI, by default that of MEMORYGRAPH_MODEL; `with` closes it."""
    model = model or os.environ.get("MEMORYGRAPH_MODEL")
    return model_of(model, addresses=addresses) if model and "://" in model else OpenAIModel(model)


def forbidden_part(rest: str) -> str | None:
    """Name a part that a URI must not have, because it would be read otherwise than it looks."""
    if "@" in rest.partition("/")[0]:
        return "has credentials in it, which a program must not hold"
    if "?" in rest or "#" in rest:
        return "has a query or a fragment, which no model has"
    if "%" in rest:
        return "has percent-encoded characters, which no model's name needs"
    return None


def hide_credentials(uri: str) -> str:
    """Show a URI in a message: without what may be a password, and cut.

    >>> hide_credentials("openai://ada:pass/word@host/m")
    "'openai://…@host/m'"
    """
    shown = re.sub(r"//[^/@]*@", "//…@", LOGIN.sub("…@", uri))
    return repr(shown if len(shown) <= 100 else shown[:100] + "…")
