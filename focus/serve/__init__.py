"""`focus serve`: people of a group use alerts in a browser, with plain forms.

A request goes this way, in a thread of its own:

    server → request_guard → app → a handler → request.page (a template) or a redirect

To read, in this order:

    server, scheduler            the port; jobs beside it, each a process: a run when one is due
    app, app_state               which path is whose; the stores, the settings, the clock
    connections, upload          seconds and connections of one client; what a form may send
    request_guard, request       which requests are refused; one request, and its answers
    auth, accounts, names,       log-in, registration, sessions; nobody passes for somebody
    tokens, backoff              else; tries are counted, and wait
    address_verification         a mail address or number is used once its reader has said so
    alerts, forms,               alerts: their pages, their form and its channels,
    channel_fields, import_export  files of them
    site_answers                 what an alert's sites answer, before it is kept
    reading                      the inbox, the search, the delivery log
    account_settings, admin      what people and administrators may change
    browsers                     browsers themselves: installed as an app, notified
    templates/, static/          the pages and their style

Handlers ask an `AlertStore` (focus.storage.alerts) and the parts of focus.alerts; no module here
knows SQL or a connection, and none fetches a page in the server's own process: the scheduler's
does, and that of `site_answers`.

What surprised us: browsers send `Origin: null` with our own forms under `no-referrer`; a try
must be counted before its password is looked at, or many at once gain something; and mail
programs open every link, so that a GET must never act without a session of its reader.
"""
