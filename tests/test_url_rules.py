"""URL rules that a crawl learns: what is deferred, dropped, probed, and comes back."""

import sqlite3
from collections import Counter
from contextlib import closing
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

from focus.admission.url_rules import (
    DROP_AFTER,
    FIRST_PROBE,
    MAX_FOLDERS,
    MAX_USEFUL,
    SPELLINGS,
    TIER,
    KnownTexts,
    Record,
    Treatment,
    UrlRules,
    Waste,
    identity,
    kind_of_view,
    spelling_changes,
    url_kinds,
)
from focus.records import Page
from tests.support.cases import cases
from tests.support.web import TinyWeb
from tests.test_crawl import crawl
from tests.test_resume import Lives

HOST = "http://a.test"
NOINDEX = '<meta name="robots" content="noindex">'
LIST = '<script type="application/ld+json">{"@type": "CollectionPage"}</script>'
LONG = "一场足球比赛的报道，写得很长，足以认出这一页。" * 9


@cases(
    "url, kinds",
    ("/post/12", ["/post/N"]),
    ("/post/12?replytocom=5", ["/post/N?replytocom=N", "?replytocom"]),
    ("/w?title=A&action=edit", ["/w?action=edit&title=S", "?action=edit", "?title"]),
    ("/wiki/Special:Log/X", ["/wiki/S Special:Log", "Special:", "*/wiki/", "*/X"]),
    ("/w?title=Talk%3AFootball_2", ["/w?title=S Talk:", "Talk:", "?title"]),
    ("/shop/?facet=size%3AL", ["/shop/?facet=S", "?facet"]),
    ("/lists/20@a.test/t.mbox.gz", ["/lists/N@a.test/S.gz", "*/lists/", "*/t.mbox.gz"]),
    ("/blog/tag/goal/feed/", ["/blog/S/goal/feed/", "*/blog/", "*/tag/", "*/feed"]),
)
def test_url_kinds_are_pattern_namespace_and_parameters(url: str, kinds: list[str]) -> None:
    assert url_kinds(HOST + url) == kinds


@cases(
    "useful, useless, treatment",
    (0, 3, Treatment.REQUEST),
    (0, 4, Treatment.DEFER),
    (0, DROP_AFTER, Treatment.DROP),
    (5, 19, Treatment.REQUEST),
    (5, 20, Treatment.DROP),
    (500, 4 * MAX_USEFUL - 1, Treatment.REQUEST),
)
def test_record_treatment_depends_on_useless_responses_in_a_row(
    useful: int, useless: int, treatment: Treatment
) -> None:
    record = Record()
    for _ in range(useful):
        record.count(None)
    for _ in range(useless):
        record.count(Waste.NOINDEX)
    assert record.treatment is treatment
    record.count(None)
    assert record.treatment is Treatment.REQUEST


def test_record_probes_come_after_four_times_as_many_urls() -> None:
    record = Record(row=DROP_AFTER)
    probes = [n for n in range(1, 400) if record.takes_probe()]
    assert probes == [FIRST_PROBE + 1, 5 * FIRST_PROBE + 2, 21 * FIRST_PROBE + 3]


def count(rules: UrlRules, path: str, waste: Waste | None, times: int = 1) -> None:
    for _ in range(times):
        rules.count(0, url_kinds(HOST + path), waste)


def test_parameter_defers_other_patterns_unless_they_are_useful() -> None:
    rules = UrlRules()
    count(rules, "/a/1/?print=1", Waste.DUPLICATE, DROP_AFTER)
    treatments = [rules.treatment(0, f"{HOST}{path}", -2 * TIER) for path in ("/b/?print=1", "/b/")]
    assert treatments == [Treatment.REQUEST, Treatment.REQUEST]  # deferred, and tried in the end
    assert rules.treatment(0, f"{HOST}/b/?print=1", 0.5) is Treatment.DEFER
    assert rules.treatment(1, f"{HOST}/b/?print=1", 0.5) is Treatment.REQUEST  # another host
    count(rules, "/b/?print=1", Waste.DUPLICATE, 2)
    assert rules.treatment(0, f"{HOST}/b/?print=1", -2 * TIER) is Treatment.DROP
    count(rules, "/c/x/y.html?print=2", None)
    assert rules.treatment(0, f"{HOST}/b/?print=1", 0.5) is Treatment.REQUEST


@cases(
    "useful, useless",
    ("/Football/Ajax%20wins%20{n}", "/Football/Ajax%20wins%20{n}/history"),
    ("/notes/blob/master/goal-{n}.txt", "/notes/raw/master/goal-{n}.txt"),
)
def test_tools_of_pages_are_dropped_although_they_share_the_pattern_of_pages(
    useful: str, useless: str
) -> None:
    assert url_kinds(HOST + useful)[0] == url_kinds(HOST + useless)[0]
    rules = UrlRules()
    for n in range(DROP_AFTER):
        count(rules, useful.format(n=n), None)
        count(rules, useless.format(n=n), Waste.NOT_HTML)
    assert rules.treatment(0, HOST + useless.format(n=77), -2 * TIER) is Treatment.DROP
    assert rules.treatment(0, HOST + useful.format(n=77), 0.5) is Treatment.REQUEST


def test_number_of_folder_names_with_a_record_is_bounded() -> None:
    rules, letters = UrlRules(), "abcdefghijklmnopqrstuvwxyz"
    for first, second in product(letters, letters):
        count(rules, f"/notes/{first}{second}/1", None)
    folders = [row for row in rules.take_changes() if row.kind.startswith("*/")]
    assert len(folders) == MAX_FOLDERS < len(letters) ** 2


@cases(
    "path, name, known, kind",
    ("/annotate/7/goal-2.txt?line=5&a", "goal-2.txt", "view/7/goal-2.txt", "+annotate"),
    ("/r.git/blame/src/goal-2.txt", "goal-2.txt", "r.git/tree/src/goal-2.txt", "+blame"),
    ("/view/8/src/goal-2.txt", "goal-2.txt", "view/7/src/goal-2.txt", "+view N"),
    ("/wiki/cup-final/_history", "cup-final", "wiki/cup-final", "+_history"),
    ("/log/7?from=3", "log/7", "log/7", "+log from"),
    ("/topic/7?page=2", "topic/7", "topic/7-goal", "+topic N page"),
    ("/files/head:/src/", "files/src", "files/7/src", "+files N"),
    ("/film/first-rated/alien-25/", "alien-25", "film/other-ones/alien-25/", ""),
)
def test_identity_and_view_of_a_url(path: str, name: str, known: str, kind: str) -> None:
    assert (identity(HOST + path), kind_of_view(known, HOST + path)) == (name, kind)


def test_page_that_is_filed_twice_is_no_view() -> None:
    rules = UrlRules()
    for path in ("/电影/欧美/盗梦空间-2010/", "/src/7/goal-2.txt"):
        rules.add_page(0, rules.named_page(0, f"{HOST}{path}"))
    assert rules.named_page(0, f"{HOST}/电影/高分/盗梦空间-2010/").view == ""
    assert rules.named_page(0, f"{HOST}/blame/7/goal-2.txt").view == "+blame"


@pytest.mark.parametrize("has_list", [False, True])
async def test_views_of_a_page_are_dropped_and_its_further_pages_are_not(has_list: bool) -> None:
    """A view has the text of its page beside its own; a list of whole texts is no page."""
    web, names = TinyWeb(), [f"goal-{n}.txt" for n in range(60)]
    goal = "Player {} of team {} scored a fine goal.".format
    menu = "This is what all pages say. " * 9
    texts = [" ".join(goal(k, n) for k in range(40)) for n in range(60)]
    web.page(
        f"{HOST}/",
        links=["/whole-texts.txt"] * has_list + [f"/a-long-name/{name}" for name in names],
    )
    web.page(f"{HOST}/whole-texts.txt", text=" ".join(texts))
    for name, text in zip(names, texts, strict=True):
        page, view = f"/a-long-name/{name}", f"/blame/{name}"
        web.page(f"{HOST}{page}", text=menu + text, links=[view, f"{page}/more"])
        web.page(f"{HOST}{page}/more", text=menu + text.replace("scored", "missed"))
        web.page(f"{HOST}{view}", text=f"{menu}{text} This line was changed by {view} long ago.")
    run = await crawl(web, [f"{HOST}/"], strategy="bfs")
    counts = Counter(url.split("/")[3] for url in run.pages)
    assert counts["a-long-name"] == 120
    assert has_list or counts["blame"] <= DROP_AFTER + 4


async def test_filters_of_a_known_list_bring_nothing_although_they_come_first() -> None:
    """Each combination of filters shows items that the pages of the plain list show as well."""
    web = TinyWeb()
    filters = ["/list/?" + "&".join(f"f={c}" for c in name) for name in permutations("abcde", 3)]
    items = [f"/item/{n}" for n in range(60)]
    for n in range(6):
        shown, further = items[10 * n : 10 * n + 10], [f"/list/?page={n + 2}"] if n < 5 else []
        web.page(f"{HOST}/list/?page={n + 1}", links=[*filters, *shown, *further])
    web.page(f"{HOST}/list/", links=[*filters, *items[:10], "/list/?page=2"])
    for n, path in enumerate(filters):
        web.page(f"{HOST}{path}", links=[items[(7 * n + k) % 60] for k in range(12)], head=LIST)
    for path in items:
        web.page(f"{HOST}{path}", text=f"{LONG}，第 {path} 件" * 3)
    run = await crawl(web, [f"{HOST}/list/"], strategy="bfs")
    assert sum("/item/" in url for url in run.pages) == 60
    assert sum("f=" in url for url in run.pages) < 35


def test_deferred_url_of_a_useless_pattern_is_deferred_again_or_a_probe() -> None:
    rules = UrlRules()
    count(rules, "/tag/1?sort=up", Waste.NOINDEX, DROP_AFTER)
    url = f"{HOST}/tag/7?sort=up"
    assert rules.treatment(0, url, 0.3) is Treatment.DEFER
    again = [rules.treatment(0, url, 0.3 - TIER) for _ in range(FIRST_PROBE + 1)]
    assert again == [Treatment.DEFER] * FIRST_PROBE + [Treatment.REQUEST]
    assert rules.treatment(0, url, 0.3 - 2 * TIER) is Treatment.DROP
    assert rules.treatment(0, url, 1e6) is Treatment.REQUEST  # a seed
    assert rules.treatment(0, url, -1e6) is Treatment.REQUEST  # a revisit


def test_url_rules_restored_from_stored_records_are_the_same() -> None:
    rules, restored = UrlRules(), UrlRules()
    count(rules, "/x/1?do=edit", Waste.NOINDEX, 7)
    rows = rules.take_changes()
    assert [row.kind for row in rows] == ["/x/N?do=edit", "?do=edit"] and not rules.take_changes()
    for row in rows:
        restored.restore(row)
    url = f"{HOST}/x/2?do=edit"
    assert restored.treatment(0, url, 0.0) is rules.treatment(0, url, 0.0) is Treatment.DEFER
    assert restored.reason(0, url) == rules.reason(0, url)


def test_known_texts_are_those_of_one_host_that_are_long_enough() -> None:
    texts = KnownTexts()
    texts.add(3, 0, 77)
    digests = [(0, 77, 500), (1, 77, 500), (0, 77, 20), (0, 88, 500)]
    pages = [(host, Page(text_digest=d, text_length=n)) for host, d, n in digests]
    assert [texts.find(*page) for page in pages] == [3, -1, -1, -1]
    assert [texts.repeats_short_text(*page) for page in pages] == [False, False, True, False]
    restored, digests = KnownTexts(), np.array([0, 77, 77, 88], np.uint64)
    restored.restore(np.array([2, 3, 4, 5]), np.array([0, 0, 0, 1], np.uint64), digests)
    assert [restored.find(*page) for page in pages] == [3, -1, -1, -1]


def forum(topics: int, posts: int, permalink: str) -> TinyWeb:
    """A forum whose every post has an address that shows its whole topic."""
    web = TinyWeb()
    web.page(f"{HOST}/", links=[f"/topic/{n}/" for n in range(topics)])
    for n in range(topics):
        links = [f"/topic/{n}/{permalink}{n * posts + k}" for k in range(posts)]
        for path in (f"/topic/{n}/", *links):
            web.page(f"{HOST}{path}", links=links, text=f"{LONG}，第 {n} 题" * 3, title=f"{n} 足球")
    return web


@pytest.mark.parametrize("strategy", ["yield", "bfs", "best-first"])
async def test_permalinks_of_a_forum_are_requested_last_and_dropped(strategy: str) -> None:
    run = await crawl(forum(40, 6, "post/"), [f"{HOST}/"], strategy=strategy)
    posts = [n for n, url in enumerate(run.pages) if "post/" in url]
    assert len(run.pages) == 41 + len(posts) and len(posts) < 40
    assert sum(n < 41 for n in posts) <= 6  # the others come after the topics
    assert run.crawl.unit_of_work.drops["url-rule"] == 240 - len(posts)
    assert run.reason == "frontier empty"


async def test_second_addresses_and_members_of_a_forum_cost_a_few_requests() -> None:
    """Topics by page 1 and by number only, redirects of posts, lists of members' posts.

    A list has both addresses of a topic, and its second page with the number.
    """
    web, topics = TinyWeb(), range(10, 50)
    names = [f"/user/{name}/{part}" for name in "abcdefghij" for part in ("posts", "topics")]
    ends = ("", "?page=2", "-goal")
    web.page(f"{HOST}/", links=[*(f"/topic/{n}{end}" for n in topics for end in ends), *names])
    for path in names:
        web.page(f"{HOST}{path}", text=f"{LONG}{path}" * 3, links=[f"/post/{n}" for n in topics])
    for n in topics:
        others = [f"/post/{n}", f"/topic/{n}-goal?page=1", f"/topic/{n}"]
        for path in (f"/topic/{n}-goal", *others[1:]):
            web.page(f"{HOST}{path}", text=f"{LONG}，第 {n} 题" * 3, links=others)
        web.redirect(f"{HOST}/post/{n}", f"/topic/{n}-goal?page=1")
        web.page(f"{HOST}/topic/{n}?page=2", text=f"{LONG}，第 {n} 题，第二页" * 3)
    run = await crawl(web, [f"{HOST}/"], strategy="bfs")
    assert sum(url.endswith("-goal") for url in run.pages) == 40
    assert sum(url.endswith("page=2") for url in run.pages) == 40
    assert len(run.events) < 121


async def test_profiles_about_the_topic_are_results_and_read() -> None:
    web, profiles = TinyWeb(), [f"/profiles/player-{n}" for n in range(40)]
    web.page(f"{HOST}/", links=profiles)
    for n, path in enumerate(profiles):
        text = "。".join(f"足球{chr(0x4E00 + 20 * n + k) * 20}" for k in range(20))
        web.page(f"{HOST}{path}", text=text, title=f"{n} 足球", keywords=f"足球，{n}")
    run = await crawl(web, [f"{HOST}/"])
    assert len(run.pages) == 41


@pytest.mark.parametrize("strategy", ["yield", "bfs", "best-first"])
async def test_parameter_that_changes_no_page_is_removed_after_three(strategy: str) -> None:
    run = await crawl(forum(40, 6, "?post="), [f"{HOST}/"], strategy=strategy)
    posts = [url for url in run.pages if "?" in url]
    assert len(run.pages) == 41 + len(posts) and 3 <= len(posts) <= 10


@pytest.mark.parametrize("first", ["?page=1", "/page/1"])
async def test_page_whose_rewritten_and_plain_links_are_both_new_is_requested_once(
    first: str,
) -> None:
    web = TinyWeb()
    for n in range(20):
        links = [f"/t/{k}{end}" for k in (n, n + 1) for end in (first, "")]
        for path in links[:2]:
            text = f"{LONG}，第 {n} 题" * 3
            web.page(f"{HOST}{path}", text=text, links=links, title=f"{n} 足球")
    run = await crawl(web, [f"{HOST}/t/0"], strategy="yield")
    assert len({page.removesuffix(first) for page in run.pages}) == 20
    assert len(run.web.urls()) == len(set(run.web.urls())) < 40


async def test_parameter_that_changes_only_the_links_of_lists_stays() -> None:
    """A code browser shows the same names with and without `at`, and other links behind them."""
    web = TinyWeb()
    web.page(f"{HOST}/", links=[f"/dir/{n}{query}" for query in ("", "?at=tip") for n in range(8)])
    for n in range(8):
        files = [f"/file/{n}-{k}" for k in range(5)]
        web.page(f"{HOST}/dir/{n}", text=f"{LONG}{n}" * 3, head=LIST)
        web.page(f"{HOST}/dir/{n}?at=tip", text=f"{LONG}{n}" * 3, links=files, head=LIST)
        for path in files:
            web.page(f"{HOST}{path}", text=f"{LONG}，文件 {path}" * 3)
    run = await crawl(web, [f"{HOST}/"], strategy="bfs")
    assert sum("/file/" in url for url in run.web.urls()) == 40


async def test_permalinks_of_pages_found_without_their_plain_url_are_dropped() -> None:
    web = forum(40, 6, "?post=")
    web.page(f"{HOST}/", links=[f"/topic/{n}/?post={6 * n}" for n in range(40)])
    run = await crawl(web, [f"{HOST}/"], strategy="dfs")
    assert len(run.pages) <= 41 + DROP_AFTER + 4


async def test_parameter_that_changes_some_pages_stays() -> None:
    web = forum(12, 3, "?post=")
    web.page(f"{HOST}/topic/0/?post=1", text=f"{LONG}另一页" * 3)
    for n in range(40):
        web.page(f"{HOST}/list/?post={n}", text=f"{LONG}{n}号" * 3)
    web.page(f"{HOST}/list/", text=LONG, links=[f"/list/?post={n}" for n in range(40)])
    web.page(f"{HOST}/", links=["/topic/0/", "/topic/0/?post=1", "/list/"])
    run = await crawl(web, [f"{HOST}/"])
    assert sum("/list/?post" in url for url in run.pages) == 40


@cases(
    "url, target, names",
    ("http://a.test/x", "http://a.test/x/", (">slash",)),
    ("http://a.test/x/", "https://www.a.test/x", (">https", ">www", ">no-slash")),
    ("http://a.test/x/index.html", "http://a.test/x/", (">no-index",)),
    ("http://a.test/x", "http://a.test/y", ()),
)
def test_spelling_changes_of_redirects(url: str, target: str, names: tuple[str, ...]) -> None:
    assert spelling_changes(url, target) == names


@pytest.mark.parametrize("name", sorted(SPELLINGS))
@pytest.mark.parametrize("query", ["u=http://b.test/", "u=http://www.b.test/", "u=/index.html"])
def test_spelling_leaves_query_as_it_is(name: str, query: str) -> None:
    for address in ("http://a.test/x", "https://www.a.test/x/"):
        assert SPELLINGS[name](f"{address}?{query}").partition("?")[2] == query


@cases(
    "url",
    "/posts/?sort=c{n}&up={n}", "/posts/2024/05/{n}/", "/reply/{n}/", "/answer/{n}/",
    "/form/{n}/", "/calendar/form?day={n}", "/t/x{n}/y{n}/rss/",
)  # fmt: skip
async def test_urls_that_lead_to_no_unknown_page_are_dropped(url: str) -> None:
    urls, posts = ([url.format(n=n) for n in range(1, 32)], [f"/post/{n}.html" for n in range(40)])
    web = TinyWeb()
    web.page(f"{HOST}/", links=["/posts/"])
    web.page(f"{HOST}/posts/", links=[*urls, *posts], text=LONG)
    for n, way in enumerate(urls):
        if "form" in url:
            text = f"没有第 {n} 天的记录" if "day" in url else "请先登录"
            web.page(f"{HOST}{way}", text=text, title=f"第 {n} 天", links=["/posts/"])
        elif "reply" in url:
            web.redirect(f"{HOST}{way}", f"/login/?next={way}")
        elif "answer" in url:
            web.redirect(f"{HOST}{way}", f"/enter/?from={way}")
            web.page(f"{HOST}/enter/?from={way}", text=LONG)
        elif "rss" in url:
            web.status(f"{HOST}{way}", 410)
        else:
            more = [f"{way}&down=1"] if "?" in url else []
            text = f"{LONG}{n}" * 9
            web.page(f"{HOST}{way}", links=[*posts, *more], text=text, head=LIST)
    for post in posts:
        web.page(f"{HOST}{post}", text=f"{LONG}{post}")
    run = await crawl(web, [f"{HOST}/"])
    assert sum("/post/" in url for url in run.pages) == 40
    assert 4 <= len(run.events) - 43 <= 28


async def test_spelling_that_a_host_redirects_is_replaced_after_three() -> None:
    web = TinyWeb()
    web.page(f"{HOST}/", links=[f"/topic/{n}" for n in range(40)])
    for n in range(40):
        web.redirect(f"{HOST}/topic/{n}", f"/topic/{n}/")
        web.page(f"{HOST}/topic/{n}/", text=f"{LONG}{n}号", links=[f"/more/{n}"])
        web.redirect(f"{HOST}/more/{n}", f"/more/{n}/")
        web.page(f"{HOST}/more/{n}/", text=f"{LONG}{n}号更多")
    run = await crawl(web, [f"{HOST}/"], strategy="dfs")
    assert len(run.pages) == 81
    assert run.crawl.unit_of_work.drops["redirected"] < 60


def canonical(url: str) -> str:
    return f'<link rel="canonical" href="{HOST}{url}">'


async def test_canonical_url_of_a_variant_is_not_requested() -> None:
    web = TinyWeb()
    web.page(f"{HOST}/", links=[f"/a/{n}.html?from=home" for n in range(9)])
    for n in range(9):
        page = {"head": canonical(f"/a/{n}.html"), "links": [f"/a/{k}.html" for k in range(9)]}
        web.page(f"{HOST}/a/{n}.html?from=home", text=f"{LONG}{n}号", **page)
    run = await crawl(web, [f"{HOST}/"])
    assert len(run.pages) == 10 and len(run.web.urls()) == 10
    assert run.crawl.unit_of_work.drops == {"page-variant": 9}


@pytest.mark.parametrize("named", ["/", "/view"])
async def test_canonical_url_that_all_pages_name_is_not_believed(named: str) -> None:
    web = TinyWeb()
    web.page(f"{HOST}/", links=[*(f"/view?id={n}" for n in range(20)), "/view"])
    web.page(f"{HOST}/view", text=f"{LONG}总览", head=canonical(named))
    for n in range(20):
        web.page(f"{HOST}/view?id={n}", text=f"{LONG}{n}号", head=canonical(named))
    run = await crawl(web, [f"{HOST}/"])
    assert len(run.pages) == 22


async def test_section_that_begins_with_dead_links_is_read() -> None:
    """The first dozens of posts are gone: deferred, then read to the end."""
    web = TinyWeb()
    web.page(f"{HOST}/", links=[f"/post/{n}" for n in range(200)])
    for n in range(60, 200):
        web.page(f"{HOST}/post/{n}", text=f"{LONG}{chr(0x4E00 + n)}" * 3)
    run = await crawl(web, [f"{HOST}/"])
    assert sum("/post/" in url for url in run.pages) == 140
    assert not run.crawl.unit_of_work.drops


async def test_noindex_lists_that_lead_to_new_pages_are_followed() -> None:
    web = TinyWeb()
    web.page(f"{HOST}/", links=["/tag/t/page/1"])
    for n in range(1, 60):
        links = [f"/tag/t/page/{n + 1}", *(f"/art/{10 * n + k}.html" for k in range(10))]
        web.page(f"{HOST}/tag/t/page/{n}", links=links, head=NOINDEX)
        for k in range(10):
            text = f"{LONG}{chr(0x4E00 + 10 * n + k)}" * 3
            web.page(f"{HOST}/art/{10 * n + k}.html", text=text)
    run = await crawl(web, [f"{HOST}/"])
    assert sum("/art/" in url for url in run.pages) == 590


@pytest.mark.parametrize("kind", ["noindex", "missing", "redirect"])
async def test_max_pages_limits_requests_for_pages_of_any_kind(kind: str) -> None:
    web = TinyWeb()
    web.page(f"{HOST}/", links=[f"/{n}{letter}" for letter in "abcdefgh" for n in range(20)])
    for n in range(20):
        for letter in "abcdefgh":
            path = f"{HOST}/{n}{letter}"
            if kind == "noindex":
                web.page(path, head=NOINDEX)
            elif kind == "redirect":
                web.redirect(path, f"/{letter}{n}")
                web.page(f"{HOST}/{letter}{n}")
    run = await crawl(web, [f"{HOST}/"], max_pages=20)
    assert run.reason == "max-pages reached"
    assert 20 <= len(run.web.urls()) <= 26


async def test_resumed_crawl_keeps_what_it_learned(tmp_path: Path) -> None:
    (tmp_path / "calm").mkdir()
    calm = Lives(forum(30, 4, "post/"), tmp_path / "calm", f"{HOST}/")
    broken = Lives(forum(30, 4, "post/"), tmp_path, f"{HOST}/")
    await calm.live()
    for requests in (20, 50):
        await broken.live(requests=requests)
    await broken.live()
    rules = [stored_rules(folder) for folder in (tmp_path / "calm", tmp_path)]
    assert rules[0] == rules[1] and "/topic/N/post/N" in rules[0]
    assert len(calm.world.web.log) == len(broken.world.web.log)


async def test_resumed_crawl_does_not_believe_a_canonical_url_of_two_pages(tmp_path: Path) -> None:
    web = TinyWeb()
    web.page(f"{HOST}/", links=[*(f"/view?id={n}" for n in range(9)), "/view"])
    web.page(f"{HOST}/view", text=f"{LONG}总览")
    for n in range(9):
        web.page(f"{HOST}/view?id={n}", text=f"{LONG}{n}号", head=canonical("/view"))
    life = Lives(web, tmp_path, f"{HOST}/")
    await life.live(requests=3)
    with closing(sqlite3.connect(tmp_path / "x.db")) as db:
        sql = "SELECT count(*), count(DISTINCT url) FROM url WHERE state = 2"
        assert "fetched as" in db.execute("SELECT max(detail) FROM url").fetchone()[0]
        await life.live()
        assert db.execute(sql).fetchone() == (11, 11)


def stored_rules(folder: Path) -> dict[str, bytes]:
    with closing(sqlite3.connect(folder / "x.db")) as db:
        return dict(db.execute("SELECT kind, record FROM url_rule").fetchall())
