"""The signatures of the asynchronous client, which are made for type checkers, against what there is at runtime."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from memorygraph import AsyncMemoryGraph, MemoryGraph, aio
from memorygraph.memory.entities import Entities
from memorygraph.memory.items import Items
from memorygraph.messages.threads import Threads
from tests import async_stub

TREE = ast.parse(async_stub.STUB.read_text("utf-8"))
CLASSES: dict[str, type[Any]] = {
    "AsyncMemoryGraph": MemoryGraph,
    "AsyncEntities": Entities,
    "AsyncItems": Items,
    "AsyncThreads": Threads,
}


def methods(name: str) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """The public methods that the stub has of a class."""
    [body] = [node.body for node in TREE.body if isinstance(node, ast.ClassDef) and node.name == name]
    found = [node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {node.name: node for node in found if not node.name.startswith("_")}


def all_methods() -> Iterator[tuple[str, str]]:
    for name in CLASSES:
        for method in methods(name):
            yield name, method


def test_the_signatures_are_those_of_the_client() -> None:
    assert async_stub.STUB.read_text("utf-8") == async_stub.generate(), "run python -m tests.async_stub"


@pytest.mark.parametrize("name", CLASSES)
def test_there_is_a_signature_of_each_public_method(name: str) -> None:
    fields = getattr(CLASSES[name], "__dataclass_fields__", {})
    public = {method for method in vars(CLASSES[name]) if not method.startswith("_")} - fields.keys()
    assert methods(name).keys() == public


@pytest.mark.parametrize(("name", "method"), list(all_methods()))
def test_what_is_awaited_and_what_is_read_with_async_for_is_so_at_runtime(name: str, method: str) -> None:
    signature, target = methods(name)[method], inspect.getattr_static(CLASSES[name], method)
    decorators = [ast.unparse(decorator) for decorator in signature.decorator_list]
    if "property" in decorators:
        return
    gives_rows = inspect.isgeneratorfunction(inspect.unwrap(getattr(CLASSES[name], method)))
    assert isinstance(signature, ast.AsyncFunctionDef) is not gives_rows
    returns = ast.unparse(signature.returns) if signature.returns else ""
    assert returns.startswith("AsyncGenerator[") is gives_rows
    assert isinstance(target, staticmethod) is ("staticmethod" in decorators)
    if decorators:  # what is asked of the class is not offered by the one generic place, which needs an object
        assert type(inspect.getattr_static(AsyncMemoryGraph, method)).__name__ in decorators


def test_a_name_that_the_stub_defines_is_one_of_the_module() -> None:
    defined = {name for node in TREE.body for name in async_stub.made_names(node)}
    assert {name for name in defined - CLASSES.keys() if not hasattr(aio, name)} == set()
