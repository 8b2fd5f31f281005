"""A message as the list shows it: a dict that routes every edit, at any depth, through the branch rule.

The dicts and lists are real ones, so that `json.dumps` and model clients accept them. Each shows the message as
it was read; an edit through it is refused when another message has taken its place.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, TypeVar, cast

from memorygraph.errors import ConflictError
from memorygraph.messages.message import Message

if TYPE_CHECKING:
    from memorygraph.messages.graph import MessageGraph
    from memorygraph.messages.history import MessageEntry

Part = TypeVar("Part", bound="DictView | ListView")


def plain_copy(value: Any) -> Any:
    """A copy of nested dicts and lists without any view in it."""
    if isinstance(value, Mapping):
        return {key: plain_copy(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_copy(item) for item in value]
    return value


def _routed(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method of dict or list, so that it edits the message that the dict or list belongs to."""

    @wraps(method)
    def edit(self: DictView | ListView, *given: Any, **named: Any) -> Any:
        root = self._root
        root._check(self)  # noqa: SLF001 - the views of one message are one thing
        try:
            result = method(self, *given, **named)
            root._commit()  # noqa: SLF001
        except BaseException:
            # The edit was refused: show the message as it is stored.
            root._show(root._message)  # noqa: SLF001
            raise
        return result

    return edit


class _View:
    """The common part of views: copying or pickling one gives plain dicts and lists."""

    _reading = 0  # which reading of the message it belongs to

    def copy(self) -> Any:
        """A plain copy that edits nothing."""
        return plain_copy(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(plain_copy(self), memo)

    def __reduce_ex__(self, _: Any) -> Any:
        # A pickled view would drag its storage along.
        value = plain_copy(self)
        return type(value), (value,)


class DictView(_View, dict[str, Any]):
    """A dict inside a message."""

    _root: MessageView


class ListView(_View, list[Any]):
    """A list inside a message, such as its parts or its tool calls."""

    _root: MessageView


# Every method that changes a dict or a list.
_DICT_EDITS = "__setitem__ __delitem__ __ior__ pop popitem clear update setdefault"
_LIST_EDITS = "__setitem__ __delitem__ __iadd__ __imul__ append extend insert pop remove clear sort reverse"
for _view, _base, _names in ((DictView, dict, _DICT_EDITS), (ListView, list, _LIST_EDITS)):
    for _name in _names.split():
        setattr(_view, _name, _routed(getattr(_base, _name)))


class MessageView(DictView):
    """A message of a `MessageGraph`.

    `.metadata` and `.subgraph` are kept beside it. They can be read as keys too, but iteration leaves them out,
    because no model sees them.
    """

    def __init__(self, host: MessageGraph, index: int) -> None:
        super().__init__()
        entry = host.entry(index)
        self._root = self
        self._host, self._index = host, index
        self._message = entry.message
        self.id = entry.id
        self.off_policy = entry.off_policy
        self._show(entry.message)

    @property
    def metadata(self) -> Mapping[str, Any]:
        """How a model's answer or a tool's result came to be."""
        self._check()
        return self._host.metadata(self._index)

    @property
    def subgraph(self) -> Any:
        """The conversation of the subagent inside a tool response, or None."""
        self._check()
        return self._host.subgraph(self._index)

    def entry_in(self, host: MessageGraph) -> MessageEntry | None:
        """The message as a list keeps it, or None where it is of another list, or is not at its place any more."""
        if self._host is not host or self._index >= len(host):
            return None
        entry = host.entry(self._index)
        return entry if entry.message == self._message else None

    def __missing__(self, key: str) -> Any:
        if key == "metadata" and self.metadata:
            return self.metadata
        if key == "subgraph" and self.subgraph is not None:
            return self.subgraph
        raise KeyError(key)

    def _holds(self, part: DictView | ListView) -> bool:
        """Whether a part is of this message as it was read last: what is done to an earlier one would be lost."""
        return part._root is self and part._reading == self._reading  # noqa: SLF001

    def _check(self, part: DictView | ListView | None = None) -> None:
        try:
            unchanged = self._host.entry(self._index).message == self._message
        except IndexError:
            unchanged = False
        if not unchanged or (part is not None and not self._holds(part)):
            raise ConflictError(
                f"message {self._index} is not the one that was read: the conversation was changed in between; "
                "read the message again"
            )

    def _commit(self) -> None:
        entry = self._host.replace(self._index, plain_copy(self))
        self._message, self.id, self.off_policy = entry.message, entry.id, entry.off_policy
        # Views that the caller holds stay in place; only new parts become views.
        self._wrap(self)
        stored = entry.message.as_dict()
        if self != stored:
            self._settle(self, stored)
            self._wrap(self)

    def _show(self, message: Message) -> None:
        self._reading += 1
        dict.clear(self)
        dict.update(self, message.as_dict())
        self._wrap(self)

    def _settle(self, part: DictView | ListView, stored: Any) -> None:
        """Give a part the values that were stored of it, such as arguments without white space."""
        if isinstance(part, dict):
            for key in part.keys() - stored.keys():
                dict.__delitem__(part, key)
        for key, value in list(stored.items() if isinstance(part, dict) else enumerate(stored)):
            held = part[key]
            if isinstance(held, (DictView, ListView)):
                self._settle(held, value)
            elif held != value:
                set_item(part, key, value)

    def _wrap(self, part: Part) -> Part:
        """Turn the plain dicts and lists inside into views."""
        for key, item in list(part.items() if isinstance(part, dict) else enumerate(part)):
            if isinstance(item, (DictView, ListView)) and self._holds(item):
                self._wrap(item)
            elif isinstance(item, (dict, list)):
                view = DictView(item) if isinstance(item, dict) else ListView(item)
                view._root, view._reading = self, self._reading  # noqa: SLF001
                set_item(part, key, self._wrap(view))
        return part


def set_item(part: DictView | ListView, key: Any, value: Any) -> None:
    """Set an item of a view as of a plain dict or list: its own method would route this through the branch rule."""
    setter = cast(Callable[[Any, Any, Any], None], dict.__setitem__ if isinstance(part, dict) else list.__setitem__)
    setter(part, key, value)


class LiveMessages(_View, list[Any]):
    """The messages of a `MessageGraph` as a real list: what is done to one is done to the other."""

    def __init__(self, host: MessageGraph) -> None:
        super().__init__()
        self._host = host

    def show(self, start: int = 0) -> None:
        """Show the messages of the graph from this index on as they are now."""
        list.__setitem__(self, slice(start, None), self._host[start:])

    def __iadd__(self, values: Iterable[Any]) -> Self:  # type: ignore[misc]  # as of list itself
        self._host.extend(values)
        return self

    def __imul__(self, times: SupportsIndex) -> Self:
        self._host[:] = list.__mul__(plain_copy(self), times)
        return self


def _done_by_host(name: str) -> Callable[..., Any]:
    """A method of list that the graph has, too."""

    @wraps(getattr(list, name))
    def edit(self: LiveMessages, *given: Any, **named: Any) -> Any:
        return getattr(self._host, name)(*given, **named)

    return edit


_LIVE_EDITS = "__setitem__ __delitem__ append extend insert pop remove clear sort reverse"
for _name in _LIVE_EDITS.split():
    setattr(LiveMessages, _name, _done_by_host(_name))
