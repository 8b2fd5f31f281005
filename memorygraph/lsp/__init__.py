"""The language server: what editors show of a script while it is written."""
