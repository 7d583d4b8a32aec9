"""Answers the pages that need no account: log-in, registration, forgotten passwords, links."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from starlette.responses import PlainTextResponse, Response

from focus.alerts import unsubscribe as stopping
from focus.alerts.delivery import feed as feeds
from focus.alerts.delivery import mask_channel
from focus.alerts.delivery.sms import Sms
from focus.serve import accounts, address_verification, backoff, names, tokens
from focus.serve.accounts import Applicant, TooManyTries, Wrong, spend
from focus.serve.request import RequestContext

ZONES = {"zh": "Asia/Shanghai"}


def front(request: RequestContext) -> Response:
    """The first page."""
    return request.to("/inbox" if request.user else "/login")


def login(request: RequestContext) -> Response:
    """The form, and what was typed there."""
    if "name" not in request.form:
        if request.user:
            return request.to("/inbox")
        done = request.say("Your password is set. Please log in.") if "set" in request.query else ""
        return _login_page(request, done=done)
    try:
        session = accounts.log_in(
            request.store,
            request.app_state.passwords,
            name=request.form["name"],
            password=request.form.get("password", ""),
            address=request.address,
            now=request.now,
        )
    except Wrong as wrong:
        status = 429 if isinstance(wrong, TooManyTries) else 403
        return _login_page(request, status, error=request.wrong(wrong))
    if request.session:
        request.store.tokens.remove("session", request.session)
    return request.known(request.to("/inbox"), session)


def _login_page(request: RequestContext, status: int = 200, **values: str) -> Response:
    is_open = accounts.may_register(request.store, "", now=request.now)
    return request.page("login.html", status, is_open=is_open, **values)


def logout(request: RequestContext) -> Response:
    """The session is over, and this browser is notified no more: its worker goes."""
    if request.session:
        request.store.tokens.remove("session", request.session)
    answer = request.known(request.to("/login"), "")
    answer.headers["Clear-Site-Data"] = '"storage"'
    return answer


def register(request: RequestContext) -> Response:
    """The form for those who may, and what was typed there."""
    invitation = request.form.get("invite", request.query.get("invite", ""))
    allowed = accounts.may_register(request.store, invitation, now=request.now)
    if not allowed or "name" not in request.form:
        return request.page("register.html", 200 if allowed else 403, **_blank(request, allowed))
    try:
        spend(request.store, [backoff.key("register", request.address)], now=request.now)
        who = Applicant(
            request.form["name"],
            request.form.get("mail", ""),
            request.form.get("password", ""),
            request.language,
            ZONES.get(request.language, request.app_state.zone),
            invitation,
        )
        number = accounts.register(request.store, request.app_state.passwords, who, now=request.now)
    except Wrong as wrong:
        said = request.wrong(wrong)
        return request.page("register.html", 400, **{**_blank(request, True), "error": said})
    session = tokens.make(request.store, "session", user=number, now=request.now)
    if who.mail.strip():
        _ask_to_confirm(request, number, accounts.checked_mail(who.mail))
    return request.known(request.to("/inbox"), session)


def _ask_to_confirm(request: RequestContext, user: int, mail: str) -> None:
    """Mail the link, beside the answer; the settings show that it waits, and send it again."""
    try:
        secret = address_verification.ask(request.store, user, mail, now=request.now)
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
    """Mail a link, or send a code, to whoever has the account; the answer is always the same.

    All that depends on the account happens after it, in a thread.
    """
    by_sms = Sms.is_available(request.app_state.settings())
    if "name" not in request.form:
        return request.page("forgot.html", by_sms=by_sms)
    name = names.tidy(request.form["name"])
    keys = [backoff.key("reset", name), backoff.key("address", request.address)]
    early = backoff.spend(request.store, keys, now=request.now)
    if by_sms and "phone" in request.form:
        if not early:
            request.app_state.soon(partial(_send_code, request, name), "focus-reset")
        return _code_page(
            request,
            name,
            done=request.say(
                "If there is such an account with a confirmed telephone, a code is on its "
                "way. It is good for 15 minutes."
            ),
        )
    if not early and request.app_state.base_url:
        request.app_state.soon(partial(_mail_link, request, name), "focus-reset")
    return request.page(
        "forgot.html",
        by_sms=by_sms,
        done=request.say(
            "If there is such an account with a mail address, a link is on its way. It is "
            "good for an hour."
        ),
    )


def _code_page(request: RequestContext, name: str, status: int = 200, **said: str) -> Response:
    return request.page("reset_code.html", status, name=name, shortest=accounts.SHORTEST, **said)


def _send_code(request: RequestContext, name: str) -> None:
    with request.app_state.store() as store, suppress(Wrong):  # had too many already
        found = accounts.reset_code(store, name, now=request.now)
        if found is not None:
            phone, language, code = found
            how = request.app_state.settings()
            address_verification.send_code(how, phone, language, code=code, kind="reset_code")


def reset_by_code(request: RequestContext) -> Response:
    """Set a forgotten password by the code that came by SMS."""
    name = request.form.get("name", "")[: accounts.LONGEST]
    try:
        accounts.reset_by_code(
            request.store,
            request.app_state.passwords,
            name=name,
            code=request.form.get("code", ""),
            password=request.form.get("password", ""),
            now=request.now,
        )
    except Wrong as wrong:
        return _code_page(request, name, 400, error=request.wrong(wrong))
    return request.known(request.to("/login", set=1), "")


def _mail_link(request: RequestContext, name: str) -> None:
    app_state = request.app_state
    with app_state.store() as store:
        found = accounts.reset_token(store, name, now=request.now)
    if found is not None:
        mail, language, secret = found
        how = app_state.settings()
        address_verification.send_link(
            how, mail, language, kind="reset", secret=secret, now=request.now
        )


def confirm(request: RequestContext) -> Response:
    """Ask, and by POST do it: mail programs look at links before people do."""
    secret = request.parts["token"]
    found = request.store.tokens.find("mail", secret, now=request.now)
    if found is None:
        raise Wrong("This link is no longer good. Ask for a new one.")
    if "yes" in request.form:
        moved = address_verification.confirm(request.store, secret, now=request.now)
        if moved is None:
            raise Wrong("This link is no longer good. Ask for a new one.")
        address_verification.tell_before(request.app_state, moved, now=request.now)
        return request.page("confirm.html", mail=moved.mail, is_done=True)
    return request.page("confirm.html", mail=found.data["mail"], is_done=False)


def reset(request: RequestContext) -> Response:
    """Set a forgotten password by the mailed link."""
    secret = request.parts["token"]
    if request.store.tokens.find("reset", secret, now=request.now) is None:
        raise Wrong("This link is no longer good. Ask for a new one.")
    if "password" not in request.form:
        return request.page("reset.html", shortest=accounts.SHORTEST)
    try:
        accounts.reset(
            request.store,
            request.app_state.passwords,
            secret=secret,
            password=request.form["password"],
            now=request.now,
        )
    except Wrong as wrong:
        said = request.wrong(wrong)
        return request.page("reset.html", 400, shortest=accounts.SHORTEST, error=said)
    return request.known(request.to("/login", set=1), "")


# -- links with tokens --------------------------------------------------------------


def unsubscribe(request: RequestContext) -> Response:
    """Ask, and by POST do it: a link that is only looked at must not act (RFC 8058)."""
    token = request.parts["token"]
    found = stopping.find_unsubscription(request.store, token, now=request.now)
    if found is None:
        return request.page(
            "failure.html",
            404,
            error=request.say("This link is no longer good. Ask for a new one."),
        )
    if request.is_post:
        stopping.unsubscribe(request.store, token, now=request.now)
    return request.page(
        "stop.html", found=found, channel=mask_channel(found.channel), is_done=request.is_post
    )


def feed(request: RequestContext) -> Response:
    """A person's feed, or an alert's, for whoever has its address."""
    token = request.store.tokens.find("feed", request.parts["token"], now=request.now)
    owner = request.store.users.active(token.user) if token else None
    if token is None or owner is None:
        return PlainTextResponse("not found\n", 404)
    how, language = request.app_state.settings(), owner.language
    url = f"{request.origin}{request.path}"
    if token.alert is None:
        mine = feeds.alerts_in_feed(request.store, owner.id)
        text = feeds.build_user_feed(request.store, mine, how, owner.id, language=language, url=url)
    else:
        owned = next(each for each in request.store.alerts.all(owner.id) if each.id == token.alert)
        text = feeds.build_alert_feed(request.store, owned, how, language=language, url=url)
    return Response(text, headers={"Content-Type": feeds.CONTENT_TYPE})
