"""`focus serve`: what people see is theirs, and what is typed is kept."""

import json
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pytest import CaptureFixture, MonkeyPatch

pytest.importorskip("starlette", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="starlette's test client needs it")

import msgspec
from argon2 import PasswordHasher
from starlette.testclient import TestClient

from focus.__main__ import main
from focus.alerts.delivery import CHANNELS, Channel, Delivered, DeliveryOutcome
from focus.alerts.message import Message
from focus.cluster.private_broker import free_ports
from focus.errors import ConfigError
from focus.i18n import chain_messages, msg
from focus.learn.memory_crawl import PageSource
from focus.serve import address_verification, backoff, server, site_answers, tokens
from focus.serve.account_messages import send_pending
from focus.serve.accounts import Passwords
from focus.serve.app import make_app
from focus.serve.app_state import AppState, ConnectionPool
from focus.serve.scheduler import SchedulerOptions, SendingOptions, decode_options
from focus.serve.site_answers import SiteAnswer, SiteQuestion
from focus.storage.alerts.records import Alert, DeliveryRecord
from focus.storage.lock import lock_holder_pid, server_lock_path
from focus.storage.search_index import SearchIndex
from tests.support.cases import cases
from tests.support.outbox import LOOPBACK, NOON, Clock, hit, insert
from tests.support.site import CrawledSite, article

HOME = "http://127.0.0.1:8420"
SECRET = "correct horse battery"
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


class Group:
    """A server with its clock, and browsers for it."""

    def __init__(self, app_state: AppState, clock: Clock) -> None:
        self.app_state, self.clock = app_state, clock
        self.app = make_app(app_state)

    def browser(self, language: str = "en", **options: Any) -> TestClient:
        """Somebody's browser, which says where its forms come from."""
        client = TestClient(self.app, base_url=HOME, follow_redirects=False, **options)
        client.headers.update({"sec-fetch-site": "same-origin", "accept-language": language})
        return client

    def invitation(self) -> str:
        """A secret by which somebody may register."""
        with self.app_state.store() as store:
            return tokens.create_token(store, "invite", now=self.clock())

    def member(self, name: str, mail: str = "", **options: Any) -> TestClient:
        """Somebody's browser, registered and logged in; the first is an administrator's."""
        with self.app_state.store() as store, store.database.transaction() as db:
            db.execute("DELETE FROM attempt")
            db.execute("INSERT OR IGNORE INTO setting VALUES ('registration', '\"invite\"')")
        client = self.browser(**options)
        typed = {"name": name, "mail": mail, "password": SECRET, "invite": self.invitation()}
        answer = client.post("/register", data=typed)
        assert answer.status_code == 303, answer.text
        with self.app_state.store() as store:  # as by the mailed link
            store.users.set_address(self.number(name), "mail", mail or None)
            store.tokens.remove_all("mail")
        return client

    def send_account_messages(self) -> None:
        """Send links and codes for forgotten passwords, as the server's process does."""
        with self.app_state.store() as store:
            send_pending(store, self.app_state.settings(), now=self.clock())

    def number(self, name: str) -> int:
        """A person's id."""
        return int(self.rows("SELECT id FROM user WHERE name = ?", name)[0][0])

    def finds(self, alert: int, *urls: str, **fields: Any) -> list[int]:
        """Pages for an alert."""
        with self.app_state.store() as store, store.database.transaction() as db:
            return [insert(db, hit(alert, url, **fields)) for url in urls]

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self.app_state.store() as store:
            return store.database.fetch_rows(sql, values)

    def value(self, column: str, name: str) -> Any:
        """A column of somebody's account."""
        return self.rows(f"SELECT {column} FROM user WHERE name = ?", name)[0][0]

    def definition(self, alert: int) -> str:
        """An alert as stored."""
        return str(self.rows("SELECT definition FROM alert WHERE id = ?", alert)[0][0])

    def crawl(self, *titles: str) -> None:
        """Pages of https://news.test/ (/1, /2, …) whose front page was fetched two hours before."""
        with self.app_state.store() as store:
            crawled = CrawledSite(store, now=NOON - 7_300)
            crawled.page("/", "首页", "网站")
            crawled.now = NOON - 60
            for number, title in enumerate(titles, 1):
                crawled.page(f"/{number}", title, article("足球", number))
            crawled.attach()
            with SearchIndex(store.path) as index:
                index.update()


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    clock = Clock(NOON)
    passwords = Passwords(CHEAP)
    app_state = AppState(tmp_path / "focus.db", clock=clock, local_url=HOME, passwords=passwords)
    app_state.settings()
    app_state.run_in_background = lambda work, name: work()  # type: ignore[method-assign, assignment]
    yield Group(app_state, clock)
    app_state.close()


@pytest.fixture
def client(group: Group) -> TestClient:
    """Ana's browser; she is the administrator."""
    return group.member("ana")


@pytest.fixture
def links(monkeypatch: MonkeyPatch) -> list[tuple[str, str]]:
    """Mail address and secret of each link that is mailed."""
    sent: list[tuple[str, str]] = []

    def send(how: object, mail: str, language: str, *, secret: str, **_: object) -> None:
        sent.append((mail, secret))

    monkeypatch.setattr(address_verification, "send_link", send)
    return sent


TYPED = {"name": "欧冠", "sites": "https://a.test/", "words": "足球", "digest": "on"}


def alert(client: TestClient, **typed: str) -> int:
    """Make an alert; its id."""
    answer = client.post("/alerts/new", data={**TYPED, **typed})
    assert answer.status_code == 303, answer.text
    return int(answer.headers["location"].split("?")[0].rpartition("/")[2])


# -- doors --------------------------------------------------------------------------


def test_pages_without_log_in_redirect_to_login(group: Group) -> None:
    client = group.browser()
    for path in ("/inbox", "/alerts", "/search", "/deliveries", "/settings", "/admin"):
        assert client.get(path).headers["location"] == "/login"
    assert client.get("/").headers["location"] == "/login"


def test_register_first_user_with_printed_link_is_administrator(group: Group) -> None:
    assert group.browser().get("/register").status_code == 403
    link = server.first_invitation_url(group.app_state, HOME)
    client = group.browser()
    form = client.get(link.removeprefix(HOME))
    assert form.status_code == 200
    invite = link.partition("invite=")[2]
    typed = {"name": "安娜", "mail": "", "password": SECRET, "invite": invite}
    assert client.post("/register", data=typed).headers["location"] == "/inbox"
    assert client.get("/admin").status_code == 200
    assert server.first_invitation_url(group.app_state, HOME) == ""


def test_registration_modes_decide_who_may_register(group: Group) -> None:
    boss = group.member("ana")
    typed = {"name": "bo", "password": SECRET}
    boss.post("/admin", data={"registration": "off"})
    assert group.browser().post("/register", data=typed).status_code == 403
    off = {**typed, "invite": group.invitation()}
    assert group.browser().post("/register", data=off).status_code == 403
    boss.post("/admin", data={"registration": "open"})
    newcomer = group.browser()
    assert newcomer.post("/register", data=typed).status_code == 303
    assert newcomer.get("/admin").status_code == 404, "only the first is an administrator"


def test_invitation_is_valid_once(group: Group) -> None:
    boss = group.member("ana")
    page = boss.post("/admin/invite").text
    match = re.search(r"/register\?invite=([\w-]+)", page)
    assert match
    typed = {"name": "bo", "password": SECRET, "invite": match[1]}
    assert group.browser().post("/register", data=typed).status_code == 303
    again = group.browser().post("/register", data={**typed, "name": "cy"})
    assert again.status_code == 403


@cases(
    "typed, said",
    ({"name": "x"}, "2 to 40"),
    ({"name": "local"}, "2 to 40"),
    ({"name": "ANA"}, "taken"),
    ({"mail": "nowhere"}, "not a mail address"),
    ({"mail": "a@b.test\r\nBcc: x@y.test"}, "not a mail address"),
    ({"password": "short"}, "10 to 200"),
    ({"name": "longenough", "password": "longenough"}, "must not contain the name"),
)
def test_register_invalid_input_shows_error(group: Group, typed: dict[str, str], said: str) -> None:
    group.member("ana")
    full = {"name": "bo", "mail": "", "password": SECRET, "invite": group.invitation(), **typed}
    answer = group.browser().post("/register", data=full)
    assert answer.status_code == 400
    assert said in answer.text


def test_reset_link_sets_password_once(group: Group, links: list[tuple[str, str]]) -> None:
    mine = group.member("ana", "ana@a.test")
    links.clear()
    answer = group.browser().post("/forgot", data={"name": "ana"})
    nobody = group.browser().post("/forgot", data={"name": "nobody"})
    group.send_account_messages()
    assert (answer.text, answer.status_code) == (nobody.text, nobody.status_code)
    [(_, secret)] = links
    client = group.browser()
    assert client.get(f"/reset/{secret}").status_code == 200
    done = client.post(f"/reset/{secret}", data={"password": "another good one"})
    assert done.status_code == 303
    assert mine.get("/inbox").headers["location"] == "/login", "old sessions are over"
    assert client.post(f"/reset/{secret}", data={"password": "a third good one"}).status_code == 400
    typed = {"name": "ana", "password": "another good one"}
    assert client.post("/login", data=typed).headers["location"] == "/inbox"


def test_reset_link_expires_after_an_hour(group: Group) -> None:
    group.member("ana", "ana@a.test")
    with group.app_state.store() as store:
        secret = tokens.create_token(store, "reset", user=group.number("ana"), now=NOON)
    group.clock.now += 3601
    answer = group.browser("zh").get(f"/reset/{secret}")
    assert answer.status_code == 400
    assert "此链接已失效，请重新申请。" in answer.text


# -- alerts -----------------------------------------------------------------------


def test_alert_create_edit_pause_and_delete(group: Group) -> None:
    client = group.member("ana", "ana@a.test")
    number = alert(client, mail="on", feed="on", expires="2026-12-31", min_relevance="0.4")
    page = client.get(f"/alerts/{number}?saved=1").text
    assert "Saved." in page and "a.test has not been visited yet" in page
    form = client.get(f"/alerts/{number}/edit").text
    assert "足球" in form and 'value="2026-12-31"' in form
    answer = client.post(f"/alerts/{number}/edit", data={**TYPED, "words": "篮球"})
    assert answer.status_code == 303
    stored = json.loads(group.definition(number))
    assert (stored["words"], stored["channels"]) == ("篮球", ["inbox"])
    client.post(f"/alerts/{number}/pause")
    assert "paused" in client.get("/alerts").text
    client.post(f"/alerts/{number}/delete")
    assert not group.rows("SELECT 1 FROM alert")


def test_check_now_visits_site_at_most_once_per_minute(group: Group, client: TestClient) -> None:
    number = alert(client)
    now = group.clock()
    group.rows("UPDATE alert SET next_at = ?", now + 900)
    group.rows("UPDATE site SET visited_at = ?, free_at = ?", now - 20, now + 880)
    answer = client.post(f"/alerts/{number}/check")
    assert "It will be checked in a moment." in answer.text
    assert group.rows("SELECT next_at FROM alert") == [(now,)]
    [(free_at,)] = group.rows("SELECT free_at FROM site")
    assert now + 25 < free_at <= now + 40
    said = [client.post(f"/alerts/{number}/check").text for _ in range(11)]
    assert "Too many attempts" in said[-1]
    client.post(f"/alerts/{number}/pause")
    assert "Check now" not in client.get(f"/alerts/{number}").text


def test_alert_form_refuses_topic_file_and_missing_address(group: Group) -> None:
    client = group.member("ana")
    for typed, said in (
        ({"topic": "/etc/passwd.toml"}, "command line"),
        ({"mail": "on"}, "confirm your mail address"),
    ):
        answer = client.post("/alerts/new", data={**TYPED, **typed})
        assert answer.status_code == 400
        assert said in answer.text and 'value="欧冠"' in answer.text
    assert not group.rows("SELECT 1 FROM alert")


def test_alert_form_shows_all_errors_beside_fields(client: TestClient) -> None:
    typed = {"name": "", "sites": "no address", "words": "", "every": "daily", "at": "25:99",
             "quiet": "night", "max_items": "inf", "expires": "soon", "webhook": "ftp://a.test/",
             "min_relevance": "2"}  # fmt: skip
    page = client.post("/alerts/new", data={**TYPED, **typed}).text
    assert "9 fields need a change" in page
    assert "(--" not in page and "give words or a topic</small>" in page
    for name in ("name", "sites", "words", "schedule", "quiet", "max_items", "expires", "webhook"):
        assert page.count(f'id="e-{name}"') == 1
    fields = re.findall('<(?:input|textarea|select) id="f-([a-z_]+)"[^>]*aria-invalid', page)
    assert fields == ["name", "sites", "words", "every", "quiet", "min_relevance", "expires",
                      "max_items", "webhook"]  # fmt: skip
    assert 'value="25:99"' in page and ">no address</textarea>" in page


@cases(
    "typed, schedule",
    ({"every": "auto", "schedule": "15m"}, "auto"),
    ({"every": "daily", "at": "18:30"}, "daily 18:30"),
    ({"every": "weekly", "day": "fri", "at": "07:00"}, "weekly fri 07:00"),
    ({"every": "custom", "schedule": "30 7 * * 1-5"}, "30 7 * * 1-5"),
)
def test_alert_form_keeps_schedule(group: Group, typed: dict[str, str], schedule: str) -> None:
    client = group.member("ana")
    number = alert(client, **typed)
    page = client.get(f"/alerts/{number}/edit").text
    assert f'<option value="{typed["every"]}" selected>' in page
    chosen = re.findall('<select id="f-(every|day)".*?value="([^"]*)" selected', page, re.DOTALL)
    fields = dict(chosen + re.findall('name="(at|schedule)"[^>]*? value="([^"]*)"', page))
    client.post(f"/alerts/{number}/edit", data={**TYPED, **fields})
    assert json.loads(group.definition(number))["schedule"] == schedule


def test_try_alert_shows_preview_and_saves_nothing(group: Group, monkeypatch: MonkeyPatch) -> None:
    client = group.member("ana")
    asked = []

    def answered(question: SiteQuestion) -> list[SiteAnswer]:
        asked.append(question.sites)
        return [SiteAnswer("https://news.test/", "体育 <b>", 31, is_shell=True)]

    monkeypatch.setattr(site_answers, "ask_sites", answered)
    with group.app_state.store() as store:
        store.alerts.add(group.number("ana"), Alert("a", ("https://news.test/",), "x"), now=NOON)
    group.crawl("足球决赛")
    typed = {**TYPED, "sites": "https://news.test/", "try": "1"}
    page = client.post("/alerts/new", data=typed).text
    assert asked == [["https://news.test/"]]
    assert "体育 &lt;b&gt;, 31 links" in page and "seems to need scripts" in page
    assert "would have sent 1 page" in page and "足球决赛" in page
    assert 'value="欧冠"' in page
    assert group.rows("SELECT count(*) FROM alert") == [(1,)]


def test_try_alert_is_limited_by_attempts(client: TestClient, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(site_answers, "ask_sites", lambda question: [])
    typed = {**TYPED, "try": "1"}
    free = backoff.FREE_ATTEMPTS["try"]
    responses = [client.post("/alerts/new", data=typed) for _ in range(free + 1)]
    assert [item.status_code for item in responses] == [200] * free + [400]
    assert "Too many attempts" in responses[-1].text and 'value="欧冠"' in responses[-1].text


def test_ask_sites_uses_separate_process() -> None:
    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404 if self.path == "/gone" else 200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            shell = b"<div id=app></div><script src=/x></script>" if self.path == "/app" else b""
            self.wfile.write(b"<title>Sport</title><a href=/1>a</a><a href=/2>b</a>" + shell)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        threading.Thread(target=site.serve_forever).start()
        here = f"http://127.0.0.1:{site.server_port}"
        sites = [f"{here}/", f"{here}/gone", f"{here}/app"]
        try:
            good, gone, app = site_answers.ask_sites(SiteQuestion(sites, LOOPBACK), limit_s=3600)
            [kept_out] = site_answers.ask_sites(SiteQuestion(sites[:1]), limit_s=3600)
        finally:
            site.shutdown()
    assert (good.title, good.links, good.failure) == ("Sport", 2, "")
    assert app.is_shell and not good.is_shell
    assert gone.failure.startswith("http-4xx")
    why = "its address is not public; allow its network with --allow-net"
    assert kept_out.failure == f"guard: robots.txt: {why}"


def test_ask_sites_timeout_is_reported(monkeypatch: MonkeyPatch) -> None:
    def slow(*command: object, timeout: float, **_: object) -> None:
        raise subprocess.TimeoutExpired("x", timeout)

    monkeypatch.setattr(subprocess, "run", slow)
    [late] = site_answers.ask_sites(SiteQuestion(["https://a.test/"]), limit_s=0.5)
    assert late.failure == "no response within 0.5 seconds"


def test_settings_offer_zones_and_keep_unlisted_zone(client: TestClient) -> None:
    typed = {"name": "ana", "mail": "", "quiet": "", "language": "en"}
    for zone in ("Asia/Shanghai", "CET"):
        client.post("/settings", data={**typed, "zone": zone})
        assert f"<option selected>{zone}</option>" in client.get("/settings").text


def test_saved_alert_shows_preview(group: Group, client: TestClient) -> None:
    number = alert(client, sites="https://news.test/")
    group.crawl("足球决赛")
    page = client.get(f"/alerts/{number}?preview=1").text
    assert "would have sent 1 page" in page and "<mark>足球</mark>" in page


def test_webhook_secret_is_shown_and_rotated(group: Group) -> None:
    boss, ana = group.member("boss"), group.member("ana")
    hook = "https://hook.test/T0KEN"
    number = alert(ana, webhook=hook)
    secrets = re.findall(r"whsec_[\w+/=]+", ana.get(f"/alerts/{number}?saved=1").text)
    assert not re.search("whsec_", ana.get(f"/alerts/{number}").text)
    typed = {"channel": f"webhook:{hook}"}
    shown = ana.post(f"/alerts/{number}/secret", data=typed).text
    assert re.findall(r"whsec_[\w+/=]+", shown) == secrets
    assert "https://hook.test/***" in shown
    changed = ana.post(f"/alerts/{number}/secret", data={**typed, "rotate": "1"}).text
    assert re.findall(r"whsec_[\w+/=]+", changed) != secrets
    assert "new secret" in boss.get("/admin").text
    assert boss.post(f"/alerts/{number}/secret", data=typed).status_code == 400
    typed = {"channel": "webhook:https://hook.test/other"}
    assert ana.post(f"/alerts/{number}/secret", data=typed).status_code == 400


def test_alert_page_shows_trouble_and_silence(group: Group, client: TestClient) -> None:
    number = alert(client)
    with group.app_state.store() as store, store.database.transaction() as db:
        db.execute("UPDATE site SET trouble = 'robots.txt forbids it'")
        db.execute("UPDATE alert SET checked_at = ?", (NOON,))
    group.clock.now += 3 * 86400
    for path in ("/alerts", f"/alerts/{number}"):
        page = client.get(path).text
        assert "robots.txt forbids it" in page and "nothing new for 3 days" in page


# -- reading ------------------------------------------------------------------------


def test_inbox_shows_details_of_matches(group: Group, client: TestClient) -> None:
    number = alert(client)
    why = {"parts": {"title": 1.0}, "words": {"title": ["足球"]}}
    [first] = group.finds(number, "https://a.test/1", published_at=NOON - 3600, why=why)
    group.finds(number, "https://a.test/2", original_id=first)
    group.finds(number, "https://a.test/3", original_id=first)
    page = client.get("/inbox").text
    assert "标题 1" in page and "<mark>足球</mark>" in page and "+2 similar" in page
    assert "published 2026-11-21 08:00" in page and "very relevant" in page
    assert "title: 足球" in page and "https://a.test/2" not in page


def test_examples_of_the_first_check_are_marked_and_no_news(group: Group) -> None:
    client = group.member("ana")
    number = alert(client)
    group.finds(number, "https://a.test/1", baseline=2)
    group.finds(number, "https://a.test/2")
    page = client.get("/inbox").text
    assert (page.count("existed before the alert"), page.count('class="item new"')) == (1, 1)
    assert "https://a.test/1" not in client.get("/inbox?unread=on").text
    for text in (">1<span", "New pages 1 (unread 1)"):
        assert text in client.get("/alerts").text


def test_inbox_filter_limits_matches(group: Group, client: TestClient) -> None:
    first, two = alert(client), alert(client, name="英超")
    group.finds(first, "https://a.test/1", found_at=NOON - 10 * 86400)
    [read] = group.finds(two, "https://a.test/2", title="100% 球")
    group.finds(two, "https://a.test/3", baseline=True)

    def shown(query: str) -> set[str]:
        return set(re.findall(r"https://a.test/(\d)", client.get(f"/inbox?{query}").text))

    assert shown("") == {"1", "2"}
    assert shown(f"alert={first}") == {"1"}
    assert shown("days=7") == {"2"}
    assert shown("words=100%25") == {"2"}
    assert shown("words=_") == set()
    assert shown("words=今天足球") == {"1", "2"}
    assert shown("existing=on") == {"1", "2", "3"}
    client.post(f"/inbox/{read}/read")
    assert shown("unread=on") == {"1"}
    assert shown("alert=x&days=x&page=x") == {"1", "2"}


def test_inbox_match_is_marked_voted_and_deleted(group: Group, client: TestClient) -> None:
    number = alert(client)
    [page] = group.finds(number, "https://a.test/1")
    where = client.post(f"/inbox/{page}/relevant", data={"alert": str(number)})
    assert where.headers["location"] == f"/inbox?alert={number}&voted={page}#match-{page}"
    assert group.rows("SELECT vote FROM alert_match") == [(1,)]
    client.post(f"/inbox/{page}/irrelevant")
    assert group.rows("SELECT vote FROM alert_match") == [(0,)]
    client.post("/inbox/read")
    assert group.rows("SELECT read_at FROM alert_match") == [(NOON,)]
    client.post(f"/inbox/{page}/unread")
    assert group.rows("SELECT read_at FROM alert_match") == [(None,)]
    client.post(f"/inbox/{page}/delete")
    assert "标题 1" not in client.get("/inbox").text


def test_open_match_marks_it_as_read(group: Group) -> None:
    ana, ben = group.member("ana"), group.member("ben")
    [page] = group.finds(alert(ana), "https://a.test/1?q=足球")
    assert f'href="/inbox/{page}/open"' in ana.get("/inbox").text
    assert ben.get(f"/inbox/{page}/open").status_code == 404
    assert group.rows("SELECT read_at FROM alert_match") == [(None,)]
    where = ana.get(f"/inbox/{page}/open")
    assert where.headers["location"] == "https://a.test/1?q=%E8%B6%B3%E7%90%83"
    assert group.rows("SELECT read_at FROM alert_match") == [(NOON,)]


def test_open_match_refuses_other_schemes(group: Group) -> None:
    ana = group.member("ana")
    [page] = group.finds(alert(ana), "javascript:alert(1)")
    assert ana.get(f"/inbox/{page}/open").status_code == 404


def test_selected_matches_are_marked_as_read(group: Group) -> None:
    ana = group.member("ana")
    first, two, _ = group.finds(alert(ana), *(f"https://a.test/{n}" for n in range(3)))
    typed = {f"match-{first}": "on", f"match-{two}": "on", "act": "read", "words": "a.test"}
    assert ana.post("/inbox/selected", data=typed).headers["location"] == "/inbox?words=a.test"
    rows = group.rows("SELECT read_at FROM alert_match ORDER BY id")
    assert rows == [(NOON,), (NOON,), (None,)]


def test_inbox_link_selects_all_matches(group: Group) -> None:
    ana = group.member("ana")
    group.finds(alert(ana), *(f"https://a.test/{n}" for n in range(3)))
    assert " checked" not in ana.get("/inbox?words=a").text
    assert 'href="/inbox?words=a&amp;all=on"' in ana.get("/inbox?words=a").text
    assert ana.get("/inbox?words=a&all=on").text.count(" checked") == 3


def test_restore_returns_deleted_matches(group: Group) -> None:
    ana, ben = group.member("ana"), group.member("ben")
    pages = group.finds(alert(ana), *(f"https://a.test/{n}" for n in range(3)))
    typed = {f"match-{page}": "on" for page in pages[:2]} | {"act": "delete"}
    where = ana.post("/inbox/selected", data=typed).headers["location"]
    shown = ana.get(where).text
    assert "2 pages deleted." in shown
    [deleted] = re.findall('name="deleted" value="([^"]+)"', shown)
    ben.post("/inbox/restore", data={"deleted": deleted})
    assert ana.get("/inbox").text.count("<li id=") == 1
    ana.post("/inbox/restore", data={"deleted": deleted})
    assert ana.get("/inbox").text.count("<li id=") == 3


def test_selected_matches_of_other_users_are_unchanged(group: Group) -> None:
    ana, ben = group.member("ana"), group.member("ben")
    [page] = group.finds(alert(ana), "https://a.test/1")
    ben.post("/inbox/selected", data={f"match-{page}": "on", "act": "delete"})
    assert group.rows("SELECT deleted FROM alert_match") == [(0,)]
    assert ben.post("/inbox/selected", data={"act": "relevant"}).status_code == 400


def test_inbox_pages_are_numbered(group: Group, client: TestClient) -> None:
    group.finds(alert(client), *(f"https://a.test/{n}" for n in range(35)))
    assert len(re.findall("<li id=", client.get("/inbox").text)) == 30
    assert len(re.findall("<li id=", client.get("/inbox?page=1").text)) == 5


def test_search_page_finds_crawled_pages(group: Group, client: TestClient) -> None:
    alert(client, sites="https://news.test/")
    group.crawl("足球决赛")
    page = client.get("/search?q=决赛").text
    assert "https://news.test/1" in page and "<mark>决赛</mark>" in page
    assert "1 page found" in page
    assert "No pages found" in client.get("/search?q=篮球").text
    assert client.get("/search?q=-").status_code == 400


def test_search_result_shows_date_alert_relevance_and_title(group: Group) -> None:
    client = group.member("ana")
    number = alert(client, sites="https://news.test/")
    group.crawl("足球决赛", "足球初赛")
    group.finds(number, "https://news.test/1", published_at=NOON - 86400, relevance=0.91)
    page = client.get("/search", params={"q": "足球"}).text
    first, two = sorted(re.findall('<p class="about">([^<]*)</p>', page), reverse=True)
    assert first == "0.91 very relevant · published 2026-11-20 09:00 · news.test · 欧冠"
    assert "found 2026-11-21" in two and "欧冠" not in two
    text = re.sub("</?mark>", "", page)
    assert text.count("足球决赛") == 1


def test_delivery_log_uses_language_of_user(group: Group) -> None:
    client = group.member("ana", language="zh")
    channel = "webhook:https://h.test/secret"
    line = DeliveryRecord(NOON, group.number("ana"), channel, "b", 2, 0, msg("timed out"))
    with group.app_state.store() as store:
        store.outbox.add_delivery(line)
    page = client.get("/deliveries").text
    assert "将重试" in page and "超时" in page and "secret" not in page


def test_send_test_reports_and_logs_failure(group: Group) -> None:
    client = group.member("ana", "ana@a.test")
    number = alert(client, mail="on")
    answer = client.post(f"/alerts/{number}/test", data={"channel": "mail:ana@a.test"})
    assert "The test failed: no mail server is set" in answer.text
    assert "gave up" in client.get("/deliveries").text
    refused = client.post(f"/alerts/{number}/test", data={"channel": "mail:you@a.test"})
    assert refused.status_code == 400


# -- feeds and unsubscription -------------------------------------------------------


def test_feed_address_works_until_revoked(group: Group, client: TestClient) -> None:
    number = alert(client, feed="on")
    group.finds(number, "https://a.test/1")
    for path in ("/settings/feed", f"/alerts/{number}/feed"):
        match = re.search(r"/feed/[\w-]+\.atom", client.post(path).text)
        assert match
        answer = group.browser().get(match[0])
        assert answer.headers["content-type"].startswith("application/atom+xml")
        assert "https://a.test/1" in answer.text
        client.post(path, data={"off": "1"})
        assert group.browser().get(match[0]).status_code == 404


def test_unsubscribe_get_asks_and_post_unsubscribes(group: Group) -> None:
    from focus.alerts import unsubscribe

    client = group.member("ana", "ana@a.test")
    number, channel = alert(client, mail="on"), "mail:ana@a.test"
    how, mine = group.app_state.settings(), group.number("ana")
    with group.app_state.store() as store:
        link = unsubscribe.unsubscribe_url(store, how, user=mine, channel=channel, now=NOON)
    path = link.removeprefix(HOME)
    stranger = group.browser()
    stranger.headers.pop("sec-fetch-site")
    assert "欧冠" in stranger.get(path).text
    assert "mail:" in group.definition(number)
    one_click = stranger.post(path, data={"List-Unsubscribe": "One-Click"})
    assert one_click.status_code == 200
    assert "mail:" not in group.definition(number)
    assert stranger.get("/unsubscribe/none").status_code == 404


# -- oneself ------------------------------------------------------------------------


def test_settings_are_saved(group: Group, client: TestClient) -> None:
    typed = {
        "name": "安娜", "quiet": "22:00-07:00",
        "language": "zh", "zone": "Asia/Shanghai", "current_password": SECRET,
    }  # fmt: skip
    assert client.post("/settings", data=typed).status_code == 303
    page = client.get("/settings").text
    assert "22:00-07:00" in page and '<html lang="zh-CN">' in page
    assert group.rows("SELECT act, detail FROM audit WHERE actor = 'ana' AND act LIKE '%rename%'")
    group.member("bo")
    for wrong in (
        {"zone": "Moon"}, {"quiet": "x"}, {"phone": "call me"}, {"mail": "me"}, {"name": "bo"},
        {"name": "Bо"},
    ):  # fmt: skip
        assert client.post("/settings", data={**typed, **wrong}).status_code == 400


def test_account_is_exported_and_deleted(group: Group) -> None:
    boss, client = group.member("ana"), group.member("bo", "bo@a.test")
    group.finds(alert(client), "https://a.test/1")
    answer = client.post("/settings/export").json()
    assert (answer["account"]["mail"], answer["alerts"][0]["name"]) == ("bo@a.test", "欧冠")
    assert answer["pages"][0]["url"] == "https://a.test/1"
    assert "argon2" not in json.dumps(answer)
    assert client.post("/settings/delete", data={"password": "wrong"}).status_code == 400
    client.post("/settings/delete", data={"password": SECRET})
    assert not group.rows("SELECT 1 FROM user WHERE name = 'bo'")
    assert not group.rows("SELECT 1 FROM alert_match")
    assert client.get("/inbox").headers["location"] == "/login"
    assert boss.get("/inbox").status_code == 200


def test_delete_only_administrator_is_refused(group: Group) -> None:
    boss = group.member("ana")
    group.member("bo")
    answer = boss.post("/settings/delete", data={"password": SECRET})
    assert answer.status_code == 400
    assert "only administrator" in answer.text


# -- administration -----------------------------------------------------------------


def test_admin_page_masks_mail_server_password(group: Group) -> None:
    boss = group.member("ana")
    url = "smtp://me:hunter22@mail.a.test:587"
    typed = {"registration": "off", "smtp": url, "from": "f@a.test"}
    assert boss.post("/admin", data=typed).status_code == 303
    page = boss.get("/admin").text
    assert "mail.a.test" in page and "hunter22" not in page
    wrong = boss.post("/admin", data={"registration": "off", "smtp": "smtp://a:hunter22@:x"})
    assert wrong.status_code == 400
    assert "hunter22" not in wrong.text.replace('value="smtp://a:hunter22@:x"', "")


def test_admin_page_shows_settings_of_the_command_line(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"smtp_url": "smtp://me:hunter22@mail.a.test", "mail_from": "f@a.test"}
    options["sms_gateway"] = "https://sms.test/?key=hunter22&to={phone}&text={text}"
    monkeypatch.setattr(group.app_state, "sending", SendingOptions(options))
    page = group.member("ana").get("/admin").text
    lines = re.findall("In force, from the command line: ([^<]+)", page)
    assert lines == ["smtp://me:***@mail.a.test", "f@a.test", "sms.test/***"]


def test_disabled_account_loses_its_sessions(group: Group) -> None:
    boss, client = group.member("ana"), group.member("bo")
    assert client.get("/inbox").status_code == 200
    boss.post(f"/admin/users/{group.number('bo')}")
    assert client.get("/inbox").headers["location"] == "/login"
    typed = {"name": "bo", "password": SECRET}
    assert group.browser().post("/login", data=typed).status_code == 403
    with group.app_state.store() as store:
        lines = [line[1:] for line in store.audit.list_latest(9)]
    assert ("ana", "disable", "bo") in lines


# -- the server ---------------------------------------------------------------------


def test_open_socket_taken_port_raises_error() -> None:
    with server.open_socket("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        with pytest.raises(ConfigError, match=f"--port {port}: the port is in use"):
            server.open_socket("127.0.0.1", port)
    with pytest.raises(ConfigError, match="does not have that address"):
        server.open_socket("no.such.host.invalid", 1)


def test_serve_command_missing_extra_is_named(
    tmp_path: Path, monkeypatch: MonkeyPatch, capsys: CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "focus.serve.server")
    monkeypatch.delattr("focus.serve.server")
    assert main(["serve", "--db", str(tmp_path / "focus.db")]) == 2
    assert "pip install 'focus-crawler[serve]'" in capsys.readouterr().err


def test_server_ends_cleanly_on_signal(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "focus", "serve", "--port", str(port)]
    with subprocess.Popen(
        [*command, "--db", str(tmp_path / "focus.db")], stderr=subprocess.PIPE, text=True
    ) as process:
        assert f"focus at http://127.0.0.1:{port}" in process.stderr.readline()
        link = process.stderr.readline().split()[-1]
        with urllib.request.urlopen(link, timeout=600) as answer:
            assert answer.status == 200
        assert lock_holder_pid(server_lock_path(tmp_path / "focus.db")) == process.pid
        process.terminate()
        assert process.wait(600) == 0
        assert "Traceback" not in process.stderr.read()


def test_local_url_is_empty_for_other_hosts() -> None:
    assert server.local_url("127.0.0.1", 1) == "http://127.0.0.1:1"
    assert server.local_url("::1", 1) == "http://[::1]:1"
    assert server.local_url("0.0.0.0", 1) == ""


def test_has_due_work_sees_alerts_and_messages(group: Group) -> None:
    assert not server.has_due_work(group.app_state)
    client = group.member("ana")
    number = alert(client)
    assert server.has_due_work(group.app_state)
    client.post(f"/alerts/{number}/pause")
    assert not server.has_due_work(group.app_state)


def test_scheduler_options_survive_encoding() -> None:
    sending = SendingOptions({"smtp_url": "smtp://localhost"}, HOME, Path("key"))
    web = PageSource(browser=Path("chromium"))
    order = SchedulerOptions(Path("focus.db"), web, sending)
    assert decode_options(msgspec.json.encode(order, enc_hook=str)) == order


def test_wait_s_doubles_up_to_15_minutes() -> None:
    assert [backoff.wait_s("user", n) for n in (1, 4, 5, 6, 7, 50)] == [0, 0, 1, 2, 4, 900]


# -- mail addresses -----------------------------------------------------------------


def confirmed(group: Group, client: TestClient, secret: str) -> int:
    """Somebody opens a mailed link and says yes."""
    assert group.browser().get(f"/confirm/{secret}").status_code == 200
    return group.browser().post(f"/confirm/{secret}", data={"yes": "1"}).status_code


def test_mail_address_is_used_once_confirmed(group: Group, links: list[tuple[str, str]]) -> None:
    client = group.member("ana", "ana@a.test")
    assert links
    links.clear()
    number = alert(client, mail="on")
    typed = {"name": "ana", "zone": "UTC", "language": "en", "mail": "new@a.test"}
    typed["current_password"] = SECRET
    assert client.post("/settings", data=typed).headers["location"].endswith("saved=mail")
    [(mail, secret)] = links
    assert mail == "new@a.test"
    assert "new@a.test is not confirmed yet" in client.get("/settings").text
    assert group.value("mail", "ana") == "ana@a.test"
    assert confirmed(group, client, secret) == 200
    assert group.value("mail", "ana") == "new@a.test"
    assert "mail:new@a.test" in group.definition(number)
    assert "ana@a.test" not in group.definition(number)
    assert group.browser().post(f"/confirm/{secret}", data={"yes": "1"}).status_code == 400
    client.post("/settings", data={**typed, "mail": ""})
    assert group.value("mail", "ana") is None
    assert "mail:" not in group.definition(number)


def test_confirmation_link_needs_post_in_time(group: Group, links: list[tuple[str, str]]) -> None:
    client = group.browser()
    typed = {"name": "ana", "mail": "a@a.test", "password": SECRET, "invite": group.invitation()}
    assert client.post("/register", data=typed).status_code == 303
    assert "a@a.test is not confirmed yet" in client.get("/settings").text
    [(_, secret)] = links
    assert "a@a.test" in group.browser().get(f"/confirm/{secret}").text
    assert group.value("mail", "ana") is None
    group.clock.now += 86_401
    assert group.browser().post(f"/confirm/{secret}", data={"yes": "1"}).status_code == 400
    assert "not confirmed yet" not in client.get("/settings").text


def test_unsent_confirmation_link_is_reported_and_sent_again(group: Group) -> None:
    client = group.member("ana", language="zh")
    typed = {"name": "ana", "zone": "UTC", "language": "zh", "mail": "new@a.test"}
    typed["current_password"] = SECRET
    answer = client.post("/settings", data=typed)
    assert answer.status_code == 400
    assert "尚未设置邮件服务器" in answer.text and "new@a.test 等待确认" in answer.text
    assert "尚未设置邮件服务器" in client.post("/settings/mail").text
    client.post("/settings/mail")
    assert "尝试次数过多" in client.post("/settings/mail").text


# -- files of alerts --------------------------------------------------------------


FILE = json.dumps(
    [
        {
            "name": "f1", "sites": ["https://a.test/"], "words": "足球",
            "channels": ["inbox", "mail:stranger@b.test", "apprise:json://x.test", "feed"],
        },
        {"name": "f2", "sites": ["https://a.test/"], "words": "篮球", "networks": ["10.0.0.0/8"]},
    ]
)  # fmt: skip


def test_alerts_are_imported_and_exported(group: Group) -> None:
    group.member("boss")
    client = group.member("ana", "ana@a.test")
    answer = client.post("/alerts/import", files={"file": ("c.json", FILE.encode())})
    assert "2 alerts were imported" in answer.text
    assert "f1" in answer.text.partition("adapted to your account")[2]
    again = client.post("/alerts/import", files={"file": ("c.json", FILE.encode())})
    assert again.status_code == 400 and "already" in again.text
    data = {"replace": "on"}
    again = client.post("/alerts/import", data=data, files={"file": ("c.json", FILE.encode())})
    assert again.status_code == 200
    exported = client.post("/alerts/export").json()
    assert [item["name"] for item in exported] == ["f1", "f2"]
    assert exported[0]["channels"] == ["inbox", "mail:ana@a.test", "feed"]
    assert exported[1]["networks"] == []


@cases(
    "text, said",
    ("{}", "不是关注的 JSON 列表"),
    ('[{"name": "a", "sites": ["a.test"], "topic": "/etc/x.toml"}]', "主题文件仅限命令行"),
    ('[{"name": "a", "sites": ["a.test"], "words": "-x"}]', "没有要找的词"),
    (f"[{','.join(['{}'] * 51)}]", "最多"),
)
def test_import_invalid_file_shows_error(group: Group, text: str, said: str) -> None:
    client = group.member("ana", language="zh")
    answer = client.post("/alerts/import", files={"file": ("c.json", text.encode())})
    assert answer.status_code == 400
    assert said in answer.text
    assert not group.rows("SELECT 1 FROM alert")


def test_new_alert_form_has_default_channels_of_user(group: Group) -> None:
    client = group.member("ana", "ana@a.test")
    typed = {"feed": "on", "webhook": "https://hook.test/a"}
    assert client.post("/settings/channels", data=typed).status_code == 303
    page = client.get("/alerts/new").text
    assert "https://hook.test/a" in page
    assert re.search(r'name="feed" value="on" checked', page)
    assert not re.search(r'name="mail" value="on" checked', page)
    assert client.post("/settings/channels", data={"webhook": "gopher:x"}).status_code == 400


class Bottle(Channel):
    """Another package's."""

    kind, metavar, help = "bottle", "FOLDER", "By a file in this folder."
    labels = {"en": "Folders, one per line"}
    is_admin_only = True

    @classmethod
    def is_address(cls, text: str) -> bool:
        return text.startswith("/")


def test_channel_of_other_package_has_a_form_field(group: Group, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setitem(CHANNELS._built_in, "bottle", Bottle)
    boss, ana = group.member("boss", language="zh"), group.member("ana")
    assert re.search(r"<label .*>Folders, one per line</label>", boss.get("/alerts/new").text)
    assert "Folders" not in ana.get("/alerts/new").text
    number = alert(boss, bottle="/sea/one\n/sea/two")
    assert "/sea/one\n/sea/two</textarea>" in boss.get(f"/alerts/{number}/edit").text
    assert "<span>bottle:***</span>" in boss.get(f"/alerts/{number}").text
    assert boss.post("/alerts/new", data={**TYPED, "name": "b", "bottle": "sea"}).status_code == 400
    refused = ana.post("/alerts/new", data={**TYPED, "bottle": "/sea"})
    assert "for administrators" in refused.text


def test_alert_page_shows_number_of_votes(group: Group, client: TestClient) -> None:
    number = alert(client)
    first, second = group.finds(number, "https://a.test/1", "https://a.test/2")
    client.post(f"/inbox/{first}/relevant")
    client.post(f"/inbox/{second}/irrelevant")
    assert "1 relevant, 1 not" in client.get(f"/alerts/{number}").text


# -- short messages -----------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # of apprise
def test_phone_is_used_only_after_code_is_entered(group: Group, monkeypatch: MonkeyPatch) -> None:
    sent: list[tuple[str, str]] = []

    async def accept(message: Message, address: str) -> DeliveryOutcome:
        sent.append((address, message.text))
        return Delivered()

    monkeypatch.setattr("focus.alerts.delivery.sms.apprise.deliver", accept)
    monkeypatch.setattr("focus.alerts.delivery.sms.apprise.check_url", lambda url, where: None)
    client = group.member("ana")
    typed = {"name": "ana", "zone": "UTC", "language": "en", "phone": "+86 138-0013-8000"}
    typed["current_password"] = SECRET
    assert "no SMS gateway" in client.post("/settings", data=typed).text
    client.post("/admin", data={"registration": "invite", "sms": "json://gate.test/?to={phone}"})
    assert "json://***" in client.get("/admin").text
    assert client.post("/settings", data=typed).status_code == 303
    (address, text), *_ = sent
    assert address == "json://gate.test/?to=+8613800138000"
    assert client.post("/settings/code", data={"code": "none"}).status_code == 400
    assert group.value("phone", "ana") is None
    code = re.findall(r"\d{6}", text)[0]
    assert client.post("/settings/code", data={"code": code}).status_code == 303
    assert group.value("phone", "ana") == "+8613800138000"
    number = alert(client, sms="on")
    client.post(f"/alerts/{number}/test", data={"channel": "sms:+8613800138000"})
    assert len(sent) == 2
    client.post("/settings", data={**typed, "phone": ""})
    assert "sms:" not in group.definition(number)


@pytest.mark.filterwarnings("ignore")  # of apprise
def test_confirmation_codes_are_limited_by_attempts(group: Group, monkeypatch: MonkeyPatch) -> None:
    async def accept(message: Message, address: str) -> DeliveryOutcome:
        return Delivered()

    monkeypatch.setattr("focus.alerts.delivery.sms.apprise.deliver", accept)
    client = group.member("ana")
    client.post("/admin", data={"registration": "invite", "sms": "json://gate.test/?to={phone}"})
    typed = {"name": "ana", "zone": "UTC", "language": "en", "phone": "+8613800138000"}
    typed["current_password"] = SECRET
    client.post("/settings", data=typed)
    answers = [client.post("/settings/code", data={"code": "none"}).text for _ in range(5)]
    assert "The code is wrong" in answers[0]
    assert "Too many attempts" in answers[-1]
    group.clock.now += 901
    assert "phone" not in json.dumps(client.post("/settings/export").json()["account"]["phone"])


@pytest.mark.filterwarnings("ignore")  # of apprise
def test_sms_gateway_without_number_placeholder_is_refused(group: Group) -> None:
    client = group.member("ana", language="zh")
    answer = client.post("/admin", data={"registration": "invite", "sms": "json://gate.test/"})
    assert answer.status_code == 400
    assert "短信网关：请在号码处写 {phone}" in answer.text
    answer = client.post("/admin", data={"registration": "invite", "sms": "nothing:{phone}"})
    assert answer.status_code == 400


# -- in Chinese ---------------------------------------------------------------------


def test_error_messages_are_in_chinese_for_chinese_users(group: Group) -> None:
    client = group.member("ana", language="zh")
    number = alert(client)
    refused, ana = msg("Connection refused"), group.number("ana")
    with group.app_state.store() as store:
        why = chain_messages("https://a.test/", msg("host-given-up"), "robots.txt", refused)
        store.sites.record_trouble(1, why, now=NOON)
        line = chain_messages(msg("mail server {address}", address="mail.test:587"), refused)
        store.outbox.add_delivery(DeliveryRecord(NOON, ana, "mail:a@a.test", "b", 1, 0, line))
    for page in (f"/alerts/{number}", "/alerts"):
        assert "https://a.test/：已放弃此主机：robots.txt：连接被拒绝" in client.get(page).text
    assert "邮件服务器 mail.test:587：连接被拒绝" in client.get("/deliveries").text
    foreign = client.post("/inbox/read", headers={"sec-fetch-site": "cross-site"})
    assert "请求来自其他网站" in foreign.text


def test_connection_pool_closes_surplus_and_failed_connections() -> None:
    numbers, closed = iter(range(1, 9)), list[int]()
    pool = ConnectionPool(partial(next, numbers), closed.append, max_idle=1)
    with pool.borrow() as first, pool.borrow() as second:
        assert (first, second) == (1, 2)
    assert closed == [1], "one is idle"
    with pytest.raises(KeyError), pool.borrow():
        raise KeyError
    assert closed == [1, 2], "its state is unknown"


def test_search_page_uses_replaced_index(group: Group) -> None:
    app_state = group.app_state
    with app_state.index() as first:
        first.update()
    with app_state.index() as again:
        assert again is first
    first.path.unlink()
    with app_state.index() as new_index:
        assert new_index is not first and new_index.is_current()
