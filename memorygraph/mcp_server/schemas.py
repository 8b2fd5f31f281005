"""The JSON schemas of tools as every client takes them: whole, without references, and strict by OpenAI's rules.

By these an object allows no other properties, each property that may be left out may be null as well, so that a client
can make it required, and only the keywords stand there that are read. What else an argument must be is checked when
the tool is called.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import TypeAdapter

# Keywords that strict schemas do not have: some refuse the whole schema.
NOT_STRICT = ("default", "minLength", "maxLength")


def schema_of_arguments(model: type[Any]) -> dict[str, Any]:
    """The schema of a tool's arguments, strict by OpenAI's rules."""
    strict: dict[str, Any] = make_strict(schema_for_clients(model, "validation"))
    return strict


def schema_of_answer(model: type[Any]) -> dict[str, Any]:
    """The schema of what a tool answers: only what a program must know to read it.

    Limits are for what is given: what is stored may have been written otherwise, and clients refuse a whole answer that
    does not fit.
    """
    answer: dict[str, Any] = drop_limits(schema_for_clients(model, "serialization"))
    return answer


def drop_limits(schema: Any, *, is_inner: bool = False) -> Any:
    """Drop limits of texts and defaults, and what is said of an item of a list: its names say what it is.

    >>> drop_limits({"type": "array", "items": {"type": "string", "minLength": 1, "description": "A name"}})
    {'type': 'array', 'items': {'type': 'string'}}
    """
    if isinstance(schema, list):
        return [drop_limits(each, is_inner=is_inner) for each in schema]
    if not isinstance(schema, dict):
        return schema
    dropped = {*NOT_STRICT, *(("description",) if is_inner and isinstance(schema.get("description"), str) else ())}
    return {
        key: drop_limits(value, is_inner=is_inner or key == "items")
        for key, value in schema.items()
        if key not in dropped
    }


def schema_for_clients(model: type[Any], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    """The JSON schema of a model or a dataclass, in one piece and as short as it can be."""
    schema = TypeAdapter(model).json_schema(mode=mode)
    tidied: dict[str, Any] = tidy_schema(schema, schema.pop("$defs", {}))
    return tidied


def tidy_schema(schema: Any, definitions: dict[str, Any]) -> Any:
    """Put definitions in the place of references, and drop what tells a model nothing and costs tokens.

    That is titles, and all but the first paragraph of a description. No definition contains itself.

    >>> tidy_schema({"title": "A", "anyOf": [{"type": "string"}, {"type": "null"}]}, {})
    {'type': ['string', 'null']}
    """
    if isinstance(schema, list):
        return [tidy_schema(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        named = definitions[schema["$ref"].rpartition("/")[2]]
        return tidy_schema({**named, **{key: schema[key] for key in schema if key != "$ref"}}, definitions)
    kept = {key: value for key, value in schema.items() if not (key == "title" and isinstance(value, str))}
    if isinstance(kept.get("properties"), dict):
        kept.pop("description", None)  # the docstring of a model, which is for readers of this code
    if isinstance(kept.get("description"), str):
        kept["description"] = kept["description"].partition("\n\n")[0]
    tidied = {key: tidy_schema(value, definitions) for key, value in kept.items()}
    match tidied.get("anyOf"):
        case [dict(value), {"type": "null"}] if isinstance(value.get("type"), str):
            del tidied["anyOf"]
            return allow_null({**value, **tidied})
    return tidied


def make_strict(schema: Any) -> Any:
    """Make a schema without references strict; a default stands in the description.

    >>> make_strict({"type": "object", "properties": {"n": {"type": "integer", "default": 3}}})["properties"]
    {'n': {'type': ['integer', 'null'], 'description': '3 by default'}}
    """
    if isinstance(schema, list):
        return [make_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: make_strict(value) for key, value in schema.items() if key not in NOT_STRICT}
    if schema.get("default") not in (None, False, "", []):  # what a reader expects
        said = f"{str(schema['default']).lower()} by default"
        strict["description"] = f"{schema['description']} ({said})" if "description" in schema else said
    if isinstance(properties := schema.get("properties"), dict):
        required = strict.get("required", [])
        strict["properties"] = {
            name: make_strict(value) if name in required else allow_null(make_strict(value))
            for name, value in properties.items()
        }
        strict["additionalProperties"] = False
    return strict


def allow_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Allow null beside what a schema allows.

    >>> allow_null({"type": "string", "enum": ["a"]})
    {'type': ['string', 'null'], 'enum': ['a', None]}
    """
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "null" in kinds:
        return schema
    choices = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [*kinds, "null"], **choices}
