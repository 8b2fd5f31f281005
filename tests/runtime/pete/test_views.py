"""Views: folding, unfolding, and what is left out where room is short."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorygraph.budget import Budget
from memorygraph.context.tokens import count_tokens
from memorygraph.languages import parse
from memorygraph.languages.pete.syntax import PeteProgram
from memorygraph.runtime.pete.log import Frame, LogEntry
from memorygraph.runtime.pete.views import View, view
from tests.examples import examples
from tests.runtime.pete.logs import Seen, entry, frame, frames, logs

BUDGETS = st.builds(
    lambda amount, unit: Budget.parse(f"{amount}{unit}"),
    st.one_of(st.integers(1, 300), st.integers(1, 3000)),
    st.sampled_from(["", "t"]),
)
thorough = settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def measured(text: str, budget: Budget) -> int:
    return count_tokens(text) if budget.in_tokens else len(text)


def innermost(root: Frame) -> Frame:
    return [found for found in frames(root) if found.open][-1] if root.open else root


def assert_readable(seen: View, root: Frame) -> None:
    """A view is a log with the same contexts open."""
    program = parse(seen.text, "pete")
    assert isinstance(program, PeteProgram)
    assert [problem for problem in program.problems if problem.code == "syntax"] == []
    assert [opening.name for opening in program.open_frames] == [f.name for f in frames(root) if f.open]


def heat() -> Frame:
    """A log of a hot afternoon: 1 main, 2 cool (closed), 3 walk (open)."""
    main = frame(None, 1, "context main(&travis) {")
    entry(main, "annotation", "\n  @[time: 12:30]")
    entry(main, "instantiation", "\n  &heat = /* the heat in the lab */")
    entry(main, "fact", "\n  &travis doesn't like &heat.")
    cool = frame(main, 2, "\n  context cool(&heat) {", tail="\n  }", tldr="turned the fan on")
    entry(cool, "comment", "\n    // The fan should help, if it stands where it should, and there is power for it.")
    entry(cool, "command", '\n    @fan, set {"speed": 2}')
    entry(cool, "feedback", ' >> {"ok": true}')
    entry(cool, "tldr", "\n    tl;dr /* turned the fan on */")
    entry(main, "sensorreport", '\n  !! thermometer { "temperature": 30 }')
    walk = frame(main, 3, "\n  context walk(&heat) {")
    entry(walk, "comment", "\n    // It is still hot; a walk outside might be a good idea.")
    entry(walk, "command", "\n    look")
    entry(walk, "feedback", ' >> {"weather": "rain"}')
    return main


VIEWS = {
    "360": """context main(&travis) {
  @[time: 12:30]
  &heat = /* the heat in the lab */
  &travis doesn't like &heat.
  context cool(&heat) = memory:2 /* turned the fan on */
  !! thermometer { "temperature": 30 }
  context walk(&heat) {
    // It is still hot; a walk outside might be a good idea.
    look >> {"weather": "rain"}""",
    "280": """context main(&travis) {
  @[time: 12:30]
  &heat = /* the heat in the lab */
  // 2 statements of memory:1 are out of view
  !! thermometer { "temperature": 30 }
  context walk(&heat) {
    // It is still hot; a walk outside might be a good idea.
    look >> {"weather": "rain"}""",
    "60t": """context main(&travis) {
  // 5 statements of memory:1 are out of view
  context walk(&heat) {
    // It is still hot; a walk outside might be a good idea.
    look >> {"weather": "rain"}""",
    "1": """context main(&travis) {
  // 5 statements of memory:1 are out of view
  context walk(&heat) {
    // 3 statements of memory:3 are out of view
""",
}


def test_the_whole_log_is_in_view_without_a_budget_or_within_a_large_one() -> None:
    whole = heat().text
    for budget in (None, Budget.parse(str(len(whole))), Budget.parse(f"{count_tokens(whole)}t")):
        assert view(heat(), budget).text == whole


@pytest.mark.parametrize("budget", VIEWS)
def test_views(budget: str) -> None:
    assert view(heat(), Budget.parse(budget)).text == VIEWS[budget]


@pytest.mark.parametrize(
    ("tldr", "expected"),
    [
        (None, "context a(&x, &y) = memory:7"),
        (" \n ", "context a(&x, &y) = memory:7"),
        (" it\n  is *done* ", "context a(&x, &y) = memory:7 /* it is *done* */"),
        ("x" * 200, f"context a(&x, &y) = memory:7 /* {'x' * 200} */"),
        ("x" * 201, f"context a(&x, &y) = memory:7 /* {'x' * 199}… */"),
    ],
)
def test_folding_a_context(tldr: str | None, expected: str) -> None:
    assert frame(None, 7, "\n context a( &x,&y ) {", tail="}", tldr=tldr).folded == expected


def test_folding_by_wish() -> None:
    seen = view(heat(), folded=[2])
    assert seen.text == VIEWS["360"]
    assert [(unused.label, unused.reason) for unused in seen.unused] == [
        ("context cool = memory:2", "it is folded, as was asked")
    ]


def test_a_context_inside_one_that_is_unfolded_can_be_folded() -> None:
    main = frame(None, 1, "context main() {")
    outer = frame(main, 2, " context outer() {", tail=" }")
    inner = frame(outer, 3, "\n context inner() {", tail="\n }")
    entry(inner, "comment", "\n // A thought that is long enough to be folded away.")
    seen = view(main, folded=[3])
    assert seen.text == "context main() { context outer() {\n context inner() = memory:3 }"
    assert [(item.source, item.strategy) for item in seen.items] == [
        ("context main = memory:1", "none"),
        ("context outer = memory:2", "fold"),
    ]
    assert [unused.label for unused in seen.unused] == ["context inner = memory:3"]


def test_a_context_that_would_not_be_shorter_stays() -> None:
    main = frame(None, 1, "context main() {")
    frame(main, 2, " context a() {", tail=" }")
    assert view(main, folded=[2]).text == main.text


def test_open_contexts_are_never_folded() -> None:
    assert view(heat(), folded=[1, 3]).text == heat().text


def test_a_folded_context_is_apart_from_a_word_behind_it() -> None:
    main = frame(None, 1, "context main() {")
    inner = frame(main, 2, "context inner() {", tail="}")
    entry(inner, "comment", "\n// A thought that is long enough.\n")
    entry(main, "command", "look")
    assert view(main, folded=[2]).text == "context main() {context inner() = memory:2 look"


def test_what_is_out_of_view_leaves_a_line_of_its_own() -> None:
    main = frame(None, 1, "context main() {")
    for number in range(10_000):
        entry(main, "fact", f" &travis has {number}.")
    seen = view(main, Budget.parse("100"))
    assert seen.text == "context main() {\n // 9,999 statements of memory:1 are out of view\n &travis has 9999."


def test_a_statement_brings_what_its_handles_are() -> None:
    main = frame(None, 1, "context main() {")
    entry(main, "instantiation", "\n  &lab = /* the lab */")
    for _ in range(100):
        entry(main, "fact", "\n  &travis likes &fan.")
    entry(main, "instantiation", "\n  &heat = /* the heat in the lab */")
    for _ in range(100):
        entry(main, "comment", "\n  // Nothing happens.")
    entry(main, "fact", "\n  &travis doesn't like &heat.")
    seen = view(main, Budget.parse("400"))
    assert "&heat = /* the heat in the lab */" in seen.text
    assert "&fan" not in seen.text


def test_a_child_knows_what_it_was_passed() -> None:
    main = frame(None, 1, "context main() {")
    entry(main, "instantiation", "\n  &heat = /* the heat in the lab */")
    for _ in range(100):
        entry(main, "comment", "\n  // Nothing happens.")
    child = frame(main, 2, "\n  context walk(&heat) {")
    for _ in range(100):
        entry(child, "comment", "\n    // Nothing happens here.")
    assert "&heat = /* the heat in the lab */" in view(main, Budget.parse("600")).text


def test_contexts_are_unfolded_where_room_is_left_and_those_that_are_mentioned_first() -> None:
    main = frame(None, 1, "context main() {")
    for address, name in enumerate(["first", "second", "third"], 2):
        child = frame(main, address, f"\n  context {name}() {{", tail="\n  }")
        entry(child, "comment", f"\n    // {'word ' * 40}")
    entry(main, "fact", "\n  &first is 1.")
    seen = view(main, Budget.parse("400"))
    assert [(item.value, item.strategy) for item in seen.items] == [(1, "none"), (2, "none"), (3, "fold"), (4, "fold")]
    assert [item.value for item in view(main, Budget.parse("600")).items if item.strategy == "none"] == [1, 2, 4]


def test_a_wish_to_unfold_comes_first() -> None:
    main = frame(None, 1, "context main() {")
    old = frame(main, 2, "\n  context old() {", tail="\n  }")
    inner = frame(old, 3, "\n    context inner() {", tail="\n    }")
    entry(inner, "comment", f"\n      // {'word ' * 20}")
    for number in range(200):
        entry(old, "fact", f"\n    &old has {number}.")
    for number in range(200):
        entry(main, "fact", f"\n  &main has {number}.")
    seen = view(main, Budget.parse("1000"), unfolded=[3])
    assert inner.text in seen.text
    assert "&main has 199." in seen.text
    partly = view(main, Budget.parse("1000"), unfolded=[2])
    assert "&old has 199." in partly.text
    assert "&main has 199." in partly.text
    assert "memory:2 are out of view" in partly.text


def test_a_wish_that_has_no_room_is_told() -> None:
    main = frame(None, 1, "context main() {")
    for address in (2, 3):
        child = frame(main, address, f"\n  context a{address}() {{", tail="\n  }")
        entry(child, "command", f'\n    write {{"text": "{"word " * 100}"}}')
    seen = view(main, Budget.parse("60"), unfolded=[2])
    assert ("context a2 = memory:2", "it was to be unfolded, and has no room") in [
        (unused.label, unused.reason) for unused in seen.unused
    ]


def test_the_smallest_view_may_be_too_large() -> None:
    seen = view(heat(), Budget.parse("20t"))
    assert not seen.fits
    assert seen.size == count_tokens(seen.text)


@pytest.mark.slow
def test_ten_thousand_contexts_in_each_other() -> None:
    root = inner = frame(None, 1, "context main() {")
    for number in range(10_000):
        entry(inner, "comment", f"\n// {number} and more, which is said at length, so that a line can be shorter.")
        inner = frame(inner, number + 2, "\ncontext a() {")
    assert view(root).text == root.text
    assert not view(root, Budget.parse("4k")).fits
    for index, closed in enumerate(list(inner.path())[:0:-1]):
        closed.tail = "}" if index else "\n}"
    seen = view(root, Budget.parse("4k"), unfolded=[9_000])
    assert seen.fits
    assert seen.text == "context main() {\n// 0 and more, which is said at length, so that a line can be shorter." + (
        "\ncontext a() = memory:2"
    )


@thorough
@given(logs(), BUDGETS)
def test_a_view_is_a_part_of_its_log_within_its_budget(root: Frame, budget: Budget) -> None:
    before = list(root.texts())
    seen = view(root, budget)
    assert seen == view(root, budget)
    assert list(root.texts()) == before
    assert seen.size == measured(seen.text, budget)
    assert seen.fits == (seen.size <= budget.limit)
    for of, first, end in Seen.of(seen.text, root).runs:
        for at in (first, end):
            part = of.parts[at] if at < len(of.parts) else None
            assert not (isinstance(part, LogEntry) and part.kind == "feedback")
    if measured(root.text, budget) <= budget.limit:
        assert seen.text == root.text


@thorough
@given(logs(), BUDGETS)
def test_a_view_is_a_log(root: Frame, budget: Budget) -> None:
    assert_readable(view(root), root)
    assert_readable(view(root, budget), root)


@thorough
@given(logs(), BUDGETS, st.data())
def test_views_by_wish_are_logs(root: Frame, budget: Budget, data: st.DataObject) -> None:
    all_frames = list(frames(root))
    addresses = st.sets(st.sampled_from([found.address for found in all_frames]))
    folded, unfolded = data.draw(addresses), data.draw(addresses)
    seen = view(root, budget, folded=folded, unfolded=unfolded)
    assert_readable(seen, root)
    assert seen.size == measured(seen.text, budget)
    shown = Seen.of(seen.text, root)
    names = [unused.label for unused in seen.unused]
    assert all(f"context {found.name} = memory:{found.address}" in names for found in shown.folded)
    if not budget.in_tokens:
        assert sum(item.clipped_size for item in seen.items) == seen.size
        assert sum(item.original_size for item in seen.items) == len(root.text)
    smallest = view(root, Budget.parse(f"1{budget.unit}"), folded=folded)
    assert seen.fits or smallest.size > budget.limit
    path = innermost(root).path()
    assert not [found for found in all_frames if found in path and found in shown.folded]


@thorough
@given(logs(), st.data())
def test_folding_and_unfolding_give_the_same_bytes(root: Frame, data: st.DataObject) -> None:
    addresses = st.sets(st.sampled_from([found.address for found in frames(root)]))
    folded = data.draw(addresses)
    first = view(root, folded=folded)
    assert view(root, unfolded=folded).text == root.text
    assert view(root, folded=folded) == first
    shown = Seen.of(first.text, root)
    assert {found.address for found in shown.folded} <= folded
    assert not shown.runs
    assert_readable(first, root)


@thorough
@given(logs(), BUDGETS)
def test_the_trace_adds_up(root: Frame, budget: Budget) -> None:
    seen = view(root, budget)
    shown = Seen.of(seen.text, root)
    items = {item.value: item for item in seen.items}
    assert len(items) == len(seen.items)
    assert [item.index for item in seen.items] == list(range(len(seen.items)))
    assert sum(len(item.text) for item in seen.items) == len(seen.text)
    if not budget.in_tokens:
        assert sum(item.clipped_size for item in seen.items) == seen.size
        assert sum(item.original_size for item in seen.items) == len(root.text)
    assert {found.address for found in shown.folded} == {n for n, item in items.items() if item.strategy == "fold"}
    assert {of.address for of, _, _ in shown.runs} == {n for n, item in items.items() if item.strategy == "items"}
    reasons = {unused.label: unused.reason for unused in seen.unused}
    assert all(reasons[items[found.address].source] for found in shown.folded)
    assert sum("statement" in label for label in reasons) <= len(shown.runs)
    assert all(unused.budget == budget for unused in seen.unused)


@thorough
@given(logs(), st.integers(1, 1000))
def test_the_last_entry_of_the_current_context_is_in_view_wherever_it_has_room(root: Frame, limit: int) -> None:
    current = innermost(root)
    if not current.parts:
        return
    last = current.parts[-1]
    smallest = view(root, Budget.parse("1"))
    asked = [part for part in current.parts[-2:] if isinstance(part, LogEntry)]
    size = len(last.folded + last.lead) if isinstance(last, Frame) else sum(len(part.text) for part in asked)
    if smallest.size + size <= limit:
        shown = Seen.of(view(root, Budget.parse(str(limit))).text, root)
        assert id(last) in shown.shown or last in shown.folded


@thorough
@given(logs(), st.integers(1, 3000), st.data())
def test_wishes_to_unfold_win(root: Frame, limit: int, data: st.DataObject) -> None:
    wish = data.draw(st.sampled_from(list(frames(root))))
    path = sum(len(found.head) + len(found.tail or "") + 150 for found in wish.path())
    smallest = view(root, Budget.parse("1"))
    if not wish.open and smallest.size + path + 2 * len(wish.text) + 400 <= limit // 2:
        seen = view(root, Budget.parse(str(limit)), unfolded=[wish.address])
        assert wish.text in seen.text
