"""Fuzzing the readers of all languages: only located errors, in time and memory, and what textX itself reads.

MEMORYGRAPH_FUZZ says how many inputs of each language, MEMORYGRAPH_TEST_SEED which ones; with MEMORYGRAPH_TEST_LONG it
is a million.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from memorygraph.languages import LANGUAGES, parse
from tests.examples import amount
from tests.trust.chance import seed
from tests.trust.fuzzing import KINDS, Report, fuzz, is_located

COUNT = int(os.environ.get("MEMORYGRAPH_FUZZ", amount(ordinary=1000, whole=2500, long=10**6)))
SEED = seed()
SHARE = 500  # inputs that a worker is given at a time


@pytest.fixture(scope="module")
def workers() -> Iterator[ProcessPoolExecutor]:
    """Processes of their own, so that their limits are not those of the tests."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(os.cpu_count() or 1, 8), context) as workers:
        yield workers
        workers.shutdown(cancel_futures=True)


@pytest.mark.timeout(0 if COUNT > 2500 else 300)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_input_is_read_as_textx_reads_it_or_has_located_problems(
    language: str, workers: ProcessPoolExecutor
) -> None:
    start = time.monotonic()
    shares = [range(first, min(first + SHARE, COUNT)) for first in range(0, COUNT, SHARE)]
    report = Report()
    for part in [workers.submit(fuzz, language, SEED, share) for share in shares]:
        report.add(part.result())
    print(
        f"{language}: {sum(report.kinds.values())} inputs, seed {SEED}, {dict(report.kinds)}; textX compared "
        f"{report.compared}, read whole {report.whole}; slowest {report.slowest:.3f} s, memory at most "
        f"{report.memory / 2**20:.0f} MiB, {len(report.failures)} failures, {time.monotonic() - start:.0f} s"
    )
    assert not report.failures, "\n\n".join(report.failures)
    assert sum(report.kinds.values()) == COUNT
    assert COUNT < 1000 or set(report.kinds) == set(KINDS)
    # A generator that makes nothing but nonsense, or nothing wrong, would try little.
    assert COUNT < 1000 or 0.05 < report.whole / report.compared < 0.95


# What fuzzing has found: of these, a second problem was said at a place before the first one.
@pytest.mark.parametrize(
    ("language", "text", "places"),
    [
        ("agentscript", "main\nagent { role (\n)}", ["2:14"]),
        ("agentscript", "main // first\nagent A { main func() { return } }", ["2:32"]),
        ("agentscript", 'import\nagent A from "a"1', ["2:17"]),
        ("agentscript", "agent\nimport { } importfile", ["2:12"]),
    ],
)
def test_what_was_found_stays_mended(language: str, text: str, places: list[str]) -> None:
    problems = parse(text, language).problems
    is_located(problems, text)
    assert [f"{problem.line}:{problem.column}" for problem in problems] == places
