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

    def __init__(
        self, graph: MemoryGraph | Driver, namespace: str = "default", *, database: str | None = None
    ) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...
'''


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
    imports = ["from collections.abc import AsyncIterator\n"]
    aliases: list[str] = []
    classes = ""
    for tree, home_module, name, head in parts:
        [body] = [node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
        text = head + "".join(_method(node) for node in body if isinstance(node, ast.FunctionDef))
        used = _names(text)
        found = [
            ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign) and _names(node.targets) & used
        ]
        imports += [f"{ast.unparse(node)}\n" for node in _imports(tree, used | _names("\n".join(found)))]
        imports += [
            f"from {home_module} import {node.name}\n"
            for node in tree.body
            if isinstance(node, ast.ClassDef) and node.name in used
        ]
        aliases += found
        classes += text
    text = HEADER + "".join(imports) + "\n" + "".join(f"{alias}\n" for alias in aliases) + classes
    return _ruff(_ruff(text, "check", "--fix", "--quiet", "--select", "I"), "format")


def _is_facet(node: ast.FunctionDef) -> bool:
    """Whether it is a part of the client that has methods of its own, as `mg.entities`."""
    is_cached = any(ast.unparse(decorator) == "cached_property" for decorator in node.decorator_list)
    return is_cached and not node.name.startswith("_")


def _names(source: str | list[ast.expr]) -> set[str]:
    nodes = [ast.parse(source)] if isinstance(source, str) else source
    return {node.id for tree in nodes for node in ast.walk(tree) if isinstance(node, ast.Name)}


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
    if node.name.startswith("_") or node.name == "close":
        return ""
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list} & {"staticmethod", "classmethod"}
    returns = ast.unparse(node.returns) if node.returns else "None"
    generator = re.fullmatch(r"Generator\[(.*), None, None\]", returns)
    word, returns = ("def", f"AsyncIterator[{generator[1]}]") if generator else ("async def", returns)
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
