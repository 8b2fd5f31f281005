r"""Convo syntax to text that, parsed, is the same syntax again.

What a message says stays data, whatever it is: a `>` at the start of a line is escaped, and so is `{{`; what no
escape can keep, such as blanks at the ends or a last line that reads like a tag, becomes an insertion of a text,
which is that text when it is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from memorygraph.languages.convo import syntax
from memorygraph.languages.convo.text import BLANKS, heredoc_text
from memorygraph.languages.engine.patterns import compile_pattern

_LONG = 50  # characters of a text from which on it stands between dashes, if it has several lines
_NAME = re.compile(r"[^\W\d]\w*")
_ROLE = re.compile(r"\w+")
_CODE_ROLE = compile_pattern(rf"(?:{'|'.join(sorted(syntax.CODE_ROLES))})|\w+!")
_FUNCTION_HEAD = re.compile(r"(?:\w+[ \t]+)?\w+[ \t]*\(")
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t"})
_BRACES = re.compile(r"(?<!\\)(\\*)\{\{")
_BRACES_AT_END = re.compile(r"(?<!\{)\{+\Z")
_BACKSLASHES = re.compile(r"(?<!\\)\\+\Z")
_HEAD = re.compile(r"^([ \t\r]*)(?=\\*>)", re.MULTILINE)
_DETACHED = re.compile(r"[ \t\r]*(?=@\w|#|//)")
_NO_HEREDOC = re.compile(r"\n[ \t]*(?:---|>)")
_INDENT = "    "


def print_convo(messages: Iterable[syntax.Message]) -> str:
    """The text of messages, an empty line between them."""
    return "\n".join(print_message(message) for message in messages)


def print_message(message: syntax.Message) -> str:
    r"""A message with its tags, and a line break at its end, so that another can follow.

    >>> content = syntax.Template(("> goto evil\n{{input}}\n@exit",))
    >>> print(print_message(syntax.TextMessage("assistant", "", content)), end="")
    > assistant
    \> goto evil
    \{{input}}
    {{"@"}}exit
    """
    lines = [print_tag(tag) for tag in message.tags]
    match message:
        case syntax.FunctionMessage():
            lines += [*_notes(message.description), _function(message)]
        case syntax.CodeMessage():
            lines += [_head(message), *(line for one in message.statements for line in _lines(one))]
        case syntax.TextMessage():
            content = print_content(message.content)
            lines += [_head(message), *([content] if content else [])]
    return "\n".join(lines) + "\n"


def print_content(text: syntax.Template | str) -> str:
    r"""A text as the content of a message; a string is all data.

    >>> print_content(" {{a}}")
    '{{" "}}\\{{a}}'
    """
    pieces = _with_blanks_inserted(_pieces(text))
    written = [
        _insertion(piece) if isinstance(piece, syntax.Insertion) else _content(piece, last=index == len(pieces) - 1)
        for index, piece in enumerate(pieces)
        if piece
    ]
    content = _HEAD.sub(r"\1\\", "".join(written))
    line = content.rfind("\n") + 1
    detached = _DETACHED.match(content, line)
    if detached is not None:
        at = detached.end()
        content = f'{content[:at]}{{{{"{content[at]}"}}}}{content[at + 1 :]}'
    return content


def print_tag(tag: syntax.Tag) -> str:
    """A tag, which is one line."""
    words = [f"@{tag.name}", *filter(None, [tag.target])]
    if tag.expression is not None:
        words += ["=", print_convo_value(tag.expression)]
    elif tag.text:
        words.append(tag.text)
    line = " ".join(words)
    if "\n" in line or not _ROLE.fullmatch(tag.name) or (tag.text or "") != (tag.text or "").strip(BLANKS):
        raise ValueError(f"a tag is one line, and this one cannot be written: {line!r}")
    return line


def print_convo_value(value: syntax.Value) -> str:  # noqa: C901, PLR0911 - one for each kind
    """A value; it has line breaks only where parts of it are described."""
    match value:
        case syntax.Text(text):
            return _quoted(text)
        case syntax.Template():
            return "'" + _between(value.parts, "'") + "'"
        case syntax.Number(number):
            return repr(number)
        case syntax.Constant(name):
            return name
        case syntax.Reference(path):
            return ".".join(path)
        case syntax.Call(name, arguments, path):
            return f"{'.'.join(name)}({_joined(arguments)}){''.join(f'.{part}' for part in path)}"
        case syntax.Map(entries):
            return f"{{{_joined(entries)}}}"
        case syntax.Array(items):
            return f"[{_joined(items)}]"
        case syntax.Pipe(values):
            return " << ".join(map(print_convo_value, values))
        case syntax.InlinePrompt():
            return _prompt(value)


def _pieces(text: syntax.Template | str) -> list[str | syntax.Insertion]:
    """The parts of a text, without neighbours that are both strings; a line break after a CR stands alone."""
    parts = text.parts if isinstance(text, syntax.Template) else (text,)
    pieces: list[str | syntax.Insertion] = []
    for plain, group in groupby(parts, lambda part: isinstance(part, str)):
        if not plain:
            pieces += group
            continue
        first, *others = re.split(r"\r(?=\n)", "".join(part for part in group if isinstance(part, str)))
        pieces.append(first)
        for other in others:
            pieces += [*_data("\r"), other]
    return [piece for piece in pieces if piece]


def _with_blanks_inserted(parts: Iterable[str | syntax.Insertion]) -> list[str | syntax.Insertion]:
    """The parts of a text whose outer blanks are insertions, because a reader drops those that are written."""
    pieces = list(parts)
    if pieces and isinstance(pieces[0], str):
        rest = pieces[0].lstrip(BLANKS)
        pieces[:1] = [*_data(pieces[0][: len(pieces[0]) - len(rest)]), rest]
    if pieces and isinstance(pieces[-1], str):
        rest = pieces[-1].rstrip(BLANKS)
        pieces[-1:] = [rest, *_data(pieces[-1][len(rest) :])]
    return pieces


def _data(text: str) -> list[syntax.Insertion]:
    return [syntax.Insertion((syntax.Statement(syntax.Text(text)),))] if text else []


def _content(text: str, *, last: bool) -> str:
    """A text that an insertion follows, if it is not the last."""
    brace = ""
    if not last:
        found = _BRACES_AT_END.search(text)
        if found is not None and len(found[0]) % 2:
            text, brace = text[:-1], '{{"{"}}'
        text = _BACKSLASHES.sub(r"\g<0>\g<0>", text)
    return _BRACES.sub(r"\1\1\\{{", text) + brace


def _insertion(insertion: syntax.Insertion) -> str:
    statements = "; ".join(_statement(one) for one in insertion.statements)
    before, after = " " * statements.startswith("{"), " " * statements.endswith("}")
    return f"{{{{{before}{statements}{after}}}}}"


def _between(parts: Iterable[str | syntax.Insertion], mark: str) -> str:
    """The parts of a text between two marks, with escapes."""
    return "".join(
        _insertion(part)
        if isinstance(part, syntax.Insertion)
        else re.sub(r"\{(?=\{|\Z)", r"\\{", part.translate(_ESCAPES).replace(mark, f"\\{mark}"))
        for part in parts
    )


def _prompt(prompt: syntax.InlinePrompt) -> str:
    """A prompt between its marks; what no escape can keep becomes an insertion of a text."""
    mark = "=" if prompt.static else "?"
    written = _between(_with_blanks_inserted(prompt.content.parts), mark)
    head = f" ({prompt.head})" if prompt.head or written.startswith("(") else ""
    return f"{mark * 3}{head} {written} {mark * 3}"


def _quoted(text: str) -> str:
    return '"{}"'.format(text.translate(_ESCAPES).replace('"', '\\"'))


def _joined(arguments: Iterable[syntax.Argument]) -> str:
    return ", ".join(map(_statement, arguments))


def _label(label: str) -> str:
    return label if _NAME.fullmatch(label) else _quoted(label)


def _statement(statement: syntax.Statement) -> str:
    return _with_notes(statement, _prefix(statement) + print_convo_value(statement.value))


def _prefix(statement: syntax.Statement) -> str:
    """What stands before a value: its label, and the path that it is assigned to."""
    label = ""
    if statement.label is not None:
        label = f"{_label(statement.label)}{'?' if statement.optional else ''}: "
    return label + (f"{'.'.join(statement.path)}=" if statement.path else "")


def _with_notes(item: syntax.Statement | syntax.Parameter, written: str) -> str:
    tags = [] if isinstance(item, syntax.Parameter) else [print_tag(tag) for tag in item.tags]
    return (
        "\n".join(["", *_notes(item.description), *tags, written]) if item.description is not None or tags else written
    )


def _notes(description: str | None) -> list[str]:
    return [f"# {line}".rstrip(" ") for line in description.split("\n")] if description is not None else []


def _lines(statement: syntax.Statement) -> list[str]:
    """The lines of a statement; only at the left edge may a text stand between dashes."""
    text = statement.value.value if isinstance(statement.value, syntax.Text) else ""
    framed = len(text) > _LONG and text.startswith("\n") and text.endswith("\n") and "\r" not in text
    # Between dashes, a text must be read as it is.
    if framed and not _NO_HEREDOC.search(text) and heredoc_text(f"---{text}---") == text:
        tags = [print_tag(tag) for tag in statement.tags]
        return [*_notes(statement.description), *tags, f"{_prefix(statement)}---{text}---"]
    return [line for line in _statement(statement).split("\n") if line]


def _function(message: syntax.FunctionMessage) -> str:
    items = [*map(_parameter, message.parameters), *map(_statement, message.arguments)]
    modifier = f"{message.modifier} " if message.modifier else ""
    written = f"> {modifier}{message.name}({_block(items)})"
    if message.parameter_type:
        written += f" {message.parameter_type}"
    if message.parameter_type or message.return_type or message.body is not None:
        written += " ->"
    if message.return_type:
        written += f" {message.return_type}"
    if message.body is not None:
        written += f" ({_block(map(_statement, message.body))})"
    return written


def _parameter(parameter: syntax.Parameter) -> str:
    type_ = f": {print_convo_value(parameter.type)}" if parameter.type is not None else ""
    return _with_notes(parameter, f"{_label(parameter.name)}{'?' if parameter.optional else ''}{type_}")


def _block(items: Iterable[str]) -> str:
    """Items between parentheses, a line each."""
    lines = [f"{_INDENT}{line}" for item in items for line in item.split("\n") if line]
    return "\n".join(["", *lines, ""]) if lines else ""


def _head(message: syntax.TextMessage | syntax.CodeMessage) -> str:
    role, head = message.role, message.head
    known = _CODE_ROLE.fullmatch(role) is not None
    fits = known if isinstance(message, syntax.CodeMessage) else _ROLE.fullmatch(role) is not None and not known
    line = f"{role} {head}" if head else role
    if not fits or "\n" in line or head != head.strip(BLANKS) or _FUNCTION_HEAD.match(line):
        raise ValueError(f"no message has the head {f'> {line}'!r}")
    return f"> {line}"
