"""Self-contained HTML pages of conversations, runs and thoughts, for people to read in a browser."""
