"""Every line that people see on Chinese pages is Chinese."""

import re
from pathlib import Path
from typing import Any

import pytest

from focus.alerts import query, schedule, settings, translations
from focus.alerts.alert import checked, from_json
from focus.alerts.page_match import topic_of
from focus.alerts.texts import told
from focus.errors import FocusError
from focus.records import DropReason, FailureKind
from focus.storage.alerts.records import Alert
from tests.support.messages import templates

ROOT = Path(__file__).parents[1] / "focus"
MODULES = (
    "alerts/alert alerts/query alerts/schedule alerts/page_match alerts/settings "
    "storage/alerts/alerts storage/alerts/store alerts/visit alerts/delivery/mail "
    "alerts/delivery/webhook alerts/delivery/apprise "
    "alerts/keyfile "
    "alerts/delivery/sms alerts/delivery/sms_gateway alerts/delivery/feed "
    "alerts/delivery/__init__ alerts/delivery/http_post serve/admin serve/address_verification "
    "topic/topic urls/normal_form storage/search_terms storage/search storage/search_file "
    "storage/search_index storage/schema storage/lock "
    "http/response http/connection http/network_errors"
).split()
OPERATORS = {  # said at the terminal only, or about files that web pages cannot name
    "settings have no key; read them with settings.read",
    "{}: a topic needs at least one keyword",
    "{}: unknown key {}; known: {}",
}
ENGLISH = re.compile(r"[a-z]{2,} [a-z]{2,}")


def every_line() -> set[str]:
    found: set[str] = set()
    for module in MODULES:
        found |= templates(ROOT / f"{module}.py")
    return found - OPERATORS


def in_chinese(template: str) -> str:
    values = iter(range(100))
    line = re.sub(r"\{\}", lambda _: f"X{next(values)}", template)
    return told(line, "zh")


@pytest.mark.parametrize("template", sorted(every_line()))
def test_every_line_of_ours_has_its_chinese_words(template: str) -> None:
    if re.search("[a-z]", template.replace("{}", "")):  # not mere joints
        said = in_chinese(template)
        plain = re.sub("`[^`]*`|FOCUS_[A-Z_]+|--[a-z-]+|https?:\\S+", "", said)
        assert not ENGLISH.search(plain), said
        assert re.search("[\u4e00-\u9fff]", said), said


def test_advice_about_the_database_and_all_reasons_have_theirs() -> None:
    from focus.storage.schema import _ADVICE

    for line in (*_ADVICE.values(), *map(str, FailureKind), *map(str, DropReason)):
        assert re.search("[\u4e00-\u9fff]", told(line, "zh")), line


def test_templates_and_translations_have_the_same_values() -> None:
    for english, ours in translations.LINES.items():
        numbers = sorted({int(n) for n in re.findall(r"\{(\d)\}", ours)})
        assert numbers == list(range(len(numbers))) and len(numbers) <= english.count("{}"), english


@pytest.mark.parametrize(
    ("alert", "ours"),
    [
        ({"schedule": "61 * * * *"}, "检查时间“61 * * * *”：不是有效的 cron 表达式"),
        ({"schedule": "now and then"}, "检查时间“now and then”：无法识别"),
        ({"words": "-彩票"}, "没有要找的词"),
        ({"words": ""}, "关注 “c”：请填写词语或主题词"),
        ({"sites": ("ftp://a.test/",)}, "只能抓取 http 和 https"),
        ({"quiet": "night"}, "免打扰时段“night”：请写 22:00-07:00"),
        ({"channels": ("mail:me",)}, "通道“mail:me”"),
        ({"topic": "/etc/x.toml"}, "主题文件仅限命令行使用"),
        ({"topic": "足球:7"}, "权重 7.0 须大于 0"),
    ],
)
def test_what_is_wrong_with_a_alert_is_said_in_chinese(alert: dict[str, Any], ours: str) -> None:
    given = {"name": "c", "sites": ("https://a.test/",), "words": "足球", **alert}
    with pytest.raises(FocusError) as caught:
        topic_of(checked(Alert(**given)), trusted=False)
    assert ours.replace(" ", "") in told(str(caught.value), "zh").replace(" ", "")


def test_lines_within_lines_are_told_too() -> None:
    line = "https://a.test/: host-given-up: robots.txt: no such host; https://b.test/: robots"
    assert told(line, "zh") == (
        "https://a.test/：已放弃此主机：robots.txt：域名不存在；https://b.test/：robots.txt 禁止"
    )
    with pytest.raises(FocusError) as caught:
        from_json(b'[{"name": "c", "sites": ["https://a.test/"], "words": "-x"}]', "f.json")
    assert "第 1 个关注" in told(str(caught.value), "zh")


def test_english_readers_get_what_was_said() -> None:
    with pytest.raises(FocusError) as caught:
        query.parse("-x")
    assert told(str(caught.value), "en") == str(caught.value)


def test_settings_and_schedules_are_known() -> None:
    for wrong in ("smtp://", "ftp://a", "smtp://u:p@a.test/?starttls=off"):
        with pytest.raises(FocusError) as caught:
            settings.mail_settings(wrong, "me@a.test")
        assert re.search("[\u4e00-\u9fff]", told(str(caught.value), "zh"))
    for text in ("3m", "daily 25:00", "weekly foo", "* * * * *"):
        with pytest.raises(FocusError) as caught:
            schedule.parse(text)
        assert told(str(caught.value), "zh").startswith("检查时间")
