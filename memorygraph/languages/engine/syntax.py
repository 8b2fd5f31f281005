"""What the syntax classes of every language are: frozen dataclasses that know their place in the source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import dataclass_transform

from memorygraph.errors import Span


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class FrozenDataclass:
    """Makes a frozen dataclass of each class below it."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class SyntaxNode(FrozenDataclass):
    """A piece of a program. Pieces that say the same are equal, wherever they stand."""

    span: Span = field(default=Span(0, 0), compare=False, repr=False, kw_only=True)
