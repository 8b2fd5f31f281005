"""The models that an endpoint offers: a request that every endpoint answers, and that nobody is billed for."""

from __future__ import annotations

from memorygraph.errors import ModelError
from memorygraph.llm.model import OpenAIModel

NOT_FOUND = 404


def offered(model: OpenAIModel, seconds: float) -> list[str] | None:
    """The names of the models of an endpoint; None where it answers, and keeps no such list.

    >>> from memorygraph.llm.scripted import ScriptedModel
    >>> with ScriptedModel(models=["large", "small"]) as server, OpenAIModel("any", server.base_url, "") as model:
    ...     offered(model, seconds=5)
    ['large', 'small']

    Raises:
        ModelError: no endpoint is configured, or it cannot be reached, or refuses the key.
    """
    try:
        with model._translated():  # noqa: SLF001 - of this package
            client = model._connect().with_options(timeout=seconds, max_retries=0)  # noqa: SLF001
            return [found.id for found in client.models.list()]
    except ModelError as error:
        if getattr(error.__cause__, "status_code", None) == NOT_FOUND:
            return None
        raise
