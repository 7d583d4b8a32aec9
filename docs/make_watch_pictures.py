"""Take the pictures of docs/watch.md with a real browser.

Usage: python docs/make_watch_pictures.py

It needs Chromium, `pip install playwright` and a minute. The pages shown are those of the
demo's generated web. tests/test_browser.py goes the same way and looks at the layout.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support import browser as story
from tests.support.browser import DARK_PHONE, DESK, NIGHT, Browsing, open_window

PICTURES = Path(__file__).with_name("pictures")
TALLEST = 900  # CSS pixels
QUALITY = 78


def take(one: Browsing, name: str) -> None:
    """Take a picture of the page in the browser."""
    session = one.page.context.new_cdp_session(one.page)
    height = one.page.evaluate("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": one.screen.width, "height": min(height, TALLEST), "scale": 1}
    answer = session.send(
        "Page.captureScreenshot",
        {"format": "webp", "quality": QUALITY, "captureBeyondViewport": True, "clip": clip},
    )
    session.detach()
    file = PICTURES / f"watch-{name}-{one.screen.name}.webp"
    file.write_bytes(base64.b64decode(answer["data"]))
    print(f"{file.stat().st_size:7,} {file.name}")


def main() -> None:
    """Take all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        story.stage(Path(folder), pages=400) as here,
        story.chromium() as chromium,
    ):
        tell(
            open_window(here, chromium, DESK, "zh-CN"),
            open_window(here, chromium, DARK_PHONE, "en-GB"),
            open_window(here, chromium, NIGHT, "zh-CN"),
        )


def tell(ana: Browsing, ben: Browsing, night: Browsing) -> None:
    """Take the pictures of a desk, in light and dark, and of a phone."""
    here = ana.here
    story.register(ana, here.invitation, "ana@focus.test", take)
    invitation = story.create_invitation(ana, take)
    story.register(ben, invitation, "ben@focus.test", take)
    hers = story.create_alert(ana, "球讯", "足球 欧冠 英超 球队 -彩票", take)
    his = story.create_alert(ben, "Football", "足球 欧冠 球队", take)
    here.publish()
    for one, path, to, name in (
        (ana, hers, "ana@focus.test", "球讯"),
        (ben, his, "ben@focus.test", "Football"),
    ):
        story.wait_for_news(one, path)
        story.read_news(one, path, take)
        one.go(path)
        take(one, "health")
        mail = here.mail(to, name)
        story.show_mail(one, mail, take)
        story.unsubscribe(one, mail, path, take)
    night.go("/login")
    night.fill(name="安娜", password=story.PASSWORD)
    night.press("登录")
    take(night, "inbox")


if __name__ == "__main__":
    main()
