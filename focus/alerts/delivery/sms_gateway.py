"""HTTP request by which an SMS gateway sends a message, and the check of its response.

Gateways differ in the place of number and text. Some lines of TOML describe a gateway, or a URL
where that is enough:

    url = "https://sms.example.cn/v1/send?account=focus"
    json = {mobile = "{phone}", content = "【focus】{text}"}
    headers = {Authorization = "Bearer 123"}
    accepted = '"code":0'
    characters = 60

`form` instead of `json` posts form fields; without either the request is a GET. Placeholders:

    {phone}   the number
    {digits}  the number without a plus
    {text}    the message

Values are percent-encoded in URL and form, escaped in JSON, and on one line in headers. A message
is accepted when the status is 2xx and the response contains the text `accepted`, if given; white
space does not count. Many gateways respond with 200 to errors as well.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from focus.alerts.addresses import is_web_address
from focus.errors import ConfigError, refuse_deep_nesting

DEFAULT_CHARACTERS = 70  # per message with a character outside the GSM alphabet (3GPP 23.038)
_PLACEHOLDER = re.compile(r"\{(phone|digits|text)\}")


class SmsGateway(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Description of a gateway; see the module."""

    url: str
    json: dict[str, Any] | None = None
    form: dict[str, str] | None = None
    headers: dict[str, str] = {}
    accepted: str = ""
    characters: int = DEFAULT_CHARACTERS


class GatewayRequest(NamedTuple):
    """HTTP request to a gateway."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes


def parse_gateway(text: str) -> SmsGateway:
    """Return the gateway that a URL or TOML describes.

    Raises ConfigError, whose text contains no secret.
    """
    try:
        if text.startswith(("http://", "https://")):
            gateway = SmsGateway(text.strip())
        else:
            with refuse_deep_nesting():
                gateway = msgspec.convert(tomllib.loads(text), SmsGateway)
    except msgspec.ValidationError as error:
        raise ConfigError("SMS gateway: {error}", error=error) from None
    except ValueError as error:
        raise ConfigError("SMS gateway: neither a URL nor TOML ({error})", error=error) from None
    _check_gateway(gateway)
    return gateway


def _check_gateway(gateway: SmsGateway) -> None:
    if not is_web_address(_PLACEHOLDER.sub("0", gateway.url)):
        raise ConfigError(
            "SMS gateway: url is not a web address; write https://sms.example.cn/send"
        )
    if gateway.json is not None and gateway.form is not None:
        raise ConfigError("SMS gateway: give json or form, not both")
    templates = gateway.url + str(gateway.json) + str(gateway.form)
    for name in ("text", "phone"):
        if f"{{{name}}}" not in templates.replace("{digits}", "{phone}"):
            raise ConfigError(
                "SMS gateway: put {place} where it goes, in url, json or form", place=f"{{{name}}}"
            )
    if not 20 <= gateway.characters <= 500:
        raise ConfigError("SMS gateway: characters must be 20 to 500")


def build_request(gateway: SmsGateway, phone: str, text: str) -> GatewayRequest:
    """Return the request that sends a text to a number.

    Example: `form = {to = "{digits}", msg = "{text}"}` for +4915 and `a b` gives `to=4915&msg=a+b`.
    """
    values = {"phone": phone, "digits": phone.lstrip("+"), "text": text}
    one_line_values = {name: " ".join(value.split()) for name, value in values.items()}
    headers = {name: _fill(value, one_line_values) for name, value in gateway.headers.items()}
    body = b""
    if gateway.json is not None:
        body = msgspec.json.encode(_fill_all(gateway.json, values))
        headers.setdefault("Content-Type", "application/json; charset=utf-8")
    elif gateway.form is not None:
        body = urlencode(_fill_all(gateway.form, values)).encode()
        headers.setdefault("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
    url = _fill(gateway.url, {name: quote(value, safe="") for name, value in values.items()})
    method = "GET" if gateway.json is None and gateway.form is None else "POST"
    return GatewayRequest(method, url, headers, body)


def _fill(template: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def _fill_all(template: Any, values: Mapping[str, str]) -> Any:
    """Return a structure with the placeholders in all of its texts filled in."""
    if isinstance(template, str):
        return _fill(template, values)
    if isinstance(template, dict):
        return {name: _fill_all(value, values) for name, value in template.items()}
    return (
        [_fill_all(element, values) for element in template]
        if isinstance(template, list)
        else template
    )


def is_accepted(gateway: SmsGateway, status: int, response: bytes) -> bool:
    """Return whether the gateway reports that it accepted a message."""
    if not 200 <= status < 300:
        return False
    body = "".join(response.decode("utf-8", "replace").split())
    return "".join(gateway.accepted.split()) in body
