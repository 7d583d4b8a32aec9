"""`focus backup` and `focus restore`: a whole copy beside writers, put back whole."""

import asyncio
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from pytest import MonkeyPatch

from focus.alerts import keyfile
from focus.alerts.run import AlreadyRunning, watch_lock
from focus.errors import StoreError, StoreLocked
from focus.records import Batch, HostRow, QueueRow, UrlRow, ignore_progress
from focus.storage import schema
from focus.storage.backup import CopySummary, backup, restore
from focus.storage.lock import database_lock
from focus.store import Store
from tests.support.cases import cases
from tests.support.command import Focus

ROOT = Path(__file__).parents[1]
IDENTITY = {"seeds": ["https://a.example/"], "topic": "足球", "strategy": "bfs"}
WRITER = "from tests.test_backup import write_on; write_on()"


def url_rows(*numbers: int) -> list[UrlRow]:
    return [
        UrlRow(n, n.to_bytes(16, "big"), f"https://a.example/{n}{'x' * 500}", 0, 1, 1.0)
        for n in numbers
    ]


async def write(path: Path, *, urls: int = 3, now: float = 1.0, batches: int = 0) -> None:
    """A crawl of so many URLs, and so many batches of two URLs more."""
    async with Store.open(path, now=now, pid=os.getpid()) as store:
        crawl = (await store.begin_crawl(IDENTITY, "{}", fresh=True, now=now)).id
        first = Batch(queues=[QueueRow(id=0, host_id=0)], hosts=[HostRow(id=0, name="a")])
        first.urls += url_rows(*range(urls))
        await store.write(crawl, first)
        for n in range(batches):
            batch = Batch(counters={"urls": 2.0 * n + 2})
            batch.urls += url_rows(urls + 2 * n, urls + 2 * n + 1)
            await store.write(crawl, batch)
            if n == 20:
                print("writing", flush=True)


def write_on() -> None:
    """In a process of its own: write until killed."""
    asyncio.run(write(Path(sys.argv[1]), urls=0, now=2.0, batches=1_000_000))


def test_backup_and_restore_through_links_keep_links(database: Path, tmp_path: Path) -> None:
    copy, link, target = tmp_path / "copy", tmp_path / "link", tmp_path / "other.db"
    link.symlink_to("copy")
    backup(database, link, replace=True, progress=ignore_progress)
    target.symlink_to("focus.db")
    restore(copy, target, replace=True, pid=1, progress=ignore_progress)
    assert link.is_symlink() and target.is_symlink() and copy.is_file() and database.is_file()


def test_backup_to_device_raises(database: Path) -> None:
    with pytest.raises(StoreError, match="/dev/null is not a regular file"):
        backup(database, Path(os.devnull), replace=True, progress=ignore_progress)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "focus.db"
    asyncio.run(write(path))
    return path


def copied(database: Path, copy: Path, *, replace: bool = False) -> CopySummary:
    return backup(database, copy, replace=replace, progress=ignore_progress)


def restored(copy: Path, database: Path, *, replace: bool = False) -> CopySummary:
    return restore(copy, database, replace=replace, pid=os.getpid(), progress=ignore_progress)


def urls(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        (number,) = db.execute("SELECT count(*) FROM url").fetchone()
    return int(number)


@contextmanager
def writing(database: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that writes batch after batch into a database, until it is killed."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(database)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout.readline() == "writing\n"
        try:
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def test_backup_during_writes_contains_whole_batches(database: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with writing(database):
        for _ in range(3):
            summary = copied(database, copy, replace=True)
            counted = "SELECT json_extract(counters, '$.urls') FROM progress WHERE crawl = 2"
            number = "SELECT count(*) FROM url WHERE id >> 32 = 2"
            with closing(sqlite3.connect(copy)) as db:
                assert db.execute(number).fetchone() == db.execute(counted).fetchone() > (0,)
            assert summary.crawls == 2


def test_backup_lets_others_write(database: Path, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """Something is written between two steps of the copy, which is not begun anew for it."""
    monkeypatch.setattr("focus.storage.backup.PAGES_PER_STEP", 16)
    asyncio.run(write(database, urls=1000))
    steps: list[float] = []

    def during(done: float, total: float) -> None:
        steps.append(done)
        with closing(sqlite3.connect(database, timeout=0)) as db, db:
            db.execute("DELETE FROM url_found WHERE id = (SELECT min(id) FROM url_found)")

    before = urls(database)
    backup(database, tmp_path / "copy.db", replace=False, progress=during)
    assert len(steps) > 10
    assert steps == sorted(steps)
    assert urls(tmp_path / "copy.db") == before
    assert urls(database) == before - len(steps)


def test_backup_creates_one_private_file(database: Path, tmp_path: Path) -> None:
    database.chmod(0o644)
    copied(database, tmp_path / "copy.db")
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db"]


def test_backup_existing_copy_is_replaced_only_by_force(database: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_text("mine")
    with pytest.raises(StoreError, match="already exists"):
        copied(database, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "mine"
    assert copied(database, tmp_path / "copy.db", replace=True).crawls == 1


def test_backup_onto_database_itself_raises(database: Path) -> None:
    with pytest.raises(StoreError, match="the database itself"):
        copied(database, database, replace=True)
    assert urls(database) == 3


def test_backup_damaged_database_raises(database: Path, tmp_path: Path) -> None:
    damage_table(database)
    with pytest.raises(StoreError, match="damaged"):
        copied(database, tmp_path / "copy.db")
    assert not list(tmp_path.glob("copy*"))


def damage_table(path: Path) -> None:
    """Write nonsense over the first page of a table."""
    with closing(sqlite3.connect(path)) as db:
        sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'url_found'"
        (root,) = db.execute(sql).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
        db.execute("PRAGMA journal_mode = DELETE")
    with path.open("rb+") as file:
        file.seek((root - 1) * size)
        file.write(b"\x0d\xff\xff\xff\xff\xff\xff\xff" * 20)


def test_restore_missing_database_is_created(database: Path, tmp_path: Path) -> None:
    copied(database, tmp_path / "copy.db")
    summary = restored(tmp_path / "copy.db", tmp_path / "new" / "focus.db")
    assert (summary.crawls, summary.replaced) == (1, None)
    assert urls(tmp_path / "new" / "focus.db") == 3
    assert stat.S_IMODE((tmp_path / "new" / "focus.db").stat().st_mode) == 0o600


def test_restore_existing_database_needs_force_and_is_kept(database: Path, tmp_path: Path) -> None:
    copied(database, tmp_path / "copy.db")
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("DELETE FROM url_found")
    (tmp_path / "focus.db-search").write_text("of what was")
    with pytest.raises(StoreError, match="already exists"):
        restored(tmp_path / "copy.db", database)
    summary = restored(tmp_path / "copy.db", database, replace=True)
    assert summary.replaced == tmp_path / "focus.db.old1"
    assert (urls(database), urls(summary.replaced)) == (3, 0)
    assert not (tmp_path / "focus.db-search").exists()
    again = restored(tmp_path / "copy.db", database, replace=True)
    assert again.replaced == tmp_path / "focus.db.old2"


def test_restore_during_crawl_raises(database: Path, tmp_path: Path) -> None:
    copied(database, tmp_path / "copy.db")
    with database_lock(database, pid=7), pytest.raises(StoreLocked, match="pid 7"):
        restored(tmp_path / "copy.db", database, replace=True)


def test_restore_open_database_raises(database: Path, tmp_path: Path) -> None:
    """As `focus serve` has: a connection that does nothing."""
    copied(database, tmp_path / "copy.db")
    with closing(sqlite3.connect(database)) as idle:
        idle.execute("SELECT count(*) FROM url").fetchone()
        with pytest.raises(StoreError, match="another program"):
            restored(tmp_path / "copy.db", database, replace=True)
    assert not list(tmp_path.glob("*.old1"))
    assert not list(tmp_path.glob("*.part*"))


def test_restore_damaged_database_is_replaced(database: Path, tmp_path: Path) -> None:
    copied(database, tmp_path / "copy.db")
    database.write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match="already exists"):
        restored(tmp_path / "copy.db", database)
    summary = restored(tmp_path / "copy.db", database, replace=True)
    assert summary.replaced.read_bytes().startswith(b"no database")
    assert urls(database) == 3


def make_newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")


@cases("change, said", (damage_table, "damaged"), (make_newer, "newer focus"))
def test_restore_unusable_copy_raises(
    database: Path, tmp_path: Path, change: Callable[[Path], None], said: str
) -> None:
    copied(database, tmp_path / "copy.db")
    change(tmp_path / "copy.db")
    with pytest.raises(StoreError, match=said):
        restored(tmp_path / "copy.db", database, replace=True)
    assert urls(database) == 3


# -- the commands -------------------------------------------------------------------


@pytest.fixture
def focus(focus: Focus, tmp_path: Path, monkeypatch: MonkeyPatch) -> Focus:
    monkeypatch.setenv("FOCUS_DB", str(tmp_path / "focus.db"))
    return focus


def test_backup_contains_key_only_on_request(focus: Focus, database: Path, tmp_path: Path) -> None:
    key = keyfile.read_key(keyfile.key_path(database))
    ended = focus("backup", "copy.db")
    assert ended.code == 0
    assert f"Not included: the key {database}.key" in ended.err
    assert not (tmp_path / "copy.db.key").exists()
    assert key.hex().encode() not in (tmp_path / "copy.db").read_bytes()
    ended = focus("backup", "copy.db", "--force", "--with-key")
    assert ended.code == 0
    assert keyfile.read_key(tmp_path / "copy.db.key") == key
    assert stat.S_IMODE((tmp_path / "copy.db.key").stat().st_mode) == 0o600


def test_restore_key_keeps_the_replaced_key(focus: Focus, database: Path, tmp_path: Path) -> None:
    key = keyfile.read_key(keyfile.key_path(database))
    assert focus("backup", "copy.db", "--with-key").code == 0
    keyfile.key_path(database).unlink()
    database.unlink()
    second_key = keyfile.read_key(keyfile.key_path(database))
    ended = focus("restore", "copy.db", "--with-key")
    assert (ended.code, "is another key" in ended.err) == (2, True)
    assert not database.exists()
    assert focus("restore", "copy.db", "--with-key", "--force").code == 0
    assert keyfile.read_key(keyfile.key_path(database)) == key
    assert keyfile.read_key(tmp_path / "focus.db.key.old1") == second_key


def test_restore_reports_replaced_file(focus: Focus, database: Path) -> None:
    assert focus("backup", "copy.db").code == 0
    ended = focus("restore", "copy.db", "--force")
    assert ended.code == 0
    assert "1 crawl, 0 pages, 0 alerts" in ended.err
    assert f"The previous database is now {database}.old1" in ended.err


def test_restore_while_watch_runs_raises(focus: Focus, database: Path) -> None:
    assert focus("backup", "copy.db").code == 0
    with watch_lock(database):
        ended = focus("restore", "copy.db", "--force")
    assert ended.code == AlreadyRunning.exit_code


def test_backup_missing_database_raises(focus: Focus) -> None:
    ended = focus("backup", "copy.db")
    assert (ended.code, "there is no database" in ended.err) == (1, True)
