"""How long the language server takes to answer in a large file: `python -m tests.bench.editor [STATEMENTS]`.

The client is pygls's own, at the program over stdio, and its time is in the figures; what it takes for the outline is
printed too. `empty` is the same question in a file of two statements, so that the rest is what the size costs.
`edited` is asked right after an edit, while the text is read: an outline waits for that, the others do not.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from lsprotocol import types
from pygls.protocol import default_converter

from tests.bench.parse import program
from tests.lsp.editor import Editor, in_editor

ROUNDS = 10
LAST = 'Edge(edge_id="last", from_node="node_0", to_node="node_4", verb="knows", weight=0.5);\n'


async def milliseconds(
    ask: Callable[[], Awaitable[object]], before: Callable[[], object] = lambda: None
) -> list[float]:
    """The times of some rounds, in their order of length; what is done `before` one does not count."""
    times = []
    for _ in range(ROUNDS):
        before()
        start = time.perf_counter()
        await ask()
        times.append(1000 * (time.perf_counter() - start))
    return sorted(times)


async def client_milliseconds(editor: Editor, uri: str) -> float:
    """How long the client takes to read the answer with an outline."""
    params = types.DocumentSymbolParams(types.TextDocumentIdentifier(uri))
    converter = default_converter()  # type: ignore[no-untyped-call]
    response = types.DocumentSymbolResponse(id=1, result=await editor.text_document_document_symbol_async(params))
    body = json.dumps(converter.unstructure(response))
    start = time.perf_counter()
    converter.structure(json.loads(body), types.DocumentSymbolResponse)
    return 1000 * (time.perf_counter() - start)


async def measure(editor: Editor, folder: Path, statements: int) -> None:
    """Print a line for each question."""
    text = program(statements) + LAST
    start = time.perf_counter()
    large = editor.open(folder / "large.ctx", text)
    await editor.problems_now(large)
    print(
        f"{statements} statements, {len(text) / 1e6:.2f} MB: problems {time.perf_counter() - start:.2f} s after opening"
    )
    small = editor.open(folder / "small.ctx", 'Node(node_id="node_0", name="", data="");\n' + LAST)
    await editor.problems_now(small)

    def edit() -> None:
        editor.edit(large, text + "#" * (editor.versions[large] % 7))

    # The client's own work for a place in the text is done before.
    questions: dict[str, Callable[[str], Awaitable[object]]] = {
        "hover": lambda uri: editor.hover(uri, 'from_node="node_', '0", to_node="node_4", verb="knows'),
        "definition": lambda uri: editor.define(uri, 'edge_id="last", from_node="node_'),
        "completion": lambda uri: editor.complete(uri, 'edge_id="last", from_node="', "node_0"),
        "outline": editor.outline,
    }
    print(f"{'ms (median, most)':20}{'empty':>16}{'large':>16}{'edited':>16}")
    for name, ask in questions.items():
        columns = [
            await milliseconds(lambda: ask(small)),  # noqa: B023 - asked before the next question
            await milliseconds(lambda: ask(large)),  # noqa: B023
            await milliseconds(lambda: ask(large), edit),  # noqa: B023
        ]
        shown = "".join(f"{statistics.median(times):>8.0f}{times[-1]:>8.0f}" for times in columns)
        print(f"{name:20}{shown}")
    print(f"the client takes {await client_milliseconds(editor, large):.0f} ms of the outline of the large one")
    start = time.perf_counter()
    edit()
    await editor.problems_now(large)
    print(f"problems {time.perf_counter() - start:.2f} s after an edit")


def main() -> None:
    """Measure with a file of some size."""
    gc.disable()  # the collections of the client are none of the server
    statements = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with TemporaryDirectory() as folder:
        in_editor(lambda editor: measure(editor, Path(folder), statements), "--no-graph")


if __name__ == "__main__":
    main()
