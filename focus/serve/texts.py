"""Says what the web pages say, in Chinese and English.

`say("login", "zh")` → 登录. Forms of one and of more are parted by `|` and chosen by `n`.
"""

from __future__ import annotations

from focus.alerts.texts import language_of


class Wrong(Exception):
    """Typed text that cannot be used; `key` of a sentence here says why, `values` fill it."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(key)
        self.key, self.values = key, values


TEXTS: dict[str, tuple[str, str]] = {
    # where
    "inbox": ("收件箱", "Inbox"),
    "alerts": ("关注", "Alerts"),
    "search": ("搜索", "Search"),
    "deliveries": ("发送记录", "Deliveries"),
    "settings": ("设置", "Settings"),
    "admin": ("管理", "Administration"),
    "skip": ("跳到正文", "Skip to content"),
    "main_menu": ("主菜单", "Main menu"),
    # log-in
    "login": ("登录", "Log in"),
    "logout": ("退出", "Log out"),
    "register": ("注册", "Register"),
    "name": ("用户名", "Name"),
    "password": ("密码", "Password"),
    "new_password": ("新密码", "New password"),
    "old_password": ("当前密码", "Current password"),
    "password_hint": ("至少 {n} 个字符", "At least {n} characters"),
    "forgot": ("忘记密码？", "Forgotten your password?"),
    "forgot_title": ("重设密码", "Set a new password"),
    "forgot_send": ("发送链接", "Send me a link"),
    "forgot_sent": (
        "如果有此账号且留有邮箱，重设链接已发出，一小时内有效。",
        "If there is such an account with a mail address, a link is on its way. It is good for "
        "an hour.",
    ),
    "forgot_code": ("发送验证码到手机", "Send a code to my phone"),
    "forgot_coded": (
        "如果有此账号且已确认手机号，验证码已发出，15 分钟内有效。",
        "If there is such an account with a confirmed telephone, a code is on its way. It is good "
        "for 15 minutes.",
    ),
    "password_set": ("密码已更新，请登录。", "Your password is set. Please log in."),
    "invited": ("您需要邀请链接才能注册。", "You need an invitation link to register."),
    "confirm_title": ("确认邮箱", "Confirm your mail address"),
    "confirm_ask": ("今后把新页面发到 {mail}？", "Send new pages to {mail} from now on?"),
    "confirm_yes": ("确认", "Confirm"),
    "confirmed": ("已确认：新页面将发到 {mail}。", "Confirmed: new pages go to {mail}."),
    # what is wrong
    "login_wrong": ("用户名或密码不正确。", "The name or the password is wrong."),
    "too_many": ("尝试次数过多，请在 {n} 秒后重试。", "Too many tries. Try again in {n} seconds."),
    "register_closed": (
        "目前不能注册：请向管理员索取邀请链接。",
        "Registration is closed, or the invitation was used. Ask an administrator for a link.",
    ),
    "name_taken": (
        "此用户名或与它相似的用户名已被使用。",
        "This name is taken, or looks like one that is.",
    ),
    "name_mixed": (
        "用户名只能用一种文字（汉字、假名可与拉丁字母并用）。",
        "A name is written in one script (Chinese, Japanese or Korean may stand with Latin).",
    ),
    "name_wrong": (
        "用户名须为 2 至 40 个字母、数字、汉字、点、横线或下划线。",
        "A name has 2 to 40 letters, digits, dots, dashes or underscores.",
    ),
    "mail_wrong": ("邮箱地址不正确。", "This is no mail address."),
    "code_wrong": ("验证码不正确或已失效。", "The code is wrong, or no longer good."),
    "code_unsent": ("验证码未能发出：{reason}。", "The code could not be sent: {reason}."),
    "phone_wrong": ("电话号码不正确，例如 +8613800138000。", "Write the phone as +4930123456."),
    "zone_wrong": (
        "没有这个时区，例如 Asia/Shanghai。",
        "There is no such time zone; write Asia/Shanghai.",
    ),
    "password_short": ("密码须有 {n} 至 200 个字符。", "A password has {n} to 200 characters."),
    "password_name": ("密码不能与用户名相同。", "The password must not be the name."),
    "password_for_mail": (
        "更改邮箱时需要",
        "Needed to change the mail address",
    ),
    "password_wrong": ("当前密码不正确。", "The current password is wrong."),
    "token_old": ("此链接已失效，请重新申请。", "This link is no longer good. Ask for a new one."),
    "last_admin": (
        "您是唯一的管理员：请先停用或删除其他账号。",
        "You are the only administrator and others have accounts.",
    ),
    "quota": ("最多可设 {n} 个关注。", "There may be {n} alerts at most."),
    "channel_admin": ("此通道仅限管理员使用。", "This channel is for administrators."),
    "phone_first": (
        "请先在设置中填写并确认手机号。",
        "Give and confirm your telephone number in the settings first.",
    ),
    "mail_first": (
        "请先在设置中填写并确认邮箱地址。",
        "Give and confirm your mail address in the settings first.",
    ),
    "mail_unsent": (
        "确认邮件未能发出：{reason}。地址已记下，可稍后重发。",
        "The link could not be mailed: {reason}. The address is noted; send it again later.",
    ),
    "number_wrong": ("请输入数字：{field}", "This must be a number: {field}"),
    "date_wrong": ("日期格式应为 2026-12-31。", "Write the date as 2026-12-31."),
    "not_found": ("没有此页面。", "There is nothing here."),
    "refused": (
        "请求来自其他网站，已拒绝。",
        "The request came from another site and was refused.",
    ),
    "wrong_host": ("此网址不属于本站。", "This is not the host that was asked for."),
    "robots_forbid": (
        "robots.txt 禁止抓取此网站，因此看不到任何页面。",
        "robots.txt forbids this site, so that nothing is seen.",
    ),
    "too_large": ("内容过长。", "That is too much."),
    "no_such_form": ("此处不接受这种格式。", "This kind of body is not taken here."),
    "failed": ("出错了。管理员可在日志中查看原因。", "Something went wrong; the log says what."),
    "back": ("返回", "Back"),
    # inbox
    "filter": ("筛选", "Filter"),
    "show": ("显示", "Show"),
    "all_alerts": ("全部关注", "All alerts"),
    "alert": ("关注", "Alert"),
    "when": ("时间", "Time"),
    "any_time": ("不限时间", "Any time"),
    "last_days": ("最近 1 天|最近 {n} 天", "Last day|Last {n} days"),
    "words_in": ("包含文字", "With words"),
    "unread_only": ("仅未读", "Unread only"),
    "existing": ("含关注之前已有的页面", "With pages that existed before"),
    "nothing": ("这里还没有页面。", "No pages here yet."),
    "nothing_hint": (
        "新建一个关注后，新页面会出现在这里。",
        "Make an alert, and new pages appear here.",
    ),
    "published": ("发布于 {when}", "published {when}"),
    "found": ("发现于 {when}", "found {when}"),
    "similar": ("另有 {n} 篇相似", "+{n} similar"),
    "relevance": ("相关度", "Relevance"),
    "why": ("为什么", "Why"),
    "why_word": ("匹配", "matched"),
    "read": ("标为已读", "Mark as read"),
    "unread": ("标为未读", "Mark as unread"),
    "read_all": ("全部标为已读", "Mark all as read"),
    "delete": ("删除", "Delete"),
    "relevant": ("相关", "Relevant"),
    "irrelevant": ("不相关", "Not relevant"),
    "is_new": ("未读", "unread"),
    "untitled": ("（无标题）", "(no title)"),
    "earlier": ("更早的", "Earlier"),
    "later": ("更新的", "Later"),
    "n_pages": ("{n} 篇", "{n} page|{n} pages"),
    # parts of a page
    "part_title": ("标题", "title"),
    "part_keywords": ("关键词", "keywords"),
    "part_description": ("描述", "description"),
    "part_headings": ("小标题", "headings"),
    "part_body": ("正文", "text"),
    "part_text": ("正文", "text"),
    "part_lead": ("开头", "beginning"),
    "part_tag": ("标签", "tag"),
    "part_links": ("链接", "links"),
    "part_anchors": ("链接文字", "link texts"),
    "part_url": ("网址", "address"),
    # search
    "search_all": (
        "在您关注的网站及管理员开放的抓取中搜索",
        "Search the sites of your alerts, and what is open to all",
    ),
    "search_hint": (
        '多个词须同时出现；"短语"；-不要的词',
        'All words must be there; "a phrase"; -not this',
    ),
    "search_none": ("没有找到。", "Nothing was found."),
    "search_empty": ("还没有可搜索的页面。", "There are no pages to search yet."),
    "search_found": ("找到 {n} 篇", "{n} page found|{n} pages found"),
    "search_more": ("超过 {n} 篇", "more than {n} pages"),
    # alerts
    "new_alert": ("新建关注", "New alert"),
    "edit": ("修改", "Edit"),
    "save": ("保存", "Save"),
    "pause": ("暂停", "Pause"),
    "resume": ("继续", "Resume"),
    "no_alerts": ("您还没有关注。", "You have no alerts yet."),
    "c_name": ("名称", "Name"),
    "c_sites": ("网站或栏目，每行一个", "Sites or sections, one per line"),
    "c_words": ("词语", "Words"),
    "c_words_hint": (
        '+必须 -不要 "短语" 甲 OR 乙；不带符号的词出现任意一个即可',
        '+must -not "a phrase" a OR b; of bare words, any',
    ),
    "c_topic": ("主题词（可选）", "Topic words (optional)"),
    "c_topic_hint": (
        "按主题判断相关度，例如 足球,英超:0.8",
        "Judge by these, as football,goal:0.8",
    ),
    "c_min": ("最低相关度 0–1（可选）", "Least relevance, 0 to 1 (optional)"),
    "c_languages": ("语言（可选，例如 zh en）", "Languages (optional, as zh en)"),
    "c_schedule": ("检查时间", "When to check"),
    "c_schedule_hint": (
        "auto、15m、hourly、daily 07:30、weekly mon 07:30 或 cron 表达式",
        "auto, 15m, hourly, daily 07:30, weekly mon 07:30, or a cron expression",
    ),
    "more_settings": ("更多设置", "More settings"),
    "c_quiet": ("免打扰时段（可选）", "Quiet hours (optional)"),
    "c_quiet_hint": ("例如 22:00-07:00：此间不发送", "As 22:00-07:00: nothing is sent then"),
    "c_how": ("如何通知", "How to be told"),
    "c_always": ("收件箱总会显示。", "The inbox always has them."),
    "secret_of": ("{channel} 的签名密钥：", "{channel} is signed by"),
    "secret_show": ("显示签名密钥", "Show the secret"),
    "secret_new": ("更换签名密钥", "New secret"),
    "secret_changed": (
        "签名密钥已更换；旧密钥一天内仍然有效。",
        "The secret is changed. For a day the one before signs as well.",
    ),
    "secret_hint": (
        "Webhook 消息带有签名，接收方用签名密钥核实消息来自本站。",
        "Webhooks are signed; receivers verify by the secret that a message is ours.",
    ),
    "c_digest": ("合并为一封摘要", "One digest for all that is new"),
    "c_max": ("每封最多页数", "Pages in a digest at most"),
    "c_expires": ("截止日期（可选）", "Ends on (optional)"),
    "import_export": ("导入与导出", "Import and export"),
    "import": ("导入", "Import"),
    "import_file": ("关注文件（JSON）", "File of alerts (JSON)"),
    "import_hint": (
        "由此页或 focus watch export 导出的文件",
        "As exported here or by focus watch export",
    ),
    "import_replace": ("替换同名的关注", "Take the place of alerts of the same name"),
    "imported": ("已导入 {n} 个关注。", "{n} alert was taken in.|{n} alerts were taken in."),
    "channels_changed": (
        "以下关注的通知方式已按您的账号调整：{names}。",
        "How they tell was fitted to your account: {names}.",
    ),
    "export_alerts": ("导出我的关注", "Export my alerts"),
    "adopt": (
        "接管命令行的 {n} 个关注",
        "Take over the alert of the command line|Take over {n} alerts of the command line",
    ),
    "vote_noted": ("已记下您的评价。", "Your vote is noted."),
    "vote_undone": ("您的评价已撤销。", "Your vote is taken back."),
    "vote_effect": (
        "按全部评价，此前找到的其他 {n} 篇中有 {lost} 篇今后不再推送。",
        "By all votes, {lost} of {n} other page found before would not be told of.|"
        "By all votes, {lost} of {n} other pages found before would not be told of.",
    ),
    "undo": ("撤销", "Undo"),
    "votes": ("您的评价", "Your votes"),
    "votes_n": (
        "{on} 篇相关，{off} 篇不相关；判断已据此调整",
        "{on} relevant, {off} not; it judges by them",
    ),
    "remove_sure": (
        "将删除此关注及为它找到的全部页面。",
        "This forgets the alert and all its pages.",
    ),
    "health": ("运行状况", "Health"),
    "state_active": ("进行中", "active"),
    "state_paused": ("已暂停", "paused"),
    "state_expired": ("已到期", "ended"),
    "state": ("状态", "State"),
    "checked": ("上次检查", "Last check"),
    "next": ("下次检查", "Next check"),
    "never": ("从未", "never"),
    "soon": ("即将", "soon"),
    "site": ("网站", "Site"),
    "visited": ("上次访问", "Last visit"),
    "pages": ("页面", "Pages"),
    "blocked": ("robots 禁止", "Forbidden by robots"),
    "errors": ("错误", "Errors"),
    "trouble": ("问题", "Trouble"),
    "failing": (
        "自 {since} 起失败，{n} 次访问：",
        "failing since {since}, {n} visit: |failing since {since}, {n} visits: ",
    ),
    "news": ("新页面", "New pages"),
    "silent": ("{n} 天没有新页面", "nothing new for {n} day|nothing new for {n} days"),
    "first_failed": (
        "首次检查未成功，下次检查：{when}。暂停后再继续，即可马上检查。",
        "The first check failed; the next is at {when}. Pause and resume to have it checked soon.",
    ),
    "unchecked": ("尚未检查，马上就会开始", "not checked yet; it begins in a moment"),
    "preview": ("预览", "Preview"),
    "preview_would": (
        "最近 7 天本会发送 {n} 篇：",
        "The last 7 days would have sent {n} page:|The last 7 days would have sent {n} pages:",
    ),
    "preview_unvisited": (
        "还没有访问过 {sites}：第一次检查后才能预览。",
        "{sites} has not been visited yet: there is a preview after the first check.",
    ),
    "saved": ("已保存。", "Saved."),
    # deliveries
    "send_test": ("发送测试消息", "Send a test"),
    "test_sent": ("测试消息已送达。", "The test message was sent."),
    "test_failed": ("测试失败：{reason}", "The test failed: {reason}"),
    "at": ("时间", "Time"),
    "channel": ("通道", "Channel"),
    "detail": ("说明", "Detail"),
    "no_deliveries": ("还没有发送过。", "Nothing was sent yet."),
    "state_0": ("稍后重试", "will be tried again"),
    "state_1": ("已送达", "sent"),
    "state_2": ("已放弃", "given up"),
    # settings
    "profile": ("个人资料", "About you"),
    "mail": ("邮箱", "Mail address"),
    "mail_sent": (
        "已保存。请打开发到新邮箱的链接以确认。",
        "Saved. Open the link that was mailed to the new address.",
    ),
    "mail_waits": (
        "{mail} 等待确认：请打开发到那里的链接。",
        "{mail} waits to be confirmed: open the link that was mailed there.",
    ),
    "phone_waits": (
        "请输入发到 {phone} 的六位验证码，15 分钟内有效。",
        "Type the six digits that were sent to {phone}, within 15 minutes.",
    ),
    "code": ("验证码", "Code"),
    "mail_again": ("重新发送", "Send it again"),
    "channels_hint": ("新建关注时的默认方式。", "What a new alert begins with."),
    "phone": ("电话（可选）", "Phone (optional)"),
    "language": ("语言", "Language"),
    "zone": ("时区", "Time zone"),
    "feeds": ("订阅地址", "Feed address"),
    "feed_hint": (
        "任何有此地址的人都能读取。新地址会使旧地址失效。",
        "Whoever has the address can read it. A new one ends the old one.",
    ),
    "feed_new": ("生成新的订阅地址", "Make a new feed address"),
    "feed_off": ("停用订阅地址", "End the feed address"),
    "feed_once": ("请立即复制，之后不再显示：", "Copy it now, it is not shown again:"),
    "change_password": ("修改密码", "Change password"),
    "my_data": ("我的数据", "My data"),
    "export": ("导出我的数据", "Export my data"),
    "delete_account": ("删除账号", "Delete my account"),
    "delete_sure": (
        "将删除您的账号、关注和全部页面，无法恢复。",
        "This forgets your account, alerts and pages, for good.",
    ),
    # admin
    "registration": ("注册", "Registration"),
    "reg_off": ("关闭", "off"),
    "reg_invite": ("凭邀请", "by invitation"),
    "reg_open": ("开放", "open to all"),
    "invitations": ("邀请", "Invitations"),
    "invite_new": ("生成邀请链接", "Make an invitation"),
    "invite_off": (
        "注册已关闭，邀请无效：请先改为“凭邀请”。",
        "Registration is off, so that invitations are of no use: choose “by invitation” first.",
    ),
    "open_crawls": ("人人可搜索的抓取", "Crawls that everybody may search"),
    "open_hint": (
        "其余的只有关注其网站的人可以搜索。",
        "The others are searched by those whose alerts watch their site.",
    ),
    "invite_once": ("邀请链接（一次有效，7 天内）：", "Invitation, good once within 7 days:"),
    "smtp": ("邮件服务器", "Mail server"),
    "smtp_from": ("发件地址", "Sender"),
    "smtp_hint": (
        "smtp://用户:密码@mail.example.org:587；留空则不变",
        "smtp://user:password@mail.example.org:587; empty: as it is",
    ),
    "smtp_now": ("当前：{url}", "Now: {url}"),
    "sms_gateway": ("短信网关", "SMS gateway"),
    "sms_hint": (
        "带有 {phone} 和 {text} 的网址、描述网关的 TOML（见 docs/watch.md），或 apprise 网址，例如 "
        "twilio://SID:TOKEN@FROM/{phone}；留空则不变",
        "A URL with {phone} and {text}, TOML that describes a gateway (docs/watch.md), or an "
        "apprise URL, as twilio://SID:TOKEN@FROM/{phone}; empty: as it is",
    ),
    "sms_now": ("当前短信网关：{url}", "SMS gateway now: {url}"),
    "sms_off": ("停用短信", "No SMS any more"),
    "people": ("用户", "People"),
    "disable": ("停用", "Disable"),
    "enable": ("启用", "Enable"),
    "is_admin": ("管理员", "administrator"),
    "is_disabled": ("已停用", "disabled"),
    "audit": ("管理记录", "Audit"),
    # unsubscribe
    "stop_title": ("停止邮件", "Stop these mails"),
    "stop_ask": (
        "不再向 {channel} 发送这些关注：{names}",
        "Send no more to {channel} for: {names}",
    ),
    "stopped": ("不会再发送。页面仍在收件箱中。", "Nothing more is sent. Pages stay in the inbox."),
}


def say(key: str, language: str, **values: object) -> str:
    """A sentence with its values. KeyError for one that there is not."""
    zh, en = TEXTS[key]
    text = zh if language_of(language) == "zh" else en
    one, bar, many = text.partition("|")
    if bar:
        text = one if values.get("n") == 1 else many
    return text.format(**values) if values else text
