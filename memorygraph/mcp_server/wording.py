"""What the tools say in words: outcomes that the form of an answer has no place for, and errors as clients meet them.

Many clients show a model the texts of an answer only, so what happened stands there, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memorygraph.sentences import list_some

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memorygraph.memory.values import EntityOutcome, RelationOutcome

# What errors say of the command line, and the same of the tools.
OF_TOOLS = {
    r"`memorygraph revisions` lists them": "revisions lists them",
    r"`memorygraph revisions --json` lists": "revisions lists",
    r"; `run` allows more with --max-(?:work|seconds|megabytes)": ", and this server allows no more",
    r"allow more with --max-steps": "`max_steps` allows more, as far as this server does",
    r"give it with --input": "give it with `input`",
    r"; (?:allow it with|add|allow this host with|allow files elsewhere with) `--allow-.*?\)(?:, or all of .*?\))?": (
        ", and this server allows it to no program"
    ),
    r"`memorygraph messages list` shows them all": "list_conversations shows them all",
    r"`search` finds ids by text, and `messages forget` forgets a conversation by its name": (
        "search_nodes and recall find what is there; a conversation is forgotten by its name, as `conversation`"
    ),
    r"`search` finds ids by text": "search_nodes and recall find what is there",
    r" yet: `sense` and `step` begin it": "; list_thoughts shows them all",
    r"(`memorygraph (?:doctor --graph|messages verify)` (?:says|names))": r"on the machine of this server \1",
    r"`memorygraph programs forget` takes a stored (program|node graph) away": (
        r"forget takes a stored \1 away for good, by the id that list_programs shows"
    ),
    r"`load --batch (\d+)` stores them in parts": r"send at most \1 at a time",
    r"`delete .+? --batch (\d+)` deletes it in parts": r"delete its edges first, at most \1 at a time",
    r", as `export --at \d+` writes them": "",
    r"--strict (wants|does not allow)": r"`strict` \1",
    r"\. Allow a folder that holds both with `--import-folder .*?` \(in Python: import_folder\)": "",
    r": name one with --model .*?, or set MEMORYGRAPH_MODEL": ", and this server was started without one",
    r"is it running\? `memorygraph doctor` checks .*? its own": "try again in 5 s",
    r"Connect again, and close a driver of your own after its last use": "Try again in 5 s",
    r"`--yes` does not ask": "`dry_run`: false forgets it",
    r"`load --batch \d+` loads a file so, .* take fewer rows at a time": "send less at a time",
    r" \(in Python: [^()]*\)": "",
}


MAX_MISSING = 20  # names in an answer
DRY_RUN = "This was a dry run: nothing was changed."
NOTHING_DELETED = "Nothing of it was there: nothing was deleted."


def say_in_words_of_tools(message: str) -> str:
    """Say what an error says with the names of tools in the place of commands.

    >>> say_in_words_of_tools("no node `x`; `search` finds ids by text")
    'no node `x`; search_nodes and recall find what is there'
    """
    for of_command_line, of_tools in OF_TOOLS.items():
        wanted = of_command_line.replace("`memorygraph ", "`memorygraph(?: -n [^`]+?)? ")
        message = re.sub(wanted, of_tools, message)
    return message


def explain_entities(outcomes: Sequence[EntityOutcome]) -> str:
    """Say what became of each entity of a request, if one was not created as it was asked for."""
    aliases = explain_aliases({each.name: each.alias_of for each in outcomes if each.alias_of})
    if all(each.outcome == "created" for each in outcomes):
        return aliases
    return " ".join(filter(None, [*map(_explain_entity, outcomes), aliases]))


def _explain_entity(outcome: EntityOutcome) -> str:
    name, added = f'"{outcome.name}"', len(outcome.added_observations)
    kept = f' Its type stays "{outcome.entity_type}".' if outcome.entity_type is not None else ""
    if meant := outcome.did_you_mean:
        return f'{name} was not created, did you mean "{meant}"? What was said of it is stored there.{kept}'
    if outcome.outcome == "created":
        return f"{name} was created."
    if not added:
        return f"{name} existed, with all that was said of it: nothing changed.{kept}"
    return f"{name} existed: {added} new observation{'s were' if added > 1 else ' was'} added to it.{kept}"


def explain_relations(outcomes: Sequence[RelationOutcome]) -> str:
    """Say what became of each relation of a request, if one was not created, and which names were aliases."""
    new = {"created": "was created", "exists": "existed: nothing changed"}
    said: Iterator[str] = (
        f'The relation "{each.source}" "{each.relation_type}" "{each.target}" {new.get(each.outcome, each.outcome)}.'
        for each in outcomes
    )
    aliases = explain_aliases({alias: name for each in outcomes for alias, name in (each.aliases or {}).items()})
    return " ".join(filter(None, [*(said if any(each.outcome != "created" for each in outcomes) else ()), aliases]))


def explain_deletion(found: int, wanted: int) -> str:
    """Say how many observations or relations were not there to be deleted.

    >>> explain_deletion(1, 2), explain_deletion(2, 2)
    ('1 of 2 was there, and was deleted.', '')
    """
    if found >= wanted:
        return ""
    was = "was" if found == 1 else "were"
    return f"{found} of {wanted} {was} there, and {was} deleted." if found else NOTHING_DELETED


def explain_missing(names: Sequence[str]) -> str:
    """Say which of the entities that were to be deleted were not there.

    >>> explain_missing(["Bob", "Carol"])
    '"Bob", "Carol" were not there.'
    """
    listed = list_some([f'"{name}"' for name in names], MAX_MISSING)
    return f"{listed} {'was' if len(names) == 1 else 'were'} not there." if names else ""


def explain_alike(alike: Mapping[str, str]) -> str:
    """Say which entities have names that were not there in another case.

    >>> explain_alike({"bob": "Bob"})
    'Did you mean "Bob" by "bob"?'
    """
    return " ".join(f'Did you mean "{name}" by "{given}"?' for given, name in alike.items())


def explain_aliases(aliases: Mapping[str, str]) -> str:
    """Say which entities were meant by aliases."""
    return " ".join(f'"{alias}" is an alias of "{name}".' for alias, name in aliases.items())
