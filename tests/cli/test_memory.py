"""The commands of the memory: `recall`, `evaluate`, `import`, `adopt`, `export --format server-memory`, `serve`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from memorygraph import MemoryGraph
from tests.cli.test_commands import document, memorygraph
from tests.shared_neo4j import new_namespace

pytestmark = pytest.mark.usefixtures("environment")

CONVERSATIONS = Path(__file__).parent.parent / "memory" / "conversations"
CHATS = CONVERSATIONS.with_name("chats")
LINES = [
    {"type": "entity", "name": "Ada Lovelace", "entityType": "person", "observations": ["likes tea", "wrote programs"]},
    {"type": "entity", "name": "engine", "entityType": "machine", "observations": []},
    {"type": "relation", "from": "Ada Lovelace", "to": "engine", "relationType": "works at"},
]


def test_recall_shows_what_a_text_brings_to_mind_with_its_source() -> None:
    document("load", "-", stdin='Node(node_id="tea", name="Green tea", data="Ada drinks it at noon.");')
    found = document("recall", "When does Ada drink tea?")
    assert [(hit["id"], hit["source"]) for hit in found["hits"]] == [("tea", "fulltext")]
    shown = memorygraph("recall", "When does Ada drink tea?").stdout
    assert "node tea" in shown
    assert "Ada drinks it at noon." in shown
    assert memorygraph("recall", "zebra").stderr.strip() == "nothing comes to mind"
    assert memorygraph("recall", "What is gren?").stderr == "nothing comes to mind; did you mean Green tea?\n"
    assert memorygraph("search", "gren").stderr == "nothing found; did you mean Green tea?\n"
    assert [hit["id"] for hit in document("search", "gren", "--fuzzy")] == ["tea"]
    cut = memorygraph("recall", "tea", "--budget", "1t")
    assert (cut.stdout, cut.stderr) == ("", "1 of 1 hit left out: --budget 1t has no room\n")
    assert document("recall", "tea", "--budget", "much", code=1)["errors"]


def test_what_is_said_in_a_conversation_is_recalled_and_a_prompt_of_a_run_is_not(environment: str) -> None:
    with MemoryGraph.connect(namespace=environment) as graph:
        graph.messages("talk").append({"role": "user", "content": "My parrot is called Paco."})
        graph.run(
            'import llm M from "openai://m" main agent A { model M role "parrot" description "parrot" '
            'main func() { return generate({ input: "parrot" }) { return { ok boolean } } } }',
            mock=True,
        )
    hits = document("recall", "parrot")["hits"]
    assert [(hit["conversation"], hit["text"]) for hit in hits] == [("talk", "My parrot is called Paco.")]


@pytest.mark.slow
def test_recall_takes_filters(environment: str) -> None:
    with MemoryGraph.connect(namespace=environment) as graph:
        graph.messages("talk").append({"role": "user", "name": "Ada", "content": "My parrot is called Paco."})
        graph.messages("talk").append({"role": "assistant", "content": "A parrot!"})
    document("load", "-", stdin='Node(node_id="parrot", name="Parrot", data="a bird");')
    at = "2024-05-01T13:30:00+02:00"
    for options, count in {
        ("--at", at): 3,
        ("--since", at, "--at", at): 2,
        ("--role", "assistant"): 1,
        ("--speaker", "ada"): 1,
        ("--conversation", "talk"): 2,
        ("--since", "2020-01-01", "--until", "2999-12-31"): 2,
        ("--until", "2020-01-01"): 0,
    }.items():
        assert len(document("recall", "parrot", *options)["hits"]) == count, options
    [error] = document("recall", "parrot", "--since", "soon", code=1)["errors"]
    assert "invalid `since`: 'soon' is no time such as 2024-05-01" in error["message"]
    assert document("recall", "parrot", "--kind", "bird", code=1)["errors"]


def test_the_switches_of_recall_do_what_they_do_in_python(environment: str) -> None:
    def texts(*arguments: str) -> list[str]:
        return [hit["text"] for hit in document("recall", *arguments)["hits"]]

    with MemoryGraph.connect(namespace=environment) as graph:
        talk = graph.messages("talk")
        talk.append({"role": "user", "content": (user := "On Sundays I walk down to the harbour with my dogs.")})
        talk.append({"role": "assistant", "content": (told := "The harbour! What a harbour. I like the harbour.")})
        plain, wish = "Python code is fun.", "Always add a comment to it when I ask you about Python code."
        for said in (plain, wish):
            graph.messages(said).append({"role": "user", "content": said})
    assert texts("harbour", "--no-steps") == [user, told]
    assert texts("harbour", "--no-steps", "--no-roles") == [told, user]
    assert texts("dogs") == [user]
    assert texts("dogs", "--no-roles") == [user, told]
    assert texts("dogs", "--no-roles", "--no-steps") == [user]
    assert texts("Write Python code") == [wish, plain]
    assert texts("Write Python code", "--no-intent") == [plain, wish]


def test_recall_takes_a_kind_and_a_verb_of_nodes(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in LINES), "utf-8")
    document("import", str(file))
    for question, options, names in (
        ("likes tea", ("--kind", "person"), ["Ada Lovelace"]),
        ("engine", ("--kind", "machine"), ["engine"]),
        ("engine", ("--verb", "works at"), ["engine", "Ada Lovelace"]),
    ):
        assert [hit["name"] for hit in document("recall", question, *options)["hits"]] == names


def test_a_file_of_the_reference_server_comes_in_and_goes_out_again(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in LINES), "utf-8")
    assert document("import", str(file))["edges_created"] == 3
    assert document("import", str(file))["nodes_created"] == 0
    assert memorygraph("import", str(file)).stderr.startswith("nothing changed; no new revision of namespace ")
    exported = memorygraph("export", "--format", "server-memory").stdout
    assert [json.loads(line) for line in exported.splitlines()] == LINES


def test_a_bad_line_of_such_a_file_is_named_and_nothing_is_stored(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text(json.dumps(LINES[0]) + "\n{broken\n", "utf-8")
    errors = document("import", str(file), code=1)["errors"]
    assert [(error["file"], error["line"]) for error in errors] == [(str(file), 2)]
    assert memorygraph("export", "--format", "server-memory").stdout == ""


@pytest.mark.slow
def test_a_bundle_goes_out_and_comes_in_under_another_name(tmp_path: Path) -> None:
    file, other = tmp_path / "memory.jsonl", new_namespace()
    file.write_text("\n".join(json.dumps(line) for line in LINES), "utf-8")
    document("import", str(file))
    bundle = memorygraph("export", "--format", "bundle", "--strict")
    assert (bundle.returncode, bundle.stderr) == (0, "")
    file.write_text(bundle.stdout, "utf-8")
    report = document("-n", other, "import", "--format", "bundle", str(file))
    assert (report["namespace"], report["errors"], report["left_out"]) == (other, [], {})
    again = memorygraph("-n", other, "export", "--format", "bundle").stdout
    assert again.splitlines()[1:] == bundle.stdout.splitlines()[1:]
    refused = memorygraph("import", "--format", "bundle", str(file))
    assert (refused.returncode, "is not empty" in refused.stderr) == (1, True)
    file.write_text(bundle.stdout[:-20], "utf-8")
    [error] = document("-n", new_namespace(), "import", "--format", "bundle", str(file), code=1)["errors"]
    assert (error["code"], error["line"]) == ("cut-bundle", len(bundle.stdout.splitlines()))
    assert memorygraph("export", "--format", "bundle", "--at", "1").returncode == 2


def test_what_contextscript_cannot_say_is_listed_and_strict_fails(tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in LINES), "utf-8")
    document("import", str(file))
    exported = memorygraph("export")
    assert exported.returncode == 0
    assert "not in this export; --format bundle has all of a namespace:" in exported.stderr
    assert "types of entities: " in exported.stderr
    strict = memorygraph("export", "--strict")
    assert (strict.returncode, strict.stdout, strict.stderr) == (1, exported.stdout, exported.stderr)
    world = tmp_path / "world.ctx"
    world.write_text(exported.stdout, "utf-8")
    other = new_namespace()
    document("-n", other, "load", str(world))
    plain = memorygraph("-n", other, "export", "--strict")
    assert (plain.returncode, plain.stdout, plain.stderr) == (0, exported.stdout, "")


def test_what_is_not_there_cannot_be_adopted() -> None:
    assert "mcp-neo4j-memory" in document("adopt", code=1)["errors"][0]["message"]


def test_evaluate_prints_the_recall_of_the_evidence_with_and_without_facts() -> None:
    plain, facts = document("evaluate", str(CONVERSATIONS)), document("evaluate", str(CONVERSATIONS), "--facts")
    assert plain["questions"] == facts["questions"] > 10
    assert 0 < plain["recall_at_5"] <= plain["recall_at_10"] <= plain["recall_at_20"] <= 100
    assert set(plain["categories"]) == set(facts["categories"])
    assert "recall@10" in memorygraph("evaluate", str(CONVERSATIONS)).stdout
    assert document("evaluate", str(CONVERSATIONS / "nothing"), code=1)["errors"]


def test_evaluate_prints_the_figures_of_each_kind_and_the_time_of_a_recall() -> None:
    shown = memorygraph("evaluate", str(CHATS), "--format", "beam", "--k", "1,3")
    heads, _, *rows = (line.split() for line in shown.stdout.splitlines())
    assert heads == ["questions", "count", "recall@1", "recall@3", "all@1", "all@3"]
    assert [(row[:-5], row[-5]) for row in rows] == [
        (["all"], "2"),
        (["category", "contradiction_resolution"], "1"),
        (["category", "information_extraction"], "1"),
    ]
    assert rows[2][-4:] == ["100.0"] * 4
    assert re.search(r"all of the evidence was found for 50\.0 % at 1, \d+\.\d % at 3\n", shown.stderr)
    times = r"a recall took \d+ ms in the median, \d+ ms at the 95th percentile, with 8 messages stored\n"
    assert re.search(times, shown.stderr)


def test_a_server_for_others_needs_tokens() -> None:
    refused = memorygraph("serve", "--transport", "http", "--host", "0.0.0.0", "--port", "0")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "--tokens FILE" in refused.stderr
    assert memorygraph("serve", "--token", "a=b").returncode == 2
