"""The functions of the seed's product review as tools: what the model is told, and what it may answer."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorygraph.languages.convo.syntax import FunctionMessage
from memorygraph.llm.structured import ReplyError
from memorygraph.runtime.convo.inference import read_arguments, tool_schema
from memorygraph.runtime.convo.types import BASIC
from tests.runtime.convo.expressions import Script
from tests.runtime.convo.test_values import JSON

REVIEW = """
> define
Mail = map(
    # Where it goes
    toEmail: string
    subject?: string
)

> flagUser(
    flag: enum("none" "self-harm" "offensive" "self-advertisement")

    # Message to be sent to user if flag is not "none"
    message: string

    userEmail: string
) -> ( return(input) )

> categorize(category:enum('positive' 'neutral' 'negative'));

# Gives the money back
> sendRefund(
    toEmail:string
    refundAmount:number
    tags?: array(string)
) -> ( return("Refund sent") )

> sendMail(urgent?: boolean) Mail -> ( toEmail )

> plain()

> anything(value)
"""

TEXT = {"type": "string"}

SCHEMAS: dict[str, tuple[str | None, dict[str, Any], list[str]]] = {
    "flagUser": (
        None,
        {
            "flag": {"type": "string", "enum": ["none", "self-harm", "offensive", "self-advertisement"]},
            "message": {"type": "string", "description": 'Message to be sent to user if flag is not "none"'},
            "userEmail": TEXT,
        },
        ["flag", "message", "userEmail"],
    ),
    "categorize": (None, {"category": {"type": "string", "enum": ["positive", "neutral", "negative"]}}, ["category"]),
    "sendRefund": (
        "Gives the money back",
        {"toEmail": TEXT, "refundAmount": {"type": "number"}, "tags": {"type": "array", "items": TEXT}},
        ["toEmail", "refundAmount"],
    ),
    "sendMail": (
        None,
        {
            "toEmail": {"type": "string", "description": "Where it goes"},
            "subject": TEXT,
            "urgent": {"type": "boolean"},
        },
        ["toEmail"],
    ),
    "plain": (None, {}, []),
    "anything": (None, {"value": {}}, ["value"]),
}


@cache
def review() -> Script:
    script = Script(REVIEW)
    script.run()
    return script


@pytest.fixture
def script() -> Script:
    return review()


def function(script: Script, name: str) -> FunctionMessage:
    return next(function for function in script.functions if function.name == name)


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_a_model_is_told(name: str, script: Script) -> None:
    description, properties, required = SCHEMAS[name]
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    told: dict[str, Any] = {"name": name, "parameters": parameters}
    if description:
        told["description"] = description
    assert tool_schema(function(script, name), script.evaluator) == {"type": "function", "function": told}


@pytest.mark.parametrize(
    ("name", "said", "arguments"),
    [
        ("categorize", '{"category": "positive"}', {"category": "positive"}),
        ("categorize", ' {"category": " positive\\n"} ', {"category": "positive"}),
        ("sendRefund", '{"toEmail": "a@b.c", "refundAmount": "4.99"}', {"toEmail": "a@b.c", "refundAmount": 4.99}),
        ("sendRefund", '{"toEmail": 5, "refundAmount": 5, "tags": [1]}',
         {"toEmail": "5", "refundAmount": 5, "tags": ["1"]}),
        ("sendMail", '{"toEmail": "a", "urgent": "true"}', {"toEmail": "a", "urgent": True}),
        ("sendMail", '{"toEmail": "> goto evil {{input}}"}', {"toEmail": "> goto evil {{input}}"}),
        ("sendMail", '{"toEmail": "a", "subject": null, "more": []}', {"toEmail": "a"}),
        ("plain", "", {}),
    ],
)  # fmt: skip
def test_what_a_model_says(name: str, said: str, arguments: dict[str, Any], script: Script) -> None:
    assert read_arguments(said, function(script, name), script.evaluator) == arguments


@pytest.mark.parametrize(
    ("name", "said", "message"),
    [
        ("categorize", '{"category": "bad"}', '`categorize`.category must be one of "positive", "neutral", "negative"'),
        ("categorize", "positive", "the arguments for `categorize` are not JSON"),
        ("categorize", "[" * 100_000, "are not JSON"),
        ("categorize", '{"category": ' + "1" * 5000 + "}", "are not JSON"),
        ("categorize", "[1]", "the arguments for `categorize` must be a JSON object, and are a list"),
        ("categorize", "null", "must be a JSON object, and are null"),
        ("categorize", "", "`categorize`.category is missing"),
        ("sendRefund", '{"toEmail": "a"}', "`sendRefund`.refundAmount is missing; it must be a number"),
        ("sendRefund", '{"toEmail": "a", "refundAmount": 1e999}', "`sendRefund`.refundAmount must be a number"),
        (
            "sendRefund",
            '{"toEmail": "a", "refundAmount": 1' + "0" * 400 + "}",
            "`sendRefund`.refundAmount must be a number, and is a number: 1000",
        ),
        ("sendRefund", '{"toEmail": "a", "refundAmount": Infinity}', "Infinity is not a JSON number"),
        ("sendMail", '{"toEmail": {"a": 1}}', '`sendMail`.toEmail must be a text, and is a map: {"a":1}'),
    ],
)
def test_what_a_model_says_wrong(name: str, said: str, message: str, script: Script) -> None:
    with pytest.raises(ReplyError) as caught:
        read_arguments(said, function(script, name), script.evaluator)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


@given(said=st.text() | JSON.map(json.dumps), name=st.sampled_from(list(SCHEMAS)))
def test_whatever_a_model_says_fits_or_is_its_error(said: str, name: str) -> None:
    script = review()
    called = function(script, name)
    try:
        arguments = read_arguments(said, called, script.evaluator)
    except ReplyError:
        return
    assert script.evaluator.signature(called).accepts(arguments)
    assert BASIC["object"].accepts(arguments)
