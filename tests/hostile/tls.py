# ruff: noqa: E501 - a table reads best with a line or two for each behaviour
"""Certificates that are not good, handshakes that never end, and TLS that breaks off."""

from tests.hostile.case import (
    HEAD,
    MIB,
    OK,
    Case,
    Expect,
    Script,
    Talk,
    endless,
    failed,
    markup,
    page,
    raw,
)
from tests.hostile.secure import Secured

_PAGE = markup("secured").encode()
_LENGTH = b"Content-Length: %d\r\n" % len(_PAGE)
_GOOD = Expect(title="secured", after=False)
_SHUT = Expect(failed("host-given-up"), tries=0, bytes=2 * MIB)
"""No request is made, and what the same host has in plain HTTP is still crawled."""
_CUT = Expect(failed("tls", "reset", "protocol"), tries=6, bytes=MIB)


def _record(kind: int, body: bytes) -> bytes:
    return bytes([kind, 3, 3]) + len(body).to_bytes(2) + body


def _message(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + len(body).to_bytes(3) + body


def _server_hello(version: bytes) -> bytes:
    """With ECDHE-RSA-AES128-GCM-SHA256, which every client of 1.2 has offered."""
    return _record(0x16, _message(2, version + bytes(32) + b"\0\xc0\x2f\0"))


def _secured(id: str, does: str, kind: str, script: Script, expect: Expect) -> Case:
    """TLS with a certificate of that kind."""
    return Case(f"tls-{id}", does, script, expect, url="https://{host}/x", tls=kind)


def _certificate(id: str, does: str, kind: str, expect: Expect = _SHUT) -> Case:
    return _secured(id, does, kind, page("secured"), expect)


def _hello(id: str, does: str, script: Script, expect: Expect = _SHUT) -> Case:
    """This is what comes of a ClientHello."""
    return Case(f"tls-{id}", does, OK, expect, url="https://{host}/x", hello=script)


def _beneath(data: bytes) -> Script:
    """Half a page, and then bytes that are no TLS."""

    async def script(talk: Talk) -> None:
        await talk.send(HEAD + b"Content-Length: 9999\r\n\r\n" + _PAGE)
        if isinstance(talk.writer, Secured):
            talk.writer.write_bare(data)
        await talk.hang()

    return script


def _goodbye(head: bytes, body: bytes) -> Script:
    """A page, and then close_notify."""

    async def script(talk: Talk) -> None:
        await talk.send(head + b"\r\n" + body)
        if isinstance(talk.writer, Secured):
            talk.writer.say_goodbye()

    return script


CASES = [
    _certificate("good", "shows a good certificate", "good", _GOOD),
    _certificate("1-2", "speaks TLS 1.2 at most", "tls-1.2", _GOOD),
    _certificate("expired", "shows a certificate of last week", "expired"),
    _certificate("early", "shows a certificate of next week", "early"),
    _certificate("self-signed", "shows a certificate that it signed itself", "self-signed"),
    _certificate("unknown", "shows a certificate of an authority nobody knows", "unknown"),
    _certificate("other-name", "shows another host's certificate", "other"),
    _certificate("wildcard", "shows a certificate for all of *.test", "wildcard"),
    _certificate("longer-name", "shows a certificate of a longer name", "suffix"),
    _secured("client", "wants a certificate of the client's", "client", OK,
             Expect(failed("host-given-up"), tries=0, bytes=MIB)),
    _secured("tickets", "hands out 5,000 session tickets", "tickets", page("secured"),
             Expect(failed("host-given-up"), tries=1, bytes=6 * MIB)),
    _hello("1-0", "speaks TLS 1.0", raw(_server_hello(b"\3\1"), then="hang")),
    _hello("ssl-3", "speaks SSL 3", raw(_server_hello(b"\3\0"), then="hang")),
    _hello("cipher", "chooses a cipher nobody offered",
           raw(_record(0x16, _message(2, b"\3\3" + bytes(32) + b"\0\0\1\0")), then="hang")),
    _hello("silent", "says nothing to a ClientHello", raw(then="hang"),
           Expect(failed("host-given-up"), tries=0)),
    _hello("drip", "answers a ClientHello byte by byte", endless(_server_hello(b"\3\3")[:20], b"\0", 0.1),
           Expect(failed("host-given-up"), tries=0)),
    _hello("plain", "answers a ClientHello in plain HTTP", raw(HEAD + _LENGTH + b"\r\n" + _PAGE, then="hang")),
    _hello("noise", "answers a ClientHello with noise", raw(bytes(range(256)) * 64, then="hang")),
    _hello("refused", "answers a ClientHello with an alert", raw(_record(0x15, b"\2\x28"), then="hang")),
    _hello("alerts-endless", "sends warnings for ever",
           endless(_server_hello(b"\3\3"), _record(0x15, b"\1\x5a") * 999)),
    _hello("echo", "sends each ClientHello back", endless(b"", _record(0x16, _message(1, bytes(300))))),
    _hello("records-empty", "sends empty records for ever", endless(b"", _record(0x16, b"") * 999)),
    _hello("handshake-endless", "sends a certificate that never ends",
           endless(_server_hello(b"\3\3") + _record(0x16, b"\x0b\xff\xff\xff"), _record(0x16, bytes(16000)))),
    _hello("record-huge", "announces a record of 64 KB", endless(b"\x16\3\3\xff\xff", bytes(9000))),
    _hello("close", "closes on a ClientHello", raw(), Expect(failed("host-given-up"), tries=0)),
    _hello("reset", "resets on a ClientHello", raw(then="reset"), Expect(failed("host-given-up"), tries=0)),
    _hello("close-half", "closes in its ServerHello", raw(_server_hello(b"\3\3")[:30]),
           Expect(failed("host-given-up"), tries=0)),
    _secured("reset-in-body", "resets in the body", "good",
             raw(HEAD + b"Content-Length: 9999\r\n\r\n" + _PAGE, then="reset"), _CUT),
    _secured("close-in-body", "closes in the body, without a word", "good",
             raw(HEAD + b"Content-Length: 9999\r\n\r\n" + _PAGE), _CUT),
    _secured("goodbye-in-body", "says goodbye in the body", "good",
             _goodbye(HEAD + b"Content-Length: 9999\r\n", _PAGE), _CUT),
    _secured("no-goodbye", "closes behind the page, without a word", "good", raw(HEAD + b"\r\n" + _PAGE),
             Expect(("done", *failed("tls", "reset", "protocol")), tries=6)),
    _secured("goodbye", "closes behind the page", "good", _goodbye(HEAD, _PAGE), _GOOD),
    _secured("noise-in-body", "sends noise beneath TLS", "good", _beneath(bytes(999)), _CUT),
    _secured("plain-in-body", "goes on in plain text", "good", _beneath(b"<p>and so on</p>" * 99), _CUT),
    _secured("alert-in-body", "sends a fatal alert in the body", "good", _beneath(_record(0x15, b"\2\x50")),
             _CUT),
    _secured("to-plain", "redirects from TLS to plain HTTP", "good",
             raw(b"HTTP/1.1 302 Found\r\nLocation: http://{host}/after\r\nContent-Length: 0\r\n\r\n"),
             Expect(("dropped:redirected",))),
]  # fmt: skip
