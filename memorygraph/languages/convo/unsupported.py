"""What a conversation uses that the original runs and memorygraph does not: each place is a warning, never silence.

Source: specs/convo.md, section 6, point 10.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from memorygraph.languages.convo import syntax
from memorygraph.languages.convo.syntax import message_role
from memorygraph.languages.convo.text import first_line
from memorygraph.languages.engine.findings import Finding, shorten
from memorygraph.languages.engine.patterns import compile_pattern

CODE = "not-supported"

# Tags that change what the original does with a conversation; others describe a message, and change nothing.
TAGS = frozenset(
    """
    afterCall afterCallHide afterCallRole agentSystem autoMemory cache cap capability clear
    disableTriggers edge enableTransform enableVision endpoint entryNode eval format importMatch
    importRole includeInTriggers init inputConversation inputType markdown markdownVars mcpResourceList
    messageHandler noClear on order rag ragForMsg responseEndpoint responseFormat saveMemory taskTrigger
    template thread tokenLimit top transform transformComponent transformGroup transformOptional
    transformRequired vision
    """.split()  # noqa: SIM905 - names read better so
)
ROLES = frozenset(
    """
    agentEnd app flush graph graphEnd group groupEnd importTemplate insert insertEnd make parallel
    parallelEnd queue rag ragPrefix ragSuffix ragTemplate run stage target template templateEnd
    thinkingResult transformResult
    """.split()  # noqa: SIM905 - names read better so
)
MODIFIERS = frozenset({"agent", "invoke"})
# What a prompt in code can do with the conversation around it, which is not edited while it runs here.
PROMPT_WORDS = compile_pattern(
    r">>|(?<!\w)(?:append|prefix|prepend|replaceForModel|replace|respond|suffix|system|functions|transforms)(?!\w)"
)
IMPORT_WORDS = frozenset({"!ignoreContent"})  # only what a file defines is imported, and nothing that is said in it


def find_unsupported(messages: Iterable[syntax.Message], text: str) -> Iterator[Finding]:
    """Find what has no effect here."""
    prompts = "???" in text or "===" in text
    for message in messages:
        role = message_role(message)
        if role in ROLES:
            yield Finding(f"`> {role}` is not supported, and has no effect", CODE, first_line(text, message.span))
        if isinstance(message, syntax.FunctionMessage) and message.modifier in MODIFIERS:
            what = f"`{message.modifier}` before the name of a function is not supported: it is a function like others"
            yield Finding(what, CODE, first_line(text, message.span))
        yield from find_in_tags(message, role)
        if prompts:
            yield from find_in_prompts(message)


def find_in_tags(message: syntax.Message, role: str) -> Iterator[Finding]:
    """Find tags without an effect on a message."""
    for tag in message.tags:
        if tag.name in TAGS:
            yield Finding(f"`@{tag.name}` is not supported, and has no effect", CODE, tag.span)
        elif tag.name == "import" and not is_file_import(tag):
            what = f"`@import {shorten(tag.text or '')}` is not supported; only files beside this one are imported"
            yield Finding(what, CODE, tag.span)
        elif tag.name in syntax.ROUTE_ROLES and role != "node":
            what = f"`@{tag.name}` is a route of a node, and has no effect here; write it above the head of the node"
            yield Finding(what, "orphaned-route", tag.span)


def is_file_import(tag: syntax.Tag) -> bool:
    """Whether a tag imports a file, by a path and the words that are known here."""
    path, *words = (tag.text or "").split()[:8] or [""]
    return tag.name == "import" and bool(path) and not {":", "*"} & set(path) and IMPORT_WORDS.issuperset(words)


def find_in_prompts(message: syntax.Message) -> Iterator[Finding]:
    """Find modifiers of prompts in code that have no effect."""
    waiting: list[Any] = [vars(message)[name] for name in ("body", "statements", "content") if name in vars(message)]
    while waiting:
        one = waiting.pop()
        if isinstance(one, tuple):
            waiting += one
        elif isinstance(one, syntax.ConvoSyntax):
            if isinstance(one, syntax.Prompt):
                for found in PROMPT_WORDS.finditer(one.head.partition("task:")[0]):
                    what = f"`{found[0]}` in the head of a prompt is not supported, and has no effect"
                    yield Finding(what, CODE, one.span)
            waiting += [part for name, part in vars(one).items() if name != "span"]
