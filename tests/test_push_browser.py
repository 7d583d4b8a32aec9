"""Notifications and the offline page in a real browser, from leave to what is shown.

Two things are not Chromium's own here, as its maker's push service is out of reach: the leave that
the service would give (ours names a receiver in this process and keys of its own), and the way
from there to the worker, which DevTools deliver. What the worker gets is what our channel sent,
decrypted by those keys.
"""

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import browser as story
from tests.support.browser import PHONE, Browsing, Keyboard, Stage, browsing, loop_in_a_thread
from tests.support.push import PushedBrowser
from tests.support.webhooks import Receiver, receiving

pytest.importorskip("starlette", reason="the extra [serve] is not installed")
pytest.importorskip("playwright", reason="pip install playwright drives the browser")
if story.CHROMIUM is None:
    if os.environ.get("CI") == "true":
        raise RuntimeError("CI shows the pages in a browser: .ci/chromium installs one")
    pytest.skip("THE WORKER IS NOT TRIED: there is no chromium", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning:aiosmtpd.*")]

LEAVE = """leave => {
  const given = {endpoint: leave.endpoint, toJSON: () => leave};
  PushManager.prototype.subscribe = async function (options) {
    if (!options.userVisibleOnly || options.applicationServerKey.length !== 87) throw Error("key");
    return given;
  };
}"""
SHOWN = """async () => (await (await navigator.serviceWorker.ready).getNotifications())
  .map(each => ({title: each.title, body: each.body, tag: each.tag, url: each.data}))"""
READY = "async () => { await navigator.serviceWorker.ready; }"
KEPT = "async () => await caches.keys()"


@pytest.fixture
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with story.stage(tmp_path_factory.mktemp("push")) as running:
        yield running


def joins(one: Browsing) -> None:
    one.go(one.here.invitation)
    one.fill(name="安娜", mail="", password=story.PASSWORD)
    one.press("注册")


def lets(one: Browsing, phone: PushedBrowser) -> None:
    """Its reader has the browser notified, in the settings."""
    one.page.context.grant_permissions(["notifications"], origin=one.here.home)
    p256dh, auth = phone.leave.keys.split()
    leave = {"endpoint": phone.endpoint, "keys": {"p256dh": p256dh, "auth": auth}}
    one.page.add_init_script(f"({LEAVE})({leave!r})")
    one.go("/settings")
    Keyboard(one).press("通知这个浏览器")
    one.see("Linux")


def wishes(one: Browsing) -> None:
    """An alert that tells by browsers; its first check sends the best of what there is."""
    one.go("/alerts/new")
    one.fill(name="球讯", sites=story.SITE, words="足球 欧冠 英超 球队")
    one.page.check("[name=push]")
    one.press("保存")


def delivered(one: Browsing, text: str) -> Any:
    """What the worker shows of a message that a push service brings.

    Once more as long as nothing is shown: what comes for a worker that is not active yet, or is
    about to be another, is lost.
    """
    one.page.evaluate(READY)
    tools = one.page.context.new_cdp_session(one.page)
    found: list[Any] = []
    tools.on("ServiceWorker.workerRegistrationUpdated", lambda said: found.append(said))
    tools.send("ServiceWorker.enable")

    def shown() -> Any:
        one.page.wait_for_timeout(50)
        for known in [each for said in found for each in said["registrations"]][-1:]:
            message = {"registrationId": known["registrationId"], "data": text}
            tools.send("ServiceWorker.deliverPushMessage", {"origin": one.here.home, **message})
        return one.page.evaluate(SHOWN)

    return story.until(shown, "notification")


def test_a_browser_shows_what_was_found_and_a_page_when_the_server_is_gone(here: Stage) -> None:
    hook = Receiver()
    with loop_in_a_thread() as wait_for, story.chromium() as chromium:
        service = receiving(hook)
        wait_for(service.__aenter__())
        phone = PushedBrowser(hook.url)
        ana = browsing(here, chromium, PHONE, "zh-CN")
        joins(ana)
        lets(ana, phone)
        wishes(ana)
        wait_for(asyncio.wait_for(hook.has(1), story.LIMIT_S))
        told = phone.opened(hook.requests[0].body).decode()
        [shown] = delivered(ana, told)
        assert shown["title"].startswith("球讯：")
        assert shown["url"].startswith("/inbox")
        assert {**phone.read(hook.requests[0].body), "lang": 0} == {**shown, "lang": 0}
        ana.go(shown["url"])
        ana.see("球讯")
        here.gone()
        ana.go("/alerts")
        ana.see("无法连接服务器")
        wait_for(service.__aexit__(None, None, None))
    assert [each for each in dict.fromkeys(ana.failures) if "ERR_CONNECTION" not in each] == []
    assert ana.foreign() == []


def test_who_logs_out_leaves_nothing_behind(here: Stage) -> None:
    """No worker, and so no leave to notify; the log-in page registers a new one."""
    with story.chromium() as chromium:
        ana = browsing(here, chromium, PHONE, "zh-CN")
        joins(ana)
        ana.go("/settings")
        story.until(lambda: ana.page.evaluate(KEPT) == ["shell-1"], "offline page")
        ana.page.evaluate("caches.open('mine')")
        assert sorted(ana.page.evaluate(KEPT)) == ["mine", "shell-1"]
        ana.page.click(".menu")
        with ana.page.expect_navigation():
            ana.page.click("[action='/logout'] button")
        ana.go("/forgot")
        assert "mine" not in ana.page.evaluate(KEPT)
