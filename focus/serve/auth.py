"""Handlers of pages without an account: log-in, registration, forgotten passwords, links."""

from __future__ import annotations

import hashlib
from functools import partial
from zoneinfo import available_timezones

from starlette.responses import PlainTextResponse, Response

from focus.alerts import unsubscribe as stopping
from focus.alerts.delivery import feed as feeds
from focus.alerts.delivery import mask_channel
from focus.i18n import msg
from focus.serve import accounts, address_verification, backoff, names, tokens
from focus.serve.accounts import Applicant, InvalidInput, LogIn, TooManyTries, require_attempt
from focus.serve.browsers import browser_name
from focus.serve.request import RequestContext

DEFAULT_ZONES = {"zh": "Asia/Shanghai"}


def front_page(request: RequestContext) -> Response:
    """Redirect to the inbox or to the log-in page."""
    return request.redirect("/inbox" if request.user else "/login")


def login(request: RequestContext) -> Response:
    """Show the log-in form, or log in."""
    pending = request.form.get("pending", "")
    if "name" not in request.form and not pending:
        if request.user:
            return request.redirect("/inbox")
        done = (
            request.say("Your new password is set. Please log in.")
            if "set" in request.query
            else ""
        )
        return _login_page(request, done=done)
    try:
        log_in = _log_in(request, pending)
    except InvalidInput as error:
        status = 429 if isinstance(error, TooManyTries) else 403
        if request.store.tokens.find("log_in", pending, now=request.now) is None:
            pending = ""
        return _login_page(request, status, error=request.error_text(error), pending=pending)
    if log_in.pending:
        return _login_page(request, pending=log_in.pending)
    if request.session:
        request.store.tokens.remove("session", request.session)
    return request.with_log_in(request.redirect("/inbox"), log_in)


def _log_in(request: RequestContext, pending: str) -> LogIn:
    """Check the submitted password, or the code if the password was right before."""
    browser = browser_name(request.user_agent)
    if pending:
        return accounts.confirm_log_in(
            request.store,
            request.app_state.settings().key,
            pending=pending,
            code=request.form.get("code", ""),
            address=request.address,
            device=request.device,
            browser=browser,
            now=request.now,
        )
    return accounts.log_in(
        request.store,
        request.app_state.passwords,
        name=request.form["name"],
        password=request.form.get("password", ""),
        address=request.address,
        device=request.device,
        browser=browser,
        now=request.now,
    )


def _login_page(request: RequestContext, status: int = 200, **values: str) -> Response:
    is_open = accounts.may_register(request.store, "", now=request.now)
    return request.render("login.html", status, is_open=is_open, **{"pending": "", **values})


def logout(request: RequestContext) -> Response:
    """End the session, and remove what the browser has stored."""
    if request.session:
        request.store.tokens.remove("session", request.session)
    response = request.with_session(request.redirect("/login"), "")
    response.headers["Clear-Site-Data"] = '"storage"'
    return response


def register(request: RequestContext) -> Response:
    """Show the registration form to those who may register, or create the account."""
    invitation = request.form.get("invite", request.query.get("invite", ""))
    allowed = accounts.may_register(request.store, invitation, now=request.now)
    if not allowed or "name" not in request.form:
        return request.render(
            "register.html", 200 if allowed else 403, **_register_fields(request, allowed)
        )
    try:
        require_attempt(
            request.store, [backoff.attempt_key("register", request.address)], now=request.now
        )
        applicant = Applicant(
            request.form["name"],
            request.form.get("mail", ""),
            request.form.get("password", ""),
            request.language,
            _proposed_zone(request),
            invitation,
        )
        number = accounts.register(
            request.store, request.app_state.passwords, applicant, now=request.now
        )
    except InvalidInput as error:
        values = {**_register_fields(request, True), "error": request.error_text(error)}
        return request.render("register.html", 400, **values)
    device = tokens.create_token(request.store, "device", user=number, now=request.now)
    browser = browser_name(request.user_agent)
    session = accounts.create_session(request.store, number, browser, now=request.now)
    if applicant.mail.strip():
        _mail_confirmation(request, number, accounts.validate_mail(applicant.mail))
    return request.with_log_in(request.redirect("/inbox"), LogIn(session, device))


def _proposed_zone(request: RequestContext) -> str:
    """Return the time zone of the browser, or the usual one of its language."""
    zone = request.form.get("zone", "")
    if zone in available_timezones():
        return zone
    return DEFAULT_ZONES.get(request.language, request.app_state.zone)


def _mail_confirmation(request: RequestContext, user: int, mail: str) -> None:
    """Mail the confirmation link in the background; the settings page can send it again."""
    try:
        secret = address_verification.create_mail_token(request.store, user, mail, now=request.now)
    except InvalidInput:
        return  # too many mails were requested to this address
    delivery_settings = request.app_state.settings()
    send = partial(address_verification.send_link, kind="mail", secret=secret, now=request.now)
    request.app_state.run_in_background(
        partial(send, delivery_settings, mail, request.language), "focus-confirm"
    )


def _register_fields(request: RequestContext, allowed: bool) -> dict[str, object]:
    return {
        "allowed": allowed,
        "invite": request.form.get("invite", request.query.get("invite", "")),
        "typed": request.form,
        "shortest": accounts.MIN_PASSWORD_LENGTH,
    }


# -- forgotten ----------------------------------------------------------------------


def forgot_password(request: RequestContext) -> Response:
    """Note that somebody has forgotten a password; the response is always the same.

    `account_messages` looks the name up and mails the link.
    """
    if "name" not in request.form:
        return request.render("forgot.html")
    name = names.normalise_name(request.form["name"])
    keys = [backoff.attempt_key("reset", name), backoff.attempt_key("address", request.address)]
    wait_s = backoff.count_attempt(request.store, keys, now=request.now)
    if not wait_s and request.app_state.base_url:
        tokens.create_token(request.store, "forgot", now=request.now, data={"name": name})
    return request.render(
        "forgot.html",
        done=request.say(
            "If this account exists and has a mail address, a link was sent. It expires after an "
            "hour."
        ),
    )


def confirm_mail(request: RequestContext) -> Response:
    """Ask for confirmation of a mail address; only POST confirms, as mail programs open links."""
    secret = request.path_params["token"]
    token = request.store.tokens.find("mail", secret, now=request.now)
    if token is None:
        raise InvalidInput("This link has expired. Request a new one.")
    if "yes" in request.form:
        change = address_verification.confirm_mail(request.store, secret, now=request.now)
        if change is None:
            raise InvalidInput("This link has expired. Request a new one.")
        address_verification.notify_change(
            request.app_state, change.owner, msg("mail address"), now=request.now
        )
        return request.render("confirm.html", mail=change.mail, is_done=True)
    return request.render("confirm.html", mail=token.data["mail"], is_done=False)


def reset_password(request: RequestContext) -> Response:
    """Set a forgotten password with the mailed link."""
    secret = request.path_params["token"]
    if request.store.tokens.find("reset", secret, now=request.now) is None:
        raise InvalidInput("This link has expired. Request a new one.")
    if "password" not in request.form:
        return request.render("reset.html", shortest=accounts.MIN_PASSWORD_LENGTH)
    try:
        owner = accounts.reset_password_by_token(
            request.store,
            request.app_state.passwords,
            secret=secret,
            password=request.form["password"],
            now=request.now,
        )
    except InvalidInput as error:
        text = request.error_text(error)
        return request.render("reset.html", 400, shortest=accounts.MIN_PASSWORD_LENGTH, error=text)
    address_verification.notify_change(request.app_state, owner, msg("password"), now=request.now)
    return request.with_session(request.redirect("/login", set=1), "")


# -- links with tokens --------------------------------------------------------------


def unsubscribe(request: RequestContext) -> Response:
    """Ask whether to unsubscribe; only POST does so, as programs open links (RFC 8058)."""
    token = request.path_params["token"]
    unsubscription = stopping.find_unsubscription(request.store, token, now=request.now)
    if unsubscription is None:
        return request.render(
            "failure.html", 404, error=request.say("This link has expired. Request a new one.")
        )
    if request.is_post:
        stopping.unsubscribe(request.store, token, now=request.now)
    return request.render(
        "stop.html",
        found=unsubscription,
        channel=mask_channel(unsubscription.channel),
        is_done=request.is_post,
    )


def atom_feed(request: RequestContext) -> Response:
    """Return the feed of a user or an alert to everybody who has its address."""
    token = request.store.tokens.find("feed", request.path_params["token"], now=request.now)
    owner = request.store.users.find_active(token.user) if token else None
    if token is None or owner is None:
        return PlainTextResponse("not found\n", 404)
    delivery_settings, language = request.app_state.settings(), owner.language
    url = f"{request.origin}{request.path}"
    if token.alert is None:
        alerts = feeds.alerts_in_feed(request.store, owner.id)
        text = feeds.build_user_feed(
            request.store, alerts, delivery_settings, owner.id, language=language, url=url
        )
    else:
        stored_alert = next(
            alert for alert in request.store.alerts.list_alerts(owner.id) if alert.id == token.alert
        )
        text = feeds.build_alert_feed(
            request.store, stored_alert, delivery_settings, language=language, url=url
        )
    etag = f'"{hashlib.sha256(text).hexdigest()[:32]}"'
    headers = {"Content-Type": feeds.CONTENT_TYPE, "ETag": etag, "Cache-Control": "no-cache"}
    if etag in request.if_none_match:
        return Response(status_code=304, headers=headers)
    return Response(text, headers=headers)
