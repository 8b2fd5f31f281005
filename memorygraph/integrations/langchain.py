"""A chat history and a retriever of LangChain (extra `langchain`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self, TypeVar

from pydantic import Field

from memorygraph.client import MemoryGraph
from memorygraph.integrations import needing_extra
from memorygraph.integrations.conversation import FrameworkConversation, ValueForm
from memorygraph.memory.recall import RecallHit
from memorygraph.messages.calls import plain_json
from memorygraph.messages.graph import MessageGraph

with needing_extra("langchain"):
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import (
        BaseMessage,
        ChatMessage,
        InvalidToolCall,
        convert_to_messages,
        convert_to_openai_messages,
        message_to_dict,
        messages_from_dict,
    )
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import run_in_executor

ChatModel = TypeVar("ChatModel", bound=BaseChatModel)

_NOT_CONVERTED = (AttributeError, KeyError, TypeError, ValueError, RecursionError)  # what LangChain has no form for
_ROLES = frozenset({"assistant", "developer", "function", "system", "tool", "user"})


def chat_form_of(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message of the chat format that a message of LangChain is, given as `message_to_dict` writes it.

    Blocks that the chat format does not have, such as those of other models for images, stand in it as they are, and so
    do those that are several messages there, such as the results of two tools.
    """
    [message] = messages_from_dict([dict(value)])
    try:
        [converted] = convert_to_openai_messages([message])
    except (KeyError, TypeError, ValueError):
        blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in message.content]
        return {**convert_to_openai_messages(message.model_copy(update={"content": ""})), "content": blocks}
    return converted


def langchain_form_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message of the chat format as one of LangChain, as `message_to_dict` writes it.

    What LangChain has no form for is a `ChatMessage` of its role: one odd message makes no history unreadable.
    """
    if message["role"] in _ROLES:
        try:
            return message_to_dict(convert_message(message))
        except _NOT_CONVERTED:
            pass
    others = {key: value for key, value in message.items() if key not in {"role", "content", "name"}}
    content, name = message.get("content") or "", message.get("name")
    return message_to_dict(ChatMessage(role=message["role"], content=content, name=name, additional_kwargs=others))


def convert_message(message: Mapping[str, Any]) -> BaseMessage:
    """A message of the chat format as one of LangChain; calls that this cannot run are among its invalid ones."""
    try:
        return convert_to_messages([{"content": "", **message}])[0]
    except _NOT_CONVERTED:
        calls = message.get("tool_calls") or []
        invalid = [call for call in calls if not is_valid_call(call)]
        if not invalid:
            raise
    valid = [call for call in calls if call not in invalid]
    [converted] = convert_to_messages([{"content": "", **message, "tool_calls": valid}])
    kept = {"invalid_tool_calls": list(map(invalid_call_of, invalid))}
    return type(converted).model_validate(dict(converted) | kept)  # a copy would not check them


def is_valid_call(call: Any) -> bool:
    """Whether LangChain has a form for a tool call: one of a function, with an object of arguments."""
    try:
        convert_to_messages([{"role": "assistant", "content": "", "tool_calls": [call]}])
    except _NOT_CONVERTED:
        return False
    return True


def invalid_call_of(call: Mapping[str, Any]) -> InvalidToolCall:
    """A tool call as LangChain keeps those that it cannot run."""
    said = call.get(call.get("type") or "function") or {}
    given = said.get("arguments", said.get("input"))
    text = given if isinstance(given, str | None) else json.dumps(given, ensure_ascii=False)
    error = "not a call of a function with a JSON object of arguments"
    return InvalidToolCall(type="invalid_tool_call", id=call.get("id"), name=said.get("name"), args=text, error=error)


def record_langchain(mg: MemoryGraph, model: ChatModel, conversation: str = "recorded") -> ChatModel:
    """A copy of a `ChatOpenAI` whose every call is stored in a conversation, by all of its four clients.

    The model asks one client when it is invoked, another one asynchronously, and two more for structured answers and
    for the responses format: to record only the one that can be given as `client` would leave out the others without
    a word. The model itself stays as it is, and so do models that were made from it, as by `bind_tools`.

    >>> model = record_langchain(mg, ChatOpenAI(model="gpt-5-mini"), "support-42")  # doctest: +SKIP

    Raises:
        TypeError: it is no such model, or is recorded already.
        MemoryGraphError: the name of the conversation is empty.
    """
    roots = {name: getattr(model, name, None) for name in ("root_client", "root_async_client")}
    if not any(roots.values()):
        raise TypeError(f"record_langchain takes a model such as ChatOpenAI(), and not a {type(model).__name__}")
    recorded: dict[str, Any] = {name: mg.record(root, conversation) for name, root in roots.items() if root is not None}
    for name, root in list(recorded.items()):
        recorded[name.removeprefix("root_")] = root.chat.completions
    return model.model_copy(update=recorded)


class MemoryGraphChatMessageHistory(BaseChatMessageHistory):
    """A chat history that is a conversation in Neo4j, `mg.messages(name)`, with versions, branches and training data.

    Messages come back exactly as they were added, with ids and metadata. All messages of one `add_messages` are stored
    in one transaction, and several processes may write to one history. `clear` makes a new, empty version where a
    model has answered, and the one before stays. `version` opens another version than the last one; `sampled` says
    whether a model answered with the `AIMessage`s that are added, so that they are training data.

    Example::

        history = MemoryGraphChatMessageHistory(mg, "support-42")
        history.add_messages([HumanMessage("Hi"), AIMessage("Hello!")])
        chain = RunnableWithMessageHistory(model, lambda name: MemoryGraphChatMessageHistory(mg, name))

    Raises:
        MemoryGraphError: the name is empty.
        NotFoundError: there is no such version.
    """

    def __init__(self, mg: MemoryGraph, name: str, *, version: int | None = None, sampled: bool = True) -> None:
        super().__init__()
        form = ValueForm("langchain", chat_form_of, langchain_form_of)
        self._conversation = FrameworkConversation(mg, name, form, version=version, sampled=sampled)

    @property
    def graph(self) -> MessageGraph:
        """The conversation at the version of this history, as a list of messages."""
        return self._conversation.graph

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override] # LangChain's own histories have a property too
        """The messages as they are stored now."""
        return messages_from_dict(self._conversation.read())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages after the last, all of them or none, in one transaction.

        Raises:
            ConflictError: other writers changed the history too often meanwhile; nothing was stored.
        """
        self._conversation.add(plain_json(message_to_dict(message)) for message in messages)

    def clear(self) -> None:
        """Remove all messages. Where a model has answered, the version with all of them stays; otherwise they are gone.

        `mg.forget_conversation` removes the conversation with all its versions.
        """
        self._conversation.clear()

    def branch(self, at: int | None = None) -> Self:
        """A history on a new version that begins with the first `at` messages of this one, all of them by default.

        Raises:
            IndexError: there are fewer messages.
        """
        branch = object.__new__(type(self))
        branch._conversation = self._conversation.branch(at)
        return branch


class MemoryGraphRetriever(BaseRetriever):
    """A retriever whose documents are what `mg.recall` finds: nodes and messages, best first.

    A document's text is what the hit says and whose it is; its metadata are the other fields of the hit, such as
    `kind`, `source`, `score`, `conversation` and `at`. `k` is the number of documents, and `options` are those of
    `mg.recall`, such as `since`, `role` or `kinds`; a call may give its own: `retriever.invoke("…", k=3, role="user")`.

    Example::

        retriever = MemoryGraphRetriever(mg, k=4, options={"kinds": ["node"]})
        retriever.invoke("Who wrote the first program?")
    """

    mg: MemoryGraph = Field(exclude=True, repr=False)
    k: int = 10
    options: dict[str, Any] = Field(default_factory=dict)

    def __init__(self, mg: MemoryGraph, **fields: Any) -> None:
        super().__init__(mg=mg, **fields)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain gives it
        k: int | None = None,
        **options: Any,
    ) -> list[Document]:
        asked = {"budget": None, "limit": self.k, **self.options, **options}
        found = self.mg.recall(query, **(asked if k is None else asked | {"limit": k}))
        return list(map(document_of_hit, found.hits))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        **options: Any,
    ) -> list[Document]:
        # What the base class does here takes no options of a call.
        find = partial(self._get_relevant_documents, run_manager=run_manager.get_sync(), **options)
        return await run_in_executor(None, find, query)


def document_of_hit(hit: RecallHit) -> Document:
    """A hit as a document."""
    metadata = hit.as_dict()
    return Document(page_content=hit.content, id=hit.id, metadata={**metadata, "label": hit.label})
