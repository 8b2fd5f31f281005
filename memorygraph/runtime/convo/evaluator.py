"""The evaluator of Convo-Lang: what its expressions, templates and functions give.

Every kind of syntax has one method here, and what decides which of its arguments run (`if`, `while`, `and`, …) is in
`control.py`; all other built-in functions take values, and stand in `builtins/`. Source: specs/convo.md, sections 1.3
and 1.4; the seed wins where they differ.

A program may nest its calls deeper than Python lets C code nest, so nothing on the way from one evaluation to the
next is a generator or a function of C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar, NoReturn, TypeAlias

from memorygraph.errors import ConnectionError, MemoryGraphError, ModelError, ScriptError, Source, Span
from memorygraph.languages.convo import syntax
from memorygraph.runtime.convo.builtins import FUNCTIONS
from memorygraph.runtime.convo.control import BLOCKS, FORMS, NAMES, Broken, Returned, block_of
from memorygraph.runtime.convo.http import HTTP, Http
from memorygraph.runtime.convo.scope import Environment, Scope
from memorygraph.runtime.convo.types import (
    ANY,
    BASIC,
    ArrayOf,
    ConvoType,
    Entry,
    Field,
    Struct,
    coerce,
    from_call,
    type_of,
)
from memorygraph.runtime.convo.values import UNDEFINED, joined, render_value
from memorygraph.runtime.depth import deep_calls
from memorygraph.runtime.permissions import Permissions
from memorygraph.runtime.values import ValueProblem

Items: TypeAlias = Sequence[syntax.Statement] | Sequence[syntax.Argument]
Arguments: TypeAlias = Mapping[str, Any] | Sequence[Any]

_CONSTRUCTORS = frozenset({"enum", "array", "map", "struct"})
_CALLABLE = frozenset({*FUNCTIONS, *HTTP, *NAMES, *_CONSTRUCTORS})
BUILT_IN = _CALLABLE | {"getNodeInfo", "getNodeInput"}
"""The names that no function of a conversation may have."""

_WORK_OF_A_CALL = 10


class Evaluator:
    """Evaluates the expressions of a conversation. It can be used from several threads at once.

    `source` is the text that the syntax is from; errors show their place in it. `permissions` say which hosts the
    functions `httpGet` and so on may reach: none, if they are not given.

    >>> evaluator = Evaluator(Environment({"input": "a review"}), Source(""))
    >>> evaluator.value(syntax.Call(("add",), (syntax.Argument(syntax.Reference(("input",))),)))
    'a review'
    """

    def __init__(self, environment: Environment, source: Source, permissions: Permissions | None = None) -> None:
        self.environment = environment
        self.source = source
        self._http = Http(permissions or Permissions.of())

    # The public surface. `defining` allows only what a `define` may call.

    def value(self, value: syntax.Value, *, defining: bool = False) -> Any:
        """The value of an expression.

        Raises:
            ScriptError: it cannot be evaluated; the problem says where and why.
        """
        return self.statements((syntax.Statement(value, span=value.span),), defining=defining)

    def statements(self, statements: Sequence[syntax.Statement], *, defining: bool = False) -> Any:
        """Execute statements, and give the value of the last one; `return` ends them with its value.

        Raises:
            ScriptError: one of them cannot be executed.
        """
        with deep_calls():
            span = statements[0].span if statements else Span(0, 0)
            return self.body(statements, Scope(self.environment, defining=defining), span)

    def template(self, template: syntax.Template, *, defining: bool = False) -> str:
        """The text of a template. What is inserted is data: nothing in it is evaluated again.

        Raises:
            ScriptError: an insertion cannot be evaluated.
        """
        return str(self.value(template, defining=defining))

    def call_function(self, function: syntax.FunctionMessage, arguments: Arguments) -> Any:
        """Call a function of the conversation, with its arguments by name or in their order.

        Raises:
            ScriptError: the arguments are not what it takes, or something in its body cannot be done.
        """
        with deep_calls():
            try:
                return self.call(function, arguments, Scope(self.environment))
            except (MemoryGraphError, RecursionError) as error:
                self.fail(error, function.span)

    def declare(self, functions: Sequence[syntax.FunctionMessage]) -> None:
        """Make functions of the conversation known by their names.

        Raises:
            ScriptError: one has the name of a built-in function. None is known then.
        """
        problems = [
            self.source.problem(f"`{function.name}` is built in, and cannot be defined", "built-in", function.span)
            for function in functions
            if function.name in BUILT_IN
        ]
        if problems:
            raise ScriptError(problems)
        self.environment.functions.update({function.name: function for function in functions})

    def signature(self, function: syntax.FunctionMessage) -> Struct:
        """The parameters of a function as a type: those of its parameter type, and those that it names.

        Raises:
            ScriptError: a type of it is none.
        """
        with deep_calls():
            try:
                return self._signature(function, Scope(self.environment))
            except (MemoryGraphError, RecursionError) as error:
                self.fail(error, function.span)

    def type(self, value: syntax.Value | str) -> ConvoType:
        """The type that an expression gives, or that a text names: `Name`, `Name[]` or `array(Name)`.

        >>> evaluator = Evaluator(Environment(), Source(""))
        >>> evaluator.type("string[]")
        ArrayOf(item=Basic(name='string'))

        Raises:
            ScriptError: it gives something else than a type.
            ValueProblem: there is no type of that name.
        """
        if isinstance(value, str):
            return self._named_type(value)
        found = self.value(value, defining=True)
        try:
            return type_of(found)
        except (ValueProblem, RecursionError) as error:
            self.fail(error, value.span)

    # Statements

    def body(self, items: Items, scope: Scope, span: Span) -> Any:
        """Execute what `return` ends, and nothing else leaves."""
        try:
            return self.last(items, scope)
        except Returned as returned:
            return returned.value
        except Broken:
            raise self.located(ValueProblem("`break` stands in no loop here", "no-loop"), span) from None

    def last(self, items: Items, scope: Scope) -> Any:
        """Execute all, and give the last value."""
        value, index = UNDEFINED, 0
        while index < len(items):
            value, index = self.step(items, index, scope)
        return value

    def all(self, items: Items, scope: Scope) -> list[Any]:
        """The values of all; one for an `if` with everything that belongs to it."""
        values, index = [], 0
        while index < len(items):
            value, index = self.step(items, index, scope)
            values.append(value)
        return values

    def step(self, items: Items, index: int, scope: Scope) -> tuple[Any, int]:
        """Execute a statement with what belongs to it; its value, and where the next one stands."""
        item = items[index]
        name = block_of(item)
        try:
            if name is None:
                value, index = self.evaluate(item.value, scope), index + 1
            else:
                value, index = BLOCKS[name](self, items, index, scope)
            if item.path:
                scope.assign(item.path, value)
        except (MemoryGraphError, RecursionError) as error:
            self.fail(error, item.span)
        return value, index

    # Expressions

    def evaluate(self, value: syntax.Value, scope: Scope) -> Any:
        """The value of an expression in a scope."""
        try:
            return self._KINDS[type(value)](self, value, scope)
        except (MemoryGraphError, RecursionError) as error:
            self.fail(error, value.span)

    def _literal(self, value: syntax.Text | syntax.Number, _scope: Scope) -> Any:
        return value.value

    def _constant(self, value: syntax.Constant, _scope: Scope) -> Any:
        return {"true": True, "false": False, "null": None}.get(value.name, UNDEFINED)

    def _reference(self, value: syntax.Reference, scope: Scope) -> Any:
        return scope.look_up(value.path)

    def _template(self, value: syntax.Template, scope: Scope) -> str:
        pieces = []
        for part in value.parts:
            if isinstance(part, syntax.Insertion):
                scope.work.spend()
                part = render_value(self.body(part.statements, scope, part.span))  # noqa: PLW2901 - the text of the part
            pieces.append(part)
        return str(scope.work.spend_on(joined(pieces)))

    def _map(self, value: syntax.Map, scope: Scope) -> Any:
        return from_call("map", self.entries(value.entries, scope))

    def _array(self, value: syntax.Array, scope: Scope) -> Any:
        return from_call("array", [Entry(item) for item in self.all(value.items, scope)])

    def _call(self, call: syntax.Call, scope: Scope) -> Any:
        name = ".".join(call.name)
        scope.work.spend()
        if name in FORMS:
            self._allow(name, scope, pure=FORMS[name].pure)
            return FORMS[name].run(self, call.arguments, scope)
        if name in _CONSTRUCTORS:
            return scope.work.spend_on(from_call(name, self.entries(call.arguments, scope)))
        if name in self.environment.hooks:
            self._allow(name, scope, pure=False)
            return self.environment.hooks[name](self.all(call.arguments, scope))
        if name in FUNCTIONS:
            self._allow(name, scope, pure=FUNCTIONS[name].pure)
            values = self.all(call.arguments, scope)
            scope.work.spend_reading(values)
            return scope.work.spend_on(FUNCTIONS[name].call(scope, values))
        if name in HTTP:
            self._allow(name, scope, pure=False)
            return self._http.call(name, self.all(call.arguments, scope))
        if name in self.environment.functions:
            self._allow(name, scope, pure=False)
            function = self.environment.functions[name]
            return self.call(function, self._arguments(function, call.arguments, scope), scope)
        raise self._unknown(name)

    def _allow(self, name: str, scope: Scope, *, pure: bool) -> None:
        if scope.defining and not pure:
            raise ValueProblem(f"`{name}` cannot be called in a `define`; call it in a `do`", "not-in-define")

    def _unknown(self, name: str) -> ValueProblem:
        known = [*_CALLABLE, *self.environment.hooks, *self.environment.functions]
        similar = get_close_matches(name, known, 1)
        guess = f"; did you mean `{similar[0]}`?" if similar else ""
        return ValueProblem(f"there is no function `{name}`{guess}", "unknown-function")

    def entries(self, items: Sequence[syntax.Argument], scope: Scope) -> list[Entry]:
        """The values of arguments with their labels."""
        entries, index = [], 0
        while index < len(items):
            item = items[index]
            value, index = self.step(items, index, scope)
            entries.append(Entry(value, item.label, item.optional, item.description))
        return entries

    # Functions

    def call(self, function: syntax.FunctionMessage, arguments: Arguments, scope: Scope) -> Any:
        """Call a function from a scope."""
        scope.work.spend(_WORK_OF_A_CALL)
        signature = self._signature(function, scope)
        given = self._bound(function.name, signature, arguments)
        values = {} if given is None else coerce(given, signature, f"`{function.name}`")
        if function.body is None:
            result = _stub(signature, values)
        else:
            # A parameter without a value is undefined here, whatever the conversation knows under its name.
            unset = {field.name: UNDEFINED for field in signature.fields}
            result = self.body(function.body, scope.body({**unset, **values}), function.span)
        if function.return_type is None:
            return result
        return coerce(result, self._named_type(function.return_type), f"what `{function.name}` returns")

    def _arguments(self, function: syntax.FunctionMessage, items: Sequence[syntax.Argument], scope: Scope) -> Arguments:
        """The arguments of a call: by name, and those without a label for the parameters that no label names."""
        entries = self.entries(items, scope)
        labelled = {entry.label: entry.value for entry in entries if entry.label is not None}
        in_order = [entry.value for entry in entries if entry.label is None]
        if not labelled:
            return in_order
        free = [field.name for field in self._signature(function, scope).fields if field.name not in labelled]
        if len(in_order) > len(free):
            raise _too_many(function.name, len(labelled) + len(free), len(entries))
        return {**dict(zip(free, in_order, strict=False)), **labelled}

    def _bound(self, name: str, signature: Struct, arguments: Arguments) -> Mapping[str, Any]:
        names = [field.name for field in signature.fields]
        if not isinstance(arguments, Mapping):
            if len(arguments) > len(names):
                raise _too_many(name, len(names), len(arguments))
            return dict(zip(names, arguments, strict=False))
        for label in arguments:
            if label not in names:
                known = ", ".join(f"`{known}`" for known in names) or "none"
                raise ValueProblem(f"`{name}` has no parameter `{label}`; it has {known}", "unknown-parameter")
        return arguments

    def _signature(self, function: syntax.FunctionMessage, scope: Scope) -> Struct:
        fields: dict[str, Field] = {}
        if function.parameter_type is not None:
            named = self._named_type(function.parameter_type)
            if not isinstance(named, Struct):
                raise ValueProblem(f"the parameters are a map, and `{function.parameter_type}` is none", "no-type")
            fields = {field.name: field for field in named.fields}
        outside = scope.outside()
        for parameter in function.parameters:
            type_ = ANY if parameter.type is None else self._parameter_type(parameter.type, outside)
            fields[parameter.name] = Field(parameter.name, type_, parameter.optional, parameter.description)
        return Struct(tuple(fields.values()))

    def _parameter_type(self, value: syntax.Value, scope: Scope) -> ConvoType:
        try:
            return type_of(self.evaluate(value, scope))
        except ValueProblem as error:
            self.fail(error, value.span)

    def _named_type(self, text: str) -> ConvoType:
        name = text.strip()
        if name.endswith("[]"):
            return ArrayOf(self._named_type(name[:-2]))
        if name.startswith("array(") and name.endswith(")"):
            return ArrayOf(self._named_type(name[6:-1]))
        found = self.environment.variables.get(name, BASIC.get(name, UNDEFINED))
        if found is UNDEFINED:
            known = [*BASIC, *(key for key, held in self.environment.variables.items() if isinstance(held, ConvoType))]
            raise ValueProblem(f"there is no type `{name}`; there are {', '.join(known)}", "no-type")
        return type_of(found)

    # Errors

    def fail(self, error: MemoryGraphError | RecursionError, span: Span) -> NoReturn:
        """Raise the error with its place; the one without it is its cause."""
        located = self.located(error, span)
        raise located from (error.__cause__ if located is error else error)

    def located(self, error: MemoryGraphError | RecursionError, span: Span) -> MemoryGraphError:
        """The error with its place in the source; one that has a place, or is a service's, stays as it is."""
        if isinstance(error, RecursionError):
            return ScriptError([self.source.problem("the expressions nest too deep", "call-too-deep", span)])
        if isinstance(error, (ScriptError, ConnectionError, ModelError)):
            return error
        return ScriptError([self.source.problem(str(error), getattr(error, "code", "FAILED"), span)])

    _KINDS: ClassVar[dict[Any, Callable[[Any, Any, Scope], Any]]] = {
        syntax.Text: _literal,
        syntax.Number: _literal,
        syntax.Constant: _constant,
        syntax.Reference: _reference,
        syntax.Template: _template,
        syntax.Map: _map,
        syntax.Array: _array,
        syntax.Call: _call,
    }


def _stub(signature: Struct, values: dict[str, Any]) -> Any:
    """What a function without a body gives: its argument, or the map of them if it has several parameters."""
    return values.get(signature.fields[0].name, UNDEFINED) if len(signature.fields) == 1 else values


def _too_many(name: str, most: int, given: int) -> ValueProblem:
    return ValueProblem(f"`{name}` takes {most} arguments at most, and was given {given}", "invalid-argument-count")
