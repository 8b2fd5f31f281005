"""A transport of HTTP that connects to the addresses that were checked, and to no others.

A client that is given a name looks it up for each connection: what was checked at the first could lead elsewhere at the
second. This one looks up each name once. The name stays what TLS proves and what the header `Host` says. A transport is
for requests to one host: two names at one address would share connections.
"""

from __future__ import annotations

import anyio.to_thread
import httpx2

from memorygraph.llm.addresses import PinnedAddresses


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Connects to the first address of a host that takes the connection."""

    def __init__(self, addresses: PinnedAddresses, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._addresses = addresses
        self._transport = transport or httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        host, port = request.url.host, request.url.port or (443 if request.url.scheme == "https" else 80)
        try:
            found = await anyio.to_thread.run_sync(self._addresses.find, host, port, abandon_on_cancel=True)
        except OSError as error:
            raise httpx2.ConnectError(f"{host} is not found: {error}", request=request) from error
        extensions = {**request.extensions, "sni_hostname": host}
        failures = []
        for address in found:
            aimed = httpx2.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions=extensions,
            )
            try:
                return await self._transport.handle_async_request(aimed)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failures.append(error)
        raise failures[0]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()
