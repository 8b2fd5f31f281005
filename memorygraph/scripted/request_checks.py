"""What a request must look like, checked as a real endpoint checks it, and refused in OpenAI's own shape.

Only what is sure to be refused is checked; what is not known is let through, because endpoints differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError, model_validator

Name = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
Text = Annotated[str, Field(min_length=1)]


class RefusedRequest(Exception):  # noqa: N818 - an answer, not an error of ours
    """A request that the endpoint answers with an error.

    >>> RefusedRequest(401, "No key.").document()["error"]["message"]
    'No key.'
    """

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code

    def document(self) -> dict[str, Any]:
        """The error as the body of an answer."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


class _Checked(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Function(_Checked):
    name: Name


class _CalledFunction(_Checked):
    name: str
    arguments: str


class _MadeCall(_Checked):
    id: str
    type: Literal["function"]
    function: _CalledFunction


class _ChatTool(_Checked):
    type: Literal["function"]
    function: _Function


class _JsonSchema(_Checked):
    name: Name
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")


class _Format(_Checked):
    type: Literal["text", "json_object", "json_schema", "grammar"]
    json_schema: _JsonSchema | None = None

    @model_validator(mode="after")
    def _has_its_schema(self) -> Self:
        if self.type == "json_schema" and self.json_schema is None:
            raise ValueError("Missing required parameter: 'json_schema'.")
        return self


class _ChatMessage(_Checked):
    role: Literal["developer", "system", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None
    tool_calls: Annotated[list[_MadeCall], Field(min_length=1)] | None = None
    tool_call_id: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.content is None and self.role != "assistant":
            raise ValueError("Missing required parameter: 'content'.")
        if self.content is None and not (self.tool_calls or self.model_extra):
            raise ValueError("an assistant message needs 'content' or 'tool_calls'.")
        if self.role == "tool" and self.tool_call_id is None:
            raise ValueError("Missing required parameter: 'tool_call_id'.")
        return self


class _Sampling(_Checked):
    model: Text
    stream: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None


class ChatRequest(_Sampling):
    """The body of a request to /v1/chat/completions."""

    messages: Annotated[list[_ChatMessage], Field(min_length=1)]
    n: Annotated[int, Field(ge=1, le=128)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    stream_options: dict[str, Any] | None = None
    response_format: _Format | None = None
    tools: Annotated[list[_ChatTool], Field(min_length=1, max_length=128)] | None = None

    @model_validator(mode="after")
    def _only_streams_have_options(self) -> Self:
        if self.stream_options is not None and not self.stream:
            raise ValueError("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
        return self

    @model_validator(mode="after")
    def _each_call_has_its_result(self) -> Self:
        """Tool messages follow the calls that they answer, and no call is left without its answer."""
        open_calls: set[str] = set()
        for index, message in enumerate(self.messages):
            if message.role == "tool":
                if message.tool_call_id not in open_calls:
                    raise ValueError(
                        f"messages[{index}]: messages with role 'tool' must be a response to a preceding message "
                        "with 'tool_calls'."
                    )
                open_calls.remove(message.tool_call_id)
                continue
            _refuse_open(open_calls)
            open_calls = {call.id for call in message.tool_calls or ()}
        _refuse_open(open_calls)
        return self


def _refuse_open(calls: Iterable[str]) -> None:
    if missing := ", ".join(sorted(calls)):
        raise ValueError(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {missing}"
        )


class _ResponsesTool(_Checked):
    type: Text


class _ResponsesFormat(_Checked):
    type: Literal["text", "json_object", "json_schema"]
    name: Name | None = None

    @model_validator(mode="after")
    def _has_its_name(self) -> Self:
        if self.type == "json_schema" and self.name is None:
            raise ValueError("Missing required parameter: 'name'.")
        return self


class _ResponsesText(_Checked):
    format: _ResponsesFormat | None = None


class _InputMessage(_Checked):
    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[dict[str, Any]]


class _InputItem(_Checked):
    type: Text
    call_id: str | None = None


def _input_kind(item: Any) -> str:
    return "item" if isinstance(item, dict) and item.get("type", "message") != "message" else "message"


_Input: TypeAlias = Annotated[
    Annotated[_InputMessage, Tag("message")] | Annotated[_InputItem, Tag("item")], Discriminator(_input_kind)
]


class ResponsesRequest(_Sampling):
    """The body of a request to /v1/responses."""

    input: str | Annotated[list[_Input], Field(min_length=1)]
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    previous_response_id: str | None = None
    text: _ResponsesText | None = None
    tools: list[_ResponsesTool] | None = None

    @model_validator(mode="after")
    def _each_call_has_its_result(self) -> Self:
        if isinstance(self.input, str):
            return self
        items = [item for item in self.input if isinstance(item, _InputItem)]
        calls = {item.call_id for item in items if item.type == "function_call"}
        results = {item.call_id for item in items if item.type == "function_call_output"}
        if orphans := calls - results:
            raise ValueError(f"No tool output found for function call {min(map(str, orphans))}.")
        # The call of a result may stand in an earlier response, which only its endpoint knows.
        if (orphans := results - calls) and self.previous_response_id is None:
            raise ValueError(f"No tool call found for function call output with call_id {min(map(str, orphans))}.")
        return self


class EmbeddingsRequest(_Checked):
    """The body of a request to /v1/embeddings."""

    model: Text
    input: (
        Text
        | Annotated[list[Text], Field(min_length=1, max_length=2048)]
        | Annotated[list[int], Field(min_length=1)]
        | Annotated[list[Annotated[list[int], Field(min_length=1)]], Field(min_length=1, max_length=2048)]
    )
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Field(ge=1, le=16384)] | None = None

    def texts(self) -> list[str]:
        """The inputs, one by one; token numbers count as words."""
        if isinstance(self.input, str):
            return [self.input]
        numbers = [number for number in self.input if isinstance(number, int)]
        if numbers:
            return [" ".join(map(str, numbers))]
        return [
            text if isinstance(text, str) else " ".join(map(str, text))
            for text in self.input
            if not isinstance(text, int)
        ]


def check(kind: type[BaseModel], body: Any) -> Any:
    """The request as a value.

    >>> check(EmbeddingsRequest, {"model": "m", "input": ["a", "b"]}).texts()
    ['a', 'b']

    Raises:
        RefusedRequest: the body is not such a request; the message names the first thing that is wrong.
    """
    if not isinstance(body, dict):
        raise RefusedRequest(400, "We could not parse the JSON body of your request: it must be a JSON object.")
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        raise _refusal(error) from None


def _refusal(error: ValidationError) -> RefusedRequest:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    # Of a union's kinds each tells what it misses; the one that was meant tells more than that the type is another.
    first = next((problem for problem in found if not problem["type"].endswith("_type")), found[0])
    param = _place(first["loc"])
    if first["type"] == "missing":
        return RefusedRequest(400, f"Missing required parameter: '{param}'.", param, "missing_required_parameter")
    problem = first["msg"].removeprefix("Value error, ")
    where = f"Invalid value for '{param}': " if param else ""
    return RefusedRequest(400, where + problem, param or None, "invalid_value")


def _place(location: tuple[int | str, ...]) -> str:
    """Where in the body: `messages[0].content`; the branches of a union, which pydantic names too, left out."""
    place = ""
    for step in location:
        if isinstance(step, int):
            place += f"[{step}]"
        elif step.isidentifier() and step not in {"str", "message", "item"}:
            place += f".{step}" if place else step
    return place
