"""`DemoWeb`: the generated web's answer to a URL, and the labels of its pages.

    web = generate(seed=1, pages=3000, hosts=12)
    web.respond("http://www.xinlan.example/")    Response, None for an unknown host
    web.labels("足球")                            {url: about it?}, hubs left out

Besides its pages the web has what real ones have: addresses that redirect (in
chains, one in a circle), dead links, one page under several addresses, a calendar
and a session id without end, a forbidden part, a host that never says 404.
"""

from __future__ import annotations

from datetime import UTC, datetime, time
from email.utils import format_datetime
from typing import NamedTuple
from zlib import crc32

from focus.demo.article import ArticlePages
from focus.demo.edge_case_pages import location, robots_txt, static_file, trap
from focus.demo.frame import Frames
from focus.demo.hosts import TOPICS, DemoHost, make_sites
from focus.demo.hubs import HubPages
from focus.demo.places import PagePlace, address, all_places, hub_subjects
from focus.demo.plan import Article, WebPlan, make_plan

ARTICLE_SHARE = 0.8  # of all pages; the rest are fronts, lists, tags and specials
MOST_HOPS = 4  # redirects that `canonical` follows; the longest chain has three


class Response(NamedTuple):
    """A server's answer; `delay_s` is how long a slow host thinks before."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""
    delay_s: float = 0.0


def generate(seed: int = 1, *, pages: int = 3000, hosts: int = 12, portals: int = 1) -> DemoWeb:
    """Return a web of about `pages` pages on `hosts` hosts, `portals` of them portals.

    Raises ValueError unless pages ≥ 100 and 1 ≤ portals ≤ hosts.
    """
    if pages < 100 or not 1 <= portals <= hosts:
        raise ValueError("a demo web needs pages >= 100 and 1 <= portals <= hosts")
    plan = make_plan(seed, round(pages * ARTICLE_SHARE), make_sites(hosts, portals))
    return DemoWeb(plan, seed)


class DemoWeb:
    """A small web that is rendered page by page, whenever a page is asked for."""

    def __init__(self, plan: WebPlan, seed: int) -> None:
        frames = Frames(plan)
        self.plan = plan
        self._articles = ArticlePages(frames, seed)
        self._hubs = HubPages(frames)
        self._places = all_places(plan)
        self._sites = {site.host: site for site in plan.sites}

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(self._sites)

    @property
    def seeds(self) -> tuple[str, ...]:
        """Front pages to start from, none of them on one topic: the portals and two small hosts."""
        return tuple(f"http://{site.host}/" for site in self.plan.sites if site.seed)

    def urls(self) -> list[str]:
        """Every page of the web once, under its own address; what a trap makes up has none."""
        return [f"http://{place}" for place in self._places]

    def labels(self, topic: str) -> dict[str, bool]:
        """URL -> is it about the topic? KeyError for an unknown topic.

        Left out are hubs of the topic (lists are neither relevant nor not), pages
        that robots.txt forbids, and pages marked noindex: no result for anyone.
        """
        subjects = TOPICS[topic]
        labels = {}
        for url_path, place in self._places.items():
            article = self._article(place)
            if article is not None and not article.noindex:
                labels[f"http://{url_path}"] = article.is_about(subjects)
            elif article is None and place.sort != "inner" and not self._leads_to(place, subjects):
                labels[f"http://{url_path}"] = False
        return labels

    def hubs(self, topic: str) -> list[str]:
        """Return the section, tag, channel and special pages of a topic."""
        subjects = TOPICS[topic]
        return [
            f"http://{url_path}"
            for url_path, place in self._places.items()
            if self._leads_to(place, subjects)
        ]

    def aliases(self) -> dict[str, str]:
        """Redirecting short address -> page, for every article."""
        return {
            f"http://{self.plan.sites[article.site].host}/go/{article.id}": self.article_url(
                article
            )
            for article in self.plan.articles
        }

    def canonical(self, url: str) -> str | None:
        """Return the page's own URL for an alias, redirect or query; None if there is no page."""
        page_address = address(url)
        for _ in range(MOST_HOPS):
            host, slash, path = page_address.partition("/")
            if page_address in self._places:
                return f"http://{page_address}"
            target = self._redirect(self._sites.get(host), slash + path)
            if target is None:
                return None
            page_address = host + target
        return None

    def article_url(self, article: Article) -> str:
        return f"http://{self.plan.sites[article.site].host}{article.path}"

    def article_at(self, url: str) -> Article | None:
        """Return the article at a URL, with its labels; None if there is none."""
        place = self._places.get(address(url))
        return self._article(place) if place else None

    def respond(self, url: str) -> Response | None:
        """Return the response to a GET, http and https alike; None for a host of another web."""
        page_address = address(url)
        host, slash, path = page_address.partition("/")
        site = self._sites.get(host)
        if site is None:
            return None
        place = self._places.get(f"{host}/" if path == "index.html" else page_address)
        if place is not None:
            return self._page(site, place)
        target = self._redirect(site, slash + path)
        if target is not None:
            status = 302 if path.startswith(("ad/", "go/loop", "go/pool")) else 301
            return Response(status, (("location", target),), delay_s=site.kind.delay_s)
        return self._respond_otherwise(site, slash + path, url)

    def _article(self, place: PagePlace) -> Article | None:
        return self.plan.articles[int(place.key)] if place.sort == "article" else None

    def _leads_to(self, place: PagePlace, subjects: frozenset[str]) -> bool:
        return not subjects.isdisjoint(hub_subjects(self.plan, place))

    def _redirect(self, site: DemoHost | None, path: str) -> str | None:
        if path == "/index.html":
            return "/"  # served in place, yet the front page's own address is "/"
        return location(self.plan, site, path, self._places) if site else None

    def _page(self, site: DemoHost, place: PagePlace) -> Response:
        article = self._article(place)
        if article is None:
            return _html(site, self._hub(site, place))
        published = datetime.combine(article.published, time(8), UTC)
        extra = [("last-modified", format_datetime(published, usegmt=True))]
        if article.noindex and article.id % 2:
            extra.append(("x-robots-tag", "noindex"))
        return _html(site, self._articles.render(article), extra=tuple(extra))

    def _hub(self, site: DemoHost, place: PagePlace) -> str:
        hubs, key = self._hubs, place.key
        match place.sort:
            case "front":
                return hubs.front(site)
            case "channel":
                return hubs.channel(site, str(key))
            case "listing":
                return hubs.listing(site, int(key), place.page)
            case "tag":
                return hubs.tag(site, str(key), place.page)
            case "special":
                return hubs.special(self.plan.specials[int(key)])
            case "specials":
                return hubs.specials(site)
            case "inner":
                return hubs.inner(site, int(key))
            case _:
                return hubs.about(site, str(key))

    def _respond_otherwise(self, site: DemoHost, path: str, url: str) -> Response:
        """Return robots.txt, a file or a trap page; None for other URLs."""
        robots = robots_txt(site) if path == "/robots.txt" else None
        if robots is not None:
            return Response(200, (("content-type", "text/plain"),), robots.encode())
        file = static_file(path)
        if file is not None:
            return Response(200, (("content-type", file[0]),), file[1])
        trapped = trap(self._hubs, site, url)
        if trapped is not None:
            return _html(site, trapped)
        status = 200 if site.has("soft-404") else 404
        return _html(site, self._hubs.missing(site), status=status)


def _html(
    site: DemoHost, text: str, *, status: int = 200, extra: tuple[tuple[str, str], ...] = ()
) -> Response:
    kind = site.kind
    body = text.encode(kind.codec)
    if site.has("bom"):
        body = b"\xef\xbb\xbf" + body
    headers = (("content-type", kind.header), ("etag", f'"{crc32(body):08x}"'), *extra)
    return Response(status, headers, body, kind.delay_s)
