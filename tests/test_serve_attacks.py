"""`focus serve` under attack: one test for each line of its promises in SECURITY.md."""

import asyncio
import logging
import os
import re
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from pytest import MonkeyPatch

pytest.importorskip("starlette", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="starlette's test client needs it")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from focus.alerts.delivery import Delivered
from focus.serve import app, tokens
from focus.serve.accounts import Passwords
from focus.serve.alerts import MAX_ALERTS
from focus.serve.log import LineFormatter
from focus.serve.upload import MAX_FORM
from focus.storage.alerts.inbox import Inbox
from focus.storage.alerts.tokens import hash_secret
from tests.support.cases import cases
from tests.test_hostile_titles import TITLES
from tests.test_serve import CHEAP, SECRET, TYPED, Group, alert
from tests.test_serve import client as client
from tests.test_serve import group as group  # the fixture

EVIL = "<script>alert(1)</script>"


def log_in(client: TestClient, name: str, password: str = SECRET) -> int:
    return client.post("/login", data={"name": name, "password": password}).status_code


# -- passwords ----------------------------------------------------------------------


def test_stored_passwords_use_argon2id() -> None:
    assert Passwords().hash(SECRET).startswith("$argon2id$")


def test_login_unknown_name_takes_equal_work(group: Group, monkeypatch: MonkeyPatch) -> None:
    group.member("ana")
    verified = []
    genuine = CHEAP.verify

    class Counting(type(CHEAP)):  # type: ignore[misc]
        def verify(self, hash: str | bytes, password: str | bytes) -> bool:
            verified.append(hash)
            return genuine(hash, password)

    group.app_state.passwords._hasher = Counting(time_cost=1, memory_cost=8, parallelism=1)
    answers = [
        group.browser().post("/login", data={"name": name, "password": "guess"})
        for name in ("ana", "nobody", "local")
    ]
    assert len({(answer.status_code, answer.text) for answer in answers}) == 1
    assert len(verified) == 3


def test_login_attempts_per_account_are_limited(group: Group) -> None:
    group.member("ana")
    for name in ("ana", "nobody"):
        with group.app_state.store() as store, store.database.transaction() as db:
            db.execute("DELETE FROM attempt")
        client = group.browser()
        codes = [log_in(client, name, "guess") for _ in range(7)]
        assert codes == [403] * 5 + [429] * 2
        assert log_in(client, name) == 429, "the right password does not help before its time"
    group.clock.now += 60
    assert log_in(group.browser(), "ana") == 303


@pytest.mark.parametrize(("typed", "status"), [("#{}", 403), ("ünal", 429), ("ÜNAL", 429)])
@pytest.mark.parametrize("name", ["Ünal", "Önal"])
def test_counts_of_a_name_do_not_tell_whether_it_is_known(
    group: Group, typed: str, status: int, name: str
) -> None:
    group.member("Ünal")
    typed = typed.format(group.number("Ünal")).replace("ü", name[0].lower()).replace("Ü", name[0])
    for _ in range(7):
        log_in(group.browser(), typed, "guess")
    assert log_in(group.browser(), name, "guess") == status


def test_renaming_does_not_reset_login_attempts(group: Group) -> None:
    group.member("ana")
    user, codes = group.number("ana"), []
    for number in range(7):
        name = f"ana{number}"
        with group.app_state.store() as store:
            store.users.update(user, name=name)
        codes.append(log_in(group.browser(), name, "guess"))
    assert codes == [403] * 5 + [429] * 2


def test_wrong_passwords_elsewhere_do_not_lock_out_a_known_browser(group: Group) -> None:
    client = group.member("ana")
    client.post("/logout")
    for _ in range(9):
        log_in(group.browser(), "ana", "guess")
    assert log_in(group.browser(), "ana") == 429
    assert log_in(client, "ana") == 303
    client.post("/logout")
    codes = [log_in(client, "ana", "guess") for _ in range(7)]
    assert 429 in codes, "a known browser has a limit of its own"


def test_mailed_reset_clears_lock(group: Group) -> None:
    group.member("ana", "ana@a.test")
    for _ in range(9):
        log_in(group.browser(), "ana", "guess")
    with group.app_state.store() as store:
        secret = tokens.create_token(store, "reset", user=group.number("ana"), now=group.clock())
    group.browser().post(f"/reset/{secret}", data={"password": "another good one"})
    assert log_in(group.browser(), "ana", "another good one") == 303


def test_login_attempts_per_address_are_limited(group: Group) -> None:
    group.member("ana")
    client = group.browser()
    codes = [log_in(client, f"name{n}", "guess") for n in range(25)]
    assert (codes[:19], codes[-1]) == ([403] * 19, 429)


def test_own_login_does_not_reset_attempts_of_address(group: Group) -> None:
    group.member("eve")
    client = group.browser()
    codes = []
    for n in range(30):
        codes.append(log_in(client, f"name{n}", "guess"))
        log_in(client, "eve")
    assert 429 in codes


# -- sessions -----------------------------------------------------------------------


def test_login_creates_session_and_logout_deletes_it(group: Group, client: TestClient) -> None:
    first = client.cookies["focus_session"]
    log_in(client, "ana")
    second = client.cookies["focus_session"]
    assert second != first
    old = group.browser(cookies={"focus_session": first})
    assert old.get("/inbox").headers["location"] == "/login"
    client.post("/logout")
    stolen = group.browser(cookies={"focus_session": second})
    assert stolen.get("/inbox").headers["location"] == "/login"


def test_login_replaces_planted_session(group: Group) -> None:
    group.member("ana")
    victim = group.browser(cookies={"focus_session": "planted"})
    log_in(victim, "ana")
    attacker = group.browser(cookies={"focus_session": "planted"})
    assert attacker.get("/inbox").headers["location"] == "/login"


def test_session_expires(group: Group, client: TestClient) -> None:
    group.clock.now += 15 * 86400
    assert client.get("/inbox").headers["location"] == "/login"


def test_change_password_ends_other_sessions(group: Group) -> None:
    client, stranger = group.member("ana"), group.browser()
    log_in(stranger, "ana")
    changed = client.post("/settings/password", data={"old": SECRET, "new": "another good one"})
    assert changed.status_code == 303
    assert client.get("/inbox").status_code == 200
    assert stranger.get("/inbox").headers["location"] == "/login"


def test_session_cookie_attributes(group: Group) -> None:
    answer = group.browser().post("/login", data={"name": "x", "password": "y"})
    assert "set-cookie" not in answer.headers
    group.member("ana")
    typed = {"name": "ana", "password": SECRET}
    plain = group.browser().post("/login", data=typed).headers["set-cookie"].lower()
    assert "httponly" in plain and "samesite=lax" in plain
    group.app_state.base_url = "https://focus.test"
    headers = {"host": "focus.test"}
    answer = group.browser().post("/login", data=typed, headers=headers)
    cookies = answer.headers.get_list("set-cookie")
    expected = {"__Host-focus_session", "__Host-focus_browser"}
    assert {cookie.partition("=")[0] for cookie in cookies} == expected
    for cookie in cookies:
        assert {"; secure", "; httponly", "; samesite=lax"} <= {
            f"; {part.strip()}" for part in cookie.lower().split(";")
        }


def test_tokens_are_stored_as_hashes(group: Group, client: TestClient) -> None:
    secret = client.cookies["focus_session"]
    with sqlite3.connect(group.app_state.path) as db:
        dump = "\n".join(db.iterdump())
    db.close()
    assert secret not in dump and SECRET not in dump
    assert hash_secret(secret).hex() in dump.lower()


# -- other sites --------------------------------------------------------------------


REFUSED = [
    {},
    {"sec-fetch-site": "cross-site", "origin": "http://127.0.0.1:8420"},
    *({"sec-fetch-site": site} for site in ("cross-site", "same-site", "none")),
    *({"origin": origin} for origin in ("http://127.0.0.1:9999", "https://evil.test", "null")),
]
ALLOWED = [{"sec-fetch-site": "same-origin"}, {"origin": "http://127.0.0.1:8420"}]


@pytest.mark.parametrize("headers", REFUSED + ALLOWED)
def test_post_of_other_origin_refused(group: Group, headers: dict[str, str]) -> None:
    client = group.member("ana")
    client.headers.pop("sec-fetch-site")
    answer = client.post("/alerts/new", data=TYPED, headers=headers)
    assert (answer.status_code == 303) is (headers in ALLOWED)
    assert bool(group.rows("SELECT 1 FROM alert")) is (headers in ALLOWED)


def test_get_requests_change_nothing(client: TestClient) -> None:
    number = alert(client)
    for path in (f"/alerts/{number}/delete", f"/alerts/{number}/pause", "/logout"):
        assert client.get(path).status_code == 405
    assert client.get("/inbox").status_code == 200


def test_refused_request_gets_a_page_in_the_language_of_the_browser(group: Group) -> None:
    answer = group.member("ana").get("/nothing", headers={"accept-language": "zh"})
    assert answer.status_code == 404
    assert '<html lang="zh' in answer.text and 'href="/static/style.css"' in answer.text


def test_foreign_host_header_is_refused(client: TestClient) -> None:
    for host in ("evil.test", "evil.test:8420", "", "[", "127.0.0.1.evil.test"):
        assert client.get("/inbox", headers={"host": host}).status_code == 421
    for host in ("localhost:8420", "[::1]:8420"):
        assert client.get("/inbox", headers={"host": host}).status_code != 421


def test_responses_have_security_headers(client: TestClient) -> None:
    for path in ("/inbox", "/nowhere", "/static/style.css", "/feed/x.atom", "/inbox/1/bad"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
    assert client.get("/inbox").headers["cache-control"] == "no-store"


def test_scripts_are_allowed_on_scripted_pages_only(client: TestClient) -> None:
    number = alert(client)
    for path in ("/inbox", "/alerts", f"/alerts/{number}", "/search", "/admin"):
        policy = client.get(path).headers["content-security-policy"]
        assert "script-src" not in policy
    for path in ("/login", "/settings"):
        policy = client.get(path).headers["content-security-policy"]
        assert "script-src 'self'" in policy and "default-src 'none'" in policy


def test_pages_load_nothing_from_other_hosts_and_have_no_inline_script(client: TestClient) -> None:
    number = alert(client)
    paths = ("/inbox", "/alerts", f"/alerts/{number}", "/search", "/admin", "/settings")
    for path in paths:
        page = client.get(path).text
        ours = ['<script src="/static/browser.js" defer></script>'] * (path == "/settings")
        assert re.findall(r"(?s)<script.*?</script>", page) == ours
        assert not re.search(r"\son\w+=|\sstyle=", page)
        assert not re.search(r"(?:src|<link[^>]* href)=\"(?!/)", page)


# -- what comes from the web, and from others ---------------------------------------


def test_text_from_the_web_is_escaped(group: Group, client: TestClient) -> None:
    number = alert(client, name=EVIL[:40])
    why = {"parts": {"title": 1.0, EVIL: 0.5}, "words": {"title": [EVIL]}}
    said = {"title": EVIL, "snippet": f"\u2060{EVIL}\u2060", "why": why}
    group.finds(number, "javascript:alert(1)", **said)
    group.finds(number, 'https://a.test/"onload="x', **said)
    for path in ("/inbox", f"/inbox?words={EVIL}", "/alerts", f"/search?q={EVIL}"):
        page = client.get(path).text
        assert EVIL not in page and 'href="javascript' not in page
        assert '"onload=' not in page


def test_pages_of_other_users_are_refused(group: Group) -> None:
    group.member("boss")
    ana, eve = group.member("ana"), group.member("eve")
    number = alert(ana)
    [page] = group.finds(number, "https://a.test/1")
    before = group.rows("SELECT * FROM alert"), group.rows("SELECT * FROM alert_match")
    for path in (f"/alerts/{number}", f"/alerts/{number}/edit", "/admin"):
        assert eve.get(path).status_code in (400, 404)
    for what in ("edit", "pause", "delete", "test", "feed"):
        assert eve.post(f"/alerts/{number}/{what}", data=TYPED).status_code == 400
    for what in ("read", "delete", "relevant"):
        assert eve.post(f"/inbox/{page}/{what}").status_code == 404
    eve.post("/inbox/read", data={"alert": str(number)})
    assert "标题" not in eve.get(f"/inbox?alert={number}").text
    assert (group.rows("SELECT * FROM alert"), group.rows("SELECT * FROM alert_match")) == before
    for path in ("/admin", "/admin/invite", f"/admin/users/{group.number('ana')}"):
        assert eve.post(path, data={"registration": "open"}).status_code == 404


def test_channels_for_administrators_are_refused_to_users(group: Group) -> None:
    group.member("boss")
    eve = group.member("eve")
    typed = {**TYPED, "apprise": "json://10.0.0.1/"}
    answer = eve.post("/alerts/new", data=typed)
    assert answer.status_code == 400
    assert "administrators" in answer.text


def test_mail_channel_uses_own_address_only(group: Group) -> None:
    eve = group.member("eve", "eve@a.test")
    alert(eve, mail="victim@b.test")
    assert "victim" not in group.rows("SELECT definition FROM alert")[0][0]


def test_form_with_too_much_is_refused(client: TestClient) -> None:
    for content in ("words=" + "x" * MAX_FORM, "&".join(f"a{n}=1" for n in range(300))):
        assert client.post("/alerts/new", content=content).status_code == 413


def test_number_of_mailed_links_is_limited(group: Group, monkeypatch: MonkeyPatch) -> None:
    group.member("ana", "ana@a.test")
    sent: list[str] = []
    monkeypatch.setattr(
        "focus.serve.accounts.create_reset_token", lambda store, name, now: sent.append(name)
    )
    texts = {group.browser().post("/forgot", data={"name": "ana"}).text for _ in range(8)}
    group.send_account_messages()
    assert sent
    assert len(texts) == 1
    assert len(sent) <= 3


@pytest.mark.parametrize(
    "path",
    f"/alerts/{'9' * 5_000} /inbox/99999999999999999999/read /feed/%00.atom /reset/%ff".split(),
)
def test_malformed_urls_get_a_response(client: TestClient, path: str) -> None:
    answer: Callable[..., object] = client.post if path.endswith("read") else client.get
    assert answer(path).status_code in (400, 404)  # type: ignore[attr-defined]


def test_internal_error_page_shows_no_details(client: TestClient, monkeypatch: MonkeyPatch) -> None:

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr(Inbox, "list_entries", broken)
    answer = client.get("/inbox")
    assert answer.status_code == 500
    assert "secret" not in answer.text


def test_refused_request_is_logged_without_its_path(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    client.post("/alerts/new", headers={"sec-fetch-site": "cross-site"})
    client.get("/here/%1B[31m/s3cr3t")
    assert client.get("/alerts").status_code == 200
    lines = ["testclient POST /alerts: 403", "testclient GET /here: 404"]
    assert [line for line in caplog.messages if line.startswith("testclient")] == lines


def test_log_line_of_a_stranger_is_indented() -> None:
    record = logging.makeLogRecord({"msg": "a\x1b[31m\n2026-01-01T00:00:00Z", "created": 0.0})
    text = LineFormatter().format(record)
    assert text == "1970-01-01T00:00:00Z Level None a [31m\n  2026-01-01T00:00:00Z"


@cases(
    "path, typed",
    ("/alerts/new", {**TYPED, "words": "足" * 2_001}),
    ("/alerts/new", {**TYPED, "topic": "a " * 1_001}),
    ("/alerts/new", {**TYPED, "every": "custom", "schedule": "9" * 5_000 + "m"}),
    ("/admin", {"registration": "invite", "sms": "http://[/{phone}{text}"}),
)
def test_large_or_malformed_field_refused(group: Group, path: str, typed: dict[str, str]) -> None:
    answer = group.member("ana").post(path, data=typed)
    assert answer.status_code == 400
    assert "Something went wrong" not in answer.text


def test_deeply_nested_import_is_refused(group: Group) -> None:
    files = {"file": ("alerts.json", "[" * 50_000)}
    answer = group.member("ana").post("/alerts/import", files=files)
    assert answer.status_code == 400
    assert "no JSON list of alerts" in answer.text


@pytest.mark.parametrize("phone", ["110", "+110", "+٤٩١٥١٢٣٤٥٦", "4915123456", "+0915123456"])
def test_phone_that_is_not_international_is_refused(group: Group, phone: str) -> None:
    typed = {"name": "ana", "zone": "UTC", "language": "en", "quiet": "", "phone": phone}
    answer = group.member("ana").post("/settings", data={**typed, "current_password": SECRET})
    assert "Write the phone number like" in answer.text


def test_request_with_two_lengths_is_refused_and_closed(group: Group) -> None:
    headers = {"transfer-encoding": "chunked", "content-length": "3"}
    answer = group.browser().post("/login", headers=headers, content=b"a=b")
    assert (answer.status_code, answer.headers["connection"]) == (400, "close")


def test_simultaneous_requests_do_not_exceed_the_number_of_alerts(group: Group) -> None:
    client = group.member("ana")
    for number in range(MAX_ALERTS - 1):
        alert(client, name=str(number))
    cookies, codes = dict(client.cookies), []
    barrier = threading.Barrier(6)

    def add(number: int) -> None:
        browser = group.browser(cookies=cookies)
        barrier.wait()
        answer = browser.post("/alerts/new", data={**TYPED, "name": f"more {number}"})
        codes.append(answer.status_code)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(codes) == [303] + [400] * 5
    assert group.rows("SELECT count(*) FROM alert") == [(MAX_ALERTS,)]


def test_waiting_test_messages_delay_no_others(group: Group, monkeypatch: MonkeyPatch) -> None:
    started, release = threading.Semaphore(0), threading.Event()

    async def silent(*_: object, **__: object) -> Delivered:
        started.release()
        await asyncio.to_thread(release.wait)
        return Delivered()

    monkeypatch.setattr("focus.serve.alerts.send_test_message", silent)
    boss = group.member("boss")
    number = alert(boss, webhook="https://hook.test/")
    with group.app_state.store() as store:
        channel = next(
            c for c in store.alerts.list_alerts()[0].alert.channels if c.startswith("webhook")
        )
    cookies, codes = dict(boss.cookies), []

    def test() -> None:
        browser = group.browser(cookies=cookies)
        answer = browser.post(f"/alerts/{number}/test", data={"channel": channel})
        codes.append(answer.status_code)

    threads = [threading.Thread(target=test) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in threads:
        started.acquire()
    test()
    assert codes == [429], "two of one user are in progress"
    assert boss.get("/inbox").status_code == 200
    release.set()
    for thread in threads:
        thread.join()
    assert codes == [429, 200, 200]


@cases(
    "path, form, status",
    ("/alerts/{}", None, 200),
    ("/alerts/{}?preview=1", None, 429),
    ("/alerts/{}?%70review", None, 429),
    ("/alerts/{}?saved=1", None, 429),
    ("/alerts/{}/edit", None, 200),
    ("/alerts/{}/edit", "tr%79=1", 429),
    ("/alerts/import", "file=", 429),
    *((f"/settings/{path}", "a=", 429) for path in ("password", "sessions", "delete")),
    *((f"/settings/second-factor{path}", "a=", 429) for path in ("", "/off")),
)
def test_requests_that_take_long_count_as_slow(
    client: TestClient, monkeypatch: MonkeyPatch, path: str, form: str | None, status: int
) -> None:
    path = path.format(alert(client))
    monkeypatch.setattr(app, "MAX_SLOW_REQUESTS_PER_USER", 0)
    kind = {"content-type": "application/x-www-form-urlencoded"}
    answer = client.post(path, content=form, headers=kind) if form else client.get(path)
    assert answer.status_code == status


def test_slow_page_without_session_is_log_in(group: Group, monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MAX_SLOW_REQUESTS_PER_USER", 0)
    client = group.member("ana")
    assert client.get("/search").status_code == 429
    assert group.browser().get("/search").headers["location"] == "/login"


# -- random forms -------------------------------------------------------------------

FIELDS = sorted(
    {name for page in Path(app.__file__).with_name("templates").glob("*.html")
     for name in re.findall(r"(?:field|area|check)\('(\w+)'|name=\"(\w+)\"", page.read_text())
     for name in name if name and name != "try"}
)  # fmt: skip
VALUES = st.one_of(
    st.sampled_from(
        [
            *(title[:300] for title in TITLES.values()),
            "9" * 5000,
            "-1",
            "1e400",
            "nan",
            "[" * 1000,
            "http://[",
            "\0",
        ]
    ),
    st.sampled_from(
        ["on", "1", "mail:a@b.test", "https://a.test/", "daily", "2026-02-30", "custom"]
    ),
    st.text(max_size=50),
)
LONG = int(os.environ.get("FOCUS_FUZZ", "0"))


def test_random_forms_get_no_server_error(group: Group, caplog: pytest.LogCaptureFixture) -> None:
    client = group.member("boss")
    number = alert(client)
    group.finds(number, "https://a.test/1")
    cookies = dict(client.cookies)
    paths = [path for path in app._ROUTES if path not in ("/logout", "/settings/delete")]

    @settings(
        max_examples=LONG or 200, derandomize=not LONG, database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(
        st.sampled_from(paths), st.sampled_from([str(number), "1", "99", "0" * 15, "%00", "é"]),
        st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=9), st.booleans(),
    )  # fmt: skip
    def respond(path: str, part: str, fields: dict[str, str], is_post: bool) -> None:
        url = re.sub(r"{.*?}", part, path)
        text = urlencode(fields, errors="surrogatepass")
        client.cookies.update(cookies)
        kind = {"content-type": "application/x-www-form-urlencoded"}
        answer = (
            client.post(url, content=text, headers=kind) if is_post else client.get(f"{url}?{text}")
        )
        assert answer.status_code < 500, (url, fields)

    respond()
    assert "Traceback" not in caplog.text
