"""An endpoint that holds a model to a grammar gets the one of a continuation, where it says who it is."""

from __future__ import annotations

import pytest

from memorygraph import ModelError
from memorygraph.languages.pete.gbnf import grammar
from memorygraph.llm.model import OpenAIModel, grammar_field
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.runtime.pete.minds import Mind

FIELDS = ("grammar", "guided_grammar")


def sent(mind: Mind) -> dict[str, str]:
    return {field: mind.asked[-1].json[field] for field in FIELDS if field in mind.asked[-1].json}


@pytest.mark.parametrize(
    ("owner", "field"), [("llamacpp", "grammar"), ("vllm", "guided_grammar"), ("openai", None), ("", None)]
)
def test_an_endpoint_is_known_by_whom_it_belongs_to(mind: Mind, owner: str, field: str | None) -> None:
    mind.thinks("// well\n", owner=owner).step()
    assert sent(mind) == ({field: grammar("continuation")} if field else {})


@pytest.mark.parametrize(("choice", "field"), [("llama", "grammar"), ("vllm", "guided_grammar"), ("none", None)])
def test_what_is_chosen_is_sent_whoever_it_is(mind: Mind, choice: str, field: str | None) -> None:
    mind.thinks("// well\n", owner="llamacpp").step(grammar=choice)
    assert sent(mind) == ({field: grammar("continuation")} if field else {})
    assert all(request.method == "POST" for request in mind.models[0].requests)


def test_the_kind_is_that_of_the_model_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ScriptedModel(models=["a"], owner="vllm") as server, OpenAIModel("b", server.base_url, api_key="") as model:
        assert grammar_field(model) == "guided_grammar"


def test_an_endpoint_without_a_list_of_models_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with (
        ScriptedModel(api_key="sk-other", owner="vllm") as server,
        OpenAIModel("any", server.base_url, api_key="sk-one", retries=0) as model,
    ):
        assert grammar_field(model) is None


def test_an_unknown_choice_is_refused_before_anything_is_asked(mind: Mind) -> None:
    with pytest.raises(ModelError, match="there are auto, none, llama, vllm"):
        mind.thinks("// well\n").step(grammar="xgrammar")
    assert mind.asked == []


def test_a_log_goes_on_without_a_grammar(mind: Mind) -> None:
    assert mind.thinks("tl;dr /* it went */ }", owner="vllm").run(grammar="none").ended == "closed"
