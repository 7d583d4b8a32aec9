"""The rules of robots.txt, case by case."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from focus.http.robots import DENY_ALL, MAX_BYTES, Robots, robots_from_response
from tests.support.cases import cases


def allows(rules: str, path: str, agent: str = "focus") -> bool:
    return Robots.parse(rules.encode()).allows(f"http://a.test{path}", agent)


def everyone(rules: str, path: str) -> bool:
    return allows(f"User-agent: *\n{rules}", path)


# RFC 9309 section 2.2.1: groups


GROUPS = """
User-agent: a
User-agent: FOCUS
Crawl-delay: 2
Disallow: /one
Sitemap: http://a.test/s.xml
Unknown: thing
Disallow: /two
User-agent: *
Disallow: /three
User-agent: focus/2.0
Disallow: /four
Crawl-delay: 0.5
"""


@pytest.mark.parametrize(
    ("agent", "forbidden"),
    [("focus", "one two four"), ("A", "one two"), ("other", "three"), ("foc", "three")],
)
def test_allows_groups_of_an_agent_are_merged(agent: str, forbidden: str) -> None:
    paths = ["one", "two", "three", "four"]
    assert [p for p in paths if not allows(GROUPS, f"/{p}", agent)] == forbidden.split()


def test_crawl_delay_longest_for_agent_counts() -> None:
    robots = Robots.parse(GROUPS.encode())
    assert robots.crawl_delay("focus") == 2.0
    assert robots.crawl_delay("other") is None


@pytest.mark.parametrize("value", ["", "soon", "-1", "nan", "inf", "1e999"])
def test_crawl_delay_invalid_value_is_ignored(value: str) -> None:
    assert Robots.parse(f"User-agent: *\nCrawl-delay: {value}".encode()).crawl_delay("x") is None


@cases(
    "text, delays",
    ("User-agent: *\nCrawl-delay: 9\nUser-agent: b\nCrawl-delay: 1", (9.0, 1.0)),
    ("User-agent: *\nCrawl-delay: 1\nUser-agent: b\nCrawl-delay: 9", (1.0, 9.0)),
    ("User-agent: *\nUser-agent: b\nCrawl-delay: 3", (3.0, 3.0)),
    ("User-agent: b\nCrawl-delay: 3\nUser-agent: *\nDisallow: /x", (None, 3.0)),
    ("User-agent: *\nDisallow: /x\nCrawl-delay: 3", (3.0, 3.0)),
    ("User-agent: *\nCrawl-delay: 3\nCrawl-delay: 1", (3.0, 3.0)),
    ("Crawl-delay: 3\nUser-agent: *", (None, None)),
)
def test_crawl_delay_is_per_agent(text: str, delays: tuple[float | None, float | None]) -> None:
    robots = Robots.parse(text.encode())
    assert (robots.crawl_delay("focus"), robots.crawl_delay("b")) == delays
    assert Robots.parse(robots.excerpt("focus")).crawl_delay("focus") == delays[0]


@pytest.mark.parametrize("path", ["/robots.txt", "/robots.txt?x"])
def test_allows_robots_txt_itself(path: str) -> None:
    assert DENY_ALL.allows(f"http://a.test{path}", "focus")
    assert not DENY_ALL.allows("http://a.test/x/robots.txt", "focus")


def test_allows_own_group_without_rules_allows_all() -> None:
    assert allows("User-agent: *\nDisallow: /\nUser-agent: focus\nDisallow:", "/x")


def test_allows_rules_before_any_agent_are_ignored() -> None:
    assert allows("Disallow: /\nUser-agent: b\nDisallow: /", "/")


# Section 2.2.2: which rule decides


@cases(
    "rules, path, allowed",
    ("Disallow: /a\nAllow: /a/b", "/a/b/c", True),
    ("Allow: /a/b\nDisallow: /a", "/a/c", False),
    ("Disallow: /a\nAllow: /a", "/a", True),
    ("Allow: /p\nDisallow: /*", "/p", True),
    ("Disallow: /", "/", False),
    ("Disallow: /a", "/A", True),
    ("Disallow: /?", "", True),
    ("Disallow: /a?", "/a?b=c", False),
    ("Disallow: /a#b", "/a#c", False),
    ("Disallow: a", "/a", True),
    # Section 2.2.3: wildcards
    ("Disallow: /*.gif$", "/x/y.gif", False),
    ("Disallow: /*.gif$", "/x/y.gif?z", True),
    ("Disallow: /a$", "/a", False),
    ("Disallow: /a$", "/ab", True),
    ("Disallow: /ab$\nAllow: /*b", "/ab", False),
    ("Disallow: /a*b*c", "/a-b-c-d", False),
    ("Disallow: /a*b*c", "/a-c-b", True),
    ("Disallow: /*a$", "/a", False),
    ("Disallow: /ab*b$", "/ab", True),
    ("Disallow: *x", "/yx", False),
    ("Disallow: /a**b", "/a-b", False),
    ("Disallow: /x%2A", "/x*y", False),
    ("Disallow: /x%24", "/x$", False),
    ("Disallow: /a$b", "/a$bc", False),
    ("Allow: /a/index.html\nDisallow: /", "/a/", True),
    ("Allow: /a/index.html\nDisallow: /", "/a/b", False),
    # Percent-encoding
    ("Disallow: /%7ejoe", "/~joe", False),
    ("Disallow: /~joe", "/%7Ejoe", False),
    ("Disallow: /a%2fb", "/a/b", True),
    ("Disallow: /a%2fb", "/a%2Fb", False),
    ("Disallow: /中文", "/%E4%B8%AD%e6%96%87", False),
    ("Disallow: /%E4%B8%AD", "/中", False),
    ("Disallow: /\nAllow: /中", "/中", False),
    ("Disallow: /100%25", "/100%", True),
    ("Disallow: /100%", "/100%", False),
    ("Disallow: /a b", "/a%20b", False),
)
def test_allows_longest_rule_decides(rules: str, path: str, allowed: bool) -> None:
    assert everyone(rules, path) is allowed


# Reading what people write


@cases(
    "text",
    "User-agent: *\rDisallow: /\r",
    "User-agent: *\r\nDisallow: /\r\n",
    "\ufeffUser-agent: *\nDisallow: /",
    "USER-AGENT:*\ndisallow:/",
    "  User-agent  :  *  # all\n\tDisallow : / # everything",
    "user agent: *\nDissallow: /",
    "User-agent: * \nDisallow /",
    "User-agent: *\0\nDisallow: /\0",
    "<html>\n\nUser-agent: *\n\n\nDisallow: /",
)
def test_allows_unusual_spelling_is_accepted(text: str) -> None:
    assert not allows(text, "/x")


@cases("text", "", "<html><body>Not found</body></html>", "\xff\xfe\0", "Disallow")
def test_allows_other_content_forbids_nothing(text: str) -> None:
    assert allows(text, "/x")


def test_sitemaps_are_unique_and_in_order() -> None:
    text = b"Sitemap: http://a/1\nUser-agent: *\nsitemap:http://a/2 # x\nSite-map: http://a/1\n"
    assert Robots.parse(text).sitemaps == ("http://a/1", "http://a/2")


def test_parse_only_first_max_bytes_count() -> None:
    body = b"User-agent: *\n" + b"#" * MAX_BYTES + b"\nDisallow: /"
    assert Robots.parse(body).allows("http://a.test/", "focus")


@given(st.binary(max_size=400), st.text(max_size=40))
def test_parse_any_bytes_never_raises(body: bytes, path: str) -> None:
    robots = Robots.parse(b"User-agent: *\n" + body)
    assert robots.allows(f"http://a.test/{path}", "focus") in (True, False)
    assert DENY_ALL.allows(path, "focus") is False


# Section 2.3.1: answers


@cases(
    "status, allowed",
    (200, False), (206, False), (299, False), (300, True), (301, True),
    (401, True), (403, True), (404, True), (410, True),
    (429, False), (500, False), (503, False), (0, False), (None, False),
)  # fmt: skip
def test_robots_from_response_status_precedes_body(status: int | None, allowed: bool) -> None:
    robots = robots_from_response(status, b"User-agent: *\nDisallow: /")
    assert robots.allows("http://a.test/x", "focus") is allowed


# Hostile files

LINES = 30_000
HOSTILE = {
    "wildcards": "User-agent: *\n" + "".join(f"Disallow: /*{n:x}b\n" for n in range(LINES)),
    "deep": "User-agent: *\n" + "".join(f"Allow: /{'*a' * 99}*b{n}\n" for n in range(2_400)),
    "stars": "User-agent: *\nDisallow: /" + "*" * 500_000,
    "agents": "".join(f"User-agent: a{n}\n" for n in range(15_000)) + "Allow: /\n" * LINES,
    "prefixes": "User-agent: *\n" + "".join(f"Allow: /{n:x}\n" for n in range(LINES)),
    "lengths": "User-agent: *\n" + "".join(f"Allow: /{'a' * n}b\n" for n in range(1_000)),
    "escapes": "User-agent: *\nAllow: /" + "%41" * 160_000,
    "foreign": "User-agent: *\nAllow: /" + "ü" * 240_000,
    "spaces": ("\nAllow" + " " * 250_000) * 2,
    "lines": "\n" * 500_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_parse_and_allows_hostile_files_are_fast(name: str) -> None:
    """A parser of quadratic time would take minutes here."""
    body = HOSTILE[name].encode()
    url = "http://a.test/" + "a" * 2_000
    robots = Robots.parse(body)
    assert len({robots.allows(url, "focus") for _ in range(5)}) == 1


def test_allows_too_many_wildcards_allows_less() -> None:
    many = "User-agent: *\n" + "".join(f"Disallow: /x/*{n}b\n" for n in range(5_000))
    assert not allows(many, "/x/3b")  # within the cap: as written
    assert not allows(many, "/x/4999b")
    assert not allows(many, "/x/anything")  # the price
    assert allows(many, "/y/3b")
    generous = "User-agent: *\nDisallow: /\n" + "".join(f"Allow: /*{n}b\n" for n in range(5_000))
    assert allows(generous, "/3b")
    assert not allows(generous, "/z4999c")


_LINES = [
    *("User-agent: focus", "User-agent: *", "User-agent: b"),
    *("Disallow: /a", "Disallow: /a/ # why", "disallow /*c$", "Disallow: /%61?\u00fc"),
    *("Allow: /a/b", "Allow:", "Allow: /\ufffd"),
    *("Crawl-delay: 0.1", "Sitemap: http://a.test/s"),
]


@given(
    st.lists(st.sampled_from(_LINES), max_size=20).map("\n".join),
    st.sampled_from(["focus", "b", "c"]),
)
def test_excerpt_sets_for_all_what_file_sets_for_agent(text: str, agent: str) -> None:
    whole = Robots.parse(text.encode())
    part = Robots.parse(whole.excerpt(agent))
    for path in ("/", "/a", "/a/b", "/c", "/xc", "/a?\u00fc", "/\ufffd"):
        url = f"http://a.test{path}"
        assert part.allows(url, "anybody") == whole.allows(url, agent)
    assert part.crawl_delay("anybody") == whole.crawl_delay(agent)
    assert part.sitemaps == whole.sitemaps


def test_excerpt_omits_rules_for_other_agents() -> None:
    text = b"User-agent: a\nDisallow: /\nUser-agent: *\nDisallow: /b # no\nCrawl-delay: 2"
    excerpt = Robots.parse(text).excerpt("focus")
    assert excerpt == b"User-agent: *\nCrawl-delay: 2.0\nDisallow: /b"
