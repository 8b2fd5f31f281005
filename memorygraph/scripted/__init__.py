"""A scripted OpenAI-compatible endpoint, for tests and for trying programs without a model."""
