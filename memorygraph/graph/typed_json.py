"""Property values of Neo4j as JSON that keeps their types, and back.

Texts, truth values, whole and decimal numbers and lists are themselves. Every other value is an object with its `type`:
`{"type": "date", "value": "1815-12-10"}`. A property is never a map, so that no value looks like one of these.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from datetime import UTC, timedelta, timezone
from typing import Any

import pytz  # type: ignore[import-untyped]
from neo4j.spatial import CartesianPoint, Point, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time
from neo4j.vector import Vector, VectorDType

_ZONED = re.compile(
    r"(?P<day>[+-]?\d+-\d\d-\d\d)T(?P<minute>\d\d:\d\d)(?P<second>:\d\d(\.\d+)?)?"
    r"(?P<offset>Z|(?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>\d\d)(:(?P<seconds>\d\d))?)(\[(?P<zone>.+)\])?"
)


def encode_value(value: Any) -> Any:
    """Return a value of the driver as JSON; a `TypeError` names one of a type that no property has.

    A point in time with a zone is `encode_datetime`'s, which needs what Neo4j itself says of it.

    >>> encode_value([1, 2.5, "a"])
    [1, 2.5, 'a']
    >>> encode_value(Date(1815, 12, 10))
    {'type': 'date', 'value': '1815-12-10'}
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"type": "float", "value": repr(value)}
    for type_, (name, encode) in _TYPES.items():
        if isinstance(value, type_):
            return {"type": name(value) if callable(name) else name, "value": encode(value)}
    if isinstance(value, list):
        return [encode_value(item) for item in value]
    raise TypeError(f"a property has no values of the type {type(value).__name__}")


def encode_datetime(text: str) -> dict[str, str]:
    """Return a point in time with a zone, as Neo4j prints it, as JSON."""
    return {"type": "datetime", "value": text}


def decode_value(value: Any) -> Any:
    """Return the value of the driver for JSON that `encode_value` made; a `ValueError` says what is wrong.

    >>> decode_value({"type": "date", "value": "1815-12-10"})
    neo4j.time.Date(1815, 12, 10)
    """
    if isinstance(value, list):
        return [decode_value(item) for item in value]
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


_TYPES: dict[type, tuple[str | Callable[[Any], str], Callable[[Any], Any]]] = {
    bytes: ("bytes", lambda value: base64.b64encode(value).decode()),
    bytearray: ("bytes", lambda value: base64.b64encode(value).decode()),
    Duration: ("duration", list),
    Point: ("point", _encode_point),
    Vector: ("vector", _encode_vector),
    DateTime: ("localdatetime", lambda value: value.iso_format()),
    Date: ("date", lambda value: value.iso_format()),
    Time: (lambda value: "localtime" if value.tzinfo is None else "time", lambda value: value.iso_format()),
}
_DECODERS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "bytes": lambda value: base64.b64decode(value, validate=True),
    "duration": lambda value: Duration(months=value[0], days=value[1], seconds=value[2], nanoseconds=value[3]),
    "point": _decode_point,
    "vector": _decode_vector,
    "datetime": _decode_datetime,
    "localdatetime": DateTime.from_iso_format,
    "date": Date.from_iso_format,
    "localtime": Time.from_iso_format,
    "time": Time.from_iso_format,
}
