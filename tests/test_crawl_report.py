"""The report of one crawl: its figures, its page, and what goes wrong."""

import re
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from focus.commands.status import status_lines
from focus.errors import ConfigError, FocusError, StoreError
from focus.records import (
    SEED_PRIORITY,
    Batch,
    HostRow,
    Outcome,
    Page,
    PageRow,
    QueueRow,
    UrlRow,
    UrlState,
)
from focus.report.bars import Bar, bar_chart
from focus.report.charts import round_ticks
from focus.report.crawl import crawl_html
from focus.report.page import MAX_VISIBLE_ROWS, REPORT_TEMPLATES, PageLink
from focus.storage import best_pages, distributions
from focus.storage.figures import CrawlFigures
from focus.storage.reader import DatabaseReader
from focus.storage.report_reader import load_figures
from focus.storage.term_uses import TermUses
from tests.support import stored
from tests.support.cases import cases
from tests.test_report import Elements

EVIL = "</td><script>alert(1)</script><img src=x onerror=a()>\u202e"
GONE = 20  # URLs of the crawl; 0 to 11 are pages but for 4, a redirect, and 7, a failure
# A chain of parents: 0 (seed) → 1 → 2 → 3 → 5 …; 4 is a redirect between 3 and 5.
PARENTS = (None, 0, 1, 2, 3, 4, 5, 0, 0, 0, 1, 1)
RELEVANT = {0, 1, 5, 8, 9, 10}
NOT_PAGES = {4, 7}


def url_row(number: int) -> UrlRow:
    parent = PARENTS[number] if number < len(PARENTS) else 0
    dropped = {"state": UrlState.DROPPED, "reason": "robots"} if number == 12 else {}
    return stored.url_row(
        number, url=f"https://{'ab'[number % 2]}.example/%E8%B6%B3/{number}?q=<b>",
        queue_id=number % 2, depth=0 if parent is None else min(number, 4), parent_id=parent,
        **dropped,
    )  # fmt: skip


def page_row(number: int, nth: int) -> PageRow:
    relevance = 0.9 if number in RELEVANT else 0.1
    return stored.page_row(
        number,
        url=f"https://{'ab'[number % 2]}.example/{number}",
        request_number=nth,
        waiting_count=5,
        fetched_at=1000.0 + 2.0 * nth,
        elapsed_s=0.5,
        raw_bytes=100,
        priority=SEED_PRIORITY if number == 0 else relevance,
        pagerank=1.0 / (number + 1),
        page=Page(title=f"足球 {number} {EVIL}", relevance=relevance, is_relevant=relevance > 0.5),
        target_ids=(*(child for child in range(12) if PARENTS[child] == number), 0, 19),
    )


def batch() -> Batch:
    pages = [number for number in range(12) if number not in NOT_PAGES]
    return Batch(
        queues=[QueueRow(0, 0, "/N", 6, 4.5), QueueRow(1, 1, "/S/N", 6, 1.5)],
        hosts=[
            HostRow(0, "a.example"),
            HostRow(1, EVIL + ".example", is_abandoned=True),
        ],
        urls=[url_row(number) for number in range(GONE)],
        pages=[page_row(number, 2 * at + 2) for at, number in enumerate(pages)],
        outcomes=[
            *(Outcome(id=number, state=UrlState.DONE) for number in pages),
            Outcome(id=4, state=UrlState.DROPPED, reason="redirected"),
            Outcome(id=7, state=UrlState.FAILED, reason="http-4xx", detail=f"404 {EVIL}"),
        ],
        counters={"requests": 24.0, "robots": 2.0, "pages": 10.0, "active_s": 120.0, "bytes": 1e6},
        now=1100.0,
    )


def make(path: Path, *batches: Batch, topic: str = "足球 <b>", config: str = "{}") -> int:
    seed = "http://a.example/<i>"
    return stored.store_crawl(
        path, *batches, topic=topic, seed=seed, strategy="yield", config=config, now=1000.0
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    result = tmp_path / "focus.db"
    config: dict[str, Any] = {
        "seeds": ["http://a.example/<i>"],
        "strategy": "yield",
        "fetch": {"proxy": "http://me:secret@proxy.example"},
        "limits": {"max_pages": 10},
        "analysis": {
            "topic": {
                "name": "足球",
                "keywords": [{"text": "足球"}, {"text": "英超", "weight": 0.5}],
            }
        },
    }
    make(result, batch(), config=msgspec.json.encode(config).decode())
    return result


@pytest.fixture
def figures(path: Path) -> CrawlFigures:
    with DatabaseReader(path) as reader:
        return load_figures(reader, 1)


# -- figures ------------------------------------------------------------------------


def test_course_buckets_count_all_requests(figures: CrawlFigures) -> None:
    assert figures.requests == 24
    assert [item.end for item in figures.course] == list(range(1, 25))
    assert sum(item.pages for item in figures.course) == figures.crawl.pages == 10
    assert sum(item.relevant for item in figures.course) == figures.crawl.relevant == 6
    assert (figures.course[0].pages, figures.course[1].pages) == (0, 1)


def test_relevance_histogram_counts_all_pages(figures: CrawlFigures) -> None:
    assert (sum(figures.relevance.pages), sum(figures.relevance.relevant)) == (10, 6)
    assert (figures.relevance.low, figures.relevance.high) == (0.0, 1.0)


def test_depths_count_pages_per_link_depth(figures: CrawlFigures) -> None:
    assert {depth.steps: depth.pages for depth in figures.depths} == {0: 1, 1: 1, 2: 1, 3: 1, 4: 6}


def test_host_yields_equal_status_and_yield_has_patterns(path: Path, tmp_path: Path) -> None:
    make(tmp_path / "bfs.db", batch(), config='{"strategy": "bfs"}')
    patterns = {}
    for name in ("focus", "bfs"):
        with DatabaseReader(tmp_path / f"{name}.db") as reader:
            figures = load_figures(reader, 1)
        first = figures.hosts[0]
        assert (first.host, first.fetched, first.yielded) == ("a.example", 6, 4.5)
        patterns[name] = [(row.host, row.pattern) for row in figures.patterns]
        assert ("URL patterns</h3>" in crawl_html(figures)) is bool(patterns[name])
    assert (patterns["focus"][0], patterns["bfs"]) == (("a.example", "/N"), [])


def test_failures_are_grouped_by_kind_with_example(figures: CrawlFigures) -> None:
    (failing,) = figures.failures
    assert (failing.reason, failing.urls, failing.hosts) == ("http-4xx", 1, 1)
    assert failing.example.endswith("/7?q=<b>")
    assert {drop.reason: drop.urls for drop in figures.drops} == {"redirected": 1, "robots": 1}


def test_best_pages_are_relevant_and_sorted_by_quality(figures: CrawlFigures, path: Path) -> None:
    qualities = [item.quality for item in figures.best]
    assert (len(qualities), qualities) == (6, sorted(qualities, reverse=True))
    # R = max R, relevance 0.9 of at most 1: ½ + ½·0.9
    assert qualities[0] == pytest.approx(0.95)


def test_hubs_count_requests_to_their_links(figures: CrawlFigures) -> None:
    hub = figures.hubs[0]
    assert (hub.url, hub.followed, hub.relevant) == (figures.best[0].url, 4, 3)
    assert sum(item.relevant for item in figures.hubs) == 5


def test_labels_are_compared_with_the_model(path: Path) -> None:
    db = sqlite3.connect(path)
    with db:
        for number, relevant in ((0, 1), (1, 0), (2, 1)):
            url = f"https://{'ab'[number % 2]}.example/{number}"
            db.execute("INSERT INTO label VALUES ('足球 <b>', ?, 0, ?, 0)", (url, relevant))
        db.execute("INSERT INTO label VALUES ('other', 'https://a.example/0', 0, 1, 0)")
    db.close()
    with DatabaseReader(path) as reader:
        figures = load_figures(reader, 1)
    judged = figures.judged
    assert (judged.labelled, judged.relevant, judged.relevant_by_model, judged.both) == (3, 2, 2, 1)
    assert "Self-judged" not in crawl_html(figures)


def test_tables_and_charts_of_large_crawl_are_bounded(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(best_pages, "MAX_BEST_PAGES", 3)
    monkeypatch.setattr(distributions, "BUCKETS", 7)
    monkeypatch.setattr(distributions, "MAX_LEVELS", 3)
    make(tmp_path / "f.db", batch())
    with DatabaseReader(tmp_path / "f.db") as reader:
        figures = load_figures(reader, 1)
    assert (len(figures.best), len(figures.course)) == (3, 7)
    assert figures.course[-1].end == 24
    assert sum(depth.pages for depth in figures.course) == 10
    assert [depth.steps for depth in figures.depths] == [0, 1, 2]
    assert figures.depths[-1].pages == 8
    assert crawl_html(figures)


def test_settings_contain_no_password(figures: CrawlFigures) -> None:
    assert b"secret" not in msgspec.json.encode(figures)
    assert figures.settings.limits == {"max_pages": 10}
    assert figures.settings.keywords == ["足球", "英超:0.5"]


# -- the page -----------------------------------------------------------------------


def test_terms_decide_relevant_pages_without_given_keyword(tmp_path: Path) -> None:
    """Other names count as terms; the first page has the word 足球, the last is irrelevant."""
    topic = {
        "name": "足球",
        "keywords": [{"text": "足球"}, {"text": "soccer"}],
        "terms": {"越位": 0.3},
        "sources": {"soccer": "library", "越位": "library"},
    }
    words = [["足球", "越位"], ["越位", "soccer"], ["越位"], ["越位"]]
    pages = [
        stored.page_row(n, page=Page(matched_terms={"text": terms}, is_relevant=n < 3))
        for n, terms in enumerate(words)
    ]
    config = msgspec.json.encode({"analysis": {"topic": topic}}).decode()
    urls = [url_row(n) for n in range(4)]
    make(tmp_path / "t.db", Batch(urls=urls, pages=pages), config=config)
    with DatabaseReader(tmp_path / "t.db") as reader:
        status, html = reader.status(1), crawl_html(load_figures(reader, 1))
    assert status.term_uses == TermUses(2, [("越位", 2), ("soccer", 1)])
    assert "Relevant pages without a word of the topic: 2." in html
    assert "2 relevant pages without a word of the topic: 越位 2, soccer 1" in "".join(
        status_lines("t.db", [status.crawl], status)
    )


def test_page_is_complete_loads_nothing_and_escapes_titles(figures: CrawlFigures) -> None:
    text = crawl_html(figures)
    elements = Elements()
    elements.feed(text)
    assert elements.open == []
    assert all(re.match(r"href=https?://[ab]\.example", load) for load in elements.loads)
    assert text.count("<script>") == 1
    assert "alert(1)</script>" not in text and "\u202e" not in text and "<img" not in text
    assert "<b>alert" not in text
    for words in ("足球", "Harvest", "Best hubs", "Failures", "Self-judged"):
        assert words in elements.text


def test_report_of_crawl_without_pages_is_rendered(tmp_path: Path) -> None:
    make(tmp_path / "f.db")
    with DatabaseReader(tmp_path / "f.db") as reader:
        figures = load_figures(reader, 1)
    text = crawl_html(figures)
    assert "no pages yet" in text


def parts() -> Any:
    """The macros of the reports, as templates call them."""
    return REPORT_TEMPLATES.get_template("parts.html").make_module(
        {"lang": "en", "max_visible_rows": MAX_VISIBLE_ROWS}
    )


def test_cells_link_only_http_and_https_urls() -> None:
    cell = parts().cell
    assert "<a " not in cell(PageLink("javascript:alert(1)", "title"))
    assert 'href="https://a.example/?a=1&amp;b=&#34;"' in cell(
        PageLink('https://a.example/?a=1&b="')
    )
    assert "足球" in cell(PageLink("https://a.example/%E8%B6%B3%E7%90%83"))


def test_notes_mark_backticks_as_code_and_escape_html() -> None:
    assert "<code>focus label</code>, &lt;b&gt;" in parts().note("`focus label`, <b>")


def test_content_policy_forbids_unused_sources(figures: CrawlFigures) -> None:
    text = crawl_html(figures)
    assert "default-src &#39;none&#39;" in text
    assert "<title>focus report: 足球 &lt;b&gt;</title>" in text


def test_long_table_scrolls_and_has_a_note() -> None:
    short, long = (
        parts().table("t", ["<i>"], [["<i>"]] * n) for n in (MAX_VISIBLE_ROWS, MAX_VISIBLE_ROWS + 1)
    )
    assert "&lt;i&gt;" in short
    assert 'class="scroll"' in short and "rows" not in short
    assert 'class="scroll tall"' in long and "21 rows: the table scrolls." in long


def test_scrolling_regions_have_tabindex_and_label(figures: CrawlFigures) -> None:
    scrollers = re.findall('<div class="scroll[^>]*>', crawl_html(figures))
    assert len(scrollers) > 5
    for scroller in scrollers:
        assert re.search('tabindex="0" role="region" aria-label="[^"]+"', scroller)


def test_verdict_is_first_paragraph(figures: CrawlFigures) -> None:
    text = crawl_html(figures)
    assert "<main>" in text and "6 of 10 pages are relevant (60%).</p>" in text
    assert text.index('class="verdict"') < text.index('class="tiles"')


def test_verdict_of_long_crawl_contains_recent_harvest(figures: CrawlFigures) -> None:
    long = msgspec.structs.replace(figures, requests=600, harvest_last_500=0.004, harvest_all=0.01)
    verdict = "; 0% of the last 500 requests found a relevant page, 1% of all."
    assert verdict in crawl_html(long)


def test_round_ticks_are_round_numbers_within_range() -> None:
    assert round_ticks(0.0, 1.0, 5) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert round_ticks(0.3, 2.2, 4) == pytest.approx([0.5, 1.0, 1.5, 2.0])
    assert round_ticks(0.0, 2984, 6) == pytest.approx([0, 500, 1000, 1500, 2000, 2500])
    assert round_ticks(2.0, 2.0, 5) == [2.0]


def test_bar_chart_cuts_off_much_higher_bar() -> None:
    text = bar_chart([Bar(1000, 10, "first"), Bar(20, 5, "second")], title="t")
    assert "1,000 ↑" in text
    heights = [float(item) for item in re.findall(r'class="bar" [^>]*height="([\d.]+)"', text)]
    assert heights[1] > heights[0] / 4


# -- the command --------------------------------------------------------------------


def run(*arguments: str) -> Result:
    from focus.cli import cli

    return CliRunner().invoke(cli, ["report", *arguments])


def test_report_command_writes_html_file(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    result = run("--db", str(path), "-o", str(out))
    assert result.exit_code == 0, result.output
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [item.name for item in tmp_path.iterdir() if item.name.endswith(".part")] == []


def test_report_command_with_dash_writes_to_stdout(path: Path) -> None:
    assert run("--db", str(path), "-o", "-").stdout.startswith("<!doctype html>")


def test_report_json_has_the_figures_of_the_page(
    path: Path, figures: CrawlFigures, tmp_path: Path
) -> None:
    result = run("--db", str(path), "--json")
    assert run("--db", str(path), "-o", str(tmp_path / "r.JSON")).exit_code == 0
    assert (tmp_path / "r.JSON").read_text("utf-8") == result.stdout
    assert msgspec.json.decode(result.stdout.encode(), type=CrawlFigures) == figures
    assert '"schema": "focus-report/3"' in result.stdout


@cases(
    "arguments, kind, complaint",
    (["--db", "none.db"], StoreError, "there is no database at none.db"),
    (["--db", "text"], StoreError, "text is not a database"),
    (["--db", "other.db"], StoreError, "is the database of another program"),
    (["--db", "focus.db", "--crawl", "7"], ConfigError, "no crawl 7 in focus.db"),
    (["--db", "empty.db"], ConfigError, "has no crawl yet"),
    (["--db", "focus.db", "-o", "no/r.html"], ConfigError, "no/r.html: there is no folder"),
    (["--db", "focus.db", "-o", "r.pdf"], ConfigError, "r.pdf: cannot be written as .pdf"),
)
def test_report_command_wrong_use_prints_one_line(
    path: Path, monkeypatch: Any, arguments: list[str], kind: type[FocusError], complaint: str
) -> None:
    monkeypatch.chdir(path.parent)
    Path("text").write_text("x" * 200)
    with sqlite3.connect("other.db") as db:
        db.execute("CREATE TABLE x (y)")
    db.close()
    make(Path("empty.db"))
    with sqlite3.connect("empty.db") as db:
        db.execute("DELETE FROM crawl")
    db.close()
    error = run(*arguments).exception
    assert isinstance(error, kind)
    assert complaint in str(error)
    assert "\n" not in str(error)
