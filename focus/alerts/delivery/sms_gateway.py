"""Writes the request by which an SMS gateway sends a message, and reads its answer.

Gateways differ in where number and text go and in how a request is signed, so that is said by
a few lines of TOML, or by a URL where that is all:

    url = "https://sms.example.cn/v1/send?account=focus"
    json = {mobile = "{phone}", content = "【focus】{text}", time = "{timestamp}"}
    headers = {Authorization = "Bearer 123"}
    secret = "the shared secret"
    signed = "{timestamp}\n{nonce}\n{body}"
    signature = {header = "X-Signature", hash = "sha256", as = "hex"}
    accepted = '"code":0'
    characters = 60

`form` instead of `json` posts fields; without either it is a GET. In all of them `{phone}` is the
number, `{digits}` the same without a plus, `{text}` the message, `{timestamp}` Unix seconds,
`{milliseconds}` the same times 1,000, `{nonce}` 16 hex digits; in headers and URL `{signature}` is
HMAC (RFC 2104) of `signed` under the secret, where `{body}` may stand as well. Values are
percent-encoded in URL and form, escaped in JSON, and on one line in headers. A message is taken
when the status is 2xx and, where `accepted` is given, the answer holds that text, spaces apart:
many gateways answer 200 to whatever goes wrong.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from focus.errors import ConfigError

CHARACTERS = 70  # of one message, where any is outside the GSM alphabet (3GPP 23.038)
_NAME = re.compile(r"\{(phone|digits|text|timestamp|milliseconds|nonce|body|signature)\}")


class GatewaySignature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The header that carries the HMAC, its hash, and how it is written (`as`)."""

    header: str
    hash: Literal["sha256", "sha1", "sha512", "md5"] = "sha256"
    written: Literal["hex", "base64"] = msgspec.field(default="hex", name="as")
    value: str = "{signature}"


class SmsGateway(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A gateway's way to be asked; see the module."""

    url: str
    json: dict[str, Any] | None = None
    form: dict[str, str] | None = None
    headers: dict[str, str] = {}
    secret: str = ""
    signed: str = "{body}"
    signature: GatewaySignature | None = None
    accepted: str = ""
    characters: int = CHARACTERS


class GatewayRequest(NamedTuple):
    """A request to a gateway."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes


def parsed(text: str) -> SmsGateway:
    """The gateway of a URL or of lines of TOML. ConfigError says what is wrong, and no secret."""
    try:
        if text.startswith(("http://", "https://")):
            found = SmsGateway(text.strip())
        else:
            found = msgspec.convert(tomllib.loads(text), SmsGateway)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError("SMS gateway: neither a URL nor TOML ({error})", error=error) from None
    except msgspec.ValidationError as error:
        raise ConfigError("SMS gateway: {error}", error=error) from None
    _check(found)
    return found


def _check(gateway: SmsGateway) -> None:
    parts = urlsplit(_NAME.sub("0", gateway.url))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError("SMS gateway: url is none of the web; write https://sms.example.cn/send")
    if gateway.json is not None and gateway.form is not None:
        raise ConfigError("SMS gateway: give json or form, not both")
    whole = gateway.url + str(gateway.json) + str(gateway.form)
    for name in ("text", "phone"):
        if f"{{{name}}}" not in whole.replace("{digits}", "{phone}"):
            raise ConfigError(
                "SMS gateway: put {place} where it goes, in url, json or form", place=f"{{{name}}}"
            )
    if bool(gateway.secret) != (gateway.signature is not None):
        raise ConfigError("SMS gateway: secret and signature go together")
    if not 20 <= gateway.characters <= 500:
        raise ConfigError("SMS gateway: characters is 20 to 500")


def request_of(
    gateway: SmsGateway, phone: str, text: str, *, now: float, nonce: str
) -> GatewayRequest:
    """The request that sends a text to a number.

    Worked: `form = {to = "{digits}", msg = "{text}"}` for +4915 and `a b` → `to=4915&msg=a+b`.
    """
    values = {
        "phone": phone,
        "digits": phone.lstrip("+"),
        "text": text,
        "timestamp": str(int(now)),
        "milliseconds": str(int(now * 1000)),
        "nonce": nonce,
    }
    headers = {}
    body = b""
    if gateway.json is not None:
        body = msgspec.json.encode(_filled_in(gateway.json, values))
        headers["Content-Type"] = "application/json; charset=utf-8"
    elif gateway.form is not None:
        body = urlencode(_filled_in(gateway.form, values)).encode()
        headers["Content-Type"] = "application/x-www-form-urlencoded; charset=utf-8"
    if (how := gateway.signature) is not None:
        signed = _filled(gateway.signed, {**values, "body": body.decode()})
        digest = hmac.new(gateway.secret.encode(), signed.encode(), getattr(hashlib, how.hash))
        values["signature"] = (
            digest.hexdigest()
            if how.written == "hex"
            else base64.b64encode(digest.digest()).decode()
        )
        headers[how.header] = _filled(how.value, values)
    in_line = {name: " ".join(value.split()) for name, value in values.items()}
    headers |= {name: _filled(value, in_line) for name, value in gateway.headers.items()}
    url = _filled(gateway.url, {name: quote(value, safe="") for name, value in values.items()})
    method = "GET" if gateway.json is None and gateway.form is None else "POST"
    return GatewayRequest(method, url, headers, body)


def _filled(template: str, values: Mapping[str, str]) -> str:
    return _NAME.sub(lambda found: values.get(found[1], found[0]), template)


def _filled_in(what: Any, values: Mapping[str, str]) -> Any:
    """The same in every text of a structure."""
    if isinstance(what, str):
        return _filled(what, values)
    if isinstance(what, dict):
        return {name: _filled_in(value, values) for name, value in what.items()}
    return [_filled_in(each, values) for each in what] if isinstance(what, list) else what


def is_taken(gateway: SmsGateway, status: int, answer: bytes) -> bool:
    """Whether the gateway says that it has taken a message."""
    if not 200 <= status < 300:
        return False
    said = "".join(answer.decode("utf-8", "replace").split())
    return "".join(gateway.accepted.split()) in said
