"""The speed measurements measure what they say: the site, its server, and the tables."""

import ast
import gzip
import http.client
import importlib
import re
import sys
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest

from bench import figures, judge_section, judges, quality, scaling, tag_topics
from bench.resources import run
from bench.script import read_options, table
from bench.serving import Files, serving
from bench.site import Site, build, host_name, is_gbk, is_gzip

ROOT = Path(__file__).parents[1]
PAGES, HOSTS = 40, 10
_HREF = re.compile(r'href="([^"]+)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return build(tmp_path_factory.mktemp("site"), pages=PAGES, hosts=HOSTS)


def body(site: Site, page: int) -> str:
    """The text of a page as it lies on disk."""
    host = page % HOSTS
    name = "index.html" if page == host else f"p/{page}.html"
    file = site.folder / "www" / host_name(host) / name
    data = gzip.decompress(Path(f"{file}.gz").read_bytes()) if is_gzip(host) else file.read_bytes()
    return data.decode("gb18030" if is_gbk(host) else "utf-8")


@pytest.mark.parametrize(
    "script", sorted((ROOT / "bench").rglob("*.py")), ids=lambda path: path.stem
)
def test_a_script_finds_what_it_imports_of_focus(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("focus"):
            module = importlib.import_module(str(node.module))
            for each in node.names:
                if not hasattr(module, each.name):
                    importlib.import_module(f"{node.module}.{each.name}")


def test_the_same_seed_makes_the_same_site(site: Site, tmp_path: Path) -> None:
    again = build(tmp_path, pages=PAGES, hosts=HOSTS)
    assert [body(site, n) for n in range(PAGES)] == [body(again, n) for n in range(PAGES)]
    assert [body(build(tmp_path, pages=PAGES, hosts=HOSTS, seed=2), 3)] != [body(site, 3)]


def test_pages_are_as_large_and_linked_as_they_should_be(site: Site) -> None:
    assert 26_000 < site.bytes_mean < 38_000
    assert 90 < site.links_mean < 105


def test_every_link_leads_to_a_page_or_is_forbidden(site: Site) -> None:
    files = Files(site.folder)
    for page in range(0, PAGES, 7):
        base = f"http://{host_name(page % HOSTS)}/p/{page}.html"
        for href in _HREF.findall(body(site, page)):
            url = urlsplit(urljoin(base, href))
            if url.scheme != "http" or url.path.startswith(("/private/", "/static/")):
                continue
            head = f"GET {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\n\r\n".encode()
            assert files.answer(head).startswith(b"HTTP/1.1 200"), url


@pytest.mark.parametrize("own", [True, False], ids=["own", "nginx if there"])
def test_servers_speak_for_every_host(site: Site, own: bool) -> None:
    with serving(site, own=own) as web:
        for page in (13, 14):
            connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=600)
            headers = {"Host": host_name(page % HOSTS), "Accept-Encoding": "gzip"}
            connection.request("GET", f"/p/{page}.html", headers=headers)
            answer = connection.getresponse()
            data = answer.read()
            connection.close()
            assert answer.status == 200
            assert answer.getheader("Content-Type") == "text/html"
            packed = answer.getheader("Content-Encoding") == "gzip"
            assert packed == is_gzip(page % HOSTS)
            text = gzip.decompress(data) if packed else data
            assert text.decode("gb18030" if is_gbk(page % HOSTS) else "utf-8") == body(site, page)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_cpu_of_a_program_and_its_child_are_told_apart() -> None:
    burn = "import time\nwhile time.process_time() < {}: pass\n"
    child = f"import subprocess, sys\n{burn.format(0.2)}"
    child += f"subprocess.run([sys.executable, '-c', {burn.format(0.5)!r}])"
    usage = run([sys.executable, "-c", child])
    assert usage.code == 0
    assert usage.children_s >= 0.45, "it ends after half a second of its own clock"
    assert 0.15 <= usage.own_s < usage.children_s
    assert usage.own_mib > 3


ROW = {"laps": 1, "trouble": "", "peak_mib": 200.0, "disk_kib": 12.0, "pages": 2000}
TOLD = {
    "machine": {
        "date": "2026-11-21 08:00 UTC",
        "cores": 2,
        "processor": "X",
        "memory_gib": 8.0,
        "system": "Linux",
        "python": "3.11",
        "load": [0.1],
    },
    "race": {
        "site": {
            "pages": 20_000,
            "hosts": 200,
            "bytes_mean": 32_000,
            "links_mean": 97.0,
            "served_by": "nginx",
        },
        "rounds": 3,
        "concurrency": 64,
        "rows": [
            ROW
            | {"name": "focus", "pages_s": 500.0, "cpu_ms": 3.0, "main_ms": 1.5, "workers_ms": 1.5},
            ROW
            | {"name": "Scrapy, lean spider", "pages_s": 40.0, "cpu_ms": 24.0}
            | {"main_ms": 24.0, "workers_ms": 0.0},
            ROW | {"name": "Crawlee, BeautifulSoup", "trouble": "not installed"},
            ROW
            | {"name": "focus, whole site", "pages_s": 520.0, "cpu_ms": 2.5}
            | {"main_ms": 1.25, "workers_ms": 1.25},
            ROW
            | {"name": "Scrapy, lean spider, whole site", "pages_s": 52.0, "cpu_ms": 15.0}
            | {"main_ms": 15.0, "workers_ms": 0.0},
        ],
    },
    "growth": {
        "crawl": {
            "urls": 5_000_000,
            "waiting": 4_900_000,
            "rss_mib": 500.0,
            "disk_bytes_per_url": 190.0,
            "longest_pause_ms": 50.0,
            "longest_pause_cpu_ms": 40.0,
            "costs": [
                {"known": 10_000, "cpu_ms": 1.0, "loop_ms": 0.5, "rss_mib": 80.0},
                {"known": 1_000_000, "cpu_ms": 1.1, "loop_ms": 0.5, "rss_mib": 250.0},
                {"known": 5_000_000, "cpu_ms": 2.0, "loop_ms": 0.6, "rss_mib": 500.0},
            ],
        },
        "reopened": {"first_request_s": 7.0, "peak_mib": 450.0},
        "frontier": {"push_us": 5.0, "pop_us": 12.0, "peak_mib": 350.0},
    },
}


def test_targets_say_what_is_met() -> None:
    met = {what: met for what, _, _, met in figures.targets(TOLD)}
    assert met["CPU per page, ms"]
    assert met["CPU per page of the main process, ms"]
    assert not met["CPU of Scrapy, lean spider, whole site, × focus"]  # 6, and 7 is the target
    assert met["pages/s, focus × Scrapy, lean spider, whole site"]
    assert met["pages/s, focus × Scrapy, lean spider"]
    assert not met["5.0 M URLs: RSS of the whole crawl, MiB"]
    assert met["cost per page at 1,000,000 URLs, × that at 10,000"]  # not that at 5 million


def test_growth_is_the_median_of_its_rounds() -> None:
    def costs(ratio: float) -> list[dict[str, float]]:
        told = ((10_000, 1.0), (1_000_000, ratio))
        return [{"known": known, "cpu_ms": cpu, "loop_ms": 0.5} for known, cpu in told]

    growth = {**TOLD["growth"], "again": [costs(1.2), costs(1.3)]}
    told = {what: got for what, _, got, _ in figures.targets({**TOLD, "growth": growth})}
    assert told["cost per page at 1,000,000 URLs, × that at 10,000"] == "1.2"
    assert "| 1,000,000 | 1.20, 1.30, 1.10 |" in figures.growth_text(growth)


def test_a_crawler_that_is_missing_stays_in_the_table() -> None:
    text = figures.markdown(TOLD)
    assert "| Crawlee, BeautifulSoup | not measured: not installed |" in text
    assert (
        "| Scrapy, lean spider, whole site | 2,000 | 52 | 15.00 | 15.00 | 0.00 | 200 | 12.0 | 6.0 |"
        in text
    )
    assert "2026-11-21 08:00 UTC; 2 cores of X" in text


def test_what_limits_a_machine_follows_from_the_costs() -> None:
    cost = scaling.costs(TOLD)
    assert scaling.ceilings(cost, 2) == {
        "main process": 800.0,
        "workers": 800.0,
        "all cores": pytest.approx(800.0),
    }
    rows = {row[0]: row for row in scaling.machine_rows(cost)}
    assert rows["32"][1:4] == ["800", "main process", "1"]
    assert "| 32 | 800 | main process |" in scaling.text(TOLD)


# -- what the scripts share ---------------------------------------------------------

USAGE = """Measures something.

    python -m bench.it FOLDER [ALIASES] [PARTS …] [--pages 20] [--share 0.5] [--mode run]
        [--only this|that] [--topic NAME]… [--at N …] [--gz] --amqp URL [--json FILE]
        [-- options of the crawl]

Text [--not an option].
"""


def test_options_are_those_of_the_docstring() -> None:
    typed = "x a p q --amqp u --topic a --topic b --at 1 2 --only that --gz --port 7".split()
    found = vars(read_options(USAGE, typed, port=int))
    assert found == {
        "folder": Path("x"), "aliases": Path("a"), "parts": ["p", "q"], "pages": 20, "share": 0.5,
        "mode": "run", "only": "that", "topic": ["a", "b"], "at": [1, 2], "gz": True, "amqp": "u",
        "json": None, "options": [], "port": 7,
    }  # fmt: skip
    assert read_options(USAGE, ["x", "--amqp=u", "--", "y", "--z"]).options == ["y", "--z"]


def test_an_option_without_which_nothing_goes_is_asked_for() -> None:
    with pytest.raises(SystemExit):
        read_options(USAGE, ["x"])


def test_a_table_is_markdown() -> None:
    assert table(["a", "b"], [["x", 0.12345], ["y", 7]]) == (
        "| a | b |\n| --- | ---: |\n| x | 0.123 |\n| y | 7 |\n"
    )


def test_the_calibration_error_of_a_worked_case() -> None:
    said = [(True, 0.9), (True, 0.9), (False, 0.9), (False, 0.1), (True, 0.0)]
    bins = judges.reliability([judges.Scored(label, p, 1.0) for label, p in said])
    assert [(each.weight, round(each.true, 2)) for each in bins] == [(1.0, 0.0), (3.0, 0.67)]
    assert judges.calibration_error(bins) == pytest.approx(0.2)
    assert judges.calibration_error([]) == 0.0


def test_a_page_partly_on_topic_counts_half_and_for_those_it_stands_for() -> None:
    """Over .5: weights 1·1 and 3·½ of 4; on topic in all 1 + 1.5 + 2·1."""
    said = [(1.0, 0.9, 1.0), (0.5, 0.8, 3.0), (1.0, 0.2, 2.0), (0.0, 0.1, 5.0)]
    found = judges.rates([judges.Scored(*each) for each in said], 0.5)
    assert found.precision == pytest.approx(2.5 / 4)
    assert found.recall == pytest.approx(2.5 / 4.5)


def test_pages_off_topic_that_are_drawn_stand_for_all_of_them() -> None:
    drawn = judges.drawn({"a": True, "b": False, "c": False, "d": False, "e": False}, 2)
    assert drawn.pop("a") == judges.Wanted(1.0, 1.0)
    assert list(drawn.values()) == [judges.Wanted(0.0, 2.0)] * 2


def test_the_curve_leaves_out_tenths_of_few_pages_and_knows_their_edges() -> None:
    bins = [
        judges.Bin(30.0, 0.8, 0.8, 30)._asdict(),
        judges.Bin(90.0, 0.83, 0.5, 10)._asdict(),
        judges.Bin(90.0, 0.95, 1.0, 9)._asdict(),
    ]
    rates = {"topics": ["a"], "judged": 49, "precision": 1, "recall": 1, "f1": 1, "error": 0}
    text = judge_section.judge_section(
        {"w": {"evidence": {**rates, "bins": bins}}}, judge_section.ENGLISH
    )
    assert text.endswith("| w |  |  |  |  |  |  |  | 0.80 | 0.50 |  |\n")


def test_words_are_told_one_by_one() -> None:
    rates = {"topics": {"AI": [0.5, 1]}, "judged": 4, "precision": 0.5, "recall": 1, "f1": 1}
    text = judge_section.judge_section(
        {"web, words": {"evidence": {**rates, "error": 0, "bins": []}}}, judge_section.ENGLISH
    )
    assert text.endswith("\n- web, words: AI 0.50 / 1.00\n")


def test_a_tag_is_a_topic_and_what_is_near_it_has_no_label() -> None:
    tags = {"a": {"movies"}, "b": {"movie awards"}, "c": {"film"}, "d": {"cars", "go"}}
    assert dict(tag_topics.labelled(tags, "movie", {"film"})) == {"a": 1, "d": 0}
    assert dict(tag_topics.labelled({"a": {"电影"}, "b": {"电影节"}}, "電影", set())) == {"a": 1}


def test_tags_are_read_off_the_labels(tmp_path: Path) -> None:
    file = tmp_path / "labels.tsv"
    file.write_text("url\ttopic\tlabel\tevidence\nu\tx\t0\ttags:AI|go\nv\tx\t1\tlisting\n", "utf-8")
    assert tag_topics.tags_of(file) == {"u": {"ai", "go"}}


def test_a_table_of_further_strategies_stays_and_newer_shares_count() -> None:
    def measured(tree: str, **shares: float) -> dict[str, object]:
        rows = [{"strategy": n, "oracle_share": {"value": v}} for n, v in shares.items()]
        settings = {"concurrency": 1, "eager": False, "budget": "3x"}
        return {"web": "dev", "settings": settings, "unrecorded": "ask", "tree": tree, "rows": rows}

    old, new = measured("a", bfs=0.25, dfs=0.125), measured("b", bfs=0.5)
    assert not quality._replaces(new, old)
    assert quality._replaces(old, new)
    assert "| bfs | 0.500 |\n| dfs | 0.125 |\n" in quality.over_webs([old, new], quality.ENGLISH)
