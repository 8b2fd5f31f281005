"""Write the grammars of VS Code: see the package."""

from __future__ import annotations

from memorygraph.languages import LANGUAGES
from tests.editors.textmate import grammar, path_of

if __name__ == "__main__":
    for language in LANGUAGES:
        path_of(language).write_text(grammar(language), "utf-8")
