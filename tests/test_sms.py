"""Short messages go through gateways as these ask for it, and say most in little."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from focus.alerts.delivery import CHANNELS, sms, sms_gateway
from focus.alerts.message import plain_message
from focus.alerts.settings import DeliverySettings
from focus.errors import ConfigError
from tests.support.cases import cases
from tests.support.outbox import OutboxFixture
from tests.support.webhooks import Receiver, receiving

PHONE = "+8613800138000"
TOML = """
url = "https://sms.example.cn/v1/send?account=focus"
json = {mobile = "{digits}", content = "【focus】{text}", more = ["{phone}"]}
headers = {Authorization = "Bearer 123"}
accepted = '"code": 0'
"""


def build(text: str, said: str = "a & b") -> sms_gateway.GatewayRequest:
    gateway = sms_gateway.parse_gateway(text)
    return sms_gateway.build_request(gateway, PHONE, said)


# -- requests -----------------------------------------------------------------------


def test_gateway_given_as_url_sends_get() -> None:
    request = build("https://sms.example.cn/send?to={phone}&text={text}&key=k")
    assert request.method == "GET" and not request.body
    assert parse_qs(urlsplit(request.url).query) == {"to": [PHONE], "text": ["a & b"], "key": ["k"]}


def test_gateway_with_form_encodes_values() -> None:
    request = build(
        'url = "https://sms.example.cn/"\n'
        'form = {apikey = "k", mobile = "{phone}", text = "{text}"}'
    )
    assert request.method == "POST"
    assert request.headers["Content-Type"].startswith("application/x-www-form-urlencoded")
    form = {"apikey": ["k"], "mobile": [PHONE], "text": ["a & b"]}
    assert parse_qs(request.body.decode()) == form


def test_gateway_with_json_fills_all_texts() -> None:
    request = build(TOML, 'he said "no"')
    message = {"mobile": "8613800138000", "content": '【focus】he said "no"', "more": [PHONE]}
    assert json.loads(request.body) == message
    assert request.headers["Authorization"] == "Bearer 123"


def test_value_with_placeholder_is_not_expanded() -> None:
    request = build("https://a.test/?to={phone}&text={text}", "{phone}{digits}")
    assert parse_qs(urlsplit(request.url).query)["text"] == ["{phone}{digits}"]


@cases(
    "text, reason",
    ("nothing:{phone}", "neither a URL nor TOML"),
    ("https://a.test/?text={text}", "put {phone}"),
    ("https://a.test/?to={phone}", "put {text}"),
    ('url = "gopher://{phone}{text}"', "not a web address"),
    ("http://[{phone}{text}", "not a web address"),
    ('url = "https://a.test/{phone}{text}"\njson = {}\nform = {}', "not both"),
    ('url = "https://a.test/{phone}{text}?key=s3cret"\nspeed = 3', "speed"),
    ('url = "https://a.test/{phone}{text}"\ncharacters = 9', "20 to 500"),
)
def test_invalid_gateway_raises(text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(reason)) as error:
        sms_gateway.parse_gateway(text)
    assert "s3cret" not in str(error.value)


# -- texts --------------------------------------------------------------------------


async def test_digest_is_one_message_with_link(here: OutboxFixture) -> None:
    async with receiving(Receiver(reply=b'{"code":0}')) as gate:
        here.base_url = "https://focus.example.org"
        here.options = {"sms_gateway": f"{gate.url}/?to={{phone}}&text={{text}}"}
        alert = here.alert("欧冠", f"sms:{PHONE}")
        here.finds(alert, *(f"http://a.test/{n}" for n in range(9)), title="抽签今日举行" * 5)
        assert (await here.deliver()).sent == 1
    (got,) = gate.requests
    (text,) = parse_qs(urlsplit(got.path).query)["text"]
    head, first, *_, link = text.split("\n")
    assert (head, link) == ("欧冠：9 篇新页面", "https://focus.example.org/inbox")
    assert first.startswith("抽签今日举行")
    assert sms.utf16_length(text) == 70


def test_long_link_is_left_out() -> None:
    message = plain_message("1", "en", subject="s", body="x" * 90)
    assert sms.shorten_message(message, "https://focus.test", 70) == "x" * 69 + "…"


@pytest.mark.parametrize("limit", range(2, 12))
def test_truncated_text_fits_and_has_no_half_character(limit: int) -> None:
    text = sms.truncate("a😀b😀c😀d😀", limit)
    assert sms.utf16_length(text) <= limit
    text.encode()  # no half of a pair


# -- gateways that answer -----------------------------------------------------------


async def test_gateway_response_decides_outcome(here: OutboxFixture) -> None:
    async with receiving(Receiver(reply=b'{"code": 7, "msg": "no money"}')) as gate:
        file = here.store.path.with_name("gate.toml")
        file.write_text(TOML.replace("https://sms.example.cn", gate.url), encoding="utf-8")
        here.options = {"sms_gateway": str(file)}
        gate.answers = [(200, {}), (503, {"Retry-After": "7200"}), (200, {})]
        here.finds(here.alert("欧冠", f"sms:{PHONE}"), "http://a.test/1")
        refused = await here.deliver()
        assert refused.failures["sms"].endswith("does not confirm the message")
        here.clock.now += 100
        assert (await here.deliver()).waiting == 1
        assert here.store.outbox.next_due_at() == here.clock.now + 7200
        here.clock.now += 7200
        gate.reply = b'{\n"code":0}'
        assert (await here.deliver()).sent == 1
    assert len(gate.requests) == 3
    assert json.loads(gate.requests[0].body)["content"].startswith("【focus】欧冠：标题 1")


async def test_missing_gateway_reports_one_line(here: OutboxFixture, tmp_path: Path) -> None:
    here.finds(here.alert("欧冠", f"sms:{PHONE}"), "http://a.test/1")
    assert (await here.deliver()).failures == {"sms": sms.NO_GATEWAY}
    there = DeliverySettings(options={"sms_gateway": str(tmp_path / "none.toml")})
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read .No such file"):
        CHANNELS["sms"].check_installation(there)


def test_masked_gateway_shows_host_only() -> None:
    assert sms.mask_gateway(TOML) == "sms.example.cn/***"
    assert sms.mask_gateway("twilio://s:t@1/{phone}") == "twilio://***"
    assert sms.mask_gateway("") == ""
    plain = msgspec.structs.replace(DeliverySettings(), sms=TOML)
    assert "Bearer" not in repr(plain)
