"""Says what messages and the command line say to people, in Chinese and English.

    say("pages", "en", n=1)   →  "1 new page"
    say("pages", "zh", n=5)   →  "5 篇新页面"

English forms of one and of more are parted by `|` and chosen by `n`.
"""

from __future__ import annotations

from focus.alerts import translations

LANGUAGES = ("zh", "en")

TEXTS: dict[str, dict[str, str]] = {
    "pages": {"zh": "{n} 篇新页面", "en": "{n} new page|{n} new pages"},
    "subject_digest": {"zh": "{name}：{pages}", "en": "{name}: {pages}"},
    "subject_many": {"zh": "{pages}（{names}）", "en": "{pages} ({names})"},
    "subject_one": {"zh": "{name}：{title}", "en": "{name}: {title}"},
    "between": {"zh": "、", "en": ", "},
    "more": {
        "zh": "还有 {n} 篇，见收件箱",
        "en": "and {n} more in the inbox",
    },
    "more_feed": {"zh": "还有 {n} 篇", "en": "and {n} more"},
    "similar": {"zh": "另有 {n} 篇相似", "en": "+{n} similar"},
    "published": {"zh": "发布于 {when}", "en": "published {when}"},
    "found": {"zh": "发现于 {when}", "en": "found {when}"},
    "untitled": {"zh": "（无标题）", "en": "(no title)"},
    "inbox": {"zh": "打开收件箱", "en": "Open the inbox"},
    "unsubscribe": {"zh": "不再向此地址发送邮件", "en": "Stop these mails"},
    "why_mail": {
        "zh": "您收到此邮件，是因为有关注主题设置了发送到此地址。",
        "en": "You get this because an alert in focus is set to send to this address.",
    },
    "test_subject": {"zh": "focus 测试消息", "en": "A test message from focus"},
    "test_body": {
        "zh": "这条测试消息已送达：此通道可以使用。",
        "en": "This test message has arrived: the channel works.",
    },
    "feed_title": {"zh": "focus：{name}", "en": "focus: {name}"},
    "feed_all": {"zh": "所有关注", "en": "all alerts"},
    "reset_subject": {"zh": "重设 focus 密码", "en": "Reset your focus password"},
    "reset_body": {
        "zh": "有人（也许是您）请求重设您的 focus 密码。请在一小时内打开下面的链接；"
        "如果不是您本人，请忽略此邮件。",
        "en": "Somebody, perhaps you, asked to reset your focus password. Open the link below "
        "within an hour; if it was not you, ignore this mail.",
    },
    "mail_subject": {"zh": "确认您的 focus 邮箱", "en": "Confirm your mail address for focus"},
    "mail_body": {
        "zh": "有人（也许是您）要让 focus 把新页面发到此邮箱。请在一天内打开下面的链接确认；"
        "如果不是您本人，请忽略此邮件，不会再收到其他邮件。",
        "en": "Somebody, perhaps you, asked focus to send new pages to this address. Open the link "
        "below within a day to confirm it; if it was not you, ignore this mail, and nothing more "
        "is sent here.",
    },
    "moved_subject": {
        "zh": "您的 focus 邮箱已更改",
        "en": "Your mail address for focus has changed",
    },
    "moved_body": {
        "zh": "focus 账号“{name}”不再使用此邮箱。如果不是您本人更改的，请立即告诉管理员。",
        "en": "The focus account {name} does not use this address any more. If it was not you who "
        "changed that, tell your administrator at once.",
    },
    "phone_subject": {"zh": "focus 验证码", "en": "Code for focus"},
    "phone_body": {
        "zh": "您的 focus 验证码：{code}，15 分钟内有效。",
        "en": "Your code for focus: {code}, good for 15 minutes.",
    },
    "reset_code_body": {
        "zh": "您的 focus 重设密码验证码：{code}，15 分钟内有效。请勿告诉他人。",
        "en": "Your code to reset the focus password: {code}. Tell it to nobody.",
    },
    "state_waiting": {"zh": "稍后重试", "en": "will be tried again"},
    "state_sent": {"zh": "已送达", "en": "sent"},
    "state_dead": {"zh": "已放弃", "en": "given up"},
}


def language_of(wanted: str) -> str:
    """The language that we have for a wanted one, as `zh` for `zh-CN`; else English."""
    short = wanted.lower().replace("_", "-").partition("-")[0]
    return short if short in LANGUAGES else "en"


def say(key: str, language: str, **values: object) -> str:
    """A sentence with its values filled in. KeyError for one that there is not."""
    text = TEXTS[key][language_of(language)]
    one, bar, many = text.partition("|")
    if bar:
        text = one if values.get("n") == 1 else many
    return text.format(**values)


def told(line: str, language: str) -> str:
    """A line that we said in English (an error, a reason), in a reader's language."""
    return translations.said(line) if language_of(language) == "zh" else line
