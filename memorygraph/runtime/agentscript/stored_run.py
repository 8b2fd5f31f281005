"""A stored run of AgentScript: its generations, its trace, and what was said in it as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import indent
from typing import Any

from memorygraph.context.rendering import compact
from memorygraph.graph.namespace import Namespace
from memorygraph.json_text import UnreadableRecord, parse_stored_json
from memorygraph.runtime.agentscript.conversation import function_name
from memorygraph.runtime.runs import Event, RunDetails


def read_run(namespace: Namespace, id_: str) -> RunDetails:
    """Read what was stored of a run; one that was killed has its generations, and no calls of agents around them.

    So has one whose trace nests too deep to be read: each agent that calls another nests it three levels deeper.
    """
    [row] = namespace.read("runs/generations", id=id_)
    said = [each.pop("said") for each in row["generations"]]
    generations = [{**each, "result": read_result(each.get("result"))} for each in row["generations"]]
    kept = ("agent", "function", "instruction", "sources", "attempts", "ok", "result")
    steps = [{name: each.get(name) for name in kept} for each in generations]
    trace = read_result(row["trace"] or None)
    if not isinstance(trace, list):
        trace = [generation_event(each) for each in generations]
    return RunDetails(steps, trace, "\n".join(transcript_parts(trace, iter(said))))


def read_result(stored: str | None) -> Any:
    """What is stored as JSON; a text that cannot be read is left as it is."""
    try:
        return None if stored is None else parse_stored_json(stored)
    except UnreadableRecord:
        return stored


def generation_event(generation: dict[str, Any]) -> Event:
    """A stored generation as an event, as far as a trace shows it in a transcript."""
    context = {
        "agentName": generation.get("agent"),
        "functionName": generation.get("function"),
        "system": generation.get("system"),
        "finalUserMessage": generation.get("instruction"),
    }
    return {"kind": "generate", "data": {**generation, "context": context}}


def transcript_parts(events: list[Event], said: Iterator[list[list[str]]]) -> Iterator[str]:
    """What was said, part by part: prompts, answers and results of calls; those of a called agent are indented.

    `said` has the prompts and answers of each generation, none where they are not stored.
    """
    for event in events:
        data = event["data"]
        match event["kind"]:
            case "generate":
                context = data["context"]
                asked = {"agent": context["agentName"], "function": context["functionName"]}
                yield f"# {function_name(asked, '.')}\n"
                yield f"> system\n{context['system']}\n"
                result = "" if data.get("result") is None else json.dumps(data["result"])
                for prompt, answer in next(said, None) or [[context["finalUserMessage"], result]]:
                    yield f"> user\n{prompt}\n"
                    if answer:
                        yield f"> assistant\n{answer}\n"
                if data.get("error"):
                    yield f"> result\nfailed: {data['error']}\n"
            case "agent":
                yield f"> call {function_name(data, '.')}{compact(data['args'])}\n"
                yield indent("\n".join(transcript_parts(data["trace"], said)), "    ")
                yield f"> result\n{compact(data['result'])}\n"
            case "tool" | "memory":
                name = data.get("tool") or data.get("memory")
                method = data.get("method") or data.get("operation")
                yield f"> call {name}.{method}{compact(data['args'])}\n"
                yield f"> result\n{compact(data['result']) if data['ok'] else 'failed: ' + data['error']}\n"
