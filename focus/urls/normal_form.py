"""Normalises URLs: the form that is requested, and the key by which two URLs are one page.

Two forms of a URL are kept apart. `normalise` gives what is *requested*: the WHATWG
serialisation without fragment and credentials. `key` gives what counts as *the same page*:
http and https are one, tracking and session parameters gone, percent-encoding canonical.
A key is compared, never requested.

A page has some hundred links, most of them plain, so the plain ones are recognised by one
regular expression and joined by slicing (`Joiner`); the WHATWG parser (ada) gets the rest.
A property test holds that both ways agree.

`url_pattern` and `words` (patterns.py) read an address as text: what kind of page, about what.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Final

import ada_url

from focus.config import MAX_URL
from focus.errors import ConfigError
from focus.text.codecs import escape_query
from focus.urls.patterns import folder_words, url_pattern, words

try:  # half the time of hashlib's, which goes through OpenSSL
    from _md5 import md5  # type: ignore[import-not-found]
except ImportError:  # a Python built without it
    from hashlib import md5

__all__ = [
    "MAX_URL",
    "Joiner",
    "fingerprint",
    "folder_words",
    "host_of",
    "key",
    "normalise",
    "origin_of",
    "registrable_domain",
    "seed_candidates",
    "url_pattern",
    "without_port",
    "words",
]

_MAX_RAW: Final = 8 * MAX_URL
"""Characters of an href as written, before white space, dot segments and fragment go."""


# What is requested


def normalise(url: str, base: str | None = None) -> str | None:
    """The URL to request, or None if that is no http(s) URL of at most MAX_URL characters.

    Relative references are joined to `base`. Fragment, credentials and the last dot of a host
    name are dropped; lone surrogates are read as U+FFFD. Host names are not held against DNS's
    limits (labels of 63 characters), just as the standard does not. Never raises.
    """
    if len(url) > _MAX_RAW:
        return None
    if url.startswith(_ABSOLUTE) and (plain := _plain(url)):
        host, path, _, _, query = plain.groups("")
        href = host + (path or "/") + query
        return href if len(href) <= MAX_URL else None
    return _parse(_scalars(url), base if base is None else _scalars(base))


def _parse(url: str, base: str | None) -> str | None:
    try:
        href = ada_url.normalize_url(url) if base is None else ada_url.join_url(base, url)
    except ValueError:
        return None
    if not href.startswith(("http://", "https://")):
        return None
    href = href.partition("#")[0]
    start = href.index("//") + 2
    userinfo = href.rfind("@", start, href.index("/", start))
    if userinfo >= 0:
        href = href[:start] + href[userinfo + 1 :]
    if full := _FULL_NAME(href):
        href = href[: full.end(1)] + href[full.end() :]
    return href if len(href) <= MAX_URL else None


_FULL_NAME: Final = re.compile(r"(https?://[^/:]*[^/:.])\.(?=[/:])").match
"""`www.example.org.` is how DNS writes `www.example.org` in full: the same host."""


def _scalars(text: str) -> str:
    """Text without lone surrogates (Web IDL's USVString)."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Joiner:
    """The hrefs of one page: `join` is `normalise(href, base)`, several times as fast.

    `encoding` is that of the page, as `charset.decode` names it: in a GBK page the query
    of `?kw=足球` has to be asked for in GBK.
    """

    __slots__ = ("_base", "_encoding", "_folder", "_origin", "_page", "_scheme")

    def __init__(self, base: str, encoding: str = "utf-8") -> None:
        self._encoding = encoding
        url = normalise(base) or ""
        self._base = url or _scalars(base)
        self._page = url.partition("?")[0]
        self._folder = self._page[: self._page.rfind("/") + 1]
        self._origin = origin_of(url) if url else ""
        self._scheme = url.partition("//")[0]

    def join(self, href: str) -> str | None:
        """The URL to request for `href`; None if it leads nowhere on the web."""
        if len(href) > _MAX_RAW:
            return None
        if not href.isascii():
            href = self._escaped(_scalars(href))
        match = _plain(href) if self._origin else None
        if match is None:
            return None if href.startswith(_ELSEWHERE) else _parse(href, self._base)
        host, host_path, path, relative, query = match.groups("")
        if host:
            scheme = self._scheme if host[0] == "/" else ""
            url = scheme + host + (host_path or "/") + query
        elif path:
            url = self._origin + path + query
        elif relative:
            url = self._folder + relative + query
        else:
            url = self._page + query if query else self._base
        return url if len(url) <= MAX_URL else None

    @property
    def site(self) -> str:
        """Scheme and host of the page, as `origin_of` has them; "" if it has none."""
        return self._origin

    def is_sitewide(self, href: str) -> bool:
        """Whether `join` gives the same for every page of the site: `/a` and `http://h/a` do.

        A query that is not ASCII is in the page's encoding.
        """
        if "?" in href and not href.isascii():
            return False
        return href.startswith(_ABSOLUTE) or (href[:1] == "/" and bool(self._origin))

    def _escaped(self, href: str) -> str:
        """Percent-encoded as the parser would: in UTF-8, a query in the page's encoding."""
        if self._encoding != "utf-8":
            address, hash_sign, fragment = href.partition("#")
            path, mark, query = address.partition("?")
            href = path + mark + escape_query(query, self._encoding) + hash_sign + fragment
        return _NOT_ASCII.sub(lambda run: "%" + run[0].encode().hex("%").upper(), href)


_ABSOLUTE: Final = ("http://", "https://")
_ELSEWHERE: Final = ("javascript:", "mailto:", "tel:", "data:")
_NOT_ASCII: Final = re.compile("[^\x00-\x7f]+")
_PATH = r"[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*+"
_PLAIN: Final[Callable[[str], re.Match[str] | None]] = re.compile(
    rf"(?:((?:https?:)?//[a-z0-9.-]*\.[a-z]++)(/{_PATH})?|(/(?!/){_PATH})"
    rf"|([A-Za-z0-9\-_~!$&'()*+,;=@][A-Za-z0-9\-._~!$&'()*+,;=@%]*+(?:/{_PATH})?))?"
    r"(\?[A-Za-z0-9\-._~!$&()*+,;=:@%/?]*+)?(?:#.*)?",
    re.DOTALL,
).fullmatch
"""(host, its path, path, relative path, query) of an href that WHATWG parsing leaves as it
is, if it has no dot segment and no punycode: safe ASCII, no port, and a host that ends in
letters, so that it is no IPv4 number."""


def _plain(href: str) -> re.Match[str] | None:
    """The parts of an href that stays as it is, fragment aside; None if the parser must see it."""
    match = _PLAIN(href)
    return None if match and ("/." in href or "/%2" in href or "xn--" in href) else match


# What is the same page


def key(url: str) -> str:
    """The duplicate key of a normalised URL; two URLs with one key are one page.

    http and https of a host are one; so are `%e4` and `%E4`, `%7E` and `~`, `x` and `x?`.
    Parameters that say where a visitor came from or which visit this is are left out.
    Nothing is sorted. The key of a key is that key.
    """
    if _PLAIN_KEY(url):
        return url if url[4] == ":" else "http" + url[5:]
    authority, _, tail = url.partition("://")[2].partition("#")[0].partition("/")
    path, _, query = tail.partition("?")
    path = _PATH_SESSION.sub("", "/" + _canonical_escapes(path))
    path = _ASPNET_SESSION.sub("", path)  # may have stood before a `;jsessionid=`
    query = _canonical_escapes(query)
    kept = _NOT_MEANT.sub("", query)
    if kept != query:
        query = kept.removeprefix("&")
    return f"http://{_DEFAULT_PORT.sub('', authority)}{path}{'?' if query else ''}{query}"


def fingerprint(url: str) -> bytes:
    """MD5 (16 bytes) of the key of a normalised URL: what the set of known URLs holds."""
    digest: bytes = md5(key(url).encode(), usedforsecurity=False).digest()
    return digest


def _canonical_escapes(text: str) -> str:
    """RFC 3986, 6.2.2: unreserved characters bare, all others that are no delimiter escaped."""
    return _ESCAPABLE.sub(_canonical_escape, text)


def _canonical_escape(match: re.Match[str]) -> str:
    found = match[0]
    if len(found) == 3:
        char = chr(int(found[1:], 16))
        return char if char in _UNRESERVED else found.upper()
    return f"%{ord(found):02X}"  # a bare character of ASCII, or a % that escapes nothing


_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPABLE: Final = re.compile(
    r"%(?![89A-F][0-9A-F])(?:[0-9A-Fa-f]{2})?|[\x00-\x20\"<>\[\\\]^`{|}\x7f]"
)
_DEFAULT_PORT: Final = re.compile(r":(?:80|443)\Z")
_PLAIN_KEY: Final = re.compile(
    r"https?://[a-z0-9.-]+/(?:[A-Za-z0-9\-._~!$&'*+,=:@/]++|%[89A-F][0-9A-F])*+"
).fullmatch
_PATH_SESSION: Final = re.compile(
    r"(?<!/\.)(?<!/\.\.);(?:jsessionid|phpsessid|sid)=[^/;]*", re.IGNORECASE
)
_ASPNET_SESSION: Final = re.compile(
    r"/\((?:[a-z0-9]{24}|(?:[a-z]\([a-z0-9]{24,48}\))+)\)(?=/)", re.IGNORECASE
)
_NOT_MEANT: Final = re.compile(
    r"""(?:^|&)(?:
        # where the visitor came from: campaigns, clicks, mailings, shares
        utm_[^=&]* | gclid | gclsrc | dclid | [gw]braid | fbclid | msclkid | ys?clid | t[tw]clid
        | li_fat_id | spm | scm | mc_[ce]id | _hs(?:enc|mi) | hsctatracking | mkt_tok
        | mtm_[^=&]* | pk_(?:campaign|kwd|keyword|medium|source|content|cid)
        | fb_(?:ref|source|action_ids|action_types) | ig(?:shid|sh) | _openstat
        | oly_(?:enc|anon)_id | vero_(?:id|conv) | wickedid | _g[al]
        | bd_vid | hm(?:sr|pl|cu|kw|ci) | isappinstalled | nsukey | share_token
        # which visit this is
        | phpsessid | jsessionid | aspsessionid[a-z]* | asp\.net_sessionid | cfid | cftoken
        | oscsid(?==) | zenid(?==)
        | (?:s|sid|sess|sessid|session|session_?id)(?==[0-9a-f]{16,}(?:&|$))
    )(?:=[^&]*)?(?=&|$)""",
    re.VERBOSE | re.IGNORECASE,
)


# Hosts


def host_of(url: str) -> str:
    """host[:port] of a normalised URL, default port dropped."""
    start = 7 if url[4] == ":" else 8
    return url[start : url.index("/", start)]


def origin_of(url: str) -> str:
    """scheme://host[:port] of a normalised URL."""
    return url[: url.index("/", 8)]


@lru_cache(maxsize=4096)
def registrable_domain(host: str) -> str:
    """The part of a host that somebody registered: `b.com.cn` of `a.b.com.cn:8080`.

    By the Public Suffix List (with its private part: each `name.github.io` is a site of
    its own), as shipped in tldextract; nothing is downloaded. IP addresses, suffixes and
    single labels are returned as they are.
    """
    name = without_port(host)
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        found = _extractor()(name)
        if found.suffix:
            return found.top_domain_under_public_suffix or name
        return ".".join(name.split(".")[-2:])  # no rule: as if the list had the last label
    return name


@lru_cache(maxsize=1)
def _extractor() -> Callable[[str], Any]:
    from tldextract import TLDExtract  # 0.1 s and some megabytes, not wanted by every process

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


def without_port(host: str) -> str:
    """The name or address in a host: `[::1]` of `[::1]:8080`."""
    return _PORT.sub("", host)


_PORT: Final = re.compile(r":\d*\Z")


# Seeds


def seed_candidates(text: str) -> list[str]:
    """The URLs that a user may have meant by a seed, to be tried in this order.

    With a scheme just that one; `example.com/x` as https, then http. ConfigError if it is
    no web address.
    """
    seed = text.strip()
    if not seed:
        raise ConfigError("seed: is empty; give a web address such as https://example.com/")
    if re.search(r"[\s\x00-\x1f]", seed):
        raise ConfigError(
            "seed {seed!r}: has white space in it; give one address per --seed", seed=seed
        )
    scheme = _SCHEME.match(seed)
    if scheme and scheme[1].lower() not in ("http", "https"):
        raise ConfigError(
            "seed {seed!r}: {scheme}: cannot be crawled, only http and https can",
            seed=seed,
            scheme=scheme[1],
        )
    bare = seed.removeprefix("//")
    host = re.split(r"[/?#]", bare, maxsplit=1)[0]
    if not scheme and host.lower() != "localhost" and not re.search(r".[.。:].", host):
        raise ConfigError(
            "seed {seed!r}: is no web address; give one such as https://example.com/", seed=seed
        )
    written = [seed] if scheme else [f"https://{bare}", f"http://{bare}"]
    found = [url for url in map(normalise, written) if url]
    if not found:
        raise ConfigError(
            "seed {seed!r}: is no valid web address (host, port or length)", seed=seed
        )
    return found


_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?!\d+(?:[/?#]|\Z))")
