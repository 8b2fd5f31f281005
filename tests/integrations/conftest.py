"""No test of an adapter sees a model or a database that the developer has configured."""

from __future__ import annotations

from agents import set_tracing_disabled

from tests.scripted.conftest import no_model_is_configured

set_tracing_disabled(True)  # the Agents SDK sends what it did to its maker otherwise

__all__ = ["no_model_is_configured"]
