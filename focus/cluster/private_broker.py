"""Starts a private RabbitMQ, for tests, the demo and one machine.

A node in a folder of its own on loopback, that ends with the process that started it. The
system's RabbitMQ, if one runs, is left alone.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from focus.errors import ClusterError

START_S = 180.0  # it takes seconds by itself, and a minute or two on a machine full of other work
_PORTS = range(20_000, 32_000)
_BINARIES = ("/usr/lib/rabbitmq/bin", "/usr/local/sbin", "/opt/homebrew/sbin")
_QUIET = "+sbwt none +sbwtdcpu none +sbwtdio none"  # no busy waiting: others want the cores
_UNTIL_WE_END = '"$0" </dev/null & read -r _; kill -KILL 0'
"""The shell's input ends with the process that has its other end, however that ends."""
_ENV = {
    "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": _QUIET,
    "RABBITMQ_USE_LONGNAME": "false",
    "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
    "ERL_EPMD_ADDRESS": "127.0.0.1",
    "LANG": "C.UTF-8",
}


def server() -> str | None:
    """Where the program is; not Debian's wrapper, which insists on a user of its own."""
    for folder in _BINARIES:
        if (program := Path(folder) / "rabbitmq-server").exists():
            return str(program)
    return shutil.which("rabbitmq-server")


class PrivateBroker:
    """A node on loopback; its files, too, are gone after `close` if the folder was its own."""

    def __init__(self, folder: Path | None = None, *, config: str = "") -> None:
        self._own = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="focus-rabbitmq-"))
        self.port, self._epmd, self._dist = free_ports(3)
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"

    @property
    def pid(self) -> int:
        """Process id of what was started."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, or again after `kill`; ClusterError when it cannot be."""
        program = server()
        if program is None:
            raise ClusterError(
                "there is no rabbitmq-server on this machine; install it (Debian: "
                "apt install rabbitmq-server) or name a broker with --amqp URL"
            )
        for name in ("mnesia", "log", "home"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "rabbitmq.conf").write_text(f"loopback_users = none\n{self._config}")
        with (self.folder / "said").open("ab") as said:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _UNTIL_WE_END, program],
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
                env=self._environment(),
                cwd=self.folder,
                start_new_session=True,
            )
        self._wait_for_start()

    def _environment(self) -> dict[str, str]:
        folder = self.folder
        return {
            **_ENV,
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder / "home"),
            "RABBITMQ_NODENAME": f"focus{self.port}@localhost",
            "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._dist),
            "ERL_EPMD_PORT": str(self._epmd),
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        }

    def _wait_for_start(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_S
        while not _speaks_amqp(self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise ClusterError(
                    "RabbitMQ did not start; {folder} may tell why", folder=self.folder / "said"
                )
            time.sleep(0.1)

    def kill(self) -> None:
        """SIGKILL, as a crash would; `start` brings it back with what was on its disk."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.communicate()

    def close(self) -> None:
        """End it, and with it what it brought along."""
        self.kill()
        epmd = shutil.which("epmd")
        if epmd is not None:
            command = [epmd, "-port", str(self._epmd), "-kill"]
            subprocess.run(command, capture_output=True, check=False, timeout=10)
        if self._own:
            shutil.rmtree(self.folder, ignore_errors=True)


def _speaks_amqp(port: int) -> bool:
    """Whether a broker answers there (a port that is merely open is none yet)."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
        connection.sendall(b"AMQP\x00\x00\x09\x01")
        return bool(connection.recv(8))
    return False


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on at this moment.

    Of those that no system gives to clients: another connection does not take them in between.
    """
    ports: list[int] = []
    while len(ports) < count:
        port = secrets.choice(_PORTS)
        with suppress(OSError), socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            ports += [port] if port not in ports else []
    return ports


if __name__ == "__main__":
    with PrivateBroker() as broker:
        print(f"READY {broker.url}", flush=True)
        sys.stdin.read()  # until whoever started this lets go
