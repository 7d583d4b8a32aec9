"""A crawl in a database without any crawling, for tests: a site that brings pages.

crawled = CrawledSite(store)                      # the crawl of https://news.test/
crawled.page("/1", "欧冠决赛", "足球……")      # nth 1, fetched at `crawled.now`
crawled.page("/1", "欧冠决赛", "changed")    # the same page, fetched again: nth 2
"""

import html
from typing import Any

from focus.http import zstd
from focus.records import Batch, Outcome, Page, PageRow, QueueRow, UrlRow, UrlState
from focus.storage import writer
from focus.storage.alerts.records import WatchedSite
from focus.storage.alerts.store import AlertStore
from focus.urls.normal_form import url_fingerprint

ARTICLE = (
    "{0}的消息今天在体育场里传开。主教练说，球队已经准备好了。球迷从各地赶来，酒店全部订满。"
    "市政府增加了公交车班次。记者从俱乐部得知，门票{1}分钟售完。第{1}号看台仍在维修。预报说{2}。"
    "比赛由{3}电视台转播。裁判员来自{4}。上一次两队相遇时，比分是{1}比{5}。专家认为{6}。老队员{7}将退役。"
    "新球衣是{8}颜色。赛后有音乐会。志愿者有{9}名。医疗站设在北门。安检从下午开始。停车场已满。"
    "请乘地铁前往。末班车延长。组委会感谢大家。儿童须有家长陪同。禁止携带玻璃瓶。现场提供热水。"
)
"""Fill with a subject and nine values: articles with different values are no twins."""


def article(subject: str, number: int) -> str:
    """A text about a subject, unlike those of other numbers."""
    return ARTICLE.format(subject, *(f"{number}{letter}{number * 7}" for letter in "abcdefghi"))


class CrawledSite:
    """A site with its crawl."""

    def __init__(self, store: AlertStore, *, host: str = "news.test", now: float) -> None:
        self.store, self.host, self.now = store, host, now
        info = writer.begin_crawl(
            store.database.connection,
            identity={"topic": "", "host": host},
            config="{}",
            fresh=True,
            now=now,
        )
        self.crawl = info.id
        self.nth = 0
        self.urls: dict[str, int] = {}

    def attach(self) -> WatchedSite:
        """Make the site of the store this crawl's; the site."""
        with self.store.database.transaction() as db:
            db.execute("UPDATE site SET crawl = ? WHERE host = ?", (self.crawl, self.host))
        site = self.store.sites.find_by_host(self.host)
        assert site is not None
        return site

    def page(self, path: str, title: str, text: str, **said: Any) -> None:
        """A page comes in; `head`: more in its head, `language`, `noindex`, `dropped`."""
        head, dropped = said.pop("head", ""), said.pop("dropped", False)
        body = said.pop("body", f"<p>{html.escape(text)}</p>")
        source = (
            f"<title>{html.escape(title)}</title>{head}<body><h1>{html.escape(title)}</h1>{body}"
        )
        self.nth += 1
        url = f"https://{self.host}{path}"
        is_new = url not in self.urls
        number = self.urls.setdefault(url, len(self.urls))
        page = Page(title=title, body_zstd=zstd.compress(source.encode()), **said)
        row = PageRow(
            id=number, url=url, request_number=self.nth, waiting_count=0, status=200,
            fetched_at=self.now, elapsed_s=0.1, raw_bytes=len(source), priority=0.5,
            pagerank=0.0, page=page,
        )  # fmt: skip
        state = UrlState.DROPPED if dropped else UrlState.DONE
        batch = Batch(
            queues=[QueueRow(0, 0)],
            urls=[UrlRow(number, url_fingerprint(url), url, 0, 0, 0.5)] if is_new else [],
            outcomes=[Outcome(number, state)],
            pages=[row],
            now=self.now,
        )
        if not is_new:  # as a revisit does
            with self.store.database.transaction() as db:
                for table in ("page", "page_text", "body"):
                    db.execute(f"DELETE FROM {table} WHERE id = ?", (self.crawl << 32 | number,))
        writer.write_batch(
            self.store.database.connection, crawl=self.crawl, batch=batch, durable=False
        )
