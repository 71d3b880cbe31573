# SPDX-License-Identifier: BSD-3-Clause
"""Training on a small file, sooner than NumPy is imported: the same code, on the arrays of
svmcut._native.light, and so the same model and lines.

What they lack, and every fault, sends the run back to its beginning, with NumPy. So nothing is
printed before the run is over, or lasts; what was printed by then is not printed again.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
import time

from svmcut.cli.termination import Terminated, pending_signal
from svmcut.spec.catalog import AUTO, CUTTING_PLANE, NEWTON, TASKS
from svmcut.spec.entries import DUAL_CD, LOGISTIC, SQUARED_HINGE
from svmcut.spec.later import NumpyNeeded, is_numpy_loaded, without_numpy
from svmcut.spec.records import fields
from svmcut.typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svmcut.cli.options import LearnOptions

#: Bytes of examples up to which a run begins without NumPy, where the first ones have two labels
#: and where they have more; seconds for which lines wait.
SMALL, SMALL_OF_CLASSES, PATIENCE = 1 << 24, 1 << 22, 0.25
#: Bytes whose labels are looked at before that, and so many of which are as well off with it.
HEAD, MANY = 1 << 14, 30
_TASKS = ("classification", "multiclass")
_LOSSES = (TASKS[_TASKS[0]].loss, SQUARED_HINGE, LOGISTIC)
_SOLVERS = (AUTO, DUAL_CD, NEWTON, CUTTING_PLANE)
#: Options that may have other values than their defaults.
_TAKEN = frozenset(
    (
        *("example_file", "model_file", "command", "given", "original", "format", "verbosity"),
        *("cost", "example_cost", "epsilon", "gap", "relative_gap", "bias", "seed", "threads"),
        *("task", "loss", "solver", "positive", "max_memory", "progress", "qp", "table"),
        *("algorithm", "max_iterations", "report", "multiclass"),
    )
)


def run(options: LearnOptions, original: str = "") -> int:
    """As svmcut.cli.training.run."""
    if not may_begin(options):
        return _run(options, original)
    from svmcut._native import light

    held = [_Held(stream) for stream in (sys.stdout, sys.stderr)]
    try:
        with (
            without_numpy(light),
            contextlib.redirect_stdout(held[0]),
            contextlib.redirect_stderr(held[1]),
        ):
            status = _run(options, original)
        for each in held:
            each.release()
        return status
    except (Exception, NumpyNeeded):
        if pending_signal():  # a library may have made another failure of it
            raise Terminated from None
    except BaseException:  # a signal: what was to be read so far stays so
        with contextlib.suppress(OSError):
            held[0].release()
        raise
    with _without_first(held):
        return _run(options, original)


def _run(options: LearnOptions, original: str) -> int:
    from svmcut.cli.training import run

    return run(options, original)


def may_begin(options: LearnOptions) -> bool:
    """Whether a run may end without NumPy: a linear machine of classes for a sum of losses, on a
    small file, and nothing else is asked for."""
    if is_numpy_loaded() or sys.stdout is None or sys.stderr is None:
        return False
    if options.progress or (options.progress is None and sys.stderr.isatty()):
        return False
    if options.task not in _TASKS or options.loss not in _LOSSES or options.reads_table:
        return False
    if options.solver not in _SOLVERS or len(options.path) != 1:
        return False
    if any(
        getattr(options, item.name) != item.default
        for item in fields(options)
        if item.name not in _TAKEN
    ):
        return False
    written = [options.model_file, *([] if options.report is None else [options.report])]
    if not (_is_file(options.example_file, SMALL) and all(map(_is_file, written))):
        return False
    labels = _labels_of(options.example_file)
    if labels > MANY:
        return False
    return labels <= 2 or _is_file(options.example_file, SMALL_OF_CLASSES)


def _labels_of(path: str) -> int:
    """How many labels the first lines of a file have."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError:
        return 0
    if not head.isascii():  # a packed one
        return 0
    labels = {
        words[0].removeprefix(b"+")
        for line in head.split(b"\n")[:-1]
        if (words := line.split(None, 1)) and words[0][:1] != b"#"
    }
    return len(labels)


def _is_file(path: str, most: int | None = None) -> bool:
    """Whether this is a file of no more bytes; or, without a limit, may become one."""
    try:
        status = os.stat(path)
    except OSError:
        return most is None and path != "-"
    return stat.S_ISREG(status.st_mode) and (most is None or status.st_size <= most)


class _Held(io.TextIOBase):
    """Keeps what is written until it is released, or the run lasts; then it comes at once."""

    def __init__(self, stream: Any):
        self._stream, self._parts, self._began = stream, list[str](), time.perf_counter()
        self._open, self.passed = False, 0

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def write(self, text: str) -> int:
        self._parts.append(text)
        if self._open or time.perf_counter() - self._began > PATIENCE:
            self.release()
        return len(text)

    def release(self) -> None:
        """Writes what was kept."""
        self._open, text = True, "".join(self._parts)
        self._parts.clear()
        if text:
            self._stream.write(text)
            self._stream.flush()
        self.passed += len(text)

    def fileno(self) -> int:
        """Where it goes in the end, for who drops a stream that cannot be written."""
        return self._stream.fileno()

    def flush(self) -> None:
        if self._open:
            self._stream.flush()


class _Rest(io.TextIOBase):
    """A stream without the characters that were written before."""

    def __init__(self, stream: Any, written: int):
        self._stream, self._left = stream, written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        known = min(self._left, len(text))
        self._left -= known
        return known + self._stream.write(text[known:])

    def flush(self) -> None:
        self._stream.flush()


@contextlib.contextmanager
def _without_first(held: list[_Held]) -> Iterator[None]:
    """Within it what came through is not printed again."""
    out, err = (each.passed for each in held)
    with contextlib.ExitStack() as stack:
        if out:
            stack.enter_context(contextlib.redirect_stdout(_Rest(sys.stdout, out)))
        if err:
            stack.enter_context(contextlib.redirect_stderr(_Rest(sys.stderr, err)))
        yield
