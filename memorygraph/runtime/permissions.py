"""What a program may reach outside itself: nothing, unless the user has allowed it.

Every language asks here: for its tools, its memories, the hosts that it reaches, and the models that it names.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from memorygraph.errors import MemoryGraphError
from memorygraph.hosts import host_in_url
from memorygraph.llm.addresses import PinnedAddresses
from memorygraph.llm.uris import ModelUri, hide_credentials

SCHEMES = ("file", "env", "http", "https", "sh", "mcp")
HTTP_SCHEMES = ("http", "https")
OWN_MEMORY = "neo4j://"
HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+)(?::(\d{1,5}))?", re.ASCII)

Address = tuple[str, int]


class Refused(MemoryGraphError):  # noqa: N818 - it is the user's decision, not an error of theirs
    """A program wanted what the user has not allowed; nothing was done. The message names the option to give."""


@dataclass(frozen=True)
class Permissions:
    """What the user has allowed: schemes of tools, hosts for HTTP, models, and namespaces beside the run's own.

    A scheme that is allowed is allowed everywhere (`http` allows `https` too). A host that is listed may be
    reached over HTTP without more; and when any host is listed, HTTP reaches no other. With `models` only these are
    asked; without, those of the services that the environment configures, and those at hosts that are allowed. With
    `own_memory` the memories are the graph's own namespace, and no file and no other namespace.

    >>> Permissions.of(["http"], ["localhost:8000"]).require("http", "the tool `T`", ("localhost", 8000))
    >>> Permissions.of().require("sh", "the tool `T`")
    Traceback (most recent call last):
    memorygraph.runtime.permissions.Refused: the tool `T` may not run commands, for nobody allowed it; \
allow it with `--allow-tool sh` (in Python: allow_tools=["sh"])
    """

    tools: frozenset[str] = frozenset()
    hosts: tuple[str, ...] = ()
    models: tuple[str, ...] | None = None
    own_memory: bool = False
    namespaces: frozenset[str] = frozenset()
    # Where the names of hosts lead, for all that reaches them: a look-up for each call would be another one's choice.
    addresses: PinnedAddresses = field(default_factory=PinnedAddresses, repr=False, compare=False)

    def __post_init__(self) -> None:
        for scheme in sorted(self.tools):
            if scheme not in SCHEMES:
                raise MemoryGraphError(f"there are no `{scheme}` tools to allow; there are {', '.join(SCHEMES)}")
        for host in self.hosts:
            read_host(host)

    @classmethod
    def of(
        cls,
        allow_tools: Iterable[str] = (),
        allow_hosts: Iterable[str] = (),
        allow_models: Iterable[str] | None = None,
        allow_namespaces: Iterable[str] = (),
        *,
        own_memory: bool = False,
    ) -> Permissions:
        """The permissions that a user's lists give."""
        for given in (allow_tools, allow_hosts, allow_models, allow_namespaces):
            if isinstance(given, str):
                raise MemoryGraphError(f'what is allowed is a list, such as ["{given}"], and not one text')
        models = None if allow_models is None else tuple(allow_models)
        return cls(frozenset(allow_tools), tuple(allow_hosts), models, own_memory, frozenset(allow_namespaces))

    def allows(self, scheme: str) -> bool:
        """Whether tools of a scheme are allowed, wherever they lead."""
        return scheme in self.tools or (scheme == "https" and "http" in self.tools)

    def require(self, scheme: str, what: str, address: Address | None = None) -> None:
        """Raise Refused for what is not allowed: `what` is its subject, and `address` where HTTP would go."""
        if address is not None and self.hosts:
            host, port = normalize_host(address[0]), address[1]
            if not any(host == known and wanted in {None, port} for known, wanted in map(read_host, self.hosts)):
                place = write_address(address)
                raise Refused(
                    f"{what} may not reach {place}, for only {', '.join(self.hosts)} may be reached; "
                    f'add `--allow-host {place}` (in Python: allow_hosts=["{place}"])'
                )
            if scheme in HTTP_SCHEMES:
                return
        if not self.allows(scheme):
            raise Refused(refuse_scheme(scheme, what, address))

    def default_model(self) -> str | None:
        """The model of a program that names none: the first of the listed ones; None for that of the environment.

        Raises:
            Refused: no model is listed.
        """
        if self.models is None:
            return None
        if not self.models:
            raise Refused("here no model may be asked: none is listed")
        return self.models[0]

    def require_model(self, model: str) -> None:
        """Raise Refused for a model that a program may not ask: one that is not listed, or is at a foreign host."""
        if self.models is not None:
            self.require_listed(model)
            return
        host = ModelUri.parse(model).host if "://" in model else None
        if host is not None:
            self.require("http", f"the model {hide_credentials(model)}", address_of(f"http://{host}"))

    def require_listed(self, model: str) -> None:
        """Raise Refused for a model that is not listed, where there is a list; `openai://NAME` is the model NAME."""
        if self.models is None or with_service(model) in map(with_service, self.models):
            return
        listed = ", ".join(self.models)
        offer = f"only {listed}" if listed else "and no other: none is listed"
        raise Refused(f"here the model {hide_credentials(model)} may not be asked, {offer}")

    def require_memory(self, name: str, uri: str) -> None:
        """Raise Refused for a memory that is elsewhere than a program may reach."""
        if self.own_memory and uri != OWN_MEMORY:
            raise Refused(f"here the memory `{name}` can only be at `{OWN_MEMORY}`, your own namespace")

    def require_namespace(self, name: str, namespace: str) -> None:
        """Raise Refused for a memory in a namespace, other than that of the run, that nobody has allowed."""
        if namespace not in self.namespaces:
            raise Refused(
                f"the memory `{name}` may not be in the namespace `{namespace}`, for nobody allowed it; allow it with "
                f'`--allow-namespace {shlex.quote(namespace)}` (in Python: allow_namespaces=["{namespace}"])'
            )


def with_service(model: str) -> str:
    """Write a model as an address; a name alone is one of the service that the environment configures.

    >>> with_service("gpt-5"), with_service("anthropic://m")
    ('openai://gpt-5', 'anthropic://m')
    """
    return model if "://" in model else f"openai://{model}"


def address_of(url: str) -> Address:
    """Find the host and the port that an http or https URL leads to.

    >>> address_of("https://Example.org/a"), address_of("http://[::1]:8000")
    (('example.org', 443), ('::1', 8000))
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise MemoryGraphError(f"this address has no usable host or port: {error}") from None
    if not host or not host.isascii():
        raise MemoryGraphError("this address names no host; a host with other letters is written as `xn--…`")
    return normalize_host(host), port or (443 if parts.scheme == "https" else 80)


def read_host(text: str) -> tuple[str, int | None]:
    """Read HOST or HOST:PORT; without a port, every port is meant."""
    match = HOST.fullmatch(text)
    if match is None or (match[2] is not None and not 0 < int(match[2]) < 65536):
        raise MemoryGraphError(f"`{text}` is no host to allow; write HOST or HOST:PORT, such as `localhost:8000`")
    return normalize_host(match[1]), int(match[2]) if match[2] else None


def normalize_host(host: str) -> str:
    """Write a host in the one way in which hosts are compared."""
    return host.strip("[]").rstrip(".").lower()


ACTIONS = {
    "file": "touch files",
    "env": "read environment variables",
    "sh": "run commands",
    "mcp": "use an MCP server",
}


def refuse_scheme(scheme: str, what: str, address: Address | None) -> str:
    """Say that a scheme is not allowed, and how to allow it."""
    option = f'`--allow-tool {scheme}` (in Python: allow_tools=["{scheme}"])'
    if address is None or scheme not in HTTP_SCHEMES:
        return f"{what} may not {ACTIONS.get(scheme, 'be used')}, for nobody allowed it; allow it with {option}"
    place = write_address(address)
    return (
        f"{what} may not reach {place}, for nobody allowed it; allow this host with "
        f'`--allow-host {place}` (in Python: allow_hosts=["{place}"]), or all of them with {option}'
    )


def write_address(address: Address) -> str:
    """Write an address as HOST:PORT."""
    host, port = address
    return f"{host_in_url(host)}:{port}"
