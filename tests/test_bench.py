"""The generated site of the speed measurements, its server, and the tables of the scripts."""

import ast
import gzip
import http.client
import importlib
import re
from pathlib import Path

import pytest

from bench import quality, race
from bench.script import read_options, table
from bench.serving import serving
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
def test_script_imports_exist_in_focus(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("focus"):
            module = importlib.import_module(str(node.module))
            for name in node.names:
                if not hasattr(module, name.name):
                    importlib.import_module(f"{node.module}.{name.name}")


@pytest.mark.parametrize("own", [True, False], ids=["own", "nginx if there"])
def test_servers_respond_for_all_hosts(site: Site, own: bool) -> None:
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


def test_ratios_compare_a_peer_with_focus_over_the_same_pages() -> None:
    rows = [
        race.Row("focus", 2000, 3, pages_s=300.0, cpu_ms=4.0),
        race.Row("Scrapy, lean spider", 2000, 3, pages_s=50.0, cpu_ms=24.0),
        race.Row("Crawlee, BeautifulSoup", trouble="not installed"),
        race.Row("focus, whole site", 6000, 3, pages_s=400.0, cpu_ms=3.0),
        race.Row("Scrapy, lean spider, whole site", 6000, 3, pages_s=40.0, cpu_ms=24.0),
    ]
    _, _, ours, lean, missing, _, whole = race.comparison(rows).splitlines()
    assert ours.endswith("|  |  |")
    assert lean.endswith("| 6.0 | 6.0 |")
    assert whole.endswith("| 8.0 | 10.0 |")
    assert missing.startswith("| Crawlee, BeautifulSoup | not measured: not installed |")


# -- what the scripts share ---------------------------------------------------------

USAGE = """Measures something.

    python -m bench.it FOLDER [ALIASES] [PARTS …] [--pages 20] [--share 0.5] [--mode run]
        [--only this|that] [--topic NAME]… [--at N …] [--gz] --amqp URL [--json FILE]
        [-- options of the crawl]

Text [--not an option].
"""


def test_read_options_declares_options_of_docstring() -> None:
    typed = "x a p q --amqp u --topic a --topic b --at 1 2 --only that --gz --port 7".split()
    options = vars(read_options(USAGE, typed, port=int))
    assert options == {
        "folder": Path("x"), "aliases": Path("a"), "parts": ["p", "q"], "pages": 20, "share": 0.5,
        "mode": "run", "only": "that", "topic": ["a", "b"], "at": [1, 2], "gz": True, "amqp": "u",
        "json": None, "options": [], "port": 7,
    }  # fmt: skip
    assert read_options(USAGE, ["x", "--amqp=u", "--", "y", "--z"]).options == ["y", "--z"]


def test_missing_required_option_is_reported() -> None:
    with pytest.raises(SystemExit):
        read_options(USAGE, ["x"])


def test_table_returns_markdown() -> None:
    expected = "| a | b |\n| --- | ---: |\n| x | 0.123 |\n| y | 7 |\n"
    assert table(["a", "b"], [["x", 0.12345], ["y", 7]]) == expected


def test_comparison_table_has_ratios_to_the_baseline() -> None:
    names = ("recall_T", "recall_2T", "oracle_share", "harvest")
    measures = {name: {"value": 0.5} for name in names}
    measures["auc"] = {"value": 0.4, "low": 0.3, "high": 0.5}
    versus = {"auc": {"ratio": 2.0, "p_holm": 0.01, "wins": 9, "losses": 1}}
    scores = [
        {"variant": "bfs/tuned", "measures": measures},
        {"variant": "yield/tuned", "measures": measures, "versus": versus},
    ]
    group = {"unrecorded": "ask", "relevance": "evidence", "baseline": "bfs/tuned"}
    results = {
        "settings": {"concurrency": 1, "budget": "3x", "seed_orders": 3, "delay_s": 1.0},
        "topics": [{"name": "足球"}],
        "groups": [{**group, "scores": scores}],
    }
    text = "\n".join(quality.sections(results))
    same = "0.500 | 0.500 | 0.400 | 0.300–0.500 | 0.500"
    assert f"| bfs | {same} | baseline |  |  | 0.500 |" in text
    assert f"| yield | {same} | 2.00 | 0.010 | 9/1 | 0.500 |" in text
