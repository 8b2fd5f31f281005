"""What a host name says about who can listen, how a URL has it, and what else stands before it."""

from __future__ import annotations

import ipaddress
import re

LOGIN = re.compile(r"(?<=//)([^/?#\s:@]*:\S*|[^/?#\s]*)@")
"""The user and the password in an address, also where these have signs in them that ought to be percent-encoded."""


def is_local_only(host: str) -> bool:
    """Whether only this machine can reach a host.

    What is served or sent without protection rests on it. So a name under `localhost` does not count, which a resolver
    may lead elsewhere: `llm.addresses.is_loopback` takes it for this machine, to choose a way to an endpoint.

    >>> is_local_only("localhost"), is_local_only("::1"), is_local_only("0.0.0.0"), is_local_only("example.org")
    (True, True, False, False)
    >>> is_local_only("[::1]"), is_local_only("service.localhost")
    (True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_in_url(host: str) -> str:
    """A host as a URL has it: an IPv6 address in brackets.

    >>> host_in_url("::1"), host_in_url("[::1]"), host_in_url("example.org:80")
    ('[::1]', '[::1]', 'example.org:80')
    """
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host
