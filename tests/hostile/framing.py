# ruff: noqa: E501 - a table reads best with a line or two for each behaviour
"""Headers without end, lengths that lie, broken chunks, and connections that break off."""

from tests.hostile.case import (
    CHUNKED,
    HEAD,
    MIB,
    START,
    Case,
    Expect,
    Script,
    Talk,
    endless,
    failed,
    fill,
    markup,
    raw,
    reply,
)

_LARGE = Expect(failed("headers-too-large"), bytes=5 * MIB)
_BROKEN = Expect(failed("protocol", "reset"), bytes=MIB)
_PROTOCOL = Expect(failed("protocol"), bytes=MIB)
_RESET = Expect(failed("reset"), bytes=MIB)
_AGAIN = Expect(failed("reset"), bytes=MIB, tries=6)
"""A kept connection may have died by itself: each try may begin anew on a fresh one."""
_EITHER = Expect(("done", *failed("protocol", "reset")), bytes=MIB)
_PAGE = markup("framed").encode()
_LENGTH = b"Content-Length: %d\r\n" % len(_PAGE)
_FRAMED = Expect(title="framed")


def _reset_before_reading() -> Script:
    async def script(talk: Talk) -> None:
        talk.reset()

    return script


def _smuggled() -> Script:
    """A second answer behind the first, for whoever asks next on this connection."""

    async def script(talk: Talk) -> None:
        talk.keep = True
        await talk.send(HEAD + _LENGTH + b"\r\n" + _PAGE)
        await talk.pause(0.05)
        await talk.send(HEAD + b"Content-Length: 30\r\n\r\n<title>smuggled</title>.......")

    return script


def _cookies() -> Script:
    flood = [f"Set-Cookie: c{n}={'x' * 80}; Domain=test; Path=/" for n in range(400)]
    return reply(markup("cookies", "/asked"), headers=flood)


def _credentials() -> Script:
    """Asks for a password, hands out a cookie, and sends on to another host."""

    async def script(talk: Talk) -> None:
        talk.keep = True
        await talk.send(
            fill(
                b"HTTP/1.1 302 Found\r\nSet-Cookie: secret=1; Domain=test\r\n"
                b"Location: http://user:word@other.{host}/after\r\nContent-Length: 0\r\n\r\n",
                talk,
            )
        )

    return script


CASES = [
    Case("headers-endless", "sends header lines for ever",
         endless(b"HTTP/1.1 200 OK\r\n", b"X-Flood: " + b"y" * 900 + b"\r\n"), _LARGE),
    Case("header-endless-line", "sends one header line for ever",
         endless(b"HTTP/1.1 200 OK\r\nX-Flood: ", b"y" * 9000), _LARGE),
    Case("status-endless", "sends a status line for ever", endless(b"HTTP/1.1 200 ", b"OK" * 4500),
         Expect(failed("headers-too-large", "protocol"), bytes=5 * MIB)),
    Case("header-many", "sends 5,000 short header lines",
         raw(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: 1\r\n" % n for n in range(5000)) + b"\r\n" + START),
         _LARGE),
    Case("header-big-whole", "sends 200 KB of headers and the page in one go",
         raw(HEAD + b"X-Big: " + b"z" * 200_000 + b"\r\n\r\n" + START), _LARGE),
    Case("informational-endless", "sends 100 Continue for ever",
         endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 40),
         Expect(failed("headers-too-large", "too-large", "protocol"), bytes=5 * MIB)),
    Case("cookie-flood", "sets 400 cookies for all of .test", _cookies(), Expect(title="cookies"),
         paths={"/asked": reply(markup("asked"))}),
    Case("cookie-redirect", "sets a cookie and sends on with a password in the address", _credentials(),
         Expect(("dropped:redirected",), visits=8)),
    Case("password", "asks for a password",
         reply(b"", status="401 Who", headers=['WWW-Authenticate: Basic realm="x"']),
         Expect(failed("http-4xx"), tries=1)),
    Case("proxy-password", "asks for a proxy's password",
         reply(b"", status="407 Proxy", headers=['Proxy-Authenticate: Basic realm="x"']),
         Expect(failed("http-4xx"), tries=1)),
    Case("header-escape", "puts terminal commands into its headers",
         reply(markup("escape"), headers=["X-Evil: \x1b[2J\x1b]0;owned\x07", "ETag: \x1b[31m"]), _EITHER),
    Case("header-nul", "sends a NUL in a header", raw(HEAD + b"X-Nul: a\0b\r\n" + _LENGTH + b"\r\n" + _PAGE),
         _EITHER),
    Case("header-lf", "ends its lines with LF only", raw(HEAD.replace(b"\r", b"") + b"\n" + _PAGE), _EITHER),
    Case("length-twice", "sends two lengths that differ",
         raw(HEAD + _LENGTH + b"Content-Length: 5\r\n\r\n" + _PAGE), _PROTOCOL),
    Case("length-negative", "sends a negative length", raw(HEAD + b"Content-Length: -5\r\n\r\n" + _PAGE),
         _EITHER),
    Case("length-words", "sends a length in words", raw(HEAD + b"Content-Length: many\r\n\r\n" + _PAGE),
         _EITHER),
    Case("length-huge", "sends a length of 400 digits",
         raw(HEAD + b"Content-Length: " + b"9" * 400 + b"\r\n\r\n" + _PAGE),
         Expect(("done", *failed("protocol", "reset", "too-large")), bytes=MIB)),
    Case("length-and-chunks", "sends a length and chunks",
         raw(CHUNKED[:-2] + b"Content-Length: 3\r\n\r\n1\r\na\r\n0\r\n\r\n"), _EITHER),
    Case("length-too-long", "sends less than it announced",
         raw(HEAD + b"Content-Length: 99999\r\n\r\n" + _PAGE), _RESET),
    Case("length-too-short", "sends more than it announced",
         raw(HEAD + _LENGTH + b"\r\n" + _PAGE + b"more" * 999), _FRAMED),
    Case("length-zero", "announces nothing and sends a page", raw(HEAD + b"Content-Length: 0\r\n\r\n" + _PAGE),
         Expect(failed("empty"))),
    Case("smuggled-answer", "sends a second answer that nobody asked for", _smuggled(), _FRAMED),
    Case("chunk-size-words", "sends a chunk of size zz", raw(CHUNKED + b"zz\r\nabc\r\n0\r\n\r\n"), _PROTOCOL),
    Case("chunk-size-negative", "sends a chunk of size -1", raw(CHUNKED + b"-1\r\nabc\r\n0\r\n\r\n"), _BROKEN),
    Case("chunk-size-huge", "sends a chunk of 2^70 bytes", raw(CHUNKED + b"400000000000000000\r\n" + _PAGE),
         Expect(failed("protocol", "reset", "too-large"), bytes=MIB)),
    Case("chunk-size-endless", "sends the digits of a chunk's size for ever", endless(CHUNKED, b"0" * 9000),
         Expect(failed("too-large", "protocol"), bytes=6 * MIB)),
    Case("chunk-extension-endless", "sends a chunk extension for ever", endless(CHUNKED + b"5;a=", b"e" * 9000),
         Expect(failed("too-large", "protocol", "headers-too-large"), bytes=6 * MIB)),
    Case("chunk-extensions", "adds 100 KB of extension to each byte",
         endless(CHUNKED, b"1;x=" + b"e" * 7000 + b"\r\nw\r\n"),
         Expect(failed("too-large", "protocol", "headers-too-large"), bytes=6 * MIB)),
    Case("chunk-trailers-endless", "sends trailers for ever",
         endless(CHUNKED + b"5\r\n<p>ab\r\n0\r\n", b"X-T: " + b"t" * 900 + b"\r\n"),
         Expect(failed("too-large", "protocol", "headers-too-large"), bytes=6 * MIB)),
    Case("chunk-tiny", "sends a page in chunks of a byte",
         raw(CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in _PAGE) + b"0\r\n\r\n"), _FRAMED),
    Case("chunk-no-end", "leaves out the last chunk", raw(CHUNKED + b"%x\r\n" % len(_PAGE) + _PAGE + b"\r\n"),
         _RESET),
    Case("chunk-too-short", "sends a chunk longer than its size",
         raw(CHUNKED + b"5\r\n" + _PAGE + b"\r\n0\r\n\r\n"), _PROTOCOL),
    Case("chunk-unknown-coding", "names a transfer coding that nobody knows",
         raw(HEAD + b"Transfer-Encoding: x-magic\r\n\r\n" + _PAGE), _EITHER),
    Case("status-words", "answers in words", raw(b"hello, who is there?\r\n\r\n"), _PROTOCOL),
    Case("status-version", "speaks HTTP/9.9", raw(b"HTTP/9.9" + HEAD[8:] + _LENGTH + b"\r\n" + _PAGE), _EITHER),
    Case("status-999", "answers 999", raw(b"HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n"), _PROTOCOL),
    Case("status-000", "answers 000", raw(b"HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n"), _PROTOCOL),
    Case("status-101", "switches protocols unasked",
         raw(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + b"\0\1\2"),
         Expect(failed("protocol", "reset", "timeout", "empty"), bytes=MIB)),
    Case("http-0-9", "sends a page without any headers", raw(_PAGE), _BROKEN),
    Case("shoutcast", "answers ICY 200 OK", raw(b"ICY 200 OK\r\nicy-name: x\r\n\r\n" + b"\xff\xfb" * 99),
         _BROKEN),
    Case("ssh-banner", "speaks SSH", raw(b"SSH-2.0-OpenSSH_9.9\r\n"), _PROTOCOL),
    Case("tls-alert", "speaks TLS on a plain port", raw(b"\x15\x03\x01\x00\x02\x02\x46"), _BROKEN),
    Case("noise", "sends noise", raw(bytes(range(256)) * 64), _PROTOCOL),
    Case("reset-at-once", "resets the connection on the request", _reset_before_reading(), _AGAIN),
    Case("reset-in-status", "resets in the status line", raw(b"HTTP/1.1 2", then="reset"), _BROKEN),
    Case("reset-in-headers", "resets in the headers", raw(HEAD + b"X-Half", then="reset"), _RESET),
    Case("reset-in-body", "resets in the body",
         raw(HEAD + b"Content-Length: 9999\r\n\r\n" + START, then="reset"), _RESET),
    Case("reset-in-chunk", "resets in a chunk", raw(CHUNKED + b"ff\r\nabc", then="reset"), _RESET),
    Case("reset-in-redirect", "resets behind the headers of a redirect",
         raw(b"HTTP/1.1 302 Found\r\nLocation: /after\r\nContent-Length: 999\r\n\r\nx", then="reset"),
         Expect(("dropped:redirected", *failed("reset")))),
    Case("close-at-once", "closes without a word", raw(b""), _AGAIN),
    Case("close-in-headers", "closes in the headers", raw(HEAD + b"X-Half"), _RESET),
    Case("close-in-body", "closes in the body", raw(HEAD + b"Content-Length: 9999\r\n\r\n" + START), _RESET),
    Case("after-redirect-noise", "sends noise behind a redirect",
         raw(b"HTTP/1.1 302 Found\r\nLocation: /after\r\nContent-Length: 0\r\n\r\n" + b"\xff" * 99),
         Expect(("dropped:redirected",))),
    Case("keeps-then-drops", "closes a kept connection without saying so",
         raw(HEAD + _LENGTH + b"\r\n" + _PAGE), _FRAMED),
]  # fmt: skip
