"""The certificates that this machine trusts, which a process reads once.

A client of HTTP reads them for itself otherwise: 25 ms, which is longer than a request to a model on this machine.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl


def trusted_certificates() -> ssl.SSLContext:
    """What every client checks a server's certificate by; SSL_CERT_FILE and SSL_CERT_DIR count, as they are now.

    >>> trusted_certificates() is trusted_certificates()
    True
    """
    return _read_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=1)
def _read_certificates(*_variables: str | None) -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()
