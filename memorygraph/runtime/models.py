"""The models of a run: each is asked only if the permissions let it, by whatever language names it."""

from __future__ import annotations

from threading import Lock

from memorygraph.llm.model import OpenAIModel
from memorygraph.llm.uris import find_model
from memorygraph.runtime.permissions import Permissions


class RunModels:
    """The models of a run by their names, each opened at its first use, and closed with the run.

    `chosen` is the model that the user has chosen, and needs no permission. Safe to share between threads.
    """

    def __init__(self, permissions: Permissions, chosen: str | None = None) -> None:
        self.permissions = permissions
        self.chosen = chosen
        self._open: dict[str | None, OpenAIModel] = {}
        self._lock = Lock()

    def find(self, named: str | None = None) -> OpenAIModel:
        """Return the model of a name or an address that a program gives; without one, that of the run.

        Raises:
            Refused: the program may not ask it.
        """
        model = named or self.chosen or self.permissions.default_model()
        # The user's own choice and the environment's need no permission.
        if model is not None and model != self.chosen:
            self.permissions.require_model(model)
        with self._lock:
            if model not in self._open:
                self._open[model] = find_model(model, self.permissions.addresses)
            return self._open[model]

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            models, self._open = list(self._open.values()), {}
        for model in models:
            model.close()
