"""A reply in the format of /v1/chat/completions, built from the response types of `openai`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from openai.types import CompletionUsage
from openai.types.chat import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionMessage,
    ChatCompletionMessageFunctionToolCall,
)
from openai.types.chat.chat_completion import Choice
from openai.types.chat.chat_completion_chunk import (
    Choice as ChunkChoice,
)
from openai.types.chat.chat_completion_chunk import (
    ChoiceDelta,
    ChoiceDeltaToolCall,
    ChoiceDeltaToolCallFunction,
)
from openai.types.chat.chat_completion_message_function_tool_call import Function
from openai.types.completion_usage import CompletionTokensDetails, PromptTokensDetails

from memorygraph.scripted.replies import Reply
from memorygraph.scripted.wire import ModelAnswer, StreamEvent


class ChatAnswer(ModelAnswer):
    """A reply as a chat completion.

    >>> from memorygraph.scripted.replies import Request
    >>> request = Request("POST", "/v1/chat/completions", {}, b'{"model": "m", "messages": []}')
    >>> ChatAnswer(request, Reply("Hi"), 1).document()["choices"][0]["message"]["content"]
    'Hi'
    """

    def document(self) -> dict[str, Any]:
        """Return the whole completion."""
        choices = []
        for index, reply in enumerate(self.choices):
            message = ChatCompletionMessage(role="assistant", content=reply.content, refusal=None, annotations=[])
            if reply.tool_calls:
                message.tool_calls = [
                    ChatCompletionMessageFunctionToolCall(
                        id=call.id, type="function", function=Function(name=call.name, arguments=call.arguments)
                    )
                    for call in self.calls(reply)
                ]
            reason: Any = reply.reason  # a script may give one that the type does not know
            choices.append(Choice.model_construct(index=index, message=message, logprobs=None, finish_reason=reason))
        completion = ChatCompletion(
            id=f"chatcmpl-{self.number:08}",
            object="chat.completion",
            created=self.created,
            model=self.model,
            service_tier="default",
            system_fingerprint="fp_scripted",
            choices=choices,
            usage=self.wire_usage(),
        )
        return completion.to_dict(warnings=False)

    def events(self) -> Iterator[StreamEvent]:
        """Yield the chunks of a stream, those of several choices in turn, and the mark of its end."""
        with_usage = (self.request.json.get("stream_options") or {}).get("include_usage")
        # With the option every chunk says that its usage is not known yet; without it none names usage at all.
        unknown = {"usage": None} if with_usage else {}
        head = ChatCompletionChunk(
            id=f"chatcmpl-{self.number:08}",
            object="chat.completion.chunk",
            created=self.created,
            model=self.model,
            service_tier="default",
            system_fingerprint="fp_scripted",
            choices=[],
        ).to_dict()
        for step in zip_longest(*(self.choice_chunks(*numbered) for numbered in enumerate(self.choices))):
            for choice in step:
                if choice is not None:
                    yield head | {"choices": [choice.to_dict(warnings=False)]} | unknown
        if with_usage:
            yield head | {"usage": self.wire_usage().to_dict()}
        yield "[DONE]"

    def choice_chunks(self, index: int, reply: Reply) -> Iterator[ChunkChoice]:
        """Yield one choice piece by piece: its role, its text, its calls, and why it ended."""

        def chunk(delta: ChoiceDelta, finish_reason: Any = None) -> ChunkChoice:
            return ChunkChoice.model_construct(index=index, delta=delta, logprobs=None, finish_reason=finish_reason)

        yield chunk(ChoiceDelta(role="assistant", content=None if reply.content is None else "", refusal=None))
        for piece in reply.pieces(reply.content or ""):
            yield chunk(ChoiceDelta(content=piece))
        for position, call in enumerate(self.calls(reply)):
            named = ChoiceDeltaToolCallFunction(name=call.name, arguments="")
            begun = ChoiceDeltaToolCall(index=position, id=call.id, type="function", function=named)
            yield chunk(ChoiceDelta(tool_calls=[begun]))
            for piece in reply.pieces(call.arguments):
                more = ChoiceDeltaToolCall(index=position, function=ChoiceDeltaToolCallFunction(arguments=piece))
                yield chunk(ChoiceDelta(tool_calls=[more]))
        yield chunk(ChoiceDelta(), reply.reason)

    def wire_usage(self) -> CompletionUsage:
        """Return the usage in this format."""
        usage = self.usage
        return CompletionUsage(
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            total_tokens=usage.total_tokens,
            prompt_tokens_details=PromptTokensDetails(cached_tokens=0, audio_tokens=0),
            completion_tokens_details=CompletionTokensDetails(reasoning_tokens=0, audio_tokens=0),
        )
