"""Would the tests notice? Changes one place of the package at a time, and runs the tests of its module.

    python -m tests.mutate --results mutations.json                    # fifty places, in a copy of this checkout
    python -m tests.mutate --results mutations.json --count 10         # the first ten of them; the rest may follow
    python -m tests.mutate --results after.json --like mutations.json  # the same changes in another version of the code

Places are drawn by `--seed`, which is printed; the same seed draws the same from the same code. A change is named by
its module, its function and the code before and after, so that `--like` finds it again after the module has moved.
Every version is tested by its own tests:

    cd BEFORE && PYTHONPATH=. python AFTER/tests/mutate.py --results before.json --seed 17
    cd AFTER && python -m tests.mutate --results after.json --like before.json

Results are written after each change, and a run that was broken off goes on where it ended. A change is `caught` by the
test that fails first, `hung` where the tests do not end in time, and `missed` where all pass. Tests that fail without
any change would catch everything: those that caught something are run once more at the end, and reported if they fail.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "build", "dist", "__pycache__", ".*_cache", ".hypothesis")
APART = {"trust", "docker", "browser", "bench"}
"""Folders of tests that are about all of the package, and take long."""
LAST = ("tests/test_cases.py", "tests/test_architecture.py")
"""Files of tests that are about all of the package, and take little."""
MAX_TEST_S = 120

OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """One change: where it is, what is changed, and what came of it."""

    module: str
    function: str
    kind: str
    before: str
    after: str
    occurrence: int
    status: str = ""
    by: str = ""
    seconds: float = 0.0

    @property
    def place(self) -> tuple[str, str, str, str, str, int]:
        """What names it."""
        return self.module, self.function, self.kind, self.before, self.after, self.occurrence

    def __str__(self) -> str:
        change = f"{_short(self.before)} -> {_short(self.after)}"
        return f"{self.status or 'chosen':9} {self.module}::{self.function} [{self.kind}] {change}  {self.by}"


@dataclass(frozen=True)
class Place:
    """Where a mutation is in the text of its module."""

    mutation: Mutation
    node: ast.expr | ast.stmt

    def apply(self, text: str) -> str:
        """The text of the module with the change."""
        lines = text.encode("utf-8").splitlines(keepends=True)
        node = self.node
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
        after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
        changed = self.mutation.after
        margin = " " * node.col_offset
        changed = changed.replace("\n", f"\n{margin}") if isinstance(node, ast.stmt) else f"({changed})"
        return before.decode("utf-8") + changed + after.decode("utf-8")


class Finder(ast.NodeVisitor):
    """Finds every place of a module that can be changed, but for annotations and docstrings."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.places: list[Place] = []
        self._names: list[str] = []
        self._seen: Counter[tuple[str, str, str, str]] = Counter()

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._within(node.name, [*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body])

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - as ast names it

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._within(node.name, node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self._add("negated condition", node.test, ast.UnaryOp(ast.Not(), node.test))
        if node.orelse and not isinstance(node.orelse[0], ast.If):
            swapped = ast.If(node.test, node.orelse, node.body)
            self._add("swapped branches", node, swapped)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._add("negated condition", node.test, ast.UnaryOp(ast.Not(), node.test))
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._add("swapped branches", node, ast.IfExp(node.test, node.orelse, node.body))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            changed = copy.copy(node)
            changed.ops = [OPPOSITES[type(node.ops[0])]()]  # type: ignore[list-item]
            self._add("comparison", node, changed)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self._add("operator", node, ast.BoolOp(OPPOSITES[type(node.op)](), node.values))  # type: ignore[arg-type]
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        texts = [side for side in (node.left, node.right) if isinstance(side, (ast.JoinedStr, ast.Constant))]
        if type(node.op) in OPPOSITES and not any(isinstance(getattr(side, "value", ""), str) for side in texts):
            opposite = OPPOSITES[type(node.op)]()
            self._add("operator", node, ast.BinOp(node.left, opposite, node.right))  # type: ignore[arg-type]
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._add("constant", node, ast.Constant(not value))
        elif isinstance(value, (int, float)):
            self._add("constant", node, ast.Constant(value + 1))

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node.value, ast.Call):
            self._add("removed statement", node, ast.Pass())
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._add("removed statement", node, ast.Pass())
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._add("removed statement", node, ast.Pass())

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave texts as they are: before Python 3.12, places within them have no position."""

    def _within(self, name: str, nodes: Sequence[ast.AST]) -> None:
        self._names.append(name)
        for node in nodes:
            self.visit(node)
        self._names.pop()

    def _add(self, kind: str, node: ast.expr | ast.stmt, changed: ast.expr | ast.stmt) -> None:
        function = ".".join(self._names) or "<module>"
        before, after = ast.unparse(node), ast.unparse(changed)
        key = (function, kind, before, after)
        self.places.append(Place(Mutation(self.module, function, kind, before, after, self._seen[key]), node))
        self._seen[key] += 1


def places_of(root: Path) -> list[Place]:
    """Every place of the package that can be changed."""
    found: list[Place] = []
    for path in sorted((root / "memorygraph").rglob("*.py")):
        finder = Finder(path.relative_to(root).as_posix())
        finder.visit(ast.parse(path.read_text("utf-8")))
        found += finder.places
    return found


def choose(places: Sequence[Place], seed: int) -> Iterator[Place]:
    """Draw places without end: a kind, then one of its places; a function is drawn once."""
    chance = random.Random(seed)
    kinds = sorted({place.mutation.kind for place in places})
    functions: set[tuple[str, str]] = set()
    while len(functions) < len({(place.mutation.module, place.mutation.function) for place in places}):
        kind = chance.choice(kinds)
        place = chance.choice([place for place in places if place.mutation.kind == kind])
        function = (place.mutation.module, place.mutation.function)
        if function not in functions:
            functions.add(function)
            yield place


def find_again(places: Sequence[Place], wanted: Mutation) -> Place | None:
    """The place of the same change: in its function, else in one of that name, else the only one in the package."""
    same = [p for p in places if (p.mutation.kind, p.mutation.before, p.mutation.after) == wanted.place[2:5]]
    name = wanted.function.rpartition(".")[2]
    for candidates in (
        [p for p in same if p.mutation.place == wanted.place],
        [p for p in same if p.mutation.function == wanted.function],
        [p for p in same if p.mutation.function.rpartition(".")[2].lstrip("_") == name.lstrip("_")],
        same,
    ):
        if len(candidates) == 1:
            return candidates[0]
    return None


def tests_of(root: Path, module: str) -> list[str]:
    """The files of tests of a module, the nearest first: those that name it, and those of the folder like its own."""
    path = Path(module)
    dotted = path.with_suffix("").as_posix().removesuffix("/__init__").replace("/", ".")
    name = re.compile(rf"{re.escape(dotted)}\b|{re.escape(dotted.rpartition('.')[0])} import [^\n]*\b{path.stem}\b")
    words = {path.stem, *path.parent.parts[1:]}
    ranks: dict[str, int] = {}
    for file in (root / "tests").rglob("test_*.py"):
        parts = file.relative_to(root / "tests").parts
        near = sum(1 for mine, other in zip(path.parts[1:-1], parts, strict=False) if mine == other)
        about = len(words & {*file.stem.split("_"), *parts[:-1]})
        ranks[file.relative_to(root).as_posix()] = 4 * bool(name.search(file.read_text("utf-8"))) + 2 * near + about
    nearest = [file for file, rank in ranks.items() if rank > 0 and APART.isdisjoint(Path(file).parts)]
    everything = [file for file in ranks if {*APART, "server", "embedded"}.isdisjoint(Path(file).parts)]
    of_the_top = len(path.parts) == 2  # the client, for one, is tested by nearly all tests
    chosen = sorted(
        {*nearest, *everything} if of_the_top or not nearest else nearest, key=lambda file: (-ranks[file], file)
    )
    return [module, *(file for file in chosen if file not in LAST), *(file for file in LAST if (root / file).exists())]


def run_tests(copied: Path, tests: Sequence[str], environment: Mapping[str, str], limit_s: float) -> tuple[str, str]:
    """Run tests up to the first that fails: the status, and that test."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "not slow"]
    command += [f"--timeout={MAX_TEST_S}", "--tb=no", *tests]
    try:
        done = subprocess.run(
            command, cwd=copied, env=environment, capture_output=True, text=True, check=False, timeout=limit_s
        )
    except subprocess.TimeoutExpired:
        return "hung", f"no end in {limit_s:.0f} s"
    if done.returncode == 0:
        return "missed", ""
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "caught", lines[0].partition(" - ")[0] if lines else (done.stdout + done.stderr).strip()[-200:]


@contextmanager
def database(root: Path) -> Iterator[dict[str, str]]:
    """The environment of the tests: NEO4J_URI as it is given, else an embedded server for all of them."""
    environment = {**os.environ, "CI": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    if "NEO4J_URI" in os.environ:
        yield environment
        return
    with tempfile.TemporaryDirectory(prefix="memorygraph-mutate-") as home:
        there = {**environment, "MEMORYGRAPH_HOME": home}
        tool = [sys.executable, "-m", "memorygraph"]
        try:
            done = subprocess.run([*tool, "up", "--json"], cwd=root, env=there, capture_output=True, check=True)
            status = json.loads(done.stdout)
            environment["NEO4J_URI"] = status["bolt_uri"]
            environment["NEO4J_PASSWORD"] = Path(status["password_file"]).read_text("utf-8").strip()
            yield environment
        finally:
            subprocess.run([*tool, "down"], cwd=root, env=there, capture_output=True, check=False)


def test_mutation(copied: Path, place: Place, environment: Mapping[str, str], limit_s: float) -> Mutation:
    """Make one change in the copy, run the tests of its module, and take the change back."""
    file = copied / place.mutation.module
    text = file.read_text("utf-8")
    tests = tests_of(copied, place.mutation.module)
    start = time.monotonic()
    file.write_text(place.apply(text), "utf-8")
    try:
        status, by = run_tests(copied, tests, environment, limit_s)
    finally:
        file.write_text(text, "utf-8")
    return replace(place.mutation, status=status, by=by, seconds=round(time.monotonic() - start, 1))


def chosen_places(arguments: argparse.Namespace, places: Sequence[Place]) -> Iterator[tuple[Mutation, Place | None]]:
    """What is to be tried, each with its place in this checkout, where it has one."""
    if arguments.like:
        for row in json.loads(arguments.like.read_text("utf-8"))["mutations"][: arguments.count]:
            wanted = replace(Mutation(**row), status="", by="", seconds=0.0)
            yield wanted, find_again(places, wanted)
    else:
        for place in islice(choose(places, arguments.seed), arguments.count):
            yield place.mutation, place


def main() -> int:
    """Run the command; the exit status is 1 where tests that caught something fail without any change."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**16))
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--like", type=Path, help="the results of another version, whose changes are made here")
    parser.add_argument("--package", type=Path, default=Path(), help="the checkout to test (default: this folder)")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for the tests of one change")
    parser.add_argument("--list", action="store_true", help="only print the changes")
    arguments = parser.parse_args()
    root = arguments.package.resolve()
    known = json.loads(arguments.results.read_text("utf-8")) if arguments.results.exists() else {}
    arguments.seed = known.get("seed", arguments.seed)
    done = {mutation.place: mutation for mutation in (Mutation(**row) for row in known.get("mutations", []))}
    print(f"seed {arguments.seed}")
    chosen = list(chosen_places(arguments, places_of(root)))
    if arguments.list:
        print("\n".join(str(place.mutation if place else replace(wanted, status="gone")) for wanted, place in chosen))
        return 0
    with tempfile.TemporaryDirectory(prefix="memorygraph-mutate-") as folder, database(root) as environment:
        copied = Path(folder) / "checkout"
        shutil.copytree(root, copied, ignore=LEFT_OUT, symlinks=True)
        environment["PYTHONPATH"] = str(copied)
        results: list[Mutation] = []
        for wanted, place in chosen:
            mutation = done.get(place.mutation.place if place else wanted.place)
            if mutation is None:
                gone = replace(wanted, status="gone")
                mutation = test_mutation(copied, place, environment, arguments.limit) if place else gone
                print(mutation, flush=True)
            results.append(mutation)
            rows = [asdict(result) for result in results]
            arguments.results.write_text(json.dumps({"seed": arguments.seed, "mutations": rows}, indent=1), "utf-8")
        print(dict(Counter(mutation.status for mutation in results)))
        return _check_without_change(copied, results, environment)


def _check_without_change(copied: Path, results: Sequence[Mutation], environment: Mapping[str, str]) -> int:
    files = sorted({result.by.split(" ")[1].partition("::")[0] for result in results if "::" in result.by})
    status, by = run_tests(copied, files, environment, 3600.0) if files else ("missed", "")
    if status != "missed":
        print(f"fails without any change: {by}")
    return int(status != "missed")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


if __name__ == "__main__":
    sys.exit(main())
