"""No test of an adapter sees a model or a database that the developer has configured."""

from __future__ import annotations

from tests.scripted.conftest import no_model_is_configured

__all__ = ["no_model_is_configured"]
