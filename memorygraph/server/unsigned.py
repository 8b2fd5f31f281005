"""Jars without the signature of their publisher: with it, a start of Neo4j takes a third longer.

The JVM checks each class of a signed jar as it loads it, and keeps none of them in its AOT cache. The pin of the
published file, which is checked before its signature is taken away, says more than the signature: which bytes it has.
The rewritten jar is the same everywhere, byte for byte, so that it has a pin of its own.
"""

from __future__ import annotations

import re
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "META-INF/MANIFEST.MF"
_UNIX = 3
_SIGNATURE = re.compile(r"META-INF/[^/]+\.(SF|RSA|DSA|EC)", re.IGNORECASE)


def write_unsigned(signed: Path, unsigned: Path) -> None:
    """Copy a jar without its signature: its entries in their order, not compressed, all of one date.

    Raises:
        zipfile.BadZipFile: it is no jar.
    """
    with zipfile.ZipFile(signed) as source, zipfile.ZipFile(unsigned, "w", zipfile.ZIP_STORED) as copy:
        for name in source.namelist():
            if _SIGNATURE.fullmatch(name):
                continue
            entry = zipfile.ZipInfo(name)
            entry.create_system = _UNIX
            content = source.read(name)
            copy.writestr(entry, _main_section(content) if name == MANIFEST else content)


def _main_section(manifest: bytes) -> bytes:
    """What a manifest says of the whole jar; behind an empty line follow the digests of its entries."""
    return re.split(rb"\r?\n\r?\n", manifest, maxsplit=1)[0] + b"\n\n"
