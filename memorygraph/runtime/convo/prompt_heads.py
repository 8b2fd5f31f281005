"""Prompts in code, `??? (modifiers) … ???` and `=== … ===`: what their modifiers and their lines with heads mean."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memorygraph.languages.convo.syntax import Insertion, Template

WRAPPERS = {"m": "moderator", "u": "user", "a": "assistant"}
TASK = re.compile(r"(?<!\w)task:.*", re.DOTALL)
WRAPPER = re.compile(r"/(\w+)")
ASSIGNED = re.compile(r"(\w+)\s*=")
JSON_TYPE = re.compile(r"json\s*:\s*(\w+(?:\[\])?)")
COUNT = re.compile(r"(?<!\w)(last|dropLast)\s*:\s*(\d+)")
HEAD = re.compile(r"^[ \t]*>[ \t]*(\w+)[^\n]*\n?", re.MULTILINE)
BOOLEAN = re.compile(r"(?<!\w)boolean(?!\w)")


@dataclass(frozen=True)
class PromptHead:
    """The modifiers of a prompt in code."""

    extends: bool = False  # `*` or `+`: the messages of the step are sent before it
    continues: bool = False  # `+`: so are the prompts before it, with their answers
    negated: bool = False
    type: str | None = None  # the name of the type of the answer
    assigned: str | None = None  # the variable that the answer becomes the value of
    wrapper: str | None = None  # the tag around the content
    last: int | None = None  # of the messages before it, only so many are sent
    dropped: int = 0  # so many of the last ones are not

    @classmethod
    def read(cls, text: str) -> PromptHead:
        """Read the modifiers that a prompt has in its parentheses.

        >>> head = PromptHead.read("+ !boolean /m last:3 task:Looking")
        >>> head.continues, head.negated, head.type, head.wrapper, head.last
        (True, True, 'boolean', 'moderator', 3)
        """
        text = TASK.sub("", text)
        json_type, assigned, wrapper = JSON_TYPE.search(text), ASSIGNED.search(text), WRAPPER.search(text)
        counts = {name: int(number) for name, number in COUNT.findall(text)}
        return cls(
            extends="*" in text or "+" in text,
            continues="+" in text,
            negated="!" in text,
            type=json_type[1] if json_type else "boolean" if BOOLEAN.search(text) else None,
            assigned=assigned[1] if assigned else None,
            wrapper=WRAPPERS.get(wrapper[1], wrapper[1]) if wrapper else None,
            last=counts.get("last"),
            dropped=counts.get("dropLast", 0),
        )

    def wrap(self, content: str) -> str:
        """The content in the tag of the prompt."""
        return content if self.wrapper is None else f"<{self.wrapper}>\n{content}\n</{self.wrapper}>"


def split_prompt_messages(content: Template) -> list[tuple[str, Template]]:
    r"""Split the content of a prompt at its heads, each with its role; no part of an insertion is a head.

    >>> prompt = Template(("> system\nBe brief\n> user\nHi",))
    >>> [(role, message.parts) for role, message in split_prompt_messages(prompt)]
    [('system', ('Be brief\n',)), ('user', ('Hi',))]
    >>> split_prompt_messages(Template(("Hi",)))
    []
    """
    messages: list[tuple[str, list[str | Insertion]]] = []
    line_begins = True  # what follows an insertion is in the middle of a line
    for part in content.parts:
        if isinstance(part, Insertion):
            if messages:
                messages[-1][1].append(part)
            line_begins = False
            continue
        position = 0
        for head in HEAD.finditer(part):
            if head.start() > 0 or line_begins:
                if messages:
                    messages[-1][1].append(part[position : head.start()])
                messages.append((head[1], []))
                position = head.end()
        if messages:
            messages[-1][1].append(part[position:])
        line_begins = part.endswith("\n")
    return [(role, Template(tuple(part for part in parts if part), span=content.span)) for role, parts in messages]
