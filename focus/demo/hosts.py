"""Defines the hosts of the generated web and their character.

Twelve by default: a portal in the shape of a Chinese news site with most of the
pages, a GBK paper, a forum that calls its GBK pages gb2312, a magazine in
traditional script, an English site, four blogs, a slow library, a review site
that answers 200 for anything, a city guide with an endless calendar. All names
end in `.example` (RFC 2606), so that no request can ever leave the machine.
"""

from __future__ import annotations

from typing import NamedTuple

from focus.demo.words import PINYIN

TOPICS: dict[str, frozenset[str]] = {
    "足球": frozenset({"football"}),
    "篮球": frozenset({"basketball"}),
    "体育": frozenset({"football", "basketball", "tennis"}),
    "财经": frozenset({"finance"}),
    "旅游": frozenset({"travel"}),
    "健康": frozenset({"health"}),
    "电影": frozenset({"film"}),
    "科技": frozenset({"tech"}),
    "美食": frozenset({"food"}),
}
"""Topic (its one keyword) -> the subjects that belong to it."""

SUBJECTS = tuple(sorted(frozenset.union(*TOPICS.values())))
"""Subjects with a topic of their own; `society` and `english` are everybody's off-topic."""


class Section(NamedTuple):
    """A list of articles: a sub-channel, a board or a blog's category."""

    channel: str
    channel_name: str
    path: str
    name: str
    subject: str
    weight: float


class Style(NamedTuple):
    """Patterns of a host's URL paths; `per_page` entries on a list page."""

    article: str
    listing: str
    more: str
    tag: str
    tag_more: str
    per_page: int = 25


class Kind(NamedTuple):
    """The common traits of hosts of one sort.

    quirks  robots · calendar · session · soft-404 · bom · old (HTML of old times)
            · traditional · blogroll · no-label (no charset declared anywhere)
    """

    style: Style
    sections: tuple[Section, ...]
    codec: str = "utf-8"
    label: str = "utf-8"
    header: str = "text/html; charset=utf-8"
    language: str = "zh-CN"
    quirks: frozenset[str] = frozenset()
    delay_s: float = 0.0


class DemoHost(NamedTuple):
    """One host; `share` of the articles are its own; a `seed` is where a crawl starts."""

    number: int
    host: str
    name: str
    share: float
    kind: Kind
    seed: bool

    def has(self, quirk: str) -> bool:
        return quirk in self.kind.quirks


def _sections(text: str) -> tuple[Section, ...]:
    """Lines of "channel name path name subject weight"; a "-" repeats the path as channel."""
    rows = []
    for line in text.strip().splitlines():
        channel, channel_name, path, name, subject, weight = line.split()
        if channel == "-":
            channel, channel_name = path, name
        rows.append(Section(channel, channel_name, path, name, subject, float(weight)))
    return tuple(rows)


_PORTAL_SECTIONS = _sections("""
    news 新闻 china 国内 society 11
    news 新闻 world 国际 society 7
    sports 体育 football 足球 football 9.5
    sports 体育 basketball 篮球 basketball 7
    sports 体育 tennis 网球 tennis 4
    finance 财经 stock 股市 finance 7
    finance 财经 house 楼市 finance 4
    tech 科技 mobile 手机 tech 6
    tech 科技 ai 智能 tech 5
    ent 娱乐 film 电影 film 7
    ent 娱乐 star 明星 film 2
    travel 旅游 domestic 国内游 travel 5
    travel 旅游 abroad 出境游 travel 4
    health 健康 care 养生 health 5
    health 健康 medicine 医药 health 4
    food 美食 recipe 菜谱 food 4
    food 美食 shops 探店 food 3
""")

_BLOG_STYLE = Style(
    "/{year}/{month}/{day}/{slug}/",
    "/categories/{section}/",
    "/categories/{section}/page/{page}/",
    "/tags/{tag}/",
    "/tags/{tag}/page/{page}/",
    15,
)
_POST_STYLE = Style(
    "/post/{id}.html",
    "/{section}/",
    "/{section}/index_{page}.html",
    "/tag/{tag}.html",
    "/tag/{tag}_{page}.html",
    20,
)
_PORTAL = Kind(
    Style(
        "/{channel}/{date}/doc-i{code}.shtml",
        "/{channel}/{section}/",
        "/{channel}/{section}/list_{page}.shtml",
        "/tag/{tag}/",
        "/tag/{tag}/{page}.shtml",
    ),
    _PORTAL_SECTIONS,
    quirks=frozenset({"robots"}),
)
_PAPER = Kind(
    Style(
        "/{section}/{year}{month}/t{year}{month}{day}_{id}.html",
        "/{section}/",
        "/{section}/index_{page}.html",
        "/keyword/k{tag_id}.html",
        "/keyword/k{tag_id}_{page}.html",
    ),
    _sections("""
        - - society 社会 society 22
        - - football 足球 football 7
        - - basketball 篮球 basketball 7
        - - tennis 网球 tennis 3
        - - finance 财经 finance 16
        - - tech 科技 tech 12
        - - film 影视 film 9
        - - travel 旅游 travel 9
        - - health 健康 health 9
        - - food 饮食 food 6
    """),
    codec="gbk",
    label="gbk",
    header="text/html",
    quirks=frozenset({"robots", "old"}),
)
_FORUM = Kind(
    Style(
        "/thread-{id}-1-1.html",
        "/forum-{section}-1.html",
        "/forum-{section}-{page}.html",
        "/misc-tag-{tag_id}-1.html",
        "/misc-tag-{tag_id}-{page}.html",
        20,
    ),
    _sections("""
        - - tea 闲聊茶馆 society 30
        - - f1 球迷看台 football 14
        - - f2 灌篮高手 basketball 16
        - - f3 网前小球 tennis 6
        - - digital 数码交流 tech 16
        - - eat 吃货天地 food 10
        - - trip 结伴出行 travel 8
    """),
    codec="gbk",
    label="gb2312",
    header="text/html; charset=gb2312",
    quirks=frozenset({"old", "session"}),
)
_MAGAZINE = Kind(
    _POST_STYLE,
    _sections("""
        - - film 光影 film 30
        - - travel 行走 travel 25
        - - food 滋味 food 20
        - - city 城事 society 25
    """),
    language="zh-Hant",
    quirks=frozenset({"traditional"}),
)
_ENGLISH = Kind(
    _POST_STYLE,
    _sections("""
        - - garden Garden english 50
        - - village Village english 50
    """),
    language="en",
)


def _blog(lines: str, quirks: str = "blogroll", style: Style = _BLOG_STYLE) -> Kind:
    return Kind(style, _sections(lines), quirks=frozenset(quirks.split()))


_BLOGS = (
    _blog("- - ball 看球 football 20\n- - code 代码 tech 40\n- - life 生活 society 40"),
    _blog("- - road 在路上 travel 55\n- - screen 银幕 film 45", style=_POST_STYLE),
    _blog("- - code 编程 tech 75\n- - read 读书 society 25", "blogroll bom"),
    _blog("- - body 身体 health 40\n- - kitchen 厨房 food 30\n- - diary 日记 society 30")._replace(
        header="text/html",
        label="",
        quirks=frozenset({"blogroll", "no-label"}),
    ),
)
_LIBRARY = Kind(
    _POST_STYLE._replace(article="/item/{id}.html"),
    _sections("""
        - - money 经济 finance 35
        - - body 医学 health 30
        - - machine 技术 tech 27
        - - games 球类 football 8
    """),
    quirks=frozenset({"robots"}),
    delay_s=0.15,
)
_REVIEWS = Kind(
    _POST_STYLE._replace(article="/review/{slug}-{id}"),
    _sections("- - eat 餐厅 food 45\n- - stay 住宿 travel 35\n- - see 演出 film 20"),
    quirks=frozenset({"soft-404"}),
)
_GUIDE = Kind(
    _POST_STYLE._replace(article="/event/{date}/{id}/"),
    _sections("- - shows 演出 film 35\n- - sport 赛事 tennis 25\n- - walks 漫步 travel 40"),
    quirks=frozenset({"calendar"}),
)

_DEFAULT: tuple[tuple[str, str, float, Kind], ...] = (
    ("www.xinlan.example", "新澜网", 46, _PORTAL),
    ("www.jinbao.example", "今报在线", 16, _PAPER),
    ("bbs.qiuyou.example", "球友论坛", 7, _FORUM),
    ("blog.laochen.example", "老陈的看台", 4, _BLOGS[0]),
    ("nanxing.example", "南行笔记", 4, _BLOGS[1]),
    ("www.haixia.example", "海峡月刊", 5, _MAGAZINE),
    ("www.northgate.example", "Northgate Letters", 3, _ENGLISH),
    ("code.muyu.example", "木鱼敲代码", 4, _BLOGS[2]),
    ("wenku.shuge.example", "书阁文库", 3, _LIBRARY),
    ("www.pingjia.example", "评价网", 3, _REVIEWS),
    ("city.tongcheng.example", "同城指南", 3, _GUIDE),
    ("xiaoman.example", "小满日记", 4, _BLOGS[3]),
)

_SEEDS = frozenset({"www.haixia.example", "code.muyu.example"})


def make_sites(hosts: int, portals: int) -> tuple[DemoHost, ...]:
    """`hosts` sites, the first `portals` of them portals of equal size (every third in GBK)."""
    rows = [_DEFAULT[0]]
    for n in range(1, portals):
        kind = _PAPER if n % 3 == 2 else _PORTAL
        pinyin = PINYIN[n % len(PINYIN)]
        rows.append((f"www.{pinyin}{n}.example", f"{pinyin}在线", 46, kind))
    rows += _DEFAULT[1 : 1 + max(0, hosts - portals)]
    for n in range(len(rows), hosts):
        pinyin = PINYIN[n % len(PINYIN)]
        rows.append((f"{pinyin}.blog{n}.example", f"{pinyin}的博客", 4, _BLOGS[n % len(_BLOGS)]))
    total = sum(share for _, _, share, _ in rows)
    return tuple(
        DemoHost(number, host, name, share / total, kind, number < portals or host in _SEEDS)
        for number, (host, name, share, kind) in enumerate(rows[:hosts])
    )
