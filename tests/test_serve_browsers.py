"""`focus serve` is installed as an app, and notifies the browsers that people let it."""

import asyncio
import re
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra [serve] is not installed")
pytest.importorskip("httpx2", reason="starlette's test client needs it")

from starlette.testclient import TestClient

from focus.alerts.delivery import push
from focus.serve import browsers
from focus.serve.scheduler import SendingOptions
from tests.support.outbox import LOOPBACK
from tests.support.push import PushedBrowser
from tests.support.webhooks import receiving
from tests.test_serve import SECRET, Group, alert, group

__all__ = ["group"]

ANDROID = (
    "Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 "
    "Mobile Safari/537.36"
)
PHONE = PushedBrowser("https://push.example")


def lets(client: TestClient, browser: PushedBrowser = PHONE) -> Any:
    """Its reader presses the button."""
    headers = {"user-agent": ANDROID}
    return client.post("/settings/browsers", data=browser.form, headers=headers)


def listed(client: TestClient) -> list[str]:
    """The buttons that end it."""
    return re.findall(r'action="(/settings/browsers/\d+)"', client.get("/settings").text)


def test_browser_is_added_and_removed(group: Group) -> None:
    client = group.member("ana")
    assert lets(client).headers["location"] == "/settings?saved=1"
    page = client.get("/settings").text
    assert "Chrome, Android" in page and PHONE.endpoint not in page
    [end] = listed(client)
    assert client.post(end).status_code == 303
    assert listed(client) == []


def test_settings_page_has_public_push_key(group: Group) -> None:
    page = group.member("ana").get("/settings").text
    key = re.findall(r'data-key="([\w-]+)"', page)
    assert key == [push.public_key(group.app_state.settings())]


def test_remove_browser_of_other_user_is_refused(group: Group) -> None:
    ana, eve = group.member("ana"), group.member("eve")
    lets(ana)
    [end] = listed(ana)
    assert listed(eve) == []
    assert eve.post(end).status_code == 400
    assert listed(ana) == [end]


def test_change_password_removes_all_browsers(group: Group) -> None:
    client = group.member("ana")
    lets(client)
    typed = {"old": SECRET, "new": "another horse battery"}
    assert client.post("/settings/password", data=typed).status_code == 303
    assert listed(client) == []


def test_logout_clears_service_worker(group: Group) -> None:
    assert group.member("ana").post("/logout").headers["clear-site-data"] == '"storage"'


def test_add_browser_invalid_subscription_is_refused(group: Group) -> None:
    client = group.member("ana")
    answer = client.post("/settings/browsers", data={**PHONE.form, "endpoint": "javascript:1"})
    assert answer.status_code == 400
    assert "gave no valid address" in answer.text
    assert listed(client) == []


def test_account_export_contains_browsers(group: Group) -> None:
    client = group.member("ana")
    lets(client)
    found = client.post("/settings/export").json()["browsers"]
    assert [name for name, _ in found] == ["Chrome, Android"]
    assert PHONE.endpoint not in str(found)


async def test_alert_with_browser_channel_sends_push(group: Group) -> None:
    client = group.member("ana")
    async with receiving() as hook:
        group.app_state.sending = SendingOptions(fetch=LOOPBACK)
        phone = PushedBrowser(hook.url)
        lets(client, phone)
        number = alert(client, push="on")
        tested = await asyncio.to_thread(
            client.post, f"/alerts/{number}/test", data={"channel": "push"}
        )
    assert "The test message was sent." in tested.text
    assert phone.read(hook.requests[0].body)["title"] == "A test message from focus"


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (ANDROID, "Chrome, Android"),
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
            "Firefox, Linux",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0",
            "Edge, Windows",
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like "
            "Gecko) Version/26.0 Safari/605.1.15",
            "Safari, macOS",
        ),
        ("curl/8", "?"),
    ],
)
def test_browser_name_from_user_agent(agent: str, name: str) -> None:
    assert browsers.browser_name(agent) == name


# -- as an app ------------------------------------------------------------------------


def test_manifest_names_existing_files(group: Group) -> None:
    client = group.browser()
    said = client.get("/manifest.webmanifest")
    assert said.headers["content-type"].startswith("application/manifest+json")
    manifest = said.json()
    assert manifest["display"] == "standalone"
    assert '<link rel="manifest" href="/manifest.webmanifest">' in client.get("/login").text
    for icon in manifest["icons"]:
        answer = client.get(icon["src"])
        assert answer.headers["content-type"] == icon["type"]
        if icon["type"] == "image/png":
            width, height = (int.from_bytes(answer.content[n : n + 4]) for n in (16, 20))
            assert icon["sizes"] == f"{width}x{height}"


def test_offline_page_contains_no_user_data(group: Group) -> None:
    page = group.member("ana").get("/offline").text
    assert "cannot be reached" in page and "/logout" not in page


def test_files_cached_by_service_worker_exist(group: Group) -> None:
    client = group.browser()
    worker = client.get("/worker.js")
    assert worker.headers["content-type"].startswith("text/javascript")
    [kept] = re.findall(r"KEPT = \[(.*?)\]", worker.text)
    for path in re.findall(r'"(.*?)"', kept):
        assert client.get(path).status_code == 200
