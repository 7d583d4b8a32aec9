"""Renders the parts around the text of every page: head, navigation, sidebars, footer.

A frame is the same for all pages of one channel of one host, so it is rendered
once and kept: a few hundred strings for any size of web.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from focus.demo.hosts import DemoHost, Section
from focus.demo.plan import Article, WebPlan
from focus.demo.words import TAG_IDS, TO_TRADITIONAL


class Labels(NamedTuple):
    """The words of the interface."""

    home: str = "首页"
    here: str = "当前位置"
    hot: str = "热门排行"
    latest: str = "最新更新"
    related: str = "相关阅读"
    picks: str = "猜你喜欢"
    tags: str = "标签"
    more: str = "更多"
    friends: str = "友情链接"
    about: str = "关于我们"
    contact: str = "联系方式"
    previous: str = "上一页"
    next: str = "下一页"
    last: str = "末页"
    source: str = "来源"
    here_too: str = "这篇文章"
    earlier: str = "此前报道"
    advert: str = "广告：会员卡限时优惠"
    specials: str = "专题策划"
    inner: str = "内部资料"


CHINESE = Labels()
ENGLISH = Labels(
    "Home", "You are here", "Popular", "Latest", "Related", "You may also like", "Tags", "More",
    "Links", "About", "Contact", "Previous", "Next", "Last", "Source", "this piece", "earlier",
    "Advertisement: membership offer", "Series", "Internal",
)  # fmt: skip


def site_labels(site: DemoHost) -> Labels:
    return ENGLISH if site.kind.language == "en" else CHINESE


def listing_path(site: DemoHost, section: Section, page: int = 1) -> str:
    pattern = site.kind.style.listing if page == 1 else site.kind.style.more
    return pattern.format(channel=section.channel, section=section.path, page=page)


def tag_path(site: DemoHost, tag: str, page: int = 1) -> str:
    pattern = site.kind.style.tag if page == 1 else site.kind.style.tag_more
    return pattern.format(tag=quote(tag), tag_id=TAG_IDS[tag], page=page)


def inner_path(section: Section) -> str:
    """Return the page that robots.txt forbids, on hosts with the quirk "robots"."""
    return f"/inner/{section.path}/brief.html"


def crumbs(site: DemoHost, section: Section) -> str:
    """Return the links from the front page to a section."""
    words = site_labels(site)
    trail = [link("/", words.home)]
    if section.channel != section.path:
        trail.append(link(f"/{section.channel}/", section.channel_name))
    trail.append(link(listing_path(site, section), section.name))
    return f"{words.here}：{' &gt; '.join(trail)}"


def link(href: str, text: str) -> str:
    return f'<a href="{href}">{text}</a>'


def items(links: list[str]) -> str:
    return "<ul>" + "".join([f"<li>{link_html}</li>" for link_html in links]) + "</ul>"


_SCRIPT = (
    "<script>(function(){var s=document.createElement('script');s.async=true;"
    "s.src='/static/count.js';document.head.appendChild(s);"
    "window.page={ready:function(f){document.addEventListener('DOMContentLoaded',f)}};})();"
    "</script><style>body{margin:0 auto;max-width:1180px;font:16px/1.8 sans-serif}"
    "nav li,footer li{display:inline-block;margin-right:12px}main,aside{padding:8px 16px}"
    ".meta{color:#888;font-size:13px}.crumbs{font-size:13px}</style>"
)


class Frames:
    """Frames of a plan's hosts, made when first asked for."""

    def __init__(self, plan: WebPlan) -> None:
        self.plan = plan
        self._done: dict[tuple[int, str], tuple[str, str]] = {}

    def wrap(
        self,
        site: DemoHost,
        title: str,
        body: str,
        *,
        channel: str = "",
        head: str = "",
        crumbs: str = "",
    ) -> str:
        """Return the whole document around a main part."""
        top, bottom = self._page_frame(site, channel)
        kind = site.kind
        if site.has("old"):
            start = (
                '<html><head><meta http-equiv="Content-Type" '
                f'content="text/html; charset={kind.label}"><title>{title}</title>'
            )
            main = f'<div class="path">{crumbs}</div><div class="main">{body}</div>'
        else:
            charset = f'<meta charset="{kind.label}">' if kind.label else ""
            start = (
                f'<!DOCTYPE html><html lang="{kind.language}"><head>{charset}<title>{title}</title>'
            )
            main = f'<main><div class="crumbs">{crumbs}</div>{body}</main>'
        html = f"{start}{head}{_SCRIPT}</head>{top}{main}{bottom}"
        return html.translate(TO_TRADITIONAL) if site.has("traditional") else html

    def _page_frame(self, site: DemoHost, channel: str) -> tuple[str, str]:
        """Return the HTML before and after the main part of a page."""
        key = (site.number, channel)
        if key not in self._done:
            self._done[key] = self._top(site, channel), self._bottom(site, channel)
        return self._done[key]

    def href(self, site: DemoHost, article: Article) -> str:
        """How `site` links to an article: by path at home, in full abroad."""
        if article.site == site.number:
            return article.path
        return f"http://{self.plan.sites[article.site].host}{article.path}"

    def headline(self, site: DemoHost, number: int, width: int = 99) -> str:
        """Return a link to an article with its title, cut to `width` characters."""
        article = self.plan.articles[number]
        text = article.title
        if len(text) > width:
            text = f"{text[:width]}…"
        return f'<a href="{self.href(site, article)}" title="{article.title}">{text}</a>'

    def _top(self, site: DemoHost, channel: str) -> str:
        words, old = site_labels(site), site.has("old")
        home = "/index.html" if old else f"http://{site.host}/"
        links = [link(home, words.home)]
        seen = ""
        for section in site.kind.sections:
            if section.channel != seen and section.channel != section.path:
                links.append(link(f"http://{site.host}/{section.channel}/", section.channel_name))
            seen = section.channel
            links.append(link(listing_path(site, section), section.name))
        if site.has("calendar"):
            links.append(link("/calendar/2018/6/", "日历"))
        if site.has("session"):
            links.append(link("/online/", "在线会员"))
        image = f'<img src="/static/logo.png" alt="{site.name}" width="160" height="40">'
        logo = link("/", image)
        if old:
            bar = " | ".join(links)
            return f'<body bgcolor="#ffffff"><div id="top">{logo}</div><div class="nav">{bar}</div>'
        return f'<body class="{channel or "home"}"><header>{logo}</header><nav>{items(links)}</nav>'

    def _bottom(self, site: DemoHost, channel: str) -> str:
        words = site_labels(site)
        boxes = [
            (
                words.hot,
                [self.headline(site, n, 16) for n in self._popular_articles(site, channel)],
            ),
            (
                words.latest,
                [self.headline(site, n, 14) for n in self.plan.newest[site.number][:10]],
            ),
            (words.specials, self._specials(site)),
            (words.tags, self._tag_cloud(site)),
        ]
        aside = "".join([f"<h3>{name}</h3>{items(links)}" for name, links in boxes if links])
        advert = f'<a href="/ad/{site.number}" rel="nofollow sponsored">{words.advert}</a>'
        foot = " ".join(
            [
                *self._other_front_pages(site),
                link("/about/", words.about),
                link("/contact/", words.contact),
            ]
        )
        legal = f"<p>{site.name} &copy; 2018 {site.host}</p>"
        if site.has("session"):
            legal += "<p>站长：萧囧 副站长：陈喆</p>"  # characters that gb2312 proper lacks
        if site.has("old"):
            return (
                f'<div class="right">{aside}<p>{advert}</p></div>'
                f'<div id="foot">{words.friends}: {foot}{legal}</div></body></html>'
            )
        return (
            f"<aside>{aside}<p>{advert}</p></aside>"
            f"<footer><h4>{words.friends}</h4>{foot}{legal}</footer></body></html>"
        )

    def _popular_articles(self, site: DemoHost, channel: str) -> list[int]:
        """Return a dozen popular articles of the channel, from all of its sections."""
        plan = self.plan
        subjects = dict.fromkeys(
            section.subject
            for section in site.kind.sections
            if not channel or section.channel == channel
        )
        pool = [n for subject in subjects for n in plan.cited_at.get((site.number, subject), ())]
        return pool[:: max(1, len(pool) // 12)][:12]

    def _specials(self, site: DemoHost) -> list[str]:
        own = [special for special in self.plan.specials if special.site == site.number]
        links = [link(special.path, special.title) for special in own[:6]]
        return links + ([link("/zt/", site_labels(site).more)] if own else [])

    def _tag_cloud(self, site: DemoHost) -> list[str]:
        """Return the ten most frequent tags of a blog; portals show tags below articles only."""
        if not site.has("blogroll"):
            return []
        tagged = self.plan.tagged[site.number]
        top = sorted(tagged, key=lambda tag: (-len(tagged[tag]), tag))[:10]
        return [link(tag_path(site, tag), tag) for tag in top]

    def _other_front_pages(self, site: DemoHost) -> list[str]:
        """Front pages of other hosts; a blog's roll leads to blogs and forums first."""
        sites = self.plan.sites
        others = list(sites[site.number + 1 :] + sites[: site.number])
        if site.has("blogroll"):
            others.sort(key=lambda host: not (host.has("blogroll") or host.has("session")))
        return [link(f"//{host.host}/", host.name) for host in others[:6]]
