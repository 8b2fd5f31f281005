"""The pictures that a real browser drew are shown by a page each, in words too, and are of modest size."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

pytest.importorskip("selenium", reason="what draws the pictures needs selenium")

from tests.browser.pictures import PICTURES, THOUGHT

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FILES = [*(picture.file for picture in PICTURES), THOUGHT]
MAX_BYTES = 300_000


def test_there_are_five() -> None:
    assert len(set(FILES)) == 5


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_picture_is_shown_with_a_text_that_says_what_is_on_it(file: Path) -> None:
    shown = [
        text
        for page in PAGES
        for text, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text("utf-8"))
        if (page.parent / target).resolve() == file.resolve()
    ]
    assert shown
    assert all(len(text) > 20 for text in shown)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_picture_is_sharp_and_not_large(file: Path) -> None:
    png = file.read_bytes()
    width, _ = struct.unpack(">II", png[16:24])
    assert width >= 1000
    assert len(png) <= MAX_BYTES
