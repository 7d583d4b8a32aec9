"""`focus watch`: what is typed is kept, told in plain lines, and done once."""

import json
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from focus.alerts import visit
from focus.alerts.run import watch_lock
from focus.errors import ConfigError, StoreLocked
from focus.storage.alerts.records import LOCAL_USER, WatchedSite
from focus.storage.alerts.store import AlertStore, open_store
from focus.storage.lock import database_lock
from tests.support.browser import loop_in_a_thread
from tests.support.cases import cases
from tests.support.command import Ended, Focus, runner, settle
from tests.support.site import CrawledSite, article
from tests.support.web import TinyWeb

DAY = 86400.0


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    settle(tmp_path, monkeypatch)
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    monkeypatch.setenv("TZ", "Asia/Shanghai")
    monkeypatch.setenv("FOCUS_DB", str(tmp_path / "focus.db"))
    return tmp_path


@pytest.fixture
def focus(capfd: pytest.CaptureFixture[str]) -> Focus:
    return runner(capfd, "watch")


class World:
    """What sites bring when they are visited."""

    def __init__(self) -> None:
        self.visits: list[str] = []
        self.pages: list[tuple[str, str, str]] = []
        self.trouble: Exception | None = None
        self.crawled_sites: dict[str, CrawledSite] = {}

    def visitor(
        self, store: AlertStore, web: Any, **options: object
    ) -> Callable[[WatchedSite], Awaitable[None]]:
        async def look_up(site: WatchedSite) -> None:
            self.visits.append(site.host)
            if self.trouble is not None:
                raise self.trouble
            now = time.time()
            crawled = self.crawled_sites.setdefault(
                site.host, CrawledSite(store, host=site.host, now=now)
            )
            crawled.store, crawled.now = store, now
            for page in self.pages:
                crawled.page(*page)
            self.pages = []
            crawled.attach()
            sql = "UPDATE site SET visited_at = ?, trouble = '' WHERE id = ?"
            with store.database.transaction() as db:
                db.execute(sql, (now, site.id))

        return look_up


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()
    monkeypatch.setattr(visit, "create_visit", world.visitor)
    return world


def add(focus: Focus, name: str = "足球", *more: str) -> Ended:
    return focus("add", name, "--site", "https://news.test/", "--words", "足球", *more)


def open_alerts(path: Path) -> AbstractContextManager[AlertStore]:
    return open_store(path, now=0, language="en", zone="UTC")


def list_alerts(focus: Focus) -> list[dict[str, Any]]:
    """The alerts as `focus watch list --json` prints them."""
    return json.loads(focus("list", "--json").out)


def make_due(path: Path) -> None:
    """A quarter of an hour goes by, and the time of all alerts comes."""
    with open_alerts(path) as store, store.database.transaction() as db:
        db.execute("UPDATE site SET visited_at = visited_at - 7200, next_at = 0, free_at = 0")
        db.execute("UPDATE alert SET next_at = 0")


# -- keeping alerts -----------------------------------------------------------------


def test_alert_add_show_edit_and_remove(focus: Focus) -> None:
    assert add(focus, "足球", "--every", "daily 07:30", "--mail", "me@example.org").code == 0
    shown = focus("show", "足球")
    assert shown.code == 0
    for part in ("https://news.test/", "daily 07:30", "mail:me@example.org", "not checked yet"):
        assert part in shown.out
    assert focus("edit", "足球", "--every", "hourly", "--name", "球", "--immediate").code == 0
    (alert,) = (row["alert"] for row in list_alerts(focus))
    assert (alert["name"], alert["schedule"], alert["digest"]) == ("球", "hourly", False)
    assert alert["channels"] == ["inbox", "mail:me@example.org"]
    assert focus("edit", "球", "--pause").code == 0
    assert "paused" in focus("list").out
    assert focus("edit", "球", "--resume").code == 0
    assert "active" in focus("list").out
    assert focus("rm", "球").code == 0
    assert "No alerts yet" in focus("list").out


@cases(
    "arguments, complaint",
    (("add", "a", "--words", "x"), "--site"),
    (("add", "a", "--site", "https://a.test"), "--words, --topic"),
    (("add", "a", "--site", "nonsense", "--words", "x"), "not a web address"),
    (("add", "a", "--site", "a.test", "--words", "x", "--every", "61 * * * *"), "cron"),
    (("add", "a", "--site", "a.test", "--words", "x", "--quiet", "late"), "22:00-07:00"),
    (("add", "a", "--site", "a.test", "--words", "x", "--mail", "nobody"), "mail:nobody"),
    (("add", "a", "--site", "a.test", "--words", "x", "--expires", "soon"), "2026-12-31"),
    (("add", "a", "--site", "a.test", "--topic", "gone.toml"), "gone.toml"),
    (("add", "a", "--site", "a.test", "--topic", "gone.txt"), "must end in .toml"),
    (("add", "a", "--words", "b", "c"), 'several words stand in quotation marks: --words "a b"'),
    (("show", "nobody"), "no alert 'nobody'"),
    (("import", "gone.json"), "gone.json"),
)
def test_watch_add_invalid_option(focus: Focus, arguments: tuple[str, ...], complaint: str) -> None:
    ended = focus(*arguments)
    assert ended.code == 2
    assert complaint in ended.err
    assert ended.err.count("\n") == 1
    assert "No alerts yet" in focus("list").out


def test_topic_file_is_stored_with_absolute_path(focus: Focus, home: Path) -> None:
    (home / "f.toml").write_text('name = "f"\nkeywords = ["足球"]\n', encoding="utf-8")
    assert focus("add", "f", "--site", "news.test", "--topic", "f.toml").code == 0
    assert list_alerts(focus)[0]["alert"]["topic"] == str(home / "f.toml")


def test_expires_accepts_date_duration_and_never(focus: Focus) -> None:
    now = time.time()
    add(focus, "足球", "--expires", "30d")
    assert abs(list_alerts(focus)[0]["alert"]["expires_at"] - now - 30 * DAY) < 60
    focus("edit", "足球", "--expires", "2099-01-01")
    assert list_alerts(focus)[0]["alert"]["expires_at"] > now + 1000 * DAY
    focus("edit", "足球", "--expires", "never")
    assert list_alerts(focus)[0]["alert"]["expires_at"] is None


def test_private_address_is_noted_unless_it_is_allowed(focus: Focus) -> None:
    here = ("--site", "http://127.0.0.1:8000/", "--words", "足球")
    assert "`focus watch edit a --allow-net 127.0.0.1`" in focus("add", "a", *here).err
    assert "not public" not in focus("add", "b", *here, "--allow-net", "127.0.0.0/8").err
    assert "127.0.0.0/8" in focus("show", "b").out


def test_export_and_import_preserve_alerts(focus: Focus, home: Path) -> None:
    add(focus, "足球", "--mail", "a@b.test", "--language", "zh", "--min-relevance", "0.7")
    add(focus, "篮球", "--webhook", "https://hook.test/x", "--max-items", "5")
    text = focus("export").out
    assert [load["name"] for load in json.loads(text)] == ["足球", "篮球"]
    (home / "c.json").write_text(text, encoding="utf-8")
    assert focus("import", "c.json").code == 2  # the names are taken
    assert focus("import", "--replace", "c.json").code == 0
    focus("rm", "足球")
    focus("rm", "篮球")
    assert focus("import", "c.json").code == 0
    assert focus("export").out == text
    assert json.loads(focus("export", "篮球").out)[0]["max_items"] == 5


def test_import_with_invalid_alert_imports_nothing(focus: Focus, home: Path) -> None:
    add(focus)
    assert add(focus).code == 2  # the name is taken
    both = [{"name": "新", "sites": ["a.test"], "words": "x"},
            {"name": "足球", "sites": ["a.test"], "words": "x"}]  # fmt: skip
    (home / "c.json").write_text(json.dumps(both), encoding="utf-8")
    assert focus("import", "c.json").code == 2
    assert len(json.loads(focus("export").out)) == 1


def test_user_has_language_and_zone_of_machine(focus: Focus, home: Path) -> None:
    add(focus)
    with open_alerts(home / "focus.db") as store:
        rows = store.database.fetch_rows("SELECT language, zone FROM user")
    assert rows == [("en", "Asia/Shanghai")]


# -- running --------------------------------------------------------------------------


def test_run_visits_sites_and_prints_nothing(focus: Focus, world: World, home: Path) -> None:
    add(focus)
    add(focus, "球队")
    world.pages = [(f"/{n}", "足球", article("足球", n)) for n in range(7)]
    ran = focus("run")
    assert ran == Ended(0, "", "")
    assert world.visits == ["news.test"]  # once for both alerts
    assert focus("run") == Ended(0, "", "")
    assert len(world.visits) == 1  # nothing is due
    world.pages = [("/new", "足球", article("足球", 9))]
    make_due(home / "focus.db")
    ran = focus("run", "-v")
    assert ran.err.index("visit news.test") < ran.err.index("2 alerts checked, 1 site visited")
    assert "1 page read, 2 to report" in ran.err
    shown = focus("show", "足球")
    assert "1 page reported" in shown.out and "https://news.test/new" in shown.out
    assert "why: title 足球 1.00" in shown.out


def test_dry_run_lists_due_work_and_does_nothing(focus: Focus, world: World) -> None:
    add(focus)
    ended = focus("run", "--dry-run")
    assert ended.out.splitlines() == ["check 足球", "visit news.test", "0 pages in the outbox"]
    assert not world.visits


def test_run_now_checks_alerts_that_are_not_due(focus: Focus, world: World, home: Path) -> None:
    add(focus)
    add(focus, "b")
    focus("run")
    make_due(home / "focus.db")
    focus("run", "--now")
    make_due(home / "focus.db")
    focus("run", "b")
    assert len(world.visits) == 3
    assert focus("run", "nobody").code == 2


def test_old_command_check_runs_and_prints(focus: Focus, world: World, home: Path) -> None:
    add(focus)
    focus("run")
    make_due(home / "focus.db")
    ended = focus("check", "足球")
    assert ended.code == 0
    assert "1 alert checked, 1 site visited" in ended.err
    assert "`focus watch check` is now `focus watch run --now --verbose`" in ended.err
    assert focus("check", "nobody").code == 2


def test_run_now_twice_within_a_minute_visits_site_once(focus: Focus, world: World) -> None:
    add(focus)
    world.pages = [("/new", "足球", article("足球", 9))]
    focus("run")
    next_at = list_alerts(focus)[0]["next_at"]
    ended = focus("run", "--now", "-v", "足球")
    assert "news.test was visited 0 s ago; try again in 60 s (one visit a minute)" in ended.err
    assert "0 alerts checked, 0 sites visited" in ended.err
    assert list_alerts(focus)[0]["next_at"] == next_at


def test_second_run_at_the_same_time_exits_with_6(focus: Focus, world: World, home: Path) -> None:
    add(focus)
    with watch_lock(home / "focus.db"):
        assert focus("run") == Ended(6, "", "")
        assert "another `focus watch run`" in focus("run", "-v").err
    assert not world.visits
    assert focus("run").code == 0


def test_run_on_locked_database_leaves_alerts_due(focus: Focus, world: World, home: Path) -> None:
    add(focus)
    world.trouble = StoreLocked("another focus crawl is using it")
    assert focus("run") == Ended(5, "", "")
    world.trouble = None
    assert focus("run").code == 0
    assert world.visits == ["news.test"] * 2


def test_alerts_can_be_listed_while_a_crawl_runs(focus: Focus, home: Path) -> None:
    add(focus)
    with database_lock(home / "focus.db", pid=1):
        assert focus("list").code == 0
        assert add(focus, "b").code == 0


def test_failing_site_is_reported_and_shown(focus: Focus, world: World) -> None:
    add(focus)
    world.trouble = ConfigError("its robots.txt forbids it")
    ran = focus("run")
    assert ran.code == 4, "no site at all could be visited"
    first, second = ran.err.splitlines()
    assert first == "focus: news.test: its robots.txt forbids it"
    assert second.startswith("focus: alert '足球': its first check failed; the next is at ")
    assert "1 visit: its robots.txt forbids it" in focus("show", "足球").out
    (alert,) = list_alerts(focus)
    assert alert["checked_at"] is None  # its beginning is still to come
    again = focus("run", "--now")
    assert (again.code, again.err) == (4, "")  # nobody wants to read that every quarter of an hour
    assert "robots.txt" in focus("run", "--now", "-v").err
    assert alert["next_at"] > time.time()
    assert "news.test: failing since " in (shown := focus("show", "足球").out)
    assert ", 3 visits: its robots.txt forbids it" in shown


def test_alert_begins_when_its_site_first_answers(focus: Focus, world: World, home: Path) -> None:
    add(focus)
    world.trouble = ConfigError("down")
    focus("run")
    world.trouble = None
    make_due(home / "focus.db")
    focus("run")  # visited, but it says nothing
    world.pages = [(f"/{n}", "足球", article("足球", n)) for n in range(8)]
    make_due(home / "focus.db")
    assert "5 to report" in focus("run", "-v").err


def test_failed_delivery_is_reported_and_logged(focus: Focus, world: World) -> None:
    add(focus, "足球", "--mail", "me@example.org")
    world.pages = [("/1", "足球", article("足球", 1))]
    ran = focus("run")
    assert ran.code == 1
    assert ran.err.startswith("focus: mail: ")
    log = focus("log").out
    assert "mail:me@example.org" in log
    assert "will be retried" in log or "gave up" in log
    assert json.loads(focus("log", "--json").out)[0]["items"] == 1


def test_test_command_prints_result_of_each_channel(focus: Focus) -> None:
    add(focus, "足球", "--mail", "me@example.org", "--webhook", "http://127.0.0.1:9/hook")
    ended = focus("test", "足球")
    assert ended.code == 1
    mail, hook = ended.out.splitlines()
    assert mail.startswith("mail:me@example.org: failed: ")
    assert hook.startswith("webhook:http://127.0.0.1:9/***: failed: ")
    assert focus("log").out.count("\n") == 2
    assert add(focus, "inbox only").code == 0
    assert focus("test", "inbox only") == Ended(0, "", "")


def test_reading_commands_create_no_database(focus: Focus, home: Path) -> None:
    assert "No alerts yet" in focus("list").out
    assert focus("log").out == "Nothing has been sent yet\n"
    assert focus("me").code == 0
    assert "no alert" in focus("show", "足球").err
    assert not list(home.rglob("*.db*"))


def test_add_with_mail_says_that_no_mail_server_is_set(focus: Focus) -> None:
    assert "No mail server is set" in add(focus, "a", "--mail", "me@a.test").err
    assert "No mail server is set" not in add(focus, "b", "--webhook", "https://a.test/").err


def test_failed_first_check_shows_next_check(focus: Focus, world: World) -> None:
    add(focus, "足球", "--every", "daily 07:30")
    world.trouble = ConfigError("no such host")
    said = focus("run").err
    assert "its first check failed; the next is at 20" in said
    assert ":30, or now by `focus watch run --now 足球`" in said
    assert "its first check failed" in focus("show", "足球").out
    assert "its first check failed" not in focus("run", "--now").err


def test_feed_file_is_replaced_by_each_run(focus: Focus, home: Path) -> None:
    assert "`focus serve` provides the feed" in add(focus, "裸", "--feed").err
    wrong = add(focus, "错", "--feed", "no/such/folder/f.xml")
    assert (wrong.code, "create it" in wrong.err) == (2, True)
    (home / "feeds").mkdir()
    add(focus, "一", "--feed", "both.xml", "--feed", "feeds")
    add(focus, "二", "--feed", str(home / "both.xml"))
    assert focus("test", "一").out.count(": sent") == 2
    assert "<title>focus: all alerts</title>" in (home / "both.xml").read_text("utf-8")
    (only,) = (home / "feeds").iterdir()
    assert only.name.endswith("一.xml")
    assert "focus: 一" in only.read_text("utf-8")


def test_inbox_filter_read_and_delete(focus: Focus, world: World, home: Path) -> None:
    add(focus)
    add(focus, "二")
    world.pages = [(f"/{n}", f"足球 {n}", article("足球", n)) for n in range(2)]
    focus("run")
    shown = focus("inbox", "足球").out
    assert shown.count("[existed before the alert, 足球]") == 2 and "二]" not in shown
    world.pages = [("/new", "足球", article("足球", 9))]
    make_due(home / "focus.db")
    focus("run")
    assert focus("inbox").out.count("[new, 足球]") == 1
    hits = json.loads(focus("inbox", "--words", "/1", "--json").out)
    assert hits[0]["match"]["title"] == "足球 1"
    assert "There are more" in focus("inbox", "--limit", "1").err
    focus("mark", "足球", "--read")
    unread = json.loads(focus("inbox", "--unread", "--json").out)
    assert {item["alert"] for item in unread} == {"二"}
    wrong = focus("mark", "足球", "https://news.test/0", "https://news.test/9", "--delete")
    assert (wrong.code, "no page https://news.test/9" in wrong.err) == (2, True)
    assert len(json.loads(focus("inbox", "足球", "--json").out)) == 3, "all or none"
    assert focus("mark", "--delete", "足球", "https://news.test/0").err == "1 page deleted\n"
    assert "/0" not in focus("inbox", "足球").out
    assert "/0" in focus("inbox", "二").out
    make_due(home / "focus.db")
    focus("run")
    assert "/0" not in focus("inbox", "足球", "--existing").out


def test_secret_is_printed_on_add_and_rotated(focus: Focus) -> None:
    result = add(focus, "足球", "--webhook", "https://hook.test/T0KEN")
    (secret,) = re.findall(r"whsec_[\w+/=]+", result.err)
    assert "T0KEN" not in result.err
    assert focus("show", "足球", "--secrets").out == f"webhook:https://hook.test/***  {secret}\n"
    assert secret not in focus("edit", "足球", "--rotate-secrets").err
    changed = focus("show", "足球", "--secrets").out
    assert secret not in changed
    assert focus("show", "足球", "--secrets").out == changed
    assert "whsec" not in focus("edit", "足球", "--quiet", "22:00-07:00").err
    none = focus("show", "无", "--secrets")
    assert (none.code, "no alert" in none.err) == (2, True)


def test_missing_topic_file_is_reported_in_health(focus: Focus, world: World, home: Path) -> None:
    (home / "f.toml").write_text('name = "f"\nkeywords = ["足球"]\n', encoding="utf-8")
    focus("add", "f", "--site", "news.test", "--topic", "f.toml")
    (home / "f.toml").unlink()
    world.pages = [("/1", "足球", article("足球", 1))]
    ran = focus("run")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "f.toml: cannot be read" in ran.err
    assert "f.toml: cannot be read" in focus("list").out


def test_long_silence_is_reported_in_health(focus: Focus, world: World, home: Path) -> None:
    add(focus)
    world.pages = [("/", "首页", "欢迎。")]
    focus("run")
    with open_alerts(home / "focus.db") as store:
        with store.database.transaction() as db:
            db.execute("UPDATE alert SET created_at = created_at - ?", (4 * DAY,))
        assert store.matches.count_matches(store.alerts.get(LOCAL_USER, "足球").id).news == 0
    assert "nothing new for 4 days" in focus("list").out


# -- preview --------------------------------------------------------------------------


def test_preview_lists_matches_with_reasons(focus: Focus, world: World) -> None:
    add(focus)
    assert "not visited yet: news.test" in focus("preview", "足球").out
    today = time.strftime("%Y年%m月%d日 %H:%M", time.localtime(time.time() - 3600))
    world.pages = [
        ("/1", "足球一", f"{today} " + article("足球", 1)),
        ("/2", "足球二", "2020年01月01日 08:00 " + article("足球", 2)),
        ("/3", "足球三", article("足球", 3)),
    ]
    focus("run")
    shown = focus("preview", "足球", "--days", "3")
    assert shown.out.startswith("The last 3 days would have sent 1 page (3 stored pages)")
    assert "1 more page without a date" in shown.out and "足球一" in shown.out
    assert "why: " in shown.out and "足球二" not in shown.out
    data = json.loads(focus("preview", "足球", "--json").out)
    assert [match["title"] for match in data["matches"]] == ["足球一"]
    make_due(Path("focus.db"))
    world.pages = [("/4", "足球四", article("足球", 4))]
    focus("run")
    data = json.loads(focus("preview", "足球", "--json").out)
    assert {match["title"] for match in data["matches"]} == {"足球一", "足球四"}, "as the mail"


# -- the whole way --------------------------------------------------------------------


@contextmanager
def served(web: TinyWeb) -> Iterator[str]:
    """The web over sockets, in a thread of its own; its address."""
    with loop_in_a_thread() as wait_for:
        serving = web.serve()
        yield wait_for(serving.__aenter__())
        wait_for(serving.__aexit__(None, None, None))


def front(web: TinyWeb, numbers: range) -> None:
    links = [(f"/{n}", f"足球新闻{n}") for n in numbers]
    web.page("http://news.test/", title="新闻", links=links)
    for n in numbers:
        web.page(f"http://news.test/{n}", title=f"足球 {n}", text=article("足球", n))


@pytest.mark.slow
def test_second_run_finds_new_page_of_real_site(focus: Focus, home: Path) -> None:
    web = TinyWeb()
    front(web, range(2))
    with served(web) as address:
        how = ("--connect-to", address, "-v")
        network = ("--allow-net", "127.0.0.0/8")
        focus("add", "足球", "--site", "http://news.test/", "--words", "足球", *network)
        first = focus("run", *how)
        assert first.code == 0, first.err
        assert "1 alert checked, 1 site visited" in first.err
        front(web, range(3))
        make_due(home / "focus.db")
        second = focus("run", *how)
    assert "1 to report" in second.err, second.err
    assert "足球 2" in focus("show", "足球", "--limit", "1").out
    (site,) = list_alerts(focus)[0]["sites"]
    assert site["unmatched"] == 0
    assert site["figures"]["pages"] >= 4


def test_alerts_of_a_read_only_database_are_listed(
    focus: Focus, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = ("--site", "https://a.test/", "--words", "足球")
    focus("add", "欧冠", *add)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    for command in (("list",), ("inbox",), ("log",), ("me",), ("show", "欧冠"), ("export",)):
        done = focus(*command)
        assert done.code == 0, (command, done.err)
    assert "欧冠" in focus("list").out
    refused = focus("add", "英超", *add)
    assert (refused.code, refused.err.count("\n")) == (1, 1)
