"""The commands do what is typed, tell it where they should, and end with the right code."""

import asyncio
import gzip
import json
import math
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pytest import MonkeyPatch

from focus import errors, session
from focus.cli import cli
from focus.commands.crawl import misspelt_variables
from focus.engine.unit_of_work import Totals
from focus.http.zstd import ZstdCompressor
from focus.session import RunReport
from focus.session.signals import stop_on_signals
from focus.storage.lock import database_lock
from focus.storage.reader import DatabaseReader
from tests.support.cases import cases
from tests.support.command import Ended, Focus, record

ROOT = Path(__file__).parents[1]
PAGES = {
    "/": ("Portal", [("/football", "足球"), ("/weather", "weather"), ("/gone", "gone")]),
    "/football": ("足球新闻", [("/goal", "足球进球"), ("/", "home")]),
    "/goal": ("足球进球", []),
    "/weather": ("Rain", [("/football", "足球")]),
}


@pytest.fixture(autouse=True)
def home(focus: Focus, tmp_path: Path) -> Path:
    return tmp_path


def spawn(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start a command as a process of its own."""
    command = [sys.executable, "-m", "focus", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, encoding="utf-8", env=environment, **options
    )


@pytest.fixture
def web(home: Path) -> Path:
    """A recorded web of four pages."""
    return recorded(home, PAGES)


def recorded(home: Path, web: Mapping[str, tuple[str, Sequence[tuple[str, str]]]]) -> Path:
    """A recorded web: path -> title, and the links with their texts."""
    pages = {}
    for path, (title, links) in web.items():
        anchors = "".join(f'<p><a href="{to}">{text}</a>' for to, text in links)
        head = f"<!doctype html><meta charset=utf-8><title>{title}</title>"
        pages[f"http://a.test{path}"] = f"{head}{anchors}<p>{title}"
    file = home / "web.warc.gz"
    record(file, pages)
    return file


def on(web: Path, *more: str) -> list[str]:
    """A crawl of that web."""
    where = ["crawl", "--archive", str(web), "--seed", "http://a.test/", "--topic", "足球"]
    return [*where, "--concurrency", "1", "--workers", "1", "--db", "a.db", *more]


def why(focus: Focus, url: str) -> dict[str, Any]:
    """What `focus why --json` prints of a URL."""
    return json.loads(focus("why", url, "--db", "a.db", "--json").out)


def test_why_shows_evidence_of_index_page(focus: Focus, home: Path) -> None:
    pages = {
        "/": ("Portal", [("/tags/t1/", "t1")]),
        "/tags/t1/": ("足球", [("/one", "one"), ("/two", "two")]),
        "/one": ("足球 1", []),
    }
    focus(*on(recorded(home, pages), "--max-pages", "3"))
    fetched = why(focus, "a.test/one")
    assert (fetched["evidence"]["home"], fetched["evidence"]["member"]) == (1.0, 3.0)
    total = fetched["priority"] + fetched["page"]["bonus"]
    assert sum(fetched["evidence"].values()) == pytest.approx(total, abs=1e-3)
    assert fetched["evidence"]["place"] == pytest.approx(fetched["page"]["bonus"], abs=1e-3) != 0.0
    waiting = why(focus, "a.test/two")
    assert waiting["state"] == "waiting"
    assert {"home", "member", "hub", "place"} <= set(waiting["evidence"])
    shown = focus("why", "a.test/one", "--db", "a.db").out
    assert "(relevant is over 0.5)" in shown
    evidence, total = re.findall(r"evidence   (.*) = (\S+)", shown)[0]
    parts = [float(part) for part in re.findall(r"[+-]\d+\.\d+", evidence)]
    assert sum(parts) == pytest.approx(float(total), abs=1e-9)
    assert f"priority {float(total):.4g}, " in shown
    products = re.findall(r"(\S+) x (\S+) = (\S+)", shown)
    bias, z = (float(re.findall(rf"{name}\s+(\S+)", shown)[0]) for name in ("bias", "sum"))
    assert sum(float(value) for *_, value in products) + bias == pytest.approx(z, abs=0.003)
    assert 1 / (1 + math.exp(-z)) == pytest.approx(fetched["page"]["relevance"], abs=0.001)
    assert "evidence" not in focus("why", "a.test/", "--db", "a.db").out
    assert "; now, after" not in shown
    with closing(sqlite3.connect("a.db")) as connection, connection:
        connection.execute("UPDATE page SET priority = priority - 0.5")
    assert f"= {total}; now, after" in focus("why", "a.test/one", "--db", "a.db").out


def test_crawl_publication_period_chooses_results(focus: Focus, home: Path) -> None:
    days = ["2023/12/31", "2024/01/01", "2024/01/02", "2024/01/03"]
    addresses = ["/none", *(f"/{day}/a" for day in days)]
    pages = {address: (f"足球 {n}", []) for n, address in enumerate(addresses)}
    web = recorded(home, {"/": ("足球", [(to, "足球") for to in addresses]), **pages})
    period = ("--since-published", "2024-01-01", "--until-published", "2024-01-02")
    plan = focus(*on(web, *period, "--dry-run"))
    assert "--since-published 2024-01-01T00:00Z" in plan.out + plan.err
    crawl = focus(*on(web, *period, "--target", "2"))
    assert crawl.code == 0
    rows = focus("export", "--db", "a.db", "--relevant", "--fields", "url").out
    assert sorted(re.findall(r"/2024/\S+/a", rows)) == ["/2024/01/01/a", "/2024/01/02/a"]
    status = json.loads(focus("status", "--db", "a.db", "--json").out)
    assert status["status"]["crawl"]["relevant"] == 2
    assert (
        "no result by --since-published" in focus("why", "a.test/2023/12/31/a", "--db", "a.db").out
    )


def test_why_shows_urls_ahead_and_matched_words(focus: Focus, home: Path) -> None:
    pages = {
        "/": ("Portal", [("/one", "足球 1"), ("/two", "天气"), ("/three", "欧冠")]),
        "/one": ("足球 1", []),
    }
    (home / "t.toml").write_text('name = "足球"\nkeywords = ["足球"]\n[features]\n"欧冠" = 1.0\n')
    order = on(recorded(home, pages), "--max-pages", "2", "--strategy", "best-link")
    focus(*["t.toml" if word == "足球" else word for word in order], "--terms", "none")
    fetched = why(focus, "a.test/one")
    assert (fetched["named"], fetched["ahead"]["number"]) == (["足球"], 0)
    last = why(focus, "a.test/two")
    assert (last["named"], last["ahead"]["number"]) == ([], 1)
    assert last["ahead"]["hosts"] == [["a.test", 1]]
    ((url, priority),) = last["ahead"]["urls"]
    assert url == "http://a.test/three"
    assert priority - last["priority"] == pytest.approx(2.5 * 0.15, abs=1e-3)
    shown = focus("why", "a.test/three", "--db", "a.db").out
    assert "  named      欧冠" in shown
    assert "  ahead      no URL waiting with a higher priority" in shown
    assert (
        "1 URL waiting with a higher priority: a.test 1"
        in focus("why", "a.test/two", "--db", "a.db").out
    )


def test_why_shows_terms_of_old_topic_file_with_sources(focus: Focus, home: Path) -> None:
    pages = {"/": ("Portal", [("/rain", "rain"), ("/one", "MySQL 8")]), "/one": ("MySQL", [])}
    (home / "t.toml").write_text(
        'name = "t"\nkeywords = ["数据库"]\n[narrower]\nMySQL = 0.6\n'
        '[sources]\nMySQL = "knowledge base: 类别 数据库"\n'
    )
    order = on(recorded(home, pages), "--max-pages", "2", "--strategy", "yield")
    focus(*["t.toml" if word == "足球" else word for word in order])
    data = why(focus, "a.test/one")
    assert why(focus, "a.test/rain")["state"] == "waiting"
    assert data["evidence"]["subtopic"] == pytest.approx(1.5 * 0.4)
    assert data["subtopics"] == ["mysql"]
    assert data["subtopic_sources"] == {"mysql": "knowledge base: 类别 数据库"}
    shown = focus("why", "a.test/one", "--db", "a.db").out
    assert "(mysql: knowledge base: 类别 数据库)" in shown


def test_why_shows_terms_that_were_too_few(focus: Focus, home: Path) -> None:
    focus(*on(recorded(home, {"/": ("裁判判了越位", [])})))
    shown = focus("why", "a.test/", "--db", "a.db").out
    assert "terms      越位 (a page without a keyword needs 3 different ones)" in shown


def test_topic_new_adds_terms_of_knowledge_base(focus: Focus, home: Path) -> None:
    (home / "dump.tsv").write_text("Fancy DB\t类别\t数据库\n", "utf-8")
    focus("research", "kb", "import", "dump.tsv", "--kb", "kb.db")
    result = focus("topic", "new", "数据库", "--kb", "kb.db", "-o", "t.toml")
    assert "related terms" in result.err
    assert "fancy db" in focus("topic", "show", "t.toml").out


def test_crawl_keeps_library_terms(focus: Focus, home: Path, monkeypatch: MonkeyPatch) -> None:
    web = recorded(home, {"/": ("Portal", [("/one", "one"), ("/two", "two")]), "/one": ("1", [])})
    focus(*on(web, "--max-pages", "1"))
    monkeypatch.setattr("focus.learn.library.find_topic", lambda name: None)  # another version
    assert "no related terms for 足球" in focus(*on(web, "--max-pages", "2")).err
    focus(*on(web, "--max-pages", "1", "--terms", "none"))
    with DatabaseReader(home / "a.db") as reader:
        topics = [reader.load_config(crawl).analysis.topic for crawl in (1, 2)]
        assert len(reader.crawls()) == 2
    assert "越位" in topics[0]["terms"]
    assert "terms" not in topics[1]


# -- a crawl, whole -----------------------------------------------------------------


def gzipped(data: bytes) -> bytes:
    return gzip.compress(data)


def unfinished_zstd(data: bytes) -> bytes:
    """A zstd frame without its end."""
    packer = ZstdCompressor()
    return packer.compress(data) + packer.flush(packer.FLUSH_BLOCK)


@pytest.mark.parametrize("pack", [gzipped, unfinished_zstd])
def test_truncated_archive_is_reported_and_read_to_its_end(
    focus: Focus, web: Path, home: Path, pack: Callable[[bytes], bytes]
) -> None:
    records = gzip.decompress(web.read_bytes())
    at = records.rindex(b"<title>") + 20
    web.write_bytes(pack(records[:at]))
    crawled = focus(*on(web, "--summary", "r.json"))
    assert crawled.code == 0
    assert "Note: the archive is damaged; missing pages are answered with 404: " in crawled.err
    assert json.loads((home / "r.json").read_text(encoding="utf-8"))["archive_damage"]
    weather = focus("why", "--db", "a.db", "http://a.test/weather")
    assert "the archive breaks off in it; what came is kept" in weather.out
    assert "which is damaged" in focus("why", "--db", "a.db", "http://a.test/gone").out


def test_output_escapes_control_characters_of_database(focus: Focus, web: Path, home: Path) -> None:
    focus(*on(web))
    with sqlite3.connect(home / "a.db") as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE sql LIKE "
                  "'CREATE TABLE%' AND name NOT LIKE 'sqlite%'")]  # fmt: skip
        for table in tables:
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            for column in columns:
                if (table, column) not in {("page_text", "url"), ("url", "url")}:
                    db.execute(
                        f"UPDATE {table} SET {column} = {column} || char(27, 93, 48, 7, 155, 10) "
                        f"WHERE typeof({column}) = 'text' AND {column} NOT LIKE '{{%'"
                    )
    db.close()
    commands = """status
        status --crawl 1
        status --crawl 77
        why http://a.test/football
        why http://a.test/gone
        why http://a.test/unknown
        search 足球
        export --format csv
        export"""
    for command in commands.splitlines():
        ended = focus(*command.split(), "--db", "a.db")
        assert not re.search("[\x1b\x9b\x07]|mistake in focus", ended.out + ended.err), command


@cases(
    "limit, arguments, said",
    ("-n 64", "crawl --seed http://a.test/ --topic x --concurrency 1", "open files"),
    ("-n 64", "serve --port 8431", "open files"),
    ("-v 120000", "crawl --seed http://a.test/ --topic x", "ulimit -v"),
    ("-v 60000", "serve --port 8431", "ulimit -v"),
)
def test_missing_resource_prints_line(home: Path, limit: str, arguments: str, said: str) -> None:
    line = f"ulimit {limit} && exec {sys.executable} -m focus {arguments} --db u.db"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, env=environment, timeout=600
    )
    assert ended.returncode in (1, 2)
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("focus: error: ") and said in last
    assert "Traceback" not in ended.stderr
    assert "give --concurrency" not in last, "nor anything that would not help"


def test_crawl_export_status_and_why_show_equal_data(focus: Focus, web: Path, home: Path) -> None:
    crawled = focus(*on(web, "--summary", "r.json", "-v", "--log-file", "log.txt"))
    assert (crawled.code, crawled.out) == (0, "")
    assert crawled.err.startswith("Database a.db\nCrawl 1: 足球 by ")
    assert any("relevant" in line for line in crawled.err.splitlines()[3:6])
    assert "Crawl 1 ended: no URLs left." in crawled.err
    assert "pages     4, " in crawled.err
    report = json.loads((home / "r.json").read_text(encoding="utf-8"))
    assert (report["topic"], report["totals"]["pages"]) == ("足球", 4)
    assert [path.name for path in home.glob("*.part")] == []
    assert "http://a.test/goal" in (home / "log.txt").read_text(encoding="utf-8")

    exported = focus("export", "--db", "a.db", "--fields", "url,title", "--limit", "2")
    rows = [json.loads(line) for line in exported.out.splitlines()]
    assert (exported.code, exported.err) == (0, "")
    assert rows[:1] == [{"url": "http://a.test/", "title": "Portal"}]
    assert "足球新闻" in exported.out
    both = focus("export", "--db", "a.db", "--db", "a.db", "--limit", "5", "--fields", "url").out
    assert both.splitlines()[4:] == both.splitlines()[:1], "one database after the other"
    written = focus("export", "--db", "a.db", "--format", "csv", "-o", "x.csv")
    assert (written.out, written.err) == ("", "4 pages in x.csv\n")
    assert ",title,published," in (home / "x.csv").read_text("utf-8")

    status = focus("status", "--db", "a.db")
    assert "no URLs left" in status.out and "failures  http-4xx 1" in status.out
    as_json = json.loads(focus("status", "--db", "a.db", "--json").out)
    assert as_json["status"]["states"]["done"] == 4
    assert [crawl["id"] for crawl in as_json["crawls"]] == [1]

    goal = focus("why", "a.test/goal", "--db", "a.db")
    assert goal.code == 0
    assert "“足球进球”" in goal.out and "  0  http://a.test/" in goal.out
    gone = why(focus, "http://a.test/gone")
    assert (gone["state"], gone["reason"]) == ("failed", "http-4xx")
    unseen = focus("why", "http://a.test/nowhere", "--db", "a.db")
    assert unseen.err.startswith("http://a.test/nowhere is not known to this crawl")
    assert (unseen.code, unseen.out) == (0, "")


def test_hub_and_authority_scores_are_stored(focus: Focus, web: Path) -> None:
    assert focus(*on(web)).code == 0
    best = focus("export", "--db", "a.db", "--sort", "authority", "--fields", "url,authority,hub")
    rows = [json.loads(line) for line in best.out.splitlines()]
    assert rows[0]["url"].endswith("/football") and rows[0]["authority"] == 1.0
    assert max(row["hub"] for row in rows) == 1.0
    values = [row["authority"] for row in rows]
    assert values == sorted(values, reverse=True)
    sort = ("--sort", "authority", "--limit", "3", "--fields", "url,authority")
    both = focus("export", "--db", "a.db", "--db", "a.db", *sort).out.splitlines()
    rows_of_a = focus("export", "--db", "a.db", *sort).out.splitlines()
    assert both == [rows_of_a[0], rows_of_a[0], rows_of_a[1]], "the best of both databases"


def test_same_command_continues_crawl(focus: Focus, web: Path) -> None:
    first = focus(*on(web, "--max-pages", "2"))
    assert "ended: max-pages reached" in first.err
    again = focus(*on(web, "--max-pages", "2"))
    assert again.code == 0
    assert re.search(r"^Continuing crawl 1 \(5 known, \d waiting\)$", again.err, re.MULTILINE)
    assert (
        "Crawl 1 has its 2 pages already, so this run fetched nothing; "
        "raise --max-pages or use --fresh." in again.err
    )
    quiet = focus(*on(web, "--max-pages", "2", "-q"))
    assert (
        quiet.err == "Crawl 1 has its 2 pages already, so this run fetched nothing; "
        "raise --max-pages or use --fresh.\n"
    )
    more = focus(*on(web))
    assert "pages     4, " in more.err and "this run  2 pages" in more.err
    assert "Crawl 1 is complete" in focus(*on(web)).err
    assert "Crawl 2: " in focus(*on(web, "--fresh", "--max-pages", "1")).err


def test_quiet_crawl_prints_nothing(focus: Focus, web: Path) -> None:
    assert focus(*on(web, "-q")) == Ended(0, "", "")


def test_nothing_fetched_lists_seeds_even_if_quiet(focus: Focus, web: Path) -> None:
    arguments = on(web, "--seed", "http://no.test/", "-q")
    arguments.remove("http://a.test/")
    arguments.remove("--seed")
    ended = focus(*arguments)
    assert ended.code == 3
    lines = ended.err.splitlines()
    assert lines[:2] == ["focus: error: not one page was fetched", "Seeds without a page:"]
    assert lines[2].startswith("  http://no.test/  page not found or not allowed: 404")


LOG_IN, WWW = "http://log-in.test/?to=a", "http://www.a.test/"


def test_seeds_all_redirected_to_other_site_exits_with_3(focus: Focus, home: Path) -> None:
    file = home / "web.warc.gz"
    record(file, {"http://a.test/": LOG_IN, LOG_IN: "<title>Log in</title><form><input></form>"})
    ended = focus(*on(file, "-q"))
    assert ended.code == 3
    assert ended.err == (
        "focus: error: every seed redirects to another site (log-in.test); give "
        "--cookie-file or --credentials for a log-in, or start from a page of that site\n"
    )
    assert focus(*on(file, "-q")) == ended, "nor the night after"


@pytest.mark.parametrize(("target", "sites"), [(LOG_IN, ["log-in.test"]), (WWW, [])])
def test_seed_redirected_to_other_site_is_crawled_with_note(
    focus: Focus, home: Path, target: str, sites: list[str]
) -> None:
    file = home / "web.warc.gz"
    goal = "<title>足球</title><h1>足球</h1>足球比赛<a href=/b>b</a>"
    record(file, {"http://a.test/": target, target: goal})
    ended = focus(*on(file))
    assert ended.code == 0
    assert re.findall(r"Note: .* another site \((.*?)\)", ended.err) == sites


def test_dry_run_sends_no_requests(focus: Focus, home: Path) -> None:
    arguments = ["--strategy", "topic-pagerank", "--param", "γ=0.3", "--max-time", "30m"]
    ended = focus("crawl", "--seed", "a.test", "--topic", "足球,英超:0.8", *arguments, "-n")
    assert (ended.code, ended.err) == (0, "")
    lines = {line.split()[0]: line.split(maxsplit=1)[1] for line in ended.out.splitlines()[1:]}
    assert lines["seed"] == "https://a.test/, else http://a.test/"
    assert lines["topic"] == "足球: 足球, 英超:0.8"
    assert lines["strategy"].startswith("topic-pagerank: gamma=0.3 ")
    assert lines["limits"] == "max-time 30m00s"
    assert lines["User-Agent"].startswith("focus/")
    assert lines["database"] == str(home / "home" / "focus" / "focus.db")
    assert list(home.iterdir()) == []


@cases(
    "arguments, terms",
    ("--topic 足球", "library: "),
    ("--topic 足球 --terms none", "none"),
    ("--topic 足球 --as-published", "none"),
    ("--topic 足球 --relevance boolean", "none"),
    ("--topic labdarúgás", "none; the library does not have this topic: "),
)
def test_dry_run_shows_terms_or_why_none(focus: Focus, arguments: str, terms: str) -> None:
    ended = focus("crawl", "a.test", *arguments.split(), "-n")
    (line,) = (line for line in ended.out.splitlines() if line.startswith("  terms "))
    text = line.split(maxsplit=1)[1]
    assert text == terms if terms == "none" else text.startswith(terms)


# -- a crawl that is only played ----------------------------------------------------


def fake_run(monkeypatch: MonkeyPatch, **fields: Any) -> None:
    """`session.run` gives this report instead of crawling."""
    tables = ("states", "failures", "dropped", "seed_failures", "revisits", "redirected_seeds")
    values: dict[str, Any] = dict.fromkeys(RunReport.__struct_fields__, 0)
    values |= {"stop_reason": "frontier empty", "totals": Totals(pages=6), "run_pages": 6}
    values |= {**{name: {} for name in tables}, "database": "x", "warc": None, **fields}

    async def run(*_: object, **__: object) -> RunReport:
        return RunReport(**values)

    monkeypatch.setattr(session, "run", run)


CRAWL = ["crawl", "--seed", "a.test", "--topic", "x"]


@cases(
    "fields, code",
    ({}, 0),
    ({"stop_reason": "interrupted"}, 130),
    ({"stop_reason": "terminated"}, 0),
    ({"totals": Totals()}, 3),
    ({"failures": {"timeout": 4}}, 0),
    ({"failures": {"timeout": 7}}, 4),
)
def test_exit_code_depends_on_stop_reason(
    focus: Focus, monkeypatch: MonkeyPatch, fields: dict[str, Any], code: int
) -> None:
    fake_run(monkeypatch, **fields)
    assert focus(*CRAWL, "--fail-error-rate", "0.5").code == code


def raise_in_crawl(monkeypatch: MonkeyPatch, error: BaseException) -> None:
    async def run(*_: object, **__: object) -> RunReport:
        raise error

    monkeypatch.setattr(session, "run", run)


@cases(
    "error, code, line",
    (errors.StoreLocked("a crawl (pid 1) is using x"), 5, "a crawl (pid 1) is using x"),
    (errors.StoreError("x is full"), 1, "x is full"),
    (errors.ArchiveError("two\nlines"), 1, "two lines"),
    (OSError(28, "No space left on device", "/x"), 1, "/x: No space left on device"),
)
def test_focus_errors_print_one_line(
    focus: Focus, monkeypatch: MonkeyPatch, error: Exception, code: int, line: str
) -> None:
    raise_in_crawl(monkeypatch, error)
    ended = focus(*CRAWL, "-q")
    assert ended == Ended(code, "", f"focus: error: {line}\n")


@pytest.mark.parametrize("error", [ZeroDivisionError(), BrokenPipeError()])
def test_unexpected_error_prints_traceback(
    focus: Focus, monkeypatch: MonkeyPatch, error: Exception
) -> None:
    raise_in_crawl(monkeypatch, error)
    ended = focus(*CRAWL)
    assert ended.code == 1
    assert "Traceback" in ended.err and type(error).__name__ in ended.err
    assert ended.err.endswith("please report the lines above\n")


def test_interrupt_before_crawl_exits_with_130(focus: Focus, monkeypatch: MonkeyPatch) -> None:
    raise_in_crawl(monkeypatch, KeyboardInterrupt())
    assert focus(*CRAWL, "-q") == Ended(130, "", "")


def test_missing_contact_prints_one_note(focus: Focus, monkeypatch: MonkeyPatch) -> None:
    fake_run(monkeypatch)
    assert focus(*CRAWL).err.count("site owners cannot reach you") == 1
    assert "site owners" not in focus(*CRAWL, "--contact", "a@b.test").err


def test_misspelt_variable_prints_note(focus: Focus, monkeypatch: MonkeyPatch) -> None:
    fake_run(monkeypatch)
    monkeypatch.setenv("FOCUS_MAX_PAGE", "3")
    note = "FOCUS_MAX_PAGE is not known; did you mean FOCUS_MAX_PAGES?"
    assert note in focus(*CRAWL).err and note in focus(*CRAWL, "--dry-run").err
    assert misspelt_variables(["FOCUS_DB", "FOCUS_SOMETHING_ELSE", "PATH"]) == []


def test_unwritable_summary_is_an_error(focus: Focus, monkeypatch: MonkeyPatch, home: Path) -> None:
    fake_run(monkeypatch)
    (home / "r").mkdir()
    (home / "r" / "x").touch()
    monkeypatch.setattr(Path, "replace", _refused)
    ended = focus(*CRAWL, "-q", "--summary", "r.json")
    assert (ended.code, ended.err) == (1, "focus: error: r.json: cannot be written: no\n")
    assert not list(home.glob(".r.json*"))


def _refused(*_: object) -> None:
    raise PermissionError(13, "no")


# -- the other commands -------------------------------------------------------------


def test_strategies_command_lists_parameters(focus: Focus) -> None:
    out = focus("strategies").out
    assert "topic-pagerank" in out and "gamma=0.06" in out
    assert "as published: gamma=0.8" in out and "P1 eq. 3-1…3-7" in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_command_prints_script(focus: Focus, shell: str) -> None:
    assert "_FOCUS_COMPLETE" in focus("completion", shell).out


def completed(*words: str) -> list[str]:
    """What bash offers for the last of these words."""
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "_FOCUS_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["focus", *words]), "COMP_CWORD": str(len(words)),
    }  # fmt: skip
    command = [sys.executable, "-m", "focus"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return [line.removeprefix("plain,") for line in done.stdout.split()]


@cases(
    "typed, offered",
    ("crawl --strategy top", ["topic-pagerank"]),
    ("export --fields url,tit", ["url,title"]),
    ("export --fields title,tit", []),
)
def test_completion_of_values(typed: str, offered: list[str]) -> None:
    assert completed(*typed.split()) == offered


def test_completion_of_alert_names_creates_no_database(focus: Focus, home: Path) -> None:
    assert completed("watch", "show", "--db", "w.db", "欧") == []
    assert not Path("w.db").exists()
    for name in ("欧冠", "欧联", "中超"):
        focus("watch", "add", name, "--site", "https://a.test/", "--words", "球", "--db", "w.db")
    assert completed("watch", "show", "--db", "w.db", "欧") == ["欧冠", "欧联"]
    assert completed("watch", "run", "--db", "w.db", "中") == ["中超"]


def test_demo_command_compares_strategies(focus: Focus, monkeypatch: MonkeyPatch) -> None:
    def demo(db: Path, *, pages: int, seed: int, watch: Any, done: Any, run_loop: Any) -> list[Any]:
        assert (pages, seed) == (500, 2)
        with watch("bfs") as teller:
            teller.say("on it")
        report = SimpleNamespace(run_pages=100, pages_per_second=9.0, stop_reason="interrupted")
        outcome = SimpleNamespace(
            strategy="bfs", report=report, relevant=25, harvest_rate=0.25, first_relevant=7,
            total_relevant=60,
        )  # fmt: skip
        done(outcome)
        return [outcome]

    monkeypatch.setattr("focus.demo.run.demo", demo)
    monkeypatch.setattr(sys, "argv", ["focus"])  # not the program that runs the tests
    ended = focus("demo", "--pages", "500", "--seed", "2", "--db", "d.db")
    assert ended.code == 130
    assert "on it" in ended.err
    assert "bfs          25  41.7%  7 requests" in ended.out
    assert "focus status --db d.db" in ended.out


@cases(
    "arguments, line",
    (["crwl"], "No such command 'crwl'. Did you mean 'crawl'? (see `focus --help`)"),
    (["https://a.test/", "-q"], "'https://a.test/' is no command; did you mean `focus crawl "),
    (["--db", "a.db", "crawl", "a.test"], "--db stands after the command: `focus crawl --db`"),
    (["crawl", "a.test", "--topic", "champions", "league"], "seed 'league': is not a web addr"),
    (["backup", "no/copy.db", "--db", "no.db"], "no/copy.db: there is no folder "),
    (["why"], "Missing argument 'URL'. (see `focus why --help`)"),
    (["why", "sport/x.html"], "'sport/x.html' is not a web address; write it like "),
    (["export", "--fields", "urls", "--db", "no.db"], "unknown field 'urls'; "),
    (["export", "--since", "soon", "--db", "no.db"], "--since: cannot read 'soon' as a date; "),
    (["crawl", "--allow-net"], "Option '--allow-net' requires an argument. (see `focus crawl -"),
    (["export", "--min-relevance", "90"], "--min-relevance: '90' is not a relevance; write "),
    (["export", "--format", "xml"], "--format: 'xml' is not one of 'jsonl', 'csv', 'parquet'"),
)
def test_usage_error_prints_one_line(focus: Focus, arguments: list[str], line: str) -> None:
    ended = focus(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"focus: error: {line}")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("command", [["export"], ["status"], ["why", "a.test"]])
def test_missing_database_raises_error(focus: Focus, command: list[str]) -> None:
    ended = focus(*command, "--db", "no.db")
    assert ended.code == 1
    assert "there is no database at no.db" in ended.err


def test_version_and_help_are_printed(focus: Focus) -> None:
    assert focus("--version").out == focus("-V").out
    assert focus("-V").out.startswith("focus, version ")
    assert focus("-h").out.startswith("Usage: focus ")
    help_text = focus("crawl", "--help-all").out
    sections = ["What to crawl:", "Scope:", "Limits:", "Speed and size:", "Requests:", "Output:"]
    assert [line for line in help_text.splitlines() if line in sections] == sections
    assert "[default: 256; FOCUS_CONCURRENCY]" in " ".join(help_text.split())
    assert set(cli.commands) >= {"crawl", "export", "status", "why", "demo", "strategies"}


# -- as a process -------------------------------------------------------------------


SLOW = "numpy aiohttp aiosqlite jieba rjieba opencc selectolax tldextract uvicorn jinja2"
SHOW_HELP = "from click.testing import CliRunner; from focus.cli import cli; " + (
    "assert 'Usage: ' in CliRunner().invoke(cli, ['--help']).output"
)


@cases(
    "code, slow",
    ("import focus.cli", f"{SLOW} rich uvloop asyncio sqlite3 backports warcio"),
    (SHOW_HELP, SLOW),
    ("import focus.storage.reader", "asyncio numpy"),
    ("import focus.workers.child, focus.score.analysis", "asyncio aiohttp numpy"),
    ids=["commands", "help", "reader", "worker"],
)
def test_slow_modules_are_not_imported(code: str, slow: str) -> None:
    code = f"import sys; {code}; print(*sorted(set(sys.modules) & set(sys.argv)))"
    command = [sys.executable, "-c", code, *slow.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "\n"


def test_first_request_is_sent_before_slow_imports(tmp_path: Path) -> None:
    """The list holds what a crawl can do without until a response has arrived."""
    later = ["numpy", "http.cookiejar", "importlib.metadata", "jinja2", "selectolax", "warcio"]
    later += ["focus.archive.recorder", "focus.archive.replay", "focus.session.revisit"]
    later += ["focus.html.main_content", "focus.html.parser"]
    code = (
        "import os, sys; from focus import __main__, fetch; from focus.session import runner\n"
        "async def report_modules(*_, **options):\n"
        f"    print([m for m in {later!r} if m in sys.modules], len(sys.modules) < 620)\n"
        "    sys.stdout.flush(); os._exit(0)\n"
        "fetch.WebFetcher.fetch = report_modules\n"
        "runner._NUMPY_AFTER_S = 600.0  # a slow machine may need longer for the first request\n"
        "__main__.main()\n"
    )
    options = ["--seed", "http://127.0.0.1:9/", "--allow-net", "127.0.0.0/8", "--topic", "x"]
    options += ["--workers", "1", "--db", str(tmp_path / "a.db")]
    done = subprocess.run(
        [sys.executable, "-c", code, "crawl", *options],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert done.stdout == "[] True\n"


def test_closed_output_pipe_prints_nothing() -> None:
    process = spawn("strategies")
    process.stdout.close()
    with process.stderr as stream:
        assert stream.read() == ""
    assert process.wait() == 0


def test_streams_are_utf8_in_any_locale() -> None:
    out, err = spawn("crawl", "--help").communicate()
    assert "足球" in out
    assert err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to send there")
@cases(
    "number, code, reason",
    (signal.SIGINT, 130, "interrupted"),
    (signal.SIGTERM, 0, "terminated"),
    (getattr(signal, "SIGHUP", signal.SIGTERM), 0, "terminated"),
)
def test_signals_end_crawl_cleanly(number: int, code: int, reason: str) -> None:
    with waiting_crawl() as process:
        process.send_signal(number)
        next(line for line in process.stderr if "Stopping: " in line)
        process.send_signal(number)
        rest = process.stderr.read()  # as before: what was read ahead is kept
    assert process.returncode == code
    assert f"Crawl 1 ended: {reason}." in rest
    assert "The same command continues it." in rest


@contextmanager
def waiting_crawl(**options: Any) -> Iterator[subprocess.Popen[str]]:
    """A crawl that waits for a server which takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server, spawn(
        "crawl", "--seed", "http://a.test/", "--topic", "x",
        "--connect-to", f"127.0.0.1:{server.getsockname()[1]}",
        "--allow-net", "127.0.0.0/8", "--ignore-robots", "--workers", "1", "--db", "s.db",
        **options,
    ) as process:  # fmt: skip
        try:
            assert any(line.startswith("Crawl 1: ") for line in process.stderr)
            yield process
            process.communicate()
        finally:
            process.kill()


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no terminal goes away there")
def test_crawl_under_nohup_ignores_sighup() -> None:
    ignore = partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
    with waiting_crawl(preexec_fn=ignore) as process:
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        said = [line for line in process.stderr if "Stopping: " in line]
    assert len(said) == 1, "by the second signal alone"


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to send there")
async def test_second_ctrl_c_does_not_abort_ending_crawl() -> None:
    crawl = SimpleNamespace(stop_reason="", stop=lambda why: setattr(crawl, "stop_reason", why))
    said = asyncio.Event()
    watcher = SimpleNamespace(stopping=lambda line: said.set())
    transport = SimpleNamespace(in_flight=0, cancel=lambda: None)
    before = signal.getsignal(signal.SIGINT)
    try:
        with stop_on_signals(cast(Any, crawl), cast(Any, transport), cast(Any, watcher)):
            signal.raise_signal(signal.SIGINT)
            await said.wait()
        signal.raise_signal(signal.SIGINT)  # its summary is still to be told
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_second_crawl_waits_as_long_as_it_may(
    focus: Focus, web: Path, monkeypatch: MonkeyPatch
) -> None:
    monkeypatch.setenv("FOCUS_WAIT", "1h")
    lock, sleep = ExitStack(), asyncio.sleep

    async def end_the_other(seconds: float) -> None:
        lock.close()
        monkeypatch.setattr(asyncio, "sleep", sleep)

    with lock:
        lock.enter_context(database_lock(Path("a.db"), pid=1))
        monkeypatch.setattr(asyncio, "sleep", end_the_other)
        ended = focus(*on(web))
    assert (ended.code, ended.err.count("Waiting for another crawl")) == (0, 1)


def test_second_crawl_on_database_exits_with_5(focus: Focus, web: Path) -> None:
    with waiting_crawl() as process:
        ended = focus(*on(web, "-q", "--db", "s.db"))
        process.kill()
    assert ended.code == 5
    assert ended.err.startswith("focus: error: another focus crawl (pid ")
