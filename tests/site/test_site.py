"""The built site: no link is broken, nothing scrolls sideways on a telephone, and search finds what people look for."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.browser.chromium import CHROMEDRIVER, CHROMIUM, chromium_options
from tests.site.build import build

pytestmark = pytest.mark.slow

NARROW = 400  # pixels
PATIENCE_S = 60
CHROMIUM_IS_THERE = pytest.mark.skipif(not (CHROMIUM and CHROMEDRIVER), reason="there is no Chromium to look with")


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        """Keep quiet."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built strictly."""
    folder = tmp_path_factory.mktemp("site")
    assert build(folder) == ""
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> list[str]:
    """The addresses of the pages that people read: not those of the repository's own files."""
    found = [path.relative_to(site).parent.as_posix() for path in site.rglob("index.html")]
    return sorted(f"{page}/".removeprefix("./") for page in found if not page.startswith("files/"))


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    """A Chromium that shows pages as a telephone does."""
    options = chromium_options()
    driver = webdriver.Chrome(options, Service(CHROMEDRIVER))
    metrics = {"width": NARROW, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        yield driver
    finally:
        driver.quit()


def test_every_link_leads_to_a_page_and_a_place_in_it(site: Path) -> None:
    texts = {path: path.read_text("utf-8") for path in site.rglob("*.html") if path.name != "404.html"}
    places = {path: {unescape(name) for name in re.findall(r'\bid="([^"]+)"', text)} for path, text in texts.items()}
    broken = []
    for path, text in texts.items():
        for link in {unescape(each) for each in re.findall(r'(?:href|src)="([^"]+)"', text)}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            target = target / "index.html" if target.is_dir() else target
            fragment = unquote(parts.fragment)
            if not target.exists() or (fragment and target in places and fragment not in places[target] | {"__skip"}):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert len(texts) > 40
    assert broken == []


def test_models_find_every_page_and_one_text(site: Path, pages: list[str]) -> None:
    linked = re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text("utf-8"))
    assert [link for link in linked if not (site / link).exists()] == []
    assert {link.removesuffix("index.html") for link in linked} >= {*pages}
    full = (site / "llms-full.md").read_text("utf-8")
    assert all(
        text in full for text in ("# ContextScript: the reference", "# PETE: the reference", "## undo", "weight-range")
    )


@CHROMIUM_IS_THERE
def test_no_page_scrolls_sideways_on_a_telephone(browser: webdriver.Chrome, address: str, pages: list[str]) -> None:
    wide = {}
    for page in pages:
        browser.get(address + page)
        widths = browser.execute_script(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        if widths[0] > max(widths[1], NARROW):
            wide[page] = widths
    assert len(pages) > 30
    assert wide == {}


@CHROMIUM_IS_THERE
def test_every_picture_is_drawn(browser: webdriver.Chrome, address: str, pages: list[str]) -> None:
    for page in ("", "tutorial/", "architecture/", "reference/graph/"):
        assert page == "" or page in pages
        browser.get(address + page)
        drawn = browser.execute_script(
            "return [...document.querySelectorAll('article img')].map(i => [i.alt.length, i.naturalWidth])"
        )
        assert drawn, page
        assert all(alt > 10 and width > 300 for alt, width in drawn), page


@CHROMIUM_IS_THERE
@pytest.mark.parametrize(("word", "page"), [("undo", "reference/commands/"), ("namespace", "reference/")])
def test_search_finds(word: str, page: str, browser: webdriver.Chrome, address: str) -> None:
    browser.get(f"{address}?q={word}")
    found = WebDriverWait(browser, PATIENCE_S).until(
        lambda driver: driver.find_elements(By.CSS_SELECTOR, "a.md-search-result__link")
    )
    assert any(page in str(link.get_attribute("href")) for link in found)
