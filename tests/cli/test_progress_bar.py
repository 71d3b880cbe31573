# SPDX-License-Identifier: BSD-3-Clause
"""The progress bar: what it says, and what a terminal shows of it."""

import io
import math
import os
import re
import struct
import subprocess
import sys

import numpy as np
import pytest
from programs import TIMEOUT, command, forked

from svmcut.solvers.protocol import Progress, StoppingRule
from svmcut.spec.parameters import Settings
from svmcut.training.outcome import Objective
from svmcut.training.progress_bar import ProgressBar, clock, fit_parts, progress_share

BAR = re.compile(
    r"training +(\d+)%\|.*\| gap \S+, target \S+(; .*)?|training +0:00; iteration 1; .*|training"
)
LOG = re.compile(r"Iter \d+: \.\*\(NumConst=\d+, SV=\d+, CEps=\d+\.\d{4}, QPEps=0\.0000\)")


def test_share_of_orders_of_magnitude():
    assert progress_share(100.0, 100.0, 1.0) == 0.0
    assert progress_share(100.0, 10.0, 1.0) == pytest.approx(0.5)
    assert (
        progress_share(100.0, 1.0, 1.0)
        == progress_share(0.5, 0.5, 1.0)
        == progress_share(0.5, -1e-20, 1.0)
        == 1.0
    )
    assert progress_share(100.0, 300.0, 1.0) == 0.0
    for unknown in (
        (math.nan, 1.0, 1.0),
        (1.0, math.nan, 1.0),
        (1.0, 0.5, math.nan),
        (1.0, 0.5, 0.0),
    ):
        assert progress_share(*unknown) is None


def test_texts_are_whole_and_of_one_length():
    parts = ["gap 0.123, target 0.01", "limit in 1:05", "iteration 1234"]
    assert [fit_parts(parts, width).rstrip("; ") for width in (5, 22, 36, 37, 80)] == [
        "",
        parts[0],
        parts[0],
        "; ".join(parts[:2]),
        "; ".join(parts),
    ]
    assert {len(fit_parts(parts, 30)), len(fit_parts(parts[:1], 30))} == {30}
    assert [clock(seconds) for seconds in (-1, 0, 65, 7207)] == ["0:00", "0:00", "1:05", "2:00:07"]


def test_machines_one_after_the_other_are_counted_with_the_time_left(monkeypatch):
    shown, objective = io.StringIO(), Objective(1.0, 1.0, 1.0, 0.1)
    monkeypatch.setattr(sys, "stderr", shown)
    bar = ProgressBar(True, Settings(gap=0.01), lambda objective: StoppingRule(0.0, 0.01))
    with bar:
        bar._fit_began -= 60.0
        for done in (64, 128, 256):
            bar._drawn = -1.0
            extra = {"labels_over": done, "labels": 640}
            bar.show(Progress(2, 1.0, 90.0, 10.0, 80.0, 1.0, dict, extra=extra), objective)
    first, *others = re.findall(
        r"training +(\d+)%[^;]*\| (\d+ of 640 labels[^;]*)", shown.getvalue()
    )
    assert first == ("10", "64 of 640 labels")
    # 64 labels took a minute, 192 too
    assert others[0] == ("20", "128 of 640 labels, 8:00 left")
    assert others[-1] == ("40", "256 of 640 labels, 2:00 left")


def test_a_grid_counts_its_models(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    bar = ProgressBar(True, Settings(time_limit=65.0), lambda objective: StoppingRule(math.nan))
    bar.tell(1 / 40, "1 of 40 models of the grid")  # before it is there
    with bar:
        bar._drawn = -1.0
        bar.tell(10 / 40, "10 of 40 models of the grid")
        bar.tell(11 / 40, "11 of 40 models of the grid")  # too soon to draw again
    assert re.search(
        r"training  25%\|.*\| 10 of 40 models of the grid; limit in 1:0[45]", shown.getvalue()
    )
    assert "11 of 40" not in shown.getvalue() and " 1 of 40" not in shown.getvalue()


class Screen:
    """A terminal that knows carriage returns and line ends; `seen` is every state of its last
    line."""

    def __init__(self, columns):
        self.lines, self.seen, self._at, self._columns = [""], [], 0, columns

    def feed(self, text):
        for token in re.findall(r"\r\n|\r|\n|[^\r\n]+", text):
            if token == "\r":
                self._at = 0
            elif token.endswith("\n"):
                self.lines.append("")
                self._at = 0
            else:
                line = self.lines[-1].ljust(self._at)
                self.lines[-1] = line[: self._at] + token + line[self._at + len(token) :]
                self._at += len(token)
                self.seen.append(self.lines[-1].rstrip())
        assert "\x1b" not in text


@pytest.mark.skipif(os.name != "posix", reason="a terminal of POSIX")
@pytest.mark.parametrize("columns", [80, 0], ids=["80-columns", "unknown-columns"])
def test_bar_and_log_on_a_terminal(tmp_path, rng, columns):
    """Lines of the log stand alone, the bar fits, and it is gone before the summary and the warning
    come."""
    import fcntl
    import termios

    X = rng.normal(size=(300, 10))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0, 1, -1)
    np.savetxt(
        tmp_path / "train",
        np.column_stack([y, X]),
        " ".join(["%d", *(f"{j + 1}:%.4f" for j in range(10))]),
    )
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    words = ("--format", "original", "-w", "3", "-c", "1000", "--gap", "1e-9")
    words += ("--max-iterations", "40", "train", "out")
    # every look draws, however fast the machine is
    code = "import sys\nfrom svmcut.training import progress_bar\nfrom svmcut.cli import start\n"
    code += "progress_bar._REDRAWN_SECONDS = 0\nsys.exit(start.main())"
    line = [sys.executable, "-c", code, *command("svmcut learn", *words)[1:]]
    child = subprocess.Popen(line, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # as Linux says that the other side is closed
            part = b""
        if not part:
            break
        text += part
    os.close(ours)
    assert child.wait(TIMEOUT) == 3
    screen = Screen(columns)
    screen.feed(text.decode())
    lines = [line.rstrip() for line in screen.lines]
    iterations = [line for line in lines if "Iter" in line]
    assert len(iterations) == 40 and all(LOG.fullmatch(line) for line in iterations)
    assert not any("training " in line and "gap" in line for line in lines)
    warning = next(line for line in lines if "warning" in line)
    assert warning.startswith("svmcut learn: warning: out: stopped by a limit, gap ")
    drawn = [line for line in screen.seen if line.startswith("training")]
    assert all(BAR.fullmatch(line) and len(line) <= 79 for line in drawn)
    shares = [int(match[1]) for line in drawn if (match := BAR.fullmatch(line)) and match[1]]
    assert shares == sorted(shares) and 0 == shares[0] < shares[-1] < 100
    assert sum("limit in 0:0" in line for line in drawn) > 30


def test_classify_counts_rows(tmp_path):
    rows = "".join(f"{1 if i % 2 else -1} 1:{i % 2} 2:1\n" for i in range(1200))
    (tmp_path / "train").write_text(rows)
    files = (tmp_path / "train", tmp_path / "model")
    assert forked("svmcut learn", *files).returncode == 0
    done = forked("svmcut classify", "--progress", *files, tmp_path / "scores")
    assert "classifying: 1.20k rows" in done.stderr and "Accuracy" in done.stdout
    for words in (("--no-progress",), ()):
        done = forked("svmcut classify", *words, *files, tmp_path / "scores")
        assert done.stderr == ""
