"""The endpoint that the proxy forwards to: each request as it came, and each answer as it comes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from memorygraph.errors import MemoryGraphError
from memorygraph.llm.addresses import is_loopback, show_endpoint
from memorygraph.llm.certificates import check_proxies, trusted_certificates
from memorygraph.llm.model import check_url
from memorygraph.proxy.access import ProxyRefusalError

if TYPE_CHECKING:
    import httpx2

CONNECT_S = 10.0
SILENCE_S = 600.0  # a model may think for minutes before its first byte
MAX_UPSTREAM_CONNECTIONS = 1000

Headers = list[tuple[bytes, bytes]]

_NOT_IN_URLS = re.compile(rb"[^!-~]")


def escape_byte(match: re.Match[bytes]) -> bytes:
    """Write a byte as a URL can hold it.

    >>> _NOT_IN_URLS.sub(escape_byte, "modèle".encode())
    b'mod%C3%A8le'
    """
    return b"%%%02X" % ord(match[0])


class UpstreamBrokeError(Exception):
    """The endpoint broke off in the middle of an answer."""


class Upstream:
    """An endpoint by its base URL, such as `https://api.openai.com/v1`; `silence` is the seconds it may say nothing.

    Raises:
        MemoryGraphError: the URL cannot be one, holds a password, or has a query; or the environment's proxy or
            certificates cannot be used.
    """

    def __init__(self, base_url: str, silence: float = SILENCE_S) -> None:
        import httpx2

        check_url(base_url, "--upstream or OPENAI_BASE_URL")
        parts = urlsplit(base_url)
        if parts.username or parts.password or parts.query or parts.fragment:
            raise MemoryGraphError("the URL to forward to has a host and a path, and no password and no query")
        self.base_url = base_url.rstrip("/")
        self._base = httpx2.URL(self.base_url)
        self._silence = silence
        # A proxy of the environment cannot reach this machine's own services.
        direct = is_loopback(parts.hostname or "")
        if not direct:
            check_proxies()
        self._client = httpx2.Client(
            follow_redirects=False,
            timeout=httpx2.Timeout(silence, connect=CONNECT_S),
            limits=httpx2.Limits(max_connections=MAX_UPSTREAM_CONNECTIONS, max_keepalive_connections=20),
            trust_env=not direct,
            verify=trusted_certificates(),
        )

    def __str__(self) -> str:
        return show_endpoint(self.base_url)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def send(self, method: str, path: str, headers: Headers, body: Iterable[bytes] | None) -> UpstreamAnswer:
        """Send a request to a path below the base URL, and return its answer when that begins.

        Raises:
            ProxyRefusalError: the endpoint cannot be reached, or says nothing in time.
            OSError: the client, whose body is read meanwhile, went away.
        """
        import httpx2

        target = self._base.raw_path.rstrip(b"/") + _NOT_IN_URLS.sub(escape_byte, path.encode("latin-1"))
        # The client's own headers, such as a User-Agent, are not added to a request that is made like this.
        request = httpx2.Request(method, self._base.copy_with(raw_path=target), headers=headers, content=body)
        try:
            return UpstreamAnswer(self._client.send(request, stream=True, auth=None))
        except httpx2.ConnectTimeout:
            raise ProxyRefusalError(504, f"{self} takes no connection within {CONNECT_S:.0f} seconds") from None
        except httpx2.TimeoutException:
            raise ProxyRefusalError(504, f"{self} said nothing for {self._silence:.0f} seconds") from None
        except httpx2.HTTPError as error:
            raise ProxyRefusalError(502, f"{self} cannot be reached, or broke off: {type(error).__name__}") from None


class UpstreamAnswer:
    """The answer of the endpoint: its head, and its body as the pieces in which it comes."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.reason = response.reason_phrase
        self.headers: Headers = list(response.headers.raw)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._response.close()

    def header(self, name: str) -> str:
        """Return a header; empty without it."""
        return str(self._response.headers.get(name, ""))

    def pieces(self) -> Iterator[bytes]:
        """Yield the body as it comes over the wire, in its encoding.

        Raises:
            UpstreamBrokeError: it ends before its end.
        """
        import httpx2

        try:
            yield from self._response.iter_raw()
        except httpx2.HTTPError as error:
            raise UpstreamBrokeError(f"the answer broke off: {type(error).__name__}") from error
