"""The parts of words by which texts are found in scripts that the English full-text index does not split well.

Chinese and Japanese are written without spaces: Lucene indexes each of their signs, so that two signs that follow each
other are a phrase in the text itself, and need no room. Words in Katakana, Korean, Thai, Lao, Khmer and Burmese are
indexed whole, with all that is joined to them; their pairs of signs are stored beside the text. Arabic words are stored
without vowel signs, articles and endings. So is a word in Latin letters to which a Korean or Arabic one is joined.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import regex

MAX_TERMS = 64  # words of one query
MAX_PAIRS = 64  # of one query
PARTS = "_parts"  # the end of the name of the property that holds the parts of another

# Blocks of characters, as both Python and Java write them.
_HAN = r"\u3005\u3007\u3041-\u309f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KATAKANA = r"\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL = r"\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3"
_STACKED = r"\u0e01-\u0edf\u1000-\u109f\u1780-\u17d3"
_ARABIC = r"\u0610-\u061a\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06df-\u06e8\u06ea-\u06ef\u06fa-\u06ff\u0750-\u077f"
_ARABIC_FORMS = r"\ufb50-\ufdff\ufe70-\ufefc"

STORED_SCRIPTS = rf"(?s).*[{_KATAKANA}{_HANGUL}{_STACKED}{_ARABIC}{_ARABIC_FORMS}].*"
"""A pattern, in Cypher too, for texts that have parts to be stored."""

_SCRIPT = re.compile(
    rf"(?P<han>[{_HAN}]+)|(?P<katakana>[{_KATAKANA}]+)|(?P<hangul>[{_HANGUL}]+)|(?P<stacked>[{_STACKED}]+)"
    rf"|(?P<arabic>[{_ARABIC}{_ARABIC_FORMS}]+)"
)
_LETTERS = ("hangul", "arabic")
_STORED = re.compile(f"[{_KATAKANA}{_HANGUL}{_STACKED}{_ARABIC}{_ARABIC_FORMS}]")
_WORD = re.compile(rf"[\w{_STACKED}{_ARABIC}]+")  # with the marks of these scripts, which are no letters
_IDEOGRAPH = regex.compile(r"\p{Han}")
_STACK = regex.compile(r"\P{M}\p{M}*|\p{M}+")

_STACKED_SIGN = re.compile(f"[{_STACKED}]")

# Lucene divides a text into words by Unicode's rules (UAX #29): some signs between two letters or two digits are inside
# of a word. The colon is one of them in the version of Unicode that Lucene follows.
_LETTER = r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]"
_SIGN_INSIDE = (
    rf"(?:(?<={_LETTER}\p{{M}}*)[:'\p{{WB=MidLetter}}\p{{WB=MidNumLet}}](?={_LETTER})"
    r"|(?<=\p{WB=Numeric}\p{M}*)['\p{WB=MidNum}\p{WB=MidNumLet}](?=\p{WB=Numeric})"
    r'|(?<=\p{WB=Hebrew_Letter}\p{M}*)"(?=\p{WB=Hebrew_Letter}))'
)
_IN_WORD = r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}\p{WB=Numeric}\p{WB=ExtendNumLet}\p{M}]"
_WITH_SIGNS = regex.compile(rf"(?<!{_IN_WORD}){_IN_WORD}++(?:{_SIGN_INSIDE}{_IN_WORD}++)+")
POSSESSIVE = re.compile(r"['\u2019]s?$")

# What Korean joins to a noun; the longest come first.
_PARTICLES = re.compile(
    "(?:에게서|한테서|으로|에서|에게|한테|까지|부터|처럼|보다|이랑|하고|마다|조차|밖에|을|를|이|가|은|는|에|의|도|로|와|과|만|랑)$"
)
# The rules of the light stemmer `light10` (Larkey, Ballesteros and Connell, 2002), as Lucene has them.
_ARABIC_SAME = str.maketrans("أإآٱىةکی", "اااايهكي", "ـ")
_ARABIC_MARKS = re.compile(r"[\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed]")
_ARABIC_PREFIXES = ("وال", "بال", "كال", "فال", "ال", "لل", "و")
_ARABIC_ENDINGS = ("ها", "ان", "ات", "ون", "ين", "يه", "ه", "ي")  # noqa: RUF001


class Segment(NamedTuple):
    """A piece of a word in one script; `script` is empty for those that the index splits well."""

    script: str
    text: str

    @property
    def parts(self) -> list[str]:
        """The parts by which it is found, in their order."""
        match self.script:
            case "":
                return [self.text]
            case "arabic":
                return [stem_arabic(self.text)]
            case "hangul":
                stem = _PARTICLES.sub("", self.text)
                # A word of one sign has no pair; with a particle it has, and another with each of them.
                return [*([stem] if len(stem) == 1 and stem != self.text else []), *pairs_of(self.text)]
            case _:
                return pairs_of(self.text)


def words_in(text: str) -> Iterator[list[Segment]]:
    """The words of a text, each as its segments.

    >>> [[segment.text for segment in word] for word in words_in("API를 東京で")]
    [['API', '를'], ['東京で']]
    """
    for match in _WORD.finditer(text):
        yield list(segments_of(match[0]))


def segments_of(word: str) -> Iterator[Segment]:
    """Split a word where its script changes."""
    if word.isascii() or not _SCRIPT.search(word):
        yield Segment("", word)
        return
    whole, end = unicodedata.normalize("NFKC", word), 0
    for match in _SCRIPT.finditer(whole):
        if match.start() > end:
            yield Segment("", whole[end : match.start()])
        yield Segment(str(match.lastgroup), match[0])
        end = match.end()
    if end < len(whole):
        yield Segment("", whole[end:])


def words_with_signs(text: str) -> list[str]:
    """The words that the index leaves whole although there are signs in them, without a possessive ending.

    >>> words_with_signs("O'Brien's node.js 3.5, at 10:30")
    ["O'Brien", 'node.js', '3.5']
    """
    return [POSSESSIVE.sub("", word) for word in _WITH_SIGNS.findall(text)]


def stored_parts(text: str | None) -> str | None:
    """The parts of a text that are stored beside it, or None for a text that is found without them.

    >>> stored_parts("커피를 샀다"), stored_parts("tea"), stored_parts("東京")
    ('커피 피를 샀다', None, None)
    """
    if not text or text.isascii() or not _STORED.search(text):
        return None
    found: list[str] = []
    for word in words_in(text):
        # Korean and Arabic letters hold together with Latin ones; the others do not.
        kept = ["katakana", "stacked", *_LETTERS, *([""] if any(each.script in _LETTERS for each in word) else [])]
        found += [part for segment in word if segment.script in kept for part in segment.parts]
    return " ".join(found) or None


def parts_of_properties(texts: Mapping[str, str | None]) -> dict[str, str]:
    """The properties that hold the parts of others, for those that have any.

    >>> parts_of_properties({"name": "차", "data": "tea"})
    {'name_parts': '차'}
    """
    return {name + PARTS: parts for name, text in texts.items() if (parts := stored_parts(text)) is not None}


class Terms(NamedTuple):
    """What to look for: in a text itself, where several signs are a phrase, and in the parts stored beside it.

    `signs` are those that mean something alone, which says less than that two are together.
    """

    text: list[str]
    parts: list[str]
    signs: Sequence[str] = ()

    @classmethod
    def of(cls, words: Iterable[str]) -> Terms:
        """The terms for words that are each in one script, as `segments_of` splits them, or that have signs in them.

        >>> Terms.of(["tea", "東京都", "커피"])
        Terms(text=['tea', '東京', '京都', '커피'], parts=['tea', '커피'], signs=['東', '京', '都'])
        """
        text, parts, signs = list[str](), list[str](), list[str]()
        split = ([Segment("", word)] if _WITH_SIGNS.fullmatch(word) else segments_of(word) for word in words)
        segments = list(chain.from_iterable(split))
        pairs = {*keep_ends([part for segment in segments if segment.script for part in segment.parts], MAX_PAIRS)}
        for segment in segments:
            if not segment.script:
                text += spelling_forms(segment.text)
                parts.append(segment.text)
                continue
            some = [part for part in segment.parts if part in pairs]
            if segment.script == "han":
                text += some
                signs += _IDEOGRAPH.findall(segment.text) if segment.text not in some else []
            else:
                text.append(segment.text)
                parts += some
        return cls(*(list(dict.fromkeys(terms)) for terms in (text, parts, keep_ends(signs, MAX_PAIRS))))


def keep_ends(terms: list[str], most: int) -> list[str]:
    """The first and the last of too many terms: a question often stands after what it is about.

    >>> keep_ends(["log", "of", "today", "what", "failed"], 4)
    ['log', 'of', 'what', 'failed']
    """
    return terms if len(terms) <= most else [*terms[: most // 2], *terms[-(most // 2) :]]


def spelling_forms(word: str) -> list[str]:
    """The forms of a word that the index tells apart and readers do not: those of its marks and of its apostrophes.

    An emoji is also found without the sign that asks for its colours.

    >>> spelling_forms("tea"), spelling_forms("O'Brien") == ["O'Brien", "O\u2019Brien"]
    (['tea'], True)
    """
    straight = unicodedata.normalize("NFC", word).replace("\u2019", "'")
    other = straight.replace("'", "\u2019") if "'" in straight else straight.replace("\ufe0f", "") or word
    return list(dict.fromkeys([word, *chain.from_iterable(map(normal_forms, (straight, other)))]))


def normal_forms(word: str) -> list[str]:
    """A word as it is written, and with the marks on its letters joined to them and apart: the index tells these apart.

    >>> len(normal_forms("tea")), len(normal_forms("café"))
    (1, 2)
    """
    if word.isascii():
        return [word]
    return list(dict.fromkeys([word, unicodedata.normalize("NFC", word), unicodedata.normalize("NFD", word)]))


def pairs_of(text: str) -> list[str]:
    """Each two signs of a text that follow each other, or its only one; marks belong to the sign before them.

    >>> pairs_of("喫茶店"), pairs_of("茶")
    (['喫茶', '茶店'], ['茶'])
    """
    signs = _STACK.findall(text) if _STACKED_SIGN.search(text) else text
    return [first + second for first, second in pairwise(signs)] or [*signs]


def stem_arabic(word: str) -> str:
    """An Arabic word without vowel signs, article and endings.

    >>> stem_arabic("وَالمَكْتَبَةُ"), stem_arabic("مكتبات")
    ('مكتب', 'مكتب')
    """
    stem = _ARABIC_MARKS.sub("", unicodedata.normalize("NFKC", word)).translate(_ARABIC_SAME)
    for prefix in _ARABIC_PREFIXES:
        if stem.startswith(prefix) and len(stem) - len(prefix) >= (3 if prefix == "و" else 2):
            stem = stem[len(prefix) :]
            break
    for ending in _ARABIC_ENDINGS:
        if stem.endswith(ending) and len(stem) - len(ending) >= 2:
            stem = stem[: -len(ending)]
    return stem or word
