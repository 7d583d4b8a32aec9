"""Handlers of the settings page: profile, addresses, password, feed, data export, deletion."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from zoneinfo import available_timezones

import msgspec
from starlette.responses import Response

from focus.alerts.delivery import NotDelivered
from focus.alerts.delivery.sms import Sms
from focus.errors import ConfigError
from focus.i18n import msg
from focus.serve import (
    accounts,
    address_verification,
    browsers,
    channel_fields,
    second_factor,
    tokens,
)
from focus.serve.accounts import InvalidInput
from focus.serve.request import RequestContext, json_download

Handler = Callable[[RequestContext], Response]


def settings_page(request: RequestContext, **messages: str) -> Response:
    """Show the settings form, or save what was submitted."""
    pending_mail, pending_phone = _pending_addresses(request)
    typed = {
        "name": request.me.name,
        "mail": pending_mail or request.me.mail or "",
        "phone": pending_phone or request.me.phone or "",
        "quiet": request.me.quiet,
        "language": request.me.language,
        "zone": request.me.zone,
    }
    if "zone" in request.form and not messages:
        typed = {name: request.form.get(name, "")[:200] for name in typed}
        try:
            mail = accounts.validate_mail(typed["mail"])
            phone = accounts.validate_phone(typed["phone"])
            is_changed = {
                "mail": mail not in (pending_mail or request.me.mail or "", request.me.mail or ""),
                "phone": phone
                not in (pending_phone or request.me.phone or "", request.me.phone or ""),
                "name": typed["name"] != request.me.name,
            }
            if any(is_changed.values()):
                _check_password(request, "current_password")
            accounts.change_profile(request.store, request.me, typed, now=request.now)
            if is_changed["name"]:
                _notify_change(request, msg("name"))
            _apply_phone(request, phone, pending_phone)
            return request.redirect("/settings", saved=_apply_mail(request, mail, pending_mail))
        except ConfigError as error:
            messages = {"error": request.error_text(error)}
            pending_mail, pending_phone = _pending_addresses(request)
    if (saved := request.query.get("saved", "")) and not messages:
        messages = {"done": request.say("Saved.")}
        if saved == "mail" and pending_mail:
            messages["done"] = request.say("Saved. Open the link in the mail to the new address.")
    session = request.store.tokens.find("session", request.session, now=request.now)
    return request.render(
        "settings.html",
        400 if messages.get("error") else 200,
        typed=typed,
        zones=_group_zones(typed["zone"]),
        shortest=accounts.MIN_PASSWORD_LENGTH,
        waiting=pending_mail,
        calling=pending_phone,
        gateway=Sms.is_available(request.app_state.settings()),
        has_feed=bool(request.store.tokens.list_for_user("feed", request.me.id, now=request.now)),
        session_id=session.id if session else "",
        sessions=request.store.tokens.list_for_user("session", request.me.id, now=request.now),
        fields=channel_fields.default_fields(request),
        has_factor=second_factor.is_on(request.store, request.me.id, now=request.now),
        awaits_code=request.store.tokens.find_for_user(
            "totp_setup", request.me.id, now=request.now
        ),
        recovery_left=second_factor.count_recovery_codes(
            request.store, request.me.id, now=request.now
        ),
        **{"feed": "", "secret": "", "link": "", "recovery": "", **messages},
    )


def _show_errors(handler: Handler) -> Handler:
    """Return the handler wrapped so that its errors are shown on the settings page."""

    @wraps(handler)
    def handle(request: RequestContext) -> Response:
        try:
            return handler(request)
        except ConfigError as error:
            return settings_page(request, error=request.error_text(error))

    return handle


_REGIONS = frozenset(
    "Africa America Antarctica Arctic Asia Atlantic Australia Europe Indian Pacific".split()
)


def _group_zones(current: str) -> dict[str, list[str]]:
    """Return the time zones of each region; `chosen` is included whatever its name."""
    zones_by_region = {"UTC": sorted({"UTC", current} - _place_zones())}
    for name in sorted(_place_zones()):
        zones_by_region.setdefault(name.partition("/")[0], []).append(name)
    return zones_by_region


@cache
def _place_zones() -> frozenset[str]:
    """Return the time zones that are named after a place."""
    return frozenset(n for n in available_timezones() if n.partition("/")[0] in _REGIONS)


def _pending_addresses(request: RequestContext) -> tuple[str, str]:
    """Return the mail address and phone number to be confirmed, empty texts if there are none."""
    store, me, now = request.store, request.me.id, request.now
    mail, phone = (store.tokens.find_for_user(kind, me, now=now) for kind in ("mail", "phone"))
    return mail.data["mail"] if mail else "", phone.data["phone"] if phone else ""


def _apply_mail(request: RequestContext, mail: str, pending: str) -> str:
    """Apply a submitted mail address. Return "mail" if a confirmation was mailed, else "done"."""
    if mail == pending and mail:
        return "done"
    if mail == (request.me.mail or ""):
        request.store.tokens.remove_for_user("mail", user=request.me.id)
        return "done"
    if not mail:
        address_verification.remove_address(request.store, request.me.id, now=request.now)
        _notify_change(request, msg("mail address"))
        return "done"
    _mail_confirmation_link(request, mail)
    return "mail"


def _apply_phone(request: RequestContext, phone: str, pending: str) -> None:
    """Apply a submitted phone number; a new one gets a code by SMS."""
    if phone == pending and phone:
        return
    if phone == (request.me.phone or ""):
        request.store.tokens.remove_for_user("phone", user=request.me.id)
    elif not phone:
        address_verification.remove_address(
            request.store, request.me.id, now=request.now, kind="phone"
        )
        _notify_change(request, msg("phone"))
    else:
        code = address_verification.create_phone_code(
            request.store, request.me.id, phone, now=request.now
        )
        outcome = address_verification.send_code(
            request.app_state.settings(), phone, request.language, code=code
        )
        if isinstance(outcome, NotDelivered):
            request.store.tokens.remove_for_user("phone", user=request.me.id)
            raise InvalidInput("The code could not be sent: {reason}.", reason=outcome.reason)


@_show_errors
def confirm_phone(request: RequestContext) -> Response:
    """Confirm a phone number with the code from the SMS."""
    typed = request.form.get("code", "")
    address_verification.confirm_phone(request.store, request.me.id, typed, now=request.now)
    _notify_change(request, msg("phone"))
    return request.redirect("/settings", saved=1)


def _mail_confirmation_link(request: RequestContext, mail: str) -> None:
    """Mail the link that confirms an address.

    Raises InvalidInput if the mail cannot be sent; the address stays pending.
    """
    secret = address_verification.create_mail_token(
        request.store, request.me.id, mail, now=request.now
    )
    delivery_settings = request.app_state.settings()
    language = request.language
    outcome = address_verification.send_link(
        delivery_settings, mail, language, kind="mail", secret=secret, now=request.now
    )
    if isinstance(outcome, NotDelivered):
        raise InvalidInput(
            "The link could not be mailed: {reason}. The address was saved; send the link again "
            "later.",
            reason=outcome.reason,
        )


@_show_errors
def resend_link(request: RequestContext) -> Response:
    """Mail the confirmation link again."""
    pending, _ = _pending_addresses(request)
    if pending:
        _mail_confirmation_link(request, pending)
    return request.redirect("/settings", saved="mail")


@_show_errors
def set_channels(request: RequestContext) -> Response:
    """Store the default channels of new alerts."""
    request.store.users.set_channels(request.me.id, channel_fields.submitted_defaults(request))
    return request.redirect("/settings", saved=1)


@_show_errors
def change_password(request: RequestContext) -> Response:
    """Change the password; all other sessions end."""
    log_in = accounts.change_password(
        request.store,
        request.app_state.passwords,
        request.me,
        old=request.form.get("old", ""),
        new=request.form.get("new", ""),
        address=request.address,
        browser=browsers.browser_name(request.user_agent),
        now=request.now,
    )
    _notify_change(request, msg("password"))
    return request.with_log_in(request.redirect("/settings", saved=1), log_in)


@_show_errors
def end_sessions(request: RequestContext) -> Response:
    """Log out everywhere but in this browser, or end one session, if the password is right."""
    _check_password(request, "session_password")
    store, me, session = request.store, request.me, request.session
    if ended := request.form.get("end", ""):
        accounts.end_session(store, me, session, ended, now=request.now)
    else:
        accounts.end_other_sessions(store, me, session, now=request.now)
    return request.redirect("/settings", saved=1)


@_show_errors
def begin_second_factor(request: RequestContext) -> Response:
    """Show a new secret for an authenticator app, if the password is right."""
    _check_password(request, "factor_password")
    if second_factor.is_on(request.store, request.me.id, now=request.now):
        raise InvalidInput("Turn the second factor off first.")
    key = request.app_state.settings().key
    secret = second_factor.create_setup(request.store, key, request.me.id, now=request.now)
    link = second_factor.setup_link(secret, request.me.name)
    return settings_page(request, secret=secret, link=link)


@_show_errors
def confirm_second_factor(request: RequestContext) -> Response:
    """Turn the second factor on with a code of the app, and show the recovery codes."""
    codes = accounts.set_up_second_factor(
        request.store,
        request.app_state.settings().key,
        request.me,
        request.form.get("factor_code", ""),
        address=request.address,
        now=request.now,
    )
    _notify_change(request, msg("second factor"))
    return settings_page(request, recovery=" ".join(codes))


@_show_errors
def end_second_factor(request: RequestContext) -> Response:
    """Turn the second factor off, if password and code are right."""
    _check_password(request, "factor_password")
    key, code = request.app_state.settings().key, request.form.get("factor_code", "")
    accounts.check_code(
        request.store, key, request.me, code, address=request.address, now=request.now
    )
    accounts.remove_second_factor(request.store, request.me.id, request.me.name, now=request.now)
    _notify_change(request, msg("second factor"))
    return request.redirect("/settings", saved=1)


def _notify_change(request: RequestContext, what: str) -> None:
    address_verification.notify_change(request.app_state, request.me, what, now=request.now)


def renew_feed(request: RequestContext) -> Response:
    """Create a new address of the user's feed, or remove the feed."""
    with request.store.transaction():
        request.store.tokens.remove_for_user("feed", user=request.me.id)
        if "off" in request.form:
            return request.redirect("/settings", saved=1)
        secret = tokens.create_token(request.store, "feed", user=request.me.id, now=request.now)
    return settings_page(request, feed=f"{request.origin}/feed/{secret}.atom")


def export_account(request: RequestContext) -> Response:
    """Return all data stored about the user as a JSON file."""
    account_data = accounts.export_account(request.store, request.me)
    return json_download("focus-account.json", msgspec.to_builtins(account_data, enc_hook=str))


def _check_password(request: RequestContext, field: str) -> None:
    """Raise InvalidInput unless the form has the user's password in `field`."""
    accounts.check_password(
        request.store,
        request.app_state.passwords,
        request.me,
        request.form.get(field, ""),
        address=request.address,
        now=request.now,
    )


@_show_errors
def delete_account(request: RequestContext) -> Response:
    """Delete the account if the password is right."""
    _check_password(request, "password")
    accounts.delete_account(request.store, request.me, now=request.now)
    return request.with_session(request.redirect("/login"), "")
