# SPDX-License-Identifier: BSD-3-Clause
"""Signals at every moment of a run, and what is said of them; ids are rows of the table of
faults."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from programs import LEARNERS, TIMEOUT, call, start, status_of

from svmcut.formats import read_model, write_model
from svmcut.models import LinearModel

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="as Linux has it")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_model("model", LinearModel(np.array([1.0, 2.0, -2.0]), 0.5))
    return tmp_path


ENDINGS = {signal.SIGTERM: "stopped by SIGTERM", signal.SIGINT: "interrupted"}
HINTS = dict.fromkeys(("svmcut learn", "svmcut rank"), "; a run with --checkpoint FILE can go on")


@pytest.mark.every(2)
@pytest.mark.parametrize("number, svmcut", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("program", ["svmcut learn", "svm_rank_learn", "svmcut classify"])
def test_row22_a_signal_while_reading_writes_nothing(program, number, svmcut, folder):
    before = sorted(os.listdir())
    words = ("-c", "1", "-", "out") if program in LEARNERS else ("-", "model", "out")
    if program == "svmcut learn":
        words = ("--format", "original", *words)
    if program == "svmcut classify":
        words = ("-v", "2", *words)
    with start(program, *words) as child:
        child.stdin.write(b"1 qid:1 1:1.5 2:-2\n-1 qid:1 1:-0.25\n1 ")
        child.stdin.flush()
        opening = b"" if program in LEARNERS else b"Reading model...done.\n"
        opening += (
            b"Reading training examples..." if program in LEARNERS else b"Reading test examples..."
        )
        assert child.stdout.read(len(opening)) == opening
        child.send_signal(number)
        assert child.wait(TIMEOUT) == status_of(program, svmcut)
        assert (
            child.stderr.read().decode()
            == f"{program}: {ENDINGS[number]}{HINTS.get(program, '')}\n"
        )
    assert sorted(os.listdir()) == before


SIGNALLED = """
import os, signal, sys
from programs import call
from svmcut.cli import training
from svmcut.solvers.cutting_plane import CuttingPlaneRun
steps, write_model = CuttingPlaneRun.__iter__, training.write_model
def interrupted(run):
    for progress in steps(run):
        yield progress
        if progress.iteration == 3:
            os.kill(os.getpid(), signal.{0})
def write(*args):
    if {1}:
        os.kill(os.getpid(), signal.{0})
    write_model(*args)
CuttingPlaneRun.__iter__, training.write_model = interrupted, write
sys.exit(call(*sys.argv[1:]))
"""


def signalled(program, number, twice=False):
    """A process that gets a signal in its third iteration, and another when it begins to write
    where twice."""
    code = SIGNALLED.format(number.name, twice)
    environment = os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(__file__))}
    line = [
        sys.executable,
        *("-c", code, program, "-c", "1000", "-e", "1e-6", "-w", "3", "noisy", "out"),
    ]
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=TIMEOUT)


@pytest.fixture
def noisy(rng):
    X = rng.normal(size=(400, 40))
    y = np.where(X[:, 0] + 2 * rng.normal(size=400) > 0, 1, -1)
    with open("noisy", "w", encoding="ascii") as file:
        for label, row in zip(y, X, strict=True):
            file.write(
                f"{label} " + " ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(row)) + "\n"
            )


@pytest.mark.every(2)
@pytest.mark.parametrize("program", LEARNERS)
def test_row24_interrupted_once_the_best_model_is_written(program, noisy):
    done = signalled(program, signal.SIGINT)
    assert done.returncode == status_of(program, 130)
    assert np.any(read_model("out").w)
    assert done.stderr.startswith(f"{program}: warning: out: interrupted, gap ")
    assert done.stderr.count("\n") == 1
    if program.startswith("svmcut"):
        assert "interrupted, gap " in done.stdout
        assert done.stderr.endswith(HINTS[program] + "\n")


@pytest.mark.parametrize("program", ["svmcut learn", "svm_rank_learn"])
def test_row24_interrupted_twice_ends_at_once(program, noisy):
    before = sorted(os.listdir())
    done = signalled(program, signal.SIGINT, twice=True)
    assert done.returncode == status_of(program, 130)
    assert done.stderr == f"{program}: interrupted{HINTS.get(program, '')}\n"
    assert sorted(os.listdir()) == before


@pytest.mark.every(2)
@pytest.mark.parametrize("program", LEARNERS)
def test_row22_terminated_in_training_writes_nothing(program, noisy):
    before = sorted(os.listdir())
    done = signalled(program, signal.SIGTERM)
    assert done.returncode == status_of(program, 143)
    assert done.stderr == f"{program}: stopped by SIGTERM{HINTS.get(program, '')}\n"
    assert sorted(os.listdir()) == before


@linux
def test_row24_interrupted_from_outside(noisy):
    import fcntl

    # the limit of time has it begin with NumPy: without, a short run prints at its end
    words = ("--time-limit", "1e6", "--format", "original", "-c", "1e5", "--gap", "1e-9")
    words += ("-w", "3", "noisy", "out")
    with start("svmcut learn", *words, bufsize=0) as child:
        fcntl.fcntl(
            child.stdout, 1031, 4096
        )  # F_SETPIPE_SZ: too little for the whole report, so the child must wait
        while not child.stdout.readline().startswith(b"Iter 5:"):
            pass
        child.send_signal(signal.SIGINT)
        out, errors = child.communicate(timeout=TIMEOUT)
        assert child.returncode == 130
        assert errors.startswith(b"svmcut learn: warning: out: interrupted, gap ")
        assert b"interrupted, gap " in out
    assert np.any(read_model("out").w)


# Runs svmcut where SIGTERM comes at a moment of its start or its end.
MOMENT = """
import atexit, os, signal, sys
def terminate(*_):
    os.kill(os.getpid(), signal.SIGTERM)
    sum(range(1000))
class Importing:
    def find_spec(self, name, *_):
        if name == {0!r}:
            {1}
class Dying:
    __del__ = terminate
sys.meta_path.insert(0, Importing())
from svmcut.cli.start import main
{2}
sys.exit(main())
"""


# Runs svmcut where SIGINT comes when its status is known, or is about to be.
INTERRUPTED = """
import os, signal, sys
from svmcut.cli import guard, termination
from svmcut.cli.start import main
settle = guard.settle
def interrupted():
    guard.settle = settle
    if {0!r} == "before":
        os.kill(os.getpid(), signal.SIGINT)
    settle()
    if {0!r} == "after":
        os.kill(os.getpid(), signal.SIGINT)
guard.settle = interrupted
sys.exit(main())
"""


def moment(*words, module="", action="pass", before="pass"):
    code = MOMENT.format(module, action, before)
    line = [
        sys.executable,
        *("-c", code, "learn", "-v", "0", "-w", "3", "-c", "1000", "--gap", "1e-3", *words),
    ]
    return subprocess.run([*line, "noisy", "out"], capture_output=True, text=True, timeout=TIMEOUT)


@pytest.mark.every(2)
@pytest.mark.parametrize("module", ["svmcut.cli.commands", "numpy", "svmcut.cli.checkpoints"])
@pytest.mark.parametrize("action", ["terminate()", "Dying()"], ids=["raised", "lost"])
def test_row22_terminated_while_modules_are_imported(module, action, noisy):
    """What SIGTERM ends with is known from the first line on, also where a destructor swallows its
    exception."""
    done = moment("--checkpoint", "state", module=module, action=action)
    assert (done.returncode, done.stderr.count("\n")) == (75, 1)
    assert "stopped by SIGTERM" in done.stderr
    assert not os.path.exists("out")


def test_row22_terminated_while_modules_are_imported_without_a_checkpoint(noisy):
    assert moment(module="svmcut.cli.commands", action="terminate()").returncode == 143


@pytest.mark.parametrize("before", ["atexit.register(terminate)", "sys.modules['last'] = Dying()"])
def test_row22_terminated_after_the_end(before, noisy):
    done = moment("--checkpoint", "state", before=before)
    assert (done.returncode, done.stderr) == (0, "")
    assert np.any(read_model("out").w)


@pytest.mark.parametrize("when", ["before", "after"])
def test_row24_interrupted_after_the_end(when, noisy):
    """An interrupt between the last line and the end of the process changes nothing, or is told in
    one line."""
    code = INTERRUPTED.format(when)
    words = ("learn", "-v", "0", "-c", "1", "noisy", "out")
    line = [sys.executable, "-c", code, *words]
    done = subprocess.run(line, capture_output=True, text=True, timeout=TIMEOUT)
    if when == "before":
        assert (done.returncode, done.stderr) == (130, "svmcut learn: interrupted\n")
    else:
        assert (done.returncode, done.stderr) == (0, "")
    assert np.any(read_model("out").w)


PATH = ("-v", "0", "-w", "3", "--gap", "1e-4", "-c", "1,10,1000")


def test_row24_an_interrupt_ends_a_path_with_a_limit_of_iterations(noisy):
    code = SIGNALLED.format(signal.SIGINT.name, False)
    environment = os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(__file__))}
    words = (
        "svmcut learn",
        *(*PATH, "--max-iterations", "90", "--checkpoint", "state", "noisy", "out"),
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 130
    assert sorted(name for name in os.listdir() if name.startswith("out")) == ["out.1"]
    assert (
        "no model for C = 10, 1000; the state is in state, the same command with --resume goes on"
        in done.stderr
    )
    assert call("svmcut learn", *PATH, "--checkpoint", "state", "--resume", "noisy", "out") == 0
    assert call("svmcut learn", *PATH, "noisy", "whole") == 0
    for cost in ("1", "10", "1000"):
        with open(f"out.{cost}", "rb") as resumed, open(f"whole.{cost}", "rb") as whole:
            assert resumed.read() == whole.read()


def test_limits_along_a_path(noisy, capsys):
    """One of iterations is each C's own, one of time that of the run."""
    assert call("svmcut learn", *PATH, "--max-iterations", "2", "noisy", "out") == 3
    assert sorted(name for name in os.listdir() if name.startswith("out")) == [
        "out.1",
        "out.10",
        "out.1000",
    ]
    warnings = capsys.readouterr().err.splitlines()
    assert len(warnings) == 3 and all("stopped by a limit, gap " in line for line in warnings)
    assert warnings[-1].endswith("; a run with --checkpoint FILE can go on")
    words = (
        *(*PATH, "--max-iterations", "2", "--time-limit", "1e-9", "--checkpoint", "state", "noisy"),
        "late",
    )
    assert call("svmcut learn", *words) == 3
    assert sorted(name for name in os.listdir() if name.startswith("late")) == ["late.1"]
    (warning,) = capsys.readouterr().err.splitlines()
    assert warning.endswith(
        "; no model for C = 10, 1000; the state is in state, the same command with --resume and "
        "larger limits goes on"
    )


def test_a_limit_of_an_executable_is_told(noisy, monkeypatch, capsys):
    monkeypatch.setenv("SVMCUT_DEADLINE", "1")
    assert call("svm_perf_learn", "-w", "3", "-c", "1", "noisy", "out") == 1
    assert capsys.readouterr().err.startswith(
        "svm_perf_learn: warning: out: stopped by a limit, gap "
    )
