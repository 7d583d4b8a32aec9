"""`focus serve` as people see it: a real browser goes all the way, on a desk and on a phone."""

import os
from collections.abc import Iterator

import pytest

from tests.support import browser as story
from tests.support.browser import DARK_PHONE, DESK, NIGHT, Browsing, Stage, browsing, tabbed

pytest.importorskip("starlette", reason="the extra [serve] is not installed")
pytest.importorskip("playwright", reason="pip install playwright drives the browser")
if story.CHROMIUM is None:
    if os.environ.get("CI") == "true":
        raise RuntimeError("CI shows the pages in a browser: .ci/chromium installs one")
    pytest.skip(
        "THE PAGES ARE NOT SEEN IN A BROWSER: there is no chromium (Debian: apt install chromium)",
        allow_module_level=True,
    )

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:aiosmtpd.*"),
]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with story.stage(tmp_path_factory.mktemp("story")) as running:
        yield running


def no_picture(one: Browsing, name: str) -> None:
    """The story is told in docs/watch.md."""


def test_two_people_register_wish_read_search_and_unsubscribe(here: Stage) -> None:
    with story.chromium() as chromium:
        ana = browsing(here, chromium, DESK, "zh-CN")
        ben = browsing(here, chromium, DARK_PHONE, "en-GB")
        story.joins(ana, here.invitation, "ana@focus.test", no_picture)
        story.joins(ben, story.invites(ana, no_picture), "ben@focus.test", no_picture)
        hers = story.wishes(ana, "球讯", "足球 欧冠 英超 球队 -彩票", no_picture)
        his = story.wishes(ben, "Football", "足球 欧冠 球队", no_picture)
        visits = here.rows("SELECT count(*) FROM crawl")[0][0]
        here.publish()
        for one, path, to, name in (
            (ana, hers, "ana@focus.test", "球讯"),
            (ben, his, "ben@focus.test", "Football"),
        ):
            story.arrives(one, path)
            story.reads(one, path, no_picture)
            mail = here.mail(to, name)
            story.letters(one, mail, no_picture)
            for place in ("/alerts", "/settings", "/deliveries", path, f"{path}/edit"):
                one.go(place)
                assert tabbed(one.page) == [], "does not show that it has the focus"
            story.stops(one, mail, path, no_picture)
        ana.go("/admin")
        night = browsing(here, chromium, NIGHT, "zh-CN")
        night.go("/login")
        night.fill(name="安娜", password=story.PASSWORD)
        night.press("登录")
        night.go("/inbox?existing=on")
        assert visits == 1, "alerts on one site share one crawl"
        for one in (ana, ben, night):
            assert list(dict.fromkeys(one.failures)) == []
            assert one.foreign() == []
