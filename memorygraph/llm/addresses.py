"""Addresses of endpoints: which are of this machine, and how one is shown without what may be secret in it."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("example.org")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def show_endpoint(url: str) -> str:
    """Show a URL by its scheme, host and port: the rest may hold a key.

    >>> show_endpoint("https://ada:pw@example.org:8000/v1/key?key=pw")
    'https://example.org:8000'
    """
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}"
