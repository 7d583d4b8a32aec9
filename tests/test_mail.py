"""Messages reach a real mail server as mails that people and servers can read."""

import asyncio
import base64
import email
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from email.header import decode_header
from email.message import EmailMessage
from email.policy import compat32, default
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from focus.alerts.delivery import Delivered, DeliveryOutcome, NotDelivered, mail
from focus.alerts.delivery.mail import Mailer, compose
from focus.alerts.message import Message, compose_message, plain_message, split_snippet
from focus.alerts.settings import MailSettings, parse_mail_url
from focus.storage.alerts.records import Alert, MessagePart, OutboxLease
from tests.hostile.secure import authority
from tests.support.cases import cases
from tests.support.outbox import NOON, M, OutboxFixture, hit

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:aiosmtpd.*",
    "ignore:Requiring AUTH while not requiring TLS",  # it does not see TLS from the first byte
)

SENDER, ME = "focus@a.test", "me@b.test"
LOCAL = "smtp://127.0.0.1:{port}"


class Server:
    """A mail server that takes everything, or says to a step what it was told."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.raw: list[bytes] = []
        self.replies: dict[str, list[str]] = {"MAIL": [], "RCPT": [], "DATA": []}
        self.logins: list[tuple[bytes, bytes]] = []
        self.connections = 0
        self.port = 0

    def _said(self, step: str) -> str | None:
        return self.replies[step].pop(0) if self.replies[step] else None

    async def handle_EHLO(self, server: SMTP, session: Any, envelope: Any, hostname: str) -> str:
        self.connections += 1
        session.host_name = hostname
        return "250 HELP"

    async def handle_MAIL(self, _: Any, __: Any, envelope: Any, address: str, *more: Any) -> str:
        envelope.mail_from = address
        return self._said("MAIL") or "250 OK"

    async def handle_RCPT(self, _: Any, __: Any, envelope: Any, address: str, *more: Any) -> str:
        if said := self._said("RCPT"):
            return said
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Any, envelope: Any) -> str:
        if said := self._said("DATA"):
            return said
        self.raw.append(envelope.content)
        self.mails.append(parsed(envelope.content))
        return "250 taken"

    def login(self, server: SMTP, session: Any, envelope: Any, how: str, data: Any) -> Any:
        assert isinstance(data, LoginPassword)
        self.logins.append((data.login, data.password))
        return AuthResult(success=data.password == b"right", handled=False)

    @asynccontextmanager
    async def running(self, *, tls: Any = None, **options: Any) -> AsyncIterator[None]:
        """On a port of its own; `tls` (a context) from the first byte on."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: SMTP(self, loop=loop, hostname="mail.test", **options),
            "127.0.0.1", 0, ssl=tls,
        )  # fmt: skip
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()

    def settings(self, text: str = LOCAL) -> MailSettings:
        return parse_mail_url(text.format(port=self.port), SENDER)

    async def take(self, *messages: Message, url: str = LOCAL) -> list[DeliveryOutcome]:
        """What becomes of these messages over one connection."""
        mailer = Mailer(self.settings(url))
        try:
            return [await mailer.deliver(item, ME, now=NOON) for item in messages]
        finally:
            await mailer.close()


@pytest.fixture
def server() -> Server:
    return Server()


def parts(*names: str, urls: int = 2, **fields: Any) -> list[MessagePart]:
    result = []
    for number, name in enumerate(names, 1):
        address, first = f"https://a.test/{number}/", 10 * number
        hits = [hit(number, f"{address}{n}", id=first + n, **fields) for n in range(urls)]
        result.append(
            MessagePart(Alert(name, ("https://a.test/",)), number, hits, urls, {first: 4})
        )
    return result


def message(*names: str, language: str = "zh", unsubscribe: str = "", **fields: Any) -> Message:
    pages = parts(*(names or ("足球",)), **fields)
    claim = OutboxLease("f00d", 1, f"mail:{ME}", language, "Asia/Shanghai", 0, pages)
    base_url = "https://focus.test" if unsubscribe else ""
    return compose_message(claim, base_url=base_url, unsubscribe=unsubscribe)


# -- the mail itself ----------------------------------------------------------------


async def test_digest_sent_over_smtp_has_text_and_html(server: Server, here: OutboxFixture) -> None:
    football, travel = here.alert("足球", f"mail:{ME}"), here.alert("旅游", f"mail:{ME}")
    here.finds(football, "http://a.test/1", published_at=NOON - 86400)
    here.finds(travel, "http://a.test/2", "http://a.test/3")
    here.base_url = "https://focus.test"
    async with server.running():
        here.mail = server.settings()
        assert (await here.deliver()).items == 3
        assert (await here.deliver()).items == 0
    (got,) = server.mails
    assert got["Subject"] == "3 篇新页面（足球、旅游）"
    assert (got["From"], got["To"]) == (f"focus <{SENDER}>", ME)
    assert got["Message-ID"] == f"<{here.column('SELECT batch FROM outbox')[0]}@a.test>"
    assert got["Date"].datetime.timestamp() == NOON
    assert (got["Auto-Submitted"], got["Precedence"]) == ("auto-generated", "bulk")
    assert re.fullmatch(r"<https://focus\.test/unsubscribe/[\w-]{32}>", got["List-Unsubscribe"])
    assert got["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    plain, html = (got.get_body((kind,)) for kind in ("plain", "html"))
    text = plain.get_content()
    assert text.index("== 足球 ==") < text.index("http://a.test/1") < text.index("== 旅游 ==")
    assert "a.test · 发布于 2026-11-20 17:00" in text and "今天足球决赛" in text
    assert "今天<mark>足球</mark>决赛" in html.get_content()
    assert b"\r\n" in server.raw[0]
    assert server.raw[0].isascii(), "no 8bit for servers that cannot take it"
    assert max(map(len, server.raw[0].split(b"\r\n"))) <= 998


def test_unsubscribe_field_with_long_url_is_one_line() -> None:
    link = "https://focus.test/" + "a" * 300
    result = compose(message(unsubscribe=link), ME, SENDER, now=NOON)
    assert f"\r\nList-Unsubscribe: <{link}>\r\n".encode() in result.data
    assert link in message(unsubscribe=link).text


def test_message_composed_twice_has_the_same_id() -> None:
    first, again = (parsed(compose(message(), ME, SENDER, now=NOON).data) for _ in range(2))
    assert first["Message-ID"] == again["Message-ID"] == "<f00d@a.test>"
    assert message() == message()


def test_mail_without_base_url_has_no_unsubscribe_link() -> None:
    mail = parsed(compose(message(), ME, SENDER, now=NOON).data)
    assert mail["List-Unsubscribe"] is mail["List-Unsubscribe-Post"] is None
    assert "focus.test" not in message().html + message().text


@cases(
    "language, names, urls, subject",
    ("zh", ("足球",), 1, "足球：标题 0"),
    ("zh", ("足球",), 3, "足球：3 篇新页面"),
    ("en", ("football",), 1, "football: 标题 0"),
    ("en", ("football", "travel"), 2, "4 new pages (football, travel)"),
    ("fr", ("football",), 2, "football: 2 new pages"),
)
def test_message_subject(language: str, names: tuple[str, ...], urls: int, subject: str) -> None:
    assert message(*names, language=language, urls=urls).subject == subject


def test_digest_with_hidden_pages_counts_them() -> None:
    (part,) = parts("足球")
    claim = OutboxLease("f00d", 1, ME, "en", "UTC", 0, [part._replace(total=9)])
    with_pages = compose_message(claim, base_url="https://focus.test")
    assert "and 7 more in the inbox" in with_pages.text
    assert "and 7 more in the inbox" in with_pages.html
    assert "+4 similar" in with_pages.text
    assert with_pages.subject == "足球: 9 new pages"


def test_message_without_pages_raises() -> None:
    with pytest.raises(AssertionError, match="empty"):
        compose_message(OutboxLease("f00d", 1, ME, "en", "UTC", 0, []))


class Markup(HTMLParser):
    """The tags of a page, and everything in it that would ask for something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.asks: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        names = {name for name, _ in attrs}
        if tag in ("img", "script", "link", "iframe", "object", "form", "svg", "base"):
            self.asks.append(tag)
        self.asks += sorted(names & {"src", "srcset", "background", "style", "onclick"})
        self.asks += [v for k, v in attrs if k == "href" and not (v or "").startswith("http")]


def test_html_with_markup_in_titles_is_escaped() -> None:
    evil = "<script>alert(1)</script><img src=x onerror=y>\"'&"
    result = message(
        evil, title=evil, snippet=f"{evil}{M}{evil}{M}", unsubscribe="https://f.test/u"
    )
    markup = Markup(result.html)
    assert not markup.asks
    assert "url(" not in result.html and "@import" not in result.html
    assert markup.tags.count("mark") == 2
    assert "&lt;script&gt;" in result.html and "prefers-color-scheme:dark" in result.html


def test_html_with_javascript_url_has_no_link() -> None:
    odd = parts("a", urls=1)
    odd[0].matches[0] = hit(1, "javascript:alert(1)")
    result = compose_message(OutboxLease("f00d", 1, ME, "en", "UTC", 0, odd))
    assert "href" not in result.html


def parsed(data: bytes) -> EmailMessage:
    """A mail as the parser of the standard library reads it."""
    return email.message_from_bytes(data, policy=default)


def raw_header(data: bytes) -> dict[str, str]:
    """The fields of a mail as they were written, unfolded and not decoded."""
    mail = email.message_from_bytes(data, policy=compat32)
    return {name: value.replace("\r\n", "") for name, value in mail.items()}


def decoded(value: str) -> str:
    """The text of an unfolded field (RFC 2047)."""
    return "".join(
        part if isinstance(part, str) else part.decode(charset or "ascii")
        for part, charset in decode_header(value)
    )


FIELDS = [
    "From", "To", "Date", "Message-ID", "Auto-Submitted", "Precedence", "X-Auto-Response-Suppress",
    "Subject", "MIME-Version", "Content-Type",
]  # fmt: skip


def check_subject(title: str) -> None:
    """Compose a mail with this subject; fail unless it arrives and nothing else is different."""
    words = Message("f00d", "en", title, "text\n", "<p>text</p>")
    data = compose(words, ME, SENDER, now=NOON).data
    header = raw_header(data)
    assert sorted(header) == sorted(FIELDS)
    assert decoded(header["Subject"]) == title
    assert parsed(data).get_content_type() == "multipart/alternative"
    bodies = [part.get_content().strip() for part in parsed(data).iter_parts()]
    assert bodies == ["text", "<p>text</p>"]
    lines = data.partition(b"\r\n\r\n")[0].decode("ascii").split("\r\n")
    assert max(map(len, lines)) <= 78
    assert all(line.strip() for line in lines)
    for word in re.findall(r"=\?utf-8\?b\?\S*?\?=", header["Subject"]):
        assert len(word) <= 75
        base64.b64decode(word[10:-2], validate=True).decode()  # whole characters


HOSTILE_SUBJECTS = [
    "football =?utf-8?q?x=0D=0AReply-To:_e@a.test=0D=0A=0D=0A<b>pay_here?=",
    "=?utf-8?b?DQpCY2M6IHhAYS50ZXN0?=", "=?utf-8?q?half", "a =?= b ?= c",
    "=?iso-8859-1?q?a?= =?iso-8859-1?q?b?=",
    "欧冠: 2026 中 U23 2026 中 的 中 a 北京 GPT-5 北京 上市 first U23 U23 Nov in", "a 中 " * 30,
    "two  spaces", " at both ends ", "", " ", "a" * 60, "a" * 61, "a" * 300, "中" * 300, "ü" * 299,
    "🏆⚽️👨‍👩‍👧" * 20, "word " * 40 + "end", "x, y; \"z\" <b@c.test> (d) \\", "Bcc: x@a.test",
]  # fmt: skip


@pytest.mark.parametrize("title", HOSTILE_SUBJECTS)
def test_subject_of_any_title_decodes_to_the_title(title: str) -> None:
    check_subject(title)


@given(
    st.lists(
        st.sampled_from(
            ["=?utf-8?q?", "?=", "=0D=0A", "=?", " ", "  ", "a", "中", "🏆", "Bcc: x@a.test", ":"]
        )
        | st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"])),
        max_size=40,
    ).map("".join)
)
def test_subject_of_generated_title_decodes_to_the_title(title: str) -> None:
    check_subject(title)


@pytest.mark.parametrize("bad", ["\r", "\n", "\r\nBcc: x@a.test", "\0", "\x1b", "\x85", "\ud800"])
@pytest.mark.parametrize("field", ["subject", "unsubscribe", "id"])
def test_control_character_in_any_field_is_refused(field: str, bad: str) -> None:
    fine = message(unsubscribe="https://focus.test/u")
    broken = structs.replace(fine, **{field: f"a{bad}b 中"})
    with pytest.raises(ValueError, match=r"."):
        compose(broken, ME, SENDER, now=NOON)


async def test_mail_that_cannot_be_written_leaves_the_others(server: Server) -> None:
    bad = structs.replace(message(), subject="a\r\nb")
    async with server.running():
        outcomes = await server.take(message(), bad, message())
    assert [type(outcome) for outcome in outcomes] == [Delivered, NotDelivered, Delivered]
    assert outcomes[1] == NotDelivered("Subject: it contains a control character", retry=False)


def test_header_with_line_breaks_adds_no_field() -> None:
    tricky = "足球\r\nBcc: x@evil.test\n\nbody \u202egnp"
    result = message(tricky, title=tricky, urls=1, language="en")
    mail = parsed(compose(result, ME, SENDER, now=NOON).data)
    assert mail["Bcc"] is None
    assert "Bcc: x@evil.test" in mail["Subject"], "as words of the subject only"
    assert "\u202e" not in result.subject + result.text + result.html


@cases(
    "address",
    "a@b.test\r\nBcc: x@evil.test", "", "nobody", "a@", "a b@c.test", "a..b@c.test",
    "a@b.test,x@evil.test", "a(b)@c.test", "=?utf-8?q?a=0D=0A?= <b@c.test>", "a@" + "界" * 70,
    "a" * 1000 + "@b.test",
)  # fmt: skip
def test_bad_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        compose(message(), address, SENDER, now=NOON)


@pytest.mark.parametrize("address", ["o'hara+focus=x@b.test", '"a b"@b.test', "a@[127.0.0.1]"])
def test_unusual_address_is_written_as_it_stands(address: str) -> None:
    result = compose(message(), address, SENDER, now=NOON)
    assert result.recipient == raw_header(result.data)["To"] == address
    assert len(parsed(result.data)["To"].addresses) == 1


@cases(
    "snippet, cut",
    (f"a{M}b{M}c", ("a", "b", "c")),
    (f"{M}b{M}", ("", "b", "")),
    (f"a{M}b", ("ab",)),
    (f"a{M}b{M}c{M}d", ("a", "b", "cd")),
    ("a\x1b[31m\nb", ("a [31m b",)),
    ("", ("",)),
)
def test_snippet_with_marks_is_split(snippet: str, cut: tuple[str, ...]) -> None:
    assert split_snippet(snippet) == cut


def test_address_with_idn_domain_is_written_in_ascii() -> None:
    result = compose(message(), "me@例子.test", "focus@例子.test", now=NOON)
    assert result.recipient == raw_header(result.data)["To"] == "me@xn--fsqu00a.test"
    assert raw_header(result.data)["From"] == "focus <focus@xn--fsqu00a.test>"


@pytest.mark.parametrize("knows", [True, False])
async def test_non_ascii_local_part_needs_smtputf8(server: Server, knows: bool) -> None:
    async with server.running(enable_SMTPUTF8=knows):
        mailer = Mailer(server.settings())
        outcome = await mailer.deliver(message(), "我@b.test", now=NOON)
        await mailer.close()
    if knows:
        assert isinstance(outcome, Delivered)
        assert "\r\nTo: 我@b.test\r\n".encode() in server.raw[0]
    else:
        assert isinstance(outcome, NotDelivered) and not outcome.retry


# -- the mail server ----------------------------------------------------------------


async def test_several_mails_share_one_connection(server: Server) -> None:
    async with server.running():
        outcomes = await server.take(message(), message(), message())
    assert all(isinstance(outcome, Delivered) for outcome in outcomes)
    assert (len(server.mails), server.connections) == (3, 1)


@cases(
    "step, reply, retry, everyone",
    ("RCPT", "550 5.1.1 no such user", False, False),
    ("RCPT", "450 4.2.0 greylisted, come back", True, False),
    ("DATA", "554 5.7.1 looks like spam", False, False),
    ("DATA", "452 4.3.1 disk full", True, False),
    ("DATA", "421 4.3.2 shutting down", True, False),
    ("MAIL", "530 5.7.0 log in first", True, True),
)
async def test_refusal_by_step_and_code_decides_about_retry(
    server: Server, step: str, reply: str, retry: bool, everyone: bool
) -> None:
    server.replies[step].append(reply)
    async with server.running():
        refused, after = await server.take(message(), message())
    assert isinstance(refused, NotDelivered)
    assert (refused.retry, refused.blocks_channel) == (retry, everyone)
    assert reply in refused.reason
    assert isinstance(after, Delivered), "the next one is not harmed"
    assert len(server.mails) == 1


async def take_from(
    server: Server, handler: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
) -> DeliveryOutcome:
    """What becomes of a message to a mail server that this function acts out."""
    async with await asyncio.start_server(handler, "127.0.0.1", 0) as listening:
        server.port = listening.sockets[0].getsockname()[1]
        (outcome,) = await server.take(message())
        return outcome


async def test_mail_accepted_before_disconnect_is_delivered(server: Server) -> None:
    """The server accepts the data and is gone before anybody could say goodbye."""

    async def abrupt(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 hi\r\n")
        for answer in (b"250 hi\r\n", b"250 ok\r\n", b"250 ok\r\n", b"354 go\r\n"):
            await reader.readline()
            writer.write(answer)
        await reader.readuntil(b"\r\n.\r\n")
        writer.write(b"250 taken\r\n")
        await writer.drain()
        writer.close()

    assert isinstance(await take_from(server, abrupt), Delivered)


@pytest.mark.parametrize("answers", range(4))
async def test_silent_server_at_any_step_is_interrupted(
    server: Server, monkeypatch: pytest.MonkeyPatch, answers: int
) -> None:
    """Wherever it does: before its greeting, too."""
    monkeypatch.setattr(mail, "DEADLINE_S", 0.2)
    monkeypatch.setattr(mail, "TIMEOUT_S", 3600.0)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for line in (b"220 hi", *[b"250 hi"] * 2)[:answers]:
            writer.write(line + b"\r\n")
            await reader.readline()
        await reader.read()
        writer.close()

    outcome = await take_from(server, silent)
    assert isinstance(outcome, NotDelivered) and outcome.retry


async def test_unreachable_server_blocks_the_channel(server: Server) -> None:
    server.port = 1  # nobody listens there
    (outcome,) = await server.take(message())
    assert isinstance(outcome, NotDelivered)
    assert (outcome.retry, outcome.blocks_channel) == (True, True)
    assert outcome.reason == "mail server 127.0.0.1:1: Connection refused"
    outcome = await Mailer(None).deliver(message(), ME, now=NOON)
    assert outcome == NotDelivered(mail.NO_MAIL_SERVER, blocks_channel=True)


async def test_mail_retried_after_failure_keeps_its_id(server: Server, here: OutboxFixture) -> None:
    here.finds(here.alert("足球", f"mail:{ME}"), "http://a.test/1")
    server.replies["DATA"] = ["451 4.3.0 later"]
    async with server.running():
        here.mail = server.settings()
        assert (await here.deliver()).waiting == 1
        here.clock.now += 70
        assert (await here.deliver()).sent == 1
    assert server.mails[0]["Message-ID"] == f"<{here.column('SELECT batch FROM outbox')[0]}@a.test>"


# -- encryption ---------------------------------------------------------------------


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    authority().write_certificate(tmp_path / "ca.pem")
    return tmp_path / "ca.pem"


def offered() -> ssl.SSLContext:
    return authority().context("good", "127.0.0.1")


@pytest.mark.parametrize("scheme", ["smtps", "smtp"])
@pytest.mark.parametrize("password", ["right", "wrong"])
async def test_login_over_tls_reports_success_or_failure(
    server: Server, certificate: Path, scheme: str, password: str
) -> None:
    at_once = {"tls": offered()} if scheme == "smtps" else {}
    later = {} if at_once else {"tls_context": offered(), "require_starttls": True}
    url = f"{scheme}://me:{password}@127.0.0.1:{{port}}?ca={certificate}"
    url += "" if at_once else "&starttls=on"
    login = {"authenticator": server.login, "auth_required": True, "auth_require_tls": not at_once}
    async with server.running(**at_once, **later, **login):
        (outcome,) = await server.take(message(), url=url)
    assert server.logins[0] == (b"me", password.encode())
    if password == "right":
        assert isinstance(outcome, Delivered)
    else:
        assert isinstance(outcome, NotDelivered) and outcome.blocks_channel
        assert "535" in outcome.reason and "wrong" not in outcome.reason


@pytest.mark.parametrize(("has_tls", "reason"), [(True, "certificate"), (False, "STARTTLS")])
async def test_untrusted_certificate_or_missing_starttls_is_refused(
    server: Server, has_tls: bool, reason: str
) -> None:
    async with server.running(tls_context=offered() if has_tls else None):
        (outcome,) = await server.take(message(), url=f"{LOCAL}?starttls=on")
    assert isinstance(outcome, NotDelivered) and reason in outcome.reason
    assert not server.mails


async def test_plain_message_arrives_as_text_and_html(server: Server) -> None:
    link = "https://a.test/?a=1&b=2"
    note = plain_message("1", "en", subject="Reset\r\nBcc: x", body="Open <this>:", link=link)
    async with server.running():
        await server.take(note)
    (got,) = server.mails
    assert got["Subject"] == "Reset Bcc: x"
    plain, html = (got.get_body((kind,)).get_content() for kind in ("plain", "html"))
    assert plain.splitlines() == ["Open <this>:", "", link]
    assert "<p>Open &lt;this&gt;:</p>" in html
    assert '<p><a href="https://a.test/?a=1&amp;b=2">' in html
