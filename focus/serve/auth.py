"""How does one get in? Log-in, registration, forgotten passwords, and links with tokens."""

from __future__ import annotations

from functools import partial

from starlette.responses import PlainTextResponse, Response

from focus.alerts import unsubscribe as stopping
from focus.alerts.delivery import feed as feeds
from focus.alerts.settings import masked_channel
from focus.alerts.store import StoredAlert
from focus.serve import accounts, address_verification, backoff, names, tokens
from focus.serve.accounts import Applicant
from focus.serve.request import RequestContext
from focus.serve.texts import Wrong

ZONES = {"zh": "Asia/Shanghai"}


def front(request: RequestContext) -> Response:
    """The first page."""
    return request.to("/inbox" if request.user else "/login")


def login(request: RequestContext) -> Response:
    """The form, and what was typed there."""
    if "name" not in request.form:
        if request.user:
            return request.to("/inbox")
        done = request.say("password_set") if "set" in request.query else ""
        return _login_page(request, done=done)
    try:
        session = accounts.log_in(
            request.book,
            request.app_state.passwords,
            name=request.form["name"],
            password=request.form.get("password", ""),
            address=request.address,
            now=request.now,
        )
    except Wrong as wrong:
        status = 429 if wrong.key == "too_many" else 403
        return _login_page(request, status, error=request.say(wrong.key, **wrong.values))
    if request.session:
        accounts.log_out(request.book, request.session)
    return request.known(request.to("/inbox"), session)


def _login_page(request: RequestContext, status: int = 200, **values: str) -> Response:
    is_open = accounts.may_register(request.book, "", now=request.now)
    return request.page("login.html", status, is_open=is_open, **values)


def logout(request: RequestContext) -> Response:
    """The session is over."""
    if request.session:
        accounts.log_out(request.book, request.session)
    return request.known(request.to("/login"), "")


def register(request: RequestContext) -> Response:
    """The form for those who may, and what was typed there."""
    invitation = request.form.get("invite", request.query.get("invite", ""))
    allowed = accounts.may_register(request.book, invitation, now=request.now)
    if not allowed or "name" not in request.form:
        return request.page("register.html", 200 if allowed else 403, **_blank(request, allowed))
    try:
        with request.book.transaction() as db:
            keys = [backoff.key("register", request.address)]
            early = backoff.spend(db, keys, now=request.now)
        if early:
            raise Wrong("too_many", n=int(early) + 1)
        who = Applicant(
            request.form["name"],
            request.form.get("mail", ""),
            request.form.get("password", ""),
            request.language,
            ZONES.get(request.language, request.app_state.zone),
            invitation,
        )
        number = accounts.register(request.book, request.app_state.passwords, who, now=request.now)
    except Wrong as wrong:
        said = request.say(wrong.key, **wrong.values)
        return request.page("register.html", 400, **{**_blank(request, True), "error": said})
    with request.book.transaction() as db:
        session = tokens.make(db, "session", user=number, now=request.now)
    if who.mail.strip():
        _ask_to_confirm(request, number, accounts.checked_mail(who.mail))
    return request.known(request.to("/inbox"), session)


def _ask_to_confirm(request: RequestContext, user: int, mail: str) -> None:
    """Mail the link, beside the answer; the settings show that it waits, and send it again."""
    try:
        secret = address_verification.ask(request.book, user, mail, now=request.now)
    except Wrong:
        return  # somebody has had many mails sent there
    how = request.app_state.settings()
    send = partial(address_verification.send_link, kind="mail", secret=secret, now=request.now)
    request.app_state.soon(partial(send, how, mail, request.language), "focus-confirm")


def _blank(request: RequestContext, allowed: bool) -> dict[str, object]:
    return {
        "allowed": allowed,
        "invite": request.form.get("invite", request.query.get("invite", "")),
        "typed": request.form,
        "shortest": accounts.SHORTEST,
    }


# -- forgotten ----------------------------------------------------------------------


def forgot(request: RequestContext) -> Response:
    """Mail a link to whoever has the account; the answer is the same whether there is one.

    All that depends on the account happens after it, in a thread.
    """
    if "name" not in request.form:
        return request.page("forgot.html")
    name = names.tidy(request.form["name"])
    keys = [backoff.key("reset", name), backoff.key("address", request.address)]
    with request.book.transaction() as db:
        early = backoff.spend(db, keys, now=request.now)
    if not early and request.app_state.base_url:
        request.app_state.soon(partial(_mail_link, request, name), "focus-reset")
    return request.page("forgot.html", done=request.say("forgot_sent"))


def _mail_link(request: RequestContext, name: str) -> None:
    app_state = request.app_state
    with app_state.book() as book:
        found = accounts.reset_token(book, name, now=request.now)
    if found is not None:
        mail, language, secret = found
        how = app_state.settings()
        address_verification.send_link(
            how, mail, language, kind="reset", secret=secret, now=request.now
        )


def confirm(request: RequestContext) -> Response:
    """Ask, and by POST do it: mail programs look at links before people do."""
    secret = request.parts["token"]
    found = tokens.find(request.book, "mail", secret, now=request.now)
    if found is None:
        raise Wrong("token_old")
    if "yes" in request.form:
        moved = address_verification.confirm(request.book, secret, now=request.now)
        if moved is None:
            raise Wrong("token_old")
        address_verification.tell_before(request.app_state, moved, now=request.now)
        return request.page("confirm.html", mail=moved.mail, is_done=True)
    return request.page("confirm.html", mail=found.data["mail"], is_done=False)


def reset(request: RequestContext) -> Response:
    """Set a forgotten password by the mailed link."""
    secret = request.parts["token"]
    if tokens.find(request.book, "reset", secret, now=request.now) is None:
        raise Wrong("token_old")
    if "password" not in request.form:
        return request.page("reset.html", shortest=accounts.SHORTEST)
    try:
        accounts.reset(
            request.book,
            request.app_state.passwords,
            secret=secret,
            password=request.form["password"],
            now=request.now,
        )
    except Wrong as wrong:
        said = request.say(wrong.key, **wrong.values)
        return request.page("reset.html", 400, shortest=accounts.SHORTEST, error=said)
    return request.known(request.to("/login", set=1), "")


# -- links with tokens --------------------------------------------------------------


def unsubscribe(request: RequestContext) -> Response:
    """Ask, and by POST do it: a link that is only looked at must not act (RFC 8058)."""
    token = request.parts["token"]
    found = stopping.look(request.book, token)
    if found is None:
        return request.page("trouble.html", 404, error=request.say("token_old"))
    if request.is_post:
        stopping.stop(request.book, token, now=request.now)
    return request.page(
        "stop.html", found=found, channel=masked_channel(found.channel), is_done=request.is_post
    )


def feed(request: RequestContext) -> Response:
    """A person's feed, or an alert's, for whoever has its address."""
    token = tokens.find(request.book, "feed", request.parts["token"], now=request.now)
    if token is None or token.user is None or not _is_active(request, token.user):
        return PlainTextResponse("not found\n", 404)
    how = request.app_state.settings()
    language = request.book.rows("SELECT language FROM user WHERE id = ?", (token.user,))[0][0]
    url = f"{request.origin}{request.path}"
    if token.alert is None:
        text = feeds.of_user(request.book, token.user, how, language=language, url=url)
    else:
        owned = _alert(request, token.user, token.alert)
        text = feeds.of_alert(request.book, owned, how, language=language, url=url)
    return Response(text, headers={"Content-Type": feeds.CONTENT_TYPE})


def _alert(request: RequestContext, user: int, number: int) -> StoredAlert:
    return next(each for each in request.book.alerts(user) if each.id == number)


def _is_active(request: RequestContext, user: int) -> bool:
    return bool(request.book.rows("SELECT 1 FROM user WHERE id = ? AND NOT disabled", (user,)))
