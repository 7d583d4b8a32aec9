"""Measures CPU by process, memory and wall time of a program.

The CPU time of a program with its children comes from `wait4`, that of the children from samples
of /proc; the program's own CPU time is the difference.
"""

import os
import platform
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from tests.support.processes import descendants, peak_mib

SAMPLE_S = 0.02
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Usage(msgspec.Struct, frozen=True):
    """Resources of one run: CPU time of the program and its children, and peaks of their memory."""

    code: int
    seconds: float
    own_s: float
    children_s: float
    own_mib: float
    children_mib: float

    @property
    def cpu_s(self) -> float:
        """CPU time of all its processes."""
        return self.own_s + self.children_s


def run(command: Sequence[str], *, limit_s: float = 1800.0, log: Path | None = None) -> Usage:
    """Run a program; raises TimeoutExpired after `limit_s`."""
    began = time.monotonic()
    out = subprocess.DEVNULL if log is None else log.open("wb")
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out) as process:
        samples = _Samples(process.pid)
        while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
            if time.monotonic() - began > limit_s:
                process.kill()
                raise subprocess.TimeoutExpired(command, limit_s)
            samples.sample()
            time.sleep(SAMPLE_S)
        process.returncode = os.waitstatus_to_exitcode(ended[1])
    seconds = time.monotonic() - began
    total = ended[2].ru_utime + ended[2].ru_stime
    children = sum(samples.cpu_s.values())
    return Usage(
        code=process.returncode,
        seconds=seconds,
        own_s=total - children,
        children_s=children,
        own_mib=samples.mib.pop(process.pid, 0.0),
        children_mib=sum(samples.mib.values()),
    )


class _Samples:
    """The latest samples of a process and its children."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.cpu_s: dict[int, float] = {}
        self.mib: dict[int, float] = {}

    def sample(self) -> None:
        """Sample all processes."""
        for pid in (self.pid, *descendants(self.pid)):
            with suppress(OSError, IndexError):
                self.mib[pid] = max(self.mib.get(pid, 0.0), peak_mib(pid))
                if pid != self.pid:
                    self.cpu_s[pid] = cpu_s(pid)


def cpu_s(pid: int) -> float:
    """Return the user and system time of a process without its ended children (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S


def machine() -> dict[str, object]:
    """Return a description of this machine and its load."""
    model = ""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "cores": os.cpu_count(),
        "processor": model or platform.processor(),
        "memory_gib": round(memory, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": [round(load, 2) for load in os.getloadavg()],
    }
