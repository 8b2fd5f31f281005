"""The interpreter of AgentScript: what its statements and expressions do.

Every kind of syntax has one method here, named after its class. Errors carry their place in the program.
Source: specs/agentscript.md, section 4; seeds/agentscript.txt wins where they differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from memorygraph.budget import Budget
from memorygraph.context.origins import copy_value
from memorygraph.errors import ConnectionError, MemoryGraphError, ModelError, ScriptError
from memorygraph.languages.agentscript import syntax
from memorygraph.languages.agentscript.printing import print_expression
from memorygraph.runtime.agentscript.generation import Generator
from memorygraph.runtime.agentscript.scope import Frame, Scope
from memorygraph.runtime.trace import Trace
from memorygraph.runtime.values import (
    AgentValue,
    FunctionValue,
    MemoryValue,
    ToolValue,
    ValueProblem,
    add_to_list,
    assign_member,
    data_only,
    equal,
    item_at,
    kind_of,
    member,
    truth,
)

MAX_CALL = 1000


@dataclass(frozen=True)
class Returned:
    """A function ends with this value."""

    value: Any


class LocatedModelError(ModelError):
    """The model endpoint failed, at a place of the program."""


class Interpreter:
    """Runs functions of agents. `generate` is what calls a model."""

    def __init__(self, trace: Trace, generate: Generator) -> None:
        self.trace = trace
        self._generate = generate

    def call(self, function: FunctionValue, arguments: list[Any], caller: Scope | None = None) -> Any:
        """Call a function: in a fresh scope that sees nothing of its caller but the arguments.

        Raises:
            ScriptError: something in it cannot be done.
            ModelError: the model endpoint failed.
        """
        declaration, agent = function.function, function.agent
        depth = caller.frame.depth + 1 if caller else 1
        if depth > MAX_CALL:
            raise ValueProblem(f"functions call each other more than {MAX_CALL} levels deep", "call-too-deep")
        expected = len(declaration.parameters)
        if len(arguments) != expected:
            raise ValueProblem(
                f"`{function.name}` takes {expected} argument{'s' * (expected != 1)}, and not {len(arguments)}",
                "invalid-argument-count",
            )
        functions = {f.name: FunctionValue(f.name, f, agent) for f in agent.agent.functions}
        bindings = agent.unit.bindings(agent, functions)
        scope = Scope(Frame(agent, declaration, bindings, depth, caller.visible() if caller else ()))
        for config in agent.agent.configs:
            self.execute(config, scope)
        for parameter, value in zip(declaration.parameters, arguments, strict=True):
            scope.variables[parameter.name] = value
        returned = self._statements(declaration.body, scope)
        if returned is None:
            problem = ValueProblem(f"`{function.name}` completed without `return`", "no-return")
            raise located(problem, declaration, scope)
        return returned.value

    def evaluate(self, expression: syntax.Expression, scope: Scope) -> Any:
        """The value of an expression."""
        try:
            return self._EXPRESSIONS[type(expression)](self, expression, scope)
        except RecursionError:
            raise located(ValueProblem("the calls nest too deep", "call-too-deep"), expression, scope) from None
        except MemoryGraphError as error:
            raise located(error, expression, scope) from error.__cause__

    # Statements

    def _block(self, block: syntax.Block, scope: Scope) -> Returned | None:
        return self._statements(block, scope.inner())

    def _statements(self, block: syntax.Block, scope: Scope) -> Returned | None:
        for statement in block.statements:
            returned = self.execute(statement, scope)
            if returned is not None:
                return returned
        return None

    def execute(self, statement: syntax.Statement, scope: Scope) -> Returned | None:
        """Execute a statement; what it returns, if it leaves the function."""
        try:
            return self._STATEMENTS[type(statement)](self, statement, scope)
        except MemoryGraphError as error:
            raise located(error, statement, scope) from error.__cause__

    def _config(self, config: syntax.Config, scope: Scope) -> None:
        scope.configs[config.name] = self.evaluate(config.value, scope)

    def _use(self, use: syntax.Use, scope: Scope) -> None:
        scope.declare(use)
        budget = Budget.parse(use.budget.text).as_dict() if use.budget else None
        self.trace.add("use", {"source": print_expression(use.value), "budget": budget})

    def _return(self, statement: syntax.Return, scope: Scope) -> Returned:
        return Returned(self.evaluate(statement.value, scope))

    def _evaluation(self, statement: syntax.Evaluation, scope: Scope) -> None:
        self.evaluate(statement.value, scope)

    def _assignment(self, statement: syntax.Assignment, scope: Scope) -> None:
        value = self.evaluate(statement.value, scope)
        if isinstance(statement.target, syntax.Name):
            scope.assign(statement.target.name, value)
            return
        target = cast("syntax.Member", statement.target)
        assign_member(self.evaluate(target.value, scope), target.name, value)

    def _if(self, statement: syntax.If, scope: Scope) -> Returned | None:
        if truth(self.evaluate(statement.condition, scope)):
            return self._block(statement.then, scope)
        return self._block(statement.otherwise, scope) if statement.otherwise else None

    def _repeat(self, statement: syntax.Repeat, scope: Scope) -> Returned | None:
        return self._rounds(range(statement.count), statement.body, scope)

    def _loop(self, statement: syntax.Loop, scope: Scope) -> Returned | None:
        for _ in range(int(statement.limit.text)):
            if truth(self.evaluate(statement.condition, scope)):
                return None
            returned = self._block(statement.body, scope)
            if returned is not None:
                return returned
        return None

    def _rounds(self, rounds: range, body: syntax.Block, scope: Scope) -> Returned | None:
        for _ in rounds:
            returned = self._block(body, scope)
            if returned is not None:
                return returned
        return None

    def _for(self, statement: syntax.For, scope: Scope) -> Returned | None:
        items = self.evaluate(statement.items, scope)
        if not isinstance(items, list):
            raise ValueProblem(f"`for` goes through a list, and this is {kind_of(items)}", "not-a-list")
        for index, item in enumerate(items[: int(statement.limit.text)]):
            value = copy_value(data_only(item, "be gone through"))
            self.trace.add("for", {"item": statement.item, "index": index, "value": value})
            inner = scope.inner()
            inner.variables[statement.item] = item
            returned = self._statements(statement.body, inner)
            if returned is not None:
                return returned
        return None

    # Expressions

    def _literal(self, expression: syntax.Text | syntax.Number | syntax.Boolean, _scope: Scope) -> Any:
        return expression.value

    def _nothing(self, _expression: syntax.Nothing, _scope: Scope) -> None:
        return None

    def _name(self, expression: syntax.Name, scope: Scope) -> Any:
        try:
            return scope.look_up(expression.name)
        except KeyError:
            raise ValueProblem(f"`{expression.name}` has no value here", "unknown-identifier") from None

    def _object(self, expression: syntax.Object, scope: Scope) -> dict[str, Any]:
        return {entry.key: self.evaluate(entry.value, scope) for entry in expression.entries}

    def _list(self, expression: syntax.List, scope: Scope) -> list[Any]:
        return [self.evaluate(item, scope) for item in expression.items]

    def _or(self, expression: syntax.Or, scope: Scope) -> bool:
        for operand in expression.operands:  # noqa: SIM110 - any() would take C stack in deep calls
            if truth(self.evaluate(operand, scope)):
                return True
        return False

    def _and(self, expression: syntax.And, scope: Scope) -> bool:
        for operand in expression.operands:  # noqa: SIM110 - all() would take C stack in deep calls
            if not truth(self.evaluate(operand, scope)):
                return False
        return True

    def _not(self, expression: syntax.Not, scope: Scope) -> bool:
        return not truth(self.evaluate(expression.operand, scope))

    def _comparison(self, expression: syntax.Comparison, scope: Scope) -> bool:
        same = equal(self.evaluate(expression.left, scope), self.evaluate(expression.right, scope))
        return same == (expression.operator == "==")

    def _member(self, expression: syntax.Member, scope: Scope) -> Any:
        return member(self.evaluate(expression.value, scope), expression.name)

    def _index(self, expression: syntax.Index, scope: Scope) -> Any:
        return item_at(self.evaluate(expression.value, scope), self.evaluate(expression.index, scope))

    def _generation(self, expression: syntax.Generate, scope: Scope) -> Any:
        return self._generate(expression, scope, self.evaluate)

    def _call(self, expression: syntax.Call, scope: Scope) -> Any:
        if isinstance(expression.function, syntax.Member):
            target = self.evaluate(expression.function.value, scope)
            arguments = [self.evaluate(argument, scope) for argument in expression.arguments]
            return self._call_method(target, expression.function.name, arguments, scope)
        target = self.evaluate(expression.function, scope)
        arguments = [self.evaluate(argument, scope) for argument in expression.arguments]
        if isinstance(target, FunctionValue):
            return self.call(target, arguments, scope)
        if isinstance(target, AgentValue):
            return self._call_agent(target, None, arguments, scope)
        raise ValueProblem(f"{kind_of(target)} cannot be called", "not-callable")

    def _call_method(self, target: Any, name: str, arguments: list[Any], scope: Scope) -> Any:
        match target:
            case ToolValue():
                return self._call_tool(target, name, arguments)
            case MemoryValue():
                return self._call_memory(target, name, arguments)
            case AgentValue():
                return self._call_agent(target, name, arguments, scope)
            case list() if name == "add":
                return add_to_list(target, arguments)
            case dict() if isinstance(target.get(name), FunctionValue):
                return self.call(target[name], arguments, scope)
        raise ValueProblem(f"{kind_of(target)} has no method `{name}`", "not-callable")

    def _call_tool(self, target: ToolValue, method: str, arguments: list[Any]) -> Any:
        tool = target.tool
        given = copy_value(data_only(arguments, "be given to a tool"))
        event = {"tool": target.name, "method": method, "scheme": tool.scheme, "uri": tool.uri, "args": given}
        try:
            result = tool.call(method, arguments)
        except MemoryGraphError as error:
            self.trace.add("tool", {**event, "ok": False, "error": str(error)})
            raise
        kept = {"result": copy_value(result.value), "effects": result.effects}
        self.trace.add("tool", {**event, "ok": True, **kept})
        return result.value

    def _call_memory(self, target: MemoryValue, method: str, arguments: list[Any]) -> Any:
        memory = target.memory
        given = copy_value(data_only(arguments, "be kept in a memory"))
        event = {"memory": target.name, "operation": method, "uri": memory.uri, "args": given}
        try:
            result = memory.call(method, arguments)
        except MemoryGraphError as error:
            self.trace.add("memory", {**event, "ok": False, "error": str(error)})
            raise
        kept = {"result": copy_value(result.value), "count": result.count}
        added = {"id": result.id, "record": copy_value(result.record)} if result.id else {}
        self.trace.add("memory", {**event, "ok": True, **kept, **added})
        return result.value

    def _call_agent(self, target: AgentValue, name: str | None, arguments: list[Any], scope: Scope) -> Any:
        function = function_of(target, name)
        given = copy_value(data_only(arguments, "be given to an agent"))
        with self.trace.inside(
            "agent", {"agent": target.name, "function": function.name, "args": given, "result": None}
        ) as event:
            value = self.call(function, arguments, scope)
            event["result"] = copy_value(data_only(value, "leave its agent"))
        return value

    _STATEMENTS: ClassVar[dict[type, Callable[[Any, Any, Scope], Returned | None]]] = {
        syntax.Config: _config,
        syntax.Use: _use,
        syntax.Return: _return,
        syntax.Repeat: _repeat,
        syntax.For: _for,
        syntax.Loop: _loop,
        syntax.If: _if,
        syntax.Assignment: _assignment,
        syntax.Evaluation: _evaluation,
    }
    _EXPRESSIONS: ClassVar[dict[type, Callable[[Any, Any, Scope], Any]]] = {
        syntax.Or: _or,
        syntax.And: _and,
        syntax.Comparison: _comparison,
        syntax.Not: _not,
        syntax.Member: _member,
        syntax.Call: _call,
        syntax.Index: _index,
        syntax.Generate: _generation,
        syntax.Text: _literal,
        syntax.Number: _literal,
        syntax.Boolean: _literal,
        syntax.Nothing: _nothing,
        syntax.Name: _name,
        syntax.Object: _object,
        syntax.List: _list,
    }


def located(error: MemoryGraphError, piece: syntax.Syntax, scope: Scope) -> MemoryGraphError:
    """The error with its place in the program; one that has a place already is returned as it is."""
    if isinstance(error, (ScriptError, ConnectionError, LocatedModelError)):
        return error
    source = scope.frame.agent.unit.source
    if isinstance(error, ModelError):
        return LocatedModelError(str(source.problem(str(error), "model-failed", piece.span)))
    return ScriptError([source.problem(str(error), getattr(error, "code", "FAILED"), piece.span)])


def function_of(agent: AgentValue, name: str | None) -> FunctionValue:
    """A function of an agent by its name; without one the main function.

    Raises:
        ValueProblem: there is none.
    """
    functions = agent.agent.functions
    found = next((f for f in functions if (f.name == name if name is not None else f.main)), None)
    if found is None:
        known = ", ".join(f"`{f.name}`" for f in functions) or "none"
        wanted = f"function `{name}`" if name is not None else "main function"
        raise ValueProblem(f"the agent `{agent.name}` has no {wanted}; its functions: {known}", "unknown-function")
    return FunctionValue(found.name, found, agent)
