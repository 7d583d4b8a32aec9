# ruff: noqa: E501 - a table reads best with a line or two for each behaviour
"""Charsets that lie, and pages made to hold a parser up."""

from tests.hostile.case import MIB, Case, Expect, Script, dropped, failed, markup, raw, reply

_SCORED = Expect(("done", *failed("parse-timeout", "parse-crash", "too-large")), seconds=10.0)
TITLE = "足球比赛结果新闻"
_TEXT = "今天的足球比赛结果：主队以三比一获胜，球迷们非常高兴。" * 20


def _chinese(encoding: str, declared: str | None, *, meta: str = "", bom: bytes = b"") -> Script:
    """A Chinese page in one encoding, said to be in another."""
    head = f"<meta charset={meta}>" if meta else ""
    text = (
        f"<!doctype html><html><head>{head}<title>{TITLE}</title></head><body><p>{_TEXT}</p></body>"
    )
    kind = "text/html" + (f"; charset={declared}" if declared else "")
    return reply(bom + text.encode(encoding), kind=kind)


def _charset(id: str, does: str, script: Script, title: str | None = TITLE) -> Case:
    return Case(f"charset-{id}", does, script, Expect(title=title))


def _killer(id: str, does: str, body: str | bytes, expect: Expect = _SCORED) -> Case:
    data = body.encode() if isinstance(body, str) else body
    page = b"<!doctype html><title>killer</title><body>" + data
    return Case(f"parser-{id}", does, reply(page[: MIB - 99]), expect)


CHARSETS = [
    _charset("gbk-as-utf8", "sends GBK as UTF-8", _chinese("gbk", "utf-8")),
    _charset("utf8-as-gbk", "sends UTF-8 as GBK", _chinese("utf-8", "gbk")),
    _charset("gbk-meta-utf8", "sends GBK, its meta says UTF-8", _chinese("gbk", None, meta="utf-8")),
    _charset("gbk-bare", "sends GBK and says nothing", _chinese("gbk", None)),
    _charset("gbk-as-latin1", "sends GBK as ISO-8859-1", _chinese("gbk", "iso-8859-1"), None),
    _charset("big5-bare", "sends Big5 and says nothing", reply(
        "<!doctype html><title>足球比賽結果新聞</title><p>".encode("big5")
        + ("今天的足球比賽結果：主隊以三比一獲勝，球迷們非常高興。" * 20).encode("big5"),
        kind="text/html"), "足球比賽結果新聞"),
    _charset("gb18030", "sends GB18030 as GB2312", _chinese("gb18030", "gb2312")),
    _charset("utf16-le-bom", "sends UTF-16 with a mark", _chinese("utf-16-le", None, bom=b"\xff\xfe")),
    _charset("utf16-be-bom", "sends UTF-16 BE with a mark", _chinese("utf-16-be", None, bom=b"\xfe\xff")),
    _charset("utf16-bom-as-utf8", "sends UTF-16 with a mark as UTF-8",
             _chinese("utf-16-le", "utf-8", bom=b"\xff\xfe")),
    _charset("utf16-bare", "sends UTF-16 without a mark", _chinese("utf-16-le", "utf-16le")),
    _charset("utf16-unsaid", "sends UTF-16 and says nothing", _chinese("utf-16-le", None), None),
    _charset("utf8-bom-as-gbk", "sends UTF-8 with a mark as GBK", _chinese("utf-8", "gbk", bom=b"\xef\xbb\xbf")),
    _charset("utf8-as-utf16", "sends UTF-8, its meta says UTF-16", _chinese("utf-8", None, meta="utf-16")),
    _charset("quoted", "quotes its label and adds more", _chinese("gbk", '"GBK" ; charset=utf-8')),
    *[_charset(label.replace("_", "-"), f"names the codec {label}", _chinese("utf-8", label))
      for label in ("zlib_codec", "idna", "punycode", "rot13", "base64_codec", "unicode_escape",
                    "raw_unicode_escape", "bz2", "undefined", "mbcs", "utf-7", "x-unknown")],
    Case("charset-nul", "puts a NUL into its label", _chinese("utf-8", "utf\0-8"),
         Expect(("done", *failed("protocol")))),
    _charset("traversal", "names a path as its charset", _chinese("utf-8", "../../etc/passwd")),
    _charset("long", "names a charset of 9,000 letters", _chinese("utf-8", "x" * 9000)),
    _charset("replacement", "names ISO-2022-KR, which is not to be read", _chinese("utf-8", "iso-2022-kr"),
             None),
    _charset("cut", "breaks off within a character",
             reply(f"<!doctype html><title>{TITLE}</title><p>{_TEXT}".encode()[:-1], kind="text/html; charset=utf-8")),
    _charset("errors", "sends bytes that are valid nowhere",
             reply(f"<!doctype html><title>{TITLE}</title><p>{_TEXT}".encode() + b"\xff\xfe\xc0\x80" * 9)),
]  # fmt: skip

PARSERS = [
    _killer("nest-div", "nests 100,000 divs", "<div>" * 100_000),
    _killer("nest-p", "leaves 100,000 paragraphs open in spans", "<span><p>" * 60_000),
    _killer("nest-b", "leaves 100,000 <b> open", "<b>" * 100_000),
    _killer("nest-a", "nests links in bold", "<b><a href=/q>" * 40_000),
    _killer("nest-font", "opens fonts with other attributes",
            "".join(f"<font a{n}={n}>" for n in range(40_000)) + "<p>" * 999),
    _killer("nest-table", "nests 50,000 tables", "<table><tr><td>" * 50_000),
    _killer("nest-foster", "puts text beside cells 50,000 times", "<table>" + "x<tr>y" * 50_000),
    _killer("nest-select", "nests options and selects", "<select><option>" * 50_000),
    _killer("nest-svg", "nests SVG", "<svg><g>" * 50_000),
    _killer("nest-math", "nests math in SVG", "<svg><foreignObject><math><mi>" * 25_000),
    _killer("nest-form", "nests forms and buttons", "<form><button>" * 50_000),
    _killer("nest-template", "nests templates", "<template>" * 80_000),
    _killer("nest-iframe", "opens frames that never close", "<iframe>" * 90_000),
    _killer("nest-list", "nests lists", "<ul><li>" * 80_000),
    _killer("misnest", "closes in the wrong order", "<b><i><p></b></i>" * 50_000),
    _killer("close-p", "closes 200,000 paragraphs that were never open", "</p>" * 200_000),
    _killer("attributes", "gives a tag 40,000 attributes",
            "<a " + " ".join(f"a{n}=1" for n in range(40_000)) + ">x</a>"),
    _killer("attributes-short", "gives a tag 200,000 attributes of a letter",
            "<a " + " ".join(chr(97 + n % 26) for n in range(200_000)) + ">x</a>"),
    _killer("attribute-long", "gives a link an address of 900 KB", '<a href="/' + "x" * 900_000 + '">x</a>'),
    _killer("attribute-open", "never closes a quote", '<a href="/' + "x y='z'>" * 80_000),
    _killer("line", "sends a megabyte on one line", "word " * 200_000),
    _killer("word", "sends a megabyte as one word", "w" * 1_000_000),
    _killer("han", "sends 300,000 characters without a stop", "足球比赛" * 80_000),
    _killer("nul", "sends 900,000 NULs", b"\0" * 900_000),
    _killer("controls", "sends every control character", bytes(range(32)) * 20_000),
    _killer("links", "has as many links as fit", "".join(f'<a href="/l/{n}">l</a>' for n in range(45_000)),
            Expect(links=2000, seconds=10.0)),
    _killer("links-one", "links to one page 45,000 times", '<a href="/same">l</a>' * 45_000, Expect(links=1)),
    _killer("links-deep", "links to paths of 500 folders",
            "".join(f'<a href="/{"a/" * 500}{n}">l</a>' for n in range(800)), Expect(visits=10**6)),
    _killer("links-long", "links to addresses over the limit",
            "".join(f'<a href="/{"y" * 3000}{n}">l</a>' for n in range(300)), Expect(links=0)),
    _killer("comment-open", "never closes a comment", "<!--" + "x-" * 400_000),
    _killer("comments", "sends 100,000 comments", "<!-- x -->" * 90_000),
    _killer("script-open", "never closes a script", "<script>" + "<a href=/s>" * 80_000),
    _killer("title-open", "never closes its title", "<title>" + "x " * 400_000),
    _killer("entities", "sends 150,000 entities", "&amp;&lt;&notin;" * 50_000),
    _killer("entity-bomb", "defines entities like XML",
            "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]>" + "&b;" * 1000),
    _killer("metas", "sends 50,000 metas", '<meta name="keywords" content="x">' * 28_000),
    _killer("headings", "sends 60,000 headings", "<h1>x</h1><h2>" * 60_000),
    _killer("doctype", "sends 50,000 doctypes", "<!doctype html>" * 60_000),
    _killer("cdata", "sends CDATA", "<![CDATA[" * 90_000),
    _killer("brackets", "sends nothing but <", "<" * 900_000),
    _killer("frameset", "nests framesets", "<frameset>" * 80_000),
    _killer("refresh", "has 30,000 refreshes", '<meta http-equiv=refresh content="0;url=/r">' * 22_000,
            Expect((*dropped("redirected"), *_SCORED.ends))),
    Case("parser-xml", "sends XHTML that is not well-formed",
         reply(markup("xhtml") + "<br", kind="application/xhtml+xml"), Expect(title="xhtml")),
    Case("parser-title", "puts terminal commands into its title",
         reply("<!doctype html><title>\x1b[2J\x1b]0;owned\x07 =cmd|' /C calc'!A1 \u202etxt</title>x"), Expect()),
    Case("parser-formula", "has a formula for a title",
         reply("<!doctype html><title>=HYPERLINK(\"http://x\",\"y\")</title>x"), Expect()),
    Case("parser-script-title", "has a script for a title",
         reply("<!doctype html><title>&lt;script&gt;alert(1)&lt;/script&gt;</title>x"), Expect()),
    Case("parser-no-html", "sends text/html without any tag",
         raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nno tags at all"), Expect()),
]  # fmt: skip

CASES = [*CHARSETS, *PARSERS]
