"""No test of models sees an endpoint that the developer has configured."""

from __future__ import annotations

from tests.scripted.conftest import no_model_is_configured

__all__ = ["no_model_is_configured"]
