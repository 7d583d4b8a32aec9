"""Normalises URLs: the form that is requested, and the key by which two URLs are one page.

There are two forms of a URL. `normalise` returns the one that is *requested*: the WHATWG
serialisation without fragment and credentials. `duplicate_key` returns the one that identifies
*the same page*: http and https are one, tracking and session parameters are removed, and
percent-encoding is canonical. A key is compared, never requested.

A page has about a hundred links, most of them plain. Plain ones are recognised by one regular
expression and joined by slicing (`UrlJoiner`); the WHATWG parser (ada) handles the others. A
property test checks that both ways agree.

`url_pattern` and `url_words` (patterns.py) read a URL as text: the kind of page, and its subject.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import quote

import ada_url

from focus.config import MAX_URL_LENGTH
from focus.errors import ConfigError
from focus.text.codecs import escape_query

try:  # takes half the time of hashlib's, which uses OpenSSL
    from _md5 import md5  # type: ignore[import-not-found]
except ImportError:  # this Python was built without it
    from hashlib import md5


_MAX_HREF: Final = 8 * MAX_URL_LENGTH
"""Maximum characters of an href as written, before white space, dot segments and fragment go."""


# The URL to request


def normalise(url: str, base: str | None = None) -> str | None:
    """Return the URL to request, or None unless it is an http(s) URL of `MAX_URL_LENGTH` at most.

    A relative reference is joined to `base`. Fragment, credentials and the last dot of a host
    name are dropped; lone surrogates are read as U+FFFD. As in the standard, host names are not
    checked against the limits of DNS (labels of 63 characters). Never raises.
    """
    if len(url) > _MAX_HREF:
        return None
    if url.startswith(_WEB_SCHEMES) and (plain := _match_plain(url)):
        host, path, _, _, query = plain.groups("")
        href = host + (path or "/") + query
        return href if len(href) <= MAX_URL_LENGTH else None
    return _parse_href(
        _replace_surrogates(url), base if base is None else _replace_surrogates(base)
    )


def _parse_href(url: str, base: str | None) -> str | None:
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
    if trailing_dot := _MATCH_TRAILING_DOT(href):
        href = href[: trailing_dot.end(1)] + href[trailing_dot.end() :]
    return href if len(href) <= MAX_URL_LENGTH else None


_MATCH_TRAILING_DOT: Final = re.compile(r"(https?://[^/:]*[^/:.])\.(?=[/:])").match
"""`www.example.org.` is the full DNS form of `www.example.org`: the same host."""


def _replace_surrogates(text: str) -> str:
    """Return a text with U+FFFD in place of lone surrogates (Web IDL's USVString)."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class UrlJoiner:
    """Resolver of the hrefs of one page: `join` is `normalise(href, base)`, several times as fast.

    `encoding` is the encoding of the page as `charset.decode` names it: the query `?kw=足球` of a
    link on a GBK page has to be requested in GBK.
    """

    __slots__ = ("_base", "_encoding", "_folder", "_origin", "_page", "_scheme")

    def __init__(self, base: str, encoding: str = "utf-8") -> None:
        self._encoding = encoding
        url = normalise(base) or ""
        self._base = url or _replace_surrogates(base)
        self._page = url.partition("?")[0]
        self._folder = self._page[: self._page.rfind("/") + 1]
        self._origin = url_origin(url) if url else ""
        self._scheme = url.partition("//")[0]

    def join(self, href: str) -> str | None:
        """Return the URL to request for `href`, or None if it is not an http(s) URL."""
        if len(href) > _MAX_HREF:
            return None
        if not href.isascii():
            href = self._percent_encode(_replace_surrogates(href))
        match = _match_plain(href) if self._origin else None
        if match is None:
            return None if href.startswith(_OTHER_SCHEMES) else _parse_href(href, self._base)
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
        return url if len(url) <= MAX_URL_LENGTH else None

    @property
    def origin(self) -> str:
        """Scheme and host of the page, as `url_origin` returns them; "" if its URL is not valid."""
        return self._origin

    def is_same_for_site(self, href: str) -> bool:
        """Return whether `join` gives the same URL on every page of the site.

        This is so for `/a` and `http://h/a`, unless their query is not ASCII, because that is
        encoded in the encoding of the page.
        """
        if "?" in href and not href.isascii():
            return False
        return href.startswith(_WEB_SCHEMES) or (href[:1] == "/" and bool(self._origin))

    def _percent_encode(self, href: str) -> str:
        """Percent-encode non-ASCII characters: in UTF-8, but the query in the page's encoding."""
        if self._encoding != "utf-8":
            address, hash_sign, fragment = href.partition("#")
            path, mark, query = address.partition("?")
            href = path + mark + escape_query(query, self._encoding) + hash_sign + fragment
        return _NOT_ASCII.sub(lambda run: "%" + run[0].encode().hex("%").upper(), href)


_WEB_SCHEMES: Final = ("http://", "https://")
_OTHER_SCHEMES: Final = ("javascript:", "mailto:", "tel:", "data:")
_NOT_ASCII: Final = re.compile("[^\x00-\x7f]+")
_PATH = r"[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*+"
_MATCH_PLAIN_HREF: Final[Callable[[str], re.Match[str] | None]] = re.compile(
    rf"(?:((?:https?:)?//[a-z0-9.-]*\.[a-z]++)(/{_PATH})?|(/(?!/){_PATH})"
    rf"|([A-Za-z0-9\-_~!$&'()*+,;=@][A-Za-z0-9\-._~!$&'()*+,;=@%]*+(?:/{_PATH})?))?"
    r"(\?[A-Za-z0-9\-._~!$&()*+,;=:@%/?]*+)?(?:#.*)?",
    re.DOTALL,
).fullmatch
"""(host, its path, path, relative path, query) of an href that WHATWG parsing does not change.

That holds for safe ASCII without a port and with a host that ends in letters, so that it is not
an IPv4 number. Dot segments and punycode must be excluded separately.
"""


def _match_plain(href: str) -> re.Match[str] | None:
    """Return the parts of an href that needs no parser except to remove its fragment, else None."""
    match = _MATCH_PLAIN_HREF(href)
    return None if match and ("/." in href or "/%2" in href or "xn--" in href) else match


# The duplicate key


def duplicate_key(url: str) -> str:
    """Return the duplicate key of a normalised URL; two URLs with one key are one page.

    http and https of a host are one; so are `%e4` and `%E4`, `%7E` and `~`, `x` and `x?`.
    Parameters that name where the visitor came from, or the visit, are removed. Nothing is
    sorted. A fragment counts if it is a `hash_route`. The key of a key is that key.
    """
    if _MATCH_PLAIN_KEY(url):
        return url if url[4] == ":" else "http" + url[5:]
    address, mark, fragment = url.partition("://")[2].partition("#")
    authority, _, tail = address.partition("/")
    path, _, query = tail.partition("?")
    path = _PATH_SESSION.sub("", "/" + _canonicalise_escapes(path))
    path = _ASPNET_SESSION.sub("", path)  # may be followed by a `;jsessionid=`
    query = _canonicalise_escapes(query)
    filtered = _IGNORED_PARAMETERS.sub("", query)
    if filtered != query:
        query = filtered.removeprefix("&")
    route = hash_route(mark + fragment) if mark else ""
    return f"http://{_DEFAULT_PORT.sub('', authority)}{path}{'?' if query else ''}{query}{route}"


def url_fingerprint(url: str) -> bytes:
    """Return the MD5 (16 bytes) of the duplicate key of a normalised URL."""
    digest: bytes = md5(duplicate_key(url).encode(), usedforsecurity=False).digest()
    return digest


def _canonicalise_escapes(text: str) -> str:
    """Unescape unreserved characters and escape all others but delimiters (RFC 3986, 6.2.2)."""
    return _ESCAPABLE.sub(_canonicalise_escape, text)


def _canonicalise_escape(match: re.Match[str]) -> str:
    escape = match[0]
    if len(escape) == 3:
        char = chr(int(escape[1:], 16))
        return char if char in _UNRESERVED else escape.upper()
    return f"%{ord(escape):02X}"  # an unescaped character, or a % that escapes nothing


_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPABLE: Final = re.compile(
    r"%(?![89A-F][0-9A-F])(?:[0-9A-Fa-f]{2})?|[\x00-\x20\"<>\[\\\]^`{|}\x7f]"
)
_DEFAULT_PORT: Final = re.compile(r":(?:80|443)\Z")
_MATCH_PLAIN_KEY: Final = re.compile(
    r"https?://[a-z0-9.-]+/(?:[A-Za-z0-9\-._~!$&'*+,=:@/]++|%[89A-F][0-9A-F])*+"
).fullmatch
_PATH_SESSION: Final = re.compile(
    r"(?<!/\.)(?<!/\.\.);(?:jsessionid|phpsessid|sid)=[^/;]*", re.IGNORECASE
)
_ASPNET_SESSION: Final = re.compile(
    r"/\((?:[a-z0-9]{24}|(?:[a-z]\([a-z0-9]{24,48}\))+)\)(?=/)", re.IGNORECASE
)
_IGNORED_PARAMETERS: Final = re.compile(
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


# The readable form


def readable_url(url: str) -> str:
    """Return a URL as an address bar shows it: `http://视频.example/a b` for `xn--…/a%20b`.

    Decoded are host names, UTF-8 or GB 18030 text, and signs that are only escaped because they may
    not stand in a URL. Other escapes, such as `%2F`, remain. Works on parts of URLs, too.
    """
    return _READABLE.sub(_decode_part, url)


def _decode_part(match: re.Match[str]) -> str:
    part = match[0]
    if part[0] != "%":
        return ada_url.idna_to_unicode(part.encode()) or part
    data = bytes.fromhex(part.replace("%", ""))
    for encoding in ("utf-8", "gb18030"):
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode(encoding)
    return part


_READABLE: Final = re.compile(
    r"(?:%[89A-F][0-9A-F])+|%(?:20|22|3C|3E|5B|5C|5D|5E|60|7B|7C|7D)|\bxn--[a-z0-9-]+", re.I
)


# Hosts


def hash_route(href: str) -> str:
    """Return the fragment of a link to a part of a script application: `#/post/4` or `#!/post/4`.

    Empty if there is none.
    """
    _, mark, fragment = href.partition("#")
    if not mark or len(fragment.lstrip("!")) < 2 or not fragment.startswith(("/", "!/")):
        return ""
    return "#" + quote(_replace_surrogates(fragment), safe="!/?&=%:@,;+$*'()~")


def normalise_host(text: str) -> str:
    """Return host[:port] of a host or URL as typed, as it stands in normalised URLs."""
    url = normalise(text if "://" in text else f"http://{text.strip()}")
    return url_host(url) if url else text.lower()


def url_host(url: str) -> str:
    """Return host[:port] of a normalised URL, without the default port."""
    start = 7 if url[4] == ":" else 8
    return url[start : url.index("/", start)]


def path_and_query(url: str) -> str:
    """Return path and query of a normalised URL."""
    return url[url.find("/", 8) :]


def url_origin(url: str) -> str:
    """Return scheme://host[:port] of a normalised URL."""
    return url[: url.index("/", 8)]


@lru_cache(maxsize=4096)
def registrable_domain(host: str) -> str:
    """Return the part of a host that was registered: `b.com.cn` for `a.b.com.cn:8080`.

    It follows the Public Suffix List with its private part, so that each `name.github.io` is a
    site of its own, as shipped with tldextract; nothing is downloaded. IP addresses, suffixes and
    single labels are returned as they are.
    """
    name = strip_port(host)
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        parts = _suffix_extractor()(name)
        if parts.suffix:
            return parts.top_domain_under_public_suffix or name
        return ".".join(name.split(".")[-2:])  # no rule: as if the last label were listed
    return name


@lru_cache(maxsize=1)
def _suffix_extractor() -> Callable[[str], Any]:
    from tldextract import TLDExtract  # costs 0.1 s and megabytes, and few processes need it

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)


def strip_port(host: str) -> str:
    """Return the name or address in a host: `[::1]` for `[::1]:8080`."""
    return _PORT.sub("", host)


_PORT: Final = re.compile(r":\d*\Z")


# Seeds


def seed_candidates(text: str) -> list[str]:
    """Return the URLs that a seed as typed may stand for, in the order in which to try them.

    A seed with a scheme is one URL; `example.com/x` is tried as https, then http. Raises
    ConfigError if it is not a web address.
    """
    seed = text.strip()
    if not seed:
        raise ConfigError("seed: is empty; give a web address such as https://example.com/")
    if re.search(r"[\s\x00-\x1f]|[,;]https?://", seed):
        raise ConfigError(
            "seed {seed!r}: contains white space or several URLs; give one URL per seed", seed=seed
        )
    scheme = _SCHEME.match(seed)
    if scheme and scheme[1].lower() not in ("http", "https"):
        raise ConfigError(
            "seed {seed!r}: only http and https can be crawled, not {scheme}:",
            seed=seed,
            scheme=scheme[1],
        )
    bare = seed.removeprefix("//")
    host = re.split(r"[/?#]", bare, maxsplit=1)[0]
    if not scheme and host.lower() != "localhost" and not re.search(r".[.。:].", host):
        raise ConfigError(
            "seed {seed!r}: is not a web address such as https://example.com/; a topic of several "
            'words stands in quotation marks: --topic "two words"',
            seed=seed,
        )
    spellings = [seed] if scheme else [f"https://{bare}", f"http://{bare}"]
    urls = [url for url in map(normalise, spellings) if url]
    if not urls:
        raise ConfigError(
            "seed {seed!r}: is not a valid web address (host, port or length)", seed=seed
        )
    return urls


def read_url(text: str) -> str:
    """Return the URL that a user has typed, with https if it has no scheme; ConfigError if none."""
    try:
        return seed_candidates(text)[0]
    except ConfigError:
        raise ConfigError(
            "{text!r} is not a web address; write it like https://example.org/", text=text
        ) from None


_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?!\d+(?:[/?#]|\Z))")
