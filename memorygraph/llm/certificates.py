"""The certificates that this machine trusts, which a process reads once, and the proxies that its environment names.

A client of HTTP reads certificates for itself otherwise: 25 ms, longer than a request to a model on this machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

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
        if proxy := named.get(kind):
            with naming_proxy(kind, httpx2):
                httpx2.HTTPTransport(
                    proxy=proxy if "://" in proxy else f"http://{proxy}", verify=trusted_certificates()
                ).close()


@contextmanager
def naming_proxy(kind: str, library: Any) -> Iterator[None]:
    """Name the variable whose proxy a client of httpx2, or of httpx, cannot be made for.

    `kind` is what its name begins with, such as `https` or `all`. The proxy is not shown: it may hold a password.

    Raises:
        MemoryGraphError: a client could not be made.
    """
    variable = f"{kind}_proxy" if os.environ.get(f"{kind}_proxy") else f"{kind}_proxy".upper()
    try:
        yield
    except ImportError:
        raise MemoryGraphError(
            f"{variable} names a SOCKS proxy, for which another package is needed: `pip install socksio`, or name "
            "an HTTP proxy"
        ) from None
    except (ValueError, library.InvalidURL):
        raise MemoryGraphError(
            f"{variable} names no proxy that can be used: expected one like http://host:3128 or socks5://host:1080"
        ) from None
