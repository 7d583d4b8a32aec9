"""Delivery of messages as e-mail through an SMTP server.

The standard library sends in a thread, over one connection per round of delivery. TLS certificates
are verified. A mail is delivered once the server has accepted it after DATA (RFC 5321 4.2.5),
whatever happens to the connection afterwards.
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

from focus.alerts.addresses import is_mail_address
from focus.alerts.delivery.channel import (
    Channel,
    Delivered,
    DeliveryOutcome,
    InstallationOption,
    NotDelivered,
)
from focus.alerts.delivery.mail_headers import (
    ascii_domain,
    ascii_mail_address,
    structured_field,
    text_field,
)
from focus.alerts.message import Message
from focus.alerts.settings import MASK, MailSettings
from focus.http.network_errors import classify_error, to_one_line
from focus.i18n import Msg, chain_messages, error_message, msg

TIMEOUT_S = 30.0  # for each reply of the server
_TIMED_OUT = "timed out"
DEADLINE_S = 120.0  # for a whole mail; shorter than a lease
NO_MAIL_SERVER = msg("no mail server is set; set FOCUS_SMTP_URL, or smtp in the settings")

_BASE64_SHARE = 6  # base64 is shorter if more than 1 in 6 characters is outside ASCII
_OK = 250
_PERMANENT_FAILURE = 500


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
    sender, recipient = ascii_mail_address(sender), ascii_mail_address(address)
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
    body.set_content(message.text, cte=_transfer_encoding(message.text))
    body.add_alternative(message.html, subtype="html", cte=_transfer_encoding(message.html))
    return ComposedMail(sender, recipient, b"".join(header) + body.as_bytes())


def _transfer_encoding(text: str) -> str:
    """Return the encoding of a body: not every server accepts 8bit or lines over 998 bytes."""
    non_ascii = sum(not char.isascii() for char in text)
    return "base64" if non_ascii * _BASE64_SHARE > len(text) else "quoted-printable"


class Mail(Channel):
    """E-mail through the installation's mail server (`--smtp-url`)."""

    kind, metavar, help = "mail", "ADDRESS", "Send mail to this address (repeatable)."
    labels = {"zh": "邮件（{address}）", "en": "Mail to {address}"}
    account_field = "mail"
    has_secret_address = False
    options = (
        InstallationOption(
            "smtp-url", "URL", "Mail server: smtp://user:password@mail.example.org:587."
        ),
        InstallationOption(
            "mail-from",
            "ADDRESS",
            "Sender address of mails.",
            show_default="the mail server's user, or focus@ this machine",
        ),
    )

    def __init__(self, *arguments: Any, clock: Callable[[], float]) -> None:
        super().__init__(*arguments, clock=clock)
        self._mailer = Mailer(self.settings.mail)

    @classmethod
    def is_address(cls, text: str) -> bool:
        """Return whether a text is an address such as `a@b.org`."""
        return is_mail_address(text)

    async def deliver(self, message: Message, address: str, *, user: int) -> DeliveryOutcome:
        return await self._mailer.deliver(message, address, now=self.clock())

    async def close(self) -> None:
        await self._mailer.close()


class Mailer:
    """Connection to the mail server, opened with the first mail.

    It sends one mail at a time; `close` ends the connection.
    """

    def __init__(self, settings: MailSettings | None) -> None:
        self._settings = settings
        self._server: smtplib.SMTP | None = None
        self._is_interrupted = False
        self._lock = Lock()

    async def deliver(self, message: Message, address: str, *, now: float) -> DeliveryOutcome:
        """Send one message; the server's reply determines the outcome."""
        if self._settings is None:
            return NotDelivered(NO_MAIL_SERVER, blocks_channel=True)
        try:
            mail = compose(message, address, self._settings.sender, now=now)
        except ValueError as error:
            return NotDelivered(to_one_line(error_message(error)), retry=False)
        self._is_interrupted = False
        task = asyncio.create_task(asyncio.to_thread(self._send, mail, self._settings))
        try:
            await asyncio.wait({task}, timeout=DEADLINE_S)
        finally:
            if not task.done():  # deadline passed, or cancelled: the thread must end
                self._interrupt()
        return await task

    def _send(self, mail: ComposedMail, settings: MailSettings) -> DeliveryOutcome:
        """Send one mail; blocks, so that it runs in a thread."""
        where = msg("mail server {address}", address=f"{settings.host}:{settings.port}")
        with self._lock:
            try:
                server = self._open_connection(settings)
            except _SMTP_ERRORS as error:
                return NotDelivered(
                    chain_messages(where, _mask_password(_error_text(error), settings)),
                    blocks_channel=True,
                )
            try:
                _transmit(server, mail)
            except _SMTP_ERRORS as error:
                return _smtp_error_outcome(
                    error, chain_messages(where, _mask_password(_error_text(error), settings))
                )
        return Delivered(msg("{where} accepted the message", where=where))

    def _open_connection(self, settings: MailSettings) -> smtplib.SMTP:
        """Return the open connection if the server still answers, else a new one."""
        if self._server is not None:
            with contextlib.suppress(*_SMTP_ERRORS):
                if self._server.noop()[0] == _OK:
                    return self._server
            self._server.close()
        self._server = None
        try:
            return _connect(settings, self._before_step)
        except BaseException:
            if self._server is not None:
                self._server.close()
            self._server = None
            raise

    def _before_step(self, server: smtplib.SMTP) -> None:
        """Register the connection before it waits for the server, so that it can be interrupted."""
        self._server = server
        if self._is_interrupted:
            raise TimeoutError(_TIMED_OUT)

    def _interrupt(self) -> None:
        """End the wait for the server from outside the thread that waits."""
        self._is_interrupted = True
        connection = None if self._server is None else self._server.sock
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    async def close(self) -> None:
        """Close the connection, if there is one."""
        await asyncio.to_thread(self._quit)

    def _quit(self) -> None:
        with self._lock:
            if self._server is not None:
                with contextlib.suppress(*_SMTP_ERRORS):
                    self._server.quit()
                self._server.close()
                self._server = None


class _InterruptibleSmtp(smtplib.SMTP):
    """SMTP client that calls `before_step` before each wait for the server.

    The constructor of `smtplib.SMTP` connects and reads the greeting, so that a caller could not
    interrupt it otherwise.
    """

    def __init__(
        self, *address: Any, before_step: Callable[[smtplib.SMTP], None], **more: Any
    ) -> None:
        self._before_step = before_step
        super().__init__(*address, **more)

    def connect(self, *address: Any, **more: Any) -> tuple[int, bytes]:
        self._before_step(self)
        return super().connect(*address, **more)

    def getreply(self) -> tuple[int, bytes]:
        self._before_step(self)
        return super().getreply()


class _InterruptibleSmtpSsl(_InterruptibleSmtp, smtplib.SMTP_SSL):
    """The same client with TLS from the first byte."""


def _connect(settings: MailSettings, before_step: Callable[[smtplib.SMTP], None]) -> smtplib.SMTP:
    """Return a connection that is encrypted as configured, and logged in."""
    context = ssl.create_default_context(cafile=settings.ca)
    name = ascii_domain(
        settings.sender.rpartition("@")[2]
    )  # finding out the own host name may take minutes
    address = (settings.host, settings.port, name)
    server: smtplib.SMTP
    if settings.tls == "always":
        server = _InterruptibleSmtpSsl(
            *address, before_step=before_step, timeout=TIMEOUT_S, context=context
        )
    else:
        server = _InterruptibleSmtp(*address, before_step=before_step, timeout=TIMEOUT_S)
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


_SMTP_ERRORS = (smtplib.SMTPException, OSError, ValueError)
"""Exceptions of smtplib for whatever a server does; an invalid reply is a ValueError."""


def _smtp_error_outcome(error: Exception, reason: str) -> NotDelivered:
    """Return the outcome for an error of the server (RFC 5321 4.2.1: 5yz is permanent)."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        codes = [code for code, _ in error.recipients.values()]
        return NotDelivered(reason, retry=not all(code >= _PERMANENT_FAILURE for code in codes))
    if isinstance(error, smtplib.SMTPSenderRefused):
        return NotDelivered(reason, blocks_channel=True)
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return NotDelivered(reason, retry=False)  # an address outside ASCII
    if isinstance(error, smtplib.SMTPResponseException):
        return NotDelivered(reason, retry=error.smtp_code < _PERMANENT_FAILURE)
    return NotDelivered(reason)


def _error_text(error: Exception) -> str:
    """Return the server's reply where there is one, else the error's text."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, reply = next(iter(error.recipients.values()))
        return to_one_line(f"{code} {_decode_reply(reply)}")
    if isinstance(error, smtplib.SMTPResponseException):
        return to_one_line(f"{error.smtp_code} {_decode_reply(error.smtp_error)}")
    if isinstance(error, OSError) and not isinstance(error, smtplib.SMTPException):
        _, detail = classify_error(error)
        return to_one_line(detail)
    return to_one_line(str(error)) or type(error).__name__


def _decode_reply(reply: bytes | str) -> str:
    return reply if isinstance(reply, str) else reply.decode("utf-8", "replace")


def _mask_password(reason: str, settings: MailSettings) -> str:
    if not settings.password:
        return reason
    if isinstance(reason, Msg):
        return reason.map_texts(lambda text: _mask_password(text, settings))
    return reason.replace(settings.password, MASK)
