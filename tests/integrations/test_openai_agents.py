"""Sessions of the OpenAI Agents SDK: its own runner, over real HTTP, on the message graph."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from threading import Event, Thread
from typing import Any, cast

import openai
import pytest
from agents import (
    Agent,
    Model,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    Session,
    SessionSettings,
    SQLiteSession,
    function_tool,
)
from agents.extensions.memory.encrypt_session import EncryptedSession

from memorygraph import MemoryGraph, MemoryGraphError, NotFoundError
from memorygraph.integrations.openai_agents import MemoryGraphSession, in_thread
from memorygraph.json_text import MAX_JSON_DEPTH
from memorygraph.llm.completion import ToolCall
from memorygraph.messages.calls import items_of_message, messages_of_items
from memorygraph.scripted.replies import Reply, ScriptedAnswer
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.messages.fine_tuning_rules import faults_of_lines

USER: Any = {"role": "user", "content": "What time is it?"}
REASONING: Any = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "A clock."}]}
CALL: Any = {
    "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "clock", "arguments": '{"zone": "utc"}',
    "status": "completed",
}  # fmt: skip
OUTPUT: Any = {"type": "function_call_output", "call_id": "call_1", "output": "12:34"}
ANSWER: Any = {
    "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
    "content": [{"type": "output_text", "text": "It is 12:34.", "annotations": [], "logprobs": []}],
}  # fmt: skip
TURN: list[Any] = [USER, REASONING, CALL, OUTPUT, ANSWER]

ModelOf = Callable[[openai.AsyncOpenAI], Model]
MODELS: list[ModelOf] = [
    lambda client: OpenAIResponsesModel("scripted", client),
    lambda client: OpenAIChatCompletionsModel("scripted", client),
]
RUN = RunConfig(tracing_disabled=True)


@function_tool
def clock(zone: str) -> str:
    """The time in a zone."""
    return f"12:34 in {zone}"


def client_of(model: ScriptedModel) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=model.base_url, api_key="sk-test", max_retries=0)


def two_agents(model: Model) -> Agent[Any]:
    """A clerk, who hands over to a watchmaker, who has a tool."""
    watchmaker = Agent("watchmaker", instructions="Tell the time.", model=model, tools=[clock])
    return Agent("clerk", instructions="Hand over.", model=model, handoffs=[watchmaker])


SHIFT: list[ScriptedAnswer] = [
    Reply(tool_calls=(ToolCall("transfer_to_watchmaker", "{}", "call_h"),)),
    Reply(tool_calls=(ToolCall("clock", '{"zone": "utc"}', "call_c"),)),
    "It is 12:34.",
    "You are welcome.",
]


async def run(agent: Agent[Any], text: str, session: Any, *, streamed: bool) -> str:
    if not streamed:
        return str((await Runner.run(agent, text, session=session, run_config=RUN)).final_output)
    result = Runner.run_streamed(agent, text, session=session, run_config=RUN)
    async for _ in result.stream_events():
        pass
    return str(result.final_output)


def contents(items: list[Any]) -> list[tuple[Any, ...]]:
    """What the items say, without the ids that the SDK draws anew in each run."""
    return [
        tuple((key, item[key]) for key in ("type", "role", "content", "name", "arguments", "output") if key in item)
        for item in items
    ]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model_of", MODELS, ids=["responses", "chat"])
def test_two_agents_with_a_handoff_and_a_tool_leave_what_sqlite_keeps(
    graph: MemoryGraph, model_of: ModelOf, streamed: bool
) -> None:
    async def talk(session: Any) -> tuple[list[Any], list[Any]]:
        with ScriptedModel(SHIFT, strict=True) as model:
            async with client_of(model) as client:
                agent = two_agents(model_of(client))
                assert await run(agent, "What time is it?", session, streamed=streamed) == "It is 12:34."
                assert await run(agent, "Thanks", session, streamed=streamed) == "You are welcome."
            return await session.get_items(), [request.json for request in model.requests]

    ours, our_requests = asyncio.run(talk(MemoryGraphSession(graph, "shift")))
    with closing(SQLiteSession("shift")) as of_sdk:
        theirs, their_requests = asyncio.run(talk(of_sdk))
    assert contents(ours) == contents(theirs)
    sent = "messages" if "messages" in our_requests[0] else "input"
    assert [contents(each[sent]) for each in our_requests] == [contents(each[sent]) for each in their_requests]
    roles = [message["role"] for message in graph.messages("shift")]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant", "user", "assistant"]


def test_a_session_is_one_of_the_sdk(graph: MemoryGraph) -> None:
    assert isinstance(MemoryGraphSession(graph, "talk"), Session)
    with pytest.raises(MemoryGraphError, match="name"):
        MemoryGraphSession(graph, "")


def test_items_come_back_as_they_were_added(graph: MemoryGraph) -> None:
    async def talk() -> None:
        await MemoryGraphSession(graph, "talk").add_items(TURN)
        session = MemoryGraphSession(graph, "talk")
        assert await session.get_items() == TURN
        for limit in range(1, 7):
            assert await session.get_items(limit) == TURN[-limit:]
        assert await session.get_items(0) == []

    asyncio.run(talk())
    # What the model said in one turn is one message, as the recorder has it.
    assert [message["role"] for message in graph.messages("talk")] == ["user", "assistant", "tool", "assistant"]
    assert [hit.source for hit in graph.recall("12:34").hits]


def test_an_encrypted_session_keeps_its_items(graph: MemoryGraph) -> None:
    async def talk() -> None:
        inner: Any = MemoryGraphSession(graph, "talk")
        session = EncryptedSession("talk", inner, "a key of these tests")
        await session.add_items(TURN)
        assert await session.get_items() == TURN
        assert await session.pop_item() == ANSWER
        assert await session.get_items() == TURN[:-1]

    asyncio.run(talk())
    assert "12:34" not in str(list(graph.messages("talk")))


def test_a_session_with_settings_gives_so_many_items(graph: MemoryGraph) -> None:
    session = MemoryGraphSession(graph, "talk", session_settings=SessionSettings(limit=2))
    asyncio.run(session.add_items(TURN))
    assert asyncio.run(session.get_items()) == TURN[-2:]
    assert asyncio.run(session.get_items(3)) == TURN[-3:]


def test_the_items_added_last_count_where_two_sessions_have_equal_messages(graph: MemoryGraph) -> None:
    async def talk() -> None:
        session = MemoryGraphSession(graph, "talk")
        again: Any = {**ANSWER, "id": "msg_2"}
        other = MemoryGraphSession(graph, "other")
        await session.add_items([USER, ANSWER])
        await other.add_items([USER, again])
        assert await session.get_items() == [USER, ANSWER]
        for item in (again, ANSWER, again):
            await session.pop_item()
            await session.add_items([item])
            assert await session.get_items() == [USER, item]

    asyncio.run(talk())


def test_an_item_that_is_taken_back_stays_in_the_version_before(graph: MemoryGraph) -> None:
    async def talk() -> None:
        session = MemoryGraphSession(graph, "talk")
        await session.add_items(TURN)
        for left in range(len(TURN) - 1, -1, -1):
            assert await session.pop_item() == TURN[left]
            assert await session.get_items() == TURN[:left]
        assert await session.pop_item() is None
        await session.add_items([USER])
        assert await session.get_items() == [USER]
        first = MemoryGraphSession(graph, "talk", version=1)
        assert await first.get_items() == TURN
        with pytest.raises(MemoryGraphError, match="replaced"):
            await first.add_items([USER])

    asyncio.run(talk())
    with pytest.raises(NotFoundError):
        MemoryGraphSession(graph, "talk", version=99)


def test_a_cleared_session_is_empty_and_goes_on(graph: MemoryGraph) -> None:
    async def talk() -> None:
        session = MemoryGraphSession(graph, "talk")
        await session.add_items(TURN)
        await session.clear_session()
        assert await session.get_items() == []
        assert await MemoryGraphSession(graph, "talk").get_items() == []
        await session.add_items([USER])
        assert await MemoryGraphSession(graph, "talk").get_items() == [USER]
        assert await MemoryGraphSession(graph, "talk", version=1).get_items() == TURN

    asyncio.run(talk())


def test_a_branch_shares_its_beginning_and_goes_its_own_way(graph: MemoryGraph) -> None:
    async def talk() -> None:
        session = MemoryGraphSession(graph, "talk")
        await session.add_items(TURN)
        branch = session.branch(at=1)
        assert await branch.get_items() == [USER]
        await branch.add_items([ANSWER])
        assert await branch.get_items() == [USER, ANSWER]
        assert await session.get_items() == TURN
        assert await session.branch().get_items() == TURN
        with pytest.raises(ValueError, match="turn of the model"):
            session.branch(at=2)
        with pytest.raises(IndexError):
            session.branch(at=6)

    asyncio.run(talk())
    assert [version.length for version in graph.messages("talk").versions()] == [4, 2, 4]


def test_a_conversation_of_the_client_is_a_session_and_an_edit_is_seen(graph: MemoryGraph) -> None:
    history = graph.messages("talk")
    parts: list[Any] = [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}]
    history.append({"role": "user", "content": parts})
    history.append({"role": "assistant", "content": "Hello!"})
    session = MemoryGraphSession(graph, "talk")
    said = [{"type": "input_text", "text": "Hi"}, {"type": "input_image", "image_url": "https://x/y.png"}]
    hello = {"role": "assistant", "content": "Hello!"}
    assert asyncio.run(session.get_items()) == [{"role": "user", "content": said}, hello]
    asyncio.run(session.add_items([USER, ANSWER]))
    history.refresh()
    history[3]["content"] = "Half past twelve."
    assert asyncio.run(session.get_items())[2:] == [USER, {"role": "assistant", "content": "Half past twelve."}]


@pytest.mark.parametrize(
    "message",
    [
        *messages_of_items(TURN),
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "Hello!"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "computer_call_output", "call_id": "c"}]},
    ],
    ids=str,
)
def test_a_message_made_of_items_is_that_message(message: dict[str, Any]) -> None:
    assert messages_of_items(items_of_message(message)) == [message]


def test_half_a_character_loses_no_turn(graph: MemoryGraph) -> None:
    session = MemoryGraphSession(graph, "talk")
    answer: Any = {**ANSWER, "content": [{"type": "output_text", "text": "Hi \ud83d", "annotations": []}]}
    asyncio.run(session.add_items([USER, answer]))
    [_, stored] = cast("list[Any]", asyncio.run(session.get_items()))
    assert stored["content"][0]["text"] == graph.messages("talk")[1]["content"] == "Hi \ufffd"


def test_items_that_cannot_be_stored_leave_none_of_them(graph: MemoryGraph) -> None:
    session = MemoryGraphSession(graph, "talk")
    deep: Any = "x"
    for _ in range(MAX_JSON_DEPTH):
        deep = [deep]
    with pytest.raises(ValueError, match="deep"):
        asyncio.run(session.add_items([USER, {"role": "user", "content": [{"type": "input_text", "text": deep}]}]))
    assert asyncio.run(session.get_items()) == []
    assert not graph.messages("talk").stored


def test_items_of_several_writers_are_all_stored_and_never_seen_in_part(graph: MemoryGraph) -> None:
    """Two sessions add three items at a time, and a third one reads."""
    done = Event()
    lengths: list[int] = []

    def write(letter: str) -> None:
        async def add() -> None:
            session = MemoryGraphSession(graph, "talk")
            for number in range(8):
                await session.add_items([{"role": "user", "content": f"{letter}{number}{part}"} for part in "xyz"])

        asyncio.run(add())

    def read() -> None:
        session = MemoryGraphSession(graph, "talk")
        while not done.is_set():
            lengths.append(len(asyncio.run(session.get_items())))

    writers = [Thread(target=write, args=(letter,)) for letter in "ab"]
    reader = Thread(target=read)
    for thread in (*writers, reader):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    items: Any = asyncio.run(MemoryGraphSession(graph, "talk").get_items())
    said = [item["content"] for item in items]
    for letter in "ab":
        assert [text for text in said if text[0] == letter] == [
            f"{letter}{n}{part}" for n in range(8) for part in "xyz"
        ]
    assert all(said[at][:2] == said[at + 1][:2] == said[at + 2][:2] for at in range(0, len(said), 3))
    assert {length % 3 for length in lengths} == {0}
    assert len(graph.messages("talk").versions()) == 1


def test_a_change_that_is_cancelled_is_done_before_the_next_one(graph: MemoryGraph) -> None:
    async def talk() -> list[Any]:
        session = MemoryGraphSession(graph, "talk")
        task = asyncio.create_task(session.add_items(TURN))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await session.get_items()

    assert asyncio.run(talk()) == TURN


def test_a_change_that_is_cancelled_more_than_once_is_waited_for() -> None:
    go_on, done = Event(), Event()

    def work() -> None:
        go_on.wait(10)
        done.set()

    async def cancel_often() -> bool:
        task = asyncio.create_task(in_thread(work))
        for _ in range(3):
            await asyncio.sleep(0.01)
            task.cancel()
        await asyncio.sleep(0.01)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        return done.is_set()

    assert asyncio.run(cancel_often())


def test_a_session_alone_gives_training_data(graph: MemoryGraph) -> None:
    asyncio.run(MemoryGraphSession(graph, "talk").add_items([USER, CALL, OUTPUT, ANSWER]))
    data = graph.messages("talk").training_data()
    assert (data.answers, dict(data.left_out)) == (2, {})
    assert [message["role"] for message in next(iter(data))["messages"]] == ["user", "assistant", "tool", "assistant"]
    question: Any = {**USER, "content": "Now?"}
    asyncio.run(MemoryGraphSession(graph, "other", sampled=False).add_items([question, ANSWER]))
    assert graph.messages("other").training_data().answers == 0


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("model_of", MODELS, ids=["responses", "chat"])
def test_recorded_calls_of_a_session_are_trained_on_once_with_instructions_and_tools(
    graph: MemoryGraph, model_of: ModelOf, streamed: bool
) -> None:
    """The recorder and the session share a conversation, each on versions of its own."""

    async def talk() -> list[Any]:
        session = MemoryGraphSession(graph, "shift", sampled=False)
        with ScriptedModel(SHIFT, strict=True) as model:
            async with graph.record(client_of(model), "shift") as client:
                agent = two_agents(model_of(client))
                assert await run(agent, "What time is it?", session, streamed=streamed) == "It is 12:34."
                # A program that starts anew finds the session beside the calls.
                session = MemoryGraphSession(graph, "shift", sampled=False)
                assert await run(agent, "Thanks", session, streamed=streamed) == "You are welcome."
        return await MemoryGraphSession(graph, "shift").get_items()

    items = asyncio.run(talk())
    assert [item["content"] for item in items if item.get("role") == "user"] == ["What time is it?", "Thanks"]
    assert not any(item.get("role") in ("system", "developer") for item in items)
    data = graph.messages("shift").training_data()
    assert data.answers == len(SHIFT)
    samples = list(data)
    assert {sample["messages"][0]["content"] for sample in samples} == {"Hand over.", "Tell the time."}
    assert all(sample["tools"] for sample in samples)
    assert faults_of_lines(data.jsonl()) == []


def asked_by(items: list[Any]) -> list[Any]:
    """What users said among items."""
    return [item["content"] for item in items if item.get("role") == "user"]


def test_a_session_keeps_its_items_beside_recorded_calls_that_begin_as_it_does(graph: MemoryGraph) -> None:
    """Without instructions, a model is sent exactly what the session holds."""

    async def talk() -> None:
        with ScriptedModel(["A.", "B.", "C.", "D.", "E."], strict=True) as model:
            async with graph.record(client_of(model), "talk") as client:
                agent = Agent("assistant", model=OpenAIResponsesModel("scripted", client))
                session = MemoryGraphSession(graph, "talk", sampled=False)
                for text in ("One?", "Two?"):
                    await run(agent, text, session, streamed=False)
                branch = session.branch(at=1)
                await run(agent, "Once more?", branch, streamed=False)
                assert asked_by(await branch.get_items()) == ["One?", "Once more?"]
                # A program that starts anew finds the branch, which was written last.
                session = MemoryGraphSession(graph, "talk", sampled=False)
                await run(agent, "Four?", session, streamed=False)
                assert asked_by(await session.get_items()) == ["One?", "Once more?", "Four?"]
                await session.clear_session()
                await run(agent, "Five?", session, streamed=False)
                assert asked_by(await MemoryGraphSession(graph, "talk").get_items()) == ["Five?"]
            sent = [asked_by(request.json["input"]) for request in model.requests]
        assert sent == [["One?"], ["One?", "Two?"], ["One?", "Once more?"], ["One?", "Once more?", "Four?"], ["Five?"]]

    asyncio.run(talk())
    assert graph.messages("talk").training_data().answers == 5


def test_a_branch_of_a_recorded_call_stays_on_its_version(graph: MemoryGraph) -> None:
    with (
        ScriptedModel("A.", strict=True) as model,
        graph.record(openai.OpenAI(base_url=model.base_url, api_key="sk-test"), "talk") as client,
    ):
        client.chat.completions.create(model="scripted", messages=[{"role": "user", "content": "One?"}])
    items: Any = asyncio.run(MemoryGraphSession(graph, "talk", version=1).branch().get_items())
    assert [item["content"] for item in items] == ["One?", "A."]
