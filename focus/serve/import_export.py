"""Takes alerts from a file or the command line into an account, and out again.

What comes in is held to what its new owner may have: mail goes to their own confirmed
address or nowhere, apprise channels are for administrators, topic files for the command line.
"""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from focus.alerts.alert import from_json, to_json
from focus.alerts.page_match import alert_topic
from focus.errors import ConfigError
from focus.i18n import msg
from focus.serve import alerts, channel_fields
from focus.serve.accounts import Wrong
from focus.serve.request import RequestContext, attached
from focus.storage.alerts.records import LOCAL, Alert


def export(request: RequestContext) -> Response:
    """A person's alerts as a file, as `focus watch export` writes it."""
    mine = (each.alert for each in request.store.alerts.all(request.me.id))
    return attached("focus-alerts.json", to_json(mine))


def take_in(request: RequestContext) -> Response:
    """The alerts of such a file: all of them, or none."""
    try:
        made = from_json(request.form.get("file", "").encode(), msg("File of alerts (JSON)"))
        mine = {each.alert.name for each in request.store.alerts.all(request.me.id)}
        replace = "replace" in request.form
        alerts.check_quota(request, sum(not (replace and each.name in mine) for each in made))
        allowed = [_allowed(request, each) for each in made]
        for each in allowed:
            alert_topic(each, trusted=False)
        request.store.alerts.take_in(request.me.id, allowed, replace=replace, now=request.now)
    except ConfigError as error:
        return alerts.shown(request, 400, error=request.wrong(error))
    return alerts.shown(request, done=_done(request, made, allowed))


def adopt(request: RequestContext) -> Response:
    """An administrator takes over the alerts of the command line, with all they found.

    Those with a topic file stay, and those whose name is taken.
    """
    if not request.me.admin:
        raise Wrong("There is nothing here.")
    mine = {each.alert.name for each in request.store.alerts.all(request.me.id)}
    going = [
        each
        for each in request.store.alerts.all(LOCAL)
        if each.alert.name not in mine and not each.alert.topic.strip().endswith(".toml")
    ]
    alerts.check_quota(request, len(going))
    allowed = [_allowed(request, each.alert) for each in going]
    store, me = request.store, request.me
    with store.transaction():
        for owned, alert in zip(going, allowed, strict=True):
            store.alerts.hand_over(owned.id, alert, to=me.id)
        store.audit.note(
            me.name, msg("take over"), msg("{n} of local", n=len(going)), now=request.now
        )
    return alerts.shown(request, done=_done(request, [each.alert for each in going], allowed))


def _allowed(request: RequestContext, alert: Alert) -> Alert:
    """The alert with the channels that its new owner may have."""
    channels = channel_fields.allowed(request.me, alert.channels)
    return msgspec.structs.replace(alert, channels=channels)


def _done(request: RequestContext, before: list[Alert], after: list[Alert]) -> str:
    said = request.plural("{n} alert was taken in.", "{n} alerts were taken in.", n=len(after))
    pairs = zip(before, after, strict=True)
    changed = [new.name for old, new in pairs if set(old.channels) - set(new.channels)]
    if changed:
        said += " " + request.say(
            "How they tell was fitted to your account: {names}.", names=", ".join(changed)
        )
    return said
