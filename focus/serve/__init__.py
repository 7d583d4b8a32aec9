"""`focus serve`: a web application with which the members of a group use alerts.

    server, scheduler — the port; runs what is due in a process of its own
    app, app_state — routes; what every request needs: store, settings, clock
    connections, upload — limits of a client; parsing of forms and files
    log — format of the lines on standard error
    request_guard, request — refuses forged requests; one request and its responses
    auth, accounts — log-in and registration; passwords and sessions
    second_factor — codes of authenticator apps, and recovery codes
    names, tokens, backoff — names that cannot be confused; secrets; delays after failed attempts
    account_messages — links for forgotten passwords, in a process of its own
    address_verification — verification of mail addresses and telephone numbers
    alerts, forms, channel_fields — pages of alerts; their form; its fields for channels
    import_export — alerts from and to files
    site_answers — what the sites of an alert answer at present
    reading — inbox, search, delivery log
    account_settings, admin — what users and administrators may change
    browsers — files that browsers load
    templates/, static/ — pages and style

Data flow: server → request_guard → app → a handler → `request.page` (a template) or a redirect, in
a thread per request. Handlers use an `AlertStore` (`focus.storage.alerts`) and `focus.alerts`.

It must not contain SQL or read a connection, and no page of the web is fetched in the process of
the server: `scheduler` and `site_answers` use processes of their own.

Three facts decide details. Browsers send `Origin: null` with forms under `no-referrer`. An attempt
to log in is counted before the password is checked, or parallel attempts would not be counted. Mail
programs open every link, so that a GET must not change anything without a session.
"""
