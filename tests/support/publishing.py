"""The generated web at a moment in time, while it goes on publishing.

    web = publishing(seed=1, days=14)
    web.respond("http://www.xinlan.example/", at)    what stands there at that instant
    web.after                                        what was published, and when

The web of day 0 is there from the beginning. Then each site brings its share of new articles
at seeded instants, most of them by day. Among them are what watching has to cope with:
articles that only their section's list and their tags lead to, old ones that come onto the
lists late under their old date, and reprints of others' texts. Blogs have an Atom feed, sites
of the old kind a sitemap with `lastmod`.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from datetime import date, datetime, timedelta, timezone
from typing import NamedTuple
from zlib import crc32

from focus.demo.hosts import DemoHost, make_sites
from focus.demo.plan import (
    DAY_ZERO,
    Article,
    WebPlan,
    add_article,
    draft_for,
    index,
    make_plan,
    relate,
)
from focus.demo.site import ARTICLE_SHARE, DemoWeb, Response

ZONE = timezone(timedelta(hours=8))
BEGIN = datetime.combine(DAY_ZERO + timedelta(1), datetime.min.time(), ZONE).timestamp()
"""Unix seconds at which the first new day begins."""

_DAY = 86_400.0
_BY_DAY = 0.8  # share of the articles that come between 7 and 23 o'clock
_QUIET, _SURFACED, _REPRINTED = 0.25, 0.06, 0.06  # shares of the new articles
_FEED = 15  # entries


def early_plan(plan: WebPlan, count: int) -> WebPlan:
    """The web when it had only its first `count` articles, those of day 0 at least."""
    early = WebPlan(plan.sites)
    early.articles, early.related = plan.articles[:count], plan.related[:count]
    early.specials, early.picks, early.base = plan.specials, plan.picks, plan.base
    early.cited, early.cited_at = plan.cited, plan.cited_at
    index(early)
    return early


class Appeared(NamedTuple):
    """An article of the days after day 0: when it came onto the lists (Unix seconds)."""

    at: float
    article: Article


def publishing(
    seed: int = 1, *, pages: int = 3000, hosts: int = 12, days: int = 14, daily: float = 0.04
) -> PublishingWeb:
    """A web of about `pages` pages that grows by the share `daily` of its articles each day."""
    articles = round(pages * ARTICLE_SHARE)
    plan = make_plan(seed, articles, make_sites(hosts, 1))
    rng = random.Random(f"{seed} days")
    first, instants = len(plan.articles), []
    for day in range(days):
        times = _instants(plan, round(articles * daily), rng)
        for second, site in times:
            _publish(plan, site, first, DAY_ZERO + timedelta(day + 1), rng)
            instants.append(BEGIN + day * _DAY + second)
    relate(plan, first, rng)
    return PublishingWeb(plan, seed, first, instants)


def _instants(plan: WebPlan, count: int, rng: random.Random) -> list[tuple[float, DemoHost]]:
    """Seconds of a day at which a site publishes, in order."""
    sites = rng.choices(plan.sites, [site.share for site in plan.sites], k=count)
    hours = [rng.uniform(7, 23) if rng.random() < _BY_DAY else rng.uniform(0, 24) for _ in sites]
    return sorted((hour * 3600, site) for hour, site in zip(hours, sites, strict=True))


def _publish(plan: WebPlan, site: DemoHost, first: int, today: date, rng: random.Random) -> None:
    """A site's next article: a new one, an old one that only now is listed, or a reprint."""
    sections = site.kind.sections
    section = rng.choices(range(len(sections)), [item.weight for item in sections])[0]
    kind, published, original = rng.random(), today, None
    if kind < _SURFACED:
        published -= timedelta(rng.randint(20, 170))
    elif kind < _SURFACED + _REPRINTED:
        original = _to_reprint(plan, site, first, sections[section].subject)
    draft = original.draft if original else draft_for(sections[section].subject, rng)
    article = add_article(plan, site, section, draft, published, rng)
    article = article._replace(appeared=today, quiet=rng.random() < _QUIET, noindex=False)
    if original is not None:
        article = article._replace(title=f"{original.title}（转载）", text_id=original.id)
        if original.site == site.number:  # filed a second time
            article = article._replace(title=original.title, tags=original.tags)
    plan.articles[-1] = article


def _to_reprint(plan: WebPlan, site: DemoHost, first: int, subject: str) -> Article | None:
    """The latest new article about a subject, of any site that writes in the same script."""
    kind = (site.kind.language, site.has("traditional"))
    for article in reversed(plan.articles[first:]):
        home = plan.sites[article.site]
        alike = (home.kind.language, home.has("traditional")) == kind
        if alike and article.draft.subject == subject and article.text_id < 0:
            return article
    return None


class PublishingWeb:
    """A web that goes on publishing: articles from `first` on appear at `instants`."""

    def __init__(self, plan: WebPlan, seed: int, first: int, instants: list[float]) -> None:
        self.plan, self._seed = plan, seed
        self._first, self._instants = first, instants
        self._now: tuple[int, DemoWeb] = (-1, DemoWeb(early_plan(plan, first), seed))
        self.after = [
            Appeared(at, article)
            for at, article in zip(instants, plan.articles[first:], strict=True)
        ]

    def at(self, moment: float) -> DemoWeb:
        """The web as it stands at an instant (Unix seconds)."""
        count = self._first + bisect_right(self._instants, moment)
        if self._now[0] != count:
            self._now = count, DemoWeb(early_plan(self.plan, count), self._seed)
        return self._now[1]

    def article_url(self, article: Article) -> str:
        return f"http://{self.plan.sites[article.site].host}{article.path}"

    def respond(self, url: str, moment: float) -> Response | None:
        """The answer to GET `url` at an instant; None if the host is not of this web."""
        web = self.at(moment)
        host, _, path = url.partition("://")[2].partition("/")
        site = next((item for item in self.plan.sites if item.host == host), None)
        if site is None:
            return None
        if path == "feed.xml" and _has_feed(site):
            return _xml(_feed(web, site))
        if path == "sitemap.xml" and site.has("old"):
            return _xml(_sitemap(web, site))
        answer = web.respond(url)
        if answer is not None and path == "" and _has_feed(site):
            body = answer.body.replace(b"</title>", b"</title>" + _LINK, 1)
            headers = dict(answer.headers) | {"etag": f'"{crc32(body):08x}"'}
            return answer._replace(body=body, headers=tuple(headers.items()))
        return answer


_LINK = b'<link rel="alternate" type="application/atom+xml" href="/feed.xml">'


def _has_feed(site: DemoHost) -> bool:
    return site.has("blogroll") or site.has("no-label")


def _latest(web: DemoWeb, site: DemoHost) -> list[Article]:
    """What a site lists, the last that came onto its lists first."""
    own = [
        article for article in web.plan.articles if article.site == site.number and article.listed
    ]
    return sorted(
        own, key=lambda article: (article.appeared or article.published, article.id), reverse=True
    )


def _feed(web: DemoWeb, site: DemoHost) -> str:
    entries = [
        f'<entry><title>{item.title}</title><link href="{web.article_url(item)}"/>'
        f"<published>{item.published}T08:00:00+08:00</published></entry>"
        for item in _latest(web, site)[:_FEED]
    ]
    return f'<feed xmlns="http://www.w3.org/2005/Atom"><title>{site.name}</title>{"".join(entries)}</feed>'


def _sitemap(web: DemoWeb, site: DemoHost) -> str:
    urls = [
        f"<url><loc>{web.article_url(item)}</loc>"
        f"<lastmod>{item.appeared or item.published}</lastmod></url>"
        for item in _latest(web, site)
    ]
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<urlset xmlns="{space}">{"".join(urls)}</urlset>'


def _xml(text: str) -> Response:
    body = f'<?xml version="1.0" encoding="utf-8"?>{text}'.encode()
    headers = (("content-type", "application/xml"), ("etag", f'"{crc32(body):08x}"'))
    return Response(200, headers, body)
