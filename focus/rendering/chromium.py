"""Starts Chromium so that it reaches no network, watches its memory, and kills it.

It talks to us over pipes, which no other program can open, and to nobody else: every connection
goes to a proxy at a port that we hold and never listen at, and no name is looked up.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import tempfile
from pathlib import Path

from focus.errors import ConfigError

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
"""What is looked for on PATH."""
_HEAP_MB = 256  # of JavaScript, for each page
_PROC = Path("/proc")
_FLAGS = (
    *("--headless", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-extensions", "--disable-default-apps", "--disable-breakpad", "--disable-gpu"),
    *("--disable-dev-shm-usage", "--metrics-recording-only", "--mute-audio", "--hide-scrollbars"),
    *("--disable-domain-reliability", "--disable-client-side-phishing-detection", "--no-pings"),
    *("--password-store=basic", "--use-mock-keychain", "--blink-settings=imagesEnabled=false"),
    f"--js-flags=--max-old-space-size={_HEAP_MB}",
    "--disable-features=Translate,OptimizationHints,MediaRouter,DialMediaRouteProvider,"
    "AutofillServerCommunication,CertificateTransparencyComponentUpdater,WebTransport,"
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup",
    # No way out, but through the proxy, loopback included; and that one leads nowhere.
    *("--proxy-bypass-list=<-loopback>", "--host-resolver-rules=MAP * ~NOTFOUND", "--disable-quic"),
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)


def executable(browser: Path | None) -> str:
    """Return the browser that the user names or that PATH has; ConfigError if there is none."""
    if browser is not None:
        if not os.access(browser, os.X_OK) or browser.is_dir():
            raise ConfigError(
                "FOCUS_BROWSER {browser}: is not an executable program", browser=browser
            )
        return str(browser)
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise ConfigError(
            "--render needs Chromium, which is not on PATH; install it (apt install chromium), "
            "or set FOCUS_BROWSER to its path"
        )
    return program


def check_sandbox(*, sandbox: bool) -> None:
    """Raise ConfigError where Chromium's sandbox cannot work, unless it is off."""
    if sandbox and os.geteuid() == 0:
        raise ConfigError(
            "--render runs scripts of strangers, and Chromium has no sandbox for root; crawl as "
            "another user, or give --no-browser-sandbox if the environment is isolated, such as "
            "a container"
        )


class Chromium:
    """One process of Chromium with all its children.

    reader, writer   the pipes: messages end with a zero byte
    """

    def __init__(
        self, process: asyncio.subprocess.Process, folder: str, nowhere: socket.socket
    ) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.reader, self.writer = process.stdout, process.stdin
        self._process = process
        self._folder = folder
        self._nowhere = nowhere

    @classmethod
    async def start(cls, program: str, *, user_agent: str, sandbox: bool) -> Chromium:
        """Start it; OSError if that fails. That it works is only told by its first answer."""
        folder = tempfile.mkdtemp(prefix="focus-browser-")
        nowhere = socket.socket()
        nowhere.bind(("127.0.0.1", 0))  # ours, so that nobody else can listen there
        flags = [
            *_FLAGS,
            f"--user-data-dir={folder}",
            f"--proxy-server=http://127.0.0.1:{nowhere.getsockname()[1]}",
            f"--user-agent={user_agent}",
            *([] if sandbox else ["--no-sandbox"]),
        ]
        # It reads from descriptor 3 and writes to 4.
        redirected = 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null'
        try:
            process = await asyncio.create_subprocess_exec(
                *("/bin/sh", "-c", redirected, program, *flags, "about:blank"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env={"PATH": os.defpath, "HOME": folder, "XDG_RUNTIME_DIR": folder, "LANG": "C"},
                start_new_session=True,
            )
        except OSError:
            nowhere.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls(process, folder, nowhere)

    @property
    def pid(self) -> int:
        """Id of its first process, whose session all its processes belong to."""
        return self._process.pid

    def memory(self) -> int:
        """Return the unshared bytes of its processes; 0 where the system has no such figure."""
        total = 0
        for stat_file in _PROC.glob("[0-9]*/stat"):
            with contextlib.suppress(OSError, ValueError, IndexError):  # it has just ended
                if int(stat_file.read_text().rpartition(") ")[2].split()[3]) == self.pid:
                    _, resident, shared = (stat_file.parent / "statm").read_text().split()[:3]
                    total += int(resident) - int(shared)
        return total * os.sysconf("SC_PAGE_SIZE") if total else 0

    def kill(self) -> None:
        """End all its processes at once."""
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)

    async def close(self) -> None:
        """Kill it and remove its profile folder."""
        self.kill()
        self.writer.close()
        await self._process.wait()
        self._nowhere.close()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
