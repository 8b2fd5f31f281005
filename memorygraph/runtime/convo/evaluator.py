"""The evaluator of Convo-Lang: what its expressions, templates and functions give.

A program may nest its calls deeper than Python does: `runtime/depth.py` says how. Source: specs/convo.md, sections
1.3 and 1.4; the seed wins where they differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, NoReturn, TypeAlias

from memorygraph.errors import ConnectionError, MemoryGraphError, ModelError, ScriptError, Source, Span
from memorygraph.json_text import parse_json
from memorygraph.languages.convo import syntax
from memorygraph.languages.convo.reading import BUILT_IN
from memorygraph.languages.convo.unsupported import is_into_conversation
from memorygraph.limits import BYTES_PER_PART, Cancelled
from memorygraph.runtime.convo import control, types
from memorygraph.runtime.convo.builtins import FUNCTIONS, METHODS
from memorygraph.runtime.convo.control import BreakSignal, ReturnSignal, StatementBlock, called_name
from memorygraph.runtime.convo.prompt_heads import PromptHead, split_prompt_messages
from memorygraph.runtime.convo.scope import ConvoScope, Environment
from memorygraph.runtime.convo.types import ANY, BASIC, ArrayOf, LabelledValue, Struct, StructField, type_of
from memorygraph.runtime.convo.values import UNDEFINED, ConvoType, join_texts, read_at_path, render_value, truthy
from memorygraph.runtime.values import ValueProblem

Items: TypeAlias = Sequence[syntax.Statement]
CallArguments: TypeAlias = Mapping[str, Any] | Sequence[Any]  # by name, or in the order of the parameters

CALLABLE = frozenset({*FUNCTIONS, *control.BLOCKS, *control.FORMS, *control.MISPLACED, *types.CONSTRUCTORS})

WORK_OF_A_CALL = 10
ARGUMENTS = "__args"  # the variable of a body that is the map of its arguments


class Evaluator:
    """Evaluates the expressions of a conversation, whose source errors show; also from several threads at once."""

    def __init__(self, environment: Environment, source: Source) -> None:
        self.environment = environment
        self.source = source

    # For the rest of the engine. `defining` allows only what a `define` may call.

    def value(self, value: syntax.Value, *, defining: bool = False) -> Any:
        """Evaluate an expression."""
        return self.statements((syntax.Statement(value, span=value.span),), defining=defining)

    def statements(self, statements: Sequence[syntax.Statement], *, defining: bool = False) -> Any:
        """Execute statements; give the value of the last one, or of `return`, which ends them."""
        span = statements[0].span if statements else Span(0, 0)
        scope = ConvoScope(self.environment, defining=defining)
        try:
            return scope.calls.call(self.body, statements, scope, span)
        except RecursionError as error:
            self.fail(error, span)

    def look_up(self, name: str) -> Any:
        """Read a variable of the conversation by its name, which can be a path."""
        return ConvoScope(self.environment).look_up(name.split("."))

    def template(self, template: syntax.Template) -> str:
        """Render a template. What is inserted is data: nothing in it is evaluated again."""
        return str(self.value(template))

    def call_function(self, function: syntax.FunctionMessage, arguments: CallArguments) -> Any:
        """Call a function of the conversation."""
        scope = ConvoScope(self.environment)
        try:
            return scope.calls.call(self.call, function, arguments, scope)
        except (MemoryGraphError, RecursionError) as error:
            self.fail(error, function.span)

    def declare(self, functions: Sequence[syntax.FunctionMessage]) -> None:
        """Make functions of the conversation callable by their names."""
        problems = [
            self.source.problem(f"`{name}` is built in, and cannot be defined", "redefined-builtin", function.span)
            for function in functions
            if (name := function.name) in BUILT_IN
        ]
        if problems:
            raise ScriptError(problems)
        self.environment.functions = {function.name: function for function in functions}

    def signature(self, function: syntax.FunctionMessage) -> Struct:
        """The parameters of a function as a type: those of its parameter type, and those that it names."""
        try:
            return self.read_signature(function, ConvoScope(self.environment))
        except (MemoryGraphError, RecursionError) as error:
            self.fail(error, function.span)

    def type(self, value: syntax.Value | str) -> ConvoType:
        """Read the type that an expression gives, or that a text names: `Name`, `Name[]` or `array(Name)`."""
        if isinstance(value, str):
            return self.find_type(value)
        found = self.value(value, defining=True)
        try:
            return type_of(found)
        except (ValueProblem, RecursionError) as error:
            self.fail(error, value.span)

    # Statements

    def body(self, items: Items, scope: ConvoScope, span: Span) -> Any:
        """Execute a body, which `return` ends; a `break` does not leave it."""
        try:
            return self.last(items, scope)
        except ReturnSignal as returned:
            return returned.value
        except BreakSignal:
            raise self.locate(ValueProblem("`break` stands in no loop here", "no-loop"), span) from None

    def last(self, items: Items, scope: ConvoScope) -> Any:
        """Execute statements; give the last value."""
        value, index = UNDEFINED, 0
        while index < len(items):
            value, index = self.step(items, index, scope)
        return value

    def all(self, items: Items, scope: ConvoScope) -> list[Any]:
        """Execute statements; give their values: one for an `if` with all that belongs to it."""
        values, index = [], 0
        while index < len(items):
            value, index = self.step(items, index, scope)
            values.append(value)
        return values

    def entries(self, items: Items, scope: ConvoScope) -> list[LabelledValue]:
        """Evaluate arguments; give their values with their labels."""
        entries, index = [], 0
        while index < len(items):
            item = items[index]
            value, index = self.step(items, index, scope)
            entries.append(LabelledValue(value, item.label, item.optional, item.description))
        return entries

    def step(self, items: Items, index: int, scope: ConvoScope, emitted: list[Any] | None = None) -> tuple[Any, int]:
        """Execute a statement with what belongs to it; give its value, and the index of the next one.

        A block adds each value that is executed in it to `emitted`.
        """
        item = items[index]
        name = called_name(item)
        try:
            if name in control.BLOCKS:
                value, index = control.BLOCKS[name](StatementBlock(self, items, scope, emitted), index)
            else:
                value, index = self.evaluate(item.value, scope), index + 1
            if item.path:
                shared = any(tag.name == "shared" for tag in item.tags)
                scope.assign(item.path, value, shared=shared)
        except (MemoryGraphError, RecursionError) as error:
            self.fail(error, item.span)
        return value, index

    # Expressions

    def evaluate(self, value: syntax.Value, scope: ConvoScope) -> Any:  # noqa: C901 - a case for each kind
        """Evaluate an expression in a scope."""
        try:
            match value:
                case syntax.Call():
                    result = self.evaluate_call(value, scope)
                    if value.path:
                        result = read_at_path(result, value.path)
                case syntax.Reference():
                    result = scope.look_up(value.path)
                case syntax.Text() | syntax.Number():
                    result = value.value
                case syntax.Template():
                    result = self.render(value, scope)
                case syntax.Map():
                    scope.work.budget.spend(1, BYTES_PER_PART * (1 + len(value.entries)))
                    result = types.make_map(self.entries(value.entries, scope))
                case syntax.Array():
                    scope.work.budget.spend(1, BYTES_PER_PART * (1 + len(value.items)))
                    result = types.make_array([LabelledValue(item) for item in self.all(value.items, scope)])
                case syntax.Pipe():
                    result = self.pipe(value, scope)
                case syntax.InlinePrompt():
                    result = self.prompt(value, scope)
                case syntax.Constant():
                    result = {"true": True, "false": False, "null": None}.get(value.name, UNDEFINED)
        except (MemoryGraphError, RecursionError) as error:
            self.fail(error, value.span)
        return result

    def render(self, template: syntax.Template, scope: ConvoScope) -> str:
        """Render a template in a scope."""
        pieces = []
        for part in template.parts:
            if isinstance(part, syntax.Insertion):
                scope.work.spend()
                pieces += self.insert(part, scope)
            else:
                pieces.append(part)
        return str(scope.work.spend_on(join_texts(pieces)))

    def insert(self, insertion: syntax.Insertion, scope: ConvoScope) -> list[str]:
        """The texts of an insertion: of each value in it, also of each round of a loop; `return` gives the only one."""
        written: list[Any] = []
        index = 0
        try:
            while index < len(insertion.statements):
                name = called_name(insertion.statements[index])
                emitted = written if name in control.BLOCKS else None
                value, index = self.step(insertion.statements, index, scope, emitted)
                if emitted is None:
                    written.append(value)
        except ReturnSignal as returned:
            written = [returned.value]
        except BreakSignal:
            raise self.locate(ValueProblem("`break` stands in no loop here", "no-loop"), insertion.span) from None
        return [render_value(value) for value in written]

    def pipe(self, pipe: syntax.Pipe, scope: ConvoScope) -> Any:
        """Pipe the last value into the one before it, and so on: a map replaces its keys in a text by its values."""
        *targets, last = (self.evaluate(value, scope) for value in pipe.values)
        for target in reversed(targets):
            if target is UNDEFINED and is_into_conversation(pipe):
                raise ValueProblem("`convo << …` is not supported: code appends nothing to the conversation", "no-pipe")
            if target is UNDEFINED:
                raise ValueProblem("this pipe leads into what is undefined; a map or a value takes it", "no-pipe")
            if not isinstance(target, dict) or not isinstance(last, str):
                last = target
                continue
            for key, value in target.items():
                scope.work.spend()
                scope.work.spend_reading((last,))
                if key and key in last:
                    replaced = join_texts(last.split(key), "" if value is None else render_value(value))
                    last = scope.work.spend_on(replaced)
        return last

    def prompt(self, prompt: syntax.InlinePrompt, scope: ConvoScope) -> Any:
        """Let a model answer a prompt, or take the content of a static one; the head says what becomes of it."""
        head = PromptHead.read(prompt.head)
        type_ = self.find_type(head.type) if head.type else None
        # What is inserted begins no message, whatever a model or a user said.
        parts = [] if prompt.static else split_prompt_messages(prompt.content)
        messages = [(role, self.render(part, scope).strip()) for role, part in parts]
        content = "" if messages else head.wrap(self.render(prompt.content, scope).strip())
        if not prompt.static:
            scope.require_pure("???")
            if self.environment.ask is None:
                raise ValueProblem("a prompt in code needs a model, and only the steps of a graph have one", "no-model")
            value = self.environment.ask(head, messages or [("user", content)], type_)
        elif type_ is not None:
            value = type_.coerce(read_json_value(content), "the content")
        else:
            value = content
        if head.negated:
            value = not truthy(value)
        if head.assigned:
            scope.assign([head.assigned], value)
        return value

    def evaluate_call(self, call: syntax.Call, scope: ConvoScope) -> Any:
        """Call what a name stands for: a form, a type's constructor, or a function."""
        name = ".".join(call.name)
        scope.work.spend()
        if name in control.FORMS:
            if name not in control.PURE_FORMS:
                scope.require_pure(name)
            return control.FORMS[name](StatementBlock(self, call.arguments, scope))
        if name in types.CONSTRUCTORS:
            return scope.work.spend_on(types.CONSTRUCTORS[name](self.entries(call.arguments, scope)))
        if name in self.environment.hooks:
            scope.require_pure(name)
            return self.environment.hooks[name](self.all(call.arguments, scope))
        if name in FUNCTIONS:
            if not FUNCTIONS[name].pure:
                scope.require_pure(name)
            return FUNCTIONS[name].call(scope, self.all(call.arguments, scope))
        function = scope.functions.get(name)
        if function is not None:
            scope.require_pure(name)
            return self.call(function, self.arrange(function, call.arguments, scope), scope)
        if name in control.MISPLACED:
            raise ValueProblem(control.MISPLACED[name], "misplaced-form")
        return self.call_method(call, scope)

    def call_method(self, call: syntax.Call, scope: ConvoScope) -> Any:
        """Call a method of the text in a variable, which is what a name of nothing else can stand for."""
        name, (*path, method) = ".".join(call.name), call.name
        if path and isinstance(target := scope.look_up(path), str):
            if method in METHODS:
                return METHODS[method].call(scope, [target, *self.all(call.arguments, scope)])
            known = ", ".join(f"`{known}`" for known in METHODS)
            raise ValueProblem(f"a text has no method `{method}` here; it has {known}", "unknown-function")
        similar = get_close_matches(name, [*CALLABLE, *self.environment.hooks, *scope.functions], 1)
        guess = f"; did you mean `{similar[0]}`?" if similar else ""
        raise ValueProblem(f"there is no function `{name}`{guess}", "unknown-function")

    # Functions of the conversation

    def call(self, function: syntax.FunctionMessage, arguments: CallArguments, scope: ConvoScope) -> Any:
        """Call a function from a scope. One without a body gives its argument, or the map of several."""
        scope.work.spend(WORK_OF_A_CALL)
        signature = self.read_signature(function, scope)
        values = signature.coerce(bind(function.name, signature, arguments), f"`{function.name}`")
        if function.body is None and function.modifier == "extern":
            raise ValueProblem(f"there is no implementation of the extern function `{function.name}` here", "extern")
        if function.body is None:
            fields = signature.fields
            result = values.get(fields[0].name, UNDEFINED) if len(fields) == 1 else values
        else:
            # A parameter without a value is undefined here, whatever the conversation knows under its name.
            unset = {field.name: UNDEFINED for field in signature.fields}
            variables = {ARGUMENTS: values, **unset, **values}
            result = scope.calls.call(self.body, function.body, scope.enter_body(function, variables), function.span)
        if function.return_type is None:
            return result
        return self.find_type(function.return_type).coerce(result, f"what `{function.name}` returns")

    def arrange(
        self, function: syntax.FunctionMessage, items: Sequence[syntax.Argument], scope: ConvoScope
    ) -> CallArguments:
        """Evaluate the arguments of a call; those without a label go to the parameters that no label names."""
        entries = self.entries(items, scope)
        labelled = {entry.label: entry.value for entry in entries if entry.label is not None}
        in_order = [entry.value for entry in entries if entry.label is None]
        if not labelled:
            return in_order
        free = [field.name for field in self.read_signature(function, scope).fields if field.name not in labelled]
        if len(in_order) > len(free):
            raise too_many_arguments(function.name, len(labelled) + len(free), len(entries))
        return {**dict(zip(free, in_order, strict=False)), **labelled}

    def read_signature(self, function: syntax.FunctionMessage, scope: ConvoScope) -> Struct:
        """Read the parameters of a function, whose types are expressions, in a scope."""
        fields: dict[str, StructField] = {}
        if function.parameter_type is not None:
            named = self.find_type(function.parameter_type)
            if not isinstance(named, Struct):
                raise ValueProblem(f"the parameters are a map, and `{function.parameter_type}` is not", "no-type")
            fields = {field.name: field for field in named.fields}
        outside = replace(scope, variables=None, defining=True)  # a type does not see the variables of a body
        for parameter in function.parameters:
            known = fields.get(parameter.name)
            type_ = known.type if known else ANY
            if parameter.type is not None:
                try:
                    type_ = type_of(self.evaluate(parameter.type, outside))
                except ValueProblem as error:
                    self.fail(error, parameter.type.span)
            fields[parameter.name] = StructField(parameter.name, type_, parameter.optional, parameter.description)
        return Struct(tuple(fields.values()))

    def find_type(self, text: str) -> ConvoType:
        """Find the type that a text names."""
        name = text.strip()
        if name.endswith("[]"):
            return ArrayOf(self.find_type(name[:-2]))
        if name.startswith("array(") and name.endswith(")"):
            return ArrayOf(self.find_type(name[6:-1]))
        found = self.environment.variables.get(name, BASIC.get(name, UNDEFINED))
        if found is UNDEFINED:
            known = [*BASIC, *(key for key, held in self.environment.variables.items() if isinstance(held, ConvoType))]
            raise ValueProblem(f"there is no type `{name}`; there are {', '.join(known)}", "no-type")
        return type_of(found)

    # Errors

    def fail(self, error: MemoryGraphError | RecursionError, span: Span) -> NoReturn:
        """Raise an error with its place; the error without it is the cause."""
        located = self.locate(error, span)
        raise located from (error.__cause__ if located is error else error)

    def locate(self, error: MemoryGraphError | RecursionError, span: Span) -> MemoryGraphError:
        """Add a place in the source to an error; one that has a place, or is a service's, stays as it is."""
        if isinstance(error, RecursionError):
            return ScriptError([self.source.problem("the expressions nest too deep", "call-too-deep", span)])
        if isinstance(error, (ScriptError, ConnectionError, ModelError, Cancelled)):
            return error
        return ScriptError([self.source.problem(str(error), getattr(error, "code", "failed"), span)])


def read_json_value(text: str) -> Any:
    """The JSON value in a text."""
    try:
        return parse_json(text, strict=True)
    except ValueError as error:
        raise ValueProblem(f"this is not JSON: {error}", "no-json") from None


def bind(name: str, signature: Struct, arguments: CallArguments) -> Mapping[str, Any]:
    """Assign the arguments of a call to the parameters of the function."""
    names = [field.name for field in signature.fields]
    if not isinstance(arguments, Mapping):
        if len(arguments) > len(names):
            raise too_many_arguments(name, len(names), len(arguments))
        return dict(zip(names, arguments, strict=False))
    for label in arguments:
        if label not in names:
            known = ", ".join(f"`{known}`" for known in names) or "none"
            raise ValueProblem(f"`{name}` has no parameter `{label}`; it has {known}", "unknown-parameter")
    return arguments


def too_many_arguments(name: str, maximum: int, given: int) -> ValueProblem:
    """Describe a call with more arguments than the function has parameters."""
    return ValueProblem(f"`{name}` takes {maximum} arguments at most, and was given {given}", "invalid-argument-count")
