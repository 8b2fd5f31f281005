"""A Docker engine for the tests: the one that runs, or one that is started for them and leaves nothing behind.

Debian's packages bring what it takes: `apt-get install docker.io debootstrap docker-compose`. The engine of the tests
has a socket and data of its own. No registry is needed: its base image is made from Debian's packages.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from memorygraph import EmbeddedServer
from memorygraph.server.installation import install

REPOSITORY = Path(__file__).parents[2]
DEFAULT_BASE = "python:3.12-slim"
BASE_MADE_HERE = "memorygraph-base:test"
NEEDED = ("dockerd", "docker", "debootstrap")
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
COMMAND_TIMEOUT_S = 600.0
MEMORY_OF_ENGINE = 6 << 30
MEMORY_TO_SPARE = 12 << 30
# What tells the programs of this machine how packages are reached; the base image knows it too.
NETWORK_VARIABLES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "REQUESTS_CA_BUNDLE")
NETWORK_FILES = ("etc/pip.conf", "etc/ssl/certs/ca-certificates.crt")


@dataclass(frozen=True)
class Engine:
    """A running engine, and the base of the images that are built with it: None for their own default."""

    environment: Mapping[str, str]
    base: str | None = None

    def run(self, *command: str, stdin: bytes | None = None) -> str:
        """Run a command that talks to the engine, and return what it prints.

        Raises:
            AssertionError: it fails.
        """
        done = subprocess.run(
            command,
            env=dict(self.environment),
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
        output = done.stdout.decode("utf-8", "replace")
        assert done.returncode == 0, f"{' '.join(command)}:\n{output[-4000:]}"
        return output

    def build(self, name: str, tag: str) -> None:
        """Build an image as the README says, from what its `.dockerignore` lets through."""
        base = ["--build-arg", f"BASE={self.base}"] if self.base else []
        dockerfile = f"docker/{name}/Dockerfile"
        with tempfile.TemporaryDirectory() as folder:
            context = Path(folder)
            _copy_context(REPOSITORY / f"{dockerfile}.dockerignore", context)
            file = ["--file", str(REPOSITORY / dockerfile)]
            self.run("docker", "build", "--network", "host", *base, *file, "--tag", tag, folder)


def compose_command() -> list[str] | None:
    """The compose program of this machine, if it has one."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]):
            asked = subprocess.run([*command, "version"], capture_output=True, check=False)
            if asked.returncode == 0:
                return command
    return None


@contextmanager
def running_engine() -> Iterator[Engine]:
    """The engine that runs on this machine; else, in the whole check, one that is started here.

    For an engine that runs, BASE names another base image, as it does for `compose.yaml`.
    """
    environment = dict(os.environ)
    if _answers(environment):
        with tempfile.TemporaryDirectory(prefix="engine-") as work:
            yield Engine(environment, _base_of_running(Engine(environment), Path(work)))
        return
    if not os.environ.get("MEMORYGRAPH_TEST_LARGE"):
        pytest.skip("no Docker engine runs; with MEMORYGRAPH_TEST_LARGE=1 one is started")
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("no Docker engine runs, and only root on Linux can start one")
    if missing := [program for program in NEEDED if not shutil.which(program)]:
        pytest.skip(f"no Docker engine: {', '.join(missing)} is missing: apt-get install docker.io debootstrap")
    with ExitStack() as stack:
        # The path of a socket has 107 characters at most, which pytest's own folders may exceed.
        folder = Path(tempfile.mkdtemp(prefix="engine-"))
        stack.callback(_remove, folder)
        _keep_in_memory(folder)
        environment |= {"DOCKER_HOST": f"unix://{folder}/socket", "DOCKER_BUILDKIT": "0"}
        stack.enter_context(_daemon(folder, environment))
        yield Engine(environment, _base_image(Engine(environment), folder / "base"))


def _keep_in_memory(folder: Path) -> None:
    """Mount memory at the folder of an engine where there is plenty: writing and removing its many files is slow."""
    if psutil.virtual_memory().available >= MEMORY_TO_SPARE:
        options = f"size={MEMORY_OF_ENGINE},mode=700"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)


@contextmanager
def _daemon(folder: Path, environment: Mapping[str, str]) -> Iterator[None]:
    command = ["dockerd", "--host", environment["DOCKER_HOST"], "--data-root", str(folder / "data")]
    command += ["--exec-root", str(folder / "exec"), "--pidfile", str(folder / "pid")]
    had_bridge = Path("/sys/class/net/docker0").exists()
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            until = time.monotonic() + START_TIMEOUT_S
            while not _answers(environment):
                if process.poll() is not None or time.monotonic() > until:
                    pytest.skip(f"a Docker engine does not start here: {_last_line(folder / 'log')}")
                time.sleep(0.2)
            yield
            _remove_containers(environment)
        finally:
            process.terminate()
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
            if not had_bridge:
                subprocess.run(["ip", "link", "delete", "docker0"], capture_output=True, check=False)


def _base_of_running(engine: Engine, folder: Path) -> str | None:
    """Give the base for an engine that runs: None for the images' own, where it can be had."""
    if named := engine.environment.get("BASE"):
        return named
    try:
        engine.run("docker", "pull", DEFAULT_BASE)
    except AssertionError as error:
        if sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("debootstrap"):
            pytest.skip(f"the Docker engine has no base image, and BASE names no other one: {error}")
        return _base_image(engine, folder / "base")
    return None


def _remove_containers(environment: Mapping[str, str]) -> None:
    engine = Engine(environment)
    if left := engine.run("docker", "ps", "--all", "--quiet").split():
        engine.run("docker", "rm", "--force", *left)


def _base_image(engine: Engine, root: Path) -> str:
    """Make a base image from the packages of this Debian, with Neo4j's files that this machine has already."""
    suite = platform.freedesktop_os_release().get("VERSION_CODENAME", "stable")
    include = "--include=ca-certificates,python3,python3-venv"
    made = subprocess.run(["debootstrap", "--variant=minbase", include, suite, root], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"debootstrap cannot make a base image: {made.stdout.decode(errors='replace').splitlines()[-1:]}")
    for name in ("var/cache/apt/archives", "var/lib/apt/lists"):
        shutil.rmtree(root / name)
        (root / name).mkdir()
    for name in NETWORK_FILES:
        if Path("/", name).exists():
            shutil.copy(Path("/", name), root / name)
    artifacts = EmbeddedServer().artifacts
    libraries = root / "opt" / "neo4j" / "lib"
    libraries.mkdir(parents=True)
    for jar in install(artifacts):
        shutil.copy(jar, libraries)
    change = [f"ENV {name}={os.environ[name]}" for name in NETWORK_VARIABLES if os.environ.get(name)]
    archive = root.with_suffix(".tar")
    subprocess.run(["tar", "-C", root, "-cf", archive, "."], check=True)
    shutil.rmtree(root)
    engine.run("docker", "import", *(f"--change={each}" for each in change), str(archive), BASE_MADE_HERE)
    archive.unlink()
    try:
        engine.run("docker", "run", "--rm", BASE_MADE_HERE, "true")
    except AssertionError as error:
        pytest.skip(f"the Docker engine of this machine cannot run a container: {error}")
    return BASE_MADE_HERE


def _copy_context(ignore_file: Path, folder: Path) -> None:
    """Copy what a `.dockerignore` lets through, which the older builder reads at another place only."""
    lines = ignore_file.read_text("utf-8").splitlines()
    for name in (line.removeprefix("!") for line in lines if line.startswith("!")):
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, folder / name)


def _answers(environment: Mapping[str, str]) -> bool:
    with suppress(OSError, subprocess.TimeoutExpired):
        command = ["docker", "version"]
        asked = subprocess.run(command, env=dict(environment), capture_output=True, timeout=20, check=False)
        return asked.returncode == 0
    return False


def _last_line(log: Path) -> str:
    return log.read_text("utf-8", "replace").rstrip().rpartition("\n")[2]


def _remove(folder: Path) -> None:
    """Remove the folder of an engine, and what it left mounted there."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text("utf-8").splitlines()]
    for mount in sorted((each for each in mounts if Path(each).is_relative_to(folder)), reverse=True):
        subprocess.run(["umount", "--lazy", mount], check=False)
    shutil.rmtree(folder, ignore_errors=True)
