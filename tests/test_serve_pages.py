"""`focus serve`: small things that make its pages pleasant to use."""

import re

import pytest

pytest.importorskip("starlette", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="starlette's test client needs it")

from starlette.datastructures import Headers
from starlette.testclient import TestClient

from focus.serve.request import add_path_prefix
from focus.serve.request_guard import preferred_language
from tests.support.cases import cases
from tests.support.outbox import NOON
from tests.test_serve import SECRET, Group, alert
from tests.test_serve import client as client
from tests.test_serve import group as group  # the fixture


@cases(
    "seconds, text",
    (5.0, "1 minute ago"),
    (420.0, "7 minutes ago"),
    (7200.0, "2 hours ago"),
    (3 * 86400.0, "3 days ago"),
    (30 * 86400.0, "2026-"),
    (-600.0, "in 10 minutes"),
)
def test_times_are_relative_with_exact_title(group: Group, seconds: float, text: str) -> None:
    client = group.member("ana")
    number = alert(client)
    with group.app_state.store() as store, store.database.transaction() as db:
        at = group.clock() - seconds
        db.execute("UPDATE alert SET checked_at = ? WHERE id = ?", (at, number))
    page = client.get("/alerts").text
    times = re.findall(r'<time datetime="[^"]+" title="\d{4}-\d\d-\d\d[^"]*">([^<]*)</time>', page)
    assert any(shown.startswith(text) for shown in times), times


def test_alert_is_made_of_address_and_words(group: Group) -> None:
    client = group.member("ana", "ana@a.test")
    typed = {"name": "", "quick": "1", "sites": "a.test", "words": "欧冠 决赛"}
    assert client.post("/alerts/new", data=typed).status_code == 303
    with group.app_state.store() as store:
        [stored] = store.alerts.list_alerts(group.number("ana"))
    assert (stored.alert.name, stored.alert.sites) == ("欧冠 决赛", ("https://a.test/",))
    assert stored.alert.channels == ("inbox", "mail:ana@a.test")
    answer = client.post("/alerts/new", data={**typed, "sites": "no where"})
    assert answer.status_code == 400
    assert "is not a web address" in answer.text and "欧冠 决赛" in answer.text


def test_alerts_are_filtered_by_tag_and_trouble(group: Group, client: TestClient) -> None:
    alert(client, name="one", tags="sport, Berlin")
    alert(client, name="two", sites="https://b.test/", tags="sport")
    with group.app_state.store() as store:
        site = store.sites.find_by_host("b.test")
        store.sites.record_trouble(site.id, "https://b.test/: dns: NXDOMAIN", now=NOON)
    page = client.get("/alerts").text
    assert "b.test/: the host name does not exist: NXDOMAIN" in page
    counts = re.findall(r">([^<>]+) \((\d)\)</a>", page)
    assert counts == [("All", "2"), ("In trouble", "1"), ("Berlin", "1"), ("sport", "2")]
    assert ">one</a>" not in client.get("/alerts?trouble=1").text
    assert ">two</a>" not in client.get("/alerts?tag=Berlin").text


def test_voting_twice_keeps_the_vote(group: Group, client: TestClient) -> None:
    [number] = group.finds(alert(client), "https://a.test/1")
    for _ in range(2):
        client.post(f"/inbox/{number}/relevant")
    assert group.rows("SELECT vote FROM alert_match") == [(1,)]
    client.post(f"/inbox/{number}/unvoted")
    assert group.rows("SELECT vote FROM alert_match") == [(None,)]


def test_new_account_has_time_zone_of_browser(group: Group) -> None:
    typed = {"name": "ana", "password": SECRET, "invite": group.invitation()}
    group.browser().post("/register", data={**typed, "zone": "Europe/Lisbon"})
    typed = {"name": "ben", "password": SECRET, "invite": group.invitation()}
    with group.app_state.store() as store:
        store.settings.set("registration", "invite")
    group.browser().post("/register", data={**typed, "zone": "Moon/Crater"})
    expected = [("Europe/Lisbon",), ("UTC",)]
    assert group.rows("SELECT zone FROM user WHERE name <> 'local' ORDER BY name") == expected


def test_feed_answers_conditional_request(group: Group, client: TestClient) -> None:
    page = client.post("/settings/feed").text
    path = re.findall(r"/feed/[\w-]+\.atom", page)[0]
    first = client.get(path)
    again = client.get(path, headers={"if-none-match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    group.finds(alert(client, feed="on"), "https://a.test/1")
    assert client.get(path, headers={"if-none-match": first.headers["etag"]}).status_code == 200


@cases(
    "header, language",
    ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
    ("en;q=0.3, zh;q=0.7", "zh"),
    ("de,fr;q=0.9,zh;q=0.5,en;q=0.6", "en"),
    ("zh;q=0, en;q=0.1", "en"),
    ("de", "en"),
    (";;;q=,zh;q=x", "en"),
)
def test_language_is_chosen_by_quality(header: str, language: str) -> None:
    assert preferred_language(Headers({"accept-language": header})) == language


@pytest.mark.parametrize("keeps_path", [True, False])
def test_base_url_with_path_works_behind_proxies(group: Group, keeps_path: bool) -> None:
    group.member("ana")
    group.app_state.local_url = "http://127.0.0.1:8420/focus"
    group.app_state.settings()
    client = group.browser()
    prefix = "/focus" if keeps_path else ""
    answer = client.post(f"{prefix}/login", data={"name": "ana", "password": SECRET})
    assert answer.headers["location"] == "/focus/inbox"
    page = client.get(f"{prefix}/inbox").text
    links = re.findall(r'(?:href|action|src)="(/[^"]*)"', page)
    assert links and all(link.startswith("/focus/") for link in links)
    assert client.get(f"{prefix}/static/style.css").status_code == 200
    assert '"/focus/inbox"' in client.get(f"{prefix}/manifest.webmanifest").text


def test_path_prefix_is_not_added_to_text_of_others() -> None:
    page = '<a href="/inbox">x</a><p>href=&#34;/inbox&#34;</p><a href="https://a.test/">y</a>'
    assert add_path_prefix(page, "/focus") == page.replace('href="/inbox"', 'href="/focus/inbox"')
