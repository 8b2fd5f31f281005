"""Brings Neo4j into its image: its verified files, and the cache that makes each start quicker."""

from __future__ import annotations

import shutil
from pathlib import Path

from memorygraph.server.aot_cache import AotCache
from memorygraph.server.aot_training import make_cache
from memorygraph.server.installation import install
from memorygraph.server.java import java_executable

LIBRARIES = Path("/opt/neo4j/lib")
AOT_CACHE = Path("/opt/neo4j/classes.aot")
MAKING_LIMIT_S = 300


def _make_cache(class_path: list[Path]) -> None:
    cache = AotCache.of(java_executable(), LIBRARIES, class_path)
    cache.folder.mkdir()
    try:
        make_cache(cache, class_path, MAKING_LIMIT_S).replace(AOT_CACHE).chmod(0o644)
    except Exception as error:  # noqa: BLE001 - an image without the cache is a good image, and slower to start
        print(f"the image has no start cache: {type(error).__name__}: {error}")
    finally:
        shutil.rmtree(cache.folder)


if __name__ == "__main__":
    _make_cache(install(LIBRARIES))
