"""The signatures of `AsyncMemoryGraph`, made from those of `MemoryGraph`, for editors and type checkers.

    python -m tests.async_stub    # writes memorygraph/aio.pyi anew

The class itself offers the client's methods in one generic place, which no editor can look into. A test fails when the
file is not what it would be.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator

from tests.modules import PACKAGE

STUB = PACKAGE / "aio.pyi"
HEADER = '''"""The client for asyncio. Made by `python -m tests.async_stub` from memorygraph/client.py."""

'''
CLASS = '''
class AsyncMemoryGraph:
    """`MemoryGraph` for asyncio: every method is awaited, and is otherwise the same."""

    connection: Connection
    namespace: str
    scope: Namespace

    def __init__(
        self, graph: MemoryGraph | Driver, namespace: str = "default", *, database: str | None = None
    ) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...
'''
ROWS = re.compile(r"^(?:Iterator|Generator)\[(.*?)(?:, None, None)?\]$")


def generate() -> str:
    """The text of the stub."""
    client = ast.parse((PACKAGE / "client.py").read_text("utf-8"))
    parts = [(client, "memorygraph.client", "MemoryGraph", CLASS)]
    for method in (node for node in ast.walk(client) if isinstance(node, ast.FunctionDef) and _is_facet(node)):
        [home] = [node for node in method.body if isinstance(node, ast.ImportFrom)]
        module = PACKAGE.parent / f"{str(home.module).replace('.', '/')}.py"
        name = ast.unparse(method.returns) if method.returns else ""
        head = f'\nclass Async{name}:\n    """`{name}` for asyncio."""\n\n'
        parts.append((ast.parse(module.read_text("utf-8")), str(home.module), name, head))
    imports = ["from collections.abc import AsyncGenerator\n", "from memorygraph.graph.namespace import Namespace\n"]
    classes = ""
    for tree, home_module, name, head in parts:
        [body] = [node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
        text = head + "".join(_method(node) for node in body if isinstance(node, ast.FunctionDef))
        used = _names(text)
        imports += [f"{ast.unparse(node)}\n" for node in _imports(tree, used)]
        imports += [f"from {home_module} import {made}\n" for node in tree.body for made in made_names(node) & used]
        classes += text
    text = HEADER + "".join(imports) + "\n" + classes
    return _ruff(_ruff(text, "check", "--fix", "--quiet", "--select", "I"), "format")


def _is_facet(node: ast.FunctionDef) -> bool:
    """Whether it is a part of the client that has methods of its own, as `mg.entities`."""
    is_cached = any(ast.unparse(decorator) == "cached_property" for decorator in node.decorator_list)
    return is_cached and not node.name.startswith("_")


def _names(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def made_names(node: ast.stmt) -> set[str]:
    """The names that a statement of a module defines there: a class, or a constant."""
    if isinstance(node, ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _imports(tree: ast.Module, used: set[str]) -> Iterator[ast.ImportFrom]:
    """The imports at the top of the client that the signatures need, those for type checkers too."""
    blocks = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.If))]
    for node in (node for block in blocks for node in block):
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            names = [alias for alias in node.names if (alias.asname or alias.name) in used]
            if names:
                yield ast.ImportFrom(node.module, names, node.level)


def _method(node: ast.FunctionDef) -> str:
    """One method as the asynchronous client has it."""
    if node.name.startswith("_"):
        return ""
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list} & {"staticmethod", "classmethod"}
    returns = ast.unparse(node.returns) if node.returns else "None"
    word = "async def"
    if any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in ast.walk(node)):
        word, returns = "def", ROWS.sub(r"AsyncGenerator[\1]", returns)
    if _is_facet(node):
        return f"    @property\n    def {node.name}(self) -> Async{returns}: ...\n"
    first_line = (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")
    head = "".join(f"    @{decorator}\n" for decorator in decorators)
    return f'{head}    {word} {node.name}({ast.unparse(node.args)}) -> {returns}:\n        """{first_line}"""\n'


def _ruff(text: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", str(STUB), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    STUB.write_text(generate(), "utf-8")
