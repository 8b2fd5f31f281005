"""Language models: the one door to an OpenAI-compatible endpoint, and a scripted endpoint to try programs with."""
