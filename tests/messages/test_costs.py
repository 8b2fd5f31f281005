"""What a model's answer cost: properties that Cypher asks for, in databases of earlier versions too."""

from __future__ import annotations

import json
from collections.abc import Callable
from operator import methodcaller
from pathlib import Path
from typing import Any

import pytest

from memorygraph import MemoryGraph, MemoryGraphError
from memorygraph.cli.messages import cost_messages_command
from memorygraph.graph import answers
from memorygraph.graph.answers import migrate_answers
from memorygraph.graph.connection import Connection
from memorygraph.graph.namespace import Namespace
from memorygraph.messages.costs import list_costs, price_of, read_prices
from memorygraph.messages.graph import MessageGraph
from memorygraph.messages.recorder import Recorder
from memorygraph.query import Query
from tests.cli.test_commands import document
from tests.messages.test_browser import SAVED
from tests.messages.test_recorder import call_of
from tests.site.pages import DOCS

PRICES: Any = {"m": {"input": 10, "output": 20, "cached_input": 1}}
PROPERTIES = Query(
    "MATCH (m:Metadata {namespace: $namespace}) RETURN m.temperature AS temperature, m.model AS model, "
    "m.finish_reason AS finish_reason, m.input_tokens AS input_tokens, m.output_tokens AS output_tokens, "
    "m.latency_s AS latency_s ORDER BY model, finish_reason"
)
ROWS = [
    {
        "temperature": None,
        "model": "m-2026-01-01",
        "finish_reason": "max_output_tokens",
        "input_tokens": 200_000,
        "output_tokens": 50_000,
        "latency_s": 0.1,
    },
    {
        "temperature": 1.0,
        "model": "m",
        "finish_reason": "length",
        "input_tokens": 100_000,
        "output_tokens": 10_000,
        "latency_s": 0.1,
    },
    {
        "temperature": 1.0,
        "model": "m",
        "finish_reason": "stop",
        "input_tokens": 100_000,
        "output_tokens": 10_000,
        "latency_s": 0.1,
    },
]


@pytest.fixture
def recorded(connection: Connection, namespace: str, tmp_path: Path) -> Namespace:
    """Two recorded calls: of the chat format with two answers, and of the Responses format, which was cut off."""
    scope = Namespace(connection, namespace)
    recorder = Recorder(scope, "talk", tmp_path)
    choices = [
        {"index": 0, "message": {"content": "a"}, "finish_reason": "stop"},
        {"index": 1, "message": {"content": "b"}, "finish_reason": "length"},
    ]
    details = {"cached_tokens": 50_000}
    usage = {"prompt_tokens": 100_000, "completion_tokens": 10_000, "prompt_tokens_details": details}
    request = {"model": "m", "temperature": 1.0, "messages": [{"role": "user", "content": "Hi"}]}
    recorder.record(call_of(namespace, "chat", request=request, response={"choices": choices, "usage": usage}))
    response = {
        "model": "m-2026-01-01",
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "usage": {"input_tokens": 200_000, "output_tokens": 50_000},
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "c"}]}],
    }
    recorder.record(call_of(namespace, "resp", api="responses", request={"input": "Hi"}, response=response))
    recorder.flush()
    return scope


def properties(scope: Namespace) -> list[dict[str, Any]]:
    """What the properties of the answers say."""
    rows = scope.connection.read(Query(PROPERTIES.text, {"namespace": scope.name}))
    return sorted((dict(row) for row in rows), key=lambda row: (-row["input_tokens"], row["finish_reason"]))


def ask(scope: Namespace, name: str) -> list[Any]:
    """The rows of a saved query."""
    return scope.connection.read(SAVED[name](namespace=scope.name))


def test_what_an_answer_cost_is_properties(recorded: Namespace) -> None:
    assert properties(recorded) == ROWS


def test_the_saved_queries_answer(recorded: Namespace) -> None:
    by_model = {
        row["model"]: (row["calls"], row["input_tokens"], row["output_tokens"])
        for row in ask(recorded, "cost-by-model")
    }
    assert by_model == {"m": (1, 100_000, 10_000), "m-2026-01-01": (1, 200_000, 50_000)}
    assert {row["message"]["content"] for row in ask(recorded, "answers-cut-off")} == {"b", "c"}
    assert [tuple(row.values()) for row in ask(recorded, "temperature-of-training-data")] == [
        (1.0, "m", 2),
        (None, "m-2026-01-01", 1),
    ]


def test_older_databases_are_migrated_in_pages_and_twice_is_once(
    recorded: Namespace, monkeypatch: pytest.MonkeyPatch, in_neo4j: Callable[[str], MessageGraph]
) -> None:
    removed = "n.temperature, n.finish_reason, n.finished, n.input_tokens, n.output_tokens, n.latency_s, n.call"
    old = Query(f"MATCH (n:Metadata {{namespace: $namespace}}) REMOVE {removed}", {"namespace": recorded.name})
    recorded.connection.write(methodcaller("run", old))
    assert ask(recorded, "cost-by-model") == []
    monkeypatch.setattr(answers, "PAGE", 2)
    for _ in range(2):
        migrate_answers(recorded)
        assert properties(recorded) == ROWS
    assert in_neo4j("talk").verify().ok


def test_cost_is_money_where_prices_are_given(recorded: Namespace, tmp_path: Path) -> None:
    assert [(cost.model, cost.cost) for cost in list_costs(recorded)] == [("m", None), ("m-2026-01-01", None)]
    # 50,000 tokens at 10, 50,000 at 1 and 10,000 at 20 a million; a dated snapshot has the price of its model.
    expected = [("m", 1, 0.75), ("m-2026-01-01", 1, 3.0)]
    toml, text = tmp_path / "prices.toml", tmp_path / "prices.json"
    toml.write_text("[m]\ninput = 10\noutput = 20\ncached_input = 1\n")
    text.write_text(json.dumps(PRICES))
    for prices in (PRICES, toml, str(text)):
        assert [(cost.model, cost.calls, cost.cost) for cost in list_costs(recorded, prices)] == expected


@pytest.mark.parametrize(
    ("model", "has"),
    [
        ("gpt-5", True),
        ("gpt-5-0613", True),
        ("gpt-5-002", True),
        ("gpt-5-2025-08-07", True),
        ("gpt-5-20251101", True),
        ("gpt-5-1", False),
        ("gpt-5-1-20251101", False),
        ("gpt-5-mini", False),
    ],
)
def test_only_a_dated_snapshot_has_the_price_of_its_model(model: str, has: bool) -> None:
    price = {"input": 1.0, "output": 2.0}
    assert price_of(model, {"gpt-5": price}) == (price if has else None)


def test_the_command_and_the_client_show_the_cost(environment: str, recorded: Namespace, tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps(PRICES))
    shown = document("-n", recorded.name, "messages", "cost", "--prices", str(prices))
    assert [(row["model"], row["cost"], row["cached_tokens"]) for row in shown] == [
        ("m", 0.75, 50_000),
        ("m-2026-01-01", 3.0, 0),
    ]
    graph = MemoryGraph(recorded.connection, recorded.name)
    assert [cost.as_dict() for cost in graph.costs(PRICES)] == shown


def test_the_line_of_the_help_and_of_the_page_is_a_file_of_prices(tmp_path: Path) -> None:
    line = '"gpt-5-mini" = {input = 0.25, output = 2.0, cached_input = 0.025}'
    option = next(each for each in cost_messages_command.params if each.name == "prices")
    assert line in str(option.to_info_dict()["help"])
    assert f"`{line}`" in (DOCS / "messages.md").read_text("utf-8")
    file = tmp_path / "prices.toml"
    file.write_text(line)
    assert read_prices(file) == {"gpt-5-mini": {"input": 0.25, "output": 2.0, "cached_input": 0.025}}


def test_a_model_with_a_dot_in_its_name_is_asked_to_be_quoted(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text("[gpt-4.1]\ninput = 1\noutput = 2\n")
    with pytest.raises(MemoryGraphError, match=r'in TOML a name with a dot is quoted, as \["gpt-4\.1"\]'):
        read_prices(file)


@pytest.mark.parametrize(
    "text", ["[m", "m = 1", "[m]\ninput = 1", "[m]\ninput = 1\noutput = -1", "[m]\ninput = 1\noutput = 1\nx = 1"]
)
def test_wrong_prices_are_said_with_their_place(recorded: Namespace, tmp_path: Path, text: str) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(MemoryGraphError, match=r"prices\.toml"):
        list_costs(recorded, file)
