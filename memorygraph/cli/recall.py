"""The commands `recall` and `evaluate`."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from memorygraph.cli.output import count_progress, json_option, print_json, print_table, print_text, say
from memorygraph.cli.settings import Settings


@click.command("recall")
@click.argument("text")
@click.option("--budget", default="2k", show_default=True, metavar="2k|500t", help="Characters or tokens to show.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="Hits at most.")
@click.option("--conversation", metavar="NAME", help="Only messages of this conversation, and any node.")
@click.option(
    "--at",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    metavar="TIME",
    help="When it is asked, for words like yesterday.",
)
@click.option("--no-steps", is_flag=True, help="Only what fits by itself, not what stands beside it.")
@json_option
@click.pass_obj
def recall_command(
    settings: Settings,
    *,
    text: str,
    budget: str,
    limit: int,
    conversation: str | None,
    at: datetime | None,
    no_steps: bool,
    as_json: bool,
) -> None:
    """Show what a text brings to mind: nodes and messages, best first, as a prompt gets them.

    Found by words, and with MEMORYGRAPH_EMBEDDING_MODEL by meaning; --json has each hit with its source and score.
    """
    asked = at.replace(tzinfo=UTC) if at else None
    with settings.connect() as graph:
        found = graph.recall(text, budget, limit=limit, at=asked, conversation=conversation, steps=not no_steps)
    if as_json:
        print_json(found.as_dict())
    elif found.hits:
        print_text(str(found))
    else:
        say("nothing comes to mind")


@click.command("evaluate")
@click.argument("folder", metavar="DIR")
@click.option("--facts", is_flag=True, help="Store the speakers' facts as well.")
@json_option
@click.pass_obj
def evaluate_command(settings: Settings, *, folder: str, facts: bool, as_json: bool) -> None:
    """Measure recall: how much of the evidence is among the first 5, 10 and 20 hits.

    DIR holds conversations in the LoCoMo format, one JSON file each.
    """
    with settings.connect() as graph, count_progress("asking") as bar:

        def heard(_done: int, total: int) -> None:
            bar.total(total)
            bar.advance(1)

        found = graph.evaluate(folder, facts=facts, progress=heard)
    if as_json:
        print_json(found.as_dict())
        return
    figures = {"all": found.total, **{f"category {name}": of for name, of in found.categories.items()}}
    rows = [(name, *map(str, of.as_dict().values())) for name, of in figures.items()]
    print_table(("questions", "count", "recall@5", "recall@10", "recall@20"), rows)
