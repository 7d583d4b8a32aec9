"""`focus serve` as people see it: a real browser goes all the way, on a desk and on a phone."""

import os
from collections.abc import Iterator

import pytest

from tests.support import browser as story
from tests.support.browser import (
    DARK_PHONE,
    DESK,
    NIGHT,
    Browsing,
    Keyboard,
    Stage,
    focus_faults,
    open_window,
)

pytest.importorskip("starlette", reason="the extra [serve] is not installed")
pytest.importorskip("playwright", reason="pip install playwright drives the browser")
if story.CHROMIUM is None:
    if os.environ.get("CI") == "true":
        raise RuntimeError("CI shows the pages in a browser: .ci/chromium installs one")
    pytest.skip(
        "THE PAGES ARE NOT SEEN IN A BROWSER: there is no chromium (Debian: apt install chromium)",
        allow_module_level=True,
    )

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning:aiosmtpd.*")]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with story.stage(tmp_path_factory.mktemp("story")) as running:
        yield running


def no_picture(browsing: Browsing, name: str) -> None:
    """The story is told in docs/watch.md."""


def test_two_people_use_alerts_from_registration_to_unsubscription(here: Stage) -> None:
    with story.chromium() as chromium:
        ana = open_window(here, chromium, DESK, "zh-CN")
        ben = open_window(here, chromium, DARK_PHONE, "en-GB")
        story.register(ana, here.invitation, "ana@focus.test", no_picture)
        story.register(ben, story.create_invitation(ana, no_picture), "ben@focus.test", no_picture)
        hers = story.create_alert(ana, "球讯", "足球 欧冠 英超 球队 -彩票", no_picture)
        his = story.create_alert(ben, "Football", "足球 欧冠 球队", no_picture)
        visits = here.rows("SELECT count(*) FROM crawl")[0][0]
        here.publish()
        for browsing, path, to, name in (
            (ana, hers, "ana@focus.test", "球讯"),
            (ben, his, "ben@focus.test", "Football"),
        ):
            story.wait_for_news(browsing, path)
            story.read_news(browsing, path, no_picture)
            mail = here.mail(to, name)
            story.show_mail(browsing, mail, no_picture)
            for place in ("/alerts", "/settings", "/deliveries", path, f"{path}/edit"):
                browsing.go(place)
                assert focus_faults(browsing.page) == [], "does not show that it has the focus"
            story.unsubscribe(browsing, mail, path, no_picture)
        ana.go("/admin")
        night = open_window(here, chromium, NIGHT, "zh-CN")
        night.go("/login")
        night.fill(name="安娜", password=story.PASSWORD)
        night.press("登录")
        night.go("/inbox?existing=on")
        assert visits == 1, "alerts on one site share one crawl"
        for browsing in (ana, ben, night):
            assert list(dict.fromkeys(browsing.failures)) == []
            assert browsing.foreign() == []


def test_watch_works_by_keyboard_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    with story.stage(tmp_path_factory.mktemp("keys")) as here, story.chromium() as chromium:
        eve = open_window(here, chromium, DESK, "en-GB", scripts=False)
        keys = Keyboard(eve)
        eve.go(here.invitation)
        keys.fill("Name", "eve")
        keys.fill("Password", story.PASSWORD)
        keys.press("Register")
        path = makes_an_alert(keys)
        here.publish()
        story.wait_for_news(eve, path)
        reads_and_deletes(keys)
        keys.press("Search")
        keys.fill("Search the sites of your alerts…", "球队 -彩票")
        assert keys.choose("Order", "Newest") == "published"
        keys.press("Search")
        eve.see("found")
        keys.to(eve.page.locator("article h2 a").first.inner_text())
        assert eve.page.evaluate("document.activeElement.href").startswith(story.SITE)
        keys.toggle("More", "Enter")
        eve.page.keyboard.press("Escape")
        assert not eve.page.is_visible("#menu"), "Esc closes the menu"
        keys.toggle("More", "Enter")
        keys.press("Settings")
        keys.fill("Quiet hours (optional)", "22:00-07:00")
        keys.press("Save")
        assert eve.page.input_value("[name=quiet]") == "22:00-07:00"
        keys.toggle("More", "Enter")
        keys.press("Log out")
        assert eve.page.url.endswith("/login")
        assert [
            failure for failure in eve.failures if "400" not in failure
        ] == []  # the form, left empty


def makes_an_alert(keys: Keyboard) -> str:
    """By the form, tried before it is saved; its address once its first check is over."""
    keys.press("Alerts")
    keys.press("New alert")
    keys.press("Save")
    keys.browsing.see("fields need a change")
    keys.fill("Name of the alert", "Football")
    keys.fill("Sites or sections, one per line", story.SITE)
    keys.fill("Words", "足球 欧冠 英超 球队")
    assert keys.choose("When to check", "every hour") == "hourly"
    keys.press("Try it now")
    keys.browsing.see("Current answers of the sites")
    keys.press("Save")
    path = keys.page.url.partition("?")[0].removeprefix(keys.browsing.here.home)
    story.until(
        lambda: keys.browsing.here.rows("SELECT 1 FROM alert WHERE checked_at > 0"), "check"
    )
    return str(path)


def reads_and_deletes(keys: Keyboard) -> None:
    """A page is opened and judged, two are deleted together and come back, all are marked."""
    keys.press("Inbox…")
    items = keys.page.locator(".item")
    first, second, third = (items.nth(n).locator("h2").inner_text() for n in range(3))
    keys.toggle(f"More: {first}", "Enter")
    keys.press("Relevant")
    keys.browsing.see("Your vote was saved.")
    before = items.count()
    keys.toggle(second)
    keys.toggle(third)
    keys.press("Delete")
    keys.browsing.see("2 pages deleted.")
    assert items.count() == before - 2
    keys.press("Undo")
    assert items.count() == before
    keys.press("Select all")
    keys.press("Mark as read")
    assert keys.page.locator(".item.new").count() == 0
