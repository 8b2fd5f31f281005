"""The command `proxy`: a base URL that forwards to a model endpoint and records every call."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack, closing

import click

from memorygraph.cli import output
from memorygraph.cli.completion import complete_conversations
from memorygraph.cli.serve import gather_tokens
from memorygraph.cli.settings import Seconds, Settings
from memorygraph.errors import MemoryGraphError

OPENAI_URL = "https://api.openai.com/v1"


@click.command("proxy")
@click.option("--upstream", metavar="URL", help=f"The endpoint. [OPENAI_BASE_URL, then {OPENAI_URL}]")
@click.option("--host", default="127.0.0.1", metavar="HOST", help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8100, metavar="PORT", help="The port; 0 for a free one.")
@click.option(
    "--conversation",
    default="",
    metavar="NAME",
    shell_complete=complete_conversations,
    help="The conversation of calls that name none.",
)
@click.option("--tokens", metavar="FILE", help="Tokens of clients, each with its namespace: lines `NAMESPACE TOKEN`.")
@click.option(
    "--token", "given", multiple=True, metavar="NAMESPACE=TOKEN", help="A token; the process list shows it to others."
)
@click.option(
    "--timeout",
    type=Seconds(min=1),
    default=600,
    metavar="SECONDS",
    help="How long the endpoint may say nothing.",
)
@click.pass_obj
def proxy_command(
    settings: Settings,
    *,
    upstream: str | None,
    host: str,
    port: int,
    conversation: str,
    tokens: str | None,
    given: tuple[str, ...],
    timeout: float,
) -> None:
    """Forward to a model endpoint, and record every call of any program that is pointed here.

    Point a program's base URL (OPENAI_BASE_URL) at http://127.0.0.1:8100/v1. Chat completions and responses are
    recorded, streams too, and everything else is only forwarded. API keys are passed on and stored nowhere. A call
    belongs to the conversation of its header X-Memorygraph-Conversation, then to --conversation, and else to the one
    whose answers its prompt repeats.

    Forwarding does not wait for Neo4j: what can't be written stays in MEMORYGRAPH_HOME until it can be.

    Beyond this machine it serves bearers of a token only, in the header X-Memorygraph-Token or in place of the API
    key; in the second case the endpoint is sent this process's OPENAI_API_KEY.
    """
    from memorygraph.ending import ending_on_sigterm
    from memorygraph.home import chosen_namespace
    from memorygraph.proxy import Access, BackgroundRecording, RecordingProxy, Upstream

    access = Access(host, chosen_namespace(settings.namespace), gather_tokens(tokens, given, host))
    with ExitStack() as stack:
        url = upstream or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        target = stack.enter_context(closing(Upstream(url, timeout)))
        recording = stack.enter_context(closing(BackgroundRecording(settings.connect, access.namespaces, output.say)))
        try:
            proxy = RecordingProxy(
                target,
                access,
                recording,
                host=host,
                port=port,
                conversation=conversation,
                own_key=os.environ.get("OPENAI_API_KEY"),
                say=output.say,
            )
        except (OSError, OverflowError) as error:
            raise MemoryGraphError(f"cannot listen at {host} port {port}: {error}") from None
        stack.enter_context(proxy)
        stack.enter_context(ending_on_sigterm(proxy.is_busy))
        output.say(f"recording at {proxy.base_url}, which forwards to {target}")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:  # it is how a person ends it
            output.say("ending, when what waits is written")
