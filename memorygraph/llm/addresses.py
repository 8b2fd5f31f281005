"""Addresses of endpoints: which are of this machine, where a name leads, and how one is shown without its secrets."""

from __future__ import annotations

import ipaddress
import os
import socket
from threading import Lock
from urllib.parse import urlsplit
from urllib.request import getproxies

from memorygraph.errors import MemoryGraphError
from memorygraph.hosts import is_local_only
from memorygraph.llm.certificates import trusted_certificates


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself: a local-only one, or a name under `localhost` (RFC 6761).

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("example.org")
    (True, True, True, False)
    >>> is_loopback("[::1]"), is_loopback("service.localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    return is_local_only(host) or host.endswith(".localhost")


class PinnedAddresses:
    """Where the names of hosts lead, each looked up once. Safe to share between threads.

    A name leads wherever its owner says, at each look-up anew. So a name keeps the addresses that it had at first. It
    never leads to this machine unless it is a name of it, nor to link-local addresses, where clouds keep credentials:
    those are reached only by a host that is such an address itself.

    >>> PinnedAddresses().find("127.0.0.1", 80)
    ('127.0.0.1',)
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, ...]] = {}
        self._lock = Lock()

    def find(self, host: str, port: int) -> tuple[str, ...]:
        """Return the addresses of a host, the preferred one first.

        Raises:
            OSError: the name is not found.
            MemoryGraphError: it leads only where no name may lead.
        """
        name = host.rstrip(".").lower()  # the same name, however it is written
        with self._lock:
            if name not in self._found:
                self._found[name] = look_up(host, port)
            return self._found[name]


def look_up(host: str, port: int) -> tuple[str, ...]:
    """Look up the addresses of a host that its name may lead to; one that is an address leads to itself."""
    try:
        return (str(ipaddress.ip_address(host)),)
    except ValueError:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    found = list(dict.fromkeys(str(address[0]) for *_, address in answers))
    if allowed := tuple(address for address in found if may_lead_to(host, address)):
        return allowed
    raise MemoryGraphError(
        f"the name {host} leads to {', '.join(found)}, where the name of another machine must not lead; if that is "
        "meant, write and allow the address itself"
    )


def may_lead_to(host: str, address: str) -> bool:
    """Whether a name may lead to an address.

    >>> may_lead_to("localhost", "127.0.0.1"), may_lead_to("example.org", "127.0.0.1")
    (True, False)
    >>> may_lead_to("example.org", "10.0.0.7"), may_lead_to("example.org", "169.254.169.254")
    (True, False)
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    found = getattr(found, "ipv4_mapped", None) or found
    if found.is_loopback or found.is_unspecified:
        own = socket.gethostname().lower()
        return is_loopback(host) or host.lower() in {own, own.partition(".")[0]}
    return not (found.is_link_local or found.is_multicast)


def check_proxies() -> None:
    """Refuse a proxy of the environment that no client can be made for: each is tried, as the client tries them all.

    Raises:
        MemoryGraphError: a variable such as ALL_PROXY names none, or a SOCKS proxy without the package for it.
    """
    import httpx2

    named = getproxies()
    if "*" in map(str.strip, named.get("no", "").split(",")):
        return
    for kind in ("http", "https", "all"):
        if not (proxy := named.get(kind)):
            continue
        variable = f"{kind}_proxy" if os.environ.get(f"{kind}_proxy") else f"{kind}_proxy".upper()
        try:
            httpx2.HTTPTransport(
                proxy=proxy if "://" in proxy else f"http://{proxy}", verify=trusted_certificates()
            ).close()
        except ImportError:
            raise MemoryGraphError(
                f"{variable} names a SOCKS proxy, for which another package is needed: `pip install socksio`, or name "
                "an HTTP proxy"
            ) from None
        except (ValueError, httpx2.InvalidURL):  # it is not shown, for it may hold a password
            raise MemoryGraphError(
                f"{variable} names no proxy that can be used: expected one like http://host:3128 or socks5://host:1080"
            ) from None


def show_endpoint(url: str) -> str:
    """Show a URL by its scheme, host and port: the rest may hold a key.

    >>> show_endpoint("https://ada:pw@example.org:8000/v1/key?key=pw")
    'https://example.org:8000'
    """
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}"
