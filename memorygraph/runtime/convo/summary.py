"""The summary of a run for the people who read the conversation: what was done, told by a model."""

from __future__ import annotations

from collections.abc import Iterable

from memorygraph.runtime.convo.entry import Entry

_MODERATOR = """\
<moderator>
Give the user a brief summary of what happened in node graph. Give the summary from a first person perspective
as if you executed all the actions avoid technical terms when possible.

Start your response with a sentence that connects the user input to the graph result followed by
bullet points of what was done.
</moderator>"""

HIDDEN = ("@hidden",)


def summary_request(actions: Iterable[tuple[str, str, str]]) -> list[Entry]:
    """What a model is told of a run, and asked for: each action is a node's id, its description and its output.

    >>> print(summary_request([("rank", "Ranks the input", "7")])[0].content)
    The following actions have been taken:
    <BLANKLINE>
    <ACTION name="rank">
        Ranks the input
        <RESULT>
        7
        </RESULT>
    </ACTION>
    """
    told = "\n\n".join(_action(*action) for action in actions)
    return [
        Entry("assistant", f"The following actions have been taken:\n\n{told}", HIDDEN),
        Entry("user", _MODERATOR, HIDDEN),
    ]


def _action(name: str, description: str, output: str) -> str:
    about = f"    {description}\n" if description else ""
    return f'<ACTION name="{name}">\n{about}    <RESULT>\n    {output}\n    </RESULT>\n</ACTION>'
