"""The extension of VS Code: its manifest, and its grammars, as VS Code's own tokenizer reads them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name

from memorygraph.languages import LANGUAGES
from memorygraph.lexers import TOKENS
from tests.cases import read_cases
from tests.editors.textmate import FOLDER, SCOPES, grammar, path_of

MANIFEST = json.loads((FOLDER / "package.json").read_text("utf-8"))
EXAMPLES = Path(__file__).parents[2] / "examples"
TOKENIZER = Path(__file__).with_name("tokenize.mjs")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_grammar_is_made_from_the_words_of_the_language(language: str) -> None:
    assert path_of(language).read_text("utf-8") == grammar(language), "run python -m tests.editors"


def test_the_extension_knows_every_language_by_its_extension_and_its_grammar() -> None:
    contributes = MANIFEST["contributes"]
    assert {one["id"]: one["extensions"] for one in contributes["languages"]} == {
        name: [language.extension] for name, language in LANGUAGES.items()
    }
    for one in contributes["grammars"]:
        raw = json.loads((FOLDER / one["path"]).read_text("utf-8"))
        assert raw["scopeName"] == one["scopeName"] == f"source.{one['language']}"
    for one in contributes["languages"]:
        assert json.loads((FOLDER / one["configuration"]).read_text("utf-8"))["comments"]


def test_the_extension_has_the_version_of_the_package() -> None:
    assert MANIFEST["version"] == version("memorygraph")


def test_the_extension_starts_the_command_lsp_for_every_language() -> None:
    source = (FOLDER / MANIFEST["main"]).read_text("utf-8")
    assert MANIFEST["contributes"]["configuration"]["properties"]["memorygraph.arguments"]["default"] == ["lsp"]
    assert all(f'"{language}"' in source for language in LANGUAGES)


def test_a_scope_is_that_of_one_colour() -> None:
    assert SCOPES.keys() == TOKENS.keys()
    assert len(set(SCOPES.values())) == len(SCOPES)


def install(folder: Path, *packages: str) -> None:
    """Install packages of npm; skipped where there is none, or no registry."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", *packages]
    installed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if installed.returncode:
        pytest.skip(f"npm cannot install: {installed.stderr[-200:]}")


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tokenizer of VS Code."""
    folder = tmp_path_factory.mktemp("npm")
    install(folder, "vscode-textmate@9", "vscode-oniguruma@2")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_vscode_colours_every_character_as_pygments_does(language: str, modules: Path, tmp_path: Path) -> None:
    texts = [path.read_text("utf-8") for path in sorted(EXAMPLES.rglob(f"*{LANGUAGES[language].extension}"))]
    cases = [param.values[0].source for param in read_cases(f"{language}/*") if not param.values[0].options]
    texts += [text for text in cases if 0 < len(text) < 5000 and re.fullmatch(r"[\n\t -~]*", text)]
    files = [tmp_path / f"{number}.txt" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, "utf-8")
    command = ["node", str(TOKENIZER), str(path_of(language)), *map(str, files)]
    answers = json.loads(subprocess.run(command, cwd=modules, capture_output=True, text=True, check=True).stdout)
    scopes = {str(TOKENS[colour]): f"{scope}.{language}" for colour, scope in SCOPES.items()}
    scopes["Token.Text"] = f"source.{language}"
    assert len(texts) > 5
    for text, lines in zip(texts, answers, strict=True):
        expected = [scopes[str(kind)] for _, kind, piece in lex(language, text) for _ in piece]
        shown = scopes_of(text, lines)
        differ = [
            (text[at - 20 : at + 20], expected[at], shown[at])
            for at in range(len(text))
            if not text[at].isspace() and expected[at] != shown[at]
        ]
        assert differ == []


def lex(language: str, text: str) -> list[tuple[int, object, str]]:
    """What Pygments makes of a text."""
    return list(get_lexer_by_name(language).get_tokens_unprocessed(text))


def scopes_of(text: str, lines: list[list[tuple[int, int, str]]]) -> list[str]:
    """The innermost scope of each character; a line break has none."""
    shown: list[str] = []
    for line, tokens in zip(text.split("\n"), lines, strict=True):
        scopes = [""] * len(line)
        for start, end, scope in tokens:
            scopes[start : min(end, len(line))] = [scope] * (min(end, len(line)) - start)
        shown += [*scopes, ""]
    return shown


@pytest.mark.slow
def test_the_extension_is_packaged(tmp_path: Path) -> None:
    folder = tmp_path / "vscode"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("node_modules"))
    install(folder)
    command = [str(folder / "node_modules" / ".bin" / "vsce"), "package", "--allow-missing-repository", "-o", "a.vsix"]
    packaged = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert packaged.returncode == 0, packaged.stdout + packaged.stderr
    with zipfile.ZipFile(folder / "a.vsix") as file:
        names = file.namelist()
    assert {"extension/extension.js", "extension/syntaxes/convo.tmLanguage.json"} <= {*names}
    assert any(name.startswith("extension/node_modules/vscode-languageclient/") for name in names)
