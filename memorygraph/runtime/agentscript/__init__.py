"""Runs AgentScript programs: units, scopes, `generate`, and the record of each run."""
