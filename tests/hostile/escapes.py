# ruff: noqa: E501 - a table reads best with a line or two for each behaviour
"""Ways out: redirects and links to files, other protocols and the private network."""

from tests.hostile.case import (
    OK,
    Case,
    Expect,
    Script,
    Talk,
    dropped,
    failed,
    markup,
    redirect,
    reply,
)

_OUT = Expect(failed("redirect"), tries=1)
_ON = Expect(dropped("redirected"))
_CLOSED = Expect(failed("guard", "host-given-up"), tries=0, after=False)


def _chain(length: int) -> Script:
    async def script(talk: Talk) -> None:
        at = int(talk.path.rpartition("/")[2] or 0) if talk.path != "/x" else 0
        await (OK if at >= length else redirect(f"/hop/{at + 1}"))(talk)

    return script


def _growing(talk_path: str) -> Script:
    async def script(talk: Talk) -> None:
        await redirect(talk.path + talk_path)(talk)

    return script


def _to(place: str, does: str, location: str, expect: Expect = _OUT) -> Case:
    return Case(f"to-{place}", f"redirects to {does}", redirect(location), expect)


def _address(place: str, does: str, url: str, expect: Expect = _CLOSED) -> Case:
    return Case(f"at-{place}", f"links to {does}", OK, expect, url=url)


def _via(place: str, does: str, url: str) -> Case:
    """A redirect to a private address: the target is judged when it is connected to."""
    return Case(f"via-{place}", f"redirects to {does}", redirect(url), _ON)


CASES = [
    Case("loop-self", "redirects to itself", redirect("/x"), _OUT),
    Case("loop-two", "redirects to and fro", redirect("/y"), Expect(dropped("redirected"), visits=8),
         paths={"/y": redirect("/x")}),
    Case("chain-5", "redirects five times, then has a page", _chain(5),
         Expect(dropped("redirected"), asked=("/hop/5",)), default=_chain(5)),
    Case("chain-endless", "redirects for ever", _chain(9999),
         Expect(dropped("redirected"), visits=16, unasked=("/hop/12",)), default=_chain(9999)),
    Case("chain-growing", "redirects to a longer path each time", _growing("/x"),
         Expect(dropped("redirected"), visits=16), default=_growing("/x")),
    Case("chain-query", "redirects to a longer query each time", _growing("?a"),
         Expect(dropped("redirected"), visits=16), default=_growing("&a")),
    _to("file", "a file", "file:///etc/passwd"),
    _to("file-host", "a file on localhost", "file://localhost/etc/passwd"),
    _to("ftp", "FTP", "ftp://{host}/x"),
    _to("javascript", "a script", "javascript:alert(1)"),
    _to("data", "a data URL", "data:text/html,<title>x</title>"),
    _to("gopher", "gopher", "gopher://127.0.0.2:{port}/_GET"),
    _to("dict", "dict", "dict://127.0.0.2:{port}/info"),
    _to("mailto", "mail", "mailto:a@b.test"),
    _to("unix", "a socket", "unix:///var/run/docker.sock"),
    _to("view-source", "view-source:", "view-source:http://{host}/"),
    _to("blob", "blob:", "blob:http://{host}/1-2-3"),
    _to("ws", "a web socket", "ws://{host}/"),
    _to("nothing", "nothing", ""),
    _to("fragment", "a fragment of itself", "#top"),
    _to("port-0", "port 0", "http://{host}:0/", Expect((*failed("redirect"), *dropped("redirected")))),
    _to("bad-port", "port 99999", "http://to-bad-port.test:99999/"),
    _to("bad-host", "a host with a space", "http://a b/"),
    _to("bad-v6", "half an IPv6 address", "http://[::1"),
    _to("crlf", "an address with line breaks in it", "/after%0d%0aSet-Cookie:%20a=b", _ON),
    _to("unicode", "an address in raw UTF-8", "/足球", _ON),
    _to("long", "an address of 20 KB", "/" + "a" * 20_000),
    _to("backslash", "\\\\HOST\\x", "\\\\other.{host}\\after", _ON),
    _to("scheme-relative", "//HOST", "//other.{host}/after", _ON),
    _to("dots", "../../../../", "../../../../after", _ON),
    Case("no-location", "redirects to nowhere", reply(b"", status="302 Found"), _OUT),
    Case("choices", "answers 300", reply(b"", status="300 Many"), _OUT),
    Case("not-modified", "answers 304 unasked", reply(b"", status="304 Not Modified"), _OUT),
    Case("use-proxy", "answers 305 with a private proxy",
         reply(b"", status="305 Use Proxy", headers=["Location: http://127.0.0.2:{port}/"]), _OUT),
    _via("private", "a private address", "http://127.0.0.2:{port}/secret"),
    _via("private-name", "a name of a private address", "http://dns-private.test:{port}/secret"),
    _via("metadata", "a cloud's metadata", "http://169.254.169.254/latest/meta-data/"),
    _via("decimal", "a decimal address", "http://2130706434:{port}/secret"),
    _via("v6", "the own machine by IPv6", "http://[::1]:{port}/secret"),
    _via("mapped", "a mapped address", "http://[::ffff:127.0.0.2]:{port}/secret"),
    _via("user", "a private address behind a user name", "http://via-user.test@127.0.0.2:{port}/secret"),
    _address("literal", "a private address", "http://127.0.0.2:{port}/a"),
    _address("decimal", "a decimal address", "http://2130706434:{port}/b"),
    _address("octal", "an octal address", "http://0177.0.0.02:{port}/c"),
    _address("hex", "a hexadecimal address", "http://0x7f.0x0.0x0.0x2:{port}/d"),
    _address("hex-whole", "a hexadecimal number", "http://0x7f000002:{port}/e"),
    _address("short", "an address with parts left out", "http://127.2:{port}/f"),
    _address("wide", "an address in wide digits", "http://１２７.0.0.2:{port}/g"),
    _address("circled", "an address in circled digits", "http://①②⑦.0.0.2:{port}/h"),
    _address("ideographic", "an address with 。 for dots", "http://127。0。0。2:{port}/i"),
    _address("escaped", "an address in escapes", "http://%31%32%37.0.0.2:{port}/j"),
    _address("dotted", "an address with a dot at its end", "http://127.0.0.2.:{port}/k"),
    _address("zero", "0.0.0.0", "http://0.0.0.0:{port}/l"),
    _address("bare-zero", "0", "http://0:{port}/m"),
    _address("v6", "::1", "http://[::1]:{port}/n"),
    _address("v6-any", "::", "http://[::]:{port}/o"),
    _address("mapped", "a mapped address", "http://[::ffff:127.0.0.2]:{port}/p"),
    _address("mapped-hex", "a mapped address in hex", "http://[::ffff:7f00:2]:{port}/q"),
    _address("compatible", "an address in the old IPv6 form", "http://[::127.0.0.2]:{port}/r"),
    _address("nat64", "an address behind NAT64", "http://[64:ff9b::7f00:2]:{port}/s"),
    _address("6to4", "an address in 6to4", "http://[2002:7f00:2::1]:{port}/t"),
    _address("link-local", "fe80::1", "http://[fe80::1]:{port}/u"),
    _address("unique-local", "fd00::1", "http://[fd00:ec2::254]:{port}/v"),
    _address("metadata", "a cloud's metadata", "http://169.254.169.254/latest/"),
    _address("metadata-decimal", "a cloud's metadata in decimal", "http://2852039166/latest/"),
    _address("rfc1918", "10.0.0.1", "http://10.0.0.1/"),
    _address("rfc1918-home", "192.168.0.1", "http://192.168.0.1/admin"),
    _address("carrier", "100.64.0.1", "http://100.64.0.1/"),
    _address("multicast", "224.0.0.1", "http://224.0.0.1/"),
    _address("broadcast", "255.255.255.255", "http://255.255.255.255/"),
    _address("user", "a private address behind a user name", "http://at-user.test:80@127.0.0.2:{port}/w"),
    _address("name", "a name of a private address", "http://dns-private.test:{port}/x"),
    _address("name-metadata", "a name of a cloud's metadata", "http://dns-linklocal.test:{port}/y"),
    _address("mixed", "a name of a private and a public address", "http://dns-mixed.test:{port}/z",
             Expect(failed("http-4xx"), after=False)),
    _address("unknown", "a name that does not exist", "http://dns-none.test:{port}/",
             Expect(failed("dns", "host-given-up"), tries=0, after=False)),
    _address("unresolved", "a name whose server fails", "http://dns-again.test:{port}/",
             Expect(failed("dns-temporary", "host-given-up"), tries=0, after=False)),
    _address("unresolving", "a name that is looked up for ever", "http://dns-slow.test:{port}/",
             Expect(failed("timeout", "host-given-up"), tries=0, after=False)),
    Case("iframe-private", "frames a private address",
         reply('<!doctype html><title>frames</title><iframe src="http://127.0.0.2:{port}/f"></iframe>'
               '<frame src="//[::1]:{port}/"><area href="http://0x7f000002:{port}/">'),
         Expect(title="frames")),
    Case("links-odd", "links to every scheme there is",
         reply(markup("schemes", "file:///etc/passwd", "ftp://a.test/", "javascript:void(0)",
                      "data:text/html,x", "mailto:a@b", "tel:1", "about:blank", "ws://a.test/",
                      "http:", "http://", "//", "http:///x", "http://:80/", "https:////", "\x01http://x")),
         Expect(title="schemes", links=4)),
]  # fmt: skip
