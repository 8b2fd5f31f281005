"""What a conversation uses that the original runs and memorygraph does not: each place is a warning, never silence.

Source: specs/convo.md, section 6, point 10.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from memorygraph.languages.convo import syntax
from memorygraph.languages.convo.syntax import message_role
from memorygraph.languages.convo.text import first_line
from memorygraph.languages.engine.findings import Finding, shorten, suggestion
from memorygraph.languages.engine.patterns import compile_pattern
from memorygraph.languages.engine.syntax import parts_in, walk

CODE = "not-supported"

# Tags that change what the original does with a conversation; others describe a message, and change nothing.
TAGS = frozenset(
    """
    afterCall afterCallHide afterCallRole agentSystem autoMemory cache cap capability cid clear
    disableTriggers edge enableTransform enableVision enabledVisionFunction endpoint entryNode eval
    excludeFromTriggers format importMatch importRole includeInTransforms includeInTriggers init
    inputConversation inputType markdown markdownVars maxTaskMessageCount mcpResourceList messageHandler
    messageHandlerHeadProp modelParams noClear on order output rag ragForMsg responseEndpoint
    responseFormat saveMemory task taskTrigger template thread tokenLimit top transform
    transformComponent transformComponentCondition transformFilter transformGroup transformHideSource
    transformKeepSource transformOptional transformRemoveSource transformRenderOnly transformRequired
    transformTag vision
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
# Variables by which the original reaches other services, or changes what is sent.
VARIABLES = frozenset(
    """
    __apiKey __cache __convoEndpoint __db __dbConnection __defaultResponseType __endpoint __formsEnabled
    __logitBias __messageHandlers __modelParams __rag __ragParams __ragTol __threadFilter
    __visionServiceSystemMessage __visionSystemMessage
    """.split()  # noqa: SIM905 - names read better so
)
# What has a meaning in a node graph, here or in the original: another role is a slip, and a tag like one of these is.
GRAPH_ROLES = frozenset(
    {*syntax.CODE_ROLES, *syntax.ROUTE_ROLES, *syntax.NODE_ENDS, *ROLES}
    | set(
        """
        _sourceRef append appendAssistant appendSystem appendUser assistant developer nop prefix prepend
        replace replaceForModel suffix system thinking user
        """.split()  # noqa: SIM905 - names read better so
    )
)
GRAPH_TAGS = TAGS | frozenset(
    """
    assign assignTo call concat condition contextDepth disabled exit fork frequencyPenalty from hidden
    import includeInNodes json logprobs maxTokens model presencePenalty reasoningEffort responseModel
    responseVerbosity routingModel seed serviceTier shared taskDescription taskName temperature to
    toolId topLogprobs topP
    """.split()  # noqa: SIM905 - names read better so
)
GRAPH_TAG_NAMES = sorted(f"@{name}" for name in GRAPH_TAGS)
# Tags that describe a message to people or programs: silent, and not what somebody meant who wrote another one.
DESCRIBING_TAGS = frozenset(
    """
    assumeHandledMessageLocation component controlResult createdAfterCalling createdByTransform
    disableAutoComplete disableAutoScroll disableModifiers docRef errorCallback fromMcp label name
    overwrittenByTransform preSpace ragContentRage renderOnly renderTarget renderer sourceTemplate
    stdSystem suggestion suggestionCallback suggestionTitle time tokenUsage transformDescription userId
    """.split()  # noqa: SIM905 - names read better so
)
# What a prompt in code can do with the conversation around it, which is not edited while it runs here.
PROMPT_WORDS = compile_pattern(
    r">>|(?<!\w)(?:append|prefix|prepend|replaceForModel|replace|respond|suffix|system|functions|transforms)(?!\w)"
)
IMPORT_WORDS = frozenset({"!ignoreContent"})  # only what a file defines is imported, and nothing that is said in it


def find_unsupported(messages: Sequence[syntax.Message], text: str) -> list[Finding]:
    """Find what has no effect here, in the order of the text."""
    return sorted(find_in_messages(messages, text), key=lambda finding: finding.span)


def find_in_messages(messages: Sequence[syntax.Message], text: str) -> Iterator[Finding]:
    """Find it message by message: a tag stands before the message that it belongs to."""
    searched = any(mark in text for mark in ("???", "===", "<<"))
    in_graph = any(message_role(message) == "node" for message in messages)
    for message in messages:
        role = message_role(message)
        if role in ROLES:
            yield Finding(f"`> {role}` is not supported, and has no effect", CODE, first_line(text, message.span))
        if isinstance(message, syntax.FunctionMessage) and message.modifier in MODIFIERS:
            what = f"`{message.modifier}` before the name of a function is not supported: it is a function like others"
            yield Finding(what, CODE, first_line(text, message.span))
        yield from find_in_tags(message, role)
        if isinstance(message, syntax.CodeMessage):
            yield from find_in_variables(message)
        if in_graph:
            yield from find_slips(message, role, text)
        if searched:
            yield from find_in_code(message)


def find_in_variables(message: syntax.CodeMessage) -> Iterator[Finding]:
    """Find variables without an effect that a message sets."""
    for statement in message.statements:
        if statement.path and statement.path[0] in VARIABLES:
            what = f"the variable `{statement.path[0]}` is not supported, and has no effect on what is asked"
            yield Finding(what, CODE, statement.span)


def find_slips(message: syntax.Message, role: str, text: str) -> Iterator[Finding]:
    """Find what nobody knows in a node graph: any such role, and a tag that is like one that is known.

    A tag like no other is a remark of its author's, and so is a known one with a number (`@call5` of the seed).
    """
    if not isinstance(message, syntax.FunctionMessage) and role not in GRAPH_ROLES:
        meant = "nodeEnd" if role.lower() == "endnode" else role
        what = f"`> {shorten(role)}` is no kind of message, and has no effect{suggestion(meant, sorted(GRAPH_ROLES))}"
        yield Finding(what, CODE, first_line(text, message.span))
    for tag in message.tags:
        name = tag.name.rstrip("0123456789")
        if name not in GRAPH_TAGS | DESCRIBING_TAGS and (meant := suggestion(f"@{name}", GRAPH_TAG_NAMES)):
            yield Finding(f"`@{shorten(tag.name)}` is no tag that is known, and has no effect{meant}", CODE, tag.span)


def find_in_tags(message: syntax.Message, role: str) -> Iterator[Finding]:
    """Find tags without an effect on a message."""
    for tag in message.tags:
        if tag.name in TAGS:
            yield Finding(f"`@{tag.name}` is not supported, and has no effect", CODE, tag.span)
        elif tag.name == "import" and not is_file_import(tag):
            files = (
                "only Convo is imported, no Markdown" if is_markdown(tag) else "only files beside this one are imported"
            )
            yield Finding(f"`@import {shorten(tag.text or '')}` is not supported; {files}", CODE, tag.span)
        elif tag.name in syntax.ROUTE_ROLES and role != "node":
            what = f"`@{tag.name}` is a route of a node, and has no effect here; write it above the head of the node"
            yield Finding(what, "orphaned-route", tag.span)


def is_file_import(tag: syntax.Tag) -> bool:
    """Whether a tag imports a file, by a path and the words that are known here."""
    path, *words = (tag.text or "").split()[:8] or [""]
    is_path = bool(path) and not {":", "*"} & set(path) and not is_markdown(tag)
    return tag.name == "import" and is_path and IMPORT_WORDS.issuperset(words)


def is_markdown(tag: syntax.Tag) -> bool:
    """Whether a tag names a file of Markdown first, whose text the original puts into an `importTemplate`."""
    return (tag.text or "").partition(" ")[0].lower().endswith(".md")


def is_into_conversation(pipe: syntax.Pipe) -> bool:
    """Whether a pipe ends in `convo`, which is the conversation itself in the original."""
    return isinstance(pipe.values[0], syntax.Reference) and tuple(pipe.values[0].path) == ("convo",)


def find_in_code(message: syntax.Message) -> Iterator[Finding]:
    """Find modifiers of prompts that have no effect, and pipes into the conversation, which fail."""
    beside = syntax.Tag | syntax.Parameter | syntax.Argument
    inside = (part for part in parts_in(message) if not isinstance(part, beside))
    for one in chain.from_iterable(map(walk, inside)):
        if isinstance(one, syntax.InlinePrompt):
            for found in PROMPT_WORDS.finditer(one.head.partition("task:")[0]):
                what = f"`{found[0]}` in the head of a prompt is not supported, and has no effect"
                yield Finding(what, CODE, one.span)
        if isinstance(one, syntax.Pipe) and is_into_conversation(one):
            what = "`convo << …` is not supported: code appends nothing to the conversation, and a run fails here"
            yield Finding(what, CODE, one.span)
