"""What a host name says about who can listen."""

from __future__ import annotations

import ipaddress


def is_local_only(host: str) -> bool:
    """Whether only this machine can reach a host.

    >>> is_local_only("localhost"), is_local_only("::1"), is_local_only("0.0.0.0"), is_local_only("example.org")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
