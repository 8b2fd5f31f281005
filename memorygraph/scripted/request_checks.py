"""Checks a request as a real endpoint does, and refuses it in OpenAI's own shape.

What a body holds is checked with the request types of `openai`. They say nothing of limits, of names, and of how the
parts of a request belong together, so the models here do. What neither knows is let through, because endpoints differ.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self

from openai.types import EmbeddingCreateParams
from openai.types.chat.completion_create_params import CompletionCreateParamsBase
from openai.types.responses.response_create_params import ResponseCreateParamsBase
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError, model_validator
from pydantic_core import ErrorDetails, SchemaValidator

MAX_CHOICES = 128
MAX_TOOLS = 128
MAX_TEXTS = 2048
MAX_DIMENSIONS = 16384

# The fields by whose values the types of `openai` tell the kinds of a message, an item, a tool or a format apart.
TAGS = ("role", "type")
# The kinds of a union that pydantic adds to the place of a problem, and that look like fields.
KIND_NAMES = frozenset({"str", "int", "float", "bool", "message", "item"})

LimitedName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
NotEmpty = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]


class RefusedRequest(Exception):  # noqa: N818 - an answer, not an error of ours
    """A request that the endpoint answers with an error."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code

    def document(self) -> dict[str, Any]:
        """Return the error as the body of an answer."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


class Limited(BaseModel):
    """A part of a request with limits that the types do not say; other fields are let through."""

    model_config = ConfigDict(extra="allow", strict=True)


class LimitedRequest(Limited):
    """The limits of a request; `params` is the type of `openai` for its fields, all but those in `untyped`."""

    params: ClassVar[type]
    untyped: ClassVar[frozenset[str]] = frozenset()

    model: NotEmpty
    # The types know it as two literals, one for each of two kinds of requests.
    stream: bool | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None


class Named(Limited):
    """What has a name of limited characters: a function, or the schema of an answer."""

    name: LimitedName | None = None


class HoldsNamed(Limited):
    """What holds a part with such a name: a chat request's tool or format, or the text settings of a response."""

    function: Named | None = None
    json_schema: Named | None = None
    format: Named | None = None


class ChatMessage(Limited):
    """A message of a chat request."""

    role: str
    content: Any = None
    tool_calls: Annotated[list[dict[str, Any]], Field(min_length=1)] | None = None
    tool_call_id: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.role == "assistant" and self.content is None and not (self.tool_calls or self.model_extra):
            raise ValueError("an assistant message needs 'content' or 'tool_calls'.")
        return self


class ChatRequest(LimitedRequest):
    """The body of a request to /v1/chat/completions."""

    params = CompletionCreateParamsBase

    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    n: Annotated[int, Field(ge=1, le=MAX_CHOICES)] | None = None
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    stream_options: dict[str, Any] | None = None
    response_format: HoldsNamed | None = None
    tools: Annotated[list[HoldsNamed], Field(min_length=1, max_length=MAX_TOOLS)] | None = None

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
            elif open_calls:
                break
            else:
                open_calls = {call["id"] for call in message.tool_calls or ()} if message.role == "assistant" else set()
        if open_calls:
            raise ValueError(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                "'tool_call_id'. The following tool_call_ids did not have response messages: "
                f"{', '.join(sorted(open_calls))}"
            )
        return self


class ResponsesTool(Limited):
    """A tool of a request for a response."""

    type: NotEmpty


class InputMessage(Limited):
    """A message in the input of a request for a response."""

    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[dict[str, Any]]


class InputItem(Limited):
    """Anything else in the input of a request for a response, such as a call or its result."""

    type: NotEmpty
    call_id: str | None = None


def kind_of_input(item: Any) -> str:
    """Tell a message from other items: its type may be left out."""
    return "item" if isinstance(item, dict) and item.get("type", "message") != "message" else "message"


class ResponsesRequest(LimitedRequest):
    """The body of a request to /v1/responses."""

    params = ResponseCreateParamsBase
    # Endpoints take less than these types want: a function without `strict`, an assistant's message without an `id`.
    untyped = frozenset({"input", "tools"})

    input: (
        str
        | Annotated[
            list[
                Annotated[
                    Annotated[InputMessage, Tag("message")] | Annotated[InputItem, Tag("item")],
                    Discriminator(kind_of_input),
                ]
            ],
            Field(min_length=1),
        ]
    )
    tools: list[ResponsesTool] | None = None
    max_output_tokens: Count | None = None
    previous_response_id: str | None = None
    text: HoldsNamed | None = None

    @model_validator(mode="after")
    def _each_call_has_its_result(self) -> Self:
        items = [item for item in self.input if isinstance(item, InputItem)]
        calls = {item.call_id for item in items if item.type == "function_call"}
        results = {item.call_id for item in items if item.type == "function_call_output"}
        if orphans := calls - results:
            raise ValueError(f"No tool output found for function call {min(map(str, orphans))}.")
        # The call of a result may stand in an earlier response, which only its endpoint knows.
        if (orphans := results - calls) and self.previous_response_id is None:
            raise ValueError(f"No tool call found for function call output with call_id {min(map(str, orphans))}.")
        return self


class EmbeddingsRequest(LimitedRequest):
    """The body of a request to /v1/embeddings."""

    params = EmbeddingCreateParams

    input: (
        NotEmpty
        | Annotated[list[NotEmpty], Field(min_length=1, max_length=MAX_TEXTS)]
        | Annotated[list[int], Field(min_length=1)]
        | Annotated[list[Annotated[list[int], Field(min_length=1)]], Field(min_length=1, max_length=MAX_TEXTS)]
    )
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Field(ge=1, le=MAX_DIMENSIONS)] | None = None

    def texts(self) -> list[str]:
        """List the inputs; token numbers count as words."""
        given: Any = self.input
        inputs = [given] if isinstance(given, str) or isinstance(given[0], int) else given
        return [text if isinstance(text, str) else " ".join(map(str, text)) for text in inputs]


def check_request(kind: type[LimitedRequest], body: Any) -> Any:
    """Return the request as a value, or refuse it by the first thing that is wrong."""
    if not isinstance(body, dict):
        raise RefusedRequest(400, "We could not parse the JSON body of your request: it must be a JSON object.")
    try:
        typed = {name: value for name, value in body.items() if name not in kind.untyped}
        validator_of(kind.params).validate_python(known_fields(typed), strict=True)
        return kind.model_validate(body)
    except ValidationError as error:
        raise refuse(error) from None


@cache
def validator_of(params: type) -> SchemaValidator:
    """Build the validator of a request type."""

    # pydantic checks an `Iterable`, as these types have it, only while it is read. In a body it is a list.
    def with_lists(schema: Any) -> Any:
        if isinstance(schema, dict):
            changed = {key: with_lists(value) for key, value in schema.items()}
            return changed | {"type": "list"} if schema.get("type") == "generator" else changed
        return type(schema)(map(with_lists, schema)) if isinstance(schema, list | tuple) else schema

    return SchemaValidator(with_lists(TypeAdapter(params).core_schema))


def known_fields(value: Any) -> Any:
    """Leave out the fields that the types would refuse, and endpoints take."""
    # That is null for a field that is not given, and the answer's format `grammar` of servers for local models.
    if isinstance(value, list):
        return list(map(known_fields, value))
    if not isinstance(value, dict):
        return value
    is_grammar = {key: isinstance(inner, dict) and inner.get("type") == "grammar" for key, inner in value.items()}
    return {key: known_fields(inner) for key, inner in value.items() if inner is not None and not is_grammar[key]}


def refuse(error: ValidationError) -> RefusedRequest:
    """Return the refusal that names the first thing that is wrong."""
    found = error.errors(include_url=False, include_input=False)
    # Each kind of a union tells why it is not the one. The kinds that the tag excludes say nothing about the request.
    excluded = [problem["loc"][:-1] for problem in found if is_other_kind(problem)]
    meant = [problem for problem in found if not any(problem["loc"][: len(kind)] == kind for kind in excluded)]
    # A kind that gets further says more than one that wants another type.
    deep = (problem for problem in meant if not problem["type"].endswith(("_type", "literal_error")))
    first = next(deep, (meant or found)[0])
    param = param_of(first["loc"])
    if first["type"] == "missing":
        return RefusedRequest(400, f"Missing required parameter: '{param}'.", param, "missing_required_parameter")
    message = first["msg"].removeprefix("Value error, ")
    if not meant:
        expected = [problem["ctx"]["expected"] for problem in found if problem["type"] == "literal_error"]
        message = f"Input should be {' or '.join(dict.fromkeys(expected))}"
    where = f"Invalid value for '{param}': " if param else ""
    return RefusedRequest(400, where + message, param or None, "invalid_value")


def is_other_kind(problem: ErrorDetails) -> bool:
    """Tell whether a problem says that a part of the request is of another kind than the one it was tried as."""
    tag = problem["loc"][-1] if problem["loc"] else None
    return tag in TAGS and (problem["type"] == "literal_error" or (tag == "type" and problem["type"] == "missing"))


def param_of(location: tuple[int | str, ...]) -> str:
    """Write a place in the body, `messages[0].content`, without the names of types that pydantic adds to it."""
    param = ""
    for step in location:
        if isinstance(step, int):
            param += f"[{step}]"
        elif step.isidentifier() and step[0].islower() and step not in KIND_NAMES:
            param += f".{step}" if param else step
    return param
