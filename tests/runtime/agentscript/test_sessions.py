"""A session: each entry is checked as a file is, with what the session has, and a wrong one changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorygraph import MemoryGraph, ScriptError
from memorygraph.runtime.agentscript.session import Session
from memorygraph.scripts import read_script

BEGUN = """
import llm M from "openai://m"
import tool Search from "http://127.0.0.1:9"
agent W { main func(a) { return [a] } func other() { return 1 } }
"""
VALUES = 'x = { n: 1 } items = [1, 2] count = 1 called = Search model M use x.n < 5 role "A tester"'


@pytest.fixture
def session(graph: MemoryGraph) -> Iterator[Session]:
    session = Session(graph, mock=True)
    session.execute(BEGUN)
    session.execute(VALUES)
    yield session
    session.close()


def state(session: Session) -> Any:
    """All that an entry can change, but for what its values hold."""
    scope = session.scope
    return dict(scope.variables), dict(scope.configs), [*scope.declared], dict(scope.call.bindings)


def refuse(session: Session, entry: str) -> list[tuple[int, int, str]]:
    """The places and the codes of what is wrong with an entry."""
    with pytest.raises(ScriptError) as caught:
        session.execute(entry)
    assert all(str(problem).startswith("<session>:") for problem in caught.value.problems)
    return [(problem.line, problem.column, problem.code) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ('generate({ input: "a" }) { return { a int } }', (1, 37, "unknown-shape-type")),
        ("for y in [1] < 2k { }", (1, 16, "invalid-iteration-limit")),
        ("loop until false < 1.5 { }", (1, 20, "invalid-iteration-limit")),
        ('generate({ input: "a" attempts: 0 }) { return { a string } }', (1, 33, "invalid-generate-attempts")),
        ('generate({ input: "a" attempts: 1.5 }) { return { a string } }', (1, 33, "invalid-generate-attempts")),
        ("3 = 4", (1, 1, "invalid-assignment-target")),
        ("[1] = 4", (1, 1, "invalid-assignment-target")),
        ('generate({ input: "a" zzz: 1 }) { return { a string } }', (1, 23, "unknown-generate-option")),
        ('use generate({ input: "a" }) { return { a string } }', (1, 5, "use-generate")),
        ("use Search", (1, 5, "invalid-use-resource")),
        ("use called", (1, 5, "invalid-use-resource")),
        ("model count", (1, 7, "invalid-model")),
        ("role M", (1, 6, "invalid-config")),
        ("count()", (1, 1, "not-callable")),
        ("[1, M]", (1, 1, "capability-leak")),
        ("items.push(3)", (1, 7, "not-callable")),
        ("W(1, 2)", (1, 2, "invalid-argument-count")),
        ("W.another()", (1, 3, "unknown-function")),
        ("nobody", (1, 1, "unknown-identifier")),
        ("x.n = nobody", (1, 7, "unknown-identifier")),
        ("count = 2 count = nobody", (1, 19, "unknown-identifier")),
        ("n = 1 x = (1)", (1, 11, "syntax")),
        ("y = }", (1, 5, "syntax")),
        ("o = {a: }", (1, 9, "syntax")),
        ('z = "open', (1, 5, "syntax")),
        ("count = 1 = 2", (1, 11, "syntax")),
        ("x.n = " + "[" * 101 + "]" * 101, (1, 109, "nesting-too-deep")),
        ("y = " + "9" * 400, (1, 5, "invalid-number")),
        ('y = "\ud800"', (1, 6, "encoding")),
        ("y = [" + "1 " * 2**17 + "]", (1, 1, "program-too-large")),
        ("agent V { func f() { return nobody } }", (1, 29, "unknown-identifier")),
        ("agent V { func f(Search) { return 1 } }", (1, 18, "param-shadows-import")),
        ("agent V { func f() { return 1 } func f() { return 2 } }", (1, 38, "duplicate-function")),
        ("agent V { func W() { return 1 } }", (1, 16, "duplicate-binding")),
        ("agent V { func f() { return 1 } } agent V { func f() { return 2 } }", (1, 41, "duplicate-agent")),
        ('import file F from "nowhere.txt" agent V { func f() { return 1 } }', (1, 1, "import-failed")),
    ],
)
def test_a_wrong_entry_is_located_and_changes_nothing(
    session: Session, entry: str, problem: tuple[int, int, str]
) -> None:
    before = state(session)
    assert refuse(session, entry) == [problem]
    assert state(session) == before
    assert session.execute("[x.n, count, items, W(1)]") == [[1, 1, [1, 2], [1]]]


def test_all_that_is_wrong_with_an_entry_is_said_at_once(session: Session) -> None:
    assert refuse(session, "3 = 4\nnobody\nW()") == [
        (1, 1, "invalid-assignment-target"),
        (2, 1, "unknown-identifier"),
        (3, 2, "invalid-argument-count"),
    ]


def test_the_place_of_an_earlier_entry_is_not_said_of_this_one(session: Session) -> None:
    with pytest.raises(ScriptError) as caught:
        session.execute("agent V { func W(Search) { return 1 } }")
    assert [problem.code for problem in caught.value.problems] == ["duplicate-binding", "param-shadows-import"]
    assert "the first is at" not in str(caught.value)


def test_a_later_entry_may_declare_a_name_anew_and_as_something_else(session: Session) -> None:
    session.execute("agent W { main func() { return 2 } }")
    assert session.execute("W()") == [2]
    session.execute('import llm W from "openai://w"')
    session.execute("model W")
    session.execute("agent M { main func() { return 3 } }")
    assert session.execute("M()") == [3]
    assert refuse(session, "model M") == [(1, 7, "invalid-model")]


def test_what_is_declared_replaces_a_variable_of_its_name(session: Session) -> None:
    session.execute("N = 1 A = 2")
    session.execute('import llm N from "openai://n"')
    session.execute("agent A { main func() { return 3 } }")
    session.execute("model N")
    assert session.execute("A()") == [3]
    assert not {"N", "A"} & session.scope.variables.keys()
    session.execute("A = 4")
    assert refuse(session, 'import file A from "nowhere.txt"') == [(1, 1, "import-failed")]
    assert session.execute("A") == [4]


def test_an_entry_that_fails_while_it_runs_leaves_no_context_source(session: Session) -> None:
    before = state(session)
    failing = "use count count = items[9]"
    for _ in range(2):
        assert refuse(session, failing) == [(1, 19, "invalid-index")]
    assert state(session) == before
    session.execute("use count")
    assert len(session.scope.declared) == len(before[2]) + 1


def test_an_entry_that_begins_with_a_comment_may_declare(session: Session) -> None:
    session.execute("// agents\n\n// of mine\nagent C { main func() { return 4 } } // the last one")
    assert session.execute("// it is called\nC()") == [4]
    assert session.execute("// agent\nagent = 5 return agent") == [5]


def test_agents_of_one_entry_know_each_other(session: Session) -> None:
    session.execute("agent A { main func() { return B() } } agent B { main func() { return W(1) } }")
    assert session.execute("A()") == [[1]]


def test_an_agent_of_a_session_needs_no_main(session: Session) -> None:
    session.execute("agent A { func f() { return 1 } } agent B { func f() { return A.f() } }")
    assert session.execute("B.f()") == [1]


def test_a_model_is_set_before_it_is_called(graph: MemoryGraph) -> None:
    session = Session(graph, mock=True)
    asks = 'generate({ input: "Go" }) { return { n number } }'
    assert refuse(session, asks) == [(1, 1, "missing-generate-config")]
    session.execute('import llm M from "openai://m"')
    session.execute("model M")
    assert session.execute(asks) == [{"n": 0}]
    session.close()


def test_a_file_is_read_once_for_all_ways_to_it_and_anew_for_each_entry(
    graph: MemoryGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def note(path: Path) -> str:
        read.append(path)
        return read_script(path)

    monkeypatch.setattr("memorygraph.runtime.agentscript.units.read_script", note)
    for number in range(10):
        imports = "\n".join(f'import agent {name}{number + 1} from "{number + 1}.as"' for name in "AB") * (number < 9)
        agents = "\n".join(f"agent {name}{number} {{ main func() {{ return {number} }} }}" for name in "AB")
        (tmp_path / f"{number}.as").write_text(f"{imports}\n{agents}")
    session = Session(graph, folder=tmp_path)
    session.execute('import agent A0 from "0.as"')
    assert sorted(read) == sorted(tmp_path.glob("*.as"))
    (tmp_path / "0.as").write_text("agent A0 { main func() { return 7 } }")
    session.execute('import agent A0 from "0.as"')
    assert session.execute("A0()") == [7]
    session.close()
