"""A reply in the format of /v1/responses, built from the response types of `openai`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseContentPartAddedEvent,
    ResponseContentPartDoneEvent,
    ResponseCreatedEvent,
    ResponseFunctionCallArgumentsDeltaEvent,
    ResponseFunctionCallArgumentsDoneEvent,
    ResponseFunctionToolCall,
    ResponseIncompleteEvent,
    ResponseInProgressEvent,
    ResponseOutputItemAddedEvent,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseStreamEvent,
    ResponseTextDeltaEvent,
    ResponseTextDoneEvent,
    ResponseUsage,
)
from openai.types.responses.response import IncompleteDetails
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

from memorygraph.scripted.wire import ModelAnswer, StreamEvent

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


class ResponsesAnswer(ModelAnswer):
    """A reply as a response.

    >>> from memorygraph.scripted.replies import Reply, Request
    >>> request = Request("POST", "/v1/responses", {}, b'{"model": "m", "input": "Hi"}')
    >>> ResponsesAnswer(request, Reply("Hello"), 1).document()["output"][0]["content"][0]["text"]
    'Hello'
    """

    def document(self) -> dict[str, Any]:
        """Return the whole response."""
        return self.finished().to_dict(warnings=False)

    def events(self) -> Iterator[StreamEvent]:
        """Yield the events of a stream, numbered from 0."""
        for event in self.typed_events():
            yield event.to_dict(warnings=False)

    def typed_events(self) -> Iterator[ResponseStreamEvent]:
        """Yield the events: the response begins, its items come one by one, and it ends."""
        numbers = count()
        begun = self.begun()
        yield ResponseCreatedEvent(type="response.created", response=begun, sequence_number=next(numbers))
        yield ResponseInProgressEvent(type="response.in_progress", response=begun, sequence_number=next(numbers))
        for position, item in enumerate(self.items()):
            empty: dict[str, Any] = {"content": []} if isinstance(item, ResponseOutputMessage) else {"arguments": ""}
            yield ResponseOutputItemAddedEvent(
                type="response.output_item.added",
                output_index=position,
                item=item.model_copy(update={"status": "in_progress", **empty}),
                sequence_number=next(numbers),
            )
            if isinstance(item, ResponseOutputMessage):
                yield from self.text_events(position, item, numbers)
            else:
                yield from self.call_events(position, item, numbers)
            yield ResponseOutputItemDoneEvent(
                type="response.output_item.done", output_index=position, item=item, sequence_number=next(numbers)
            )
        final = self.finished()
        if final.status == "completed":
            yield ResponseCompletedEvent(type="response.completed", response=final, sequence_number=next(numbers))
        else:
            yield ResponseIncompleteEvent(type="response.incomplete", response=final, sequence_number=next(numbers))

    def text_events(
        self, position: int, item: ResponseOutputMessage, numbers: Iterator[int]
    ) -> Iterator[ResponseStreamEvent]:
        """Yield a message's text piece by piece."""
        place: dict[str, Any] = {"item_id": item.id, "output_index": position, "content_index": 0}
        text = self.reply.content or ""
        [part] = item.content
        yield ResponseContentPartAddedEvent(
            type="response.content_part.added",
            part=part.model_copy(update={"text": ""}),
            sequence_number=next(numbers),
            **place,
        )
        for piece in self.reply.pieces(text):
            yield ResponseTextDeltaEvent(
                type="response.output_text.delta", delta=piece, logprobs=[], sequence_number=next(numbers), **place
            )
        yield ResponseTextDoneEvent(
            type="response.output_text.done", text=text, logprobs=[], sequence_number=next(numbers), **place
        )
        yield ResponseContentPartDoneEvent(
            type="response.content_part.done", part=part, sequence_number=next(numbers), **place
        )

    def call_events(
        self, position: int, item: ResponseFunctionToolCall, numbers: Iterator[int]
    ) -> Iterator[ResponseStreamEvent]:
        """Yield a call's arguments piece by piece."""
        place: dict[str, Any] = {"item_id": item.id, "output_index": position}
        for piece in self.reply.pieces(item.arguments):
            yield ResponseFunctionCallArgumentsDeltaEvent(
                type="response.function_call_arguments.delta", delta=piece, sequence_number=next(numbers), **place
            )
        yield ResponseFunctionCallArgumentsDoneEvent(
            type="response.function_call_arguments.done",
            name=item.name,
            arguments=item.arguments,
            sequence_number=next(numbers),
            **place,
        )

    def items(self) -> list[ResponseOutputMessage | ResponseFunctionToolCall]:
        """List what is put out: the message, if there is one, before the calls."""
        status = "completed" if self.incomplete() is None else "incomplete"
        items: list[ResponseOutputMessage | ResponseFunctionToolCall] = []
        if self.reply.content is not None:
            text = ResponseOutputText(type="output_text", text=self.reply.content, annotations=[], logprobs=[])
            items.append(
                ResponseOutputMessage(
                    id=f"msg_{self.number:08}", type="message", role="assistant", status=status, content=[text]
                )
            )
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
        return items

    def incomplete(self) -> IncompleteDetails | None:
        """Return why the response ends early, if it does."""
        if self.reply.reason == "length":
            return IncompleteDetails(reason="max_output_tokens")
        return IncompleteDetails(reason="content_filter") if self.reply.reason == "content_filter" else None

    def begun(self) -> Response:
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
        )

    def finished(self) -> Response:
        """Return the response at its end."""
        usage, incomplete = self.usage, self.incomplete()
        return self.begun().model_copy(
            update={
                "status": "incomplete" if incomplete else "completed",
                "incomplete_details": incomplete,
                "output": self.items(),
                "usage": ResponseUsage(
                    input_tokens=usage.prompt_tokens,
                    input_tokens_details=InputTokensDetails(cached_tokens=0, cache_write_tokens=0),
                    output_tokens=usage.completion_tokens,
                    output_tokens_details=OutputTokensDetails(reasoning_tokens=0),
                    total_tokens=usage.total_tokens,
                ),
            }
        )
