"""The parser on pages, tidy and hostile."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from focus.html.contexts import MAX_CONTEXT, text_around
from focus.html.parser import parse
from focus.html.reader import ParsedPage, RawLink
from focus.html.regions import element_region
from focus.html.size_guard import (
    MAX_ATTRIBUTES,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_UNGUARDED_BYTES,
    limit_markup,
)
from focus.http.robots_tag import RobotsTag
from focus.records import Region
from tests.support.cases import cases

SHARED = Path(os.environ.get("FOCUS_SHARED") or Path(__file__).parents[2] / "shared")


def only_link(html: str, *, context: bool = False) -> RawLink:
    (link,) = parse(html, context=context).links
    return link


def headings(html: str) -> list[str]:
    return [link.heading for link in parse(html).links]


# The head


def test_parse_head_reads_all_fields() -> None:
    page = parse(
        """<!doctype html><html lang="zh-CN"><head><title>
        足球\u3000 新闻
        </title><base href="/sub/"><base href="/other/">
        <meta name="Keywords" content="足球, 英超"><meta name=description content=" 今日  比赛 ">
        <link rel="stylesheet" href="/s.css"><link rel="Canonical" href=" /a?b=1 "></head>"""
    )
    assert (page.title, page.keywords) == ("足球 新闻", "足球, 英超")
    assert (page.description, page.language) == ("今日 比赛", "zh-CN")
    assert (page.base, page.canonical) == ("/sub/", "/a?b=1")
    assert (page.refresh_url, page.robots) == (None, RobotsTag())


def test_parse_open_graph_tags_are_keywords() -> None:
    page = parse(
        '<meta property="article:section" content="Sport"><meta name=keywords content="goal">'
        '<meta property="article:tag" content="Cup"><meta property="article:tag" content="Final">'
    )
    assert page.keywords == "goal, Sport, Cup, Final"


def test_parse_empty_page_has_no_content() -> None:
    page = parse("")
    assert (page.title, page.links, page.headings, page.extract_blocks()) == ("", [], [], [])
    assert page.canonical is page.base is page.refresh_url is None
    assert ParsedPage().extract_blocks() == []


def test_parse_title_first_non_empty_outside_svg() -> None:
    svg = "<svg><title>icon</title></svg>"
    assert parse(f"<body>{svg}<title> </title><title>a</title><title>b</title>").title == "a"


def test_parse_long_title_is_cut() -> None:
    assert len(parse(f"<title>{'球' * 9999}</title>").title) == 500


@cases(
    "metas, description",
    ("<meta property=og:description content=og>", "og"),
    ("<meta property=og:description content=og><meta name=description content=own>", "own"),
    ("<meta name=description content=own><meta name=description content=second>", "own"),
    ("<meta name=description content=''><meta property=og:description content=og>", "og"),
)
def test_parse_description_precedes_og_description(metas: str, description: str) -> None:
    assert parse(metas).description == description


@cases(
    "meta, noindex, nofollow",
    ("<meta name=robots content='noindex'>", True, False),
    ("<meta name=ROBOTS content='NoFollow , index'>", False, True),
    ("<meta name=robots content=none>", True, True),
    ("<meta name=focus content='noindex nofollow'>", True, True),
    ("<meta name=robots content=all><meta name=focus content=noindex>", True, False),
    ("<meta name=googlebot content=noindex>", False, False),
    ("<meta name=robots content='max-snippet:-1'>", False, False),
)
def test_parse_meta_robots_rules(meta: str, noindex: bool, nofollow: bool) -> None:
    page = parse(meta)
    assert (page.robots.noindex, page.robots.nofollow) == (noindex, nofollow)


def test_parse_meta_robots_for_our_agent() -> None:
    page = parse("<meta name=MyBot content=noindex><meta name=focus content=none>", agent="mybot")
    assert (page.robots.noindex, page.robots.nofollow) == (True, False)


@cases(
    "meta, refresh, links",
    ("<meta http-equiv=Refresh content='0; url=/next'>", "/next", []),
    ("<meta http-equiv=refresh content='5; url=/next'>", "/next", []),
    ("<meta http-equiv=refresh content='6; url=/next'>", None, ["/next"]),
    ("<meta http-equiv=refresh content='300'>", None, []),
    ("<meta http-equiv=refresh content='x; url=/next'>", None, []),
    ("<meta http-equiv=refresh content=x><meta http-equiv=refresh content='1;a'>", "a", []),
    ("<meta http-equiv=refresh content=9><meta http-equiv=refresh content='1;a'>", None, []),
    ("<noscript><meta http-equiv=refresh content='0;/plain'></noscript>", None, ["/plain"]),
    ("<template><meta http-equiv=refresh content='0;/x'></template>", None, []),
)
def test_parse_early_refresh_is_redirect(meta: str, refresh: str | None, links: list[str]) -> None:
    page = parse(meta)
    assert (page.refresh_url, [link.href for link in page.links]) == (refresh, links)


# Links


def test_parse_links_in_document_order() -> None:
    page = parse(
        "<a href=/1>one</a><iframe src=/2></iframe><map><area href=/3 alt=drei></map>"
        "<b-item href=/5>five</b-item>"
        "<p><a href=' /4\n'>four</a><a name=x>none</a><a href>none</a>"
        "<a href=#top>none</a><a href='javascript:x()'>none</a><a href=mailto:a@b>none</a>"
    )
    links = [(link.href, link.anchor) for link in page.links]
    assert links == [("/1", "one"), ("/2", ""), ("/3", "drei"), ("/5", "five"), ("/4", "four")]


def test_parse_frameset_frames_are_links() -> None:
    page = parse("<frameset><frame src=/menu><frame src=/main></frameset>")
    assert [link.href for link in page.links] == ["/menu", "/main"]
    assert page.extract_blocks() == []


def test_parse_links_in_noscript_and_in_template_whose_text_is_hidden() -> None:
    links = "<link href=/l><a href=/t>t</a><a href='/{{ id }}'>p</a>"
    inner = "<template><x-item href=/i rel=nofollow>i</x-item></template>"
    page = parse(f"<template>{links}{inner}</template><noscript><a href=/n>n</a></noscript>")
    assert [(link.href, link.nofollow) for link in page.links] == [
        ("/t", False), ("/i", True), ("/n", False),
    ]  # fmt: skip
    assert not any("t" in block.text for block in page.extract_blocks())


@cases(
    "inside, anchor",
    ("  足球 \n 新闻\u3000&nbsp; ", "足球 新闻"), ("足<b>球</b>", "足球"),
    ("<h3>标题</h3><p>摘要</p>", "标题 摘要"), ("<span><div>a</div>b</span>c", "a bc"),
    ("a<br>b", "a b"), ("<style>.x{}</style>text<script>x()</script>", "text"),
    ("<img src=x alt=' 图 片 '>", "图 片"), ("<img src=x><img src=y alt=second>", "second"),
    ("<img src=x alt=pic> text", "text"), ("球" * 500, "球" * 200), ("", "title"),
)  # fmt: skip
def test_parse_anchor_text_sources(inside: str, anchor: str) -> None:
    assert only_link(f"<a href=/x title=title>{inside}</a>").anchor == anchor


def test_parse_anchor_aria_label_is_last_fallback() -> None:
    assert only_link("<a href=/x aria-label=label><i></i></a>").anchor == "label"
    assert only_link("<a href=/x><i></i></a>").anchor == ""


@pytest.mark.parametrize(
    ("rel", "nofollow"),
    [("nofollow", True), ("noopener UGC", True), ("sponsored", True), ("next", False), ("", False)],
)
def test_parse_rel_nofollow_values(rel: str, nofollow: bool) -> None:
    assert only_link(f"<a rel='{rel}' href=/x>x</a>").nofollow is nofollow


def test_parse_links_over_limit_are_counted() -> None:
    page = parse("<a href=/x>x</a><a href=#>-</a><iframe src=/f></iframe>" * 1000, max_links=30)
    assert (len(page.links), page.omitted_links) == (30, 1970)


# Headings and regions


def test_parse_link_heading_is_nearest_above() -> None:
    page = parse(
        "<a href=/0>0</a><h1>足球 <b>标签</b></h1><a href=/1>1</a>"
        "<div><h3><a href=/2>文章</a></h3><p><a href=/3>more</a></div>"
        "<h2>二</h2><h4>四</h4><a href=/4>4</a><h5><i><a href=/5>5</a></i></h5>"
        "<h1><a href=/6>6</a></h1>"
    )
    # the heading above a link, not its own text
    headings = [link.heading for link in page.links]
    assert headings == ["", "足球 标签", "足球 标签", "文章", "四", "四", ""]
    assert page.headings == ["足球 标签", "文章", "二", "6"]


def test_parse_link_heading_stays_in_its_region() -> None:
    html = (
        "<header><h1>站</h1></header><a href=/1></a>"
        "<aside><a href=/2></a><h3>热门</h3><a href=/3></a></aside>"
        "<a href=/4></a><footer><a href=/5></a></footer>"
    )
    assert headings(html) == ["站", "", "热门", "站", ""]


@cases(
    "around_link, region",
    ("<p>{}</p>", Region.BODY),
    ("<nav><ul><li>{}</ul></nav>", Region.NAV),
    ("<div role=navigation>{}</div>", Region.NAV),
    ("<div role=banner>{}</div>", Region.HEADER),
    ("<div role=contentinfo>{}</div>", Region.FOOTER),
    ("<section role=complementary>{}</section>", Region.ASIDE),
    ("<header>{}</header>", Region.HEADER),
    ("<main><header>{}</header></main>", Region.BODY),
    ("<article><footer><p>{}</footer></article>", Region.BODY),
    ("<article><nav>{}</nav></article>", Region.NAV),
    ("<div class='wrap site-nav'><ul><li>{}</ul></div>", Region.NAV),
    ("<ul class=breadcrumb><li>{}</ul>", Region.NAV),
    ("<div id=mainMenu>{}</div>", Region.NAV),
    ("<div class=navbar-inner>{}</div>", Region.NAV),
    ("<div class=pagination>{}</div>", Region.NAV),
    ("<div id=footer>{}</div>", Region.FOOTER),
    ("<div class=site-footer-inner>{}</div>", Region.FOOTER),
    ("<div class=post-footer>{}</div>", Region.BODY),
    ("<td class=left-sidebar>{}</td>", Region.BODY),  # a td outside a table is dropped
    ("<table><td class=left-sidebar>{}</table>", Region.ASIDE),
    ("<div class=has-sidebar>{}</div>", Region.BODY),
    ("<div class=sidebar-layout><main>{}</main></div>", Region.BODY),
    ("<aside><main><nav></nav>{}</main></aside>", Region.BODY),
    ("<div class=elementor-widget-wrap>{}</div>", Region.BODY),
    ("<div class=navy>{}</div>", Region.BODY),
)
def test_parse_link_regions(around_link: str, region: Region) -> None:
    assert only_link(around_link.format("<a href=/x>x</a>")).region is region


def test_element_region_very_long_names() -> None:
    assert element_region("div", {"class": "a-" * 500_000 + "nav"}) is None
    assert element_region("div", {"class": None, "id": None}) is None


# Context


def test_parse_context_only_on_request() -> None:
    html = "<p>昨晚 <a href=/x>曼联</a> 三比一获胜</p>"
    assert only_link(html).context == ""
    assert only_link(html, context=True).context == "昨晚 三比一获胜"


def test_link_context_uses_nearest_larger_block() -> None:
    html = "<div><h3><a href=/x>标题</a></h3><p>摘要在此</p></div>"
    assert only_link(html, context=True).context == "摘要在此"
    assert only_link("<ul><li><a href=/x>alone</a></ul>", context=True).context == ""


@given(st.text(max_size=300), st.text(max_size=300), st.text(min_size=1, max_size=20))
def test_text_around_any_text_is_cut_around_anchor(before: str, after: str, anchor: str) -> None:
    context = text_around(before + anchor + after, anchor)
    assert len(context) <= MAX_CONTEXT
    assert context == context.strip()


def test_text_around_long_text_uses_both_sides() -> None:
    assert text_around("a" * 200 + "X" + "b" * 200, "X") == "a" * 59 + " " + "b" * 60
    assert text_around("a" * 200 + "X" + "b", "X") == "a" * 118 + " b"


# Text and blocks


def texts(html: str) -> list[str]:
    return [block.text for block in parse(html).extract_blocks()]


@cases(
    "html, expected",
    ("<title>T</title><p>足球<script>x</script><p>比赛<br>结果", ["足球", "比赛 结果"]),
    ("<p>long enough to be a page<noscript>no</noscript><template>t</template><svg>v</svg>",
     ["long enough to be a page"]),
    ("<p>seen and read<p hidden>h<p style='display : None'>d<p style=visibility:hidden>v",
     ["seen and read"]),
    ("<p>the <span hidden>not seen </span>words", ["the words"]),
    ("<p>seen<div role=tabpanel hidden>tab</div><p class=faq__answer style=display:none>A",
     ["seen", "tab", "A"]),
    ("<div hidden><p>a page that scripts show</p></div>", ["a page that scripts show"]),
    ("<p>foot&shy;ball micro\u200bservice base\u2060ball", ["football microservice baseball"]),
    ("<p>今年的世界杯决\n  赛，\n主队 赢\nof it", ["今年的世界杯决赛，主队 赢 of it"]),
    ("<p><ruby>東<rp>(</rp><rt>とう</rt><rp>)</rp>京<rt>きょう</rt></ruby>", ["東京"]),
)  # fmt: skip
def test_extract_blocks_text_is_as_a_reader_sees_it(html: str, expected: list[str]) -> None:
    assert texts(html) == expected


def test_extract_blocks_count_link_characters() -> None:
    page = parse(
        "<h1>头</h1><div>前 <b>中</b>间 <a href=/x>链 接</a><p>段<br>落</p>后</div>"
        "<ul><li><a href=/y>甲<i>乙</i></a></ul><script>x</script> <div> </div>"
    )
    blocks = [(block.text, block.link_chars, block.tag) for block in page.extract_blocks()]
    assert blocks == [
        ("头", 0, "h1"), ("前 中间 链 接", 3, "div"), ("段 落", 0, "p"), ("后", 0, "div"),
        ("甲乙", 2, "li"),
    ]  # fmt: skip


@cases(
    "html, linked",
    ("<a href=/1>首页</a> | <a href=/2>社会</a> | <a href=/3>足球</a>", "首页 | 社会 | 足球"),
    ('<a href="/1">Home</a> » <a href="/2">About us</a>', "Home » About us"),
    ('当前位置：<a href="/1">首页</a> > <a href="/2">篮球</a>', "首页篮球"),
    ('<a href="/1">甲</a>和<a href="/2">乙</a>', "甲乙"),
    ('见<a href="/1">这里</a>。', "这里"),
)
def test_extract_blocks_menu_separators_count_as_links(html: str, linked: str) -> None:
    (block,) = parse(f"<body><div>{html}</div>").extract_blocks()
    assert block.link_chars == len(linked)


# Hostile pages

_PIECES = st.sampled_from(
    [
        *("<a href=/x>", "</a>", "<a/href='", "<area href=y>", "<img alt=x>", "<iframe src=y>"),
        *("<h1>", "<h4>", "</h2>", "<nav>", "</nav>", "<p>", "</p>", "<b>", "<main class=menu>"),
        *("<title>", "<base>", "<meta http-equiv=refresh content='1;url=x'>", "<link rel=x>"),
        *("<svg>", "<math><mi>", "<template>", "<table><tr><td>", "<select>", "<frameset>"),
        *("<script>", "<textarea>", "<plaintext>", "<noscript>", "</html>", "<body>", "</body>"),
        *("<!--", "-->", "<![CDATA[", "<", ">", "\0", "\ud800", "&#xD800;", "&#0;", "足球", " "),
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES | st.text(max_size=8), max_size=60).map("".join), st.booleans())
def test_parse_any_text_never_raises(html: str, context: bool) -> None:
    page = parse(html, max_links=5, context=context)
    for link in page.links:
        assert link.href == link.href.strip("\t\n\f\r ") != ""
        assert len(link.anchor) <= 200 and len(link.context) <= MAX_CONTEXT
        (link.href + link.anchor + link.heading + page.title).encode()
    for block in page.extract_blocks():
        assert 0 <= block.link_chars <= len(block.text)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=2000))
def test_parse_any_bytes_never_raises(body: bytes) -> None:
    parse(body.decode("latin-1"))
    parse(body.decode("utf-8", "surrogateescape"))


def test_parse_hundred_thousand_links_is_fast() -> None:
    page = parse("<a href=x>x</a>" * 100_000)
    assert (len(page.links), page.omitted_links) == (2000, 98_000)


def test_parse_many_attributes_are_bounded() -> None:
    many = " ".join(f"a{n}='>'" if n % 7 == 0 else f"a{n}=x" for n in range(40_000))
    plain = many.replace("'>'", "y")
    page = parse(f"<a href=/before>b</a><div {plain}>text<a href=/after>a</a>")
    assert [link.href for link in page.links] == ["/before", "/after"]


def test_parse_deep_nesting_is_bounded() -> None:
    page = parse("<a href=/first>x</a>" + "<div>" * 100_000 + "<a href=/deep>y</a>")
    assert [link.href for link in page.links] == ["/first"]


def test_parse_nested_headings() -> None:
    page = parse("<h1><div>" * 4000 + "<a href=/x>x</a> words " * 1000)
    assert page.links


def test_limit_markup_ordinary_page_is_unchanged() -> None:
    short = b"<div>" * (MAX_UNGUARDED_BYTES // 5)
    assert limit_markup(short) is short
    flat = b"<div><p>text<br><img src=x></div>" * 5000
    assert limit_markup(flat) is flat
    image = b"<p>" * 100 + b'<img alt="a b" src="data:image/png;base64,' + b"A" * 200_000 + b'">'
    assert limit_markup(image) == image
    path = b'<path d="' + b"M 1 2 " * 20_000 + b'"/>'
    assert limit_markup(path) == path


def test_limit_markup_cuts_at_exact_limits() -> None:
    attributes = b"".join(b" attribute%d='x y'" % n for n in range(9000))
    assert limit_markup(b"<div" + attributes + b">").count(b"attribute") == MAX_ATTRIBUTES
    assert limit_markup(b"<div>" * 20_000) == b"<div>" * MAX_DEPTH
    assert limit_markup(b"<p>" + b"x" * MAX_BYTES) == b"<p>" + b"x" * (MAX_BYTES - 3)


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300), st.integers(1, 400))
def test_limit_markup_any_page_never_grows(piece: bytes, times: int) -> None:
    data = (piece * (1 + 200_000 // max(1, len(piece)))) + b"<" * times
    assert len(limit_markup(data)) <= len(data)
