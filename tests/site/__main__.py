"""Write the made pages, or build the site: see the package."""

from __future__ import annotations

import sys

from tests.site.build import build
from tests.site.pages import write_all

if __name__ == "__main__":
    if sys.argv[1:] == ["build"]:
        sys.exit(build() or 0)
    write_all()
