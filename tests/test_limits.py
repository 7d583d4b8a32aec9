"""Each limit on what a server may do: its option, what it changes, and what `status` calls it."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytest import CaptureFixture, MonkeyPatch

from focus.__main__ import main
from focus.config import MAX_URL_LENGTH
from focus.records import DropReason, FailureKind
from focus.session import priority
from focus.storage.lock import database_lock, server_lock_path
from tests.support.cases import cases
from tests.support.web import TinyWeb
from tests.test_settings import BASE, Ordered, home, ordered

__all__ = ["home", "ordered"]

ROOT = Path(__file__).parents[1]


def test_max_body_bounds_the_bytes_off_the_network_too(ordered: Ordered) -> None:
    assert ordered(*BASE, "--max-body", "1M").config.fetch.max_raw_bytes == 1 << 20


@cases("variable, value", ("FOCUS_MAX_URL", str(MAX_URL_LENGTH + 1)), ("FOCUS_MAX_LINKS", "-1"))
def test_contradictory_limits_are_reported(
    variable: str, value: str, capsys: CaptureFixture[str], monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    assert main(["crawl", *BASE]) == 2
    assert variable in capsys.readouterr().err


async def test_status_names_reached_limits(tmp_path: Path, capsys: CaptureFixture[str]) -> None:
    web = TinyWeb()
    long = f"http://a.test/{'x' * 90}"
    web.page("http://a.test/", links=["/big", "/r", "/flood", long], title="足球")
    web.page("http://a.test/big", text="w" * 3000)
    web.redirect("http://a.test/r", "/r2")
    web.redirect("http://a.test/r2", "/")
    web.status("http://a.test/flood", 200, headers={"x-flood": "y" * 1500}, body=b"<p>x")
    database = str(tmp_path / "x.db")
    arguments = ["--seed", "http://a.test/", "--topic", "足球", "--db", database, "--delay", "0"]
    limits = {"FOCUS_MAX_HEADERS": "1K", "FOCUS_MAX_REDIRECTS": "1", "FOCUS_MAX_URL": "64"}
    async with web.serve() as address:
        reach = ["--connect-to", address, "--allow-net", "127.0.0.0/8", "--workers", "1", "-q"]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "focus", "crawl", *arguments, "--max-body", "2K", *reach),
            cwd=ROOT,
            env=os.environ | limits,
        )
        assert await process.wait() == 0
    capsys.readouterr()
    assert main(["status", "--db", database]) == 0
    out = capsys.readouterr().out
    for name in (
        FailureKind.TOO_LARGE,
        FailureKind.HEADERS_TOO_LARGE,
        FailureKind.REDIRECT,
        DropReason.URL_TOO_LONG,
    ):
        assert f"{name} 1" in out, out


async def test_crawl_beside_a_server_has_low_priority(
    tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    lowered: asyncio.Queue[int] = asyncio.Queue()
    monkeypatch.setattr(priority, "lower_priority", lowered.put_nowait)
    monkeypatch.setattr(priority, "CHECK_INTERVAL_S", 0.0)
    with priority.yield_to_server(tmp_path / "focus.db"):
        await asyncio.sleep(0)
        assert lowered.empty()
        with database_lock(server_lock_path(tmp_path / "focus.db"), pid=1):  # it starts later
            assert await lowered.get() == os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_lower_priority_includes_children() -> None:
    parent = (
        "import subprocess as s; c = s.Popen('cat', stdin=s.PIPE); print(c.pid, flush=1); input()"
    )
    command = [sys.executable, "-c", parent]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pids = [process.pid, int(process.stdout.readline())]
        priority.lower_priority(process.pid)
        assert [os.getpriority(os.PRIO_PROCESS, pid) for pid in pids] == [priority.NICENESS] * 2
        process.communicate(b"\n")
