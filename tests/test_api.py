"""Tests what `import focus` offers, and packages that add to it by entry points."""

import asyncio
import json
import os
import re
import subprocess
import sys
import textwrap
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

import focus
from focus import api
from focus.errors import ConfigError, StoreError
from tests.support import recorded
from tests.support.recorded import GOOD, HOST, record

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("web")
    record(folder)
    return folder / "web.warc.gz"


def crawling(web: Path, db: Path | None = None, **options: Any) -> focus.Crawling:
    arguments = {"archive": web, "concurrency": 1, "workers": 1, **options}
    return focus.crawl(f"{HOST}/", topic="足球", db=db, **arguments)


def test_crawl_iteration_yields_pages(web: Path) -> None:
    result = crawling(web)
    pages = list(result)
    assert pages[0].url == f"{HOST}/"
    assert sum(page.relevant for page in pages) >= GOOD
    good = next(page for page in pages if page.url == f"{HOST}/g/3")
    assert good.title == "足球 3"
    assert "<h1>足球 3</h1>" in good.html
    assert "足球 足球" in good.text
    assert result.report.totals.pages == len(pages)


def test_crawl_iteration_left_early_stops_in_good_order(web: Path, tmp_path: Path) -> None:
    result = crawling(web, tmp_path / "f.db")
    for page in result:
        assert page.url == f"{HOST}/"
        break
    with focus.open(tmp_path / "f.db") as database:
        assert len(list(database.pages())) == result.report.totals.pages >= 1


async def test_crawl_async_iteration_yields_pages(web: Path) -> None:
    pages = [page.url async for page in crawling(web)]
    assert pages == [page.url for page in await asyncio.to_thread(list, crawling(web))]


def test_crawl_run_stores_pages_for_database(web: Path, tmp_path: Path) -> None:
    db = tmp_path / "f.db"
    report = crawling(web, db, strategy="bfs").run()
    assert report.stop_reason == "frontier empty"
    with focus.open(db) as store:
        assert [item.strategy for item in store.crawls()] == ["bfs"]
        assert store.status().crawl.pages == report.totals.pages
        best = list(store.pages(relevant=True, sort="quality", limit=3, fields=("url", "matched")))
        assert len(best) == 3
        assert "足球" in json.dumps(best[0]["matched"], ensure_ascii=False)
        table = store.table(fields=("url", "relevance"))
        assert len(table["url"]) == len(table["relevance"]) == report.totals.pages
        assert (f"{HOST}/list/good", f"{HOST}/g/0") in set(store.links())
        assert store.search("足球", limit=3).pages >= GOOD
        assert store.why(f"{HOST}/g/0").state == "done"
        assert store.export(tmp_path / "out.jsonl", relevant=True) >= GOOD
        assert (tmp_path / "out.jsonl").read_text().count("\n") >= GOOD


def test_times_are_read_as_on_the_command_line(tmp_path: Path) -> None:
    stamp = b'<meta property="article:published_time" content="2024-01-01T10:00Z"><title>'
    page = recorded.page("足球", text="足球 " * 8).replace(b"<title>", stamp)
    record(tmp_path, {"/g/1": page}, at=datetime(2024, 2, 1).timestamp())
    crawling(tmp_path / "web.warc.gz", tmp_path / "f.db", since_published=date(2024, 1, 1)).run()
    with focus.open(tmp_path / "f.db") as store:
        for day in ("2024-01-01", date(2024, 1, 1)):
            chosen = store.table(relevant=True, since_published=day, until_published=day)
            assert chosen["url"] == [f"{HOST}/g/1"]
        assert not store.search("足球", until_published=datetime(2024, 1, 1)).pages
        for wrong in ("garbage", float("nan"), True):
            with pytest.raises(ConfigError, match=f"^since: cannot read '{wrong}' as a date; "):
                store.table(since=wrong)


async def test_crawl_run_within_event_loop_runs_in_thread(web: Path) -> None:
    assert crawling(web, max_pages=2).run().totals.pages == 2


def test_crawl_iteration_warns_of_failed_seed(web: Path) -> None:
    result = focus.crawl(f"{HOST}/", "http://dead.test/", topic="足球", archive=web, max_pages=9)
    with pytest.warns(UserWarning, match=r"seed http://dead\.test/: http-4xx"):
        assert list(result)


def test_crawled_page_repr_is_one_short_line(web: Path) -> None:
    page = next(iter(crawling(web)))
    assert repr(page) == f"CrawledPage('{HOST}/', {page.title!r}, relevance={page.relevance:.2f})"


def test_crawl_topic_accepts_words_file_or_topic(web: Path, tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    file.write_text('name = "足球"\n[keywords]\n"足球" = 1.0\n', encoding="utf-8")
    for topic in (file, focus.read_topic("足球"), "足球"):
        result = focus.crawl(f"{HOST}/", topic=topic, archive=web, max_pages=2, workers=1)
        assert result.run().topic == "足球"


def test_crawl_invalid_option_raises_before_any_request(web: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no option 'max_page'; known: .*max_pages"):
        crawling(web, max_page=3)
    with pytest.raises(focus.FocusError, match="strategy: no strategy 'best'; did you mean"):
        crawling(web, strategy="best")
    with pytest.raises(ConfigError, match="until_published: cannot read '1 May' as a date"):
        crawling(web, until_published="1 May")
    with pytest.raises(StoreError, match="no database"):
        focus.open(tmp_path / "none.db")
    result = crawling(web, max_pages=1)
    result.run()
    with pytest.raises(ConfigError, match="has already run"):
        result.run()


def test_crawl_iteration_raises_errors_of_the_crawl(web: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database at all" * 99)
    with pytest.raises(StoreError, match=r"broken\.db"):
        list(crawling(web, broken))


def test_import_focus_imports_no_submodules() -> None:
    code = "import sys, focus; print([m for m in sys.modules if m.startswith('focus.')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
    assert {"crawl", "open", "read_topic"} <= set(dir(focus))
    with pytest.raises(AttributeError, match="nothing"):
        _ = focus.nothing  # type: ignore[attr-defined]


def test_public_names_and_methods_have_examples() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    examples = "".join(re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S))
    for name in api.__all__:
        assert f"focus.{name}" in text
    for kind in (focus.Database, focus.Crawling):
        for method in {name for name in vars(kind) if not name.startswith("_")} - {"close"}:
            assert f".{method}(" in examples or f".{method}." in examples, method


@pytest.mark.parametrize("page", ["docs/api.md", "focus/__init__.py"])
def test_documented_examples_run(page: str, web: Path, tmp_path: Path) -> None:
    """Every block of Python in docs/api.md, in order, on the recorded web."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    blocks = blocks or re.findall(r"(?:^    .*\n|^\n)+", text.split('"""')[1], re.M)[:1]
    assert blocks
    code = textwrap.dedent("\n".join(map(textwrap.dedent, blocks)))
    code = code.replace("https://sports.sina.com.cn/", f"{HOST}/")
    opening = "import focus, functools\n_crawl = focus.crawl\n"
    opening += f"focus.crawl = functools.partial(_crawl, archive={str(web)!r}, workers=1)\n"
    ran = subprocess.run(
        [sys.executable, "-c", opening + code], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert "足球" in ran.stdout


PLUGIN, CHANNEL, JUDGE = re.findall(
    r"^```py\n(.*?)^```$", (ROOT / "docs" / "api.md").read_text("utf-8"), re.M | re.S
)


def install(folder: Path, module: str, code: str, points: str) -> dict[str, str]:
    """What the installation of a package leaves behind; the environment that has it."""
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(textwrap.dedent(points))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


def test_registry_plugin_adds_strategy_and_model(web: Path, tmp_path: Path) -> None:
    there = install(
        tmp_path, "toy", f"{PLUGIN}\n{JUDGE}",
        """\
        [focus.judges]
        long-texts = toy:LongTexts
        [focus.strategies]
        longest-first = toy:LongestFirst
        [focus.relevance]
        always-half = toy:AlwaysHalf
        """,
    )  # fmt: skip
    focus_ = [sys.executable, "-m", "focus"]
    listed = subprocess.run([*focus_, "strategies"], env=there, capture_output=True, text=True)
    assert "longest-first" in listed.stdout and "always-half" in listed.stdout
    crawl = [*focus_, "crawl", "--seed", f"{HOST}/", "--topic", "足球", "--archive", str(web)]
    crawl += ["--strategy", "longest-first", "--relevance", "always-half", "--quiet"]
    crawl += ["--db", str(tmp_path / "f.db"), "--concurrency", "1", "--max-pages", "6"]
    ran = subprocess.run(crawl, env=there, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    with focus.open(tmp_path / "f.db") as database:
        pages = list(database.pages(fields=("url", "relevance")))
    assert {page["relevance"] for page in pages} == {0.5}
    assert len(pages) == 5
    judged = [*crawl[:-9], "--judge", "long-texts", *crawl[-4:], "--db", str(tmp_path / "j.db")]
    assert subprocess.run(judged, env=there).returncode == 0


def test_registry_broken_plugin_is_named(tmp_path: Path) -> None:
    there = install(tmp_path, "broken", "import nothing_like_it\n", """\
        [focus.strategies]
        broken = broken:Broken
        """)  # fmt: skip
    ran = subprocess.run(
        [sys.executable, "-m", "focus", "strategies"], env=there, capture_output=True, text=True
    )
    assert ran.returncode == 2
    assert "package broken" in ran.stderr and "Traceback" not in ran.stderr


def test_registry_plugin_adds_channel(tmp_path: Path) -> None:
    there = install(tmp_path, "toy", CHANNEL, """\
        [focus.channels]
        folder = toy:Folder
        """)  # fmt: skip
    there |= {"FOCUS_DB": str(tmp_path / "f.db"), "LC_ALL": "en_US.UTF-8"}

    def focus_(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "focus", *words]
        return subprocess.run(command, env=there, capture_output=True, text=True)

    assert "--folder FOLDER" in focus_("watch", "add", "--help").stdout
    add = ["watch", "add", "足球", "--site", "https://a.test/", "--words", "足球"]
    assert "folder cannot send to this address" in focus_(*add, "--folder", "sea").stderr
    sea = tmp_path / "sea"
    assert focus_(*add, "--folder", str(sea)).returncode == 0
    failed = focus_("watch", "test", "足球")
    assert (failed.returncode, failed.stdout) == (
        1, f"folder:{sea}: failed: {sea}: No such file or directory\n",
    )  # fmt: skip
    sea.mkdir()
    assert focus_("watch", "test", "足球").stdout == f"folder:{sea}: sent\n"
    (letter,) = sea.iterdir()
    assert "the channel works" in letter.read_text("utf-8")
    log = focus_("watch", "log").stdout
    assert "written" in log
