"""Empty shells: pages on which scripts make what people see are told from pages that are whole."""

from focus.config import AnalysisConfig
from focus.html.parser import parse
from focus.html.shell import MIN_OWN_LINKS, MIN_TEXT_WIDTH, detect_shell
from focus.records import Rendering
from focus.score.analysis import PageScorer
from focus.topic.topic import from_words, to_builtins
from tests.support.cases import cases

SCRIPT = "<script src=/app.js></script>"
TEXT = "昨晚的比赛以二比一结束。" * 40
LINKS = "".join(f"<li><a href=/news/{number}>比赛 {number}</a>" for number in range(MIN_OWN_LINKS))
SHORT = f"<p>{'一个人的博客。' * 15}"
MENU = "<nav>" + "".join(f"<a href=/{number}>栏目</a>" for number in range(30)) + "</nav>"


def detect(body: str, script: str = SCRIPT) -> Rendering:
    source = f"<!doctype html><title>x</title><body>{body}{script}".encode()
    return detect_shell(parse(source), source)


@cases(
    "body, sign",
    ("<div id=app></div>", "empty-root"),
    ("<div id='root'><div class=spinner>Loading…</div></div>", "empty-root"),
    (f"{MENU}<main><div id=__next></div></main><footer>© 2026</footer>", "empty-root"),
    ("<app-root>加载中</app-root>", "empty-root"),
    ("<noscript>You need to enable JavaScript to run this app.</noscript>", "noscript"),
    (f"{MENU}<noscript><p>请启用 JavaScript 后查看</p></noscript>", "noscript"),
    ("<ul><li v-for='n in news'><a :href=n.url>x</a></ul>", "template"),
    ("<h1>News</h1><p>{{ page.title }}</p>", "template"),
    (f"{MENU}<h1>新闻</h1><ul class='news-list'></ul>", "empty-list"),
    (f"{MENU}<div id=articles><p>Loading…</p></div>", "empty-list"),
    ("<canvas></canvas>", "no-text"),
)
def test_detect_shell_signs(body: str, sign: str) -> None:
    assert detect(body) == sign


@cases(
    "body",
    f"<div id=app>{TEXT}</div>",  # drawn by the server
    f"<div id=app></div><article>{TEXT}</article>",
    f"<div id=app></div><ul>{LINKS}</ul>",
    f"<noscript>Please enable JavaScript</noscript><p>{TEXT}",
    "<noscript>Please enable JavaScript to view the comments</noscript>" + SHORT,
    "<noscript>The theme works best with JavaScript enabled</noscript>" + SHORT,
    "<noscript><img src=/pixel></noscript><h1>关于</h1>" + SHORT,
    f"<h1>标签</h1><ul class=list>{LINKS}</ul>",
    "<h1>空</h1><ul class=checklist-empty></ul>" + SHORT,
    "<a href=/next>go on</a>",
)
def test_detect_shell_page_with_content_is_none(body: str) -> None:
    assert detect(body) is Rendering.NONE


def test_detect_shell_page_without_scripts_is_none() -> None:
    assert detect("<div id=app></div>", script="") is Rendering.NONE


def test_detect_shell_ideographs_count_twice() -> None:
    shell = "<div id=app></div>"
    assert detect(shell + "文" * (MIN_TEXT_WIDTH // 2)) is Rendering.NONE
    assert detect(shell + "x" * (MIN_TEXT_WIDTH // 2)) is Rendering.EMPTY_ROOT


def test_page_scorer_reports_shell() -> None:
    analyst = PageScorer(AnalysisConfig(topic=to_builtins(from_words("足球"))))
    page = analyst.score("http://a.test/", f"<div id=app></div>{SCRIPT}".encode(), "text/html")
    assert page.rendering is Rendering.EMPTY_ROOT


@cases(
    "hash_routes, urls, omitted",
    (True, ["http://a.test/#/1", "http://a.test/b/#!/2", "http://a.test/c"], 0),
    (False, ["http://a.test/b/", "http://a.test/c"], 2),
)
def test_page_scorer_reads_routes(hash_routes: bool, urls: list[str], omitted: int) -> None:
    config = AnalysisConfig(topic=to_builtins(from_words("足球")), hash_routes=hash_routes)
    hrefs = ("#/1", "#/1", "#!/" if hash_routes else "#/3", "#top", "/b/#!/2", "/c")
    html = "".join(f"<a href='{href}'>x</a>" for href in hrefs)
    page = PageScorer(config).score("http://a.test/", html.encode(), "text/html")
    assert [link.url for link in page.links] == urls
    assert page.omitted_route_count == omitted
