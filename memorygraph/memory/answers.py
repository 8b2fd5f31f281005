"""A model's answer, taken apart: the text for the user, and the program that it would have remembered."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memorygraph.errors import Problem, Source, Span
from memorygraph.llm.completion import Completion
from memorygraph.memory.rules import LANGUAGE

FILE = "<answer>"

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\r\n]*)[\r\n]*")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_STATEMENT = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:Node|Edge|del)\s*\(")


@dataclass(frozen=True)
class Block:
    """A fenced block of an answer: the first word behind its fence, its text, and where it stands."""

    language: str
    text: str
    span: Span


@dataclass(frozen=True)
class Answer:
    """What a model answered; a program without statements remembers nothing.

    Where it can't be told what the program is, `problems` says why.
    """

    text: str
    program: str
    problems: tuple[Problem, ...] = ()


def blocks_of(text: str) -> list[Block]:
    r"""The fenced blocks of a text, as Markdown has them; one that is never closed goes on to the end.

    >>> [block.text for block in blocks_of("It is:\n```contextscript\ndel(id=a);\n```\nDone.")]
    ['del(id=a);\n']
    """
    blocks: list[Block] = []
    opening: re.Match[str] | None = None
    opened_at = inside = offset = 0
    for line in _LINE.findall(text):
        fence = _FENCE.fullmatch(line)
        if opening is None and fence is not None:
            opening, opened_at, inside = fence, offset, offset + len(line)
        elif opening is not None and fence is not None and _closes(opening, fence):
            blocks.append(_block(opening, text[inside:offset], Span(opened_at, offset + len(line))))
            opening = None
        offset += len(line)
    if opening is not None:
        blocks.append(_block(opening, text[inside:], Span(opened_at, len(text))))
    return blocks


def _closes(opening: re.Match[str], fence: re.Match[str]) -> bool:
    return not fence["info"].strip() and fence["fence"].startswith(opening["fence"])


def _block(opening: re.Match[str], text: str, span: Span) -> Block:
    return Block(next(iter(opening["info"].lower().split()), ""), text, span)


def read_program(text: str) -> Answer:
    r"""The program of an answer that should be nothing else: all of it, or what stands in its one block.

    >>> read_program("Here it is:\n```\ndel(id=a);\n```").program
    'del(id=a);\n'
    """
    blocks = blocks_of(text)
    marked = [block for block in blocks if block.language == LANGUAGE] or blocks
    if len(marked) > 1:
        return Answer("", text, (_problem(text, "several-blocks", _SEVERAL, marked[1]),))
    return Answer("", marked[0].text if marked else text)


def read_answer(text: str) -> Answer:
    r"""The text and the program of an answer: the program is the one block at its end that is fenced as such.

    >>> read_answer("Noted.\n```contextscript\ndel(id=a);\n```")
    Answer(text='Noted.', program='del(id=a);\n', problems=())
    """
    blocks = blocks_of(text)
    marked = [block for block in blocks if block.language == LANGUAGE]
    last = blocks[-1] if blocks and not text[blocks[-1].span.end :].strip() else None
    if len(marked) > 1:
        return Answer(text, "", (_problem(text, "several-blocks", _SEVERAL, marked[1]),))
    if marked and marked[0] is not last:
        return Answer(text, "", (_problem(text, "misplaced-block", _MISPLACED, marked[0]),))
    if not marked and last is not None and not last.language and _STATEMENT.match(last.text):
        return Answer(text, "", (_problem(text, "unmarked-block", _UNMARKED, last),))
    if not marked or last is None:
        return Answer(text.strip(), "")
    return Answer(text[: last.span.start].strip(), last.text)


def read_correction(text: str) -> Answer:
    """What a model answers that was to write its program again: that, or its words, when it gives the program up.

    >>> read_correction("del(id=a);").program, read_correction("I leave it be.").text
    ('del(id=a);', 'I leave it be.')
    """
    return read_program(text) if blocks_of(text) or _STATEMENT.match(text) else Answer(text.strip(), "")


def without_programs(text: str) -> str:
    """A text without the blocks that would be read as programs."""
    for block in reversed(blocks_of(text)):
        if block.language == LANGUAGE:
            text = text[: block.span.start] + text[block.span.end :]
    return text.strip()


def unfinished(completion: Completion) -> tuple[Problem, ...]:
    """Why a model's answer is none."""
    if completion.refusal:
        return (_remark("refused", f"the model refused: {completion.refusal}"),)
    if completion.finish_reason == "length":
        return (_remark("cut", "the answer was cut at its length limit; write less"),)
    if completion.finish_reason == "content_filter":
        return (_remark("filtered", "the endpoint's content filter stopped the answer"),)
    return ()


_SEVERAL = f"there is more than one block; write one program, in one block that begins with ```{LANGUAGE}"
_MISPLACED = "this block is not the end of the answer; the program is the last that stands there"
_UNMARKED = f"a program to be remembered stands in a block that begins with ```{LANGUAGE}; nothing was remembered"


def _problem(text: str, code: str, message: str, block: Block) -> Problem:
    end = text.find("\n", block.span.start)
    span = Span(block.span.start, end if end >= 0 else len(text))
    return Source(text, FILE).problem(message, code, span)


def _remark(code: str, message: str) -> Problem:
    return Problem(message, code, FILE, 1, 1)
