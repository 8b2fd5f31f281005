"""The findings of an examination of the set-up, and its checks, which run side by side, each for a limited time.

A finding holds no secret, so that its text can go into a report of a problem.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Thread

from memorygraph.errors import MemoryGraphError
from memorygraph.hosts import LOGIN

MAX_CHECK_S = 20.0
MIN_HIDDEN_CHARACTERS = 6

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_QUERY_VALUE = re.compile(r"[?&][^=&#\s]+=([^&#\s]+)")


@dataclass(frozen=True)
class Diagnosis:
    """One examined part. `ok` is False only where it keeps memorygraph from working; a `warning` does not."""

    name: str
    ok: bool
    detail: str
    next_step: str | None = None
    warning: bool = False

    @classmethod
    def passed(cls, name: str, detail: str, next_step: str | None = None) -> Diagnosis:
        """A part with which memorygraph works; a next step may still make it better."""
        return cls(name, ok=True, detail=detail, next_step=next_step)

    @classmethod
    def warned(cls, name: str, detail: str, next_step: str | None = None) -> Diagnosis:
        """A part that is not as it should be, and with which memorygraph works all the same."""
        return cls(name, ok=True, detail=detail, next_step=next_step, warning=True)

    @classmethod
    def failed(cls, name: str, detail: str, next_step: str | None = None) -> Diagnosis:
        """A part that keeps memorygraph from working."""
        return cls(name, ok=False, detail=detail, next_step=next_step)

    def without(self, secrets: Iterable[str]) -> Diagnosis:
        """Mask these texts, and what stands before the @ of an address.

        >>> Diagnosis.passed("a", "bolt://ada:pw@host refused sesame").without(["sesame"]).detail
        'bolt://***@host refused ***'
        """

        def mask(text: str) -> str:
            for secret in secrets:
                text = text.replace(secret, "***")
            return LOGIN.sub("***@", text)

        return replace(self, detail=mask(self.detail), next_step=self.next_step and mask(self.next_step))


Check = Callable[[], Diagnosis | Sequence[Diagnosis]]


def run_checks(checks: Mapping[str, Check], limit_s: float = MAX_CHECK_S) -> list[Diagnosis]:
    """Run all checks at the same time; one that fails, or is not done in time, is a finding too."""
    step = "look at what it waits for: a slow disk, a name server, or a server that is silent"
    found: dict[str, Sequence[Diagnosis]] = {}

    def run(name: str, check: Check) -> None:
        try:
            result = check()
        except (MemoryGraphError, OSError) as error:
            # The text of our own errors holds the next step already.
            result = Diagnosis.failed(name, str(error))
        except Exception as error:  # noqa: BLE001 - the other checks go on, and this one is to be reported
            result = Diagnosis.failed(
                name, f"the check itself failed: {type(error).__name__}: {error}", "please report it"
            )
        found[name] = [result] if isinstance(result, Diagnosis) else result

    until = time.monotonic() + limit_s
    # Daemons: a check that waits for an answer that never comes must not keep the program from ending.
    threads = [Thread(target=run, args=pair, name=f"doctor-{pair[0]}", daemon=True) for pair in checks.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    late = {name: [Diagnosis.failed(name, f"no answer within {limit_s:.0f} s", step)] for name in checks}
    return [finding for results in (late | found).values() for finding in results]


def known_secrets(environ: Mapping[str, str] = os.environ, *others: str | None) -> list[str]:
    """List what must not be shown: the values of variables named like secrets, and those inside addresses.

    >>> known_secrets({"X_API_KEY": "sesame-1", "URL": "http://ada:sesame-2@host/?key=sesame-3", "HOME": "/home/ada"})
    ['ada:sesame-2', 'sesame-1', 'sesame-2', 'sesame-3']
    """
    values = [value for name, value in environ.items() if _SECRET_NAME.search(name)]
    lines = [line for name, value in environ.items() if "HEADER" in name.upper() for line in value.splitlines()]
    values += [line.partition(":")[2] for line in lines]
    for value in environ.values():
        users = LOGIN.findall(value)
        values += [*users, *(user.partition(":")[2] for user in users), *_QUERY_VALUE.findall(value)]
    values += [other for other in others if other]
    found = {text for value in values if len(text := value.strip()) >= MIN_HIDDEN_CHARACTERS}
    return sorted(found, key=lambda text: (-len(text), text))
