"""Delivers messages as e-mails, by a mail server.

SMTP by the standard library in a thread, one connection for all mails of a run. TLS is
verified. What the server has accepted after DATA (RFC 5321 4.2.5) is delivered, whatever
happens to the connection afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import smtplib
import socket
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from threading import Lock
from typing import Any, NamedTuple

from focus.alerts.addresses import is_mail
from focus.alerts.delivery.channel import (
    Channel,
    Delivered,
    DeliveryOutcome,
    InstallationOption,
    NotDelivered,
)
from focus.alerts.delivery.mail_headers import (
    ascii_domain,
    mail_address,
    structured_field,
    text_field,
)
from focus.alerts.message import Message
from focus.alerts.settings import MASK, MailSettings
from focus.http.network_errors import explain, one_line
from focus.i18n import Msg, line_of, msg, within

TIMEOUT_S = 30.0  # for each answer of the server
_CUT = "timed out"
DEADLINE_S = 120.0  # for one mail in all; less than a lease
UNSET = msg("no mail server is set; set FOCUS_SMTP_URL, or smtp in the settings")

_DENSE = 6  # one character in so many outside ASCII: base64 is the shorter form
_OK = 250
_FOR_GOOD = 500


class ComposedMail(NamedTuple):
    """A mail ready to be sent: the addresses of its envelope (RFC 5321) and its bytes."""

    sender: str
    recipient: str
    data: bytes


def compose(message: Message, address: str, sender: str, *, now: float) -> ComposedMail:
    """Return the mail (RFC 5322) of a message, with its plain text and its HTML.

    The Message-ID depends on the batch alone. List-Unsubscribe-Post is RFC 8058; the
    Auto-Submitted field (RFC 3834) prevents out-of-office replies. Raises ValueError for an
    address or a text that no mail can contain.
    """
    sender, recipient = mail_address(sender), mail_address(address)
    fields = {
        "From": f"focus <{sender}>",
        "To": recipient,
        "Date": format_datetime(datetime.fromtimestamp(now, UTC)),
        "Message-ID": f"<{message.id}@{sender.rpartition('@')[2]}>",
        "Auto-Submitted": "auto-generated",
        "Precedence": "bulk",
        "X-Auto-Response-Suppress": "All",
    }
    if message.unsubscribe:
        fields["List-Unsubscribe"] = f"<{message.unsubscribe}>"
        fields["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    header = [structured_field(name, value) for name, value in fields.items()]
    header.append(text_field("Subject", message.subject))
    body = EmailMessage(policy=SMTP)
    body.set_content(message.text, cte=_encoding(message.text))
    body.add_alternative(message.html, subtype="html", cte=_encoding(message.html))
    return ComposedMail(sender, recipient, b"".join(header) + body.as_bytes())


def _encoding(text: str) -> str:
    """Never 8bit: not every server on the way takes it, nor lines over 998 bytes."""
    foreign = sum(not char.isascii() for char in text)
    return "base64" if foreign * _DENSE > len(text) else "quoted-printable"


class Mail(Channel):
    """E-mail, by the mail server of the installation (`--smtp-url`)."""

    kind, metavar, help = "mail", "ADDRESS", "By mail. Repeatable."
    labels = {"zh": "邮件（{address}）", "en": "Mail to {address}"}
    own = "mail"
    is_secret = False
    options = (
        InstallationOption(
            "smtp-url", "URL", "The mail server: smtp://user:password@mail.example.org:587."
        ),
        InstallationOption(
            "mail-from", "ADDRESS", "Who mails come from.", show_default="the mail server's user"
        ),
    )

    def __init__(self, *given: Any, clock: Callable[[], float]) -> None:
        super().__init__(*given, clock=clock)
        self._mailer = Mailer(self.settings.mail)

    @classmethod
    def is_address(cls, text: str) -> bool:
        """Whether it is `a@b.org`."""
        return is_mail(text)

    async def deliver(self, message: Message, address: str, *, user: int) -> DeliveryOutcome:
        """Send one message; what the server says is the outcome."""
        return await self._mailer.deliver(message, address, now=self.clock())

    async def close(self) -> None:
        """Take leave of the server."""
        await self._mailer.close()


class Mailer:
    """A connection to the mail server, made when the first mail goes out.

    For one mail at a time; `close` ends it.
    """

    def __init__(self, settings: MailSettings | None) -> None:
        self._settings = settings
        self._server: smtplib.SMTP | None = None
        self._is_cut = False
        self._busy = Lock()

    async def deliver(self, message: Message, address: str, *, now: float) -> DeliveryOutcome:
        """Send one message; what the server says is the outcome."""
        if self._settings is None:
            return NotDelivered(UNSET, everyone=True)
        try:
            mail = compose(message, address, self._settings.sender, now=now)
        except ValueError as error:
            return NotDelivered(one_line(line_of(error)), retry=False)
        self._is_cut = False
        sending = asyncio.create_task(asyncio.to_thread(self._send, mail, self._settings))
        try:
            await asyncio.wait({sending}, timeout=DEADLINE_S)
        finally:
            if not sending.done():  # too late, or cancelled: the thread has to end
                self._cut()
        return await sending

    def _send(self, mail: ComposedMail, settings: MailSettings) -> DeliveryOutcome:
        """In a thread."""
        where = msg("mail server {address}", address=f"{settings.host}:{settings.port}")
        with self._busy:
            try:
                server = self._ready(settings)
            except _FAULTS as error:
                return NotDelivered(
                    within(where, _masked(_reason(error), settings)),
                    everyone=True,
                )
            try:
                _transmit(server, mail)
            except _FAULTS as error:
                return _refused(
                    error,
                    within(where, _masked(_reason(error), settings)),
                )
        return Delivered(msg("{where} has taken it", where=where))

    def _ready(self, settings: MailSettings) -> smtplib.SMTP:
        """The connection of the mail before if it still answers, else a new one."""
        if self._server is not None:
            with contextlib.suppress(*_FAULTS):
                if self._server.noop()[0] == _OK:
                    return self._server
            self._server.close()
        self._server = None
        try:
            return _connected(settings, self._begun)
        except BaseException:
            if self._server is not None:
                self._server.close()
            self._server = None
            raise

    def _begun(self, server: smtplib.SMTP) -> None:
        """A server is about to be asked: from here on it can be cut."""
        self._server = server
        if self._is_cut:
            raise TimeoutError(_CUT)

    def _cut(self) -> None:
        """Make a server's answer end, from outside the thread that waits for it."""
        self._is_cut = True
        waiting = None if self._server is None else self._server.sock
        if waiting is not None:
            with contextlib.suppress(OSError):
                waiting.shutdown(socket.SHUT_RDWR)

    async def close(self) -> None:
        """Take leave of the server, if there was any."""
        await asyncio.to_thread(self._leave)

    def _leave(self) -> None:
        with self._busy:
            if self._server is not None:
                with contextlib.suppress(*_FAULTS):
                    self._server.quit()
                self._server.close()
                self._server = None


class _Told(smtplib.SMTP):
    """Tells before each step of its connection, and after: the constructor does them all."""

    def __init__(self, *place: Any, begun: Callable[[smtplib.SMTP], None], **more: Any) -> None:
        self._begun = begun
        super().__init__(*place, **more)

    def connect(self, *place: Any, **more: Any) -> tuple[int, bytes]:
        self._begun(self)
        return super().connect(*place, **more)

    def getreply(self) -> tuple[int, bytes]:
        self._begun(self)
        return super().getreply()


class _ToldSsl(_Told, smtplib.SMTP_SSL):
    """The same, by TLS from the first byte."""


def _connected(settings: MailSettings, begun: Callable[[smtplib.SMTP], None]) -> smtplib.SMTP:
    """A connection that may send: encrypted as it should be, and logged in."""
    context = ssl.create_default_context(cafile=settings.ca)
    name = ascii_domain(
        settings.sender.rpartition("@")[2]
    )  # the own host name may take a look-up of minutes
    place = (settings.host, settings.port, name)
    server: smtplib.SMTP
    if settings.tls == "always":
        server = _ToldSsl(*place, begun=begun, timeout=TIMEOUT_S, context=context)
    else:
        server = _Told(*place, begun=begun, timeout=TIMEOUT_S)
    if settings.tls == "starttls":
        server.starttls(context=context)
    if settings.user:
        server.login(settings.user, settings.password)
    return server


def _transmit(server: smtplib.SMTP, mail: ComposedMail) -> None:
    """Send a mail; an address outside ASCII needs a server that knows RFC 6531."""
    is_ascii = f"{mail.sender}{mail.recipient}".isascii()
    options = () if is_ascii else ("SMTPUTF8", "BODY=8BITMIME")
    server.sendmail(mail.sender, [mail.recipient], mail.data, options)


_FAULTS = (smtplib.SMTPException, OSError, ValueError)
"""What smtplib raises for what a server does; a broken answer is a ValueError."""


def _refused(error: Exception, reason: str) -> NotDelivered:
    """What it means that this mail was not taken (RFC 5321 4.2.1: 5yz is for good)."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        codes = [code for code, _ in error.recipients.values()]
        return NotDelivered(reason, retry=not all(code >= _FOR_GOOD for code in codes))
    if isinstance(error, smtplib.SMTPSenderRefused):
        return NotDelivered(reason, everyone=True)
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return NotDelivered(reason, retry=False)  # an address outside ASCII
    if isinstance(error, smtplib.SMTPResponseException):
        return NotDelivered(reason, retry=error.smtp_code < _FOR_GOOD)
    return NotDelivered(reason)


def _reason(error: Exception) -> str:
    """The server's own words where it has said any."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, said = next(iter(error.recipients.values()))
        return one_line(f"{code} {_words(said)}")
    if isinstance(error, smtplib.SMTPResponseException):
        return one_line(f"{error.smtp_code} {_words(error.smtp_error)}")
    if isinstance(error, OSError) and not isinstance(error, smtplib.SMTPException):
        _, detail = explain(error)
        return one_line(detail)
    return one_line(str(error)) or type(error).__name__


def _words(said: bytes | str) -> str:
    return said if isinstance(said, str) else said.decode("utf-8", "replace")


def _masked(reason: str, settings: MailSettings) -> str:
    if not settings.password:
        return reason
    if isinstance(reason, Msg):
        return reason.each(lambda text: _masked(text, settings))
    return reason.replace(settings.password, MASK)
