"""Import of what other memories keep as records: the store of LangGraph, and mem0. Each record becomes an item.

So an item has the times and the key that the record had, and recall finds it. An import is one write, and a second one
changes nothing: an item that is here is replaced only by a later record that says something else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints, ValidationError

from memorygraph.errors import MAX_PROBLEMS, MemoryGraphError, Problem, ScriptError, cut_problems
from memorygraph.graph.loads import LoadReport
from memorygraph.graph.namespace import Namespace
from memorygraph.json_text import parse_json, parse_stored_json
from memorygraph.memory.items import LANGUAGE, ItemKey, Items, ItemWrites, shelf_of, text_of_value
from memorygraph.memory.transfer import ForeignFile, ForeignWarning
from memorygraph.memory.values import explain_validation_error
from memorygraph.sentences import count_of

MEM0_SHELF = "mem0"
OWNERS = ("user_id", "agent_id", "run_id")

Text = Annotated[str, StringConstraints(min_length=1)]
ShelfPart = Annotated[str, StringConstraints(pattern=r"^[^.\x00]+$")]


def with_zone(at: datetime) -> datetime:
    """A time with its zone, which is UTC where none is given.

    Raises:
        ValueError: in UTC it is before the year 1, or after 9999, which Neo4j's driver cannot hold.
    """
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    try:
        at.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time is in the years 1 to 9999 of UTC") from None
    return at


Moment = Annotated[datetime, AfterValidator(with_zone)]


class ForeignRecord(BaseModel):
    """A record of another memory; what it has beside the named fields is in `model_extra`."""

    model_config = ConfigDict(extra="allow")

    created_at: Moment | None = None
    updated_at: Moment | None = None

    @property
    def times(self) -> tuple[datetime | None, datetime | None]:
        """When it was created and updated; what was never updated is as old as its creation."""
        return self.created_at, self.updated_at or self.created_at

    @property
    def address(self) -> ItemKey:
        """The address of the item that it becomes."""
        raise NotImplementedError

    @property
    def kept(self) -> Mapping[str, Any]:
        """The value of the item."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        """What recall looks at."""
        return text_of_value(self.kept)

    @property
    def left_out(self) -> set[str]:
        """The fields that no item has."""
        return set()


class StoreRecord(ForeignRecord):
    """An item of a store of LangGraph, as its `dict()` gives it."""

    namespace: tuple[ShelfPart, ...]
    key: str  # also the empty one, as a store takes it
    value: dict[str, Any]

    @property
    def address(self) -> ItemKey:
        """The same address as `MemoryGraphStore` gives it."""
        return ItemKey(shelf_of(self.namespace), self.key)

    @property
    def kept(self) -> Mapping[str, Any]:
        """Its value."""
        return self.value

    @property
    def left_out(self) -> set[str]:
        """What a search adds, such as `score`."""
        return {name for name, value in (self.model_extra or {}).items() if value is not None}


class Mem0Record(ForeignRecord):
    """A memory of mem0, as `Memory.get_all()` gives it: the sentence, and whose it is."""

    id: Text
    memory: Text

    @property
    def address(self) -> ItemKey:
        """The shelf of its owner, with its id as the key."""
        others = self.model_extra or {}
        owners = [str(others[name]).replace(".", "%2E") for name in OWNERS if others.get(name)]
        return ItemKey(shelf_of([MEM0_SHELF, *owners[:1]]), self.id)

    @property
    def kept(self) -> Mapping[str, Any]:
        """The sentence with all that mem0 says of it."""
        others = {name: value for name, value in (self.model_extra or {}).items() if value is not None}
        return {"memory": self.memory, **others}

    @property
    def text(self) -> str:
        """The sentence alone."""
        return self.memory


def import_store(namespace: Namespace, path: str | Path) -> LoadReport:
    """Read the items of a store of LangGraph: lines of JSON, or a list."""
    file = ForeignFile.read(path)
    return import_records(namespace, file, StoreRecord, read_json(file))


def import_mem0(namespace: Namespace, path: str | Path) -> LoadReport:
    """Read the memories of mem0: what `Memory.get_all()` gives, as JSON."""
    file = ForeignFile.read(path)
    return import_records(namespace, file, Mem0Record, find_memories(file))


def read_json(file: ForeignFile) -> Iterator[tuple[int, Any]]:
    """The values of a file with the numbers of their lines: those of a list, or one in each line."""
    text = "\n".join(file.lines)
    try:
        whole = parse_json(text)
    except json.JSONDecodeError as error:
        if text.lstrip()[:1] == "[" or not has_lines_of_json(file):
            raise ScriptError([file.problem_of(error)]) from None
    except ValueError as error:
        raise ScriptError([file.problem_of(error)]) from None
    else:
        yield from ((1, value) for value in (whole if isinstance(whole, list) else [whole]))
        return
    for number, line in enumerate(file.lines, start=1):
        if line.strip():
            try:
                value = parse_json(line)
            except ValueError as error:
                raise ScriptError([file.problem_of(error, number)]) from None
            yield number, value


def has_lines_of_json(file: ForeignFile) -> bool:
    """Whether one of the first two lines is JSON by itself; of an indented object neither is."""
    for line in islice(filter(str.strip, file.lines), 2):
        with suppress(ValueError):
            parse_json(line)
            return True
    return False


def find_memories(file: ForeignFile) -> Iterator[tuple[int, Any]]:
    """The memories in the answers of `get_all`, one after the other."""
    for line, value in read_json(file):
        if isinstance(value, dict) and isinstance(value.get("results"), list):
            if isinstance(relations := value.get("relations"), list) and relations:
                left = f"left out: {count_of(len(relations), 'relation')} of mem0's graph memory"
                file.of_records.append(ForeignWarning(line, left, "left-out"))
            yield from ((line, memory) for memory in value["results"])
        else:
            yield line, value


def import_records(
    namespace: Namespace, file: ForeignFile, kind: type[ForeignRecord], values: Iterator[tuple[int, Any]]
) -> LoadReport:
    """Store records as items: those that are new, and those that have changed later than the items that are here."""
    writes, problems, count = ItemWrites(), list[Problem](), 0
    left_out: set[str] = set()
    for count, (line, value) in enumerate(values, start=1):
        try:
            record = kind.model_validate(value)
            if record.address in writes.puts:
                file.of_records.append(ForeignWarning(line, f"record {count} replaces one before it", "merged"))
            left_out |= record.left_out
            writes.put(record.address, record.kept, record.text, times=record.times)
        except ValidationError as error:
            problems.append(file.problem(line, f"record {count}: {explain_validation_error(error)}", "invalid-value"))
        except (MemoryGraphError, TypeError, ValueError) as error:
            problems.append(file.problem(line, f"record {count}: {error}", "invalid-value"))
        if len(problems) > MAX_PROBLEMS:
            break
    if problems:
        raise ScriptError(cut_problems(problems))
    if left_out:
        file.leave_out(f"these fields were left out: {', '.join(sorted(left_out))}")
    items = Items(namespace)
    if earlier := drop_earlier(writes, items):
        file.leave_out(f"left out: {count_of(earlier, 'record')}; an item that is here is replaced by a later one only")
    report = items.write(writes, file=file.file) if writes else None
    report = report or LoadReport(file.file, LANGUAGE, count, namespace=namespace.name)
    return replace(report, statements=count, warnings=file.all_warnings())


def drop_earlier(writes: ItemWrites, items: Items) -> int:
    """Drop writes that change nothing, or are not later than the item that is here; return how many are the latter."""
    earlier = 0
    for address, item in items.get(writes.puts).items():
        row = writes.puts[address]
        given = parse_stored_json(row["set"]["value"])
        # In Python 1 is equal to true and to 1.0, and as a text it is not.
        is_equal = json.dumps(item.value, sort_keys=True) == json.dumps(given, sort_keys=True)
        if is_equal or row["updated_at"] is None or row["updated_at"] <= item.updated_at:
            del writes.puts[address]
            earlier += not is_equal
    return earlier
