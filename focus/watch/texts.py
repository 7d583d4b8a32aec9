"""In which words does `watch` speak to people? Every sentence in Chinese and English.

    say("pages", "en", n=1)   →  "1 new page"
    say("pages", "zh", n=5)   →  "5 篇新页面"

English forms of one and of more are parted by `|` and chosen by `n`.
"""

from __future__ import annotations

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
        "en": "You get this because a concern in focus is set to send to this address.",
    },
    "test_subject": {"zh": "focus 测试消息", "en": "A test message from focus"},
    "test_body": {
        "zh": "这条测试消息已送达：此通道可以使用。",
        "en": "This test message has arrived: the channel works.",
    },
    "feed_title": {"zh": "focus：{name}", "en": "focus: {name}"},
    "feed_all": {"zh": "所有关注", "en": "all concerns"},
    "reset_subject": {"zh": "重设 focus 密码", "en": "Reset your focus password"},
    "reset_body": {
        "zh": "有人（也许是您）请求重设您的 focus 密码。请在一小时内打开下面的链接；"
        "如果不是您本人，请忽略此邮件。",
        "en": "Somebody, perhaps you, asked to reset your focus password. Open the link below "
        "within an hour; if it was not you, ignore this mail.",
    },
    "state_waiting": {"zh": "稍后重试", "en": "will be tried again"},
    "state_sent": {"zh": "已送达", "en": "sent"},
    "state_dead": {"zh": "已放弃", "en": "given up"},
}

_REASONS = {
    "mail server": "邮件服务器",
    "no mail server is set; set FOCUS_SMTP_URL, or smtp in the settings": "尚未设置邮件服务器："
    "请设置 FOCUS_SMTP_URL，或设置中的 smtp",
    "has taken it": "已接收",
    "the channel was taken off the concern": "该关注已不再使用此通道",
    "the account is disabled": "账号已停用",
    "apprise channels are for administrators": "apprise 通道仅限管理员使用",
    "apprise is not installed; get it with:": "未安装 apprise，请运行：",
    "apprise knows no such service, or misses a part": "apprise 不认识此服务，或地址不完整",
    "the service did not take it": "该服务没有接收",
    "the receiver wants no more": "接收方不再接收",
    "no mail can be addressed to it": "无法向此地址发送邮件",
    "no such host": "域名不存在",
    "no connection in time": "连接超时",
    "no byte for": "没有收到数据：",
    "not done after": "未能完成：",
    "closed without an answer": "未作应答就断开了连接",
    "is not a public address; open it with --allow-net": "不是公网地址；"
    "如需使用，请用 --allow-net 开放",
    "Connection refused": "连接被拒绝",
    "Connection reset by peer": "连接被对方重置",
    "Connection unexpectedly closed": "连接意外断开",
    "Network is unreachable": "网络不可达",
    "timed out": "超时",
}
"""What we say of a failed delivery, in Chinese; what a server said itself stays as it is."""


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


def told(detail: str, language: str) -> str:
    """A line of the delivery log, written in English, in a reader's language."""
    if language_of(language) == "zh":
        for english in sorted(_REASONS, key=len, reverse=True):
            detail = detail.replace(english, _REASONS[english])
    return detail
