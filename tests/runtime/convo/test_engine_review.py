"""The seed's example: customer reviews, which are screened, categorized, and rewarded or refunded."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memorygraph.languages import parse
from memorygraph.languages.convo import syntax as convo
from memorygraph.runtime.convo.controller import execute_convo_graph
from memorygraph.runtime.convo.steps import ConvoGraphResult
from memorygraph.runtime.permissions import Permissions
from memorygraph.scripted.replies import Reply
from tests.runtime.convo.model import scripted, sent, tool
from tests.web_services import Site

FOLDER = Path(__file__).parent.parent.parent / "cases" / "convo" / "review"
SOURCE = (FOLDER / "review.convo").read_text("utf-8")
REVIEW = SOURCE.partition("> nodeEnd")[2].partition("> user\n")[2].partition("\n\n> goto")[0]

NOT_FLAGGED = tool(
    "flagUser",
    "call_ZKD6nfAoGjhN6qexeriHIKjr",
    flag="none",
    message="Your message has not been flagged. Thank you for your input!",
    userEmail="tommy@boze.co",
)
REWARD = tool(
    "sendReward",
    "call_FXFnBT5GxQWtzJegrussc0se",
    toEmail="tommy@boze.co",
    subject="Thank You for Your Kat Snackz Review!",
    message=(
        "Hi tommy-bonez,\n\nThank you for reviewing Kat Snackz! We're thrilled to hear your cat loves them. As a token "
        "of our appreciation, please accept this special reward from us. We appreciate your feedback!\n\nBest,\n"
        "The Kat Snackz Team"
    ),
)
POSITIVE = [NOT_FLAGGED, tool("categorize", "call_4zk6bKvcLK4Ubfkzv6vKmP2E", category="positive"), REWARD]


def run(site: Site, **options: Any) -> ConvoGraphResult:
    """Run the example against a web service on this machine."""
    source = SOURCE.replace("https://api.convo-lang.ai", f"http://{site.host}")
    return execute_convo_graph(source, permissions=Permissions.of(allow_hosts=[site.host]), **options)


def test_a_positive_review_is_rewarded_in_three_calls() -> None:
    with Site() as site, scripted(POSITIVE) as model:
        result = run(site)
    assert (result.value, result.exited, [step.node for step in result.steps]) == (
        "Reward sent",
        True,
        ["screenInput", "categorize", "reward"],
    )
    assert [messages[0]["content"] for messages in sent(model)] == [
        "Flag the following user input. Flag with a value of none if no flags are found.\n\n"
        f"<USER_INPUT>{REVIEW}</USER_INPUT>",
        f"Categorize the input.\n\n<INPUT>\n{REVIEW}\n</INPUT>",
        f"Send the user a Reward based on their input:\n\n<INPUT>{REVIEW}</INPUT>",
    ]
    assert [len(messages) for messages in sent(model)] == [1, 1, 1]
    assert [request.json.get("tool_choice") for request in model.requests] == ["required", None, "required"]
    assert [[t["function"]["name"] for t in request.json["tools"]] for request in model.requests] == [
        ["flagUser"],
        ["categorize"],
        ["sendReward"],
    ]
    assert [path for path, _ in site.posts] == ["/mock/send-email"]


def test_its_transcript_is_the_one_of_the_seed_to_the_letter() -> None:
    with Site() as site, scripted(POSITIVE):
        result = run(site)
    # The seed's source has `@call5`, and its transcript shows `@call`.
    assert result.text.replace("@call5", "@call") == (FOLDER / "transcript.convo").read_text("utf-8")
    assert messages_of(result.text) == [
        replace(m, tags=tuple(replace(t, name="call5") if t.name == "call" and i == 4 else t for t in m.tags))
        for i, m in enumerate(messages_of((FOLDER / "transcript.convo").read_text("utf-8")))
    ]


def test_a_summary_is_told_as_the_seed_tells_it() -> None:
    summary = (FOLDER / "summary.convo").read_text("utf-8")
    said = re.search(r"\n> assistant\n(Your .*?)\n\n\n> user", summary, re.DOTALL)
    assert said
    with Site() as site, scripted([*POSITIVE, said[1]]) as model:
        result = run(site, summary=True)
    assert (result.value, result.summary) == ("Reward sent", said[1])
    told = [message for message in messages_of(result.text) if message not in messages_of(result.text)[:12]]
    assert told == messages_of(summary)
    assert [message["role"] for message in sent(model)[-1]] == ["user", "assistant", "user"]
    assert sent(model)[-1][0]["content"] == REVIEW
    assert sent(model)[-1][1]["content"] == convo_text(messages_of(summary)[0])


def test_a_negative_review_is_refunded() -> None:
    refund = tool("sendRefund", toEmail="t@b.co", subject="S", message="Sorry", refundAmount="4.99")
    with (
        Site({"/mock/issue-refund": "R-7"}) as site,
        scripted([NOT_FLAGGED, tool("categorize", category="negative"), refund]) as model,
    ):
        result = run(site)
    assert (result.value, len(model.requests)) == ("Refund sent", 3)
    assert site.posts == [
        ("/mock/issue-refund", {"userEmail": "t@b.co", "amount": 4.99}),
        ("/mock/send-email", {"to": "t@b.co", "subject": "S", "message": "Sorry\n\nRefund ID: R-7"}),
    ]


def test_a_flagged_review_leaves_the_graph() -> None:
    flagged = tool("flagUser", flag="offensive", message="No.", userEmail="t@b.co")
    with Site() as site, scripted([flagged]) as model:
        result = run(site)
    assert (result.value, result.exited, len(model.requests)) == (True, True, 1)
    assert site.posts == [
        ("/mock/flag-user", {"userEmail": "t@b.co", "flag": "offensive"}),
        ("/mock/send-email", {"to": "t@b.co", "subject": "Account Flagged - offensive", "message": "No."}),
    ]


@pytest.mark.parametrize("reply", [tool("categorize", category="neutral"), Reply("neutral")])
def test_what_no_route_is_for_leaves_the_graph(reply: Reply) -> None:
    with Site() as site, scripted([NOT_FLAGGED, reply]):
        result = run(site)
    assert (result.value, result.success, result.exited) == ("neutral", True, True)


def test_a_host_that_nobody_allowed_is_not_reached() -> None:
    flagged = tool("flagUser", flag="offensive", message="No.", userEmail="t@b.co")
    with Site() as site, scripted([flagged]):
        result = execute_convo_graph(SOURCE.replace("https://api.convo-lang.ai", f"http://{site.host}"))
    assert (result.success, result.code, site.posts) == (False, "tool", [])
    assert f"--allow-host {site.host}" in str(result.error)
    assert result.steps[0].error == result.error


def messages_of(text: str) -> list[convo.Message]:
    """The messages of a transcript. Its nodes are those of another source."""
    conversation = parse(text, "convo").conversation
    assert conversation
    return list(conversation.messages)


def convo_text(message: convo.Message) -> str:
    """The text of a message without insertions."""
    assert isinstance(message, convo.TextMessage)
    return "".join(map(str, message.content.parts))
