"""What the answers of each model cost: calls, tokens, seconds, and money where prices are given."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memorygraph.errors import MemoryGraphError
from memorygraph.graph.namespace import Namespace
from memorygraph.json_text import parse_json

PER_TOKENS = 1_000_000
_SNAPSHOT = re.compile(r"-\d{3}[\d-]*")  # gpt-5-mini-2025-08-07 has the price of gpt-5-mini
_KINDS = {"input", "output", "cached_input"}

Prices = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class ModelCost:
    """What the recorded calls of one model used; `cost` is None where its price is not known."""

    model: str
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    latency_s: float
    unmeasured: int  # calls whose endpoint told no tokens: they are not in the cost
    cost: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The value as `--json` prints it."""
        return asdict(self)


def list_costs(namespace: Namespace, prices: Prices | str | Path | None = None) -> list[ModelCost]:
    """The cost of each model in a namespace, by its name; `prices` are a mapping, or a TOML or JSON file of one.

    Raises:
        MemoryGraphError: the prices cannot be read.
    """
    table = read_prices(prices) if isinstance(prices, str | Path) else check_prices(prices or {}, "prices")
    rows = namespace.read("messages/costs")
    return [ModelCost(**row, cost=cost_of(row, price_of(row["model"], table))) for row in rows]


def read_prices(file: str | Path) -> Prices:
    """Read prices from a file: for each model the price of a million tokens of `input`, `output` and `cached_input`."""
    path = Path(file)
    try:
        text = path.read_text("utf-8-sig")
        given = parse_json(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise MemoryGraphError(
            f"the prices in {path} cannot be read: {error}; expected TOML, or JSON (.json)"
        ) from error
    return check_prices(given, str(path))


def check_prices(given: Any, place: str) -> Prices:
    """Refuse prices of another form.

    >>> check_prices({"m": {"input": 0.25, "output": 2}}, "prices")
    {'m': {'input': 0.25, 'output': 2}}
    """
    advice = (
        'give each model the price of a million tokens, such as {"gpt-5-mini": {"input": 0.25, "output": 2.0}}; '
        'in TOML a name with a dot is quoted, as ["gpt-4.1"]'
    )
    if not isinstance(given, Mapping):
        raise MemoryGraphError(f"{place}: not a table of models; {advice}")
    for model, price in given.items():
        if not isinstance(price, Mapping) or not {"input", "output"} <= price.keys() <= _KINDS:
            raise MemoryGraphError(
                f"{place}: `{model}` needs `input` and `output`, and may have `cached_input`; {advice}"
            )
        for kind, value in price.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise MemoryGraphError(f"{place}: `{kind}` of `{model}` is not a price: {value!r}; {advice}")
    return given


def price_of(model: str, prices: Prices) -> Mapping[str, float] | None:
    """The price of a model: its own, or that of the model which it is a dated snapshot of."""
    if model in prices:
        return prices[model]
    named = (name for name in prices if model.startswith(name) and _SNAPSHOT.fullmatch(model[len(name) :]))
    best = max(named, key=len, default=None)
    return None if best is None else prices[best]


def cost_of(row: Mapping[str, Any], price: Mapping[str, float] | None) -> float | None:
    """The cost of tokens at a price; tokens from the endpoint's cache have a price of their own, where there is one."""
    if price is None:
        return None
    cached = row["cached_tokens"]
    paid: float = (row["input_tokens"] - cached) * price["input"] + cached * price.get("cached_input", price["input"])
    paid += row["output_tokens"] * price["output"]
    return round(paid / PER_TOKENS, 6)
