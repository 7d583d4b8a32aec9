"""The generated web keeps its promises: the same for a seed, real in its shape, true labels."""

import asyncio
import subprocess
import sys
from hashlib import sha256
from urllib.parse import urlsplit

import pytest

from focus.demo.hosts import SUBJECTS, TOPICS
from focus.demo.server import parse_request, serve
from focus.demo.site import DemoWeb, Response, generate
from focus.demo.words import COMMON, PHRASES, TO_TRADITIONAL, WORDS
from tests.support.cases import cases

PORTAL = "http://www.xinlan.example"
EDGE_CASES = (
    "/robots.txt /go/loop /go/pool /go/5 /r/8/2 /ad/1 /index.html /calendar/2018/6/ /online/?sid=1 "
    "/static/1.jpg /files/report-5.pdf /gone-1 /sports /zt"
).split()
CODECS = {"www.jinbao.example": "gbk", "bbs.qiuyou.example": "gbk"}


def get(web: DemoWeb, url: str) -> Response:
    response = web.respond(url)
    assert response is not None
    return response


def page_text(web: DemoWeb, url: str) -> str:
    return get(web, url).body.decode(CODECS.get(urlsplit(url).netloc, "utf-8-sig"))


@pytest.fixture(scope="module")
def web() -> DemoWeb:
    return generate(1)


def test_web_is_determined_by_its_seed(web: DemoWeb) -> None:
    again, second = generate(1), generate(2)
    assert again.urls() == web.urls()
    assert all(again.respond(url) == web.respond(url) for url in web.urls()[::37])
    assert again.labels("足球") == web.labels("足球")
    assert second.urls() != web.urls()


def test_web_of_published_experiments_is_unchanged() -> None:
    """The generated figures of docs/results.md belong to these pages, redirects and traps."""
    web, digest = generate(1, pages=300), sha256()
    for host in web.hosts:
        for path in EDGE_CASES:
            digest.update(repr(web.respond(f"http://{host}{path}")).encode())
    for url in web.urls():
        digest.update(repr((url, web.respond(url))).encode())
    assert digest.hexdigest()[:16] == "f19647b245f4446c"


@pytest.mark.parametrize(
    ("pages", "hosts", "portals"),
    [(1000, 1, 1), (3000, 12, 1), (3000, 10, 10), (3000, 30, 2), (20_000, 12, 1)],
)
def test_web_has_the_requested_pages_and_hosts(pages: int, hosts: int, portals: int) -> None:
    web = generate(3, pages=pages, hosts=hosts, portals=portals)
    assert abs(len(web.urls()) - pages) <= 0.1 * pages
    assert len(set(web.urls())) == len(web.urls())
    assert len(web.hosts) == hosts
    assert {urlsplit(url).netloc for url in web.urls()} == set(web.hosts)
    assert len(web.seeds) >= portals


@pytest.mark.parametrize("wrong", [{"pages": 10}, {"hosts": 0}, {"portals": 13}])
def test_invalid_sizes_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="demo web needs"):
        generate(1, **wrong)


def test_topics_have_pages_and_off_topic_seeds(web: DemoWeb) -> None:
    for topic in TOPICS:
        labels = web.labels(topic)
        assert 0.03 <= sum(labels.values()) / len(web.urls()) <= 0.25
        assert not any(labels.get(seed) for seed in web.seeds)


def test_labels_omit_hubs_forbidden_and_noindex_pages(web: DemoWeb) -> None:
    labels = web.labels("足球")
    assert f"{PORTAL}/sports/football/" in web.hubs("足球")
    assert labels.keys().isdisjoint(web.hubs("足球"))
    assert not any("/inner/" in url for url in labels)
    hidden = [article for article in web.plan.articles if article.noindex]
    assert hidden
    for article in hidden:
        url = web.article_url(article)
        header = ("x-robots-tag", "noindex") in get(web, url).headers
        assert header or '<meta name="robots" content="noindex">' in page_text(web, url)
        assert url not in labels


def test_relevance_is_independent_of_the_head_word(web: DemoWeb) -> None:
    """Titles seldom hold it, some texts never do, and others say it in passing."""
    said, titled, relevant, passing = 0, 0, 0, 0
    for url, label in web.labels("足球").items():
        article = web.article_at(url)
        if article is None:
            continue
        text = page_text(web, url).partition("<article>")[2].partition("</article>")[0]
        relevant += label
        titled += label and "足球" in article.title
        said += label and "足球" in text
        passing += not label and "足球" in text.translate(TO_TRADITIONAL)
    assert 0.15 <= titled / relevant <= 0.35
    assert 0.65 <= said / relevant <= 0.9
    assert passing >= 0.5 * relevant


def test_topic_words_occur_in_intended_texts_only() -> None:
    plain = {key: (*WORDS[key].terms, *WORDS[key].names) for key in WORDS}
    for key, phrases in PHRASES.items():
        lines = (*plain[key], *phrases.titles, *phrases.sentences)
        for topic, subjects in TOPICS.items():
            if topic != "体育" or key not in subjects:
                assert not [line for line in lines if topic in line], (key, topic)
            if topic != "体育" and key in subjects:
                assert all(topic in head for head in WORDS[key].heads)
                for line in (*phrases.head_titles, *phrases.head_sentences, *phrases.mentions):
                    assert topic in line or "{h}" in line
    assert not [line for line in COMMON if any(topic in line for topic in TOPICS)]
    assert set(SUBJECTS) | {"society"} == set(WORDS) == set(PHRASES)


@cases(
    "head",
    b"", b"POST / HTTP/1.1\r\nHost: a.example", b"GET / HTTP/1.1",
    b"GET x HTTP/1.1\r\nHost: a.example", b"GET / HTTP/1.1\r\nHost: [",
    b"GET / SPDY/3\r\nHost: a.example",
)  # fmt: skip
def test_malformed_request_is_none(head: bytes) -> None:
    assert parse_request(head) is None


def test_request_has_host_target_and_etag() -> None:
    request = parse_request(b"GET /a?b HTTP/1.1\r\nHost: WWW.a.example:8080\r\nIf-None-Match: x")
    assert request == ("www.a.example", "/a?b", "x")


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in head[1:] if line)
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return int(head[0].split()[1]), headers, body


async def test_server_keeps_connections_responds_in_order_and_logs(web: DemoWeb) -> None:
    server = await serve(web)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    ask = "GET {} HTTP/1.1\r\nHost: {}\r\n{}\r\n"
    slow, missing = "wenku.shuge.example", "elsewhere.example"
    asked = [("/", slow), ("/", "www.xinlan.example"), ("/nothing", slow), ("/", missing)]
    writer.write("".join(ask.format(path, host, "") for path, host in asked).encode())
    answers = [await answer(reader) for _ in asked]
    assert [status for status, _, _ in answers] == [200, 200, 404, 421]
    assert answers[1][2] == get(web, f"{PORTAL}/").body
    etag = f"If-None-Match: {answers[1][1]['etag']}\r\n"
    writer.write(ask.format("/", "www.xinlan.example", etag).encode())
    assert (await answer(reader))[0] == 304
    writer.write(b"nonsense\r\n\r\n")
    assert (await answer(reader))[0] == 400
    assert await reader.read() == b""
    writer.close()
    assert [(entry.path, entry.host) for entry in server.log[:4]] == asked
    assert server.log[0].elapsed_s >= 0.14
    assert server.log[1].time >= server.log[0].time + server.log[0].elapsed_s
    await server.close()


async def test_endless_request_head_is_cut_off(web: DemoWeb) -> None:
    server = await serve(web)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET / HTTP/1.1\r\nx: " + b"y" * 200_000)
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)
    writer.close()
    await server.close()


def test_server_program_prints_its_port_and_ends_with_its_parent() -> None:
    command = [sys.executable, "-m", "focus.demo.server", "--pages", "100"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        ready = child.stdout.readline().decode()
        assert ready.startswith("READY http://127.0.0.1:")
        status, body = asyncio.run(fetch_once(int(ready.rpartition(":")[2])))
        assert status == 200
        assert "新澜网".encode() in body
        child.stdin.close()
        assert child.wait(timeout=600) == 0


async def fetch_once(port: int) -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: www.xinlan.example\r\n\r\n")
    status, _, body = await answer(reader)
    writer.close()
    return status, body
