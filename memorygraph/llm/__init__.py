"""Language models: the one door to an OpenAI-compatible endpoint, and structured answers."""
