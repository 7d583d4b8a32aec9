"""`focus serve`: names, addresses, what may be searched, what is logged."""

import logging

import pytest

pytest.importorskip("starlette", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="starlette's test client needs it")

from starlette.testclient import TestClient

from focus.alerts.settings import DeliverySettings
from focus.errors import StoreLocked
from focus.i18n import msg, translate
from focus.serve import address_verification, names, tokens
from focus.serve.app import _ROUTES
from focus.storage.alerts.records import User
from focus.storage.alerts.tokens import Tokens
from focus.storage.search_index import SearchIndex
from tests.support.cases import cases
from tests.support.outbox import NOON
from tests.support.site import CrawledSite, article
from tests.test_serve import SECRET, Group, alert
from tests.test_serve import group as group  # the fixture

# -- names --------------------------------------------------------------------------


LOOKALIKES = "ANA=ana ａｎａ=ana сосо=coco ВОВ=bob κ0κ0=koko lvan=Ivan b0b=bob rnary=mary ınes=ines"
LOOKALIKES += " strasse=straße 1ocaI=local 安娜=安娜"


@pytest.mark.parametrize("pair", LOOKALIKES.split())
def test_is_confusable_lookalike_names_returns_true(pair: str) -> None:
    name, existing = pair.split("=")
    assert names.is_confusable(name, [existing])
    assert names.is_confusable(existing, [name])


@cases("name, second", ("ian", "lan"), ("ana", "ána"), ("анна", "anna"), ("安娜", "安娜2"))
def test_is_confusable_different_names_returns_false(name: str, second: str) -> None:
    assert not names.is_confusable(name, [second])


@cases("name", "安娜Anna", "アンナー安", "김a安", "ㄅ安a", "Ngọc", "анна", "a_1.x-")
def test_is_single_script_accepts_combined_scripts(name: str) -> None:
    assert names.is_single_script(names.normalise_name(name))


@pytest.mark.parametrize("name", ["аna", "αa", "김あ", "анна٣", "ɑna", "안ㄅ"])
def test_is_single_script_rejects_mixed_scripts(name: str) -> None:
    assert not names.is_single_script(names.normalise_name(name))


def test_register_confusable_name_is_refused(group: Group) -> None:
    group.member("Ivan")
    for name, said in (("lvan", "looks like"), ("Ivаn", "one script"), ("iⅴan", "looks like")):
        typed = {"name": name, "password": SECRET, "invite": group.invitation()}
        answer = group.browser().post("/register", data=typed)
        assert answer.status_code == 400
        assert said in answer.text
    ben = group.member("ben")
    typed = {**PROFILE, "name": "lvan", "current_password": SECRET}
    assert "looks like" in ben.post("/settings", data=typed).text
    with (
        group.app_state.store() as store,
        store.database.transaction() as db,
    ):  # from before there was a rule
        db.execute("UPDATE user SET name = 'Iаn' WHERE name = 'ben'")
    assert ben.post("/settings", data={**typed, "name": "Iаn"}).status_code == 303


def test_create_invitation_with_closed_registration_is_refused(group: Group) -> None:
    boss = group.member("ana")
    boss.post("/admin", data={"registration": "off"})
    answer = boss.post("/admin/invite")
    assert answer.status_code == 400
    assert "invite=" not in answer.text
    assert "Registration is off" in boss.get("/admin").text
    assert not group.rows("SELECT 1 FROM token WHERE kind = 'invite'")


# -- addresses ----------------------------------------------------------------------

PROFILE = {"name": "ana", "zone": "UTC", "language": "en", "quiet": ""}


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(address, secret or what is told) of each letter that was mailed."""
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(
        address_verification,
        "send_link",
        lambda how, mail, language, *, secret, **_: sent.append((mail, secret)),
    )

    def notice(how: DeliverySettings, owner: User, what: str, *, now: float) -> None:
        sent.append((owner.mail or str(owner.phone), translate(what, "en")))

    monkeypatch.setattr(address_verification, "send_change_notice", notice)
    return sent


@pytest.mark.parametrize("mail", ["new@a.test", ""])
def test_mail_change_requires_password(
    group: Group, letters: list[tuple[str, str]], mail: str
) -> None:
    client = group.member("ana", "ana@a.test")
    letters.clear()
    for typed in ({}, {"current_password": ""}, {"current_password": "guess"}):
        answer = client.post("/settings", data={**PROFILE, "mail": mail, **typed})
        assert answer.status_code == 400
        assert "password is wrong" in answer.text
    assert not letters
    assert group.rows("SELECT mail FROM user WHERE name = 'ana'") == [("ana@a.test",)]
    answer = client.post("/settings", data={**PROFILE, "mail": mail, "current_password": SECRET})
    assert answer.status_code == 303
    assert SECRET not in client.get("/settings").text


def test_other_settings_require_no_password(group: Group, letters: list[tuple[str, str]]) -> None:
    client = group.member("ana", "ana@a.test")
    typed = {**PROFILE, "mail": "ana@a.test"}
    assert client.post("/settings", data=typed).status_code == 303
    client.post("/settings", data={**typed, "mail": "new@a.test", "current_password": SECRET})
    assert client.post("/settings", data={**typed, "mail": "new@a.test"}).status_code == 303
    assert client.post("/settings", data=typed).status_code == 303, "the new one is taken back"


def test_previous_mail_address_is_notified(group: Group, letters: list[tuple[str, str]]) -> None:
    client = group.member("ana", "old@a.test")
    letters.clear()
    client.post("/settings", data={**PROFILE, "mail": "new@a.test", "current_password": SECRET})
    [(mail, secret)] = letters
    assert mail == "new@a.test", "until it is confirmed nothing has changed"
    group.browser().post(f"/confirm/{secret}", data={"yes": "1"})
    assert letters[1:] == [("old@a.test", "mail address")]
    client.post("/settings", data={**PROFILE, "mail": "", "current_password": SECRET})
    assert letters[2:] == [("new@a.test", "mail address")]


def test_change_notice_names_account_not_new_value(monkeypatch: pytest.MonkeyPatch) -> None:
    mailed: list[dict[str, str]] = []
    monkeypatch.setattr(
        address_verification,
        "_mail_message",
        lambda how, mail, language, **what: mailed.append(what),
    )
    owner = User(1, "安娜", "old@a.test", None, "zh", "UTC", "", False, None, ())
    what = msg("mail address")
    address_verification.send_change_notice(DeliverySettings(), owner, what, now=NOON)
    assert "安娜" in translate(mailed[0]["body"], "zh")
    assert "邮" in translate(mailed[0]["body"], "zh")
    assert not mailed[0]["link"]


CHANGES = [{"phone": "+4915123"}, {"phone": ""}, {"name": "anna"}, {"mail": "b@a.test"}]


@pytest.mark.parametrize("typed", CHANGES)
def test_phone_and_name_change_require_password(group: Group, typed: dict[str, str]) -> None:
    client = group.member("ana", "ana@a.test")
    with group.app_state.store() as store:
        store.users.set_address(group.number("ana"), "phone", "+4915000")
    profile = {**PROFILE, "mail": "ana@a.test", "phone": "+4915000", **typed}
    pages = [client.post("/settings", data=profile).text for _ in range(8)]
    assert "password is wrong" in pages[0] and "Too many attempts" in pages[-1]
    expected = [("ana", "+4915000")]
    assert group.rows("SELECT name, phone FROM user WHERE mail IS NOT NULL") == expected


def test_changes_are_reported_by_mail_or_sms(group: Group, letters: list[tuple[str, str]]) -> None:
    client = group.member("ana", "ana@a.test")
    profile = {**PROFILE, "mail": "ana@a.test", "current_password": SECRET}
    letters.clear()
    client.post("/settings", data={**profile, "name": "anna"})
    client.post("/settings/password", data={"old": SECRET, "new": "another good one"})
    assert letters == [("ana@a.test", "name"), ("ana@a.test", "password")]
    with group.app_state.store() as store:
        store.users.set_address(group.number("anna"), "mail", None)
        store.users.set_address(group.number("anna"), "phone", "+4915000")
    client.post("/settings/password", data={"old": "another good one", "new": SECRET})
    assert letters[2:] == [("+4915000", "password")]


def test_reset_password_is_notified(group: Group, letters: list[tuple[str, str]]) -> None:
    group.member("ana", "ana@a.test")
    letters.clear()
    with group.app_state.store() as store:
        secret = tokens.create_token(store, "reset", user=group.number("ana"), now=group.clock())
    group.browser().post(f"/reset/{secret}", data={"password": "another good one"})
    assert letters == [("ana@a.test", "password")]


@pytest.mark.parametrize("how", ["change", "reset", "disable"])
def test_pending_address_ends_with_password_or_account(
    group: Group, letters: list[tuple[str, str]], how: str
) -> None:
    boss, client = group.member("boss"), group.member("ana", "ana@a.test")
    typed = {**PROFILE, "mail": "thief@a.test", "current_password": SECRET}
    client.post("/settings", data=typed)
    [pending] = [secret for mail, secret in letters if mail == "thief@a.test"]
    number = group.number("ana")
    with group.app_state.store() as store:
        tokens.create_token(store, "invite", user=number, now=group.clock())
    if how == "change":
        client.post("/settings/password", data={"old": SECRET, "new": "another good one"})
    elif how == "reset":
        with group.app_state.store() as store:
            secret = tokens.create_token(store, "reset", user=number, now=group.clock())
        group.browser().post(f"/reset/{secret}", data={"password": "another good one"})
    else:
        boss.post(f"/admin/users/{number}")
        boss.post(f"/admin/users/{number}")
    assert group.browser().post(f"/confirm/{pending}", data={"yes": "1"}).status_code == 400
    assert group.rows("SELECT mail FROM user WHERE name = 'ana'") == [("ana@a.test",)]
    kinds = group.rows("SELECT DISTINCT kind FROM token WHERE user = ?", number)
    assert set(kinds) <= ({("session",), ("device",)} if how == "change" else set())


def test_idle_session_ends_and_used_one_continues(group: Group) -> None:
    client, idle = group.member("ana"), group.member("ben")
    for _ in range(4):
        group.clock.now += 2 * 86400
        assert client.get("/inbox").status_code == 200
    assert idle.get("/inbox").headers["location"] == "/login"


# -- searching ----------------------------------------------------------------------


def crawl_site(group: Group, host: str) -> CrawledSite:
    with group.app_state.store() as store:
        crawled = CrawledSite(store, host=host, now=NOON)
        crawled.page("/1", "足球决赛", article("足球", len(host)))
        with SearchIndex(store.path) as index:
            index.update()
    return crawled


def finds(client: TestClient) -> set[str]:
    page = client.get("/search?q=决赛").text
    return {host for host in ("a.test", "b.test", "c.test") if f"https://{host}/1" in page}


def test_search_covers_own_sites_and_open_crawls(group: Group) -> None:
    boss, ana, eve = (group.member(name) for name in ("boss", "ana", "eve"))
    alert(ana, sites="https://a.test/")
    alert(eve, sites="https://b.test/")
    for host in ("a.test", "b.test"):
        crawled = crawl_site(group, host)
        with group.app_state.store() as store:
            crawled.store = store
            crawled.attach()
    loose = crawl_site(group, "c.test")
    assert [finds(item) for item in (boss, ana, eve)] == [set(), {"a.test"}, {"b.test"}]
    assert "c.test" not in ana.get("/search?q=决赛&days=30").text

    assert ana.post("/admin/search", data={f"crawl-{loose.crawl}": "on"}).status_code == 404
    page = boss.get("/admin").text
    assert f'name="crawl-{loose.crawl}" value="on">' in page
    boss.post("/admin/search", data={f"crawl-{loose.crawl}": "on", "crawl-99": "on"})
    assert [finds(item) for item in (boss, ana)] == [{"c.test"}, {"a.test", "c.test"}]
    assert f'name="crawl-{loose.crawl}" value="on" checked' in boss.get("/admin").text
    expected = [(str(loose.crawl),)]
    assert group.rows("SELECT detail FROM audit WHERE act LIKE '%open to search%'") == expected
    with (
        group.app_state.store() as store,
        store.database.transaction() as db,
    ):  # another crawl of that number
        db.execute("UPDATE crawl SET started_at = started_at + 1 WHERE id = ?", (loose.crawl,))
    assert finds(ana) == {"a.test"}
    boss.post("/admin/search")
    assert finds(boss) == set()


def test_search_excludes_sites_no_longer_watched(group: Group) -> None:
    ana = group.member("ana")
    number = alert(ana, sites="https://a.test/")
    crawled = crawl_site(group, "a.test")
    with group.app_state.store() as store:
        crawled.store = store
        crawled.attach()
    assert finds(ana) == {"a.test"}
    ana.post(f"/alerts/{number}/delete")
    assert finds(ana) == set()


# -- logs ---------------------------------------------------------------------------

WITH_TOKENS = [path for path in _ROUTES if "{token}" in path]


@pytest.mark.parametrize("error", [StoreLocked("the database is locked"), RuntimeError("broken")])
@pytest.mark.parametrize("path", WITH_TOKENS)
def test_log_contains_no_tokens(
    group: Group,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    path: str,
    error: Exception,
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(Tokens, "find", fails)
    monkeypatch.setattr("focus.alerts.unsubscribe.find_unsubscription", fails)
    secret = "s3cr3t-token"
    with caplog.at_level(logging.DEBUG, "focus"):
        answer = group.browser().get(path.replace("{token}", secret))
    assert answer.status_code in (500, 503)
    assert path in caplog.text and secret not in caplog.text


def test_run_in_background_failure_logs_one_line(
    group: Group, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr(group.app_state, "run_in_background")
    threads = []

    class Noted:
        def __init__(self, *, target: object, name: str) -> None:
            threads.append(target)

        def start(self) -> None: ...

    monkeypatch.setattr("focus.serve.app_state.Thread", Noted)

    def locked() -> None:
        raise StoreLocked("the database is locked")

    group.app_state.run_in_background(locked, "focus-reset")
    threads[0]()  # type: ignore[operator]
    assert [record.message for record in caplog.records] == ["focus-reset: the database is locked"]
