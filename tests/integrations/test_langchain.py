"""LangChain: its chains keep their history in Neo4j, and its retrievers recall."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from memorygraph import MemoryGraph, MemoryGraphError, NotFoundError
from memorygraph.integrations.langchain import (
    MemoryGraphChatMessageHistory,
    MemoryGraphRetriever,
    langchain_form_of,
    record_langchain,
)
from memorygraph.integrations.openai_agents import MemoryGraphSession
from memorygraph.scripted.scripted_model import ScriptedModel

CALL = {"name": "clock", "args": {"zone": "utc"}, "id": "call_1", "type": "tool_call"}
TURN: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage("What time is it?", id="h1"),
    AIMessage(
        [{"type": "thinking", "thinking": "A clock."}, {"type": "text", "text": "Let me see."}],
        id="run-1",
        tool_calls=[CALL],
        usage_metadata={"input_tokens": 9, "output_tokens": 2, "total_tokens": 11},
        response_metadata={"model_name": "scripted"},
    ),
    ToolMessage("12:34", tool_call_id="call_1", artifact={"zone": "utc"}),
    AIMessage("It is 12:34.", additional_kwargs={"refusal": None}),
]
WORLD = """
Node(node_id="ada", name="Ada Lovelace", data="wrote the first program");
Node(node_id="tea", name="Tea", data="is a program of its own for some");
Node(node_id="oslo", name="Oslo", data="has a program of concerts");
Edge(edge_id="e", from_node="ada", to_node="tea", verb="drank", weight=1.0);
"""


def test_messages_come_back_as_they_were_added(graph: MemoryGraph) -> None:
    MemoryGraphChatMessageHistory(graph, "talk").add_messages(TURN)
    assert MemoryGraphChatMessageHistory(graph, "talk").messages == TURN
    assert [message["role"] for message in graph.messages("talk")] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert [hit.conversation for hit in graph.recall("12:34").hits][:1] == ["talk"]
    with pytest.raises(MemoryGraphError, match="name"):
        MemoryGraphChatMessageHistory(graph, "")


def test_messages_of_any_role_come_back(graph: MemoryGraph) -> None:
    odd = [ChatMessage(role="critic", content="Too long."), FunctionMessage(name="clock", content="12:34")]
    MemoryGraphChatMessageHistory(graph, "talk").add_messages(odd)
    assert MemoryGraphChatMessageHistory(graph, "talk").messages == odd


def function_call(**given: Any) -> dict[str, Any]:
    return {"id": "c", "type": "function", "function": {"name": "clock", **given}}


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (function_call(arguments=""), ""),
        (function_call(arguments="{"), "{"),
        (function_call(arguments=[1]), "[1]"),
        (function_call(arguments=None), None),
        (function_call(), None),
        ({"id": "c", "type": "custom", "custom": {"name": "clock", "input": "now"}}, "now"),
    ],
)
def test_a_call_that_langchain_cannot_run_is_an_invalid_one(call: dict[str, Any], arguments: str | None) -> None:
    whole = function_call(arguments="{}")
    form = langchain_form_of({"role": "assistant", "content": "So:", "tool_calls": [whole, call]})
    [message] = messages_from_dict([form])
    assert isinstance(message, AIMessage)
    assert message.content == "So:"
    assert [one["args"] for one in message.tool_calls] == [{}]
    assert [(one["name"], one["args"], one["id"]) for one in message.invalid_tool_calls] == [("clock", arguments, "c")]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "content": "12:34", "name": "clock"},
        {"role": "critic", "content": "Too long.", "name": "bob"},
        {"role": "assistant", "name": "bob", "tool_calls": [{"id": 5, "type": "function", "function": "clock"}]},
        {"role": "assistant", "name": "bob", "tool_calls": [{**function_call(arguments="{"), "id": 5}]},
    ],
    ids=str,
)
def test_a_message_that_langchain_has_no_form_for_keeps_its_role_and_name(message: dict[str, Any]) -> None:
    [read] = messages_from_dict([langchain_form_of(message)])
    assert isinstance(read, ChatMessage)
    assert (read.role, read.name, read.content) == (message["role"], message["name"], message.get("content", ""))


OTHER_BLOCKS: dict[str, list[Any]] = {
    "image of Anthropic": [{"type": "image", "source": {"type": "url", "url": "http://x/y.png"}}],
    "video": [{"type": "video", "url": "http://x/y.mp4"}],
    "media of Gemini": [{"type": "media", "mime_type": "video/mp4", "data": "eA=="}],
    "cache point of Bedrock": ["What is it?", {"cachePoint": {"type": "default"}}],
    "results of two tools": [{"type": "tool_result", "tool_use_id": each, "content": each} for each in "ab"],
}


@pytest.mark.parametrize("blocks", OTHER_BLOCKS.values(), ids=OTHER_BLOCKS)
def test_blocks_that_the_chat_format_does_not_have_come_back(graph: MemoryGraph, blocks: list[Any]) -> None:
    turn = [HumanMessage(blocks), AIMessage("A bridge.")]
    MemoryGraphChatMessageHistory(graph, "talk").add_messages(turn)
    assert MemoryGraphChatMessageHistory(graph, "talk").messages == turn
    said = graph.messages("talk")
    assert [message["role"] for message in said] == ["user", "assistant"]
    assert len(said[0]["content"]) == len(blocks)


def test_the_asynchronous_methods_do_the_same(graph: MemoryGraph) -> None:
    async def talk() -> None:
        history = MemoryGraphChatMessageHistory(graph, "talk")
        await history.aadd_messages(TURN)
        assert await history.aget_messages() == TURN
        await history.aclear()
        assert await history.aget_messages() == []

    asyncio.run(talk())


def test_a_cleared_history_is_empty_and_the_version_before_stays_where_a_model_has_answered(graph: MemoryGraph) -> None:
    answered = [*TURN, HumanMessage("And?")]
    for name, messages, kept in (("asked", [HumanMessage("Hi")], []), ("answered", answered, answered)):
        history = MemoryGraphChatMessageHistory(graph, name)
        history.add_messages(messages)
        history.clear()
        assert history.messages == []
        assert MemoryGraphChatMessageHistory(graph, name, version=1).messages == kept
        history.add_user_message("Hello")
        assert MemoryGraphChatMessageHistory(graph, name).messages == [HumanMessage("Hello")]
    with pytest.raises(NotFoundError):
        MemoryGraphChatMessageHistory(graph, "answered", version=99)


def test_a_branch_goes_its_own_way(graph: MemoryGraph) -> None:
    history = MemoryGraphChatMessageHistory(graph, "talk")
    history.add_messages(TURN)
    branch = history.branch(at=2)
    branch.add_ai_message("Noon.")
    assert branch.messages == [*TURN[:2], AIMessage("Noon.")]
    assert history.messages == history.branch().messages == TURN


def test_nothing_that_a_forgotten_history_kept_is_beside_messages_that_another_shares(graph: MemoryGraph) -> None:
    named = {"framed": "of-ada", "email": "ada@example.org"}
    MemoryGraphChatMessageHistory(graph, "of-ada").add_messages([HumanMessage("Hi", additional_kwargs=named)])
    of_bob = [HumanMessage("Hi", additional_kwargs={"framed": "of-ada"}), AIMessage("Hello")]
    MemoryGraphChatMessageHistory(graph, "of-bob").add_messages(of_bob)
    planned = graph.forget_conversation("of-ada", dry_run=True)
    assert graph.forget_conversation("of-ada").went == planned.went
    assert {kept.metadata["framed"] for kept in graph.messages("of-bob").attachments()} == {"of-bob"}
    assert MemoryGraphChatMessageHistory(graph, "of-bob").messages == of_bob
    assert graph.broken_invariants() == []


def test_a_history_is_training_data(graph: MemoryGraph) -> None:
    MemoryGraphChatMessageHistory(graph, "talk").add_messages([TURN[1], TURN[4]])
    assert graph.messages("talk").training_data().answers == 1
    MemoryGraphChatMessageHistory(graph, "other", sampled=False).add_messages([TURN[0], TURN[4]])
    assert graph.messages("other").training_data().answers == 0


def test_a_session_of_agents_is_a_history_and_the_other_way_round(graph: MemoryGraph) -> None:
    items: Any = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]
    asyncio.run(MemoryGraphSession(graph, "talk").add_items(items))
    history = MemoryGraphChatMessageHistory(graph, "talk")
    assert [(message.type, message.content) for message in history.messages] == [("human", "Hi"), ("ai", "Hello!")]
    history.add_messages(TURN[1:])
    added: Any = asyncio.run(MemoryGraphSession(graph, "talk").get_items())[2:]
    assert [item.get("type", item.get("role")) for item in added] == [
        *("user", "thinking", "message", "function_call"),
        *("function_call_output", "assistant"),
    ]
    assert added[3]["call_id"] == added[4]["call_id"] == "call_1"


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
def test_a_chain_with_a_history_answers_from_it(graph: MemoryGraph) -> None:
    """A chain of LangChain that asks a model over HTTP, twice; the second time it sends what the first said."""
    with ScriptedModel(["Hello, Ada.", "Your name is Ada."], strict=True) as scripted:
        prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history"), ("human", "{input}")])
        model = ChatOpenAI(model="scripted", base_url=scripted.base_url, api_key=SecretStr("sk-test"), max_retries=0)
        chain = RunnableWithMessageHistory(
            prompt | model,
            lambda session_id: MemoryGraphChatMessageHistory(graph, session_id),
            input_messages_key="input",
            history_messages_key="history",
        )
        config: Any = {"configurable": {"session_id": "talk"}}
        chain.invoke({"input": "I am Ada."}, config)
        assert chain.invoke({"input": "Who am I?"}, config).content == "Your name is Ada."
        sent = [message["content"] for message in scripted.requests[1].json["messages"]]
    assert sent == ["I am Ada.", "Hello, Ada.", "Who am I?"]
    assert [message["content"] for message in graph.messages("talk")] == [*sent, "Your name is Ada."]


@pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
def test_a_history_keeps_its_messages_beside_recorded_calls_that_begin_as_it_does(graph: MemoryGraph) -> None:
    with ScriptedModel(["A.", "B.", "C.", "D."], strict=True) as scripted:
        plain = ChatOpenAI(model="scripted", base_url=scripted.base_url, api_key=SecretStr("sk-test"), max_retries=0)
        chain = RunnableWithMessageHistory(
            record_langchain(graph, plain, "talk"), lambda name: MemoryGraphChatMessageHistory(graph, name)
        )
        config: Any = {"configurable": {"session_id": "talk"}}
        for text in ("One?", "Two?", "Three?"):
            chain.invoke([HumanMessage(text)], config)
        said = ["One?", "A.", "Two?", "B.", "Three?", "C."]
        assert [message.content for message in MemoryGraphChatMessageHistory(graph, "talk").messages] == said
        # The calls go on in one version, and the history in another.
        assert [version.length for version in graph.messages("talk").versions()] == [6, 6]
        MemoryGraphChatMessageHistory(graph, "talk").clear()
        chain.invoke([HumanMessage("Four?")], config)
    assert [message.content for message in MemoryGraphChatMessageHistory(graph, "talk").messages] == ["Four?", "D."]


def test_a_chat_model_with_a_recorded_client_is_recorded(graph: MemoryGraph) -> None:
    with ScriptedModel("Hello, Ada.", strict=True) as scripted:
        client = graph.record(openai.OpenAI(base_url=scripted.base_url, api_key="sk-test"), "calls")
        model = ChatOpenAI(model="scripted", client=client.chat.completions, api_key=SecretStr("sk-test"))
        assert model.invoke([SystemMessage("Be brief."), HumanMessage("I am Ada.")]).content == "Hello, Ada."
        assert "".join(str(piece.content) for piece in model.stream("I am Ada.")) == "Hello, Ada."
    data = graph.messages("calls").training_data()
    assert [[message["content"] for message in sample["messages"]] for sample in data] == [
        ["Be brief.", "I am Ada.", "Hello, Ada."],
        ["I am Ada.", "Hello, Ada."],
    ]


def test_documents_are_the_hits_of_recall(graph: MemoryGraph) -> None:
    graph.load(WORLD)
    graph.messages("talk").append({"role": "user", "content": "I like the first program."})
    documents = MemoryGraphRetriever(graph).invoke("the first program")
    hits = graph.recall("the first program", budget=None, limit=10).hits
    assert [(each.id, each.page_content, each.metadata["score"]) for each in documents] == [
        (hit.id, hit.content, hit.score) for hit in hits
    ]
    assert {each.metadata["kind"] for each in documents} == {"node", "message"}
    # Nothing of them is an object that a tracer could not write.
    assert all(isinstance(each, Document) and each.model_dump_json() for each in documents)


def test_options_of_a_retriever_and_of_a_call_are_those_of_recall(graph: MemoryGraph) -> None:
    graph.load(WORLD)
    graph.messages("talk").append({"role": "user", "content": "I like the first program."})
    retriever = MemoryGraphRetriever(graph, k=2, options={"kinds": ["node"]})
    assert [each.metadata["kind"] for each in retriever.invoke("program")] == ["node", "node"]
    assert len(retriever.invoke("program", k=1)) == len(retriever.invoke("program", limit=1)) == 1
    assert len(asyncio.run(retriever.ainvoke("program", k=1))) == 1
    assert [len(each) for each in asyncio.run(retriever.abatch(["program", "tea"], k=1))] == [1, 1]
    assert len(MemoryGraphRetriever(graph, k=2, options={"budget": "1k"}).invoke("program")) == 2
    assert [each.metadata["conversation"] for each in retriever.invoke("program", kinds=["message"])] == ["talk"]
    with pytest.raises(NotFoundError):
        MemoryGraphRetriever(graph).invoke("program", conversation="nowhere")


def ids(documents: list[Document]) -> list[str | None]:
    return [each.id for each in documents]


def test_a_retriever_is_a_part_of_a_chain(graph: MemoryGraph) -> None:
    graph.load(WORLD)
    retriever = MemoryGraphRetriever(graph, k=3)
    chain: Any = retriever | RunnableLambda(ids)
    assert chain.invoke("first program")[0] == "ada"
    assert asyncio.run(retriever.ainvoke("first program")) == retriever.invoke("first program")
    assert [len(each) for each in retriever.batch(["program", "tea"])] == [3, 2]
