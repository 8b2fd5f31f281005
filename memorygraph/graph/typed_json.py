"""Property values of Neo4j as JSON that keeps their types, and back.

Texts, truth values, whole and decimal numbers and lists are themselves. Every other value is an object with its `type`:
`{"type": "date", "value": "1815-12-10"}`. A property is never a map, so that no value looks like one of these.
Dates and times are read as Neo4j prints them: the driver has only some of them.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, timedelta, timezone
from functools import partial
from typing import Any, NamedTuple

import pytz  # type: ignore[import-untyped]
from neo4j.spatial import CartesianPoint, Point, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time
from neo4j.vector import Vector, VectorDType

_ZONED = re.compile(
    r"(?P<day>[+-]?\d+-\d\d-\d\d)T(?P<minute>\d\d:\d\d)(?P<second>:\d\d(\.\d+)?)?"
    r"(?P<offset>Z|(?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>\d\d)(:(?P<seconds>\d\d))?)(\[(?P<zone>.+)\])?"
)
_CLOCK = re.compile(r"(?<=\d\d:\d\d)(:\d\d)?(\.\d+)?(Z?)")
_YEAR = re.compile(r"[+-]?\d{4,9}(?=-)")
_OFFSET_AND_ZONE = re.compile(r"(Z|[+-]\d\d:\d\d)(:\d\d)?(\[[^]]+\])?$")
_OFFSET_WITH_SECONDS = re.compile(r"[+-]\d\d:\d\d:\d\d(\[|$)")


class UnreadTime(NamedTuple):
    """A date or a time for which the driver has no value: the `type` of its JSON, and the text that Neo4j reads."""

    type: str
    text: str


def encode_value(value: Any) -> Any:
    """Return a value of the driver as JSON; a `TypeError` names one of a type that no property has.

    Dates, and times other than local ones, are `encode_time`'s, which needs what Neo4j itself says of them.

    >>> encode_value([1, 2.5, "a"])
    [1, 2.5, 'a']
    >>> encode_value(Duration(days=2))
    {'type': 'duration', 'value': [0, 2, 0, 0]}
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"type": "float", "value": repr(value)}
    for type_, (name, encode) in _TYPES.items():
        if isinstance(value, type_):
            return {"type": name, "value": encode(value)}
    if isinstance(value, list):
        return [encode_value(item) for item in value]
    raise TypeError(f"a property has no values of the type {type(value).__name__}")


def show_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a query as it is shown: a duration as its text, a point as in a bundle; in lists and maps too.

    >>> show_row({"took": [Duration(days=1, hours=2)], "at": CartesianPoint((1, 2))})
    {'took': ['P1DT2H'], 'at': {'srid': 7203, 'coordinates': [1.0, 2.0]}}
    """
    return {name: _show(value) for name, value in row.items()}


def _show(value: Any) -> Any:
    if isinstance(value, Duration):
        return value.iso_format()
    if isinstance(value, Point):
        return _encode_point(value)
    if isinstance(value, Mapping):
        return show_row(value)
    return [_show(item) for item in value] if isinstance(value, list) else value


def encode_time(kind: str, text: str) -> dict[str, str]:
    """Return a date or a time of this `valueType` of Neo4j, as Neo4j prints it, as JSON.

    >>> encode_time("ZONED TIME NOT NULL", "12:00:00.5Z")
    {'type': 'time', 'value': '12:00:00.500000000+00:00'}
    """
    type_ = next(name for prefix, name in _TIMES.items() if prefix in kind)
    if type_ in ("localdatetime", "time"):  # as the driver prints them, which all bundles have
        text = _CLOCK.sub(_print_seconds, text, count=1)
    return {"type": type_, "value": text}


def _print_seconds(found: re.Match[str]) -> str:
    second, fraction, zero = found.groups()
    return (second or ":00") + (fraction or ".").ljust(10, "0") + ("+00:00" if zero else "")


def decode_value(value: Any) -> Any:
    """Return the value of the driver for JSON that `encode_value` made, or an `UnreadTime` where the driver has none.

    A `ValueError` says what is wrong. A list has only such times, or none.

    >>> decode_value({"type": "date", "value": "1815-12-10"})
    neo4j.time.Date(1815, 12, 10)
    >>> decode_value({"type": "date", "value": "-0044-03-15"})
    UnreadTime(type='date', text='-0044-03-15')
    """
    if isinstance(value, list):
        items = [decode_value(item) for item in value]
        if not any(isinstance(item, UnreadTime) for item in items):
            return items
        return [UnreadTime(item["type"], item["value"]) for item in value]
    if not isinstance(value, dict):
        return value
    decode = _DECODERS.get(value.get("type", ""))
    if decode is None or value.keys() != {"type", "value"}:
        raise ValueError(f"unknown type of a property: {value!r:.100}")
    try:
        return decode(value["value"])
    except (TypeError, LookupError, ValueError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"not a {value['type']}: {value['value']!r:.100} ({error})") from error


def _encode_vector(value: Vector) -> dict[str, str]:
    return {"of": value.dtype.value, "bytes": base64.b64encode(value.raw()).decode()}


def _decode_vector(value: dict[str, str]) -> Vector:
    return Vector(base64.b64decode(value["bytes"], validate=True), VectorDType(value["of"]))


def _encode_point(value: Point) -> dict[str, Any]:
    return {"srid": value.srid, "coordinates": [encode_value(each) for each in value]}


def _decode_point(value: dict[str, Any]) -> Point:
    coordinates = [decode_value(each) for each in value["coordinates"]]
    return {7203: CartesianPoint, 9157: CartesianPoint, 4326: WGS84Point, 4979: WGS84Point}[value["srid"]](coordinates)


def _decode_time(type_: str, text: str) -> Any:
    read = _READERS[type_]
    if not _OFFSET_WITH_SECONDS.search(text):  # which the driver leaves out, or refuses when it sends the value
        with suppress(LookupError, ValueError, ArithmeticError):
            return read(text)
    # Where the driver reads it with an ordinary year and offset, and without a zone, Neo4j has such a time.
    ordinary = _YEAR.sub(lambda year: str(2000 + int(year[0]) % 400), text, count=1)
    read(_OFFSET_AND_ZONE.sub(r"\1", ordinary))
    return UnreadTime(type_, text)


def _decode_datetime(text: str) -> DateTime:
    found = _ZONED.fullmatch(text)
    if found is None:
        raise ValueError("it has no offset")
    local = DateTime.from_iso_format(f"{found['day']}T{found['minute']}{found['second'] or ':00'}")
    # The driver writes a zone of this class as an offset; pytz.UTC, and what it makes of the offset 0, as the zone UTC.
    zone: timezone = UTC
    if found["offset"] != "Z":
        offset = timedelta(
            hours=int(found["hours"]), minutes=int(found["minutes"]), seconds=int(found["seconds"] or "0")
        )
        zone = timezone(-offset if found["sign"] == "-" else offset)
    moment = local.replace(tzinfo=zone)
    return moment if found["zone"] is None else moment.astimezone(pytz.timezone(found["zone"]))


_TYPES: dict[type, tuple[str, Callable[[Any], Any]]] = {
    bytes: ("bytes", lambda value: base64.b64encode(value).decode()),
    bytearray: ("bytes", lambda value: base64.b64encode(value).decode()),
    Duration: ("duration", list),
    Point: ("point", _encode_point),
    Vector: ("vector", _encode_vector),
    Time: ("localtime", lambda value: value.iso_format()),
}
_TIMES = {
    "ZONED DATETIME": "datetime",
    "LOCAL DATETIME": "localdatetime",
    "ZONED TIME": "time",
    "DATE": "date",
}
_READERS: dict[str, Callable[[str], Any]] = {
    "datetime": _decode_datetime,
    "localdatetime": DateTime.from_iso_format,
    "time": Time.from_iso_format,
    "date": Date.from_iso_format,
}
_DECODERS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "bytes": lambda value: base64.b64decode(value, validate=True),
    "duration": lambda value: Duration(months=value[0], days=value[1], seconds=value[2], nanoseconds=value[3]),
    "point": _decode_point,
    "vector": _decode_vector,
    "localtime": Time.from_iso_format,
    **{type_: partial(_decode_time, type_) for type_ in _READERS},
}
