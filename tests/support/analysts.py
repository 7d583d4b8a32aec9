"""Analysts that a test can send to a worker: well-behaved, hanging, crashing, greedy."""

import os
import signal
import stat
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from focus.config import AnalysisConfig
from focus.records import Link, Page


class Hooked:
    """Does to a worker what the query of the URL says: `http://h/?sleep=0.1`."""

    def __init__(self, config: AnalysisConfig) -> None:
        self.model = config.relevance
        self.batch = 0

    def reconfigure(self, payload: bytes) -> None:
        self.model = payload.decode()

    def score(self, url: str, body: bytes, content_type: str | None, **options: object) -> Page:
        for name, (value, *_) in parse_qs(urlsplit(url).query).items():
            getattr(self, f"do_{name}")(value)
        return Page(
            title=url,
            description=f"{len(body)} {content_type}",
            keywords=self.model,
            charset=str(os.getpid()),
            links=[Link(url=url, key=b"k" * 16, host="h")],
        )

    def do_sleep(self, seconds: str) -> None:
        time.sleep(float(seconds))

    def do_gate(self, file: str) -> None:
        """Wait at a FIFO until whoever has opened its other end closes it."""
        Path(file).read_bytes()

    def do_burn(self, seconds: str) -> None:
        """So much computing, however long it takes."""
        until = time.process_time() + float(seconds)
        while time.process_time() < until:
            pass

    def do_spin(self, _: str) -> None:
        while True:
            pass

    def do_kill(self, number: str) -> None:
        os.kill(os.getpid(), int(number))

    def do_kill_once(self, marker: str) -> None:
        """Die, but only the first time in the life of the marker file."""
        if not Path(marker).exists():
            Path(marker).touch()
            os.kill(os.getpid(), signal.SIGSEGV)

    def do_exit(self, code: str) -> None:
        os._exit(int(code))

    def do_fail(self, text: str) -> None:
        raise ValueError(text)

    def do_allocate(self, megabytes: str) -> None:
        bytearray(int(megabytes) << 20)

    def do_print(self, text: str) -> None:
        print(text, flush=True)
        os.write(1, text.encode())
        assert not sys.stdin.closed

    def do_babble(self, length: str) -> None:
        """Write nonsense between the replies."""
        for fd in range(3, 30):
            try:
                mode = os.fstat(fd).st_mode
                if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                    os.write(fd, b"\xc1" * int(length))
            except OSError:
                continue

    def do_note(self, file: str) -> None:
        """Leave the worker's number where a test finds it."""
        Path(file).write_text(str(os.getpid()), encoding="ascii")


class Unwilling:
    """Cannot be made."""

    def __init__(self, config: AnalysisConfig) -> None:
        raise ImportError("No module named 'dictionary'")


class Dying:
    """Takes its worker along at once."""

    def __init__(self, config: AnalysisConfig) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Mortal(Hooked):
    """Can be made as long as the file named by the topic exists."""

    def __init__(self, config: AnalysisConfig) -> None:
        super().__init__(config)
        if not Path(str(config.topic["file"])).exists():
            raise RuntimeError("the file is gone")
