"""A model's answer, taken apart: the text for the user, and the program to be loaded."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memorygraph.errors import Problem, Source, Span
from memorygraph.llm.completion import Completion
from memorygraph.memory.prompts import LANGUAGE

FILE = "<answer>"

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\r\n]*)[\r\n]*")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_STATEMENT = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:Node|Edge|del)\s*\(")


@dataclass(frozen=True)
class FencedBlock:
    """A fenced block of an answer: the first word after its fence, its text, and its place."""

    language: str
    text: str
    span: Span


@dataclass(frozen=True)
class ParsedAnswer:
    """The text and the program of an answer; a program without statements remembers nothing.

    `problems` says why there is no telling which part is the program.
    """

    text: str
    program: str
    problems: tuple[Problem, ...] = ()


def blocks_of(text: str) -> list[FencedBlock]:
    r"""The fenced blocks of a text, as Markdown has them; one that is never closed goes on to the end.

    >>> [block.text for block in blocks_of("It is:\n```contextscript\ndel(id=a);\n```\nDone.")]
    ['del(id=a);\n']
    """
    blocks: list[FencedBlock] = []
    open_fence: re.Match[str] | None = None
    opened_at = inside = offset = 0
    # None is the end of the text, which closes a block as well.
    for line in [*_LINE.findall(text), None]:
        fence = None if line is None else _FENCE.fullmatch(line)
        end = offset + len(line or "")
        closes = open_fence and fence and not fence["info"].strip() and fence["fence"].startswith(open_fence["fence"])
        if open_fence is None and fence is not None:
            open_fence, opened_at, inside = fence, offset, end
        elif open_fence is not None and (line is None or closes):
            language = next(iter(open_fence["info"].lower().split()), "")
            blocks.append(FencedBlock(language, text[inside:offset], Span(opened_at, end)))
            open_fence = None
        offset = end
    return blocks


def read_program_answer(text: str) -> ParsedAnswer:
    r"""The program of an answer that should be nothing else: all of it, or the text of its one block.

    >>> read_program_answer("Here it is:\n```\ndel(id=a);\n```").program
    'del(id=a);\n'
    """
    blocks = blocks_of(text)
    # Models often leave the language of the fence away, or write no fence at all.
    marked = [block for block in blocks if block.language == LANGUAGE] or blocks
    if len(marked) > 1:
        return ParsedAnswer("", text, (problem_at(marked[1], text, "several-blocks", _SEVERAL),))
    return ParsedAnswer("", marked[0].text if marked else text)


def read_chat_answer(text: str) -> ParsedAnswer:
    r"""The text and the program of an answer: the program is the one block at its end that is fenced as such.

    >>> read_chat_answer("Noted.\n```contextscript\ndel(id=a);\n```")
    ParsedAnswer(text='Noted.', program='del(id=a);\n', problems=())
    """
    blocks = blocks_of(text)
    marked = [block for block in blocks if block.language == LANGUAGE]
    last = blocks[-1] if blocks and not text[blocks[-1].span.end :].strip() else None
    if len(marked) > 1:
        return ParsedAnswer(text, "", (problem_at(marked[1], text, "several-blocks", _SEVERAL),))
    if marked and marked[0] is not last:
        return ParsedAnswer(text, "", (problem_at(marked[0], text, "misplaced-block", _MISPLACED),))
    if not marked and last is not None and not last.language and _STATEMENT.match(last.text):
        return ParsedAnswer(text, "", (problem_at(last, text, "unmarked-block", _UNMARKED),))
    if not marked or last is None:
        return ParsedAnswer(text.strip(), "")
    return ParsedAnswer(text[: last.span.start].strip(), last.text)


def read_corrected_answer(text: str) -> ParsedAnswer:
    """The program that a model wrote again, or its words where it gives the program up.

    >>> read_corrected_answer("del(id=a);").program, read_corrected_answer("I leave it be.").text
    ('del(id=a);', 'I leave it be.')
    """
    return read_program_answer(text) if blocks_of(text) or _STATEMENT.match(text) else ParsedAnswer(text.strip(), "")


def without_programs(text: str) -> str:
    """A text without the blocks that would be read as programs."""
    for block in reversed(blocks_of(text)):
        if block.language == LANGUAGE:
            text = text[: block.span.start] + text[block.span.end :]
    return text.strip()


def explain_unfinished(completion: Completion) -> tuple[Problem, ...]:
    """Why a completion has no whole answer; empty if it has one."""
    if completion.refusal:
        code, message = "refused", f"the model refused: {completion.refusal}"
    elif completion.finish_reason == "length":
        code, message = "cut", "the answer was cut at its length limit; write less"
    elif completion.finish_reason == "content_filter":
        code, message = "filtered", "the endpoint's content filter stopped the answer"
    else:
        return ()
    return (Problem(message, code, FILE, 1, 1),)


_SEVERAL = f"there is more than one block; write one program, in one block that begins with ```{LANGUAGE}"
_MISPLACED = "this block is not the end of the answer; the program is the last that stands there"
_UNMARKED = f"a program to be remembered stands in a block that begins with ```{LANGUAGE}; nothing was remembered"


def problem_at(block: FencedBlock, text: str, code: str, message: str) -> Problem:
    """A problem at the first line of a block."""
    end = text.find("\n", block.span.start)
    return Source(text, FILE).problem(message, code, Span(block.span.start, end if end >= 0 else len(text)))
