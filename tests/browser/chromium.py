"""Neo4j Browser in a real, headless Chromium: what the tests do in it, and what they see."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from memorygraph.server.browser import SavedQuery

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")
PATIENCE_S = 90
OPTIONS = (
    "--headless=new",
    "--window-size=1280,960",
    "--force-device-scale-factor=1.25",
    # Browser must do without the internet: it finds no machine but this one.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


class Neo4jBrowser:
    """A page of Neo4j Browser, with the password of its server."""

    def __init__(self, driver: webdriver.Chrome, url: str, password: str) -> None:
        self._driver = driver
        self._url = url
        self._password = password

    def run(self, query: SavedQuery, **parameters: object) -> None:
        """Open a saved query as `memorygraph browser` does, log in where it is asked for, run it, see it drawn."""
        self._driver.get(self._url + query.address(parameters))
        self.wait("[data-testid=password], [data-testid=rawParamData]")
        for field in self.all("[data-testid=password]"):
            field.send_keys(self._password)
            self.wait("[data-testid=connect]").click()
        self.wait("[data-testid=rawParamData]")
        self.wait("[data-testid=editor-Run]").click()
        self.wait("article g.node")

    def wait(self, selector: str) -> WebElement:
        """The first element that a selector finds, as soon as there is one."""
        WebDriverWait(self._driver, PATIENCE_S).until(lambda _: self.all(selector))
        return self.all(selector)[0]

    def all(self, selector: str) -> list[WebElement]:
        """What a selector finds now."""
        return self._driver.find_elements(By.CSS_SELECTOR, selector)

    def nodes(self) -> dict[str, tuple[str, str]]:
        """The circles that are drawn: the text in each, with its colour and its diameter."""
        drawn: list[tuple[str, str, str]] = self._driver.execute_script(
            """return [...document.querySelectorAll('article g.node')].map(node => [
                 [...node.querySelectorAll('text')].map(line => line.textContent.trim()).join(' '),
                 node.querySelector('circle.b-outline').getAttribute('fill'),
                 2 * node.querySelector('circle.b-outline').getAttribute('r') + 'px'])"""
        )
        return {text: (color, diameter) for text, color, diameter in drawn}

    def verbs(self) -> list[str]:
        """What stands on the arrows that are drawn."""
        return [arrow.text for arrow in self.all("article g.relationship text")]

    def labels(self) -> dict[str, str]:
        """The labels in the legend of the picture, each with its colour."""
        prefix = "property-details-overview-node-label-"
        found: dict[str, str] = self._driver.execute_script(
            """return Object.fromEntries([...document.querySelectorAll(`[data-testid^="${arguments[0]}"]`)].map(
                 chip => [chip.dataset.testid.slice(arguments[0].length), getComputedStyle(chip).backgroundColor]))""",
            prefix,
        )
        return {label: _hexadecimal(color) for label, color in found.items() if label != "*"}

    def photograph(self, file: Path) -> None:
        """Save what is drawn, as large as the window, when nothing moves any more."""
        self.wait("article button[title=Fullscreen]").click()
        self.wait("button[title^='Collapse the node properties']").click()
        still = 0
        before: list[str | None] = []
        while still < 4:
            time.sleep(1)
            now = [node.get_attribute("transform") for node in self.all("g.node")]
            still = still + 1 if now == before else 0
            before = now
        self.wait("[aria-label=zoom-to-fit]").click()
        time.sleep(2)
        self._driver.save_screenshot(str(file))


def chromium_options() -> webdriver.ChromeOptions:
    """What a Chromium of the tests is started with."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for option in OPTIONS:
        options.add_argument(option)
    if os.geteuid() == 0:  # Chromium refuses to be sandboxed by root
        options.add_argument("--no-sandbox")
    return options


@contextmanager
def open_chromium() -> Iterator[webdriver.Chrome]:
    """A Chromium with a profile of its own, which goes with it."""
    driver = webdriver.Chrome(chromium_options(), Service(CHROMEDRIVER))
    try:
        yield driver
    finally:
        driver.quit()


@contextmanager
def neo4j_browser(url: str, password: str) -> Iterator[Neo4jBrowser]:
    """Neo4j Browser in a Chromium of its own."""
    with open_chromium() as driver:
        yield Neo4jBrowser(driver, url, password)


def _hexadecimal(color: str) -> str:
    """`rgb(76, 142, 218)` as `#4C8EDA`."""
    return "#" + "".join(f"{int(part):02X}" for part in color.strip("rgba()").split(",")[:3])
