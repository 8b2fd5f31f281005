"""What tools and memories share: a program imports them by a URI, calls their methods, and cannot say them as data."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from memorygraph.errors import ConnectionError, MemoryGraphError, ModelError
from memorygraph.hosts import LOGIN
from memorygraph.limits import Cancelled, LimitExceeded
from memorygraph.runtime.permissions import Refused
from memorygraph.sentences import count_of


class Capability:
    """What a program can use but not say: it never reaches a prompt, a tool, a memory, or the result."""

    kind: str
    name: str


@dataclass(frozen=True)
class CallResult:
    """What a call gave: a JSON value for the program."""

    value: Any

    def noted(self) -> dict[str, Any]:
        """What else the trace says of the call."""
        raise NotImplementedError


Result = TypeVar("Result", bound=CallResult)


class Imported(Capability, Generic[Result]):
    """A tool or a memory. Nothing is opened before its first call; its `uri` is fit to be shown."""

    METHODS: ClassVar[tuple[str, ...]] = ()  # those of its Python methods that a program may call
    failure: ClassVar[type[MemoryGraphError]]

    def __init__(self, name: str, uri: str) -> None:
        self.name = name
        self.uri = redact_uri(uri)

    def describe_call(self, method: str) -> dict[str, Any]:
        """What the trace says of a call before it is made."""
        raise NotImplementedError

    def call(self, method: str, arguments: list[Any]) -> Result:
        """Call a method.

        Raises:
            Refused: the user has not allowed it; nothing was done.
            ConnectionError: Neo4j cannot be reached.
            MemoryGraphError: it failed, as the `failure` of this class says.
        """
        with self.name_failures(f"{self.name}.{method}"):
            return self.perform(method, arguments)

    @contextmanager
    def name_failures(self, what: str) -> Iterator[None]:
        """Say of every failure whose it is."""
        try:
            yield
        except (Refused, ConnectionError, Cancelled, LimitExceeded):
            raise
        except ModelError as error:
            said = f"{self.kind.title()} {what} ({self.uri}) failed"
            raise ModelError(f"{said}: {error}", f"{said}: {error.brief}") from error
        except (MemoryGraphError, OSError) as error:
            reason = (error.strerror or type(error).__name__) if isinstance(error, OSError) else error
            raise self.failure(f"{self.kind.title()} {what} ({self.uri}) failed: {reason}") from error

    def perform(self, method: str, arguments: list[Any]) -> Result:
        """Call the Python method of a name; a MemoryGraphError or an OSError says why it could not."""
        if method not in self.METHODS:
            raise MemoryGraphError(f"it has no such method; it has {', '.join(self.METHODS)}")
        function = getattr(self, method)
        signature = inspect.signature(function)
        try:
            signature.bind(*arguments)
        except TypeError:
            takes = signature.parameters.items()
            wanted = ", ".join(name if each.default is each.empty else f"{name}?" for name, each in takes)
            given = count_of(len(arguments), "argument")
            raise MemoryGraphError(f"it takes ({wanted}), and was given {given}") from None
        result: Result = function(*arguments)
        return result


def redact_uri(uri: str) -> str:
    """Replace the parts of a URI that can hold a secret: the user and password, and values of a query.

    >>> redact_uri("https://ada:secret@example.org/a?key=secret")
    'https://…@example.org/a?key=…'
    >>> redact_uri("bolt://ada:pass/wo?rd#@example.org")
    'bolt://…@example.org'
    """
    return re.sub(r"([?&][^=&#\s]*=)[^&#\s]*", r"\1…", LOGIN.sub("…@", uri))
