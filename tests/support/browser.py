"""Drives a browser through `focus serve` as people use it.

    with stage(folder) as here, chromium() as browser:    # server, portal, mail server; Chromium
        ana = open_window(here, browser, DESK, "zh-CN")
        register(ana, here.invitation, "ana@focus.test", snap)

`focus serve`'s own server runs in a process of its own, over real HTTP, with its scheduler; the
sites are the demo's generated web, whose newest articles are dated today; mail arrives at an
SMTP server that is read here. `layout_faults(page)` says what is wrong with the layout of a page.
"""

import asyncio
import email
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from focus.cluster.private_broker import free_ports
from focus.config import FetchConfig, PolitenessConfig
from focus.demo import plan
from focus.demo.server import DemoServer
from focus.demo.server import serve as serve_demo
from focus.demo.site import DemoWeb
from focus.learn.memory_crawl import PageSource
from tests.support import publishing

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SITE = "http://www.xinlan.example/"
SENDER = "focus@focus.test"
PASSWORD = "correct horse battery"
PAGES = 150  # of the first day
DAYS = 6  # of new articles
MOST_TABS = 300
LIMIT_S = 120.0  # for anything to happen, on any machine
POLITENESS = PolitenessConfig(delay_s=0.0, max_crawl_delay_s=0.0, max_slowdown_s=0.0)


class Screen(NamedTuple):
    """Whose screen: pixels, a finger or a mouse, and whether it is dark."""

    name: str
    width: int
    height: int
    touch: bool = False
    dark: bool = False


DESK = Screen("desk", 1200, 850)
NIGHT = Screen("night", 1200, 850, dark=True)
PHONE = Screen("phone", 360, 740, touch=True)
DARK_PHONE = Screen("dark-phone", 360, 740, touch=True, dark=True)


# -- the stage ----------------------------------------------------------------------


class Stage:
    """A running server; `home` is where, `invitation` the link of the terminal."""

    def __init__(self, folder: Path, pages: int) -> None:
        self.pages = pages
        self.db = folder / "story.db"
        self.home = self.invitation = ""
        self.mails: list[EmailMessage] = []
        self.demo: DemoServer
        self.server: subprocess.Popen[str]

    def publish(self) -> None:
        """The sites publish some days' articles, and an hour goes by."""
        self.demo.web = portal(DAYS, self.pages)
        self.later()

    def later(self) -> None:
        """As if an hour had gone by since everything was looked at."""
        with sqlite3.connect(self.db, timeout=LIMIT_S) as db:
            db.execute("UPDATE site SET visited_at = visited_at - 3600, next_at = 0, free_at = 0")
            db.execute("UPDATE revisit SET checked_at = checked_at - 3600, next_at = 0")
            db.execute("UPDATE alert SET next_at = 0")
        db.close()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What stands in the database."""
        db = sqlite3.connect(self.db, timeout=LIMIT_S)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def mail(self, to: str, expected: str) -> EmailMessage:
        """The mail to somebody with this in it, once it has come."""

        def find_mail() -> EmailMessage | None:
            for item in reversed(self.mails):
                if to in str(item["To"]) and expected in mail_text(item):
                    return item
            return None

        return until(find_mail, f"mail to {to}")


def mail_text(mail: EmailMessage, kind: str = "plain") -> str:
    """Subject and text of a mail."""
    part = mail.get_body((kind,))
    assert part is not None
    return f"{mail['Subject']}\n{part.get_content()}"


def until(look: Callable[[], Any], what: str) -> Any:
    """What is there as soon as it is; AssertionError after a while."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        if value := look():
            return value
        time.sleep(0.1)
    raise AssertionError(f"no {what} within {LIMIT_S:g} s")


def portal(day: int, pages: int) -> DemoWeb:
    """The demo's web, so many days after the first; the last of them is today."""
    zero = date.today() - timedelta(DAYS)
    plan_patch = mock.patch.object(plan, "DAY_ZERO", zero)
    with plan_patch, mock.patch.object(publishing, "DAY_ZERO", zero):
        web = publishing.publishing(pages=pages, hosts=3, days=DAYS, daily=0.01)
        return web.at(publishing.BEGIN + timedelta(day).total_seconds())


@contextmanager
def stage(folder: Path, pages: int = PAGES) -> Iterator[Stage]:
    """Everything that runs, until it is over."""
    here = Stage(folder, pages)
    with loop_in_a_thread() as wait_for:
        here.demo = wait_for(serve_demo(portal(0, pages)))
        post = wait_for(_start_mail_server(here.mails))
        smtp = post.sockets[0].getsockname()[1]
        (port,) = free_ports(1)
        command = [
            sys.executable, "-m", "tests.support.browser", here.db, port, here.demo.port, smtp,
        ]  # fmt: skip
        with subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as here.server:
            server = here.server
            try:
                assert server.stdout is not None
                here.invitation = server.stdout.readline().strip()
                here.home = f"http://127.0.0.1:{port}"
                assert here.invitation.startswith(here.home), "the server did not start"
                until(lambda: _responds(port), "answer of the server")
                yield here
            finally:
                server.terminate()
                server.wait(LIMIT_S)
                wait_for(here.demo.close())
                wait_for(_close_server(post))


@contextmanager
def loop_in_a_thread() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """An event loop in a thread, and how to have something done there."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield lambda what: asyncio.run_coroutine_threadsafe(what, loop).result(LIMIT_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _start_mail_server(mails: list[EmailMessage]) -> asyncio.Server:
    """A mail server on a port of its own, which keeps what comes in."""
    from aiosmtpd.smtp import SMTP

    class Taken:
        async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
            parsed = email.message_from_bytes(envelope.content, policy=default)
            assert isinstance(parsed, EmailMessage)
            mails.append(parsed)
            return "250 taken"

    loop = asyncio.get_running_loop()
    return await loop.create_server(
        lambda: SMTP(Taken(), loop=loop, hostname="mail.test"), "127.0.0.1", 0
    )


async def _close_server(server: asyncio.Server) -> None:
    server.close()
    await server.wait_closed()
    await asyncio.sleep(0.1)  # for what its connections have to say at their end


def _responds(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0


def main(db: str, port: str, demo: str, smtp: str) -> None:
    """The process of the server: `focus serve`, with sites that need no politeness."""
    from focus.serve import server
    from focus.serve.app_state import AppState
    from focus.serve.scheduler import SchedulerOptions, SendingOptions

    server.POLL_INTERVAL_S, server.BUSY_INTERVAL_S = 0.3, 0.3  # nobody here waits a minute
    fetch = FetchConfig(connect_to=f"127.0.0.1:{demo}", allow_net=("127.0.0.0/8",))
    sending = {"smtp_url": f"smtp://127.0.0.1:{smtp}", "mail_from": SENDER}
    home = server.local_url("127.0.0.1", int(port))
    how = SendingOptions(sending, fetch=fetch)
    app_state = AppState(Path(db), clock=time.time, sending=how, local_url=home)
    app_state.settings()
    print(server.first_invitation_url(app_state, home), flush=True)
    web = PageSource(fetch=fetch, politeness=POLITENESS)
    how = SendingOptions(sending, home, fetch=fetch)
    order = SchedulerOptions(Path(db), web, how)
    server.serve(app_state, order, server.open_socket("127.0.0.1", int(port)))


# -- the browser --------------------------------------------------------------------


class Browsing:
    """A page of real Chromium, its language, and every request that it made."""

    def __init__(self, here: Stage, page: Any, language: str, screen: Screen) -> None:
        self.here, self.page, self.language, self.screen = here, page, language, screen
        self.requests: list[str] = []
        self.failures: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", self._said)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.failures.append(f"{self.screen.name}: {message.text}")

    def go(self, path: str) -> None:
        """Open one of our addresses; it is looked at."""
        self.page.goto(path if path.startswith("http") else self.here.home + path)
        self.look()

    def press(self, name: str, *, role: str = "button") -> None:
        """Press a button or link by its words, as a person does; the page is looked at."""
        self.click(self.page.get_by_role(role, name=name, exact=True).first)
        self.look()

    def click(self, there: Any) -> None:
        """Press something that leads to a page."""
        with self.page.expect_navigation():
            there.click()

    def fill(self, **fields: str) -> None:
        """Type into fields by their name, where labels would do as well (`looked_at`)."""
        for name, text in fields.items():
            self.page.fill(f"[name={name}]", text)

    def look(self) -> None:
        """Note what is wrong with the page that is shown."""
        where = self.page.url.removeprefix(self.here.home)
        where = re.sub(r"[A-Za-z0-9_-]{30,}", "TOKEN", where)
        self.failures += [
            f"{self.screen.name} {where}: {item}" for item in layout_faults(self.page)
        ]

    def see(self, words: str) -> None:
        """AssertionError unless the page says so."""
        text = self.page.inner_text("main")
        assert words in text, f"{words!r} is not on {self.page.url}:\n{text[:2000]}"

    def foreign(self) -> list[str]:
        """Requests that went anywhere else."""
        own = (self.here.home, "about:", "data:")
        return [url for url in self.requests if not url.startswith(own)]


@contextmanager
def chromium() -> Iterator[Any]:
    """The system's Chromium, driven by playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        browser = tools.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-background-networking", "--hide-scrollbars"],
        )
        try:
            yield browser
        finally:
            browser.close()


def open_window(
    here: Stage, chromium: Any, screen: Screen, language: str, *, scripts: bool = True
) -> Browsing:
    """A window of its own with such a screen; its reader prefers such a language.

    scripts   whether the browser runs those of pages
    """
    context = chromium.new_context(
        viewport={"width": screen.width, "height": screen.height}, locale=language,
        timezone_id="Asia/Shanghai", color_scheme="dark" if screen.dark else "light",
        has_touch=screen.touch, is_mobile=screen.touch,
        device_scale_factor=1.5 if screen.touch else 1, java_script_enabled=scripts,
    )  # fmt: skip
    context.set_default_timeout(1000 * LIMIT_S)
    return Browsing(here, context.new_page(), language, screen)


def layout_faults(page: Any) -> list[str]:
    """What is wrong with the layout of the page that is shown; [] if nothing is."""
    problems: list[str] = page.evaluate(_LOOK)
    return problems


def focus_faults(page: Any) -> list[str]:
    """Goes through the page by Tab; what does not show that it has the focus."""
    page.evaluate("document.activeElement && document.activeElement.blur()")
    hidden, seen = [], set()
    for _ in range(60):
        page.keyboard.press("Tab")
        at = page.evaluate(_FOCUS)
        if at is None or at["path"] in seen:
            break
        seen.add(at["path"])
        if not at["shown"]:
            hidden.append(at["path"])
    assert len(seen) > 2, "Tab reaches nothing"
    return hidden


class Keyboard:
    """Goes through pages by keys alone; what it reaches must show that it has the focus."""

    def __init__(self, browsing: Browsing) -> None:
        self.browsing, self.page = browsing, browsing.page

    def to(self, words: str, *, link: bool = True) -> None:
        """Press Tab until what is called so (`Inbox…`: begins so) has the focus; AssertionError if
        nothing is. `link`: it may be one.
        """
        met = []
        for _ in range(MOST_TABS):
            self.page.keyboard.press("Tab")
            if (at := self.page.evaluate(_FOCUS)) is None:
                continue  # past the end of the page; it begins anew
            met.append(at["words"])
            if not link and at["path"].startswith("A "):
                continue
            if at["words"] == words or (words[-1] == "…" and at["words"].startswith(words[:-1])):
                assert at["shown"], f"{words!r} does not show that it has the focus"
                return
        raise AssertionError(f"Tab does not reach {words!r}, but {list(dict.fromkeys(met))}")

    def fill(self, words: str, text: str) -> None:
        """Type into a field in place of what stands there."""
        self.to(words, link=False)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text)

    def press(self, words: str) -> None:
        """Press a button or link that leads to a page; the page is looked at."""
        self.to(words)
        self.enter()

    def enter(self) -> None:
        """Press Enter where that leads to a page."""
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")
        self.browsing.look()

    def toggle(self, words: str, key: str = "Space") -> None:
        """Tick a box, or open what can be folded."""
        self.to(words)
        self.page.keyboard.press(key)

    def choose(self, words: str, beginning: str) -> str:
        """Choose of a list by the first letters; the value that it has then."""
        self.to(words, link=False)
        self.page.keyboard.type(beginning)
        return str(self.page.evaluate("document.activeElement.value"))


_LOOK = """() => {
  const wrong = [], root = document.documentElement;
  if (root.scrollWidth > innerWidth) wrong.push(`${root.scrollWidth} px wide, not ${innerWidth}`);
  const shown = e => e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
  const name = e => `${e.tagName.toLowerCase()} "${(e.innerText || e.name || '').slice(0, 30)}"`;
  for (const e of document.querySelectorAll('button, a.button, nav a, .brand, input, select, ' +
      'textarea, summary, h2 a, h3 a')) {
    if (!shown(e) || e.type === "hidden" || e.className === "hidden") continue;
    const box = (e.type === 'checkbox' ? e.closest('label') : e).getBoundingClientRect();
    if (box.width === 0) continue;
    if (Math.round(box.height) < 44 || Math.round(box.width) < 40)
      wrong.push(`${name(e)} is ${Math.round(box.width)} x ${Math.round(box.height)} px`);
    if (box.right > innerWidth + 1) wrong.push(`${name(e)} stands out to the right`);
  }
  for (const e of document.querySelectorAll('input, select, textarea'))
    if (e.type !== 'hidden' && !(e.labels && e.labels.length) && !e.ariaLabel)
      wrong.push(`${name(e)} has no label`);
  for (const e of document.querySelectorAll('button, a, summary, h1, h2'))
    if (shown(e) && !(e.innerText.trim() || e.ariaLabel)) wrong.push(`${name(e)} has no words`);
  if (document.querySelectorAll('h1').length !== 1) wrong.push('not one h1');
  if (!root.lang) wrong.push('no language');
  const header = document.querySelector('header');
  if (header && header.offsetHeight > 60) wrong.push('the header is more than one row');
  for (const e of document.querySelectorAll('.item:not(:has([open]))'))  // 8 of 844 px beside bars
    if (e.offsetHeight > 80) wrong.push(`a page takes ${e.offsetHeight} px of the list`);
  const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  for (const id of ids.filter((id, n) => ids.indexOf(id) !== n)) wrong.push(`two of #${id}`);
  return wrong;
}"""

_FOCUS = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const style = getComputedStyle(e), box = e.getBoundingClientRect();
  const named = (e.getAttribute('aria-labelledby') || '').split(' ').filter(Boolean);
  const labels = named.map(id => document.getElementById(id)).concat(...(e.labels || []));
  return {
    words: (e.ariaLabel || labels.map(each => each.innerText).join(' ') || e.innerText || '')
      .replace(/\\s+/g, ' ').trim(),
    path: `${e.tagName} ${e.name || ''} ${e.innerText || ''} ${e.href || e.formAction || ''} ` +
          `${Math.round(box.left)},${Math.round(box.top + scrollY)}`,
    shown: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 && box.width > 0,
  };
}"""


# -- what people do -----------------------------------------------------------------


class Words(NamedTuple):
    """What stands on the buttons of a language."""

    register: str
    save: str
    confirm: str
    preview: str
    search: str
    relevant: str
    irrelevant: str
    read: str
    stop: str
    name: str
    search_result: str
    invite: str


SPOKEN = {
    "zh-CN": Words(
        "注册", "保存", "确认", "预览", "搜索", "相关", "不相关", "标为已读", "退订",
        "安娜", "找到", "生成邀请链接",
    ),
    "en-GB": Words(
        "Register", "Save", "Confirm", "Preview", "Search", "Relevant", "Not relevant",
        "Mark as read", "Unsubscribe", "ben", "found", "Create an invitation",
    ),
}  # fmt: skip

Snap = Callable[[Browsing, str], None]


def register(browsing: Browsing, invitation: str, mail: str, snap: Snap) -> None:
    """Somebody registers, and confirms their address by the mailed link."""
    words = SPOKEN[browsing.language]
    browsing.go(invitation)
    browsing.fill(name=words.name, mail=mail, password=PASSWORD)
    snap(browsing, "register")
    browsing.press(words.register)
    assert browsing.page.url.endswith("/inbox")
    text = mail_text(browsing.here.mail(mail, "/confirm/"))
    browsing.go(re.findall(r"http\S+/confirm/\S+", text)[0])
    browsing.press(words.confirm)
    browsing.see(mail)


def create_invitation(browsing: Browsing, snap: Snap) -> str:
    """An administrator lets others in by invitation; the link for one of them."""
    words = SPOKEN[browsing.language]
    browsing.go("/admin")
    browsing.page.select_option("[name=registration]", "invite")
    browsing.press(words.save)
    browsing.press(words.invite)
    snap(browsing, "admin")
    return str(browsing.page.inner_text("code"))


def create_alert(browsing: Browsing, name: str, expected: str, snap: Snap) -> str:
    """Somebody makes an alert; its address once its first check is over."""
    words = SPOKEN[browsing.language]
    browsing.go("/alerts/new")
    browsing.fill(name=name, sites=SITE, words=expected)
    assert browsing.page.is_checked("[name=mail]")
    snap(browsing, "alert")
    browsing.press(words.save)
    path = browsing.page.url.partition("?")[0].removeprefix(browsing.here.home)
    number = path.rpartition("/")[2]
    until(
        lambda: browsing.here.rows(f"SELECT 1 FROM alert WHERE id = {number} AND checked_at > 0"),
        "first check",
    )
    browsing.go(f"{path}?preview=1")
    snap(browsing, "preview")
    return path


def wait_for_news(browsing: Browsing, path: str) -> None:
    """News has come in beside the five best of what there was."""
    number = path.rpartition("/")[2]
    sql = (
        f"SELECT count(*) FROM alert_match WHERE alert = {number} AND baseline <> 1 "
        "HAVING count(*) > 5"
    )
    until(lambda: browsing.here.rows(sql), "news")


def read_news(browsing: Browsing, path: str, snap: Snap) -> None:
    """Somebody reads what is new, judges it, and looks for more."""
    words, number = SPOKEN[browsing.language], path.rpartition("/")[2]
    browsing.go(f"/inbox?alert={number}")
    pages = browsing.page.locator(".item")
    assert pages.count() > 5
    pages.nth(1).locator("summary").click()
    browsing.look()
    browsing.page.evaluate("scrollTo(0, 0)")
    snap(browsing, "inbox")
    for nth, pressed in ((0, words.relevant), (1, words.irrelevant), (0, words.read)):
        if not pages.nth(nth).locator("details[open]").count():
            pages.nth(nth).locator("summary").click()
        browsing.click(pages.nth(nth).get_by_role("button", name=pressed, exact=True))
    browsing.look()
    assert browsing.page.locator("[aria-pressed=true]").count() == 2
    before = pages.count()
    pages.nth(2).get_by_role("checkbox").check()
    browsing.click(browsing.page.locator(".bar [value=delete]"))
    assert pages.count() == before - 1
    browsing.click(browsing.page.locator("[action='/inbox/restore'] button"))
    assert pages.count() == before
    browsing.look()
    browsing.go("/search")
    browsing.fill(q="球队 -彩票")
    browsing.press(words.search)
    browsing.see(words.search_result)
    assert browsing.page.locator("mark").count() > 3
    snap(browsing, "search")


def unsubscribe(browsing: Browsing, mail: EmailMessage, path: str, snap: Snap) -> None:
    """Somebody has enough of the mails, and says so by the link in one."""
    words, number = SPOKEN[browsing.language], path.rpartition("/")[2]
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    browsing.go(str(mail["List-Unsubscribe"]).strip("<>"))
    snap(browsing, "unsubscribe")
    browsing.press(words.stop)
    rows = browsing.here.rows(f"SELECT definition FROM alert WHERE id = {number}")
    assert "mail:" not in rows[0][0], browsing.page.inner_text("main") + rows[0][0]


def show_mail(browsing: Browsing, mail: EmailMessage, snap: Snap) -> None:
    """Somebody reads the mail itself."""
    part = mail.get_body(("html",))
    assert part is not None
    browsing.page.goto("about:blank")  # where our own policy does not hold
    browsing.page.set_content(part.get_content())
    assert not re.search(r"<(img|script|link|iframe)\b", part.get_content())
    snap(browsing, "mail")


if __name__ == "__main__":
    main(*sys.argv[1:])
