"""Answers in the formats of the API: each is a document, or the events of its stream.

Documents are built from the response types of `openai`. Events are plain: a test validates each with its type.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import sys
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from openai.types import CompletionUsage, CreateEmbeddingResponse, Embedding
from openai.types.chat import ChatCompletionMessage
from openai.types.completion_usage import CompletionTokensDetails, PromptTokensDetails
from openai.types.create_embedding_response import Usage as EmbeddingUsage
from openai.types.responses import (
    Response,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseUsage,
)
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

from memorygraph.llm.completion import ToolCall, Usage
from memorygraph.scripted.replies import DIMENSIONS, Reply, Request
from memorygraph.scripted.request_checks import EmbeddingsRequest

CHARACTERS_PER_TOKEN = 4

# What a response repeats of its request, and what it says where the request says nothing.
REPEATED: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
# Why a response ended early, by the finish reason of a chat completion.
INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}

# An event of a stream: a document, or the mark of the end.
StreamEvent = dict[str, Any] | str


def estimate_tokens(text: str) -> int:
    """Estimate how many tokens a text is."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


class WireAnswer:
    """An answer in the format of one path of the API."""

    def document(self) -> dict[str, Any]:
        """Return the whole answer."""
        raise NotImplementedError

    def events(self) -> Iterator[StreamEvent]:
        """Yield the events of its stream; an answer that has no stream is one event."""
        yield self.document()


@dataclass(frozen=True)
class ModelAnswer(WireAnswer):
    """A reply of the script to one request; `number` tells apart the ids of different answers."""

    request: Request
    reply: Reply
    number: int
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def model(self) -> str:
        """The model that answers."""
        return self.reply.model or str(self.request.json["model"])

    @property
    def choices(self) -> list[Reply]:
        """The replies of all choices that the request asks for."""
        return self.reply.choices(self.request.json.get("n") or 1)

    @property
    def usage(self) -> Usage:
        """The scripted usage, or an estimate that is the same for the same request and reply."""
        if self.reply.usage is not None:
            return self.reply.usage
        asked = self.request.json
        prompt = json.dumps([asked[name] for name in ("instructions", "messages", "input") if name in asked])
        written = [
            (choice.content or "") + "".join(call.arguments for call in choice.tool_calls) for choice in self.choices
        ]
        return Usage(estimate_tokens(prompt), sum(map(estimate_tokens, written)))

    def calls(self, reply: Reply) -> list[ToolCall]:
        """List the tool calls of a reply; ids that the script leaves out are unique in this server."""
        return [
            ToolCall(call.name, call.arguments, call.id or f"call_{self.number:08}_{position}")
            for position, call in enumerate(reply.tool_calls)
        ]


class ChatAnswer(ModelAnswer):
    """A reply as a chat completion."""

    def head(self, kind: str) -> dict[str, Any]:
        """Return what a completion and each chunk of one begin with."""
        return {
            "id": f"chatcmpl-{self.number:08}",
            "object": kind,
            "created": self.created,
            "model": self.model,
            "service_tier": "default",
            "system_fingerprint": "fp_scripted",
        }

    def document(self) -> dict[str, Any]:
        """Return the whole completion."""
        choices = []
        for index, reply in enumerate(self.choices):
            message = ChatCompletionMessage(role="assistant", content=reply.content, refusal=None, annotations=[])
            calls = {"tool_calls": [call.as_dict() for call in self.calls(reply)]} if reply.tool_calls else {}
            said = message.to_dict() | calls
            choices.append({"index": index, "message": said, "logprobs": None, "finish_reason": reply.reason})
        return self.head("chat.completion") | {"choices": choices, "usage": self.wire_usage()}

    def events(self) -> Iterator[StreamEvent]:
        """Yield the chunks of a stream, those of several choices in turn, and the mark of its end."""
        with_usage = (self.request.json.get("stream_options") or {}).get("include_usage")
        # With the option every chunk says that its usage is not known yet; without it none names usage at all.
        unknown = {"usage": None} if with_usage else {}
        head = self.head("chat.completion.chunk")
        for step in zip_longest(*(self.choice_chunks(*numbered) for numbered in enumerate(self.choices))):
            for choice in filter(None, step):
                yield head | {"choices": [choice]} | unknown
        if with_usage:
            yield head | {"choices": [], "usage": self.wire_usage()}
        yield "[DONE]"

    def choice_chunks(self, index: int, reply: Reply) -> Iterator[dict[str, Any]]:
        """Yield one choice piece by piece: its role, its text, its calls, and why it ended."""
        deltas: list[dict[str, Any]] = [
            {"role": "assistant", "content": None if reply.content is None else "", "refusal": None}
        ]
        deltas += [{"content": piece} for piece in reply.pieces(reply.content or "")]
        for position, call in enumerate(self.calls(reply)):
            begun = {"index": position, "id": call.id, "type": "function"}
            deltas.append({"tool_calls": [begun | {"function": {"name": call.name, "arguments": ""}}]})
            for piece in reply.pieces(call.arguments):
                deltas.append({"tool_calls": [{"index": position, "function": {"arguments": piece}}]})
        for delta in deltas:
            yield {"index": index, "delta": delta, "logprobs": None, "finish_reason": None}
        yield {"index": index, "delta": {}, "logprobs": None, "finish_reason": reply.reason}

    def wire_usage(self) -> dict[str, Any]:
        """Return the usage in this format."""
        usage = self.usage
        return CompletionUsage(
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            total_tokens=usage.total_tokens,
            prompt_tokens_details=PromptTokensDetails(cached_tokens=0, audio_tokens=0),
            completion_tokens_details=CompletionTokensDetails(reasoning_tokens=0, audio_tokens=0),
        ).to_dict()


class ResponsesAnswer(ModelAnswer):
    """A reply as a response."""

    def begin(self) -> dict[str, Any]:
        """Return the response before anything is said."""
        asked = {name: self.request.json[name] for name in REPEATED if self.request.json.get(name) is not None}
        # Not validated: the request's own fields are repeated as they are, and its types are not those of a response.
        return Response.model_construct(
            id=f"resp_{self.number:08}",
            object="response",
            created_at=self.created,
            status="in_progress",
            background=False,
            error=None,
            incomplete_details=None,
            model=self.model,
            output=[],
            service_tier="default",
            usage=None,
            **{**REPEATED, **asked},
        ).to_dict(warnings=False)

    def document(self) -> dict[str, Any]:
        """Return the whole response."""
        usage, reason = self.usage, INCOMPLETE.get(self.reply.reason)
        status = "incomplete" if reason else "completed"
        wire_usage = ResponseUsage(
            input_tokens=usage.prompt_tokens,
            input_tokens_details=InputTokensDetails(cached_tokens=0, cache_write_tokens=0),
            output_tokens=usage.completion_tokens,
            output_tokens_details=OutputTokensDetails(reasoning_tokens=0),
            total_tokens=usage.total_tokens,
        )
        return self.begin() | {
            "status": status,
            "incomplete_details": {"reason": reason} if reason else None,
            "output": self.items(status),
            "usage": wire_usage.to_dict(),
        }

    def items(self, status: Any) -> list[dict[str, Any]]:
        """List what is put out: the message, if there is one, before the calls."""
        items: list[ResponseOutputMessage | ResponseFunctionToolCall] = []
        if self.reply.content is not None:
            text = ResponseOutputText(type="output_text", text=self.reply.content, annotations=[], logprobs=[])
            id_ = f"msg_{self.number:08}"
            items.append(ResponseOutputMessage(id=id_, type="message", role="assistant", status=status, content=[text]))
        for index, call in enumerate(self.calls(self.reply)):
            items.append(
                ResponseFunctionToolCall(
                    id=f"fc_{self.number:08}_{index}",
                    type="function_call",
                    status=status,
                    call_id=call.id,
                    name=call.name,
                    arguments=call.arguments,
                )
            )
        return [item.to_dict() for item in items]

    def events(self) -> Iterator[StreamEvent]:
        """Yield the events of a stream, numbered from 0."""
        for number, (kind, fields) in enumerate(self.steps()):
            yield {"type": f"response.{kind}", **fields, "sequence_number": number}

    def steps(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the kinds and fields of the events: the response begins, its items come one by one, and it ends."""
        begun, final = self.begin(), self.document()
        yield "created", {"response": begun}
        yield "in_progress", {"response": begun}
        for position, item in enumerate(final["output"]):
            is_message = item["type"] == "message"
            empty: dict[str, Any] = {"content": []} if is_message else {"arguments": ""}
            yield "output_item.added", {"output_index": position, "item": item | {"status": "in_progress"} | empty}
            place = {"item_id": item["id"], "output_index": position}
            yield from self.text_steps(item["content"][0], place) if is_message else self.call_steps(item, place)
            yield "output_item.done", {"output_index": position, "item": item}
        yield final["status"], {"response": final}

    def text_steps(self, part: dict[str, Any], item_place: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the text of a message piece by piece."""
        place = item_place | {"content_index": 0}
        yield "content_part.added", place | {"part": part | {"text": ""}}
        for piece in self.reply.pieces(part["text"]):
            yield "output_text.delta", place | {"delta": piece, "logprobs": []}
        yield "output_text.done", place | {"text": part["text"], "logprobs": []}
        yield "content_part.done", place | {"part": part}

    def call_steps(self, item: dict[str, Any], place: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the arguments of a call piece by piece."""
        for piece in self.reply.pieces(item["arguments"]):
            yield "function_call_arguments.delta", place | {"delta": piece}
        yield "function_call_arguments.done", place | {"name": item["name"], "arguments": item["arguments"]}


def vector_of(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """Compute a vector that depends on nothing but the text, of length 1, in single precision.

    Texts that share words are near each other. That is enough to try a search with, and no measure of meaning.
    """
    total = [0.0] * dimensions
    for word in re.findall(r"\w+", text.casefold()) or [text]:
        # The direction of a word: numbers from -128 to 127 that look random, the same in every process.
        digest = hashlib.shake_128(word.encode("utf-8", "surrogatepass")).digest(dimensions)
        for index, value in enumerate(array("b", digest)):
            total[index] += value
    length = math.sqrt(sum(value * value for value in total)) or 1.0
    return list(array("f", (value / length for value in total)))


@dataclass(frozen=True)
class EmbeddingsAnswer(WireAnswer):
    """The vectors of a request's texts; `dimensions` is their length where the request names none."""

    request: EmbeddingsRequest
    dimensions: int

    def document(self) -> dict[str, Any]:
        """Return the list of the vectors, as numbers or in base64."""
        texts = self.request.texts()
        vectors = [vector_of(text, self.request.dimensions or self.dimensions) for text in texts]
        encode: Any = encode_base64 if self.request.encoding_format == "base64" else list
        tokens = sum(map(estimate_tokens, texts))
        # The type knows numbers alone: what base64 stands for is decoded by the client.
        data = [
            Embedding.model_construct(object="embedding", index=index, embedding=encode(vector))
            for index, vector in enumerate(vectors)
        ]
        usage = EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens)
        answer = CreateEmbeddingResponse(object="list", data=data, model=self.request.model, usage=usage)
        return answer.to_dict(warnings=False)


def encode_base64(vector: list[float]) -> str:
    """Encode a vector as 32-bit floats, little-endian."""
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return base64.b64encode(numbers.tobytes()).decode()
