"""Every block of code on the site, and what becomes of it: a test runs it, or it is said here why none does.

The commands of a page are run one by one after what `tests/cases/pages/commands.case` prepares for it, in the format of
`tests/code_examples.py`; an `after` there is typed at the end.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.cases import FOLDER
from tests.code_examples import read_examples
from tests.site.pages import DOCS

ROOT = DOCS.parent
TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in [ROOT / "README.md", *DOCS.rglob("*.md")]
}
FENCE = re.compile(r"^ *(?P<fence>`{3,})(?P<language>[^\n`]*)\n(?P<text>.*?)^ *(?P=fence) *$", re.MULTILINE | re.DOTALL)
SHELL = {"bash", "console"}
PREPARED = read_examples(FOLDER / "pages")
"""What is there before the commands of a page are typed."""

RUN = {
    ("README.md", "bash"): "tests/readme_commands",
    ("README.md", "python"): "tests/test_readme.py::test_the_python_example_runs",
    ("docs/agents.md", "python"): "tests/integrations/test_pages.py::test_an_example_runs",
    ("docs/agentscript.md", "agentscript"): (
        "tests/runtime/agentscript/test_reference.py::test_a_fragment_of_the_reference_stands_in_its_case"
    ),
    ("docs/agentscript.md", "json"): "tests/site/test_code_blocks.py::test_the_trace_says_what_a_summary_is",
    (
        "docs/bundle.md",
        "text",
    ): "tests/site/test_code_blocks.py::test_the_lines_of_a_bundle_have_the_form_that_is_shown",
    ("docs/contextscript.md", "contextscript"): (
        "tests/site/test_languages.py::test_what_stands_below_an_example_is_what_came_of_it"
    ),
    ("docs/contextscript.md", "text"): (
        "tests/site/test_languages.py::test_what_stands_below_an_example_is_what_came_of_it"
    ),
    ("docs/convo.md", "convo"): "tests/runtime/convo/test_reference.py::test_an_example_does_what_it_says",
    ("docs/convo.md", "text"): "tests/runtime/convo/test_reference.py::test_an_example_does_what_it_says",
    ("docs/editors.md", "text"): (
        "tests/test_lexers.py::test_the_block_of_code_on_the_page_of_editors_is_coloured_and_right"
    ),
    ("docs/editors.md", "toml"): "tests/site/test_code_blocks.py::test_the_configuration_of_helix_can_be_read",
    ("docs/integrations.md", "python"): "tests/integrations/test_pages.py::test_an_example_runs",
    ("docs/messages.md", "python"): "tests/site/test_code_blocks.py::test_the_example_of_conversations_runs",
    ("docs/pete.md", "pete"): "tests/site/test_languages.py::test_what_stands_below_an_example_is_what_came_of_it",
    ("docs/pete.md", "text"): "tests/site/test_languages.py::test_what_stands_below_an_example_is_what_came_of_it",
    ("docs/reference/async.md", "python"): "tests/site/test_code_blocks.py::test_the_example_of_a_made_page_runs",
    ("docs/reference/codes.md", "python"): "tests/test_code_examples.py::test_an_example_of_a_code_says_what_it_says",
    (
        "docs/reference/graph.md",
        "cypher",
    ): "tests/site/test_graph.py::test_the_page_says_what_the_schema_and_the_sample_say",
    (
        "docs/reference/graph.md",
        "json",
    ): "tests/site/test_graph.py::test_the_page_says_what_the_schema_and_the_sample_say",
    ("docs/reference/python.md", "python"): "tests/site/test_code_blocks.py::test_the_example_of_a_made_page_runs",
    ("docs/reference/tools.md", "json"): "tests/site/test_pages.py::test_the_exchanges_with_the_tools_are_real",
    ("docs/reference/tools.md", "text"): "tests/site/test_pages.py::test_the_exchanges_with_the_tools_are_real",
    ("docs/server.md", "python"): (
        "tests/server/test_identity.py::test_other_drivers_can_trust_the_certificate_and_no_other"
    ),
    ("docs/tutorial.md", "contextscript"): "tests/test_readme.py::test_the_tutorial_runs",
    ("docs/tutorial.md", "python"): "tests/test_readme.py::test_the_tutorial_runs",
    ("docs/tutorial.md", "bash"): "tests/test_readme.py::test_the_tutorial_runs",
    ("docs/tutorial.md", "console"): "tests/test_readme.py::test_the_tutorial_runs",
    **{
        (page, "json"): "tests/site/test_code_blocks.py::test_the_configuration_of_a_client_starts_a_server"
        for page in ("README.md", "docs/agents.md", "docs/memory.md", "docs/tutorial.md")
    },
}
"""The test that runs all blocks of a language on a page. Other pages' commands are those of `PREPARED`."""

CHOSEN = {
    ("docs/languages.md", "# Declaring an id again"): "tests/test_readme.py::test_the_language_example_is_right",
    ("docs/languages.md", "world.ctx:2:45"): "tests/test_readme.py::test_the_error_example_is_what_is_said",
    ("docs/languages.md", "main agent Extractor"): "tests/test_readme.py::test_the_agent_of_the_languages_runs",
    ("docs/languages.md", "> node categorize"): (
        "tests/test_readme.py::test_the_node_graph_of_the_languages_lacks_only_the_nodes_that_it_leaves_out"
    ),
    ("docs/languages.md", "context lab("): ("tests/test_readme.py::test_the_log_is_one_and_its_question_has_an_answer"),
    ("docs/recording.md", "for message in mg.messages"): (
        "tests/proxy/test_page.py::test_the_example_of_a_recorded_client_runs"
    ),
    ("docs/recording.md", "http://127.0.0.1:8100/v1"): (
        "tests/proxy/test_page.py::test_the_example_of_a_program_behind_the_proxy_runs"
    ),
    **{
        ("docs/recording.md", package): "tests/recorded_frameworks/test_page.py::test_an_example_runs"
        for package in ("import agents", "langchain_openai", "import litellm", "import instructor", "pydantic_ai")
    },
}
"""The test that runs a single block of a page, by a piece of it."""

LEFT_OUT = {
    ("docs/agentscript.md", "program   = { import | agent }"): (
        "an outline of the grammar, of which the railroad pictures are made"
    ),
    ("docs/cluster.md", "NEO4J_URI=neo4j://10.0.0.1:7687"): (
        "needs a cluster: tests/trust/test_cluster.py asks one of relays who answers there"
    ),
    ("docs/containers.md", "(umask 077;"): "makes the file of tokens that the next two lines use",
    ("docs/containers.md", "sudo chown 7475"): "changes the owner of a file as root",
    ("docs/containers.md", "docker compose up"): "needs fixed ports: tests/docker/test_images.py runs the compose file",
    ("docs/editors.md", "cd editors/vscode"): "needs VS Code: tests/editors/test_vscode.py makes the package",
    ("docs/editors.md", "vim.lsp.config"): "needs Neovim 0.11; tests/lsp speaks to the server that it starts",
    ("docs/editors.md", "eglot-server-programs"): "needs Emacs 29; tests/lsp speaks to the server that it starts",
    ("docs/memory.md", "memorygraph serve --transport http"): (
        "serves every network at a fixed port: tests/mcp_server/test_http.py serves this machine"
    ),
    ("docs/memory.md", "pip install 'memorygraph[local]'"): "downloads gigabytes",
    ("docs/memory.md", "MEMORYGRAPH_EMBEDDING_MODEL=./all-MiniLM-L6-v2"): "needs a model that is not in the repository",
    ("docs/recording.md", "memorygraph proxy --upstream"): (
        "needs a fixed port and the real endpoint: tests/proxy runs it before others"
    ),
    (
        "docs/recording.md",
        "claude plugin marketplace add",
    ): "needs Claude Code: tests/hooks/test_plugin.py reads the plugin",
    ("docs/recording.md", "claude plugin install"): "needs Claude Code: tests/hooks/test_plugin.py reads the plugin",
    ("docs/server.md", "memorygraph backup graph.backup"): (
        "stops Neo4j, which other tests use: tests/server/test_backup.py has servers of its own"
    ),
    ("docs/server.md", "memorygraph restore graph.backup"): (
        "replaces all data, which other tests use: tests/server/test_backup.py has servers of its own"
    ),
    ("docs/tutorial.md", "pip install memorygraph"): "needs a published package: tests/packaging installs a built one",
}
"""Why no test runs a block, or a command of one, by how it begins or by a piece of it."""


class Block(NamedTuple):
    """A block of code of a page; of a shell, one command."""

    page: str
    language: str
    text: str

    def __str__(self) -> str:
        """The page, and the first line."""
        return f"{self.page} {self.language}: {self.text.splitlines()[0]}"


def read_blocks() -> list[Block]:
    """All blocks of all pages. A block of a shell is as many as it has commands."""
    found = []
    for page, text in TEXTS.items():
        for block in FENCE.finditer(text):
            language = block["language"].strip()
            pieces = _commands(block["text"]) if language in SHELL and not is_made(page) else [block["text"]]
            found += [Block(page, language, piece) for piece in pieces]
    return found


def is_made(page: str) -> bool:
    """Whether `python -m tests.site` makes the page, so that a test holds the whole of it to the code."""
    return "\n<!-- made by `python -m tests.site` -->" in TEXTS[page]


def how(block: Block) -> list[str]:
    """What becomes of a block: the tests that run it, and the reasons why none does."""
    named = [said for (page, piece), said in {**CHOSEN, **LEFT_OUT}.items() if (page, piece) in _pieces(block)]
    if named:
        return named
    if test := RUN.get((block.page, block.language)):
        return [test]
    if block.language in SHELL and block.page in PREPARED:
        return ["tests/site/test_code_blocks.py::test_the_commands_of_a_page_run"]
    if is_made(block.page) and block.language != "python":
        return ["tests/site/test_pages.py::test_a_made_page_says_what_the_code_says"]
    return []


def _pieces(block: Block) -> set[tuple[str, str]]:
    """The pieces by which the tables know the block."""
    return {(page, piece) for page, piece in {*CHOSEN, *LEFT_OUT} if page == block.page and piece in block.text}


def _commands(text: str) -> list[str]:
    """The commands of a block: lines, each with those that it goes on with; where there is a `$`, the rest is output."""
    lines = [line.strip() for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    return [
        line.removeprefix("$ ") for line in lines if line.startswith("$ ") or "$ " not in {each[:2] for each in lines}
    ]


def path_of(test: str) -> tuple[Path, str]:
    """The file of a test, and the function in it, if one is named."""
    file, _, function = test.partition("::")
    return ROOT / file, function
