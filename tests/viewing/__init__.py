"""The HTML pages of conversations, runs and thoughts."""
