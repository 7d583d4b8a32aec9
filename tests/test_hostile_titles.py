"""A page's title stays text in every output: no syntax of a receiver is found in it."""

import csv
import email
import html
import io
import json
import logging
import sqlite3
import sys
import unicodedata
from collections.abc import Callable
from email.header import decode_header
from email.policy import compat32
from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest
from rich.console import Console
from rich.text import Text

from focus.alerts.delivery import apprise, feed, mail, sms, sms_gateway, webhook
from focus.alerts.message import Message, compose_message
from focus.commands import progress_bar
from focus.commands.crawl_log import TextLog
from focus.commands.crawl_progress import page_line
from focus.commands.watch_output import match_lines
from focus.crawler import Event
from focus.i18n import Msg, decode_message, encode_message, msg, translate
from focus.records import UrlState
from focus.report.export import write_csv, write_jsonl
from focus.storage.alerts.records import Alert, MessagePart, OutboxLease
from focus.storage.search_terms import parse_query as read_query
from focus.text.formatting import printable
from focus.text.templates import make_environment
from focus.text.tokenisation import Segmenter
from focus.topic.topic import Keyword, Topic, from_toml
from focus.topic.topic_file import to_toml
from tests.support.outbox import NOON, hit

TITLES = {
    "encoded word with line breaks": "=?utf-8?q?x=0D=0AReply-To:_e@a.test=0D=0A=0D=0A<b>pay?=",
    "encoded word, base64": "=?utf-8?b?DQpCY2M6IGVAYS50ZXN0?=",
    "header line": "a\r\nBcc: e@a.test\r\n\r\nbody",
    "line feed": "a\nb",
    "NUL": "a\0b",
    "mixed scripts": "2026 中 U23 2026 中 的 中 a 北京 GPT-5 北京 上市 first",
    "long word": "a" * 300,
    "emoji": "⚽️ 🏆 👨‍👩‍👧 é",
    "end of data": "\r\n.\r\nMAIL FROM:<e@a.test>",
    "address": "x, y; \"z\" <e@a.test> (d) \\",
    "script": "<script>alert(1)</script><img src=x onerror=y>",
    "end of CDATA and DTD": "]]><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>&b;",
    "entities": "&lt;b&gt; &amp;amp; &#0; &#x1b;",
    "XML control characters": "a\x01\x0b\x0c\x1f\ufffe\uffffb",
    "formula": "=HYPERLINK(\"http://e.test\")",
    "formula after a semicolon": "x;=1+cmd|' /C calc'!A0",
    "formula after a quotation mark": "x;\"=1+1;\"",
    "formula of other signs": "+1-@SUM(1)",
    "wide formula": "＝1+1",
    "comma, quotation marks, tab": "a,\"b\",'c'\td",
    "terminal colour": "\x1b[31mred\x1b]8;;http://e.test\x07link\x1b]8;;\x07",
    "C1 control characters": "\x9b31mred\x85next",
    "bidirectional marks": "a\u202egnp.exe\u2066b\u200f",
    "line separators": "a\u2028b\u2029c",
    "rich markup": "[red]a[/red] [link=http://e.test]b[/link] [/] :smile:",
    "Markdown": "[click](http://e.test) **b** `c` ![i](http://e.test/i.png)\n# h",
    "format fields": "{0} {x} {x.__class__} {{}} {phone} {text} {title!r}",
    "percent signs": "%s %d %(name)s %% %Y-%m-%d %n",
    "template": "{{ 7 * 7 }}{% raw %}${7*7}",
    "search syntax": "\"a\" NEAR(b, 2) title:* OR -c ^d",
    "stored message": '{"id":"{x.__class__}","values":{"x":"y"}}',
    "JSON": '", "title": "x\\u0000"}',
    "mention": "@everyone <!channel> <@123>",
    "TOML": "\"\"\"\n[params]\nx = '''",
    "half of a surrogate pair": "a\ud800b",
    "zero width": "a\u200bb\u200c\u200d\ufeff\u2060\u00adc",
    "very long": "足球 " * 20_000,
}  # fmt: skip


def message_about(title: str) -> Message:
    """A message that names the title as alert and as page, in a subject and in a snippet."""
    match = hit(1, "https://a.test/1", title=title, snippet=title)
    part = MessagePart(Alert(title, ("https://a.test/",)), 1, [match], 1, {})
    return compose_message(OutboxLease("f00d", 1, "mail:me@b.test", "en", "UTC", 0, [part]))


def is_inert(text: str) -> bool:
    """Whether a terminal shows a text and does nothing else."""
    return all(unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in text)


class Tags(HTMLParser):
    """The tags of an HTML text and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def check_mail(title: str) -> None:
    message = message_about(title)
    data = mail.compose(message, "me@b.test", "focus@a.test", now=NOON).data
    harmless = mail.compose(message_about("a"), "me@b.test", "focus@a.test", now=NOON).data
    parsed, expected = (email.message_from_bytes(m, policy=compat32) for m in (data, harmless))
    assert sorted(parsed.keys()) == sorted(expected.keys())
    assert parsed.get_content_type() == "multipart/alternative"
    assert len(parsed.get_payload()) == 2
    subject = "".join(
        part if isinstance(part, str) else part.decode(charset or "ascii")
        for part, charset in decode_header(parsed["Subject"].replace("\r\n", ""))
    )
    assert subject == message.subject
    assert is_inert(subject)
    assert b"\r\n.\r\n" not in data
    text = parsed.get_payload()[0].get_payload(decode=True).decode()
    assert text.replace("\r\n", "\n") == message.text.replace("\r\n", "\n")


def check_html(title: str) -> None:
    page, harmless = Tags(message_about(title).html), Tags(message_about("a").html)
    assert page.tags == harmless.tags
    assert printable(title) in page.text


def check_feed(title: str) -> None:
    entry = feed.Entry("urn:uuid:2", title, hit(1, "https://a.test/1", title=title, snippet=title))
    document = feed.atom_document(feed.FeedHead("urn:uuid:1", title, "en", NOON), [entry])
    assert b"<!" not in document
    root = ElementTree.fromstring(document)
    atom = "{http://www.w3.org/2005/Atom}"
    (atom_entry,) = root.findall(f"{atom}entry")
    assert atom_entry.findtext(f"{atom}title") == printable(title)
    summary = Tags(atom_entry.findtext(f"{atom}summary") or "")
    assert summary.tags == []
    assert len(root) == 6


def check_csv(title: str) -> None:
    file = io.BytesIO()
    title = title.encode("utf-8", "replace").decode()
    write_csv([("https://a.test/", title), ("b", "c")], {"url": str, "title": str}, file)
    text = file.getvalue().decode()
    for separator in ",;\t":
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            assert not any(cell.startswith(tuple("=+-@＝＋－＠")) or "\x1b" in cell for cell in row)
    assert [len(row) for row in csv.reader(io.StringIO(text, newline=""))] == [2, 2, 2]


def check_json_lines(title: str) -> None:
    file = io.BytesIO()
    title = title.encode("utf-8", "replace").decode()
    write_jsonl([(title,)], {"title": str}, file)
    text = file.getvalue().decode()
    assert json.loads(text)["title"] == title
    assert len(text.splitlines()) == 1
    assert "\x1b" not in text and "\x9b" not in text


def check_terminal(title: str) -> None:
    for line in match_lines(hit(1, "https://a.test/", title=title, snippet=title), ZoneInfo("UTC")):
        assert is_inert(line)
    event = Event(1, 0.0, "https://a.test/", UrlState.DONE, title=title)
    assert is_inert(page_line(event))
    assert printable(title, 60) in page_line(event)
    file = io.StringIO()
    console = Console(file=file, width=1000, markup=False, emoji=False, highlight=False)
    console.print(Text(page_line(event)), soft_wrap=True)
    assert file.getvalue() == page_line(event) + "\n"


def check_log(title: str) -> None:
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    handler.setLevel(logging.DEBUG)
    TextLog([handler]).event(Event(1, 0.0, "https://a.test/", UrlState.DONE, title=title))
    line, end = log.getvalue().split("\n")
    assert is_inert(line) and not end


def check_webhook(title: str) -> None:
    body = json.loads(webhook.payload(message_about(title)))
    (alert,) = body["data"]["alerts"]
    (item,) = alert["items"]
    assert item["title"] == printable(title, 240)
    assert alert["name"] == printable(title)


GATEWAYS = [
    'url = "https://s.test/?to={phone}&text={text}"',
    'url = "https://s.test/"\nform = {to = "{phone}", text = "{text}"}',
    'url = "https://s.test/"\njson = {to = "{phone}", text = "{text}"}',
    'url = "https://s.test/?to={phone}&text={text}"\nheaders = {X-Text = "{text}"}',
]


def check_sms(title: str) -> None:
    text = sms.shorten_message(message_about(title), "", 500)
    for gateway in GATEWAYS:
        parsed = sms_gateway.parse_gateway(gateway)
        request = sms_gateway.build_request(parsed, "+123", text)
        assert not [value for value in request.headers.values() if set(value) & set("\r\n\0")]
        if request.body.startswith(b"{"):
            fields = json.loads(request.body)
        else:
            encoded = request.body.decode() or urlsplit(request.url).query
            fields = {name: value for name, (value,) in parse_qs(encoded).items()}
        assert fields == {"to": "+123", "text": text}


def check_apprise(title: str) -> None:
    library = pytest.importorskip("apprise")
    from apprise.conversion import convert_between

    text = apprise.without_mentions(message_about(title).text)
    assert text.replace("\u200b", "") == message_about(title).text
    assert "@everyone" not in text and "<!" not in text and "<@" not in text
    formats = library.NotifyFormat
    page = Tags(convert_between(formats.TEXT, formats.HTML, text))
    assert set(page.tags) <= {"br"}
    markdown = convert_between(formats.TEXT, formats.MARKDOWN, text)
    page = Tags(convert_between(formats.MARKDOWN, formats.HTML, markdown))
    assert not {"a", "img", "h1", "strong", "code", "script"} & set(page.tags)


def check_template(title: str) -> None:
    text = "<p title=\"{{ title }}\">{{ title }}{{ _('focus: %(name)s', name=title) }}</p>"
    template = make_environment("focus.serve").from_string(text)
    page = Tags(template.render(title=title, lang="zh"))
    assert page.tags == ["p"]
    assert page.text.count(html.unescape(html.escape(title))) == 2


def check_message(title: str) -> None:
    line = msg("{name}: {title}", name=title, title=title)
    assert translate(line, "zh") == f"{title}：{title}"
    assert translate(line, "en") == f"{title}: {title}"
    title = title.encode("utf-8", "replace").decode()
    assert translate(decode_message(encode_message(title)), "zh") == title
    again = decode_message(encode_message(msg("{name}: {title}", name=title, title=title)))
    assert isinstance(again, Msg) and again == f"{title}: {title}"


def check_search(title: str) -> None:
    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE VIRTUAL TABLE text_index USING fts5(title)")
        try:
            query = read_query(title, Segmenter())
        except Exception as error:
            assert type(error).__name__ == "ConfigError"
            return
        db.execute("SELECT * FROM text_index WHERE text_index MATCH ?", (query.expression,))


def check_topic_file(title: str) -> None:
    title = printable(title)
    topic = Topic(name=title, keywords=(Keyword(title, 1.0),), sources={title: title})
    assert from_toml(to_toml(topic), "x").sources == {title: title}
    assert from_toml(to_toml(topic), "x").name == title


CHECKS: list[Callable[[str], None]] = [
    check_mail, check_html, check_feed, check_csv, check_json_lines, check_terminal, check_log,
    check_webhook, check_sms, check_apprise, check_template, check_message,
    check_search, check_topic_file,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::DeprecationWarning:apprise.*")
@pytest.mark.parametrize("name", TITLES)
@pytest.mark.parametrize("check", CHECKS)
def test_hostile_title_stays_text(check: Callable[[str], None], name: str) -> None:
    check(TITLES[name])


class Terminal(io.StringIO):
    """A text stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_bar_shows_markup_and_fields_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar.show_progress("[red]{0} {x}[/red]") as move:
        move(1.0, 2.0)
    assert "[red]{0} {x}[/red]" in stream.getvalue()
