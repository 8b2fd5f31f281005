"""Streams of endpoints that differ in what they leave out and repeat: the same document comes of them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from memorygraph.messages.calls import response_document
from memorygraph.messages.chunks import Chunks, chat_document

Calls = list[dict[str, Any]]


def calls_of(*pieces: Calls) -> Any:
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": calls}}]} for calls in pieces]
    return chat_document(chunks)["choices"][0]["message"]["tool_calls"]


def function(arguments: str, name: str | None = None) -> dict[str, Any]:
    return {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}


def first(arguments: str) -> dict[str, Any]:
    return {"index": 0, "id": "c", "function": function(arguments, "f")}


ONE_CALL: dict[str, list[Calls]] = {
    "continued": [[first("")], [{"index": 0, "function": function("{}")}]],
    "name repeated": [[first("{")], [{"index": 0, "function": function("}", "f")}]],
    "name and id empty": [[first("{")], [{"index": 0, "id": "", "function": function("}", "")}]],
    "id repeated": [[first("{")], [{"index": 0, "id": "c", "function": function("}")}]],
    "id late": [[{"index": 0, "function": function("{}", "f")}], [{"index": 0, "id": "c", "function": None}]],
}


@pytest.mark.parametrize("pieces", ONE_CALL.values(), ids=ONE_CALL)
def test_a_call_is_one_call(pieces: list[Calls]) -> None:
    assert calls_of(*pieces) == [first("{}")]


def test_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    one, other = {"id": "a", "function": function("1", "f")}, {"id": "b", "function": function("2", "g")}
    assert calls_of([one], [other]) == [one, other]
    assert calls_of([one, other], [{"function": function("3")}]) == [
        one,
        {"id": "b", "function": function("23", "g")},
    ]


def test_every_choice_is_kept_and_the_first_is_heard() -> None:
    chunks = Chunks()
    assert chunks.document()["choices"] == [{"index": 0, "message": {}, "finish_reason": None}]
    pieces = [(1, "no", None), (0, "ye", None), (0, "s", "stop")]
    heard = [
        chunks.add({"choices": [{"index": index, "delta": {"content": text}, "finish_reason": reason}]})
        for index, text, reason in pieces
    ]
    assert chunks.add({"choices": [], "usage": {"total_tokens": 3}}) == ""
    assert (heard, chunks.finish_reason) == (["", "ye", "s"], "stop")
    document = chunks.document()
    assert document["usage"] == {"total_tokens": 3}
    assert [(c["message"]["content"], c["finish_reason"]) for c in document["choices"]] == [
        ("yes", "stop"),
        ("no", None),
    ]


def test_a_response_that_was_cut_keeps_its_text() -> None:
    begun = {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}}
    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": "Hel"}
    assert response_document([begun, delta])["partial_text"] == "Hel"


def test_the_log_probabilities_of_all_words_are_kept() -> None:
    pieces = [("a", {"content": [{"token": "a"}], "refusal": None}), ("b", {"content": [{"token": "b"}]}), ("", None)]
    chunks = [
        {"choices": [{"index": 0, "delta": {"content": text}, "logprobs": logprobs}]} for text, logprobs in pieces
    ]
    [choice] = chat_document(chunks)["choices"]
    assert choice["logprobs"] == {"content": [{"token": "a"}, {"token": "b"}], "refusal": None}


def part(text: str, kind: str = "text") -> dict[str, Any]:
    return {"type": kind, kind: text if kind == "text" else [{"type": "text", "text": text}]}


def test_a_text_that_comes_in_parts_is_heard_and_kept_in_parts() -> None:
    chunks = Chunks()
    contents: list[Any] = ["", [part("H", "thinking")], [part("m", "thinking")], [part("He")], [part("l")], "lo", None]
    heard = [chunks.add({"choices": [{"index": 0, "delta": {"content": content}}]}) for content in contents]
    assert heard == ["", "", "", "He", "l", "lo", ""]
    [choice] = chunks.document()["choices"]
    assert choice["message"]["content"] == [part("Hm", "thinking"), part("Hello")]


def test_chunks_are_joined_without_being_changed() -> None:
    content = [part("He"), part("l")]
    chunks = [
        {
            "choices": [
                {"index": 0, "delta": {"content": [each], "reasoning": each["text"]}, "logprobs": {"content": [each]}}
            ]
        }
        for each in content
    ]
    before = deepcopy(chunks)
    joined = Chunks()
    documents = []
    for chunk in chunks:
        joined.add(chunk)
        documents.append(joined.document())
    assert chunks == before
    assert [document["choices"][0]["message"] for document in documents] == [
        {"content": [part("He")], "reasoning": "He"},
        {"content": [part("Hel")], "reasoning": "Hel"},
    ]
