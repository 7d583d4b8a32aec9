"""Breadcrumbs: where a page stands in its site, as evidence and as ways to index pages."""

import json

from focus.config import AnalysisConfig
from focus.html.breadcrumbs import MAX_TRAIL_LINKS, Crumb, parse_crumbs
from focus.html.parser import parse
from focus.records import Link, Page, Region
from focus.score.analysis import PageScorer
from focus.score.index_pages import Role, ancestor_pages
from focus.topic.topic import from_words, to_builtins
from tests.support.cases import cases

ANALYST = PageScorer(AnalysisConfig(topic=to_builtins(from_words("足球"))))
WAY = '<a href="/">首页</a> &gt; <a href="/c/5">足球</a> &gt; 决赛'
CRUMBS = [Crumb("/", "首页"), Crumb("/c/5", "足球")]
LIST = {
    "@type": "BreadcrumbList",
    "itemListElement": [
        {"@type": "ListItem", "position": 1, "item": {"@id": "/", "name": "首页"}},
        {"@type": "ListItem", "position": 2, "name": "足球", "item": "/c/5"},
        {"@type": "ListItem", "position": 3, "name": "决赛"},
    ],
}


def spoken(thing: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(thing)}</script>'


def read(html: str, url: str = "http://h/5.html") -> Page:
    return ANALYST.score(url, html.encode(), "text/html; charset=utf-8")


def link_to(page: Page, url: str) -> Link:
    return next(link for link in page.links if link.url == url)


@cases(
    "html",
    f'<ol class="breadcrumb">{WAY}</ol>',
    f'<div id="crumbs">{WAY}</div>',
    f'<nav aria-label="Breadcrumb"><ol><li>{WAY}</ol></nav>',
    f'<ul itemscope itemtype="https://schema.org/BreadcrumbList"><li>{WAY}</ul>',
    f"<div>当前位置：{WAY}</div>",
    spoken(LIST),
    spoken({"@graph": [{"@type": "WebPage"}, LIST]}),
)
def test_breadcrumb_all_notations_are_read(html: str) -> None:
    assert parse(f"{html}<p><a href=/x>x</a>").crumbs == CRUMBS


@cases(
    "html",
    '<div class="layout has-breadcrumb"><a href="/c/5">足球</a></div>',
    f"<div class=breadcrumbs>{'<a href=/x>x</a>' * (MAX_TRAIL_LINKS + 1)}</div>",  # a wrapper
    '<div><a href="/">首页</a> | <a href="/c/5">足球</a></div>',  # a menu
    '<p><a href="/c/5">足球</a> &gt; <a href="/">首页</a></p>',
)
def test_breadcrumb_similar_lists_are_ignored(html: str) -> None:
    assert parse(html).crumbs == []


@cases(
    "items",
    None, 7, [7, None, {}], [{"item": "/c/5"}], [{"item": {"@id": 7, "name": "x"}}],
    [{"item": "  ", "name": "x"}], [{"item": {"@id": "/c/5", "name": ["x"]}}],
)  # fmt: skip
def test_breadcrumb_invalid_json_ld_is_ignored(items: object) -> None:
    assert [*parse_crumbs({"@type": "BreadcrumbList", "itemListElement": items})] == []


def test_breadcrumb_json_ld_depth_is_limited() -> None:
    items = [{"name": "x", "item": f"/{n}"} for n in range(1000)]
    thing = {"@type": "BreadcrumbList", "itemListElement": items}
    assert len([*parse_crumbs(thing)]) == MAX_TRAIL_LINKS
    assert len(parse(spoken([thing] * 50)).crumbs) < 2 * MAX_TRAIL_LINKS


def test_ancestor_pages_omit_home_itself_and_other_hosts() -> None:
    links = [*CRUMBS, Crumb("5.html", "决赛"), Crumb("http://b/", "x"), Crumb("mailto:a", "x")]
    assert ancestor_pages([*links, *CRUMBS], "http://h/5.html") == [Crumb("http://h/c/5", "足球")]


def test_evidence_breadcrumb_names_count() -> None:
    filed, plain = read(spoken(LIST)), read("<p>x")
    assert filed.part_scores["breadcrumb"] == 1.0
    assert filed.matched_terms["breadcrumb"] == ["足球"]
    assert filed.relevance > plain.relevance
    named = read(spoken(LIST).replace("/c/5", "/5.html"))
    assert "breadcrumb" not in named.part_scores  # its own name is its title's affair


def test_link_role_breadcrumb_target_is_index() -> None:
    visible = link_to(
        read(f'<div class=breadcrumb>{WAY}</div><a href="/x.html">x</a>'), "http://h/c/5"
    )
    assert (visible.target_role, visible.anchor) == (Role.INDEX, "足球")
    unseen = link_to(read(spoken(LIST)), "http://h/c/5")
    assert (unseen.target_role, unseen.region, unseen.anchor_score) == (Role.INDEX, Region.NAV, 1.0)


def test_breadcrumb_json_ld_keeps_nofollow() -> None:
    page = read(f'{spoken(LIST)}<a rel=nofollow href="/c/5">足球</a>')
    assert [link.nofollow for link in page.links if link.url == "http://h/c/5"] == [True]


@cases(
    "head, link",
    ("", '<a rel="category tag" href="/c/5">足球</a>'),
    ('<meta property="article:tag" content="足球">', '<a href="/c/5">足球</a>'),
    ('<meta property="article:section" content=" 足球 ">', '<a href="/c/5">足球</a>'),
)
def test_link_role_category_of_page_is_index(head: str, link: str) -> None:
    page = read(f"<head>{head}</head><body>{link}<a href=/d/6>x</a>")
    assert link_to(page, "http://h/c/5").target_role is Role.INDEX
    assert link_to(page, "http://h/d/6").target_role is Role.PAGE
