"""A page of a conversation, a run or a thought shows all of it, and nothing in it runs; seen in a real Chromium."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from memorygraph import MemoryGraph, NotFoundError
from memorygraph.cli import cli
from memorygraph.scripted.scripted_model import ScriptedModel
from tests.browser.chromium import CHROMEDRIVER, CHROMIUM, chromium_options
from tests.examples import amount, mostly_slow
from tests.graph.test_namespaces import fill

MANY = amount(ordinary=500, whole=5000, long=5000)
NARROW = 400  # pixels
PATIENCE_S = 60
CHROMIUM_IS_THERE = pytest.mark.skipif(not (CHROMIUM and CHROMEDRIVER), reason="there is no Chromium to look with")
HOSTILE = (
    "<script>window.ran = 1</script>",
    "</div></details></article></main><script>window.ran = 1</script>",
    '<img src=x onerror="window.ran = 1">',
    '" onmouseover="window.ran = 1',
    "<svg onload=window.ran=1><style>*{display:none}</style>",
    "[a link](javascript:window.ran=1) javascript:window.ran=1",
    "{{ 7 * 7 }}{% raw %}",
    "</script><script>window.ran = 1</script><!--",
    "&lt;script&gt;window.ran = 1&lt;/script&gt;",
    "right\u202eto left\u2066 \x00\x1b[31m",
)

Look = Callable[[str], webdriver.Chrome]


@pytest.fixture(scope="module")
def chromium() -> Iterator[webdriver.Chrome]:
    """A Chromium that keeps what a page says to its console."""
    options = chromium_options()
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(CHROMEDRIVER))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def look(chromium: webdriver.Chrome, tmp_path: Path) -> Look:
    """Open a page from a file."""

    def open_page(page: str) -> webdriver.Chrome:
        file = tmp_path / "page.html"
        file.write_text(page, "utf-8")
        chromium.get(file.as_uri())
        return chromium

    return open_page


def texts(driver: webdriver.Chrome, selector: str) -> list[str]:
    """The texts of the elements that are seen."""
    return [element.text for element in driver.find_elements(By.CSS_SELECTOR, selector) if element.is_displayed()]


def search(driver: webdriver.Chrome, text: str) -> str:
    """Type into the search field; what the page says that it found."""
    driver.execute_script("document.getElementById('found').value = ''")
    field = driver.find_element(By.ID, "search")
    field.clear()
    field.send_keys(text)
    found = driver.find_element(By.ID, "found")
    WebDriverWait(driver, PATIENCE_S).until(lambda _: found.text.endswith("found"))
    return found.text


def lunch(graph: MemoryGraph) -> MemoryGraph:
    """A conversation with two versions: its question was edited."""
    history = graph.messages("lunch")
    history.append({"role": "system", "content": "You suggest lunch."})
    history.append({"role": "user", "content": "I like soup today."})
    history.append({"role": "assistant", "content": "Have a lentil soup."})
    history[1]["content"] = "I like pizza today."
    history.append({"role": "assistant", "content": "Then have a margherita."})
    return graph


def test_a_page_needs_nothing_but_itself(graph: MemoryGraph) -> None:
    page = lunch(graph).view_conversation("lunch")
    assert not re.search(r"(?:src|href)=\"(?!#)", page)
    policy = unescape(re.findall(r'Content-Security-Policy" content="([^"]+)"', page)[0])
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_a_page_says_how_many_there_are_of_one_and_of_more(graph: MemoryGraph) -> None:
    history = graph.messages("lunch")
    history.append({"role": "assistant", "content": "Have a lentil soup."})
    assert "<p>1 version · 1 message · 1 answer trained on</p>" in graph.view_conversation("lunch")
    history.append({"role": "user", "content": "And then?"})
    history.append({"role": "assistant", "content": "Then have a tea."})
    assert "<p>1 version · 3 messages · 2 answers trained on</p>" in graph.view_conversation("lunch")
    graph.load("context main(&x) {", language="pete")
    assert "1 context, 0 entries</p>" in graph.view_thought("main")


@CHROMIUM_IS_THERE
def test_versions_stand_side_by_side_and_say_where_they_part(graph: MemoryGraph, look: Look) -> None:
    page = look(lunch(graph).view_conversation("lunch"))
    assert "You suggest lunch." in texts(page, "main > section")[0]
    first, second = page.find_elements(By.CSS_SELECTOR, ".column")
    assert "Have a lentil soup." in first.text
    assert "Then have a margherita." in second.text
    assert first.location["y"] == second.location["y"]
    assert texts(page, ".column del") == ["soup"]
    assert texts(page, ".column ins") == ["pizza"]
    assert "The versions part before message 1." in page.find_element(By.TAG_NAME, "main").text


@CHROMIUM_IS_THERE
def test_what_is_trained_on_and_what_is_off_policy_is_marked(graph: MemoryGraph, look: Look) -> None:
    page = look(lunch(graph).view_conversation("lunch"))
    marks = [(mark, message) for message in texts(page, ".column article") for mark in ("trained on", "off-policy")]
    found = {message.splitlines()[-1]: mark for mark, message in marks if f" {mark}" in message}
    assert found["Then have a margherita."] == "trained on"
    assert {"trained on", "off-policy"} == {*found.values()}


@CHROMIUM_IS_THERE
def test_tool_calls_are_folded_and_subagents_are_inside(graph: MemoryGraph, look: Look) -> None:
    history = graph.messages("work")
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"town": "Graz"}'}}
    history.append({"role": "user", "content": "How is it?"})
    inner = [{"role": "user", "content": "look outside"}, {"role": "assistant", "content": "it rains"}]
    history.append({"role": "assistant", "content": None, "tool_calls": [call]})
    history.append({"role": "tool", "tool_call_id": "c1", "content": "rain"}, subgraph=inner)
    page = look(graph.view_conversation("work"))
    assert "calls weather" in texts(page, "summary")
    assert "result of weather" in texts(page, "summary")
    assert not any("Graz" in text for text in texts(page, "main"))
    page.find_element(By.ID, "unfold").click()
    [whole] = texts(page, "main")
    assert '"town": "Graz"' in whole
    assert "it rains" in whole
    page.find_element(By.ID, "fold").click()
    assert not any("it rains" in text for text in texts(page, "main"))
    assert search(page, "rains") == "1 found"
    assert any("it rains" in text for text in texts(page, "main"))


@CHROMIUM_IS_THERE
def test_a_result_is_named_by_its_tool_where_the_call_stands_before_the_versions_part(
    graph: MemoryGraph, look: Look
) -> None:
    history = graph.messages("edited-result")
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    history.append({"role": "user", "content": "How is it?"})
    history.append({"role": "assistant", "tool_calls": [call]})
    history.append({"role": "tool", "tool_call_id": "c1", "content": "rain"})
    history.append({"role": "assistant", "content": "It rains."})
    history[2]["content"] = "sun"
    page = look(graph.view_conversation("edited-result"))
    assert texts(page, "main > section summary") == ["calls weather"]
    assert texts(page, ".column .tool summary") == ["result of weather", "result of weather"]


@CHROMIUM_IS_THERE
def test_what_an_edit_removes_and_adds_is_said(graph: MemoryGraph, look: Look) -> None:
    history = graph.messages("shorter")
    history.extend([{"role": "user", "content": text} for text in ("first", "second", "third")])
    history.append({"role": "assistant", "content": "an answer"})
    del history[1]
    history.append({"role": "user", "content": "fourth"})
    page = look(graph.view_conversation("shorter"))
    page.find_element(By.ID, "unfold").click()
    second = page.find_elements(By.CSS_SELECTOR, ".column")[1]
    assert second.find_element(By.CSS_SELECTOR, ".removed del").text == "second"
    marks = [mark.text for mark in second.find_elements(By.CSS_SELECTOR, ".mark-same, .mark-added")]
    assert marks == ["= unchanged", "= unchanged", "+ added"]


@CHROMIUM_IS_THERE
def test_the_policy_stops_a_script_even_where_one_came_into_the_page(graph: MemoryGraph, look: Look) -> None:
    page = lunch(graph).view_conversation("lunch")
    for foreign in ("<script>window.ran = 1</script>", '<img src="data:," onerror="window.ran = 1">'):
        assert look(page.replace("</main>", f"{foreign}</main>")).execute_script("return window.ran === undefined")
    shown = look(page)
    assert search(shown, "pizza") == "1 found"
    assert shown.get_log("browser")  # type: ignore[no-untyped-call]  # says what it stopped; read once, it is gone


@CHROMIUM_IS_THERE
@pytest.mark.parametrize("hostile", mostly_slow(HOSTILE, ordinary=3))
def test_nothing_in_a_message_runs_or_hides_what_follows(graph: MemoryGraph, look: Look, hostile: str) -> None:
    history = graph.messages("hostile")
    call = {"id": hostile, "type": "function", "function": {"name": hostile, "arguments": hostile}}
    history.append({"role": "user", "name": hostile, "content": hostile})
    history.append({"role": "assistant", "content": hostile, "tool_calls": [call]}, metadata={"model": hostile})
    history.append({"role": "tool", "tool_call_id": hostile, "content": [{"type": hostile, hostile: hostile}]})
    history.append({"role": "user", "content": "the end"})
    history[0]["content"] = f"{hostile}{hostile}"
    page = look(graph.view_conversation("hostile"))
    page.find_element(By.ID, "unfold").click()
    assert page.execute_script("return window.ran === undefined && document.querySelectorAll('script').length") == 1
    assert not page.find_elements(By.CSS_SELECTOR, "main img, main svg, main style, a:not([href^='#'])")
    assert texts(page, ".column:last-child article:last-of-type .text") == ["the end"]
    assert [
        entry
        for entry in page.get_log("browser")  # type: ignore[no-untyped-call]
        if entry["level"] == "SEVERE"
    ] == []


@pytest.mark.slow
@CHROMIUM_IS_THERE
def test_many_messages_are_shown_and_searched(graph: MemoryGraph, look: Look) -> None:
    said = [
        {"role": ("user", "assistant")[number % 2], "content": f"message number {number} of many, about tea"}
        for number in range(MANY)
    ]
    graph.messages("long").extend(said)
    page = look(graph.view_conversation("long"))
    assert page.execute_script("return document.querySelectorAll('article').length") == MANY
    assert search(page, f"number {MANY - 7} of") == "1 found"
    assert texts(page, "article .text") == [f"message number {MANY - 7} of many, about tea"]
    assert search(page, "no such words") == "0 found"
    assert search(page, "about tea") == f"{MANY} found"


@CHROMIUM_IS_THERE
def test_a_run_shows_its_steps_and_its_prompts_with_their_sources_and_budgets(graph: MemoryGraph, look: Look) -> None:
    program = """
    import llm Model from "openai://any"
    main agent Writer {
      model Model
      role "A writer"
      description "Writes"
      main func(input { topic string }) {
        secret = "hidden"
        use input.topic < 40
        return generate({ input: "Write" limit: 100 }) { return { text string } }
      }
    }
    """
    with ScriptedModel(['{"text": "Tea is warm."}']) as model, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_BASE_URL", model.base_url)
        graph.run(program, {"topic": "tea and much more than forty characters of it"})
    page = look(graph.view_run("last"))
    page.find_element(By.ID, "unfold").click()
    [whole] = texts(page, "main")
    for part in ("Writer", "input.topic · budget 40", "Sources of the prompt", "Tea is warm."):
        assert part in whole, part
    assert "hidden" not in whole
    assert "1 attempt\n" in whole


@CHROMIUM_IS_THERE
def test_the_steps_of_a_called_agent_stand_inside_its_own(graph: MemoryGraph, look: Look, tmp_path: Path) -> None:
    worker = 'import memory Known from "neo4j://"\nagent Worker { main func() { return Known.recall("tea") } }'
    (tmp_path / "worker.as").write_text(worker, "utf-8")
    program = """
    import llm M from "openai://m"
    import agent Worker from "worker.as"
    main agent A { model M role "R" description "D" main func() { return [Worker(), Worker()] } }
    """
    graph.run(program, folder=tmp_path)
    page = look(graph.view_run("last"))
    assert texts(page, "details.inside > summary") == ["inside Worker", "inside Worker"]
    assert texts(page, "details.inside .who bdi") == ["Known.recall", "Known.recall"]


@CHROMIUM_IS_THERE
def test_a_run_of_a_graph_shows_where_it_went(graph: MemoryGraph, look: Look) -> None:
    graph.run("> node a\n    > sum(x: any) -> ( add(1 2) )\n> nodeEnd\n\n> user\nx\n\n> goto a", language="convo")
    page = look(graph.view_run("last"))
    assert "goes to the exit" in page.find_element(By.TAG_NAME, "main").text


@CHROMIUM_IS_THERE
def test_a_thought_folds_by_its_contexts(graph: MemoryGraph, look: Look) -> None:
    fill(graph)
    [thought, *_] = graph.thoughts()
    page = look(graph.view_thought(thought.name))
    whole = page.find_element(By.TAG_NAME, "main").text
    assert f"context {thought.name}" in whole
    page.find_element(By.ID, "fold").click()
    assert len(page.find_element(By.TAG_NAME, "main").text) < len(whole)


@CHROMIUM_IS_THERE
def test_of_a_thought_closed_contexts_are_folded_to_their_results_until_a_search_opens_them(
    graph: MemoryGraph, look: Look, tmp_path: Path
) -> None:
    day = """context day() {
  context read() {
    // a closed one
    tl;dr /* it is read */
  }
  context write() {
    // an open one
"""
    (tmp_path / "day.pete").write_text(day, "utf-8")
    graph.load_file(tmp_path / "day.pete")
    page = look(graph.view_thought("day"))
    [whole] = texts(page, "main")
    assert "it is read" in whole
    assert "an open one" in whole
    assert "a closed one" not in whole
    assert search(page, "closed one") == "1 found"
    assert "a closed one" in texts(page, "main")[0]


@CHROMIUM_IS_THERE
def test_no_page_scrolls_sideways_on_a_telephone(graph: MemoryGraph, look: Look) -> None:
    history = lunch(graph).messages("lunch")
    history.append({"role": "user", "content": "x" * 3000})
    fill(graph)
    pages = [graph.view_conversation("lunch"), graph.view_run("last"), graph.view_thought(graph.thoughts()[0].name)]
    for page in pages:
        driver = look(page)
        metrics = {"width": NARROW, "height": 800, "deviceScaleFactor": 1, "mobile": True}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        try:
            driver.find_element(By.ID, "unfold").click()
            assert driver.execute_script("return document.documentElement.scrollWidth") <= NARROW
        finally:
            driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_each_page_that_was_opened_has_a_file_of_its_own(
    graph: MemoryGraph, environment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYGRAPH_HOME", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", lambda _: True)

    def open_page(*command: str, namespace: str = graph.namespace) -> Path:
        shown = CliRunner().invoke(cli, ["--namespace", namespace, *command, "--open", "--json"])
        assert shown.exit_code == 0, shown.output
        document = json.loads(shown.stdout)
        assert document["page"] is None
        return Path(document["file"])

    names = ("a/b", "a b", "a_b", "é", "ê", "...")
    for name in names:
        graph.messages(name).append({"role": "user", "content": f"this is {name}"})
    files = {open_page("messages", "view", name): name for name in names}
    assert {path: f"this is {name}" in path.read_text("utf-8") for path, name in files.items()} == dict.fromkeys(
        tmp_path.rglob("*.html"), True
    )
    again = open_page("messages", "view", "a b")
    assert files[again] == "a b"
    graph.load("context a_b() {\n", "pete")
    assert open_page("pete", "view", "a_b") not in files
    with MemoryGraph.connect(namespace=environment) as other:
        other.messages("a b").append({"role": "user", "content": "elsewhere"})
        assert open_page("messages", "view", "a b", namespace=other.namespace) not in files
    refused = CliRunner().invoke(cli, ["--namespace", graph.namespace, "messages", "view", "a b", "-o", ""])
    assert (refused.exit_code, refused.stderr) == (1, "memorygraph: no file is named\n")


def test_what_is_not_there_is_not_shown(graph: MemoryGraph) -> None:
    for view in (graph.view_conversation, graph.view_run, graph.view_thought):
        with pytest.raises(NotFoundError):
            view("nothing")
