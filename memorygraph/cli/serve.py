"""The commands of the memory server: `serve`, `import` and `adopt`."""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from memorygraph.bearer_tokens import read_tokens
from memorygraph.cli import output
from memorygraph.cli.completion import complete_files
from memorygraph.cli.settings import OpenedServer, Settings, report_from_graph
from memorygraph.cli.stopping import AGAIN, explaining_stop, is_stored, newest_revision
from memorygraph.home import expand_user
from memorygraph.hosts import is_local_only
from memorygraph.sentences import counted

if TYPE_CHECKING:
    from memorygraph.client import MemoryGraph
    from memorygraph.graph.loads import LoadReport


CLIENT_CONFIG = "--client-config"
MIN_TOKEN_CHARACTERS = 16
OF_HTTP = {"--host": "host", "--port": "port", "--tokens": "tokens", "--token": "given", "--allow-host": "hosts"}
PREFIXES = ("MEMORYGRAPH_", "NEO4J_", "OPENAI_", "ANTHROPIC_", "AGENTSCRIPT_")
PATHS = (
    "MEMORYGRAPH_HOME",
    "XDG_DATA_HOME",
    "JAVA_HOME",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")  # in small letters too


def entry_of_command() -> dict[str, Any]:
    """The entry of a client's configuration that starts a server as this command would.

    Clients start servers without the variables of a shell, in another folder, and may not know where this program is:
    the entry names all of them. The values of the variables, a password and keys among them, are part of it. Python is
    not to look for modules in that folder (`-P`), which may be of a foreign project.
    """
    arguments = [argument for argument in sys.argv[1:] if argument != CLIENT_CONFIG]
    variables = {name: make_absolute(name, value) for name, value in sorted(os.environ.items()) if is_needed(name)}
    return {"command": sys.executable, "args": ["-P", "-m", "memorygraph", *arguments], "env": variables}


def entry_of_url(host: str, port: int, hosts: tuple[str, ...], *, with_token: bool) -> dict[str, Any]:
    """The entry of a client's configuration that reaches a server over HTTP, which runs by itself."""
    from memorygraph.mcp_server.http import PATH, allowed_from

    if not port:
        raise click.UsageError(f"{CLIENT_CONFIG} needs the --port at which the server will listen")
    # The last of them is the name that was given last, or else that of the host itself, with its port.
    entry = {"type": "http", "url": f"http://{allowed_from(host, port, hosts).allowed_hosts[-1]}{PATH}"}
    return {**entry, "headers": {"Authorization": "Bearer TOKEN"}} if with_token else entry


def is_needed(name: str) -> bool:
    """Whether a server looks at this variable."""
    return name.startswith(PREFIXES) or name in PATHS or name.upper() in PROXIES


def make_absolute(name: str, value: str) -> str:
    """Write the value of a variable so that it means the same in every folder."""
    from memorygraph.memory.vectors import names_folder

    if name == "MEMORYGRAPH_HOME" or (name == "MEMORYGRAPH_EMBEDDING_MODEL" and names_folder(value)):
        value = str(expand_user(value))
    elif name not in PATHS:
        return value
    several = value.split(os.pathsep) if name == "SSL_CERT_DIR" else [value]
    return os.pathsep.join(str(Path(path).absolute()) if path else "" for path in several)


@click.command("serve")
@click.option(
    "--transport", type=click.Choice(["stdio", "http"]), default="stdio", help="How clients speak to the server."
)
@click.option("--host", default="127.0.0.1", metavar="HOST", help="Where to listen, for http.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, metavar="PORT", help="The port, for http; 0 for a free one."
)
@click.option("--tokens", metavar="FILE", help="Bearer tokens, each with its namespace: lines `NAMESPACE TOKEN`.")
@click.option(
    "--token", "given", multiple=True, metavar="NAMESPACE=TOKEN", help="A token; the process list shows it to others."
)
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME[:PORT]", help="Another name that the server is reached by."
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="A model that programs of clients may ask, by its name or address. [MEMORYGRAPH_MODEL]",
)
@click.option(
    "--tools",
    "groups",
    default="memory",
    show_default=True,
    metavar="GROUP,...",
    help="The groups of tools that are offered, or all of them: `all`.",
)
@click.option("--read-only", is_flag=True, help="Offer no tool that writes.")
@click.option("--without", multiple=True, metavar="TOOL", help="Do not offer this tool, such as run_program.")
@click.option(
    CLIENT_CONFIG,
    is_flag=True,
    help="Print what to write into the configuration of an MCP client, so that it starts this server, or reaches it "
    "over http, and end.",
)
@click.pass_obj
def serve_command(
    settings: Settings,
    *,
    transport: str,
    host: str,
    port: int,
    tokens: str | None,
    given: tuple[str, ...],
    hosts: tuple[str, ...],
    models: tuple[str, ...],
    groups: str,
    read_only: bool,
    without: tuple[str, ...],
    client_config: bool,
) -> None:
    """Serve the memory to MCP clients, over standard input and output or over HTTP under /mcp.

    Beyond this machine it is served to bearers of a token only, each in the namespace of its token. The programs
    of run_program ask the models of --model and no others, with this process's own key.

    Definitions of tools cost a model tokens at each request, so that only some are offered: those of the group memory,
    which are the tools of server-memory and recall. The other groups of --tools are neo4j-memory (the two more tools
    of mcp-neo4j-memory), graph, history, upkeep (duplicates, merges, what is to be forgotten), conversations, programs.

    Over standard input and output Neo4j is started by the first call that needs it, in the background, and over HTTP
    when the server listens; `memorygraph up` starts it before. check_contextscript needs none and starts none. While
    Neo4j starts, and plans what is called first, the other tools say so at once; a client that asks for progress is
    told of that, and waits. A Neo4j that has been stopped by `memorygraph down` is started again by the next call that
    needs it; a call that is in work when Neo4j stops begins that start, and says so.
    """
    from memorygraph.mcp_server import BackgroundGraph, choose_tools, serve_http, serve_stdio

    source = click.get_current_context().get_parameter_source
    for option, name in OF_HTTP.items():
        if transport == "stdio" and source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} goes with --transport http")
    if settings.namespace is not None and (tokens or given):
        raise click.UsageError(f"-n {settings.namespace} goes without tokens, of which each has its own namespace")
    named = [name.strip() for name in groups.split(",")]
    tools = choose_tools(without, groups=named, read_only=read_only, models=models)
    if client_config:
        is_http = transport == "http"
        entry = entry_of_url(host, port, hosts, with_token=bool(tokens or given)) if is_http else entry_of_command()
        output.print_text(json.dumps({"mcpServers": {"memory": entry}}, indent=2, ensure_ascii=False))
        if is_http:
            output.say(f"a client starts no server over http: start it yourself, without {CLIENT_CONFIG}")
        return
    namespaces = gather_tokens(tokens, given, host)
    opened = OpenedServer(settings)
    graph = BackgroundGraph(opened.connect, opened.is_gone, partial(describe_opening, settings))
    if transport == "stdio":
        serve_stdio(graph, tools)
        return
    if not settings.embedded:
        graph.open_now()  # one that is named by mistake is said at once
    with closing(graph):
        serve_http(graph, host, port, namespaces, allowed_hosts=hosts, tools=tools)


@click.command("import")
@click.argument("file", shell_complete=complete_files)
@click.option(
    "--format",
    "form",
    type=click.Choice(["server-memory", "bundle", "mem0", "langgraph-store", "basic-memory"]),
    default="server-memory",
    help="What FILE is.",
)
@report_from_graph
def import_command(graph: MemoryGraph, *, file: str, form: str) -> None:
    """Bring along a bundle of `export`, or what another memory holds.

    That is the JSONL file of the reference MCP memory server, what `get_all()` of mem0 gives, as JSON, the items of a
    store of LangGraph, as lines of JSON, or a folder of basic-memory's notes. Ask mem0 and LangGraph for all of it: by
    themselves they give twenty memories and ten items. A memory joins what is there, in one transaction. What is there
    already stays as it is, but for an item of which the file says something else with a later `updated_at`. A bundle
    goes into an empty namespace, of any name; an interrupted import goes on when it is run again.
    """
    if form != "bundle":
        print_import(import_at_once(graph, file, form))
        return
    stopped = explaining_stop(lambda _: f"what was imported by then is stored; {AGAIN} to go on")
    with stopped, output.progress_bar("importing") as bar:
        report = graph.import_bundle(file, progress=bar.advance)
    resumed = f"; {report.resumed_after} lines were stored before" if report.resumed_after else ""
    message = f"imported {report.nodes} nodes, {report.relationships} relationships into {report.namespace}{resumed}"
    output.print_done({**report.as_dict(), "errors": []}, message)


def import_at_once(graph: MemoryGraph, file: str, form: str) -> LoadReport:
    """Import a memory in one transaction; stopped by Ctrl-C, say whether it is stored."""
    before: int | None = None

    def explain(_: KeyboardInterrupt) -> str:
        return "it is stored" if is_stored(graph, file, before) else f"nothing of it is stored; {AGAIN}"

    with explaining_stop(explain):
        before = newest_revision(graph)
        return graph.import_memory(file, form)


@click.command("adopt")
@click.option(
    "--from",
    "source",
    type=click.Choice(["mcp-neo4j-memory", "graphiti"]),
    default="mcp-neo4j-memory",
    help="Whose memory it is.",
)
@click.option("--group", "groups", multiple=True, metavar="ID", help="Of Graphiti only this group; can be repeated.")
@report_from_graph
def adopt_command(graph: MemoryGraph, *, source: str, groups: tuple[str, ...]) -> None:
    """Bring along what another memory keeps in the same database; it stays as it is.

    That is an mcp-neo4j-memory server, or Graphiti, of which its entities and facts are taken.
    """
    print_import(graph.adopt_memory(source, groups))


def describe_opening(settings: Settings) -> str:
    """Say what a client waits for while the graph of these settings is being opened."""
    from memorygraph.cli.server import embedded_server
    from memorygraph.mcp_server.server import STARTING
    from memorygraph.server.installation import is_complete

    if not settings.embedded:
        return "the Neo4j of this server has not answered yet"
    return STARTING if is_complete(embedded_server().artifacts) else "Neo4j is being downloaded, and starts then"


def gather_tokens(file: str | None, given: tuple[str, ...], host: str) -> dict[str, str]:
    """Return the namespace of each token, of those in a file and those that stand on the command line.

    Of tokens that others could guess a warning is printed, where other machines reach the server at this host.
    """
    tokens = read_tokens(file) if file else {}
    for token, namespace in map(parse_token, given):
        if (other := tokens.setdefault(token, namespace)) != namespace:
            raise click.UsageError(
                f"the namespaces `{other}` and `{namespace}` have the same token, which can open only one: give each "
                "its own"
            )
    short = sorted({namespace for token, namespace in tokens.items() if len(token) < MIN_TOKEN_CHARACTERS})
    if short and not is_local_only(host):
        output.say(
            f"warning: others may guess a token of {', '.join(short)}, which has fewer than {MIN_TOKEN_CHARACTERS} "
            'characters: make one by `python -c "import secrets; print(secrets.token_urlsafe(32))"`'
        )
    return tokens


def parse_token(text: str) -> tuple[str, str]:
    """The token and the namespace of `NAMESPACE=TOKEN`.

    As bearer tokens do (RFC 6750), a token may end in `=`, and has none before: else it could begin at any of them.

    >>> parse_token("people=q83vEjRWeJA=")
    ('q83vEjRWeJA=', 'people')
    """
    namespace, _, token = text.partition("=")
    if not namespace or not token.rstrip("="):
        raise click.UsageError("--token takes NAMESPACE=TOKEN")
    if "=" in token.rstrip("="):
        raise click.UsageError(
            "--token takes NAMESPACE=TOKEN, where only the end of the token may be `=`; a namespace with `=` goes into "
            "a file of --tokens"
        )
    return token, namespace


def print_import(report: LoadReport) -> None:
    """Print what an import has stored."""
    stored = f"it is stored (revision {report.revision})" if report.revision else "it was stored already"
    with explaining_stop(lambda _: stored):
        for warning in report.warnings:
            if warning.file is None:  # of what is adopted, or of a whole folder
                output.say(f"warning: {warning.message}")
            else:
                output.say_warnings([warning])
        counts = report.as_dict()
        output.print_done(counts, f"{counted(counts)}; {report.place}")
