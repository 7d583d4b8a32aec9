"""Renders the pages that lead to articles: fronts, lists, tags, specials."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import islice

from focus.demo.frame import (
    Frames,
    crumbs,
    inner_path,
    items,
    link,
    listing_path,
    site_labels,
    tag_path,
)
from focus.demo.hosts import DemoHost, Section
from focus.demo.plan import Special
from focus.demo.writing import OFTEN, TITLED, Draft, sentences, title

LURES = tuple("足球友谊赛 篮球公开课 电影放映会 美食市集 健康讲座 旅游推介会 科技体验日".split())
"""Events of the endless calendar: they sound relevant, and lead nowhere new."""


class HubPages:
    """Renders everything that is not an article."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._plan = frames.plan

    def front(self, site: DemoHost) -> str:
        """Return the front page with the newest articles of every section."""
        shown = 5 if len(site.kind.sections) > 8 else 8
        blocks = [self._block(site, index, shown) for index in range(len(site.kind.sections))]
        head = f'<meta name="description" content="{site.name} {site.host}">'
        body = f"<h1>{site.name}</h1>{''.join(blocks)}"
        return self._frames.wrap(site, site.name, body, head=head)

    def channel(self, site: DemoHost, channel: str) -> str:
        """Return the front page of a channel with the newest articles of its sub-channels."""
        own = [n for n, section in enumerate(site.kind.sections) if section.channel == channel]
        name = site.kind.sections[own[0]].channel_name
        blocks = "".join([self._block(site, index, 12) for index in own])
        body = f"<h1>{name}</h1>{blocks}"
        return self._frames.wrap(site, f"{name}_{site.name}", body, channel=channel)

    def listing(self, site: DemoHost, index: int, page: int) -> str:
        """One page of a section's list; the first also leads to what robots.txt forbids."""
        section = site.kind.sections[index]
        numbers = self._plan.listings[site.number, index]
        body = f"<h1>{section.name}</h1>{self._entries(site, numbers, page)}"
        if site.has("robots") and page == 1:
            body += f"<p>{link(inner_path(section), self._inner_title(site, section))}</p>"
        return self._frames.wrap(
            site,
            f"{section.name}_{site.name}",
            body + self._pager(site, len(numbers), page, partial(listing_path, site, section)),
            channel=section.channel,
            crumbs=crumbs(site, section),
        )

    def tag(self, site: DemoHost, tag: str, page: int) -> str:
        """One page of the articles with a tag."""
        words, numbers = site_labels(site), self._plan.tagged[site.number][tag]
        pager = self._pager(site, len(numbers), page, partial(tag_path, site, tag))
        body = f"<h1>{words.tags}：{tag}</h1>{self._entries(site, numbers, page)}{pager}"
        head = f'<meta name="keywords" content="{tag}">'
        return self._frames.wrap(site, f"{tag}_{site.name}", body, head=head)

    def special(self, special: Special) -> str:
        """Return the page of a special topic: a few sentences and about eighteen articles."""
        site = self._plan.sites[special.site]
        subject = special.subject or site.kind.sections[0].subject
        text = sentences(Draft(subject, "", OFTEN, "", 0), 6, random.Random(special.path))
        chosen = items([self._frames.headline(site, n) for n in special.articles])
        body = f"<h1>{special.title}</h1><p>{''.join(text)}</p>{chosen}"
        return self._frames.wrap(site, f"{special.title}_{site.name}", body)

    def specials(self, site: DemoHost) -> str:
        """All special topics of the host."""
        name = site_labels(site).specials
        own = [special for special in self._plan.specials if special.site == site.number]
        links = [link(special.path, special.title) for special in own]
        return self._frames.wrap(site, f"{name}_{site.name}", f"<h1>{name}</h1>{items(links)}")

    def inner(self, site: DemoHost, index: int) -> str:
        """Return a page that looks relevant and that robots.txt forbids."""
        section = site.kind.sections[index]
        draft = Draft(section.subject, "", TITLED, "", 0)
        text = "".join(sentences(draft, 20, random.Random(section.path)))
        name = self._inner_title(site, section)
        head = f'<meta name="keywords" content="{section.name}">'
        return self._frames.wrap(site, name, f"<h1>{name}</h1><p>{text}</p>", head=head)

    def about(self, site: DemoHost, name: str) -> str:
        """Return a page about the host, with a link to every section."""
        words = site_labels(site)
        heading = words.about if name == "about" else words.contact
        links = [link(listing_path(site, section), section.name) for section in site.kind.sections]
        links.append(link("/go/loop", words.more))
        body = f"<h1>{heading}</h1><p>{site.name}，webmaster@{site.host}</p>{items(links)}"
        return self._frames.wrap(site, f"{heading}_{site.name}", body)

    def calendar(self, site: DemoHost, year: int, month: int) -> str:
        """Return a month of the endless calendar, with links to the months before and after."""
        rng = random.Random(year * 12 + month)
        after = divmod(year * 12 + month, 12)
        before = divmod(year * 12 + month - 2, 12)
        days = [f"{month}月{rng.randint(1, 28)}日 {rng.choice(LURES)}" for _ in range(9)]
        hrefs = [f"/calendar/{y}/{m + 1}/" for y, m in (before, after)]
        links = link(hrefs[0], "上个月") + " " + link(hrefs[1], "下个月")
        name = f"{year}年{month}月活动日历"
        body = f"<h1>{name}</h1>{items(days)}<p>{links}</p>"
        return self._frames.wrap(site, f"{name}_{site.name}", body)

    def online(self, site: DemoHost, session: str) -> str:
        """Members online: every link carries a session id that was never seen before."""
        rng = random.Random(session)
        links = [
            link(f"/online/?sid={rng.getrandbits(64):016x}", f"会员{rng.randint(1000, 9999)}")
            for _ in range(12)
        ]
        return self._frames.wrap(site, f"在线会员_{site.name}", f"<h1>在线会员</h1>{items(links)}")

    def missing(self, site: DemoHost) -> str:
        """Return the page for a URL that does not exist."""
        home = link("/", site_labels(site).home)
        name = "Not found" if site.kind.language == "en" else "抱歉，您访问的页面不存在"
        return self._frames.wrap(site, name, f"<h1>{name}</h1><p>{home}</p>")

    def _inner_title(self, site: DemoHost, section: Section) -> str:
        text = title(section.subject, TITLED, random.Random(section.path))
        return f"{site_labels(site).inner}：{text}"

    def _block(self, site: DemoHost, index: int, shown: int) -> str:
        section = site.kind.sections[index]
        listed, articles = self._plan.listings[site.number, index], self._plan.articles
        newest = islice((n for n in listed if not articles[n].quiet), shown)
        more = link(listing_path(site, section), section.name)
        return f"<h2>{more}</h2>{items([self._frames.headline(site, n) for n in newest])}"

    def _entries(self, site: DemoHost, numbers: list[int], page: int) -> str:
        size = site.kind.style.per_page
        chosen = numbers[(page - 1) * size : page * size]
        return items(
            [
                f"{self._frames.headline(site, n)} <span>{self._plan.articles[n].published}</span>"
                for n in chosen
            ]
        )

    def _pager(self, site: DemoHost, entries: int, page: int, path: Callable[[int], str]) -> str:
        """Links to the pages around this one, the first and the last."""
        words, last = site_labels(site), pages_for(site, entries)
        near = [n for n in range(max(1, page - 3), min(last, page + 3) + 1) if n != page]
        links = [link(path(n), str(n)) for n in near]
        if page > 1:
            links.insert(0, link(path(page - 1), words.previous))
        if page < last:
            links += [link(path(page + 1), words.next), link(path(last), words.last)]
        return f'<p class="pager">{" ".join(links)}</p>'


def pages_for(site: DemoHost, entries: int) -> int:
    """How many list pages `entries` articles fill; an empty list has one."""
    return max(1, -(-entries // site.kind.style.per_page))
