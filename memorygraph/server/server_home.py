"""The folder of one embedded server: its configuration, password and logs, their lock, and its maintenance."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memorygraph.errors import ConnectionError
from memorygraph.home import refuse_foreign, write_private
from memorygraph.server import admin_tool
from memorygraph.server import process as server_process
from memorygraph.server.certificate import make_certificate
from memorygraph.server.settings import Endpoints, first_password_record, has_certificate

# On a full disk Neo4j does not end but waits for room, and its clients with it.
MIN_FREE_BYTES = 64 * 2**20


class ServerHome:
    """The files of one server, whether it runs or not."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.logs = folder / "logs"
        self.password_file = folder / "password"
        # Where Neo4j looks for them: its configuration has no quotes for the name of a home.
        self.certificate_file = folder / "certificates" / "bolt" / "public.crt"
        self.private_key_file = self.certificate_file.with_name("private.key")
        self.configuration = folder / "conf" / "neo4j.conf"
        self.jvm_arguments = folder / "conf" / "jvm.args"

    @property
    def endpoints(self) -> Endpoints | None:
        """Where the server listens; None if it was never started."""
        return Endpoints.read(self.configuration)

    @property
    def has_identity(self) -> bool:
        """Whether the server was last started with a certificate; one of an earlier memorygraph was not."""
        return self.certificate_file.exists() and has_certificate(self.configuration)

    def configure(self, endpoints: Endpoints) -> None:
        """Write the configuration of a server with these endpoints."""
        write_private(self.configuration, endpoints.configuration())

    def password(self) -> str:
        """Read the password of the user `neo4j`."""
        try:
            return self.password_file.read_text("utf-8-sig").strip()  # some editors begin a file with a mark
        except FileNotFoundError:
            raise ConnectionError(f"there is no password file {self.password_file}: run `memorygraph up`") from None
        except UnicodeDecodeError:
            raise ConnectionError(
                f"the password file {self.password_file} is not text in UTF-8: save it as that, with the password alone"
            ) from None
        except OSError as error:
            raise ConnectionError(
                f"the password file {self.password_file} cannot be read: {error.strerror or error}. Make it a file "
                "that this user can read, with the password alone"
            ) from error

    def make(self) -> None:
        """Create the folder if it is missing, and keep others out of it."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(self.folder.stat().st_mode) & 0o077:
            self.folder.chmod(0o700)
        if (free := shutil.disk_usage(self.folder).free) < MIN_FREE_BYTES:
            raise OSError(errno.ENOSPC, f"only {free // 2**20} MB are free", str(self.folder))

    def prepare_password(self) -> None:
        """Choose a password before the first start; each step can be cut short and repeated."""
        has_started_before = (self.data / "databases" / "system").exists()
        if not self.password_file.exists():
            if has_started_before:
                raise ConnectionError(
                    f"{self.data} holds a graph, but its password file {self.password_file} is lost. Put the password "
                    "back into that file, or move the data folder away to begin an empty graph."
                )
            write_private(self.password_file, secrets.token_urlsafe(24))
        self.password_file.chmod(0o600)
        if not has_started_before:
            write_private(self.data / "dbms" / "auth.ini", first_password_record(self.password()))

    def prepare_certificate(self) -> None:
        """Make the certificate before the first start; each step can be cut short and repeated."""
        if self.private_key_file.exists() and self.certificate_file.exists():
            return
        self.certificate_file.unlink(missing_ok=True)
        private_key, certificate = make_certificate()
        write_private(self.private_key_file, private_key)
        write_private(self.certificate_file, certificate)

    @contextmanager
    def locked(self, timeout_s: float) -> Iterator[None]:
        """Keep every other process from starting or stopping the server, and from its files."""
        from filelock import FileLock, Timeout

        try:
            with FileLock(self.folder / "server.lock", timeout=timeout_s):
                yield
        except Timeout as error:
            raise ConnectionError(
                f"another process has been starting, stopping, saving or restoring the server of {self.folder} for "
                "too long. Wait for its end or end it, then try again."
            ) from error

    @contextmanager
    def accessed(self) -> Iterator[None]:
        """Refuse a home of another user before anything is read, and explain errors of the operating system."""
        try:
            for path in (self.folder, self.password_file, self.private_key_file, self.certificate_file):
                refuse_foreign(path)
            yield
        except OSError as error:
            place = error.filename or self.folder
            raise ConnectionError(
                f"the embedded Neo4j cannot use {place}: {error.strerror or error}. "
                "Make room or set the rights, or name another folder with MEMORYGRAPH_HOME."
            ) from error


class Workspace:
    """The folder of a home for work on its database while the server is stopped. Changing it takes the home's lock.

    A restore builds the new data there, and keeps the former data there until Neo4j runs with the new. It may be killed
    at any moment: the next start of the server calls `recover` before it begins, and `clear` when the server answers.
    So there is always a graph in the home. Data that is a link to another disk is moved as a link: one that is
    relative leads to nothing meanwhile.
    """

    def __init__(self, home: Path) -> None:
        self.folder = home / "maintenance"
        self.new_data = self.folder / "data"
        self.former_data = self.folder / "former"
        self.copy_home = self.folder / "copy"
        self.source_home = self.folder / "source"
        self._refuse = home / "maintenance.done"
        self._home = home
        self._data = home / "data"

    @contextmanager
    def used(self) -> Iterator[None]:
        """Begin with an empty folder, and remove it at the end, unless it holds former data that nothing replaced."""
        self.begin()
        try:
            yield
        finally:
            work_to_the_end(self.recover)  # what an interrupt has left running would be lost with its folder
            if not os.path.lexists(self.former_data):
                self.clear()

    def begin(self) -> None:
        """Make an empty folder, whatever an earlier use has left."""
        self.recover()
        self.clear()
        self.folder.mkdir(mode=0o700)

    def recover(self) -> None:
        """Repair what a killed use has left: end its tools, and give the home its data back."""
        if not self.folder.exists():
            return
        for home in (self._home, self.copy_home):
            admin_tool.end_all(home)
        for home in (self.copy_home, self.source_home):
            if copying := server_process.find_server(home):
                server_process.kill(copying)
        if os.path.lexists(self.former_data) and not os.path.lexists(self._data):
            self.former_data.rename(self._data)

    def clear(self) -> None:
        """Discard the folder and the former data in it, in one step: a removal that is cut short does not matter."""
        shutil.rmtree(self._refuse, ignore_errors=True)
        if not self.folder.exists():
            return
        if os.path.lexists(self.former_data) and hasattr(os, "sync"):
            os.sync()  # from here on the new data is the only one
        self.folder.rename(self._refuse)
        shutil.rmtree(self._refuse, ignore_errors=True)

    def make_source_home(self, password: str) -> None:
        """Make a home with the same data as this one, whose server nobody else knows."""
        write_private(self.source_home / "password", password)
        (self.source_home / "data").symlink_to(self._data, target_is_directory=True)

    def swap(self) -> None:
        """Put the new data in the place of the former."""
        if os.path.lexists(self._data):
            self._data.rename(self.former_data)
        self.new_data.rename(self._data)

    def swap_back(self) -> None:
        """Put the former data, if there was any, back in its place, wherever the swap or this was cut short."""
        if not os.path.lexists(self.new_data):
            self._data.rename(self.new_data)
        if os.path.lexists(self.former_data):
            self.former_data.rename(self._data)


def work_to_the_end(work: Callable[[], object]) -> None:
    """Do what can be repeated to its end, also where it is interrupted."""
    try:
        work()
    except BaseException:
        work()
        raise
