"""Maps points of the unit cube to parameter values within their ranges, for `focus tune`.

A point of the search is a number in [0, 1) per range; `value` makes the parameter of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from random import Random

import msgspec

from focus.errors import ConfigError

Point = tuple[float, ...]

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_ENDS = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(:log)?")
_DIGITS = 3
"""Significant digits of a value that was drawn: more is noise, and people read it."""

_REDRAWN = 0.15
"""Chance of a coordinate to be drawn anew in refinement: a way out, and between choices."""


class Range(msgspec.Struct, frozen=True):
    """A parameter that is searched for.

    choices  the only values, if there are any; else anything from low to high
    log      evenly over the logarithm
    whole    only whole numbers
    """

    name: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[float, ...] = ()

    def value(self, x: float) -> float:
        """What stands at x in [0, 1). Worked: 1..9, whole, x = .5: 5; 0.01..1:log: 0.1."""
        if self.choices:
            return self.choices[int(x * len(self.choices))]
        if self.whole:
            return self.low + math.floor(x * (self.high - self.low + 1.0))
        if self.log:
            ends = math.log(self.low), math.log(self.high)
            found = math.exp(ends[0] + x * (ends[1] - ends[0]))
        else:
            found = self.low + x * (self.high - self.low)
        return min(self.high, max(self.low, float(f"{found:.{_DIGITS}g}")))

    def spelled(self) -> str:
        """As it is typed."""
        if self.choices:
            return f"{self.name}={'|'.join(f'{each:g}' for each in self.choices)}"
        return f"{self.name}={self.low:g}..{self.high:g}{':log' if self.log else ''}"


def read_range(text: str) -> Range:
    """NAME=LOW..HIGH[:log], NAME=A|B|C, or NAME=NUMBER, which fixes it.

    Ends without a point are `whole`; `fitted` has the last word. ConfigError for anything
    else, and for ends in the wrong order or, by logarithm, not over 0.
    """
    name, _, value = text.partition("=")
    ends = _ENDS.fullmatch(value.strip())
    if not name.strip():
        raise ConfigError("{text!r} names no parameter; write it like gamma=0.1..0.9", text=text)
    if ends is None:
        return Range(name.strip(), choices=_choices(text, value))
    low, high = float(ends[1]), float(ends[2])
    whole = re.search(r"[.eE]", ends[1] + ends[2]) is None and not ends[3]
    found = Range(name.strip(), low, high, ends[3] is not None, whole)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ConfigError("{text!r}: the first end must be under the second", text=text)
    if found.log and low <= 0:
        raise ConfigError("{text!r}: by logarithm both ends must be over 0", text=text)
    return found


def _choices(text: str, value: str) -> tuple[float, ...]:
    parts = [part.strip() for part in value.split("|")]
    if not all(re.fullmatch(_NUMBER, part) for part in parts):
        raise ConfigError(
            "{text!r} is not like gamma=0.1..0.9, k=1e-3..1:log, T=1..10 or W=10|20", text=text
        )
    return tuple(dict.fromkeys(float(part) for part in parts))


def fitted(found: Range, own: Collection[float]) -> Range:
    """The range for a parameter with these values of its own (tuned and published).

    `gamma=0..1` means any share though its ends have no point, as gamma is 0.2; `W=10..40`
    means whole numbers, as W is 40.
    """
    whole = found.whole and all(value == int(value) for value in own)
    return msgspec.structs.replace(found, whole=whole)


def spread(dimensions: int, number: int, rng: Random) -> list[Point]:
    """So many random points, in each dimension one in each of `number` equal strips
    (Latin hypercube: McKay, Beckman and Conover 1979)."""
    columns = []
    for _ in range(dimensions):
        strips = list(range(number))
        rng.shuffle(strips)
        columns.append([(strip + rng.random()) / number for strip in strips])
    return list(zip(*columns, strict=True))


def near(point: Sequence[float], width: float, rng: Random) -> Point:
    """A random point around one: normal of that deviation, folded back at the walls."""
    return tuple(
        rng.random() if rng.random() < _REDRAWN else _folded(rng.gauss(x, width)) for x in point
    )


def _folded(x: float) -> float:
    x = abs(x) % 2.0
    return min(2.0 - x if x >= 1.0 else x, 1.0 - 1e-9)
