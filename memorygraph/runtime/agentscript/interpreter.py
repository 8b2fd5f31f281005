"""The interpreter of AgentScript: each kind of syntax has one method, or a line of a table.

Source: specs/agentscript.md, section 4; seeds/agentscript.txt wins where they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from memorygraph.context.origins import copy_value, origins_of
from memorygraph.errors import ConnectionError, MemoryGraphError, ModelError, Problem, ScriptError
from memorygraph.languages.agentscript import syntax
from memorygraph.languages.agentscript.printing import print_expression
from memorygraph.languages.agentscript.reading import parse_count
from memorygraph.limits import BYTES_PER_PART, PARTS_PER_WORK, Cancelled, RunBudget
from memorygraph.runtime.agentscript import values
from memorygraph.runtime.agentscript.generation import Generation, budget_of
from memorygraph.runtime.agentscript.scope import Activation, BlockScope
from memorygraph.runtime.agentscript.values import AgentValue, FunctionValue, describe_value, is_true, require_data
from memorygraph.runtime.depth import CallStack
from memorygraph.runtime.memories import ImportedMemory
from memorygraph.runtime.tools import ImportedTool
from memorygraph.runtime.values import ValueProblem
from memorygraph.sentences import count_of

MAX_CALL_DEPTH = 1000


@dataclass(frozen=True)
class ReturnedValue:
    """The value with which a statement ends its function."""

    value: Any


class LocatedModelError(ModelError):
    """The model endpoint failed, at the place in the program that its only problem has."""

    def __init__(self, problem: Problem, brief: str) -> None:
        super().__init__(str(problem), brief)
        self.problems = [problem]
        self.code = problem.code


class Interpreter:
    """Runs functions of agents. `generation` calls the models, and has the trace of the run.

    `reader` is told the ids of the nodes that a memory has given, before the trace has what they say.
    """

    def __init__(self, generation: Generation, budget: RunBudget, reader: Callable[[Iterable[str]], None]) -> None:
        self.generation = generation
        self.reader = reader
        self.budget = budget
        self.trace = generation.trace
        self.calls = CallStack()

    def call(self, function: FunctionValue, arguments: list[Any], caller: BlockScope | None = None) -> Any:
        """Call a function: in a fresh scope that sees nothing of its caller but the arguments.

        Raises:
            ScriptError: something in it cannot be done.
            ModelError: the model endpoint failed.
        """
        declaration, agent = function.function, function.agent
        depth = caller.call.depth + 1 if caller else 1
        if depth > MAX_CALL_DEPTH:
            raise ValueProblem(f"functions call each other more than {MAX_CALL_DEPTH} levels deep", "call-too-deep")
        expected = len(declaration.parameters)
        if len(arguments) != expected:
            raise ValueProblem(
                f"`{function.name}` takes {count_of(expected, 'argument')}, and not {len(arguments)}",
                "invalid-argument-count",
            )
        functions = {f.name: FunctionValue(f.name, f, agent) for f in agent.agent.functions}
        bindings = {**agent.unit.imports, **agent.unit.agents, **functions, agent.name: agent}
        scope = BlockScope(Activation(agent, declaration, bindings, depth, caller.visible() if caller else ()))
        for config in agent.agent.configs:
            self.execute(config, scope)
        for parameter, value in zip(declaration.parameters, arguments, strict=True):
            scope.variables[parameter.name] = value
        returned = self.calls.call(self.execute_block, declaration.body, scope)
        if returned is None:
            problem = ValueProblem(f"`{function.name}` completed without `return`", "no-return")
            raise locate_error(problem, declaration, scope)
        return returned.value

    def evaluate(self, expression: syntax.Expression, scope: BlockScope) -> Any:
        """Evaluate an expression."""
        try:
            return self._EXPRESSIONS[type(expression)](self, expression, scope)
        except RecursionError:
            raise locate_error(ValueProblem("the calls nest too deep", "call-too-deep"), expression, scope) from None
        except MemoryGraphError as error:
            raise locate_error(error, expression, scope) from error.__cause__

    def execute(self, statement: syntax.Statement, scope: BlockScope) -> ReturnedValue | None:
        """Execute a statement; what it returns, if it leaves the function."""
        try:
            self.budget.spend()
            return self._STATEMENTS[type(statement)](self, statement, scope)
        except MemoryGraphError as error:
            raise locate_error(error, statement, scope) from error.__cause__

    def execute_block(self, block: syntax.Block, scope: BlockScope) -> ReturnedValue | None:
        """Execute the statements of a block in a scope, until one leaves the function."""
        for statement in block.statements:
            returned = self.execute(statement, scope)
            if returned is not None:
                return returned
        return None

    def execute_config(self, config: syntax.Config, scope: BlockScope) -> None:
        """Set the model, the role or the description of the block."""
        scope.configs[config.name] = self.evaluate(config.value, scope)

    def execute_use(self, use: syntax.Use, scope: BlockScope) -> None:
        """Declare a context source."""
        scope.declare(use)
        budget = budget_of(use)
        self.trace.add("use", {"source": print_expression(use.value), "budget": budget.as_dict() if budget else None})

    def execute_evaluation(self, statement: syntax.ExpressionStatement, scope: BlockScope) -> None:
        """Evaluate an expression for its effects."""
        self.evaluate(statement.value, scope)

    def execute_assignment(self, statement: syntax.Assignment, scope: BlockScope) -> None:
        """Set a variable, or a field of an object."""
        value = self.evaluate(statement.value, scope)
        if isinstance(statement.target, syntax.Name):
            scope.assign(statement.target.name, value)
            return
        target = cast("syntax.Member", statement.target)
        owner = self.evaluate(target.value, scope)
        if not isinstance(owner, dict):
            message = f"{describe_value(owner)} has no fields that could be set"
            raise ValueProblem(message, "invalid-assignment-target")
        owner[target.name] = value

    def execute_if(self, statement: syntax.If, scope: BlockScope) -> ReturnedValue | None:
        """Execute the block that the condition chooses."""
        if is_true(self.evaluate(statement.condition, scope)):
            return self.execute_block(statement.then, scope.inner())
        return self.execute_block(statement.otherwise, scope.inner()) if statement.otherwise else None

    def execute_repeat(self, statement: syntax.Repeat, scope: BlockScope) -> ReturnedValue | None:
        """Execute a block a fixed number of times."""
        for _ in range(statement.count):
            self.budget.spend()
            returned = self.execute_block(statement.body, scope.inner())
            if returned is not None:
                return returned
        return None

    def execute_loop(self, statement: syntax.Loop, scope: BlockScope) -> ReturnedValue | None:
        """Execute a block until its condition holds, or its limit is reached."""
        for _ in range(parse_count(statement.limit.text)):
            self.budget.spend()
            if is_true(self.evaluate(statement.condition, scope)):
                return None
            returned = self.execute_block(statement.body, scope.inner())
            if returned is not None:
                return returned
        return None

    def execute_for(self, statement: syntax.For, scope: BlockScope) -> ReturnedValue | None:
        """Execute a block for each item of a list, up to its limit."""
        items = self.evaluate(statement.items, scope)
        if not isinstance(items, list):
            raise ValueProblem(f"`for` goes through a list, and this is {describe_value(items)}", "not-a-list")
        self.budget.spend(len(items) // PARTS_PER_WORK)
        for index, item in enumerate(items[: parse_count(statement.limit.text)]):
            value = copy_value(require_data(item, "be gone through"))
            self.trace.add("for", {"item": statement.item, "index": index, "value": value})
            inner = scope.inner()
            inner.variables[statement.item] = item
            returned = self.execute_block(statement.body, inner)
            if returned is not None:
                return returned
        return None

    def evaluate_name(self, expression: syntax.Name, scope: BlockScope) -> Any:
        """Look up a variable, an import, an agent or a function."""
        try:
            return scope.look_up(expression.name)
        except KeyError:
            raise ValueProblem(f"`{expression.name}` has no value here", "unknown-identifier") from None

    def evaluate_logic(self, expression: syntax.Or | syntax.And, scope: BlockScope) -> bool:
        """`or` and `and`: operands are evaluated up to the first that decides."""
        decisive = isinstance(expression, syntax.Or)
        self.budget.spend(len(expression.operands) // PARTS_PER_WORK)
        for operand in expression.operands:  # any() and all() would take C stack in deep calls
            if is_true(self.evaluate(operand, scope)) == decisive:
                return decisive
        return not decisive

    def evaluate_comparison(self, expression: syntax.Comparison, scope: BlockScope) -> bool:
        """`==` and `!=`."""
        same = values.are_equal(self.evaluate(expression.left, scope), self.evaluate(expression.right, scope))
        return same == (expression.operator == "==")

    def evaluate_object(self, expression: syntax.Object, scope: BlockScope) -> dict[str, Any]:
        """`{ … }`: a new object."""
        size = 1 + len(expression.entries)
        self.budget.spend(1 + size // PARTS_PER_WORK, BYTES_PER_PART * size)
        return {each.key: self.evaluate(each.value, scope) for each in expression.entries}

    def evaluate_list(self, expression: syntax.List, scope: BlockScope) -> list[Any]:
        """`[ … ]`: a new list."""
        size = 1 + len(expression.items)
        self.budget.spend(1 + size // PARTS_PER_WORK, BYTES_PER_PART * size)
        return [self.evaluate(item, scope) for item in expression.items]

    def evaluate_call(self, expression: syntax.FunctionCall, scope: BlockScope) -> Any:
        """Call a function, an agent, or a method of a value."""
        self.budget.spend(1 + len(expression.arguments) // PARTS_PER_WORK)
        if isinstance(expression.function, syntax.Member):
            target = self.evaluate(expression.function.value, scope)
            arguments = [self.evaluate(argument, scope) for argument in expression.arguments]
            return self.call_method(target, expression.function.name, arguments, scope)
        target = self.evaluate(expression.function, scope)
        arguments = [self.evaluate(argument, scope) for argument in expression.arguments]
        if isinstance(target, FunctionValue):
            return self.call(target, arguments, scope)
        if isinstance(target, AgentValue):
            return self.call_agent(target, None, arguments, scope)
        raise ValueProblem(f"{describe_value(target)} cannot be called", "not-callable")

    def call_method(self, target: Any, name: str, arguments: list[Any], scope: BlockScope) -> Any:
        """Call a method of a tool, a memory, an agent, a list or an object."""
        match target:
            case ImportedTool() | ImportedMemory():
                return self.call_import(target, name, arguments)
            case AgentValue():
                return self.call_agent(target, name, arguments, scope)
            case list() if name == "add":
                if len(arguments) != 1:
                    raise ValueProblem(f"`add` takes one item, and not {len(arguments)}", "invalid-argument-count")
                self.budget.spend(size=BYTES_PER_PART)
                target.append(arguments[0])
                return target
            case dict() if isinstance(target.get(name), FunctionValue):
                return self.call(target[name], arguments, scope)
        raise ValueProblem(f"{describe_value(target)} has no method `{name}`", "not-callable")

    def call_import(self, target: ImportedTool | ImportedMemory, method: str, arguments: list[Any]) -> Any:
        """Call a tool or a memory, and note what it was given and gave."""
        use = "be kept in a memory" if isinstance(target, ImportedMemory) else "be given to a tool"
        event = {**target.describe_call(method), "args": copy_value(require_data(arguments, use))}
        try:
            result = target.call(method, arguments)
        except MemoryGraphError as error:
            self.trace.add(target.kind, {**event, "ok": False, "error": str(error)})
            raise
        self.reader(origins_of(result.value))
        self.trace.add(target.kind, {**event, "ok": True, "result": copy_value(result.value), **result.noted()})
        return result.value

    def call_agent(self, target: AgentValue, name: str | None, arguments: list[Any], scope: BlockScope) -> Any:
        """Call a function of an agent, its main one without a name; its events are inside its own."""
        function = find_function(target, name)
        given = copy_value(require_data(arguments, "be given to an agent"))
        with self.trace.inside(
            "agent", {"agent": target.name, "function": function.name, "args": given, "result": None}
        ) as event:
            value = self.call(function, arguments, scope)
            event["result"] = copy_value(require_data(value, "leave its agent"))
        return value

    _STATEMENTS: ClassVar[dict[type, Callable[[Any, Any, BlockScope], ReturnedValue | None]]] = {
        syntax.Config: execute_config,
        syntax.Use: execute_use,
        syntax.Return: lambda self, node, scope: ReturnedValue(self.evaluate(node.value, scope)),
        syntax.Repeat: execute_repeat,
        syntax.For: execute_for,
        syntax.Loop: execute_loop,
        syntax.If: execute_if,
        syntax.Assignment: execute_assignment,
        syntax.ExpressionStatement: execute_evaluation,
    }
    _EXPRESSIONS: ClassVar[dict[type, Callable[[Any, Any, BlockScope], Any]]] = {
        syntax.Or: evaluate_logic,
        syntax.And: evaluate_logic,
        syntax.Not: lambda self, node, scope: not is_true(self.evaluate(node.operand, scope)),
        syntax.Comparison: evaluate_comparison,
        syntax.Member: lambda self, node, scope: values.get_member(self.evaluate(node.value, scope), node.name),
        syntax.Index: lambda self, node, scope: values.get_item(
            self.evaluate(node.value, scope), self.evaluate(node.index, scope)
        ),
        syntax.FunctionCall: evaluate_call,
        syntax.Generate: lambda self, node, scope: self.generation.generate(node, scope, self.evaluate),
        syntax.TextLiteral: lambda _self, node, _scope: node.value,
        syntax.NumberLiteral: lambda _self, node, _scope: node.value,
        syntax.Boolean: lambda _self, node, _scope: node.value,
        syntax.Nothing: lambda _self, _node, _scope: None,
        syntax.Name: evaluate_name,
        syntax.Object: evaluate_object,
        syntax.List: evaluate_list,
    }


def locate_error(error: MemoryGraphError, piece: syntax.AgentScriptSyntax, scope: BlockScope) -> MemoryGraphError:
    """The error with its place in the program; one that has a place already is returned as it is."""
    if isinstance(error, (ScriptError, ConnectionError, LocatedModelError, Cancelled)):
        return error
    source = scope.call.agent.unit.source
    if isinstance(error, ModelError):
        whole, brief = (source.problem(text, "model", piece.span) for text in (str(error), error.brief))
        return LocatedModelError(whole, str(brief))
    return ScriptError([source.problem(str(error), getattr(error, "code", "failed"), piece.span)])


def find_function(agent: AgentValue, name: str | None) -> FunctionValue:
    """A function of an agent by its name; without one the main function."""
    functions = agent.agent.functions
    found = next((f for f in functions if (f.name == name if name is not None else f.main)), None)
    if found is None:
        known = ", ".join(f"`{f.name}`" for f in functions) or "none"
        wanted = f"function `{name}`" if name is not None else "main function"
        raise ValueProblem(f"the agent `{agent.name}` has no {wanted}; its functions: {known}", "unknown-function")
    return FunctionValue(found.name, found, agent)
