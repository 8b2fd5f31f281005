"""The checks of the body of a function: names, uses, calls, and calls of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memorygraph.budget import COUNT_LIMIT, Budget
from memorygraph.errors import MAX_PROBLEMS, MemoryGraphError, Span
from memorygraph.languages.agentscript import syntax
from memorygraph.languages.agentscript.names import CONFIGS, KEYWORDS, KINDS, Binding, Known, Scope, capability
from memorygraph.languages.engine.findings import Finding, suggestion
from memorygraph.languages.engine.syntax import SyntaxNode, parts_in, walk
from memorygraph.sentences import count_of

OPTIONS = ("input", "limit", "attempts", "debug")
OTHER_WORDS = {
    **dict.fromkeys(("null", "None", "NULL", "nil", "undefined"), "none"),
    **dict.fromkeys(("True", "TRUE"), "true"),
    **dict.fromkeys(("False", "FALSE"), "false"),
}
"""How other languages write values that have a word of their own."""

TYPES = ("string", "number", "boolean", "json", "list")
_COMMON_TYPES = {
    **dict.fromkeys(("str", "text", "String"), "string"),
    **dict.fromkeys(("int", "integer", "float", "double"), "number"),
    **dict.fromkeys(("object", "any", "dict", "map"), "json"),
    **dict.fromkeys(("array", "tuple", "set"), "list"),
    "bool": "boolean",
}
# How many arguments the methods of what is imported take, by the scheme of its address: at least, at most; `sh` takes
# any number. What an MCP server has is known when it runs.
_HTTP_METHODS = {"get": (0, 2), **dict.fromkeys(("post", "put", "patch"), (1, 2)), "delete": (1, 1), "request": (1, 1)}
_FILE_METHODS = {
    **dict.fromkeys(("read", "read_json", "exists"), (1, 1)),
    **dict.fromkeys(("write", "append"), (2, 2)),
    "list": (0, 1),
}
_MEMORY_METHODS = {"add": (1, 1), "query": (0, 1)}
METHODS: Mapping[str, Mapping[str, Mapping[str, tuple[int, int] | None]]] = {
    "tool": {
        "file": _FILE_METHODS,
        "env": {"get": (1, 1), "list": (0, 0)},
        "http": _HTTP_METHODS,
        "https": _HTTP_METHODS,
        "sh": {"run": None},
    },
    "memory": {
        "file": _MEMORY_METHODS,
        "sqlite": _MEMORY_METHODS,
        "neo4j": {**_MEMORY_METHODS, "recall": (1, 2)},
    },
}
_UNKNOWN_METHOD = {"tool": "unknown-tool-method", "memory": "unknown-memory-method"}

_MAX_VALUES = 100  # of one variable that are looked at
# What may stand for anything, also for a capability; all else is a value.
_OPEN = (syntax.Name, syntax.Member, syntax.FunctionCall, syntax.Index)


class BodyChecks:
    """The checks of one function, or of one setting of an agent.

    The names that mean something are those of a scope; `functions` are those of each agent, the main one by None.
    """

    def __init__(self, scope: Scope, functions: Mapping[str, Mapping[str | None, syntax.Function]]) -> None:
        self._scope = scope
        self._functions = functions
        self._findings: list[Finding] = []
        self._uses: list[tuple[syntax.Use, Scope]] = []
        self._known_uses: Known = {}

    def function(self, function: syntax.Function) -> list[Finding]:
        """What is wrong in a function."""
        for parameter in function.parameters:
            self._scope.variables[parameter.name] = [None]
            if parameter.shape is not None:
                self._shape(parameter.shape)
        self._statements(function.body, self._scope)
        # A use is evaluated where a model is called, so that what is assigned after it counts, too.
        for use, scope in self._uses:
            self._used(use, scope)
        return self._findings

    def setting(self, config: syntax.Config) -> list[Finding]:
        """What is wrong in a setting of an agent."""
        self._config(config, self._scope)
        return self._findings

    def _add(self, code: str, span: Span, message: str) -> None:
        self._findings.append(Finding(message, code, span))

    def _few(self) -> bool:
        """Whether so little is wrong that each problem is worth a search for what was meant."""
        return len(self._findings) < MAX_PROBLEMS

    def _statements(self, block: syntax.Block, scope: Scope) -> None:
        for statement in block.statements:
            self._statement(statement, scope)

    def _statement(self, statement: syntax.Statement, scope: Scope) -> None:
        match statement:
            case syntax.Assignment():
                self._assignment(statement, scope)
            case syntax.Return() | syntax.ExpressionStatement():
                self._value(statement.value, scope)
            case syntax.Use():
                self._uses.append((statement, scope))
                self._budget(statement.budget, "invalid-budget")
            case syntax.Config():
                self._config(statement, scope)
            case syntax.If():
                self._value(statement.condition, scope)
                for block in filter(None, (statement.then, statement.otherwise)):
                    self._statements(block, scope.block())
            case syntax.Repeat():
                self._statements(statement.body, scope.block())
            case syntax.For():
                self._for(statement, scope)
            case syntax.Loop():
                self._loop(statement, scope)

    def _config(self, config: syntax.Config, scope: Scope) -> None:
        scope.configs.add(config.name)
        if config.name == "model":
            self._model(config.value, scope)
            return
        self._value(config.value, scope)
        leaked = capability(config.value, scope)
        if leaked is not None:
            self._add("invalid-config", config.value.span, f"{leaked}, and cannot be a {config.name}; write a text")
        elif not isinstance(config.value, (*_OPEN, syntax.TextLiteral)):
            self._add("invalid-config", config.value.span, f'a {config.name} is a text: {config.name} "…"')

    def _model(self, value: syntax.Expression, scope: Scope) -> None:
        binding = scope.bindings.get(value.name) if isinstance(value, syntax.Name) else None
        variable = scope.variable(value.name) if isinstance(value, syntax.Name) else None
        if variable is None and isinstance(binding, syntax.Import) and binding.kind == "llm":
            return
        models = [name for name, one in scope.bindings.items() if one.kind == "llm"] if self._few() else []
        example = f"model {models[0]}" if models else 'import llm Model from "openai://…" and then: model Model'
        if not isinstance(value, syntax.Name):
            self._add("invalid-model", value.span, f"a model is the name of an llm import: {example}")
        elif variable is not None:
            if _known_values(value, scope):
                self._add("invalid-model", value.span, f"`{value.name}` is a value, and no model; write {example}")
        elif binding is None:
            hint = suggestion(value.name, models) or f"; write {example}"
            self._add("unknown-model", value.span, f"no model is called `{value.name}`{hint}")
        else:
            message = f"`{value.name}` is {KINDS[binding.kind]}, and no model; write {example}"
            self._add("invalid-model", value.span, message)

    def _used(self, use: syntax.Use, scope: Scope) -> None:
        inner = next((part for part in walk(use.value) if isinstance(part, syntax.Generate)), None)
        if inner is not None:
            message = "a model cannot be called in a `use`; call it before: answer = generate(…), then: use answer"
            self._add("use-generate", Span(inner.span.start, inner.span.start + len("generate")), message)
            return
        self._value(use.value, scope)
        leaked = capability(use.value, scope, self._known_uses)
        if leaked is not None:
            message = f"{leaked}, and must not come into a prompt; use what it returns"
            self._add("invalid-use-resource", use.value.span, message)

    def _for(self, statement: syntax.For, scope: Scope) -> None:
        self._value(statement.items, scope)
        if not statement.limit.text.isdecimal() or not statement.limit.text.strip("0"):
            message = f"a `for` takes at most a whole number of items, at least 1: < 10, not < {statement.limit.text}"
            self._add("invalid-iteration-limit", statement.limit.span, message)
        inner = scope.block()
        inner.variables[statement.item] = [None]
        self._statements(statement.body, inner)

    def _loop(self, statement: syntax.Loop, scope: Scope) -> None:
        self._value(statement.condition, scope)
        if not statement.limit.text.isdecimal():
            message = f"a `loop` has at most a whole number of rounds: < 10, not < {statement.limit.text}"
            self._add("invalid-iteration-limit", statement.limit.span, message)
        self._statements(statement.body, scope.block())

    def _assignment(self, statement: syntax.Assignment, scope: Scope) -> None:
        self._value(statement.value, scope)
        target = statement.target
        if isinstance(target, syntax.Name):
            scope.assign(target.name, statement.value)
            return
        leaked = capability(target, scope) if isinstance(target, syntax.Member) else None
        if not isinstance(target, syntax.Member):
            message = "only a variable or a member of an object can be assigned: name = …, or object.member = …"
            self._add("invalid-assignment-target", target.span, message)
        elif leaked is not None:
            self._add("invalid-assignment-target", target.span, f"{leaked}, and has no members that can be assigned")
        else:
            self._value(target.value, scope)

    def _value(self, value: SyntaxNode, scope: Scope) -> None:
        """Check an expression that is evaluated here."""
        match value:
            case syntax.Name():
                self._known(value, scope)
            case syntax.FunctionCall():
                self._values(value.arguments, scope)
                self._call(value, scope)
            case syntax.Generate():
                self._generate(value, scope)
            case _:
                self._values(parts_in(value), scope)

    def _values(self, values: Iterable[SyntaxNode], scope: Scope) -> None:
        for value in values:
            self._value(value, scope)

    def _known(self, name: syntax.Name, scope: Scope) -> bool:
        if name.name in scope.bindings or scope.variable(name.name) is not None:
            return True
        if name.name in KEYWORDS:
            message = f"`{name.name}` stands where a value belongs; no variable has this name"
        elif self._few() and scope.ended(name.name):
            message = f"`{name.name}` ends with the block in which it is assigned; assign it before that block, too"
        elif name.name in OTHER_WORDS:
            message = f"nothing is called `{name.name}` here; write `{OTHER_WORDS[name.name]}`"
        else:
            message = f"nothing is called `{name.name}` here"
            hint = suggestion(name.name, scope.names()) if self._few() else ""
            message += hint or '; assign it before, or write a text in quotes: "…"'
        self._add("unknown-identifier", name.span, message)
        return False

    def _call(self, call: syntax.FunctionCall, scope: Scope) -> None:
        match call.function:
            case syntax.Name(name=name) as function:
                binding = scope.bindings.get(name)
                if scope.variable(name) is not None:
                    self._value_called(call, scope)
                elif binding is None:
                    known = [*self._functions, *(n for n, one in scope.bindings.items() if one.kind == "function")]
                    hint = (suggestion(name, known) if self._few() else "") or f"; define it: func {name}(…) {{ … }}"
                    self._add("unknown-function", function.span, f"no function is called `{name}`{hint}")
                else:
                    self._bound_called(call, name, binding)
            case syntax.Member(value=syntax.Name(name=name) as root, name=method) if scope.variable(name) is None:
                if self._known(root, scope):
                    self._method_called(call, name, scope.bindings[name], method)
            case syntax.Member(value=value):
                self._value(value, scope)
                self._value_called(call, scope)
            case _:
                self._value(call.function, scope)
                self._value_called(call, scope)

    def _value_called(self, call: syntax.FunctionCall, scope: Scope) -> None:
        """A call of something that is certainly a value, and no capability."""
        function = call.function
        method = function.name if isinstance(function, syntax.Member) else None
        values = _known_values(function.value if isinstance(function, syntax.Member) else function, scope)
        if not values:
            return
        if method is not None and any(isinstance(value, syntax.Object) for value in values):
            return  # whose fields may be functions, also those that are set elsewhere
        if method is None:
            self._add("not-callable", function.span, "this is a value, and cannot be called")
        elif not all(isinstance(value, syntax.List) for value in values):
            self._add("not-callable", _last_name(function), f"a value has no `{method}` to call; only a list has `add`")
        elif method != "add":
            message = (
                f"a list has no `{method}` to call; it has `add(value)`, and without a call `length` and `summary`"
            )
            self._add("not-callable", _last_name(function), message)
        else:
            self._count(call, "add", 1, 1)

    def _bound_called(self, call: syntax.FunctionCall, name: str, binding: Binding) -> None:
        match binding:
            case syntax.Function():
                self._count(call, name, *[len(binding.parameters)] * 2)
            case syntax.Agent():
                self._agent_called(call, binding, None)
            case syntax.Import(kind="agent"):
                pass
            case syntax.Import(kind="tool" | "memory"):
                kind = KINDS[binding.kind]
                method = "add" if binding.kind == "memory" else "method"
                message = f"`{name}` is {kind}, and has methods to call: {name}.{method}(…)"
                self._add("not-callable", call.function.span, message)
            case _:
                self._add("not-callable", call.function.span, f"`{name}` is {KINDS[binding.kind]}, and no function")

    def _method_called(self, call: syntax.FunctionCall, name: str, binding: Binding, method: str) -> None:
        span = _last_name(call.function)
        match binding:
            case syntax.Agent():
                self._agent_called(call, binding, method)
            case syntax.Import(kind="tool" | "memory" as kind, uri=uri):
                methods = METHODS[kind].get(uri.partition(":")[0])
                if methods is None:
                    return
                if method in methods:
                    if counts := methods[method]:
                        self._count(call, f"{name}.{method}", *counts)
                    return
                hint = suggestion(method, methods) or f"; it has {_listed(methods)}"
                self._add(_UNKNOWN_METHOD[kind], span, f"the {kind} `{name}` has no method `{method}`{hint}")
            case syntax.Function() | syntax.Import(kind="llm"):
                hint = "a model is called by generate(…)" if binding.kind == "llm" else f"write {name}(…)"
                self._add("not-callable", span, f"`{name}` is {KINDS[binding.kind]}, and has no methods; {hint}")

    def _agent_called(self, call: syntax.FunctionCall, agent: syntax.Agent, method: str | None) -> None:
        functions = self._functions[agent.name]
        if method in functions:
            name = agent.name if method is None else f"{agent.name}.{method}"
            self._count(call, name, *[len(functions[method].parameters)] * 2)
        elif method is None:
            message = f"the agent `{agent.name}` has no main func; call one by its name: {agent.name}.…(…)"
            self._add("unknown-function", call.function.span, message)
        else:
            names = list(filter(None, functions))
            hint = suggestion(method, names) or f"; it has {_listed(names[:10]) or 'none'}"
            message = f"the agent `{agent.name}` has no function `{method}`{hint}"
            self._add("unknown-function", _last_name(call.function), message)

    def _count(self, call: syntax.FunctionCall, name: str, least: int, most: int) -> None:
        given = len(call.arguments)
        if least <= given <= most:
            return
        counted = count_of(most, "argument")
        wanted = counted if least == most else f"{least} to {counted}"
        message = f"`{name}` takes {wanted}, and gets {given}"
        self._add("invalid-argument-count", Span(call.function.span.end, call.span.end), message)

    def _generate(self, generate: syntax.Generate, scope: Scope) -> None:
        span = Span(generate.span.start, generate.span.start + len("generate"))
        missing = [name for name in CONFIGS if name not in scope.configured()]
        if missing:
            message = f"{_listed(missing)} must be set before a model is called, in the agent or in this function"
            self._add("missing-generate-config", span, message)
        seen: set[str] = set()
        for option in generate.options:
            self._option(option, seen, scope)
            seen.add(option.key)
        if "input" not in seen:
            message = 'what the model shall do is missing: generate({ input: "…" })'
            self._add("invalid-generate-input", span, message)
        self._shape(generate.shape)

    def _option(self, option: syntax.Entry, seen: set[str], scope: Scope) -> None:
        key, value = option.key, option.value
        name = Span(option.span.start, value.span.start)
        if key in seen:
            self._add("duplicate-generate-option", option.span, f"`{key}` is given twice; remove one")
        elif key not in OPTIONS:
            hint = suggestion(key, OPTIONS) or f"; there are {_listed(OPTIONS)}"
            self._add("unknown-generate-option", name, f"`generate` has no option `{key}`{hint}")
        elif key == "attempts" and not (
            isinstance(value, syntax.NumberLiteral) and value.text.isdecimal() and 1 <= value.value < COUNT_LIMIT
        ):
            message = f"attempts is a whole number, at least 1 and below {COUNT_LIMIT:,}: attempts: 3"
            self._add("invalid-generate-attempts", value.span, message)
        elif key == "debug" and not isinstance(value, syntax.Boolean):
            self._add("invalid-generate-debug", value.span, "debug is true or false: debug: true")
        elif key == "limit" and isinstance(value, syntax.NumberLiteral):
            self._budget(value, "invalid-generate-limit")
        elif key == "limit":
            self._add("invalid-generate-limit", value.span, "limit is a number: limit: 800, or limit: 2k")
        self._value(value, scope)
        leaked = capability(value, scope) if key == "input" else None
        if leaked is not None:
            self._add("invalid-generate-input", value.span, f"{leaked}, and must not come into a prompt")

    def _budget(self, written: syntax.Limit | syntax.NumberLiteral | None, code: str) -> None:
        if written is not None:
            try:
                Budget.parse(written.text)
            except MemoryGraphError as error:
                self._add(code, written.span, str(error))

    def _shape(self, shape: syntax.Shape) -> None:
        seen: set[str] = set()
        for one in shape.fields:
            span = Span(one.span.start, one.span.start + len(one.name))
            if one.name in seen:
                self._add("duplicate-shape-field", span, f"the field `{one.name}` is there twice; remove one")
            seen.add(one.name)
            for name in filter(None, (one.type, one.item)):
                if name not in TYPES:
                    near = _COMMON_TYPES.get(name)
                    known = suggestion(name, TYPES) or f"; the types are {_listed(TYPES)}"
                    hint = f"; write `{near}`" if near else known
                    self._add("unknown-shape-type", one.span, f"no type is called `{name}`{hint}")
            if one.item is not None and one.type in TYPES and one.type != "list":
                message = f"only a list has a type in brackets: {one.name} list[{one.item}]"
                self._add("unknown-shape-type", one.span, message)


def _known_values(expression: syntax.Expression, scope: Scope) -> list[syntax.Expression]:
    """All values that an expression can have, if they are few, and certain to be no capabilities."""
    values: list[syntax.Expression | None] = [expression]
    if isinstance(expression, syntax.Name):
        variable = scope.variable(expression.name)
        values = variable[: _MAX_VALUES + 1] if variable is not None else []
    certain: list[syntax.Expression] = [value for value in values if value is not None and not isinstance(value, _OPEN)]
    return certain if len(certain) == len(values) <= _MAX_VALUES else []


def _last_name(expression: syntax.Expression) -> Span:
    """Where the name of a member stands."""
    end = expression.span.end
    return Span(end - len(expression.name), end) if isinstance(expression, syntax.Member) else expression.span


def _listed(names: Iterable[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return " and ".join(filter(None, [", ".join(quoted[:-1]), *quoted[-1:]]))
