"""The certificates that this machine trusts, which a process reads once.

A client of HTTP reads them for itself otherwise: 25 ms, which is longer than a request to a model on this machine.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from memorygraph.errors import MemoryGraphError

if TYPE_CHECKING:
    import ssl


def trusted_certificates() -> ssl.SSLContext:
    """What every client checks a server's certificate by; SSL_CERT_FILE and SSL_CERT_DIR count, as they are now.

    Raises:
        MemoryGraphError: they cannot be read, as where SSL_CERT_FILE names a file that is no longer there.

    >>> trusted_certificates() is trusted_certificates()
    True
    """
    return _read_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=1)
def _read_certificates(file: str | None, _folder: str | None) -> ssl.SSLContext:
    import httpx2

    try:
        return httpx2.create_ssl_context()
    except OSError as error:  # also that of OpenSSL, for a file without a certificate
        reason = error.strerror or type(error).__name__
        if file:
            said = f"SSL_CERT_FILE names `{file}`, which is no file of certificates ({reason}): correct it, or unset it"
            raise MemoryGraphError(said) from error
        raise MemoryGraphError(f"the certificates that this machine trusts cannot be read: {reason}") from error
