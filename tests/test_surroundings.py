"""Commands in odd surroundings: closed streams, no home, a deleted folder, a wrong clock."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from focus.alerts.alert import Alert, validate_alert
from focus.alerts.run import due_alerts
from focus.records import StoredPage
from focus.scheduling.revisits import Observation, make_revisit_policy
from focus.serve import backoff
from focus.storage.alerts.store import AlertStore, open_store
from focus.storage.alerts.users import LOCAL_USER
from focus.storage.reader import DatabaseReader
from tests.support.cases import cases
from tests.support.command import Focus, record

ROOT = Path(__file__).parents[1]
DAY, MONTH = 86_400.0, 30 * 86_400.0
NOW = 1_800_000_000.0
pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells and descriptors of POSIX")
Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def shell(focus: Focus, tmp_path: Path) -> Shell:
    """Run a line of shell script in which $FOCUS is the command, over a recorded page."""
    record(tmp_path / "web.warc.gz", {"http://a.test/": "<title>football</title><p>football"})
    crawl = f"crawl http://a.test/ --topic football --archive {tmp_path}/web.warc.gz -q"

    def run(line: str, **variables: str | None) -> "subprocess.CompletedProcess[str]":
        command = f"{sys.executable} -m focus"
        script_variables = {"FOCUS": command, "CRAWL": crawl, "PYTHONPATH": str(ROOT), **variables}
        environment = {k: v for k, v in {**os.environ, **script_variables}.items() if v is not None}
        options = {"capture_output": True, "text": True, "check": False}
        return subprocess.run(["sh", "-c", line], env=environment, **options)

    return run


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&-", ">&- 2>&- <&-"])
def test_main_closed_stream_counts_as_null_device(redirection: str, shell: Shell) -> None:
    done = shell(f"$FOCUS $CRAWL --db x.db {redirection}; echo $? >code; $FOCUS export --db x.db")
    assert Path("code").read_text() == "0\n"
    assert "http://a.test/" in done.stdout


def test_main_deleted_directory_needs_absolute_paths(shell: Shell, tmp_path: Path) -> None:
    go = f"mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir {tmp_path}/gone && "
    assert shell(f"{go} $FOCUS $CRAWL --db {tmp_path}/x.db").returncode == 0
    assert shell(f"{go} $FOCUS status --db {tmp_path}/x.db").returncode == 0
    done = shell(f"{go} $FOCUS status --db ~/x.db", HOME="there")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize("home", [None, ""])
def test_main_without_home_uses_working_directory(
    home: str | None, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    from focus import __main__

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.setenv("HOME", "") if home == "" else monkeypatch.delenv("HOME")
    __main__._ensure_home()
    assert os.environ["HOME"] == str(Path.cwd())


@cases(
    "line",
    "crawl -q a.test --topic \"x$(printf '\\377')\"",
    "export --host \"$(printf '\\377')\" --db x.db",
)
def test_main_argument_not_utf_8_is_named_in_one_line(line: str, shell: Shell) -> None:
    done = shell(f"$FOCUS $CRAWL --db x.db && $FOCUS {line}")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is not UTF-8" in done.stderr


@pytest.mark.parametrize(("term", "escapes"), [("dumb", 0), ("xterm", 2)])
def test_search_on_dumb_terminal_writes_no_escapes(term: str, escapes: int, shell: Shell) -> None:
    script = "import pty, sys; pty.spawn(sys.argv[1:])"
    python = f'{sys.executable} -c "{script}"'
    line = f"$FOCUS $CRAWL --db x.db; {python} $FOCUS search football --db x.db"
    done = shell(line, TERM=term, NO_COLOR=None)
    assert "http://a.test/" in done.stdout
    assert bool(done.stdout.count("\x1b")) is bool(escapes)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_reader_read_only_folder_is_opened(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "ro"
    folder.mkdir()
    shell(f"$FOCUS $CRAWL --db {folder}/x.db")
    (folder / "x.db").chmod(0o444)
    folder.chmod(0o555)
    try:
        with DatabaseReader(folder / "x.db") as reader:
            assert len(reader.crawls()) == 1
    finally:
        folder.chmod(0o755)


# The clock


def page(number: int, checked_at: float) -> StoredPage:
    return StoredPage(
        id=number, url="http://a.test/", text_digest=0, title="", priority=0.0,
        first_fetched_at=checked_at, checked_at=checked_at, tried_at=checked_at,
    )  # fmt: skip


def test_revisit_policy_page_checked_in_the_future_is_due() -> None:
    policy = make_revisit_policy(DAY, Observation())
    pages = [page(1, NOW - DAY / 2), page(2, NOW + MONTH), page(3, NOW - 4 * DAY)]
    assert [due.id for due in policy.due(pages, NOW)] == [3, 2]


def test_revisit_policy_page_that_did_not_answer_waits_a_quarter_of_the_age() -> None:
    failed = page(1, NOW - 40 * DAY)
    failed.tried_at = NOW
    assert make_revisit_policy(8 * DAY, Observation()).due_at(failed) == NOW + DAY  # 8/4 - 8/8


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AlertStore]:
    with open_store(tmp_path / "f.db", now=NOW, language="en", zone="UTC") as opened:
        alert = Alert("a", ("a.test",), words="football")
        opened.alerts.add(LOCAL_USER, validate_alert(alert), now=NOW)
        yield opened


@cases("ahead_s, due_after_s", (MONTH, 3600.0), (7200.0, 3600.0), (30.0, 3630.0))
def test_due_alerts_clock_was_ahead(ahead_s: float, due_after_s: float, store: AlertStore) -> None:
    (stored,) = store.alerts.list_alerts()
    store.alerts.record_check(stored.id, now=NOW + ahead_s, next_at=NOW + ahead_s + 3600.0)
    assert due_alerts(store, now=NOW) == []
    assert due_alerts(store, now=NOW + due_after_s - 1.0) == []
    assert len(due_alerts(store, now=NOW + due_after_s)) == 1


def test_log_in_after_clock_was_ahead_is_not_refused(store: AlertStore) -> None:
    keys = [backoff.attempt_key("user", "ana")]
    backoff.count_attempt(store, keys, now=NOW + MONTH)
    assert backoff.count_attempt(store, keys, now=NOW) == 0
    for _ in range(9):
        backoff.count_attempt(store, keys, now=NOW + MONTH)
    assert 0 < backoff.count_attempt(store, keys, now=NOW) <= backoff.MAX_WAIT_S
    assert backoff.count_attempt(store, keys, now=NOW + backoff.MAX_WAIT_S) == 0
