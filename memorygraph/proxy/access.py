"""Who may use the proxy, and in which namespace their calls are recorded.

Without tokens only this machine is served, and no web page: a page in a browser could otherwise send requests here,
through its own name for this address. With tokens each request needs one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from urllib.parse import urlsplit

from memorygraph.bearer_tokens import hash_token
from memorygraph.errors import MemoryGraphError
from memorygraph.hosts import is_local_only

TOKEN_HEADER = "X-Memorygraph-Token"  # noqa: S105 - the name of a header


class ProxyRefusalError(Exception):
    """The proxy answers a request itself, with this HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Admission:
    """The namespace of a client, and whether its API key was the proxy's token, which goes no further."""

    namespace: str
    key_is_token: bool = False


class Access:
    """The rule of who may use a proxy at a host. `tokens` gives the namespace of each token.

    Raises:
        MemoryGraphError: others than this machine can reach the host, and there are no tokens.
    """

    def __init__(self, host: str, namespace: str, tokens: Mapping[str, str] | None = None) -> None:
        if not tokens and not is_local_only(host):
            raise MemoryGraphError(
                f"at {host} others can reach the proxy: give it tokens (--token NAMESPACE=TOKEN or --tokens FILE), or "
                "let it listen at 127.0.0.1"
            )
        self._namespace = namespace
        self._namespaces = {hash_token(token): name for token, name in (tokens or {}).items()}

    @property
    def namespaces(self) -> frozenset[str]:
        """Every namespace in which calls may be recorded."""
        return frozenset(self._namespaces.values() or [self._namespace])

    def admit(self, headers: Message) -> Admission:
        """Return whose request this is.

        Raises:
            ProxyRefusalError: the request has no token where one is needed, or comes from a web page.
        """
        if not self._namespaces:
            check_local(headers)
            return Admission(self._namespace)
        scheme, _, key = headers.get("authorization", "").partition(" ")
        of_key = self._namespaces.get(hash_token(key.strip())) if scheme.lower() == "bearer" else None
        given = headers.get(TOKEN_HEADER)
        namespace = of_key if given is None else self._namespaces.get(hash_token(given.strip()))
        if namespace is None:
            raise ProxyRefusalError(
                401, f"the recording proxy needs its token: in the header {TOKEN_HEADER}, or in place of the API key"
            )
        return Admission(namespace, key_is_token=of_key is not None)


def check_local(headers: Message) -> None:
    """Refuse a request that names another host than this machine, or comes from the page of another one."""
    named = [f"//{headers.get('host', '')}"]
    if (origin := headers.get("origin")) is not None:
        named.append(origin)
    for url in named:
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            host = ""
        if not is_local_only(host):
            raise ProxyRefusalError(
                403, "the recording proxy serves this machine's programs only, under its loopback names"
            )
