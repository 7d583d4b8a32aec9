"""Texts that a site repeats: taglines give no relevance, names of sites are cut from titles."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from focus.alerts.page_match import PageView
from focus.config import AnalysisConfig
from focus.engine.templates import LEARNING_PAGES, HostPages, Templates, cut_title, is_affected
from focus.engine.transports import ReplayTransport
from focus.records import NO_TEMPLATE, Batch, Page, SiteTemplate
from focus.storage.alerts.store import open_store
from focus.storage.writer import load_templates, write_batch
from focus.text.site_texts import hash_text, outer_affixes, split_title
from focus.topic.topic import from_words, to_builtins
from focus.workers import InlineScorer
from focus.workers.messages import Job
from tests.support.cases import cases
from tests.support.crawl_runs import CrawlRuns
from tests.support.site import CrawledSite
from tests.support.web import TinyWeb
from tests.test_crawl import World

ANALYSIS = AnalysisConfig(topic=to_builtins(from_words("足球")), relevance="evidence")
TAGLINE = "一个关于足球的博客"


@cases(
    "title, affix, name, parts",
    ("Cup final – City News", " – City News", "", ("Cup final", "City News")),
    ("City News | Cup final", "City News | ", "", ("Cup final", "City News")),
    ("决赛_体育_新浪", "_新浪", "", ("决赛_体育", "新浪")),
    ("决赛-新浪", "", "新浪", ("决赛", "新浪")),
    ("City News: Cup", "", "City News", ("Cup", "City News")),
    ("Cup：City-News", "", "The City News", ("Cup", "City-News")),
    ("City News: A–Z | City News", "", "citynews.com", ("City News: A–Z", "City News")),
    ("Well-known facts", "", "City News", ("Well-known facts", "City News")),
    ("City News", " – City News", "City News", ("City News", "City News")),
    (" – City News", " – City News", "", (" – City News", "")),
    ("Win 2-1 at T-shirt day", "", "", ("Win 2-1 at T-shirt day", "")),
)
def test_split_title(title: str, affix: str, name: str, parts: tuple[str, str]) -> None:
    assert split_title(title, affix, name) == parts


def test_outer_affixes_are_the_last_and_first_part() -> None:
    assert outer_affixes("a – b – c") == [" – c", "a – "]
    assert outer_affixes("2-1 in extra time") == []


def learn(titles: Sequence[str], blocks: Sequence[Sequence[int]]) -> Templates:
    templates = Templates()
    for number, (title, hashes) in enumerate(zip(titles, blocks, strict=True)):
        page = Page(title=title, keyword_blocks=tuple(hashes), relevance=0.9, is_relevant=True)
        templates.learn(0, number, number + 1, f"http://a.test/{number}", page)
    return templates


@cases(
    "titles, blocks, learned, corrected",
    ("abc", [[1, 2], [1, 3], [1]], {1}, [0, 1, 2]),
    ("ab", [[1], [1]], set(), []),  # too few pages
    ("aaaa", [[1], [1], [1], [1]], set(), []),  # variants of one page
    ("abcdefg", [[1], [1], [1], [], [], [], []], {1}, [0, 1, 2]),  # still on a quarter
    ("abcdefg", [[], [], [], [], [1], [1], [1]], set(), []),  # on less than half
    ("abcdefghijklmn", [[1]] * 3 + [[]] * 10 + [[2]], set(), [0, 1, 2] * 2),  # taken back
    ("abcdefghijklmn", [[1]] * 3 + [[n] for n in range(2, 13)], set(), [0, 1, 2] * 2),
)
def test_learn_blocks(
    titles: str, blocks: list[list[int]], learned: set[int], corrected: list[int]
) -> None:
    templates = learn(titles, blocks)
    assert templates.template(0).blocks == learned
    assert [change.id for change in templates.take_corrections()] == corrected
    restored = Templates()
    restored.restore(0, templates.encoded_state(0)[1])
    assert restored.encoded_state(0) == templates.encoded_state(0)


def test_learn_ends_after_some_pages() -> None:
    titles = [str(number) for number in range(LEARNING_PAGES + 9)]
    templates = learn(titles, [[1, 10 + number] for number in range(len(titles))])
    assert templates.template(0) == SiteTemplate(frozenset({1}))
    assert len(templates.encoded_state(0)[1]) < 100


def test_learn_affix_gives_new_titles_to_earlier_pages() -> None:
    affix = " – 足球志"
    templates = learn(["a – 足球志", "b – 足球志", "c – 足球志"], [[]] * 3)
    assert templates.template(0).affix == affix
    expected = [("a", "足球志"), ("b", "足球志"), ("c", "足球志")]
    assert [(new.title, new.site) for new in templates.take_new_titles()] == expected
    page = cut_title(Page(title="d – 足球志"), affix)
    assert (page.title, page.full_title, page.site) == ("d", "d – 足球志", "足球志")
    assert cut_title(page, affix) == page


def test_is_affected_only_by_blocks_of_the_page() -> None:
    page, learned = Page(keyword_blocks=(1, 2)), SiteTemplate(frozenset({2, 3}))
    assert is_affected(page, NO_TEMPLATE, learned)
    assert not is_affected(page, learned, SiteTemplate(frozenset({2}), " – x"))


async def test_score_ignores_the_template_of_the_site() -> None:
    html = (
        f'<title>菜谱 – 美食志</title><meta name=description content="{TAGLINE}">'
        f"<body><p>{TAGLINE}</p><p>{'炒菜。' * 30}</p>".encode()
    )
    scorer = InlineScorer(ANALYSIS)
    plain = await scorer.score(Job("http://a.test/", html, "text/html"))
    affix = " – 美食志"
    assert plain.is_relevant
    assert plain.keyword_blocks == (hash_text(TAGLINE),)
    template = SiteTemplate(frozenset({hash_text(TAGLINE)}), affix)
    page = await scorer.score(Job("http://a.test/", html, "text/html", template=template))
    expected = (0.0, "菜谱", "菜谱 – 美食志", "美食志")
    assert (page.relevance, page.title, page.full_title, page.site) == expected
    assert page.keyword_blocks == plain.keyword_blocks
    assert page.wording_hash == plain.wording_hash and page.text_digest == plain.text_digest


def blog(pages: int = 8) -> TinyWeb:
    web, filler = TinyWeb(), "炒菜要用小火。" * 30
    web.page("http://a.test/", links=[f"/{n}" for n in range(pages)], text=TAGLINE, title="志")
    for n in range(pages):
        on = "足球赛。" * 9 if n % 4 == 0 else ""
        head = f"<meta name=author content={n}>"
        web.page(
            f"http://a.test/{n}", title=f"第{n}篇 – 志", text=f"{filler}{on}", head=head,
            links=[("/", "志")], keywords=TAGLINE,
        )  # fmt: skip
    return web


@pytest.mark.parametrize("stop_after", [None, 4, 6])
async def test_crawl_corrects_relevance_by_tagline(tmp_path: Path, stop_after: int | None) -> None:
    web = blog()
    runs = CrawlRuns(web, tmp_path, "http://a.test/", at=1000.0, analysis=ANALYSIS)
    for requests in (stop_after, None) if stop_after else (None,):
        transport = ReplayTransport(World(web), InlineScorer(ANALYSIS), start=runs.at)
        await runs.run_with(transport, requests=requests)
    with closing(sqlite3.connect(tmp_path / "x.db")) as db:
        rows = db.execute(
            "SELECT final_url, relevant, title, site FROM pages ORDER BY final_url"
        ).fetchall()
        counters = msgspec.json.decode(db.execute("SELECT counters FROM progress").fetchone()[0])
        rewards = db.execute("SELECT sum(yielded) FROM queue").fetchone()[0]
        relevances = db.execute("SELECT sum(relevance) FROM page").fetchone()[0]
        ((_, packed),) = load_templates(db, crawl=1)
    relevant = [url for url, is_relevant, *_ in rows if is_relevant]
    assert relevant == ["http://a.test/0", "http://a.test/4"]
    assert {row[2:] for row in rows[1:]} == {(f"第{n}篇", "志") for n in range(8)}
    assert counters["relevant"] == len(relevant)
    assert rewards == pytest.approx(relevances)
    learned = msgspec.msgpack.decode(packed, type=HostPages).pages.values()
    assert sum(page.relevance for page in learned) == pytest.approx(relevances)


def test_alert_ignores_the_template_of_the_site(tmp_path: Path) -> None:
    with open_store(tmp_path / "focus.db", now=0.0, language="zh", zone="Asia/Shanghai") as store:
        site = CrawledSite(store, now=0.0)
        site.page("/1", "菜谱", "", body=f"<p>{TAGLINE}</p><p>{'炒菜。' * 30}</p>")
        batch = Batch(templates={0: ([hash_text(TAGLINE)], b"")})
        for is_learned in (False, True):
            if is_learned:
                write_batch(store.database.connection, crawl=site.crawl, batch=batch, durable=False)
            (stored,) = store.pages.list_after(site.crawl, 0, limit=9)
            view = PageView(stored, store.pages.load_source(stored.id))
            assert (TAGLINE in view.document.main_text) is not is_learned


@cases("tags, is_relevant", ("", False), ("<p><a href=/w>周末</a> <a href=/s>足球</a>", True))
async def test_score_ignores_links_of_a_sidebar_but_not_tags(tags: str, is_relevant: bool) -> None:
    sidebar = "".join(f"<li><a href=/c/{name}>{name}</a>" for name in ("美食", "足球", "天文"))
    html = f"<title>菜谱</title><body>{tags}<p>{'炒菜。' * 30}<ul>{sidebar}</ul>".encode()
    scorer = InlineScorer(ANALYSIS)
    plain = await scorer.score(Job("http://a.test/", html, "text/html"))
    sidebar_hash = hash_text("美食\n足球\n天文")
    assert plain.is_relevant and sidebar_hash in plain.keyword_blocks
    template = SiteTemplate(frozenset({sidebar_hash}))
    page = await scorer.score(Job("http://a.test/", html, "text/html", template=template))
    assert page.is_relevant is is_relevant
