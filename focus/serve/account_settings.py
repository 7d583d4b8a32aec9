"""Answers the pages where people change themselves: settings, password, feed, their data."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from zoneinfo import available_timezones

import msgspec
from starlette.responses import Response

from focus.alerts.delivery import NotDelivered, push
from focus.alerts.delivery.sms import Sms
from focus.errors import ConfigError
from focus.serve import accounts, address_verification, browsers, channel_fields, tokens
from focus.serve.accounts import Wrong
from focus.serve.request import RequestContext, download

Handler = Callable[[RequestContext], Response]


def settings(request: RequestContext, **said: str) -> Response:
    """The form as it stands, and what was typed there."""
    waiting, calling = _pending(request)
    typed = {
        "name": request.me.name,
        "mail": waiting or request.me.mail or "",
        "phone": calling or request.me.phone or "",
        "quiet": request.me.quiet,
        "language": request.me.language,
        "zone": request.me.zone,
    }
    if "zone" in request.form and not said:
        typed = {name: request.form.get(name, "")[:200] for name in typed}
        try:
            mail = accounts.checked_mail(typed["mail"])
            phone = accounts.checked_phone(typed["phone"])
            if mail not in (waiting or request.me.mail or "", request.me.mail or ""):
                _confirm(request, "mail_password")
            accounts.change(request.store, request.me, typed, now=request.now)
            _number(request, phone, calling)
            return request.to("/settings", saved=_address(request, mail, waiting))
        except ConfigError as error:
            said = {"error": request.wrong(error)}
            waiting, calling = _pending(request)
    if (saved := request.query.get("saved", "")) and not said:
        said = {"done": request.say("Saved.")}
        if saved == "mail" and waiting:
            said["done"] = request.say("Saved. Open the link that was mailed to the new address.")
    how = request.app_state.settings()
    return request.page(
        "settings.html",
        400 if said.get("error") else 200,
        typed=typed,
        zones=_zones(typed["zone"]),
        shortest=accounts.SHORTEST,
        waiting=waiting,
        calling=calling,
        gateway=Sms.is_available(how),
        push_key=push.public_key(how),
        browsers=browsers.shown(request.store, request.me),
        fields=channel_fields.usual(request),
        **{"feed": "", **said},
    )


def _or_say_why_not(handler: Handler) -> Handler:
    """Show the settings with what is wrong where a handler raises it."""

    @wraps(handler)
    def handle(request: RequestContext) -> Response:
        try:
            return handler(request)
        except ConfigError as error:
            return settings(request, error=request.wrong(error))

    return handle


_REGIONS = frozenset(
    "Africa America Antarctica Arctic Asia Atlantic Australia Europe Indian Pacific".split()
)


def _zones(chosen: str) -> dict[str, list[str]]:
    """Region -> its time zones; the one that is chosen is among them whatever it is called."""
    found = {"UTC": sorted({"UTC", chosen} - _places())}
    for name in sorted(_places()):
        found.setdefault(name.partition("/")[0], []).append(name)
    return found


@cache
def _places() -> frozenset[str]:
    """Time zones that are named by a place."""
    return frozenset(n for n in available_timezones() if n.partition("/")[0] in _REGIONS)


def _pending(request: RequestContext) -> tuple[str, str]:
    """The mail address and the number that wait to be confirmed; "": none does."""
    store, me, now = request.store, request.me.id, request.now
    mail, phone = (store.tokens.of_user(kind, me, now=now) for kind in ("mail", "phone"))
    return mail.data["mail"] if mail else "", phone.data["phone"] if phone else ""


def _address(request: RequestContext, mail: str, waiting: str) -> str:
    """Take over the address that was typed: `mail` when its reader is asked, else `done`."""
    if mail == waiting and mail:
        return "done"
    if mail == (request.me.mail or ""):
        request.store.tokens.drop("mail", user=request.me.id)
        return "done"
    if not mail:
        me = request.me
        address_verification.forget(request.store, me.id, now=request.now)
        moved = address_verification.Moved("", me.mail or "", me.name, me.language)
        address_verification.tell_before(request.app_state, moved, now=request.now)
        return "done"
    _ask(request, mail)
    return "mail"


def _number(request: RequestContext, phone: str, waiting: str) -> None:
    """Take over the number that was typed: a code is sent to a new one."""
    if phone == waiting and phone:
        return
    if phone == (request.me.phone or ""):
        request.store.tokens.drop("phone", user=request.me.id)
    elif not phone:
        address_verification.forget(request.store, request.me.id, now=request.now, kind="phone")
    else:
        code = address_verification.ask_phone(request.store, request.me.id, phone, now=request.now)
        outcome = address_verification.send_code(
            request.app_state.settings(), phone, request.language, code=code
        )
        if isinstance(outcome, NotDelivered):
            request.store.tokens.drop("phone", user=request.me.id)
            raise Wrong("The code could not be sent: {reason}.", reason=outcome.reason)


@_or_say_why_not
def code(request: RequestContext) -> Response:
    """The code that came by SMS."""
    typed = request.form.get("code", "")
    address_verification.confirm_phone(request.store, request.me.id, typed, now=request.now)
    return request.to("/settings", saved=1)


def _ask(request: RequestContext, mail: str) -> None:
    """Mail the link that confirms an address. Wrong, if it cannot be sent; it waits then."""
    secret = address_verification.ask(request.store, request.me.id, mail, now=request.now)
    how = request.app_state.settings()
    language = request.language
    outcome = address_verification.send_link(
        how, mail, language, kind="mail", secret=secret, now=request.now
    )
    if isinstance(outcome, NotDelivered):
        raise Wrong(
            "The link could not be mailed: {reason}. The address is noted; send it again later.",
            reason=outcome.reason,
        )


@_or_say_why_not
def mail(request: RequestContext) -> Response:
    """Send the link once more."""
    waiting, _ = _pending(request)
    if waiting:
        _ask(request, waiting)
    return request.to("/settings", saved="mail")


@_or_say_why_not
def channels(request: RequestContext) -> Response:
    """How a new alert tells, until its own form says otherwise."""
    request.store.users.set_channels(request.me.id, channel_fields.usual_of(request))
    return request.to("/settings", saved=1)


@_or_say_why_not
def password(request: RequestContext) -> Response:
    """Another password; other browsers have to log in again."""
    session = accounts.change_password(
        request.store,
        request.app_state.passwords,
        request.me,
        old=request.form.get("old", ""),
        new=request.form.get("new", ""),
        now=request.now,
    )
    return request.known(request.to("/settings", saved=1), session)


def feed(request: RequestContext) -> Response:
    """A new address of one's feed, or none."""
    with request.store.transaction():
        request.store.tokens.drop("feed", user=request.me.id)
        if "off" in request.form:
            return request.to("/settings", saved=1)
        secret = tokens.make(request.store, "feed", user=request.me.id, now=request.now)
    return settings(request, feed=f"{request.origin}/feed/{secret}.atom")


def export(request: RequestContext) -> Response:
    """All that is kept of a person."""
    found = accounts.exported(request.store, request.me)
    return download("focus-account.json", msgspec.to_builtins(found, enc_hook=str))


def _confirm(request: RequestContext, field: str) -> None:
    """Wrong unless the person's password was typed along."""
    passwords, typed = request.app_state.passwords, request.form.get(field, "")
    accounts.confirm(request.store, passwords, request.me, typed, now=request.now)


@_or_say_why_not
def delete(request: RequestContext) -> Response:
    """Forget the person, after their password."""
    _confirm(request, "password")
    accounts.delete(request.store, request.me, now=request.now)
    return request.known(request.to("/login"), "")
