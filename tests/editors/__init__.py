"""The grammars of editors, made from the colours of each language: `python -m tests.editors` writes them."""
