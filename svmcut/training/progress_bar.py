# SPDX-License-Identifier: BSD-3-Clause
"""The progress bar: how far the gap has come, on a log scale, and what is left of the limits."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Callable

from svmcut.base.typing import Any
from svmcut.solvers.protocol import Progress, StoppingRule, count_finished
from svmcut.spec.parameters import Settings
from svmcut.training.outcome import Objective

_REDRAWN_SECONDS = 0.1
_FRAME = len("training 100%|| ")


class ProgressBar:
    """A tqdm bar on stderr while a fit runs, and nothing before and after; used as a context once a
    fit.

    `wanted` None means on a terminal. The limits are those of the settings; their time counts from
    now. `stop` gives the rule that ends a fit, of its objective.
    """

    def __init__(
        self, wanted: bool | None, settings: Settings, stop: Callable[[Objective], StoppingRule]
    ):
        self._wanted = sys.stderr is not None and (
            sys.stderr.isatty() if wanted is None else wanted
        )
        self._settings, self._stop, self._began = settings, stop, time.perf_counter()
        self._bar: Any = None

    def __enter__(self) -> ProgressBar:
        if self._wanted:
            import threading

            from tqdm import tqdm

            tqdm.monitor_interval = 0
            tqdm.set_lock(
                threading.RLock()
            )  # its own is shared between processes, for which there is no need
            self._first, self._fit_began, self._drawn = math.nan, time.perf_counter(), 0.0
            self._over: int | None = None
            with self._ignore_closed_stderr():
                self._bar = tqdm(
                    total=1.0,
                    file=sys.stderr,
                    leave=False,
                    ncols=_columns(),
                    bar_format="training {desc}",
                )
        return self

    def __exit__(self, *exception) -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            with self._ignore_closed_stderr():
                bar.close()

    @contextlib.contextmanager
    def hide(self, wanted: bool = True):
        """The bar is gone within, where stdout and stderr are one terminal or file."""
        if self._bar is None or not wanted or not _is_same_file():
            yield
            return
        with self._ignore_closed_stderr():
            self._bar.clear()
        yield
        with self._ignore_closed_stderr():
            if self._bar is not None:
                self._bar.refresh()

    def show(self, progress: Progress, objective: Objective, told: str = "") -> None:
        """Draws anew, ten times a second at most; `told` is what stands in front."""
        now = time.perf_counter()
        gap, target = progress.gap, self._stop(objective).target(progress.primal)
        if self._bar is None:
            return
        if not self._first > 0 and math.isfinite(gap):
            self._first = gap
        if now - self._drawn < _REDRAWN_SECONDS:
            return
        parts, reached = (
            self._parts(progress, target, now),
            progress_share(self._first, gap, target),
        )
        if (machines := count_finished(progress)) is not None:
            unit, done, number = machines
            reached = done / number if number else None
            parts.insert(0, f"{done} of {number} {unit}{self._remaining(done, number, now)}")
        self._draw(now, reached, [told, *parts] if told else parts)

    def _remaining(self, done: int, number: int, now: float) -> str:
        """The time that the others take, once some are over in this fit."""
        if self._over is None:
            self._over = done
        if done <= self._over:
            return ""
        left = (now - self._fit_began) * (number - done) / (done - self._over)
        return f", {clock(left)} left"

    def tell(self, reached: float | None, text: str) -> None:
        """Draw how far a choice among models has come, at most ten times a second; `reached` is the
        share of the way, None if unknown."""
        now = time.perf_counter()
        if self._bar is None or now - self._drawn < _REDRAWN_SECONDS:
            return
        limit = self._settings.time_limit
        spent = (
            clock(now - self._fit_began)
            if limit is None
            else f"limit in {clock(limit - (now - self._began))}"
        )
        self._draw(now, reached, [text, spent])

    def _draw(self, now: float, reached: float | None, parts: list[str]) -> None:
        """The bar at this share of the way, None where it is not known."""
        self._drawn, columns = now, _columns()
        text = fit_parts(parts, columns - columns // 5 - _FRAME)
        self._bar.ncols, self._bar.n, self._bar.desc = columns, reached or 0.0, text
        self._bar.bar_format = "training {desc}"
        if reached is not None:
            self._bar.bar_format = "training {percentage:3.0f}%|{bar}| {desc}"
        with self._ignore_closed_stderr():
            self._bar.refresh()

    def _parts(self, progress: Progress, target: float, now: float) -> list[str]:
        """Texts about the progress, the most important first."""
        settings, parts = self._settings, []
        if math.isfinite(progress.gap):
            parts.append(
                f"gap {progress.gap:.3g}"
                + (f", target {target:.3g}" if math.isfinite(target) else "")
            )
        left = []
        if settings.time_limit is not None:
            left.append(settings.time_limit - (now - self._began))
        if settings.max_iterations is not None and progress.iteration > 0:
            each = (now - self._fit_began) / progress.iteration
            left.append((settings.max_iterations - progress.iteration) * each)
        parts.append(f"limit in {clock(min(left))}" if left else clock(now - self._fit_began))
        parts.append(f"iteration {progress.iteration}")
        return [*parts, f"primal {progress.primal:.6g}"]

    @contextlib.contextmanager
    def _ignore_closed_stderr(self):
        """A stderr that cannot be written ends the bar and not the training."""
        try:
            yield
        except OSError:
            self._bar, self._wanted = None, False


def progress_share(first: float, gap: float, target: float) -> float | None:
    """The share of the way from the first gap to the target, in orders of magnitude; None if
    unknown."""
    if not (math.isfinite(first) and math.isfinite(gap) and 0 < target < math.inf):
        return None
    if gap <= target:
        return 1.0
    return (
        min(max(math.log(first / gap) / math.log(first / target), 0.0), 1.0)
        if first > target
        else 0.0
    )


def clock(seconds: float) -> str:
    """1:05 or 2:00:07."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def fit_parts(parts: list[str], width: int) -> str:
    """The leading parts that fit into the width, joined and padded so that the bar keeps its
    length."""
    text = ""
    for part in parts:
        longer = f"{text}; {part}" if text else part
        if len(longer) > width:
            break
        text = longer
    return text.ljust(width)


def _columns() -> int:
    """Columns of the terminal but the last, at which some terminals wrap; 79 without a terminal."""
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return (columns or 80) - 1


def _is_same_file() -> bool:
    try:
        out, err = os.fstat(sys.stdout.fileno()), os.fstat(sys.stderr.fileno())
    except (OSError, ValueError, AttributeError):
        return False
    return (out.st_dev, out.st_ino) == (err.st_dev, err.st_ino)
