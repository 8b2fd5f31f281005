"""Addresses of endpoints: which are of this machine, where a name or a path leads, and one without its secrets."""

from __future__ import annotations

import ipaddress
import socket
from threading import Lock
from urllib.parse import unquote, urlsplit

from memorygraph.errors import MemoryGraphError
from memorygraph.hosts import is_local_only

MAX_UNQUOTINGS = 10  # of a path: the time for each is as long as the path


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


def show_endpoint(url: str) -> str:
    """Show a URL by its scheme, host and port: the rest may hold a key.

    >>> show_endpoint("https://ada:pw@example.org:8000/v1/key?key=pw")
    'https://example.org:8000'
    """
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}"


def climbs(path: str) -> bool:
    """Whether a part of a path is `.` or `..`, for any server: some take a backslash for a slash, or cut at `;`.

    A path that `MAX_UNQUOTINGS` do not resolve may hold one.

    >>> climbs("/items/..%2fadmin"), climbs("/items/..;x=1/admin"), climbs("/items/v1..2")
    (True, True, False)
    """
    plain = unquote_fully(path)
    parts = plain.replace("\\", "/").split("/")
    return unquote(plain) != plain or any(part.partition(";")[0].strip() in {".", ".."} for part in parts)


def unquote_fully(path: str) -> str:
    """Resolve the percent signs of a path as often as a careless server could do it, at most `MAX_UNQUOTINGS` times."""
    for _ in range(MAX_UNQUOTINGS):
        path = unquote(path)
    return path
