"""The command `lsp`: the language server, which an editor starts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from memorygraph.cli.load import import_folder_option
from memorygraph.cli.settings import Settings
from memorygraph.errors import MemoryGraphError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from memorygraph.client import MemoryGraph


@click.command("lsp")
@click.option("--no-graph", is_flag=True, help="Never look ids up in the graph.")
@import_folder_option
@click.pass_obj
def lsp_command(settings: Settings, *, no_graph: bool, import_folder: Path | None) -> None:
    """Serve editors, over stdio: problems, hovers, definitions, completion, renames, outlines and formatting.

    An editor starts it for .ctx, .as, .convo and .pete files. What it says is wrong are the words of `check`. A
    hover shows what the graph knows of an id, where a server is named or the embedded one runs: none is started.
    It needs the extra `lsp`: pip install 'memorygraph[lsp]'.
    """
    try:
        from memorygraph.lsp.server import serve
    except ModuleNotFoundError as error:
        if error.name not in {"pygls", "lsprotocol"}:
            raise
        raise MemoryGraphError("the language server needs pygls: pip install 'memorygraph[lsp]'") from None

    def connect() -> AbstractContextManager[MemoryGraph] | None:
        return None if no_graph or settings.is_gone() else settings.connect(start=False)

    serve(connect, import_folder)
