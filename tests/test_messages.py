"""What focus says has its Chinese in the catalogue, and is told in its reader's language."""

import ast
import gettext
import io
import pickle
import re
import string
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from babel.messages.mofile import read_mo
from pytest import CaptureFixture, MonkeyPatch

from focus.__main__ import main
from focus.alerts import query, schedule, settings
from focus.alerts.alert import from_json, validate_alert
from focus.alerts.message import trial_message
from focus.alerts.page_match import alert_topic
from focus.commands.crawl_progress import CrawlMeter
from focus.errors import ConfigError, FocusError
from focus.i18n import (
    Msg,
    chain_messages,
    decode_message,
    encode_message,
    environment_language,
    join_messages,
    msg,
    plural,
    set_language,
    translate,
)
from focus.storage.alerts.records import Alert
from focus.text.formatting import cell_width, wrap_lines
from tests.support.cases import cases
from tests.test_progress import FakeCrawl

sys.path.append(str(Path(__file__).parents[1] / "docs"))
import make_messages

FOCUS = Path(__file__).parents[1] / "focus"

IDEOGRAPH = re.compile("[\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def chinese() -> dict[str, str]:
    """Id -> its Chinese, as the catalogue has it."""
    patterns = {}
    for item in make_messages.catalogue():
        if item.id:
            pattern = item.id if isinstance(item.id, str) else item.id[0]
            patterns[pattern] = item.string if isinstance(item.string, str) else item.string[0]
    return patterns


def test_catalogue_contains_exactly_the_messages_of_the_source(chinese: dict[str, str]) -> None:
    ids = {item.text for item in make_messages.found()}
    assert ids == set(chinese), "python docs/make_messages.py"
    assert not [text for text, ours in chinese.items() if not ours]


def test_catalogue_files_match_output_of_make_messages() -> None:
    stands = make_messages.catalogue()
    assert make_messages.po(make_messages.renewed(stands)) == make_messages.PO.read_bytes()
    expected, compiled = (
        read_mo(io.BytesIO(data))
        for data in (make_messages.mo(stands), make_messages.PO.with_suffix(".mo").read_bytes())
    )
    # Only the version of Babel in the header may differ.
    assert [(m.id, m.string) for m in compiled if m.id] == [
        (m.id, m.string) for m in expected if m.id
    ]
    assert compiled.mime_headers == expected.mime_headers


def places(text: str) -> set[str]:
    """The names of the values that stand in a text, of both kinds."""
    named = {name for _, name, _, _ in string.Formatter().parse(text) if name}
    return named | set(re.findall(r"%\((\w+)\)s", text))


def test_translation_has_placeholders_of_its_id(chinese: dict[str, str]) -> None:
    many = {item.text: item.plural for item in make_messages.found()}
    for english, ours in chinese.items():
        in_one, in_many = places(english), places(many[english] or english)
        assert in_one & in_many <= places(ours) <= in_one | in_many, english


def test_ids_are_literals() -> None:
    wrong = [
        f"{file}:{call.lineno}"
        for file, call, name in make_messages.calls()
        for argument in call.args[:1]
        if isinstance(argument, ast.JoinedStr) and name != "format_count"
    ]
    assert not wrong, "an id is a text with {places}, and its values"


# -- telling ------------------------------------------------------------------------


def test_message_as_str_is_english() -> None:
    line = msg(
        "schedule {text!r}: not a cron expression ({reason})",
        text="61 * * * *",
        reason="bad minute",
    )
    assert line == "schedule '61 * * * *': not a cron expression (bad minute)"
    assert translate(line, "zh-CN") == "检查时间“61 * * * *”：不是有效的 cron 表达式（bad minute）"
    assert translate(line, "fr") == line
    assert type(translate(line, "en")) is str


def test_plural_chooses_form_by_n() -> None:
    single, two = (plural("{n} new page", "{n} new pages", n=n) for n in (1, 2))
    assert (single, two) == ("1 new page", "2 new pages")
    assert (translate(single, "zh"), translate(two, "zh")) == ("1 篇新页面", "2 篇新页面")


def test_translate_nested_messages() -> None:
    line = join_messages(
        [
            chain_messages(
                "https://a.test/", msg("host-given-up"), "robots.txt", msg("no such host")
            ),
            chain_messages("https://b.test/", msg("robots")),
        ]
    )
    assert translate(line, "zh") == (
        "https://a.test/：已放弃此主机：robots.txt：域名不存在；https://b.test/：robots.txt 禁止"
    )
    with pytest.raises(FocusError) as caught:
        from_json(b'[{"name": "c", "sites": ["https://a.test/"], "words": "-x"}]', "f.json")
    assert "第 1 个关注" in translate(caught.value.message, "zh")


def test_translate_plain_text_unchanged() -> None:
    assert translate("no such host", "zh") == "no such host"
    assert translate(chain_messages("a.test", "{n} new page"), "zh") == "a.test：{n} new page"


@cases(
    "line",
    msg("no such host"),
    plural("{n} new page", "{n} new pages", n=3),
    chain_messages("a.test", plural("{n} new page", "{n} new pages", n=3)),
    "502 {no} message",
    '{"id": "{a.__class__}", "values": {"a": "x"}}',
    "",
)
def test_decode_message_inverts_encode_message(line: str) -> None:
    encoded = encode_message(line)
    assert type(encoded) is str
    assert decode_message(encoded) == line
    assert translate(decode_message(encoded), "zh") == translate(line, "zh")


def test_message_pickled_or_mapped_stays_translatable() -> None:
    line = chain_messages("a\nb", msg("mail server {address}", address="c\nd"))
    again = pickle.loads(pickle.dumps(ConfigError(line))).message
    assert isinstance(again, Msg)
    assert translate(again, "zh") == translate(line, "zh")
    expected = "a b：邮件服务器 c d"
    assert translate(line.map_texts(lambda text: text.replace("\n", " ")), "zh") == expected


@cases(
    "environ, language",
    ({"LANG": "zh_CN.UTF-8"}, "zh"),
    ({"LANG": "C.UTF-8"}, "en"),
    ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
    ({"LANG": "de_DE.UTF-8", "LANGUAGE": "fr:zh_TW:en"}, "zh"),
    ({"LANGUAGE": "en:zh"}, "en"),
    ({"LC_MESSAGES": "zh_SG", "LANG": "en_GB"}, "zh"),
    ({"FOCUS_LANG": "zh", "LC_ALL": "en_US"}, "zh"),
    ({"FOCUS_LANG": "en", "LANG": "zh_CN"}, "en"),
    ({}, "en"),
)
def test_environment_language_by_variables(environ: dict[str, str], language: str) -> None:
    assert environment_language(environ) == language


# -- the command line in Chinese ----------------------------------------------------


@pytest.fixture
def speaking(monkeypatch: MonkeyPatch) -> Iterator[None]:
    """The terminal is Chinese during a test."""
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    set_language("zh")
    yield
    set_language("en")
    gettext.textdomain("messages")


def test_help_language_zh_is_chinese(speaking: None, capsys: CaptureFixture[str]) -> None:
    assert main(["watch", "add", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("用法：") and "  新建关注。" in lines
    assert any("--mail" in line and "发送邮件到此地址（可重复）。" in line for line in lines)
    assert "选项:" in lines and "通知方式:" in lines
    assert max(map(cell_width, lines[:-1])) <= 100
    assert main(["--help"]) == 0
    assert "主题有新网页时收到通知" in capsys.readouterr().out


def test_errors_are_chinese(speaking: None, capsys: CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["crawl", "--no-such"]) == 2
    assert "没有选项“--no-such”" in capsys.readouterr().err
    assert main(["watch", "show", "f1", "--db", str(tmp_path / "x.db")]) == 2
    assert capsys.readouterr().err.startswith("focus：错误：没有关注“f1”")
    assert main(["crawl", "--max-time", "soon"]) == 2
    assert "“soon”不是时间；请写 90（秒）" in capsys.readouterr().err


def test_live_line_language_zh_is_chinese(speaking: None) -> None:
    line = CrawlMeter(FakeCrawl()).line()
    assert line.startswith("0 页 (0.0/s) · 相关 0 · 收获率 0.0%")
    assert line.endswith("待抓 410 · 3 个主机 · 失败 2")


def test_test_mail_is_in_language_of_reader() -> None:
    ours, english = trial_message("b", "zh-CN"), trial_message("b", "en")
    assert (ours.subject, english.subject) == ("focus 测试消息", "A test message from focus")
    assert '<html lang="zh-CN">' in ours.html


def test_help_lines_of_ideographs_wrap_by_cell_width() -> None:
    expected = ["检查到期的、", "发送新的，然", "后结束。"]
    assert wrap_lines("检查到期的、发送新的，然后结束。", 12) == expected
    assert wrap_lines("one two three", 8) == ["one two", "three"]


# -- what is wrong with what somebody typed -----------------------------------------


@cases(
    "alert, ours",
    ({"schedule": "61 * * * *"}, "检查时间“61 * * * *”：不是有效的 cron 表达式"),
    ({"schedule": "now and then"}, "检查时间“now and then”：无法识别"),
    ({"words": "-彩票"}, "没有要找的词"),
    ({"words": ""}, "关注“c”：请给出词或主题"),
    ({"sites": ("ftp://a.test/",)}, "不是网址"),
    ({"quiet": "night"}, "免打扰时段“night”：请写 22:00-07:00"),
    ({"channels": ("mail:me",)}, "通知方式“mail:me”"),
    ({"topic": "/etc/x.toml"}, "主题文件仅限命令行使用"),
    ({"topic": "足球:7"}, "权重 7.0 须大于 0"),
)
def test_alert_errors_language_zh_are_chinese(alert: dict[str, Any], ours: str) -> None:
    values = {"name": "c", "sites": ("https://a.test/",), "words": "足球", **alert}
    with pytest.raises(FocusError) as caught:
        alert_topic(validate_alert(Alert(**values)), trusted=False)
    assert ours in translate(caught.value.message, "zh")


def test_settings_schedules_queries_language_zh_are_chinese() -> None:
    for wrong in ("smtp://", "ftp://a", "smtp://u:p@a.test/?starttls=off"):
        with pytest.raises(FocusError) as caught:
            settings.parse_mail_url(wrong, "me@a.test")
        assert IDEOGRAPH.search(translate(caught.value.message, "zh"))
    for text in ("0m", "daily 25:00", "weekly foo", "61 * * * *"):
        with pytest.raises(FocusError) as caught:
            schedule.parse(text)
        assert translate(caught.value.message, "zh").startswith("检查时间")
    with pytest.raises(FocusError) as caught:
        query.parse("-x")
    assert translate(caught.value.message, "en") == str(caught.value)


def test_click_echo_in_commands_has_no_literal_text() -> None:
    """A text that stands in `click.echo` itself is English whoever reads it."""
    messages = []
    for path in (*(FOCUS / "commands").rglob("*.py"), FOCUS / "cli.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "click.echo" and node.args:
                parts = [node.args[0], *getattr(node.args[0], "values", ())]
                texts = [str(part.value) for part in parts if isinstance(part, ast.Constant)]
                if any(re.search("[A-Za-z]{2}", text.removeprefix("focus: ")) for text in texts):
                    messages.append(f"{path.name}:{node.lineno}: {ast.unparse(node.args[0])}")
    assert not messages, "say it by `focus.i18n.say`"
