"""The report of a comparison, for people."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from focus.commands.compare import compare_command
from focus.commands.compare_output import comparison_lines
from focus.errors import ConfigError
from focus.evaluate.comparison import Comparison
from focus.i18n import set_language
from focus.report.comparison import comparison_html
from tests.support.cases import cases
from tests.support.recorded import load_results, record


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A web compared on the command line."""
    folder = tmp_path_factory.mktemp("web")
    record(folder)
    text = (folder / "topics.json").read_text().replace("football", "<足球>")
    (folder / "topics.json").write_text(text, encoding="utf-8")
    labels = (folder / "labels.tsv").read_text().replace("football", "<足球>")
    (folder / "labels.tsv").write_text(labels, encoding="utf-8")
    return folder


def run(web: Path, *arguments: str, out: Path) -> str:
    order = ["--archive", str(web / "web.warc.gz"), "--topics", str(web / "topics.json")]
    more = ["--jobs", "1", "--seed-orders", "2", "-o", str(out), *arguments]
    result = CliRunner().invoke(compare_command, order + more, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def out(web: Path) -> Path:
    folder = web / "out"
    names = ["bfs", "best-first", "topic-pagerank"]
    arguments = [part for way in names for part in ("--strategy", way)]
    (web / "table").write_text(
        run(web, *arguments, "--forms", "tuned,published", "--relevance", "evidence", out=folder)
    )
    return folder


@pytest.fixture(scope="module")
def comparison(out: Path) -> Comparison:
    return load_results(out)


def test_compare_command_writes_all_files_and_a_table(web: Path, out: Path) -> None:
    names = {path.name for path in out.iterdir()}
    assert names == {"results.json", "results.csv", "report.html", "runs.jsonl"}
    table = (web / "table").read_text()
    assert "topic-pagerank (published)" in table and "baseline" in table
    assert "judged by labels" in table and "Note: 1 labelled pages" not in table


def test_results_csv_has_one_line_per_crawl(out: Path) -> None:
    lines = (out / "results.csv").read_text().splitlines()
    assert lines[0].startswith("strategy,form,relevance,mask,unrecorded,topic,order,recall_T,")
    assert len(lines) == 1 + 4 * 2
    assert lines[1].startswith("bfs,tuned,evidence,none,ask,<足球>,0,")


class Elements(HTMLParser):
    """Checks that tags close, and collects what would be loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "img", "br", "input"):
            self.open.append(tag)
        self.loads += [f"{k}={v}" for k, v in attrs if k in ("src", "href", "action")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_comparison_html_loads_no_other_file(comparison: Comparison) -> None:
    page = comparison_html(comparison)
    elements = Elements()
    elements.feed(page)
    assert (elements.open, elements.loads) == ([], [])
    assert not re.search(r"https?://(?!a\.test|b\.test)|@import|url\(", page)


def test_comparison_html_contains_variants_and_inputs(comparison: Comparison) -> None:
    page = comparison_html(comparison)
    elements = Elements()
    elements.feed(page)
    for text in ("bfs", "topic-pagerank (published)", "<足球>", "judged by labels".capitalize()):
        assert text in elements.text
    assert "&lt;足球&gt;" in page and page.count('<svg viewBox="0 0 860') == 1
    assert "seeds that are not in the archive" in page


def test_comparison_html_tables_have_different_names(web: Path, tmp_path: Path) -> None:
    text = "--strategy bfs --strategy dfs --unrecorded ask --unrecorded skip"
    run(web, *text.split(), out=tmp_path)
    page = comparison_html(load_results(tmp_path))
    names = re.findall('role="region" aria-label="([^"]+)"', page)
    assert (len(names), len(set(names))) == (6, len(names))


def test_verdict_is_first_paragraph(comparison: Comparison) -> None:
    page = comparison_html(comparison)
    [verdict] = re.findall('<p class="verdict">([^<]+)</p>', page)
    assert re.fullmatch(
        r"\S.* found \d+% of the relevant pages after as many requests as there are relevant "
        r"pages; best-first \d+%\..*",
        verdict,
    )
    assert page.index("<main>") < page.index(verdict) < page.index("<svg")


def test_verdict_with_fewer_requests_than_targets_uses_auc(web: Path, tmp_path: Path) -> None:
    run(web, "--strategy", "bfs", "--strategy", "best-first", "--budget", "4", out=tmp_path)
    comparison = load_results(tmp_path)
    scores = comparison.groups[0].scores
    assert {score.measures["recall_T"].value for score in scores} == {None}
    best = max(score.measures["auc"].value or 0.0 for score in scores)
    assert f"had found {best:.0%} of the relevant pages" in comparison_html(comparison)


def test_comparison_html_uses_language_of_reader(comparison: Comparison) -> None:
    set_language("zh")
    try:
        page = comparison_html(comparison)
    finally:
        set_language("en")
    assert '<html lang="zh-CN">' in page
    for words in ("抓取对比", "比值的 95 %", "平均召回率", "个种子不在存档中"):
        assert words in page
    assert '<html lang="en">' in comparison_html(comparison)


def test_self_judging_is_stated_in_all_outputs(web: Path, tmp_path: Path) -> None:
    arguments = ["--strategy", "bfs", "--judge", "boolean", "--relevance", "boolean"]
    table = run(web, *arguments, out=tmp_path)
    assert "self-judged: boolean" in table
    comparison = load_results(tmp_path)
    page = comparison_html(comparison)
    assert "bfs [self-judged]" in page and "their figures flatter them" in page
    assert any("self-judged" in line for line in comparison_lines(comparison))


@cases(
    "arguments, complaint",
    ([], "nothing to compare"),
    (["--strategy", "bfs", "--judge", "position", "--labels", "x"], "exclude each other"),
    (["--strategy", "bfs", "--baseline", "dfs"], "--baseline dfs: is not one of"),
    (["--strategy", "bfs", "--param", "x=1"], "--param x: no strategy or model"),
    (["--strategy", "bfs", "--topic", "x"], "--topic x: not in the topics file"),
)
def test_compare_command_wrong_use_prints_message(
    web: Path, tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        run(web, *arguments, out=tmp_path)
