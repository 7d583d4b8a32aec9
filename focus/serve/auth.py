"""How does one get in? Log-in, registration, forgotten passwords, and links with tokens."""

from __future__ import annotations

import threading

from starlette.responses import PlainTextResponse, Response

from focus.alerts import unsubscribe as stopping
from focus.alerts.delivery import feed as feeds
from focus.alerts.settings import masked_channel
from focus.alerts.store import Owned
from focus.serve import accounts, address_verification, backoff, tokens
from focus.serve.accounts import Applicant
from focus.serve.request import Asked
from focus.serve.texts import Wrong

ZONES = {"zh": "Asia/Shanghai"}


def front(asked: Asked) -> Response:
    """The first page."""
    return asked.to("/inbox" if asked.user else "/login")


def login(asked: Asked) -> Response:
    """The form, and what was typed there."""
    if "name" not in asked.form:
        if asked.user:
            return asked.to("/inbox")
        done = asked.say("password_set") if "set" in asked.query else ""
        return _login_page(asked, done=done)
    try:
        session = accounts.log_in(
            asked.book,
            asked.office.passwords,
            name=asked.form["name"],
            password=asked.form.get("password", ""),
            address=asked.address,
            now=asked.now,
        )
    except Wrong as wrong:
        status = 429 if wrong.key == "too_many" else 403
        return _login_page(asked, status, error=asked.say(wrong.key, **wrong.values))
    if asked.session:
        accounts.log_out(asked.book, asked.session)
    return asked.known(asked.to("/inbox"), session)


def _login_page(asked: Asked, status: int = 200, **values: str) -> Response:
    is_open = accounts.may_register(asked.book, "", now=asked.now)
    return asked.page("login.html", status, is_open=is_open, **values)


def logout(asked: Asked) -> Response:
    """The session is over."""
    if asked.session:
        accounts.log_out(asked.book, asked.session)
    return asked.known(asked.to("/login"), "")


def register(asked: Asked) -> Response:
    """The form for those who may, and what was typed there."""
    invitation = asked.form.get("invite", asked.query.get("invite", ""))
    allowed = accounts.may_register(asked.book, invitation, now=asked.now)
    if not allowed or "name" not in asked.form:
        return asked.page("register.html", 200 if allowed else 403, **_blank(asked, allowed))
    try:
        with asked.book.transaction() as db:
            keys = [backoff.key("register", asked.address)]
            early = backoff.spend(db, keys, now=asked.now)
        if early:
            raise Wrong("too_many", n=int(early) + 1)
        who = Applicant(
            asked.form["name"],
            asked.form.get("mail", ""),
            asked.form.get("password", ""),
            asked.language,
            ZONES.get(asked.language, asked.office.zone),
            invitation,
        )
        number = accounts.register(asked.book, asked.office.passwords, who, now=asked.now)
    except Wrong as wrong:
        said = asked.say(wrong.key, **wrong.values)
        return asked.page("register.html", 400, **{**_blank(asked, True), "error": said})
    with asked.book.transaction() as db:
        session = tokens.make(db, "session", user=number, now=asked.now)
    if who.mail.strip():
        _ask_to_confirm(asked, number, accounts.checked_mail(who.mail))
    return asked.known(asked.to("/inbox"), session)


def _ask_to_confirm(asked: Asked, user: int, mail: str) -> None:
    """Mail the link in a thread; the settings show that it waits, and send it again."""
    try:
        secret = address_verification.ask(asked.book, user, mail, now=asked.now)
    except Wrong:
        return  # somebody has had many mails sent there
    how = asked.office.settings()
    threading.Thread(
        target=address_verification.send_link,
        args=(how, mail, asked.language),
        kwargs={"kind": "mail", "secret": secret, "now": asked.now},
        name="focus-confirm",
    ).start()


def _blank(asked: Asked, allowed: bool) -> dict[str, object]:
    return {
        "allowed": allowed,
        "invite": asked.form.get("invite", asked.query.get("invite", "")),
        "typed": asked.form,
        "shortest": accounts.SHORTEST,
    }


# -- forgotten ----------------------------------------------------------------------


def forgot(asked: Asked) -> Response:
    """Mail a link to whoever has the account; the answer is the same whether there is one.

    All that depends on the account happens after it, in a thread.
    """
    if "name" not in asked.form:
        return asked.page("forgot.html")
    name = accounts.tidy(asked.form["name"])
    keys = [backoff.key("reset", name), backoff.key("address", asked.address)]
    with asked.book.transaction() as db:
        early = backoff.spend(db, keys, now=asked.now)
    if not early and asked.office.base_url:
        threading.Thread(target=_mail_link, args=(asked, name), name="focus-reset").start()
    return asked.page("forgot.html", done=asked.say("forgot_sent"))


def _mail_link(asked: Asked, name: str) -> None:
    office = asked.office
    with office.book() as book:
        found = accounts.reset_token(book, name, now=asked.now)
    if found is not None:
        mail, language, secret = found
        how = office.settings()
        address_verification.send_link(
            how, mail, language, kind="reset", secret=secret, now=asked.now
        )


def confirm(asked: Asked) -> Response:
    """Ask, and by POST do it: mail programs look at links before people do."""
    secret = asked.parts["token"]
    found = tokens.find(asked.book, "mail", secret, now=asked.now)
    if found is None:
        raise Wrong("token_old")
    if "yes" in asked.form:
        mail = address_verification.confirm(asked.book, secret, now=asked.now)
        if mail is None:
            raise Wrong("token_old")
        return asked.page("confirm.html", mail=mail, is_done=True)
    return asked.page("confirm.html", mail=found.data["mail"], is_done=False)


def reset(asked: Asked) -> Response:
    """Set a forgotten password by the mailed link."""
    secret = asked.parts["token"]
    if tokens.find(asked.book, "reset", secret, now=asked.now) is None:
        raise Wrong("token_old")
    if "password" not in asked.form:
        return asked.page("reset.html", shortest=accounts.SHORTEST)
    try:
        accounts.reset(
            asked.book,
            asked.office.passwords,
            secret=secret,
            password=asked.form["password"],
            now=asked.now,
        )
    except Wrong as wrong:
        said = asked.say(wrong.key, **wrong.values)
        return asked.page("reset.html", 400, shortest=accounts.SHORTEST, error=said)
    return asked.known(asked.to("/login", set=1), "")


# -- links with tokens --------------------------------------------------------------


def unsubscribe(asked: Asked) -> Response:
    """Ask, and by POST do it: a link that is only looked at must not act (RFC 8058)."""
    token = asked.parts["token"]
    is_post = "List-Unsubscribe" in asked.form or "stop" in asked.form
    found = stopping.look(asked.book, token)
    if found is None:
        return asked.page("trouble.html", 404, error=asked.say("token_old"))
    if is_post:
        stopping.stop(asked.book, token, now=asked.now)
    return asked.page(
        "stop.html", found=found, channel=masked_channel(found.channel), is_done=is_post
    )


def feed(asked: Asked) -> Response:
    """A person's feed, or a concern's, for whoever has its address."""
    token = tokens.find(asked.book, "feed", asked.parts["token"], now=asked.now)
    if token is None or token.user is None or not _is_active(asked, token.user):
        return PlainTextResponse("not found\n", 404)
    how = asked.office.settings()
    language = asked.book.rows("SELECT language FROM user WHERE id = ?", (token.user,))[0][0]
    url = f"{asked.origin}{asked.path}"
    if token.concern is None:
        text = feeds.of_user(asked.book, token.user, how, language=language, url=url)
    else:
        owned = _concern(asked, token.user, token.concern)
        text = feeds.of_concern(asked.book, owned, how, language=language, url=url)
    return Response(text, headers={"Content-Type": feeds.CONTENT_TYPE})


def _concern(asked: Asked, user: int, number: int) -> Owned:
    return next(each for each in asked.book.concerns(user) if each.id == number)


def _is_active(asked: Asked, user: int) -> bool:
    return bool(asked.book.rows("SELECT 1 FROM user WHERE id = ? AND NOT disabled", (user,)))
