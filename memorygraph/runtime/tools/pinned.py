"""A transport of HTTP that connects to the addresses that were checked, and to no others.

A client that is given a name looks it up for each connection: what was checked at the first could lead elsewhere at the
second. This one looks up each name once. The name stays what TLS proves and what the header `Host` says. A transport is
for requests to one host: two names at one address would share connections.

Where the environment names a proxy for a URL, that connects, and it looks up the name.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import anyio.to_thread
import httpx2

from memorygraph.llm.addresses import PinnedAddresses, is_loopback
from memorygraph.llm.certificates import naming_proxy, trusted_certificates


class PinnedSending:
    """Connects to the first address of a host that takes the connection.

    `library` is httpx2, or httpx for what needs that: each has its own classes, of the same names.
    """

    library: Any

    def __init__(self, addresses: PinnedAddresses, transport: Any) -> None:
        self._addresses = addresses
        self._transport = transport

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request."""
        host, port = request.url.host, request.url.port or (443 if request.url.scheme == "https" else 80)
        try:
            found = await anyio.to_thread.run_sync(self._addresses.find, host, port, abandon_on_cancel=True)
        except OSError as error:
            raise self.library.ConnectError(f"{host} is not found: {error}", request=request) from error
        extensions = {**request.extensions, "sni_hostname": host}
        failures = []
        for address in found:
            aimed = self.library.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions=extensions,
            )
            try:
                return await self._transport.handle_async_request(aimed)
            except (self.library.ConnectError, self.library.ConnectTimeout) as error:
                failures.append(error)
        raise failures[0]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()


class PinnedTransport(PinnedSending, httpx2.AsyncBaseTransport):
    """The transport for clients of httpx2."""

    library = httpx2

    def __init__(self, addresses: PinnedAddresses, transport: httpx2.AsyncHTTPTransport | None = None) -> None:
        super().__init__(addresses, transport or httpx2.AsyncHTTPTransport(verify=trusted_certificates()))


def pinned_httpx_transport(addresses: PinnedAddresses) -> Any:
    """The transport for clients of httpx, which the MCP SDK has before its version 2."""
    import httpx

    transport = type("PinnedHttpxTransport", (PinnedSending, httpx.AsyncBaseTransport), {"library": httpx})
    return transport(addresses, httpx.AsyncHTTPTransport(verify=trusted_certificates()))


def make_transport(url: str, addresses: PinnedAddresses, library: Any = httpx2) -> Any:
    """The transport for a client of httpx2, or of httpx, whose requests go to the host of a URL."""
    found = find_proxy(url)
    if found is None:
        return PinnedTransport(addresses) if library is httpx2 else pinned_httpx_transport(addresses)
    kind, proxy = found
    with naming_proxy(kind, library):
        return library.AsyncHTTPTransport(proxy=proxy, verify=trusted_certificates())


def find_proxy(url: str) -> tuple[str, str] | None:
    """The proxy that the environment names for a URL, after what it is for: the scheme, or `all`.

    There is none for this machine's own services, which it cannot reach.
    """
    parts, named = urlsplit(url), getproxies()
    kind = parts.scheme if named.get(parts.scheme) else "all"
    proxy = named.get(kind)
    if not proxy or is_loopback(parts.hostname or "") or proxy_bypass(parts.netloc):
        return None
    return kind, proxy if "://" in proxy else f"http://{proxy}"
